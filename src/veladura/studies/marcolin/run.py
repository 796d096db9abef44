"""All exhibits of study 003."""

from __future__ import annotations

from veladura.studies.marcolin.binary import binary
from veladura.studies.marcolin.categories import categories
from veladura.studies.marcolin.collisions import collisions, examples
from veladura.studies.study import Result, Results, Setting


def run(setting: Setting) -> tuple[str, Results]:
    """Run the study; return its settings in words, and the exhibits."""
    results: dict[str, Result] = {}
    parts = (examples, binary, categories, collisions)
    with setting.progress("simulating releases", len(parts)) as advance:
        for part in parts:
            results |= part(setting)
            advance()
    settings = (
        f"Simulated: {setting.times(200, 600)} releases of one share,"
        f" {setting.times(150, 600)} of several categories. Estimates are means of the exact"
        " posterior; Monte Carlo errors are standard errors over releases."
    )
    return settings, results
