"""Studies of the source documents: every exhibit has its line, and figures that others computed."""

from __future__ import annotations

import base64
import io
import json
import re
from functools import cache

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.tree import DecisionTreeRegressor

import veladura as vd
from veladura.base.streams import Streams
from veladura.errors import DataError, FolderError, PlanError
from veladura.studies.aslanyan.incomes import NAMES, incomes
from veladura.studies.martins import procedure, scenarios, survey
from veladura.studies.study import STUDIES, VERDICTS, Cell, exhibits_of, facts_of
from veladura.studies.writing import check_folder, file_name, to_html, write

# Tables and figures that each document has, counted in the documents.
DOCUMENTS = {
    "000": [f"Table 3.{i}" for i in range(1, 15)]
    + [f"Table 4.{i}" for i in range(1, 6)]
    + ["Figure 1.1", "Figure 1.2"]
    + [f"Figure 3.{i}" for i in range(1, 15)]
    + [f"Figure 4.{i}" for i in range(1, 4)],
    "001": [f"Table {i}" for i in range(1, 7)] + [f"Figure {i}" for i in range(1, 27)],
    "002": [f"Figure {i}" for i in range(1, 7)]
    + ["Table 1", *(f"Graph {letter}" for letter in "ABCD")],
    "003": ["Table 2.1", "Table 2.2", "Figure 2.1", "Figure 2.2", "Figure 2.3"]
    + [f"Table 3.{i}" for i in range(1, 10)]
    + [f"Figure 3.{i}" for i in range(1, 14)]
    + [f"Table 4.{i}" for i in range(1, 6)]
    + ["Figure 4.1", "Figure 4.2"],
    "004": [f"Figure {i}" for i in range(1, 8)],
}
DIAGRAMS = {
    "003": {"Figure 2.1", "Figure 2.2", "Figure 2.3"},
}


@cache
def run(number):
    """One run with far too few repetitions, for all tests of this file."""
    return vd.study(number, tiny=True)


@pytest.fixture(params=["000", "002", "003", "004"])
def tiny(request):
    return run(request.param)


@pytest.mark.parametrize("number", STUDIES)
def test_every_table_and_figure_has_a_line_with_its_verdict(number):
    exhibits = exhibits_of(facts_of(number))
    names = [exhibit.number for exhibit in exhibits]
    assert len(set(names)) == len(names)
    assert set(DOCUMENTS[number]) <= set(names)
    for exhibit in exhibits:
        assert exhibit.verdict in VERDICTS
        assert exhibit.why or exhibit.verdict == "reproduced", exhibit.number


def unfinished(study):
    """Exhibits without a result that are neither diagrams nor wait for data or --full."""
    return {
        exhibit.number for exhibit in study.exhibits if exhibit.result is None and not exhibit.needs
    } - DIAGRAMS.get(study.number, set())


def test_every_exhibit_is_computed_or_says_what_it_needs(tiny):
    assert unfinished(tiny) == set()
    for exhibit in tiny.exhibits:
        if exhibit.result is not None:
            assert exhibit.result.rows or exhibit.result.picture, exhibit.number
            for row in exhibit.result.rows:
                assert len(row) == len(exhibit.result.header), exhibit.number


def test_the_first_scheme_shows_critical_cells_where_the_table_has_them():
    """Dark pixels of the picture against the largest values of the first 60 rows, by NumPy."""
    frame = incomes(Streams(1).within("study", "004")("schemes"))
    limits = np.quantile(frame[NAMES].to_numpy(), 0.85, axis=0).round()
    critical = (frame[NAMES].to_numpy() > limits)[:60]
    coded = re.search(rb"base64,([^\"]+)", run("004")["Figure 1"].result.picture.svg)[1]
    pixels = imread(io.BytesIO(base64.b64decode(coded)))[::-1]  # written upside down
    dark = np.abs(pixels[..., :3] - np.array([0x2F, 0x66, 0x90]) / 255).max(axis=2) < 0.02
    high, wide = dark.shape
    at = ((np.arange(60) + 0.5) * high / 60).astype(int)
    across = ((np.arange(3) + 0.5) * wide / 5).astype(int)
    shown = dark[np.ix_(at, across)]
    assert critical.any()
    assert (shown == critical).all()


@pytest.mark.slow
def test_the_study_of_places_is_computed():
    study = run("001")
    assert unfinished(study) == set()
    mean = study["Table 4"].result.rows[-1]
    assert mean[-1].ours == pytest.approx(0.47, abs=0.08)  # 40 data sets by other code: .44 to .51


