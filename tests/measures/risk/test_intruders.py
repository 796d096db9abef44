"""People at risk for each intruder, against recounts by pandas and by loops over pairs of rows."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import ColumnError, PlanError
from veladura.measures.knowledge import Scenario
from veladura.measures.registry import is_figure, meaning_of

ROLES = {
    "sex": {"role": "quasi-identifier"},
    "age": {"role": "quasi-identifier"},
    "town": {"role": "quasi-identifier"},
    "income": {"role": "sensitive"},
}


def people(n=400, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(20, 70, n),
            "town": rng.choice(list("abcdefg"), n),
            "income": rng.lognormal(10, 0.6, n).round(),
            "visit": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    frame.loc[rng.choice(n, 15, replace=False), "income"] = np.nan
    return frame


def uniques(frame, columns):
    return int((frame.groupby(columns, dropna=False).size() == 1).sum())


def compatible(frame, columns, within):
    """Rows compatible with each row, by definition."""
    n = len(frame)
    fits = np.ones((n, n), dtype=bool)
    for name in columns:
        values = frame[name].to_numpy()
        if name not in within:
            codes = pd.factorize(frame[name], use_na_sentinel=False)[0]
            fits &= codes[:, None] == codes[None, :]
            continue
        number, relative = within[name]
        plain = values.astype("datetime64[D]").astype(float) if values.dtype.kind == "M" else values
        half = np.abs(plain) * number if relative else np.full(n, float(number))
        near = np.abs(plain[:, None] - plain[None, :]) <= (half + 1e-6)[:, None]
        gone = np.isnan(plain)
        fits &= near | (gone[:, None] & gone[None, :])
    return fits.sum(axis=1)


def of(found, name):
    return next(record for record in found if record.name == name)


def test_untouched_table_is_at_its_honest_value():
    frame = people()
    release = vd.TopCode(columns={"income": 1e9}).protect(vd.open(frame, ROLES))
    found = vd.risk.intruders(vd.open(frame, ROLES), release)
    assert [record.name for record in found] == ["register", "acquaintance", "everything"]
    for name, columns in (
        ("register", ["sex", "age", "town"]),
        ("everything", list(frame.columns)),
    ):
        record = of(found, name)
        assert int(record.before) == int(record.after) == uniques(frame, columns)
        assert record.people == len(frame)
    rough = {"income": (0.1, True), "visit": (30, False)}
    alone = int((compatible(frame, list(frame.columns), rough) == 1).sum())
    assert int(of(found, "acquaintance").before) == int(of(found, "acquaintance").after) == alone
    assert 0 < alone < len(frame)


@pytest.mark.parametrize("within", [{"age": 2}, {"age": 2, "income": "5 %"}, {"visit": "1 week"}])
def test_within_by_definition(within):
    frame = people(seed=8)
    columns = ["sex", *within]
    reach = {"age": (2, False), "income": (0.05, True), "visit": (7, False)}
    who = Scenario(name="neighbour", knows=columns, within=within)
    release = vd.Recode(columns={"town": {"groups": {"ab": ["a", "b"]}}}).protect(frame)
    record = vd.risk.intruders(frame, release, [who])[0]
    expected = int((compatible(frame, columns, {n: reach[n] for n in within}) == 1).sum())
    assert (int(record.before), int(record.after)) == (expected, expected)


def test_coarser_values_are_looked_up():
    frame = people()
    table = vd.open(frame, ROLES)
    recipe = vd.KAnonymity(quasi_identifiers=["sex", "age", "town"], k=4, max_suppression=0.05)
    release = recipe.protect(table)
    register = of(vd.risk.intruders(table, release), "register")
    assert int(register.before) == uniques(frame, ["sex", "age", "town"]) > 0
    assert int(register.after) == uniques(release.datasets[0], ["sex", "age", "town"]) == 0
    everything = of(vd.risk.intruders(table, release), "everything")
    assert set(everything.knows) == set(frame.columns)
    assert int(everything.after) == uniques(release.datasets[0], list(frame.columns))


def test_disturbed_numbers_by_the_nearest_row():
    frame = people(n=150).dropna().reset_index(drop=True)
    release = vd.Noise(columns=["income"], scale=0.01).protect(frame, seed=2)
    after = release.datasets[0]
    who = Scenario(name="bank", knows=["sex", "income"])
    record = vd.risk.intruders(frame, release, [who])[0]
    order = np.sort(frame["income"].to_numpy())
    rows, ends = np.unique(order, return_counts=True)
    share = (np.cumsum(ends) - ends / 2) / len(frame)

    def place(values):
        width = rows[-1] - rows[0]
        beyond = np.maximum(values - rows[-1], 0) - np.maximum(rows[0] - values, 0)
        return np.interp(values, rows, share) + beyond / width

    before, released = place(frame["income"].to_numpy()), place(after["income"].to_numpy())
    right = 0
    for i in range(len(frame)):
        same = np.flatnonzero((after["sex"] == frame["sex"][i]).to_numpy())
        far = np.abs(released[same] - before[i])
        best = same[far <= far.min() + 1e-9]
        right += best.size == 1 and best[0] == i
    assert int(record.after) == right
    assert 0 < right < int(record.before)


def test_never_below_what_exact_columns_give():
    frame = people()
    for recipe in (
        vd.Noise(columns=["income"], scale=3.0),
        vd.Swap(columns=["income"]),
        vd.Microaggregation(columns=["income"], k=20),
        vd.Cart(columns=["income"], m=3),
    ):
        release = recipe.protect(frame.dropna(), seed=4)
        who = Scenario(name="clerk", knows=["sex", "age", "town", "income"])
        record = vd.risk.intruders(frame.dropna(), release, [who])[0]
        assert int(record.after) >= uniques(frame.dropna(), ["sex", "age", "town"])


def test_mostly_exact_columns_count_as_exact():
    frame = people().dropna()
    top = float(frame["income"].quantile(0.9))
    release = vd.TopCode(columns={"income": top}).protect(frame)
    assert "income" in of(vd.risk.intruders(frame, release), "everything").knows
    release = vd.Recode(columns={"income": {"round": 5000}}).protect(frame)
    assert "income" not in of(vd.risk.intruders(frame, release), "everything").knows


def test_synthetic_rows_have_replicated_uniques():
    frame = people()[["sex", "age", "town"]]
    release = vd.Cart(m=1).protect(frame, seed=4)
    if release.rows is not None:
        release = replace(release, tables=tuple(replace(d, rows=None) for d in release.tables))
    who = Scenario(name="clerk", knows=["sex", "age", "town"])
    record = vd.risk.intruders(frame, release, [who])[0]
    before = frame.groupby(list(frame)).size()
    after = release.datasets[0].groupby(list(frame)).size()
    single = before[before == 1].index.intersection(after[after == 1].index)
    assert int(record.after) == len(single)
    assert record.by_chance == int((before == 2).sum())
    rough = Scenario(name="rough", knows=["sex", "age", "town"], within={"age": 1})
    exact = Scenario(name="exact", knows=["sex", "town"])
    first, second = vd.risk.intruders(frame, release, [rough, exact])[:2]
    assert float(first.after) == max(float(record.after), float(second.after))


def test_base_rate_of_replicated_uniques():
    """Two halves of one population replicate as often as the closed form says."""
    rng = np.random.default_rng(7)
    cells = rng.integers(0, 4000, 4000)
    pairs = int((np.bincount(cells) == 2).sum())
    shares = []
    for _ in range(60):
        half = rng.random(cells.size) < 0.5
        one, two = (np.bincount(part, minlength=4000) for part in (cells[half], cells[~half]))
        shares.append(((one == 1) & (two == 1)).sum() / half.sum())
    assert np.mean(shares) * cells.size == pytest.approx(pairs, rel=0.05)


@pytest.fixture
def visits():
    rng = np.random.default_rng(6)
    base = pd.DataFrame(
        {
            "patient": np.arange(200),
            "age": rng.integers(20, 80, 200),
            "sex": rng.choice(["f", "m"], 200),
            "town": rng.choice(list("abc"), 200),
        }
    )
    frame = base.loc[base.index.repeat(10)].reset_index(drop=True)
    return frame.assign(cost=rng.lognormal(5, 1, len(frame)).round())


@pytest.mark.parametrize("masked", [True, False])
def test_ten_visits_of_one_person_are_one_person(visits, masked):
    roles = {"patient": {"role": "person"}, "age": {"role": "quasi-identifier"}}
    table = vd.open(visits, {**roles, "sex": {"role": "quasi-identifier"}})
    recipe = (
        vd.KAnonymity(quasi_identifiers=["age", "sex"], k=3, max_suppression=0.05)
        if masked
        else vd.Noise(columns=["cost"])
    )
    release = recipe.protect(table, seed=1)
    keys = ["age", "sex"]
    result = vd.assess(table, release)
    register = of(result.intruders, "register")

    def alone(frame):
        once = frame.drop_duplicates([*keys, "patient"])
        return int((once.groupby(keys).size() == 1).sum())

    assert register.people == 200
    assert int(register.before) == alone(visits) > 0
    assert int(register.after) == alone(release.datasets[0])
    assert masked == (int(register.after) == 0)
    assert float(result["risk.intruders.register"]) == int(register.after) / 200


def test_figures_gate_and_detail():
    frame = people()
    release = vd.Noise(columns=["income"]).protect(frame, seed=1)
    who = Scenario(name="clerk", knows=["sex", "age"])
    result = vd.assess(frame, release, intruders=[who])
    n = len(frame)
    assert float(result["risk.intruders.clerk"]) == uniques(frame, ["sex", "age"]) / n
    assert [record.name for record in result.intruders] == ["clerk", "everything"]
    most = max(float(record.after) for record in result.intruders) / n
    assert float(result["risk.intruders.strongest"]) == most
    assert result.details["risk.intruders"].rows[0][:2] == ("clerk", "sex, age")
    assert is_figure("risk.intruders.clerk")
    assert not is_figure("risk.intruders.")
    assert meaning_of("risk.intruders.clerk").startswith("People at risk")
    with pytest.raises(ColumnError, match="height"):
        vd.assess(frame, release, intruders=[Scenario(name="x", knows=["height"])])


def test_dropped_column_is_refused_after_the_release_was_made():
    frame = people().assign(code=[f"c{i}" for i in range(400)])
    table = vd.open(frame, {"code": {"role": "identifier"}})
    release = vd.Noise(columns=["income"]).protect(table, seed=1)
    for source in (table, release.original):
        with pytest.raises(PlanError, match="finds nobody"):
            vd.assess(source, release, intruders=[Scenario(name="x", knows=["sex", "code"])])


def test_lazy_table_by_counts(tmp_path):
    frame = people().drop(columns="visit")
    frame.to_csv(tmp_path / "people.csv", index=False)
    table = vd.open(tmp_path / "people.csv", ROLES)
    recipe = vd.KAnonymity(quasi_identifiers=["sex", "age", "town"], k=4, max_suppression=0.05)
    lazy, near = recipe.protect(table), recipe.protect(vd.open(frame, ROLES))
    who = [Scenario(name="clerk", knows=["sex", "age", "town"])]
    found = [vd.risk.intruders(t, r, who) for t, r in ((table, lazy), (frame, near))]
    assert [[float(r.before), float(r.after)] for r in found[0]] == [
        [float(r.before), float(r.after)] for r in found[1]
    ]


def test_a_sample_of_people_where_there_are_too_many_pairs(monkeypatch):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(100, 20, (1500, 3)).round(1), columns=list("abc"))
    who = [Scenario(name="x", knows=list("abc"), within=dict.fromkeys("abc", "4 %"))]
    for recipe in (vd.Recode(columns={"c": {"round": 1}}), vd.Noise(columns=["c"], scale=0.1)):
        release = recipe.protect(frame, seed=1)
        whole = vd.risk.intruders(frame, release, who)[0]
        assert whole.before.is_exact
        assert whole.after.is_exact
        with monkeypatch.context() as patch:
            patch.setattr("veladura.measures.risk.picking.PAIRS", 1_000)
            part = vd.risk.intruders(frame, release, who)[0]
        for sampled, counted in ((part.before, whole.before), (part.after, whole.after)):
            assert not sampled.is_exact
            assert sampled.lower <= counted.value <= sampled.upper


def test_fast_enough():
    frame = people(n=100_000)
    release = vd.Recode(columns={"age": {"round": 5}}).protect(vd.open(frame, ROLES))
    vd.risk.intruders(release.original, release)  # compiles
    start = process_time()
    vd.risk.intruders(release.original, release)
    assert process_time() - start < 2
