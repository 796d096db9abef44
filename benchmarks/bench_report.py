"""Both reports of a fully synthetic release of 100,000 x 15, m = 5.

Processor time and size, assessment apart.
"""

from __future__ import annotations

import os
import time

import veladura as vd
from benchmarks.bench_cart import mixed
from veladura.report.gather import gather
from veladura.report.render import render

ROWS = int(os.environ.get("BENCH_REPORT_ROWS", "100000"))
AIM_SECONDS, AIM_MEGABYTES = 10.0, 5.0


def main() -> None:
    table = vd.open(mixed(ROWS))
    release = vd.Cart(m=5, model="sample").protect(
        table, seed=1
    )  # how rows were drawn does not matter to a page
    small = vd.open(mixed(2000))
    figures = vd.assess(
        small, vd.Cart(m=2, model="sample").protect(small, seed=1)
    )  # as many figures to write
    for audience in ("public", "custodian"):
        wall, cpu = time.perf_counter(), time.process_time()
        page = render(gather(release, figures, release.prove(), audience=audience))  # type: ignore[arg-type]
        seconds, megabytes = time.process_time() - cpu, len(page.encode()) / 1e6
        assert seconds < AIM_SECONDS
        assert megabytes < AIM_MEGABYTES
        print(
            f"{audience:10} {seconds:5.1f} s of processor ({time.perf_counter() - wall:.1f} s),"
            f" {megabytes:.2f} MB; aims {AIM_SECONDS:g} s, {AIM_MEGABYTES:g} MB",
            flush=True,
        )
