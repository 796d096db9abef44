"""Planted values come out nowhere: not in files, messages, reprs, logs or what is printed."""

from __future__ import annotations

import logging
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import VeladuraError
from veladura.testing import CANARY, CANARY_NUMBER


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "name": [f"{CANARY}-{i}" for i in range(120)],
            "income": rng.lognormal(10, 1, 120).round(),
            "job": rng.choice(["clerk", "smith", "nurse"], 120),
            "born": pd.date_range("1950-01-01", periods=120).strftime("%Y-%m-%d"),
        }
    )
    frame.loc[7, "income"] = CANARY_NUMBER
    frame.loc[8, "job"] = f"{CANARY}-job"
    frame.loc[9, "born"] = f"{CANARY}-date"
    return frame


MISTAKES = {
    "unknown column": lambda f: vd.Noise(columns=["incom"]).protect(f),
    "text is no number": lambda f: vd.Noise(columns=["job"]).protect(f),
    "text declared as a number": lambda f: vd.open(f, {"job": "number"}),
    "text declared as a date": lambda f: vd.open(f, {"born": "date"}),
    "an order that lacks a value": lambda f: vd.open(
        f, {"job": {"order": ["clerk", "smith", "nurse"]}}
    ),
    "infinite values": lambda f: vd.Noise(columns=["income"]).protect(f.assign(income=np.inf)),
    "too few rows": lambda f: vd.Microaggregation(columns=["income"], k=1000).protect(f),
    "a matrix that lacks a value": (
        lambda f: vd.Pram(columns=["job"], matrix={"job": {"clerk": {"clerk": 1.0}}}).protect(f)
    ),
    "a broken promise": (
        lambda f: vd.Steps(
            [vd.TopCode(columns={"income": 20_000}), vd.Noise(columns=["income"])]
        ).protect(f, seed=1)
    ),
    "mixed types": lambda f: vd.open(f.assign(job=[*f["job"][:-1], 3])),
    "columns of lists": lambda f: vd.open(f.assign(job=[[CANARY]] * len(f))),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_no_error_shows_a_value(mistake, frame, caplog):
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(VeladuraError) as raised:
            mistake(frame)
    told = "".join(traceback.format_exception(raised.value)) + caplog.text
    # The source line of this test stands in a traceback; what is looked for are the data's own
    # values.
    told = "\n".join(line for line in told.splitlines() if "lambda" not in line)
    assert CANARY not in told
    assert str(CANARY_NUMBER) not in told


def test_no_warning_shows_a_value(frame):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vd.Noise(columns=["income"]).protect(frame, seed=1)
    assert any("look like identifiers" in str(warning.message) for warning in caught)
    assert not any(CANARY in str(warning.message) for warning in caught)


@pytest.mark.parametrize(
    "method", ["noise", "microaggregation", "top-code", "recode", "pram", "swap"]
)
def test_the_whole_line_says_nothing_it_should_not(veladura, method, frame, tmp_path):
    """Identifiers are dropped.

    A value that the method hides is in no file of the package and in nothing printed.
    """
    frame.to_csv(tmp_path / "people.csv", index=False)
    printed = ""
    for arguments in (
        ["init", "people.csv", "--method", method],
        ["confirm", "plan.toml", "--accept-all"],
        ["run", "plan.toml"],
        ["verify", "release/people"],
    ):
        done = veladura(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        printed += done.stdout + done.stderr
    assert CANARY not in printed
    release = vd.load(tmp_path / "release" / "people")
    shown = {
        str(value)
        for column in release.tables[0].table.arrow.columns
        for value in column.to_pylist()
    }
    texts = {
        path.name: path.read_bytes()
        for path in (tmp_path / "release" / "people").iterdir()
        if path.is_file()
    }
    for canary in (f"{CANARY}-1", f"{CANARY}-job", f"{CANARY}-date", f"{CANARY_NUMBER}"):
        if not any(canary in value for value in shown):
            assert [name for name, text in texts.items() if canary.encode() in text] == []
    assert f"{CANARY}-1" not in shown
    assert str(CANARY_NUMBER) not in printed
