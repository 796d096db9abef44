# Everything happens in .venv, made once; a second run installs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.ready-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

SECONDS ?= 600

.PHONY: servers demo test test-all fuzz test-lowest test-pythons check stub bench acceptance images docs lock clean

demo: $(READY)            ## the whole pipeline on the bundled example, into demo/
	$(BIN)/veladura demo --out demo --force

servers:                  ## MariaDB, Java (for Spark) and Chromium for the tests, where apt may install them
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update --quiet=2; DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends chromium >/dev/null \
	  || echo "Chromium COULD NOT BE INSTALLED: the tests of the studio will not run"; \
	else echo "Chromium IS NOT INSTALLED: the tests of the studio will not run (apt-get install chromium)"; fi
	@if command -v mariadbd >/dev/null || test -x /usr/sbin/mariadbd; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update --quiet=2; DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends mariadb-server >/dev/null \
	  || echo "MariaDB COULD NOT BE INSTALLED: its tests will not run"; \
	else echo "MariaDB IS NOT INSTALLED: its tests will not run (apt-get install mariadb-server)"; fi
	@if command -v java >/dev/null || test -n "$$JAVA_HOME"; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update --quiet=2; DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends openjdk-17-jre-headless >/dev/null \
	  || echo "JAVA COULD NOT BE INSTALLED: the tests on Spark will not run"; \
	else echo "JAVA IS NOT INSTALLED: the tests on Spark will not run (apt-get install openjdk-17-jre-headless)"; fi

test: $(TOOLS) check      ## checks and tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

test-all: $(TOOLS) check  ## also the slow statistical runs
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-lowest: $(TOOLS)     ## the quick tests with the lowest versions that pyproject.toml allows
	$(BIN)/python tools/environments.py lowest

test-pythons: $(TOOLS)    ## the quick tests on every newer Python of this machine
	$(BIN)/python tools/environments.py pythons

fuzz: $(TOOLS)            ## mutated plans, tables, hierarchies, regions and releases, for SECONDS=600
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

check: $(TOOLS)           ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

stub: $(TOOLS)            ## the names that editors see (src/veladura/__init__.pyi) anew
	$(BIN)/python tools/stub.py
	$(BIN)/ruff check --quiet --fix src/veladura/__init__.pyi
	$(BIN)/ruff format --quiet src/veladura/__init__.pyi

bench: $(TOOLS)           ## speed and memory, as ratios measured side by side
	$(BIN)/python -m benchmarks

acceptance: $(TOOLS)      ## runs on real data; needs the folder in VELADURA_DATA
	$(BIN)/python -m benchmarks.acceptance

images: $(TOOLS)          ## the pictures of docs/images anew; needs a Chromium
	$(BIN)/python tools/screenshots.py
	$(BIN)/python tools/tree_pictures.py
	$(BIN)/python tools/place_pictures.py

docs: $(TOOLS)            ## the site in build/site, all links checked
	$(BIN)/mkdocs build --strict

lock: $(TOOLS)            ## resolve the pinned versions anew
	$(BIN)/uv pip compile --universal --python-version 3.11 --extra dev --no-header --no-annotate --upgrade pyproject.toml -o constraints.txt

$(READY): pyproject.toml constraints.txt
	@echo "installing into $(VENV): a minute or two, once"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $(READY)

$(TOOLS): $(READY)
	$(PIP) --editable ".[dev]"
	touch $(TOOLS)

clean:
	rm -rf $(VENV) .environments demo dist build
