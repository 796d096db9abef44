"""No table of the command line loses a letter, however narrow the terminal is."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veladura.cli import analyze, show
from veladura.cli.tables import print_table
from veladura.measures.assessment import Assessment

pytestmark = pytest.mark.quick

LEVELS = [
    "C(occupation)[T.Machine-operators-and-inspectors-of-textile-plants]",
    "C(region)[T.Bruxelles-Capitale / Brussels Hoofdstedelijk Gewest]",
    "C(size)[T.[10, 20)]",
    "東京都千代田区" * 4,
]


def printed(table: Table, width: int) -> list[str]:
    out = io.StringIO()
    print_table(Console(file=out, width=width, highlight=False), table)
    return out.getvalue().splitlines()


def letters(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 400])
def test_names_of_levels_and_figures_are_whole(width):
    figures = [f"{i}2345.6789" for i in range(1, 7)]
    for level in LEVELS:
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column("term")
        for heading in ("estimate", "standard error of it", "lower", "upper", "df", "p"):
            table.add_column(heading, justify="right")
        table.add_row(escape(level), *figures)
        text = "\n".join(printed(table, width))
        assert "…" not in text
        for figure in figures:
            assert figure in text
        rest = text
        for figure in figures:
            rest = rest.replace(figure, "")
        assert letters(level) in letters(rest)
        for word in ("standard", "error", "estimate"):
            assert word in text


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit_where_they_can(width):
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("term")
    for heading in ("estimate", "error", "lower", "upper"):
        table.add_column(heading, justify="right")
    for level in LEVELS:
        table.add_row(escape(level), "1.234", "0.123", "-1.2", "3.4")
    assert max(len(line.rstrip()) for line in printed(table, width)) <= width


def test_posterior_tables_are_whole(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(analyze, "_console", Console(file=out, width=80, highlight=False))
    frame = pd.DataFrame(
        {
            "a very long name of a column": [LEVELS[0]],
            "region": [LEVELS[1]],
            "share": [0.5],
            "lower": [0.25],
            "upper": [0.75],
        }
    )
    print_table(analyze._console, analyze._frame(frame))
    text = out.getvalue()
    assert "…" not in text
    assert text.count("0.5000") == text.count("0.2500") == text.count("0.7500") == 1
    # the two names stand side by side: each line holds a piece of both
    for level in LEVELS[:2]:
        for word in level.replace("-", " ").split()[-1:]:
            assert letters(word[-4:]) in letters(text)


@pytest.mark.parametrize("width", [60, 80])
def test_the_table_of_the_demo_is_whole(width, monkeypatch, tmp_path):
    from types import SimpleNamespace

    out = io.StringIO()
    monkeypatch.setattr(show, "_console", Console(file=out, width=width, highlight=False))
    monkeypatch.setattr(show, "_short", lambda _: "12,345 of 14,827 people (83.3 %)")
    names = ["whole-protection", "differentially-private-marginals", "microaggregation"]
    outcomes = {name: SimpleNamespace(assessment=Assessment({})) for name in names}
    show.show_demo(outcomes, tmp_path, quiet=False)
    text = out.getvalue()
    assert "…" not in text
    assert text.count("12,345 of 14,827 people (83.3 %)") == 4
    assert letters("differentially-private-marginals") in letters(
        text.replace("12,345 of 14,827 people (83.3 %)", "")
    )
