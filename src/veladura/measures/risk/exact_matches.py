"""Unique exact matches: people unique in the original whose whole record is in the release."""

from __future__ import annotations

from typing import Any

from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Measured, Subject
from veladura.measures.pairing import pair
from veladura.measures.risk.replicated import replicated


def exact_matches(original: Any, release: Any) -> Estimate:
    """Return the share of people who are unique in the original and whose whole record comes out.

    All columns of the release are compared, generalised ones at the released level; missing counts
    as a value. A whole record that comes out by chance counts too: with few columns of few values
    that is common and says little, with many columns it says that a person was copied.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"zip": [1, 2, 3, 3], "age": [20, 30, 40, 40]})
    >>> after = pd.DataFrame({"zip": [1, 2, 3, 3], "age": [20, 31, 40, 40]})
    >>> float(exact_matches(before, after))
    0.25

    References
    ----------
    Task, C., Bhagat, K. and Howarth, G. S. (2023). SDNist v2: deidentified data report tool.
    National Institute of Standards and Technology, doi:10.18434/mds2-2943 (unique exact matches).
    """
    both = pair(original, release)
    names = [name for name in both.released[0].names if name in both.original.names]
    if not names:
        msg = "no released column is in the original."
        raise NotApplicable(msg)
    return replicated(original, release, names).found


def measure(subject: Subject) -> Measured:
    """Count over all released columns."""
    if subject.original.rows == 0 or not all(table.rows for table in subject.tables):
        msg = "there are no rows to compare."
        raise NotApplicable(msg)
    found = exact_matches(subject.original, subject.release)
    columns = len(subject.tables[0].names)
    return Measured({"people": found}, {"people": f"All {columns} columns are compared."})


MEASURE = Measure(
    "risk.exact_matches",
    figures={
        "people": Meaning(
            "Unique exact matches: people who are unique in the original and whose whole record,"
            " column by column, is in the release.",
            unit="people",
        )
    },
    function=measure,
)
