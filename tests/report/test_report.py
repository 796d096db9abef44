"""The page says what is true, shows released values only, and runs nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.core.promise import Promise, Proof
from veladura.core.release import Dataset, Release, Step
from veladura.core.rules import AsReleased, Full, Partial, PrivateRows, Single
from veladura.errors import PlanError
from veladura.example import path
from veladura.measures.measure import Figure
from veladura.release.gate import Limit, gate
from veladura.report import words
from veladura.report.codebook import FEWEST, _shares, describe
from veladura.report.gather import gather, promise_facts, sentence_of
from veladura.report.render import render
from veladura.report.snippets import command, snippet
from veladura.table.schema import Field, Schema
from veladura.table.table import from_arrow

pytestmark = pytest.mark.quick

CANARY, SCRIPT = "canary-7391", "<script>alert('x')</script>"
VOID = {"meta", "rect", "line", "br", "img"}


class Page(HTMLParser):
    """Collects tags, and finds those that are not closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def table():
    roles = {
        "name": "identifier",
        "social_number": "identifier",
        "zip": "quasi-identifier",
        "birth": "quasi-identifier",
        "sex": "quasi-identifier",
    }
    return vd.open(path("clinic.csv"), {name: {"role": role} for name, role in roles.items()})


@pytest.fixture(scope="module")
def release(table):
    return vd.Noise(columns=["income", "stay"]).protect(table, seed=20231)


@pytest.fixture(scope="module")
def assessment(table, release):
    return vd.assess(table, release)


def page(release, assessment=None, verdicts=(), audience="public"):
    return render(
        gather(release, assessment, release.prove(), verdicts=verdicts, audience=audience)
    )


def made(arrow, fields, *, before=None, rule=None, m=1, steps=()):
    released = from_arrow(arrow, Schema(fields))
    original = None if before is None else from_arrow(before, Schema(fields))
    link = np.arange(arrow.num_rows) if original is not None else None
    return Release((Dataset(released, link),) * m, original, tuple(steps), (), rule or AsReleased())


def test_the_public_page_is_whole_and_says_everything(release, assessment):
    html = page(release, assessment)
    read = Page(html)
    assert read.open == []
    text = " ".join(read.text)
    for wanted in (
        "1 dataset of 5,000 rows, with 10 columns",
        "replaces values of income and stay",
        "Random noise was added",
        "Standard deviation of the noise",
        "holds",
        "risk.uniqueness.average_prosecutor",
        "lower is better",
        "Column: income.",
        "Cautions",
        "vd.load(",
        "veladura verify",
        f"veladura {vd.__version__}",
        "data/dataset-1.parquet",
        "SHA256SUMS",
        "median",
        "quasi-identifier",
    ):
        assert wanted in text, wanted


def test_the_page_needs_no_network_and_runs_no_script(release, assessment):
    html = page(release, assessment, audience="custodian")
    foreign = r"https?://|<script|<link|<img src=\"(?!data:)|@import|url\(|javascript:| on\w+="
    assert not re.search(foreign, html)


def test_tables_have_headers_with_scope_and_the_page_a_language(release, assessment):
    tags = Page(page(release, assessment, audience="custodian")).tags
    assert ("html", {"lang": "en"}) in tags
    assert all(attrs.get("scope") in ("row", "col") for tag, attrs in tags if tag == "th")
    assert all(attrs.get("aria-label") for tag, attrs in tags if tag == "svg")


def test_the_custodian_sees_more_and_is_warned(release, assessment):
    public, mine = page(release, assessment), page(release, assessment, audience="custodian")
    for wanted in (
        "For the custodian only",
        "Full settings",
        "Noise(columns=",
        "Distance of each column",
        "Pairs of columns with the largest differences",
    ):
        assert wanted in mine.replace("&#39;", "'")
        assert wanted not in public


def test_the_seed_is_on_no_page(release, assessment):
    for audience in ("public", "custodian"):
        assert str(release.streams.entropy) not in page(release, assessment, audience=audience)