@pytest.mark.parametrize("number", ["002", pytest.param("003", marks=pytest.mark.slow)])
def test_pages_and_files_show_ours_beside_theirs(number, tmp_path):
    tiny = run(number)
    page = write(tiny, tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    assert text == to_html(tiny)
    told = json.loads((tmp_path / "out" / "figures.json").read_text(encoding="utf-8"))
    assert [exhibit["number"] for exhibit in told["exhibits"]] == [
        exhibit.number for exhibit in tiny.exhibits
    ]
    for exhibit in tiny.exhibits:
        assert exhibit.number in text
        picture = tmp_path / "out" / f"{file_name(exhibit.number)}.svg"
        drawn = exhibit.result is not None and exhibit.result.picture is not None
        assert picture.exists() == drawn
    with pytest.raises(FolderError, match="exists already"):
        check_folder(tmp_path / "out", force=False)
    check_folder(tmp_path / "out", force=True)


def test_a_figure_is_ours_with_its_error_and_theirs():
    assert str(Cell(0.31251, 0.0042, 0.3105, 4)) == "0.3125 (0.0042) [0.3105]"
    assert str(Cell(theirs=1.5, digits=1)) == "[1.5]"


def test_what_cannot_be_run_is_refused(tmp_path):
    with pytest.raises(PlanError, match="study '005' is not known"):
        vd.study("005")
    with pytest.raises(PlanError, match="is not a file"):
        vd.study("000", data=tmp_path / "none.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="lacks the columns"):
        survey.read(tmp_path / "other.csv")


def test_the_combinations_have_the_printed_probabilities():
    """Martins (2019), Table 3.4: two of its eight probabilities are cut, not rounded."""
    printed = exhibits_of(facts_of("000"))
    table = next(one.printed for one in printed if one.number == "Table 3.4")
    theory = scenarios.combinations()
    assert sum(chance for _, chance in theory.values()) == pytest.approx(1)
    for name, mean, chance in zip(table["combination"], table["mean"], table["p"], strict=True):
        ours = theory[tuple(map(int, name))]
        assert ours == (pytest.approx(mean), pytest.approx(chance, abs=0.00101))


@pytest.mark.parametrize("errors", scenarios.DEGREES)
def test_the_tree_of_the_document_is_that_of_scikit_learn(errors):
    """With a stop at 1 % of the root's impurity and leaves of five, on numbers."""
    rng = np.random.default_rng(7)
    data = scenarios.scenario(rng, errors, 400)
    x = np.column_stack([data[["x1", "x2", "x3"]].to_numpy(float), rng.normal(size=400)])
    y = data["y"].to_numpy() + x[:, 3]
    tree = procedure.grow(y, {}, {str(i): x[:, i] for i in range(4)})
    oracle = DecisionTreeRegressor(min_samples_leaf=5, min_impurity_decrease=0.01 * y.var())
    leaf = oracle.fit(x, y).apply(x)
    ours = tree.membership(y.size)
    assert len(tree.leaves) == len(np.unique(leaf))
    assert len(set(zip(ours, leaf, strict=True))) == len(tree.leaves)


def test_categories_are_split_into_the_best_two_sets():
    """Against every division of four levels into two sets."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, 200)
    y = np.array([3.0, 0.0, 2.9, 0.2])[codes] + rng.normal(size=200)
    tree = procedure.grow(y, {"c": codes}, {})

    def gain(levels):
        left = np.isin(codes, levels)
        apart = y[left].mean() - y[~left].mean()
        return apart**2 * left.sum() * (~left).sum()

    divisions = [[1], [2], [3], [1, 2], [1, 3], [2, 3], [1, 2, 3]]
    best = max(divisions, key=gain)
    first = tree.lines[0]
    named = sorted(int(part) for part in first.split("{")[1].strip("}").split(","))
    assert named in (best, sorted(set(range(4)) - set(best)))


def rows_of(study, number):
    return [[str(entry) for entry in row] for row in study[number].result.rows]


def test_k_anonymity_is_that_of_the_document():
    """The vectors that Samarati and Sweeney (1998) print, for their tables."""
    study = run("002")
    assert rows_of(study, "Example 1")[:2] == [["2", "[1, 0], [0, 1]"], ["3", "[1, 0], [0, 2]"]]
    assert rows_of(study, "Figure 4")[1] == ["all rows", "[1, 3, 0, 1, 1], [0, 2, 1, 2, 2]"]
    assert "[0, 2, 0, 0, 0]" in rows_of(study, "Figure 4")[0][1]
    assert rows_of(study, "Theorem 1")[1] == ["k-minimal, k = 2", "[1, 1]"]


def test_posterior_means_of_the_collisions_are_the_printed_ones():
    """Marcolin (2018), Table 4.2, to its four digits; combining rules are biased (Charest 2011)."""
    study = run("003")
    (row,) = study["Table 4.2"].result.rows
    for cell in row[1:]:
        assert cell.ours == pytest.approx(cell.theirs, abs=1.01e-4)
    for row in study["Section 2.6"].result.rows:
        biased, exact = row[1], row[5]
        assert biased.ours > 0.08
        assert abs(exact.ours) < abs(biased.ours)


def test_the_command_lists_runs_and_refuses(veladura, tmp_path):
    listed = veladura("study", cwd=tmp_path)
    assert all(number in listed.stdout for number in STUDIES)
    done = veladura("study", "002", cwd=tmp_path)
    assert done.returncode == 0
    assert "Theorem 1" in done.stdout
    assert (tmp_path / "study-002" / "index.html").exists()
    again = veladura("study", "002", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert veladura("study", "002", "--force", "--quiet", cwd=tmp_path).stdout == ""
    assert veladura("study", "007", cwd=tmp_path).returncode == 2
