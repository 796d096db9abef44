"""All exhibits of study 002."""

from __future__ import annotations

from veladura.studies.samarati.examples import examples
from veladura.studies.samarati.experiment import experiment
from veladura.studies.study import Results, Setting


def run(setting: Setting) -> tuple[str, Results]:
    """Run the study; return its settings in words, and the exhibits."""
    words = (
        "The worked examples as published; the experiment on"
        f" {setting.times(2000, 5000):,} people of the bundled register, which is made up. Exact:"
        " nothing is random but the choice of people."
    )
    with setting.progress("searching lattices", 2) as advance:
        first = examples(setting)
        advance()
        second = experiment(setting)
        advance()
    return words, {**first, **second}
