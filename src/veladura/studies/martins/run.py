"""All exhibits of study 000."""

from __future__ import annotations

from veladura.studies.martins.simulated import simulated
from veladura.studies.martins.survey import survey
from veladura.studies.martins.trees import drawings
from veladura.studies.study import Results, Setting


def run(setting: Setting) -> tuple[str, Results]:
    """Run the study; return its settings in words, and the exhibits."""
    words = (
        f"Simulated: {setting.times(12, 200)} data sets of 1,000 rows for each of three scenarios,"
        " m = 5. Monte Carlo errors are standard errors over data sets."
    )
    if setting.data is not None:
        words += f" The survey: {setting.data.name}."
    return words, {**drawings(setting), **simulated(setting), **survey(setting)}