def test_verdicts_are_told_in_words(release, assessment):
    verdicts = gate(
        assessment,
        {
            "utility.columns.worst": Limit(max=0.5),
            "risk.uniqueness.average_prosecutor": Limit(max=0.2),
        },
    )
    text = " ".join(Page(page(release, assessment, verdicts, "custodian")).text)
    for wanted in (
        "passed",
        "at most 50 %",
        "failed",
        "at most 20 %",
        "Not released.",
        "1 limit of the plan's gate is not met",
    ):
        assert wanted in text


def test_everything_is_escaped():
    name = f"{SCRIPT}col"
    fields = (
        Field(name, "category", pa.string(), labels={SCRIPT: "<i>label"}),
        Field("n", "number", pa.float64()),
    )
    step = Step(f"{SCRIPT}method", {f"{SCRIPT}setting": f"{SCRIPT}value"}, (name,))
    release = made(pa.table({name: [SCRIPT] * 20, "n": np.arange(20.0)}), fields, steps=[step])
    original = release.tables[0].table
    for audience in ("public", "custodian"):
        html = page(release, vd.assess(original, release), audience=audience)
        assert "<script" not in html
        text = "".join(Page(html).text)
        for part in (
            f"{SCRIPT}col",
            f"{SCRIPT} (<i>label)",
            f"{SCRIPT}method",
            f"{SCRIPT}setting",
            f"{SCRIPT}value",
        ):
            assert part.lower() in text.lower()


def test_no_original_value_that_was_not_released_is_on_the_public_page():
    fields = (
        Field(
            "c",
            "ordered",
            pa.string(),
            order=("a", CANARY, "b"),
            labels={CANARY: f"{CANARY}-label"},
        ),
        Field("n", "integer", pa.int64()),
    )
    before = pa.table(
        {"c": ["a", "b"] * 30 + [CANARY] * 3, "n": [*range(60), 7391001, 7391002, 7391003]}
    )
    release = made(before.slice(0, 60), fields, before=before, steps=[Step("noise", {}, ("n",))])
    html = render(
        gather(
            release, vd.assess(release.original, replace(release, original=None)), audience="public"
        )
    )
    assert CANARY not in html
    assert "7391" not in html


def test_bars_of_the_original_stand_for_ten_rows_or_more():
    def shown(original):
        return [bar.original is not None for bar in _shares(list("abcd"), [1, 1, 1, 1], original)]

    assert shown([FEWEST, FEWEST, 50, 60]) == [True] * 4
    assert shown([3, 4, 50, 60]) == [False, False, True, True]
    assert shown([3, 40, 50, 60]) == [False, False, True, True]  # else found by subtraction
    assert shown([0, 40, 50, 60]) == [False, True, True, True]


def test_columns_are_described_in_words():
    fields = (
        Field("n", "number", pa.float64()),
        Field("i", "integer", pa.int64()),
        Field("t", "text", pa.string()),
        Field("o", "ordered", pa.string(), order=("lo", "hi")),
        Field("e", "category", pa.string()),
        Field("d", "date", pa.date32()),
    )
    arrow = pa.table(
        {
            "n": [1.25, 2.5, None],
            "i": [1998, 20000, 5],
            "t": ["x", "y", "z"],
            "o": ["hi", "hi", "lo"],
            "e": pa.array([None] * 3, pa.string()),
            "d": pa.array([1, 2, 3], pa.date32()),
        }
    )
    facts = {
        column.name: column for column in describe(from_arrow(arrow, Schema(fields)), None, ["n"])
    }
    assert facts["n"].summary == "from 1.25 to 2.5, median 1.25, 1 missing value"
    assert facts["i"].summary == "from 5 to 20,000, median 1998"
    assert (facts["t"].summary, facts["t"].bars) == ("3 distinct values", ())
    assert [bar.label for bar in facts["o"].bars] == ["lo", "hi"]
    assert facts["e"].summary == "no values"
    assert facts["d"].summary == "from 1970-01-02 to 1970-01-04, median 1970-01-03"
    assert [column.changed for column in facts.values()] == [True] + [False] * 5
    assert sum(bar.released for bar in facts["n"].bars) == pytest.approx(1)
    assert not facts["n"].compared


def test_many_categories_are_told_as_the_most_frequent_and_the_rest():
    arrow = pa.table({"c": [f"v{i:02}" for i in range(20) for _ in range(i + 1)]})
    (column,) = describe(
        from_arrow(arrow, Schema((Field("c", "category", pa.string()),))), None, []
    )
    most_frequent = [f"v{i}" for i in range(19, 11, -1)]
    assert [bar.label for bar in column.bars] == [*most_frequent, "12 others"]


