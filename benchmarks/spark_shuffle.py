"""Jobs, stages and shuffled bytes of each method on Spark, as Spark itself counts them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.people import QUASI, recipe_of

DOMAIN = {
    "sex": [f"sex {i}" for i in range(2)],
    "marital": [f"marital {i}" for i in range(5)],
    "class": [f"class {i}" for i in range(2)],
}
FEW = ["age", "sex", "marital", "income", "stay"]


def tell(source: Path, rows: int, home: Path) -> None:
    """Print the figures of every method for one file of people."""
    import veladura as vd
    from veladura.table.database.spark import connect_spark

    connect_spark("spark:local[2]")
    roles = {name: {"role": "quasi-identifier"} for name in QUASI}
    private = {"columns": list(DOMAIN), "domain": DOMAIN, "epsilon": 3.0}

    def table(names: list[str] | None = None) -> Any:
        opened = vd.open("spark:local[2]", roles, table=f"parquet.`{source}`")
        return opened if names is None else opened.select(names)

    def everything() -> None:
        folder = home / f"shuffle-{rows}"
        recipe_of().protect(table()).save(folder / "out" / "r", custodian=folder / "safe" / "r")

    noise = vd.Noise(columns=["income"], fit_rows=rows // 5, min_people=0)
    works: dict[str, Callable[[], object]] = {
        "KAnonymity, 12 columns, with everything": everything,
        "NoisyCounts, 3 columns": lambda: vd.NoisyCounts(**private).protect(table([*DOMAIN])),
        "TopCode, 12 columns": lambda: vd.TopCode(columns={"income": 1e5}).protect(table()),
        "Noise, 12 columns": lambda: noise.protect(table(), seed=1),
        "Cart, 5 columns": lambda: vd.Cart(m=1, fit_rows=rows // 20).protect(table(FEW), seed=1),
    }
    for label, work in works.items():
        before = totals()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
        jobs, stages, shuffled = (b - a for a, b in zip(before, totals(), strict=True))
        print(
            f"{label}, {rows:,} rows: {jobs} jobs, {stages} stages,"
            f" {shuffled / rows:.0f} bytes a row shuffled",
            flush=True,
        )


def totals() -> tuple[int, int, int]:
    """Return the jobs and stages that ran so far, and the bytes written for shuffles."""
    from veladura.table.database.spark import running_session

    session: Any = running_session()
    store = session._jsparkSession.sparkContext().statusStore()  # noqa: SLF001
    none = session.sparkContext._gateway.new_array(session._jvm.double, 0)  # noqa: SLF001
    listed = store.stageList(None, False, False, none, None)
    stages = [listed.apply(i) for i in range(listed.size())]
    ran = sum(stage.status().toString() == "COMPLETE" for stage in stages)
    shuffled = sum(stage.shuffleWriteBytes() for stage in stages)
    return store.jobsList(None).size(), ran, shuffled
