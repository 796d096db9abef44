"""What the items of the sources are checked with: figures computed by other code."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from veladura.errors import VeladuraError


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


def refused(work: Callable[[], object], words: str) -> bool:
    """Return whether a piece of work is refused with some words."""
    try:
        work()
    except VeladuraError as error:
        return words in str(error)
    return False


def figure(text: str, name: str) -> float:
    """Return the number that stands before a figure's name in what `assess` prints."""
    found = re.search(rf"^(?:about )?([-\d.,]+)[^\n]*?\s{re.escape(name)}\s*$", text, re.MULTILINE)
    return float(found[1].replace(",", "")) if found else math.nan


def edit_plan(columns: list[str], seed: int, path: str = "plan.toml") -> None:
    """Set columns and seed of a drafted plan, as a holder does in an editor."""
    text = Path(path).read_text(encoding="utf-8")
    text = text.replace("# # columns (not set)", f"columns = {json.dumps(columns)}  # ", 1)
    Path(path).write_text(text.replace("# seed = 1", f"seed = {seed}"), encoding="utf-8")


def expected_matches(frame: pd.DataFrame, name: str, radius: float) -> float:
    """Return EMR of the release of people.csv in release/people, from its files.

    The intruder knows every other column exactly. Reiter and Mitra (2009): probabilities of all
    rows for all people, averaged over the datasets; whoever has the largest is picked.
    """
    import veladura as vd
    from veladura.release.custodian import row_order

    source = pd.read_csv("people.csv").iloc[row_order(vd.open("people.csv"))]
    links = pd.read_parquet("custodian/people/rows.parquet")
    known = [column for column in frame if column != name]
    probability = np.zeros((len(source), len(source)))
    files = sorted(Path("release/people/data").glob("*.parquet"))
    for number, file in enumerate(files):
        order = np.argsort(links["row"][links["dataset"] == number].to_numpy())
        data = pd.read_parquet(file).iloc[order]
        fits = np.abs(source[name].to_numpy()[:, None] - data[name].to_numpy()) <= radius + 1e-9
        for column in known:
            mine, theirs = (part[column].astype(str).to_numpy() for part in (source, data))
            fits &= mine[:, None] == theirs
        probability += fits / np.maximum(fits.sum(axis=1, keepdims=True), 1) / len(files)
    best = probability.max(axis=1, keepdims=True)
    picked = (probability > best - 1e-9) & (best > 0)
    return float((np.diag(picked) / np.maximum(picked.sum(axis=1), 1)).sum())


def pictures(path: str) -> list[str]:
    """Return the SVG pictures of a page."""
    page = Path(path).read_text(encoding="utf-8")
    coded = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", page)
    return [base64.b64decode(text).decode() for text in coded]
