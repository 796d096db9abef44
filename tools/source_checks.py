"""What the items of the sources are checked with: figures computed by other code."""

from __future__ import annotations

import base64
import math
import re
from pathlib import Path

import pandas as pd
from scipy import stats


def has_frequencies(text: str, frame: pd.DataFrame) -> bool:
    """Return whether a text has the line of frequencies of every column, counted here by pandas."""
    for name in frame:
        sizes = frame[name].value_counts()
        counted = [len(frame), 0, sizes.size, (sizes == 1).sum(), sizes.min(), sizes.max()]
        figures = r"\s+".join(f"{float(figure):g}" for figure in [*counted, sizes.median()])
        if not re.search(rf"^{name}\s+\w+\s+{figures}\s*$", text, re.MULTILINE):
            return False
    return True


def has_welch(text: str, frame: pd.DataFrame, by: str, names: list[str]) -> bool:
    """Return whether a text has Welch's test of some columns, as scipy computes it."""
    for name in names:
        groups = [part.to_numpy() for _, part in frame.groupby(by)[name]]
        test = stats.ttest_ind(*groups, equal_var=False)
        figures = rf"{re.escape(f'{test.statistic:.3f}')}\s+{re.escape(f'{test.df:.1f}')}"
        if not re.search(rf"^{name}\s+Welch's t test\s+{figures}", text, re.MULTILINE):
            return False
    return True


def has_beliefs(text: str, epsilons: tuple[float, ...]) -> bool:
    """Return whether a text has the odds and beliefs that each epsilon allows, by their formula."""
    for epsilon in epsilons:
        odds = math.exp(epsilon)
        beliefs = [100 * b * odds / (1 - b + b * odds) for b in (0.01, 0.1, 0.5)]
        line = [f"{odds:.3g}", *(f"{belief:.1f}%" for belief in beliefs)]
        if not re.search(r"\s+".join(map(re.escape, line)), text):
            return False
    return True


def figure(text: str, name: str) -> float:
    """Return the number that stands before a figure's name in what `assess` prints."""
    found = re.search(rf"^(?:about )?([-\d.,]+)[^\n]*?\s{re.escape(name)}\s*$", text, re.MULTILINE)
    return float(found[1].replace(",", "")) if found else math.nan


def pictures(path: str) -> list[str]:
    """Return the SVG pictures of a page."""
    page = Path(path).read_text(encoding="utf-8")
    coded = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", page)
    return [base64.b64decode(text).decode() for text in coded]
