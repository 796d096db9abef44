"""Four attacks on a release: singling out, linkability, attribute and membership inference.

They need a control group: people of the same population who are not in the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Measured, Subject
from veladura.measures.pairing import pair
from veladura.measures.risk.attribute_inference import attribute_inference
from veladura.measures.risk.evaluation import ATTEMPTS, FEWEST, Attack
from veladura.measures.risk.linkability import linkability
from veladura.measures.risk.membership import Membership, membership
from veladura.measures.risk.singling_out import singling_out
from veladura.numeric.coding import is_recoded
from veladura.numeric.proportions import LEVEL, affordable

MOST_GUESSED = 3


@dataclass(frozen=True)
class Attacks:
    """The four attacks, each with its advantage over the control group."""

    singling_out: Attack
    linkability: Attack
    attribute_inference: Attack
    membership: Membership


def attacks(
    original: Any,
    release: Any,
    control: Any,
    *,
    known: Sequence[str] | None = None,
    attributes: Sequence[str] = (),
    attempts: int = ATTEMPTS,
) -> Attacks:
    """Return how well four attacks on a release work, judged against a control group.

    Parameters
    ----------
    original
        The table the release was made from: anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    control
        The control group: people of the same population who are not in the original.
    known
        The columns an intruder knows; by default every released column that the original has.
    attributes
        Columns that are guessed, at most three; the one that is guessed best counts. By default
        the last known column.
    attempts
        Attempts of each attack.
    """
    names = list(pair(original, release).forms) if known is None else list(known)
    tables = (original, release, control)
    guessed = list(attributes)[:MOST_GUESSED]
    # the largest of several advantages must not be significant by chance
    level = 1 - (1 - LEVEL) / max(len(guessed), 1)
    guesses = [
        attribute_inference(
            *tables,
            attribute=attribute,
            known=[name for name in names if name != attribute],
            level=level,
            attempts=attempts,
        )
        for attribute in guessed or names[-1:]
    ]
    return Attacks(
        singling_out(*tables, known=names, attempts=attempts),
        linkability(*tables, parts=(names[::2], names[1::2]), attempts=attempts),
        max(guesses, key=lambda attack: float(attack.risk)),
        membership(*tables, known=names, attempts=attempts),
    )


def measure(subject: Subject) -> Measured:
    """Attack the release, where there is a control group."""
    control = subject.one_row_a_person().control
    if control is None:
        msg = (
            "attacks need a control group: people of the same population who are not in the"
            " original."
        )
        raise NotApplicable(msg)
    if min(table.rows for table in (subject.original, control, *subject.tables)) < FEWEST:
        msg = f"an attack needs at least {FEWEST} rows in each table."
        raise NotApplicable(msg)
    names = [
        name
        for name in subject.tables[0].names
        if name in control.names and not is_recoded(subject.original, subject.tables[0], name)
    ]
    if len(names) < 2:  # noqa: PLR2004
        msg = "fewer than two released columns have values that an intruder could look up."
        raise NotApplicable(msg)
    sensitive = subject.tables[0].schema.of_role("sensitive") or subject.changed
    results = attacks(
        subject.original,
        subject.release,
        control,
        known=names,
        attributes=[name for name in sensitive if name in names],
        attempts=affordable(sum(table.rows for table in subject.tables)),
    )
    tried: dict[str, Attack] = {part.name: getattr(results, part.name) for part in fields(results)}
    notes = {
        name: (
            f"{attack.attempts} attempts: {float(attack.success):.1%} succeed,"
            f" {float(attack.control):.1%} on the control group."
        )
        for name, attack in tried.items()
    }
    notes["membership"] = _told(results.membership)
    return Measured({name: attack.risk for name, attack in tried.items()}, notes)


def _told(attack: Membership) -> str:
    """Say in numbers of people what membership inference finds."""
    inside, outside = (1000 * float(share) for share in (attack.success, attack.control))
    return (
        f"Of 1,000 people of the original about {inside:,.0f} are taken for members, of 1,000"
        f" others {outside:,.0f}; a member is nearer to the release than somebody else with"
        f" probability {float(attack.auc):.2f} (0.50: nobody can tell)."
    )


MEASURE = Measure(
    "risk.attacks",
    figures={
        "singling_out": Meaning(
            "Singling out: advantage over the control group in describing exactly one person.",
            unit="share",
        ),
        "linkability": Meaning(
            "Linkability: advantage over the control group in joining two halves of a person's"
            " columns.",
            unit="share",
        ),
        "attribute_inference": Meaning(
            "Attribute inference: advantage over the control group in guessing a person's value.",
            unit="share",
            headline=True,
        ),
        "membership": Meaning(
            "Membership inference: advantage over the control group in recognising who is in the"
            " data.",
            unit="share",
            headline=True,
        ),
    },
    function=measure,
)
