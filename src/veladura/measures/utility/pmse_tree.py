"""pMSE by a classification tree, which also detects thresholds and deep interactions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Measured, Subject
from veladura.measures.utility.pmse import PropensityScore, Synthesis, check_replaced, pmse


def pmse_tree(
    original: Any,
    release: Any,
    *,
    synthesis: Synthesis | None = None,
    replaced: Sequence[str] | None = None,
) -> PropensityScore:
    """Return pMSE and its ratio by a classification tree: ``pmse(..., model="tree")``.

    Parameters
    ----------
    original, release, synthesis, replaced
        As for `pmse`.
    """
    return pmse(original, release, model="tree", synthesis=synthesis, replaced=replaced)


def measure(subject: Subject) -> Measured:
    """Measure the release by a classification tree."""
    check_replaced(subject)
    score = pmse_tree(subject.original, subject.release)
    note = f"{score.slopes} leaves, {score.null}. {score.note}".strip()
    ratio = NotApplicable(score.note) if math.isnan(score.ratio.value) else score.ratio
    return Measured({"value": score.value, "ratio": ratio}, {"ratio": note})


MEASURE = Measure(
    "utility.pmse_tree",
    figures={
        "value": Meaning(
            "pMSE of a classification tree that tells released rows from original ones; 0 when it"
            " cannot."
        ),
        "ratio": Meaning(
            "pMSE ratio of a classification tree: pMSE over its expectation under a correct"
            " synthesis; 1 is ideal."
        ),
    },
    function=measure,
)