def test_several_datasets_and_every_rule_have_words():
    fields = (Field("x", "number", pa.float64()), Field("y", "number", pa.float64()))
    arrow = pa.table({"x": np.arange(20.0), "y": np.arange(20.0)})
    for rule in (AsReleased(), Partial(), Full(), Single(), PrivateRows()):
        release = made(arrow, fields, rule=rule, m=3)
        html = page(release, vd.assess(release.tables[0].table, release))
        assert "3 datasets of 20 rows each" in html
        assert rule.conclusions.how.split(",")[0] in html
        assert ("risk.unchanged" in html) == (not rule.private)
        compile(snippet(release), "snippet", "exec")
    for rule in (AsReleased(), Partial(), Full(), Single()):
        several = made(arrow, fields, rule=rule, m=2 if rule.adds_variance else 1)
        assert 'release.analyze("x ~ y")' in snippet(several)
        assert '"x ~ y"' in command(several)
    assert "release.estimate(" in snippet(
        made(arrow.select(["x"]), fields[:1], rule=Partial(), m=2)
    )
    assert "for data in" in snippet(
        made(pa.table({"c": ["a"]}), (Field("c", "category", pa.string()),), rule=Full(), m=2)
    )
    one = made(
        arrow, fields, rule=Partial(), m=1
    )  # cannot be combined: nothing is proposed that would be refused
    assert "analyze" not in snippet(one) + command(one)


def test_figures_of_a_private_release_stay_with_the_custodian():
    frame = pd.DataFrame({"x": ["a", "b"] * 20})
    release = vd.DirichletMultinomial(columns=["x"], domain={"x": ["a", "b"]}, epsilon=1.0).protect(
        frame
    )
    assessment = vd.assess(release.original, release)
    public = render(gather(release, assessment))
    assert "stay with the holder" in public
    assert "utility.columns" not in public
    assert "Dark lines" not in public
    assert "utility.columns.mean" in render(gather(release, assessment, audience="custodian"))


def test_a_page_without_figures_and_promises_says_so():
    release = made(pa.table({"x": [1.0]}), (Field("x", "number", pa.float64()),))
    html = page(release)
    assert "were not measured" in html
    assert "makes no formal promise" in html
    assert "No value was replaced." in html


def test_the_worst_proof_of_a_promise_is_told():
    promise = Promise("group-size", "package", {"columns": ["x"], "k": 5})
    bare = made(pa.table({"x": [1.0]}), (Field("x", "number", pa.float64()),))
    release = replace(bare, promises=(promise,))
    statuses = [
        promise_facts(release, [Proof(promise, "holds"), *more])[0].status
        for more in ([], [Proof(promise, "broken", 1)])
    ]
    assert statuses == ["holds", "broken"]
    assert promise_facts(release, [])[0].status == "not checked"


def test_figures_not_for_the_public_are_left_out(release, assessment):
    name = "risk.unchanged.rows"
    hidden = replace(
        assessment,
        figures={**assessment.figures, name: replace(assessment.figures[name], public=False)},
    )
    assert name not in page(release, hidden)
    assert name in page(release, hidden, audience="custodian")


def test_intervals_and_reasons_are_shown(release, assessment):
    name, other = "utility.columns.mean", "risk.unchanged.cells"
    told = {
        name: replace(assessment.figures[name], estimate=Estimate(0.2, 0.1, 0.3)),
        other: replace(assessment.figures[other], estimate=None, why="no such link."),
    }
    text = " ".join(
        Page(page(release, replace(assessment, figures={**assessment.figures, **told}))).text
    )
    assert "10\u00a0% to 30\u00a0%" in text  # a number and its sign stay on one line
    assert "do not apply" in text
    assert "no such link." in text


def test_an_unknown_audience_is_refused(release):
    with pytest.raises(PlanError, match="audience 'press' is not known"):
        gather(release, audience="press")


