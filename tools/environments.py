"""Run the quick tests with other libraries and other Pythons than those of .venv.

``python tools/environments.py lowest`` takes the lowest version of every direct dependency that
``pyproject.toml`` allows, on the lowest Python. ``python tools/environments.py pythons`` takes the
pinned versions on every newer Python of this machine, and says loudly which Pythons are missing.
The environments stay in ``.environments``: a second run installs only what has changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".environments"
LOWEST, NEWER = "3.11", ("3.12", "3.13", "3.14")
EXTRAS = ("dp", "files", "polars", "postgres", "sqlite", "studio")
TOOLS = ("hypothesis", "pytest", "pytest-xdist")  # of the extra dev, what the quick tests need
TESTS = ("-m", "quick and not slow", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider")
# Old libraries warn of what newer ones will do: that is not ours to mend.
QUIETLY = ("-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning")


def main() -> None:
    """Run the job that the command line names."""
    jobs = {"lowest": lowest, "pythons": pythons}
    if len(sys.argv) != 2 or sys.argv[1] not in jobs:  # noqa: PLR2004
        sys.exit(f"usage: python tools/environments.py {' | '.join(jobs)}")
    HOME.mkdir(exist_ok=True)
    sys.exit(jobs[sys.argv[1]]())


def lowest() -> int:
    """Test with the lowest versions of the direct dependencies."""
    python = interpreter(LOWEST)
    if python is None:
        say(f"FAILED: the lowest versions need Python {LOWEST}, which is not on this machine")
        return 1
    return quick_tests("lowest", python, LOWEST, ["--resolution", "lowest-direct"], QUIETLY)


def pythons() -> int:
    """Test with the pinned versions on every newer Python; a missing one is not a failure."""
    paths = {version: interpreter(version) for version in NEWER}
    pinned = ["--constraint", "constraints.txt"]
    failed = [
        version
        for version, path in paths.items()
        if path is not None and quick_tests(f"python{version}", path, version, pinned)
    ]
    if missing := [version for version, path in paths.items() if path is None]:
        say(f"NOT TESTED: Python {', '.join(missing)} (not on this machine)")
    if failed:
        say(f"FAILED: Python {', '.join(failed)}")
    return len(failed)


def interpreter(version: str) -> str | None:
    """Return a Python of this version: on the path, in pyenv's folder, or installed by uv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    uv_home = Path(output(uv(), "python", "dir") or HOME)
    places = [*pyenv.glob(f"{version}.*/bin"), *uv_home.glob(f"cpython-{version}.*/bin")]
    for folder in [*os.get_exec_path(), *map(str, sorted(places))]:
        path = shutil.which(f"python{version}", path=folder)
        if path is not None and starts(path, version):
            return path
    return None


def starts(path: str, version: str) -> bool:
    """Tell whether it is the standard build of this version; a shim of pyenv may not even start."""
    code = (
        "import sys; print('%d.%d' % sys.version_info[:2], sys.implementation.name, sys.abiflags)"
    )
    return output(path, "-c", code).split() == [version, "cpython"]


def quick_tests(
    name: str, python: str, version: str, resolution: list[str], options: tuple[str, ...] = ()
) -> int:
    """Bring an environment up to date and run the quick tests in it; return pytest's exit code."""
    say(f"{name}: {python}")
    folder, wanted, resolved = HOME / name, HOME / f"{name}.in", HOME / f"{name}.txt"
    wanted.write_text("\n".join(direct_dependencies()) + "\n", encoding="utf-8")
    if not folder.exists():
        run(uv(), "venv", "--quiet", "--python", python, folder)
    inside = folder / "bin" / "python"
    listed = ["--no-header", "--no-annotate", "--output-file", str(resolved)]
    run(
        uv(), "pip", "compile", "--quiet", "--python-version", version, *resolution, *listed, wanted
    )
    run(uv(), "pip", "sync", "--quiet", "--python", inside, resolved)
    run(uv(), "pip", "install", "--quiet", "--no-deps", "--python", inside, "--editable", ROOT)
    # Two versions of Numba in one cache would undo each other's kernels at every run.
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(HOME / f"{name}-kernels")}
    command = [str(inside), "-m", "pytest", *TESTS, *options, "tests"]
    return subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode


def direct_dependencies() -> list[str]:
    """Return what pyproject.toml asks for, with the extras and tools that the quick tests use."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    tools = [line for line in extras["dev"] if line.startswith(TOOLS)]
    return sorted({*project["dependencies"], *(x for e in EXTRAS for x in extras[e]), *tools})


def uv() -> str:
    """Return uv: the one beside the Python that runs this script, else one on the path."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else "uv"


def run(*command: str | Path) -> None:
    """Run a command that must succeed."""
    subprocess.run(list(map(str, command)), cwd=ROOT, check=True)


def output(*command: str) -> str:
    """Return what a command prints; nothing if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def say(line: str) -> None:
    """Print a line that is seen in a long log."""
    print(f"\n=== {line} ===\n", flush=True)


if __name__ == "__main__":
    main()
