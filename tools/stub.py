"""Write ``src/veladura/__init__.pyi``, the names and types that editors and type checkers see.

``make stub`` runs it after a line of the registry or of ``_EXPORTS`` changed; a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

import veladura

PLACE = Path(veladura.__file__).with_suffix(".pyi")
HEAD = "# Names and types of `veladura`. Written by tools/stub.py: do not edit.\n"


def stub_text() -> str:
    """Return the stub for what the package exports now."""
    exports = veladura._EXPORTS  # noqa: SLF001  # the one list of names
    lines = set()
    for name, (module, attribute) in exports.items():
        if attribute is None:
            package, _, last = module.rpartition(".")
            lines.add(f"from {package} import {last} as {name}")
        else:
            lines.add(f"from {module} import {attribute} as {name}")
    names = "".join(f'    "{name}",\n' for name in veladura.__all__)
    body = "\n".join(sorted(lines))
    return f"{HEAD}\n{body}\n\n__version__: str\n__all__ = [\n{names}]\n"


if __name__ == "__main__":
    PLACE.write_text(stub_text(), encoding="utf-8")
    sys.stdout.write(f"{PLACE.name} written\n")
