"""Speed, memory and runs on real data.

Figures are ratios measured side by side, never timed tests.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path


def data_folder() -> Path:
    """Return the folder with the real data, or say how to name it and leave."""
    given = os.environ.get("VELADURA_DATA")
    if not given:
        sys.exit(
            "VELADURA_DATA is not set: point it to the folder with the real data (SD2011.csv,"
            " adult/, sdcmicro/, ...)."
        )
    folder = Path(given)
    if not folder.is_dir():
        sys.exit("VELADURA_DATA does not name a folder.")
    return folder


def machine() -> str:
    """Return the kind of processor, cores and memory: never the name of the host."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in info.read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"
