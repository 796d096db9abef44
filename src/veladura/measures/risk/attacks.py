"""The four attacks as figures of an assessment, where there is a control to judge them by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from veladura.measures.measure import Meaning, Measured, NotApplicable, Subject, measure
from veladura.measures.risk.attribute_inference import attribute_inference, linkability
from veladura.measures.risk.evaluation import FEWEST, Attack
from veladura.measures.risk.membership import membership
from veladura.measures.risk.singling_out import singling_out
from veladura.numeric.coding import is_recoded
from veladura.numeric.proportions import LEVEL, affordable

MOST_GUESSED = 3


@measure(
    "risk.attacks",
    figures={
        "singling_out": Meaning(
            "Attempts to describe one person alone that worked because the person was in the data.",
            unit="share",
        ),
        "linkability": Meaning(
            "Attempts to join two halves of a person's columns that worked because of the data.",
            unit="share",
        ),
        "attribute_inference": Meaning(
            "Guesses of a person's value that were right because the person was in the data.",
            unit="share",
            headline=True,
        ),
        "membership": Meaning(
            "People claimed to be in the data, beyond those claimed wrongly.",
            unit="share",
            headline=True,
        ),
    },
)
def measure_attacks(subject: Subject) -> Measured:
    """Attack the release, where there is a control to judge by."""
    control = subject.control
    if control is None:
        msg = (
            "attacks are judged against a control: rows of the same population that the release was"
            " not made of."
        )
        raise NotApplicable(msg)
    if min(table.rows for table in (subject.original, control, *subject.tables)) < FEWEST:
        msg = "there are too few rows for an attack."
        raise NotApplicable(msg)
    names = [
        name
        for name in subject.tables[0].names
        if name in control.names and not is_recoded(subject.original, subject.tables[0], name)
    ]
    if len(names) < 2:  # noqa: PLR2004
        msg = "fewer than two released columns have values that an intruder could look up."
        raise NotApplicable(msg)
    found = {
        name: attack(subject.original, subject.release, control)
        for name, attack in _attacks(subject, names).items()
    }
    notes = {
        name: (
            f"{one.attempts} attempts, {float(one.success):.1%} worked, {float(one.control):.1%} on"
            " the control."
        )
        for name, one in found.items()
    }
    return Measured({name: one.risk for name, one in found.items()}, notes)


def _attacks(subject: Subject, names: Sequence[str]) -> dict[str, Callable[..., Attack]]:
    """Return the attacks with the columns that can be compared; of several guessed, the one told best."""
    guessed = [
        name
        for name in subject.tables[0].schema.of_role("sensitive") or subject.changed
        if name in names
    ][:MOST_GUESSED]

    attempts = affordable(sum(table.rows for table in subject.tables))

    def guess(*given: Any) -> Attack:
        level = 1 - (1 - LEVEL) / max(
            len(guessed), 1
        )  # the largest of several must not be caught by chance
        tried = [
            attribute_inference(
                *given,
                attribute=one,
                known=[n for n in names if n != one],
                level=level,
                attempts=attempts,
            )
            for one in guessed or names[-1:]
        ]
        return max(tried, key=lambda found: float(found.risk))

    return {
        "singling_out": lambda *given: singling_out(*given, columns=names, attempts=attempts),
        "linkability": lambda *given: linkability(
            *given, parts=(names[::2], names[1::2]), attempts=attempts
        ),
        "attribute_inference": guess,
        "membership": lambda *given: membership(*given, columns=names, attempts=attempts),
    }