def test_every_method_has_a_sentence_and_strange_ones_too():
    from veladura.core.registry import METHODS, find

    for method in METHODS:
        assert find(method).sentence.endswith(".")
    unknown = Step("from-the-future", {}, ())
    assert sentence_of(unknown) == "The method from-the-future was applied."
    assert words.setting_meanings(None) == {}
    assert [words.setting(value) for value in (True, None, [1, "a"], {"x": [1, 2]})] == [
        "yes",
        "none",
        "1, a",
        "x: 1, 2",
    ]
    assert words.number(float("nan"), "share") == "unknown"
    assert words.number(2.5, "count") == "2.5"
    assert words.number(4e-6) == "under 0.001"
    assert words.number(4e-6, "share") == "under 0.001 %"
    assert words.enumerated([]) == "none"


def test_settings_that_only_repeat_the_columns_are_left_out_and_no_others():
    fields = (Field("c", "category", pa.string()),)
    listed, mapped = (
        made(pa.table({"c": ["a"]}), fields, steps=[Step("recode", {"columns": value}, ("c",))])
        for value in (["c"], {"c": 10})
    )
    assert gather(listed).steps[0].settings == ()
    assert gather(mapped).steps[0].settings[0].value == "c: 10"


def test_long_settings_are_folded():
    step = Step("recode", {"mapping": {f"k{i}": "v" * 20 for i in range(20)}}, ("c",))
    release = made(pa.table({"c": ["a"]}), (Field("c", "category", pa.string()),), steps=[step])
    assert "<details>" in page(release)


def test_the_saved_package_has_both_pages(release, tmp_path):
    saved = release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    assert "Random noise" in (saved / "report.html").read_text(encoding="utf-8")
    assert "For the custodian only" in next(
        (tmp_path / "safe" / "record").glob("report*.html")
    ).read_text(encoding="utf-8")
    loaded = vd.load(saved)
    assert "Attested by the holder" in page(
        loaded, vd.assess(pd.read_csv(path("clinic.csv"), dtype={"zip": str}), loaded)
    )


@pytest.mark.parametrize(
    ("estimate", "unit", "base", "value", "interval"),
    [
        (Estimate.exact(3 / 33600), "people", 33600, "3 of 33,600 people (0.00893 %)", ""),
        (Estimate.exact(0.0), "rows", 50, "0 of 50 rows (0 %)", ""),
        (
            Estimate(0.1, 0.05, 0.2),
            "people",
            100,
            "about 10 of 100 people (10 %)",
            "5 to 20 people",
        ),
        (Estimate.exact(0.5), "people", 0, "50 %", ""),
        (Estimate(0.5, 0.25, 0.75), "share", 0, "50 %", "25 % to 75 %"),
        (Estimate.exact(0.001), "people", 100, "under 1 of 100 people (0.1 %)", ""),
    ],
)
def test_numbers_of_people_come_first(estimate, unit, base, value, interval):
    figure = Figure("risk.x.y", "M.", "low", estimate, unit=unit, base=base)
    assert (words.figure(figure), words.interval(figure)) == (value, interval)


def test_shares_of_people_are_counted_on_the_page(release, assessment):
    uniques = assessment.figures["risk.replicated.uniques"]
    assert uniques.base == 5000
    count = round(uniques.estimate.value * 5000)
    text = " ".join(Page(page(release, assessment)).text)
    assert f"{count:,} of 5,000 people" in text


def test_the_page_says_that_membership_inference_was_not_tried_without_a_control_group():
    rng = np.random.default_rng(6)
    people = pd.DataFrame({"age": rng.integers(20, 70, 400), "pay": rng.normal(50, 9, 400).round()})
    others = pd.DataFrame({"age": rng.integers(20, 70, 200), "pay": rng.normal(50, 9, 200).round()})
    release = vd.Noise(columns=["pay"]).protect(people, seed=1)
    sentence = "not measured, no control group was kept."
    alone, beside = (vd.assess(people, release, control=own) for own in (None, others))
    for audience in ("public", "custodian"):
        page = render(gather(release, alone, audience=audience))
        assert re.sub("<[^>]*>", "", page).count(sentence) == 1
        tried = render(gather(release, beside, audience=audience))
        assert sentence not in re.sub("<[^>]*>", "", tried)  # the control
    # nothing was measured at all
    assert sentence not in re.sub("<[^>]*>", "", render(gather(release)))
