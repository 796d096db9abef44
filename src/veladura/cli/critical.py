"""Commands about the critical-cart step of a plan: indicators Z, orders of replacement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veladura.base.context import Progress
from veladura.base.private_files import private_folder, refuse_near_release, write_private
from veladura.cli.counts import paths_of
from veladura.cli.show import say
from veladura.errors import PlanError
from veladura.plan.critical import indicators_of, orders_of
from veladura.plan.reading import read_plan

DIGITS = 3


def write_indicators(plan: Path, record: Path | None, out: Path, *, force: bool) -> None:
    """Write Z as CSV files that only their owner may read."""
    refuse_near_release(out)
    frames = indicators_of(read_plan(plan), record)
    private_folder(out.absolute().parent)
    for path, frame in zip(paths_of(out, len(frames), force=force), frames, strict=True):
        write_private(path, frame.to_csv(index=False))
        say(f"{path} written   (private: do not share)", quiet=False)
    counted = ", ".join(f"{name} {int(frames[0][name].sum()):,}" for name in frames[0])
    say(f"true in {len(frames[0]):,} rows: {counted}", quiet=False)


def show_orders(plans: Sequence[Path], orders: Sequence[str], progress: Progress) -> None:
    """Show what each order of replacement gives."""
    if len(plans) != 1:
        msg = f"--orders compares the orders of one plan, got {len(plans)} plans."
        raise PlanError(msg)
    table = orders_of(read_plan(plans[0]), orders, progress=progress)
    say(table.round(DIGITS).to_string(), quiet=False)
    say(
        "correlations, ks: mean distance of rank correlations and of critical values between"
        " original and release, with standard errors over three seeds; smaller is better.\n"
        "(private: do not share)",
        quiet=False,
    )
