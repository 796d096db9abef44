"""``levels``: one generalisation that the holder names, checked like any other."""

from __future__ import annotations

import pytest
from tests.methods.kanonymity.recount import people, recipe, smallest_group, written

from veladura.errors import DataError, PlanError
from veladura.methods.kanonymity import search


def test_every_node_is_released_or_refused_as_the_search_says():
    frame = people(4, rows=120)
    fitted = recipe().fit(frame)
    minimal = [tuple(node.levels.values()) for node in fitted.minimal]
    for zip_level in range(6):
        for age in range(5):
            for sex in range(2):
                levels = {"zip": zip_level, "age": age, "sex": sex}
                vector = (zip_level, age, sex)
                good = any(all(a <= b for a, b in zip(m, vector, strict=True)) for m in minimal)
                made = recipe(levels=levels)
                if good:
                    assert made.fit(frame).vector == vector
                else:
                    with pytest.raises(DataError, match="do not keep k = 3"):
                        made.fit(frame)


@pytest.mark.parametrize("form", [{}, {"suppressed": "star"}, {"recoding": "local"}], ids=str)
def test_the_release_has_the_given_levels(form, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "walk_lattice", lambda *_: pytest.fail("searched"))
    frame = people(4, rows=120)
    levels = {"zip": 2, "age": 3, "sex": 1}
    release = recipe(levels=levels, **form).protect(frame)
    settings = release.manifest["steps"][0]["settings"]
    assert settings["levels"] == levels
    assert settings["levels_given"] is True
    assert "minimal_generalisations" not in settings
    rows = written(release, tmp_path)
    assert smallest_group(rows[rows.zip != "*"]) >= 3
    if not form:
        assert set(rows.sex) == {"*"}
        assert {value[3:] for value in rows.zip} == {"**"}


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"zip": 2, "age": 3}, r"not named: \['sex'\]"),
        ({"zip": 2, "age": 3, "sex": 1, "income": 0}, "not quasi-identifiers"),
        ({"zip": -1, "age": 3, "sex": 1}, "at least 0"),
        ({"zip": True, "age": 3, "sex": 1}, "whole number"),
        ({"zip": 1.5, "age": 3, "sex": 1}, "whole number"),
    ],
)
def test_levels_that_cannot_be_are_refused(levels, words):
    with pytest.raises(PlanError, match=words):
        recipe(levels=levels)


def test_levels_above_a_hierarchy_are_refused_with_its_range():
    made = recipe(levels={"zip": 6, "age": 0, "sex": 0})
    with pytest.raises(PlanError, match=r"'zip' has the levels 0 \(as it is\) to 5 \(suppressed\)"):
        made.fit(people(4))


def test_levels_do_not_go_with_mondrian():
    with pytest.raises(PlanError, match="has no levels"):
        recipe(levels={"zip": 1, "age": 0, "sex": 0}, recoding="mondrian")
