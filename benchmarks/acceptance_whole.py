"""The protection that init drafts for whole tables: confirmed, run, verified and recounted."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

import pandas as pd

from benchmarks import data_folder
from veladura.plan.confirm import accept_all, confirm
from veladura.plan.draft import drafted, write_draft
from veladura.plan.run import Outcome, run
from veladura.release.verify import holds, verify

TABLES = (
    "SD2011.csv",
    "nist/ma2019.csv",
    "adult/adult.csv",
    "termlife.csv",
    "sdcmicro/testdata.csv",
    "spatial/imdepi_events.csv",
    "sdcmicro/EIA.csv",
)
MOST_ALONE = 0.01


def main(data: Path) -> None:
    failed = [table for table in TABLES if not _protected(data / table)]
    if failed:
        sys.exit(f"failed: {failed}")


def _protected(table: Path) -> bool:
    """Protect a table as a newcomer would; print what came of it and whether it is whole."""
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        home = Path(folder)
        plan = home / "plan.toml"
        draft = drafted(str(table), home=home)
        write_draft(draft.text, plan, force=False)
        outcome = run(confirm(plan, accept_all()))
        proofs = verify(outcome.folder)
        rows = pd.read_parquet(outcome.folder / "data" / "dataset-1.parquet")
    roles: dict[str, list[str]] = {}
    for name, guess in draft.guesses.items():
        roles.setdefault(guess.role, []).append(name)
    alone = {name: int((rows[name].value_counts() == 1).sum()) for name in rows}
    worst = max(alone, key=lambda name: alone[name])
    constant = [name for name in rows if len(rows[name].unique()) == 1]
    print(f"\n{table.name}: {draft.rows:,} rows, {time.process_time() - start:.1f} s")
    for role, names in roles.items():
        print(f"  {role:17} {', '.join(names)}")
    print(f"  released          {len(rows):,} rows, {len(rows.columns)} columns")
    print(f"  say nothing       {', '.join(constant) or 'none'}")
    print(f"  most alone        {alone[worst]:,} people by {worst}")
    print(f"  at risk           {_at_risk(outcome)}")
    print(f"  verified          {holds(proofs)}")
    return holds(proofs) and alone[worst] <= MOST_ALONE * len(rows)


def _at_risk(outcome: Outcome) -> str:
    return "; ".join(
        f"{risk.name} {float(risk.before):,.0f} -> {float(risk.after):,.0f}"
        for risk in outcome.assessment.intruders
    )


if __name__ == "__main__":
    main(data_folder())
