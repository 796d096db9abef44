# Everything happens in .venv, made once; a second run installs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all check bench acceptance lock clean

demo: $(READY)            ## the whole pipeline on the bundled example, into demo/
	$(BIN)/veladura demo --out demo --force

test: $(READY) check      ## checks and tests, under eight minutes on two cores
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

test-all: $(READY) check  ## also the slow statistical runs
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: $(READY)           ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)           ## speed and memory, as ratios measured side by side
	$(BIN)/python -m benchmarks

acceptance: $(READY)      ## runs on real data; needs the folder in VELADURA_DATA
	$(BIN)/python -m benchmarks.acceptance

lock: $(READY)            ## resolve the pinned versions anew
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --extra dev --no-header --no-annotate --upgrade pyproject.toml -o constraints.txt

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo dist build
