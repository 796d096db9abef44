"""`veladura run` of a plan with requests: a release for every recipient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.cli.show import progress, say, show_outcome

if TYPE_CHECKING:
    from veladura.plan.plan import Plan

VALID = "The plan of every request is valid. Nothing was written."


def run_all(plan: Plan, *, dry_run: bool, force: bool, quiet: bool) -> None:
    """Make, or only check, the releases of all requests."""
    from veladura.plan.requests import plans_of, run_requests
    from veladura.plan.run import rehearse

    if dry_run:
        for each in plans_of(plan).values():
            rehearse(each, force=force)
        say(VALID, quiet=quiet)
        return
    outcomes, told = run_requests(plan, force=force, progress=progress(quiet=quiet))
    for name, outcome in outcomes.items():
        say(f"\nrequest    {name}", quiet=quiet)
        show_outcome(outcome, quiet=quiet)
    if len(outcomes) > 1:
        say(_together(list(outcomes), told), quiet=quiet)


def _together(names: list[str], told: list[str]) -> str:
    """Return what was counted of releases that are put together."""
    lines = [f"\ntogether   {line}." for line in told]
    return "".join(lines) or (
        f"\ntogether   {', '.join(names)}: k-anonymous also where recipients compare their files."
    )
