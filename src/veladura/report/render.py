"""Facts to one page of HTML: no network, no script, every text escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from veladura.base.visible import visible
from veladura.report.codebook import in_words
from veladura.report.facts import Facts
from veladura.report.glossary import Glossary
from veladura.report.words import number


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("veladura.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["in_words"] = in_words
    environment.filters["px"] = lambda length: f"{length:.1f}"
    environment.filters["share"] = lambda value: number(value, "share")
    return environment


def render(facts: Facts) -> str:
    """Return the page with these facts.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> from veladura.report.gather import gather
    >>> release = vd.Noise(columns=["x"]).protect(pd.DataFrame({"x": range(40)}), seed=1)
    >>> render(gather(release, proofs=release.prove())).startswith("<!doctype html>")
    True
    """
    return page("report.html.j2", facts=facts)


def page(template: str, **facts: Any) -> str:
    """Return a template of this folder, filled with facts."""
    return visible(_environment().get_template(template).render(glossary=Glossary(), **facts))
