"""Old names of arguments work for one more version, and say so."""

from __future__ import annotations

import inspect
import warnings

import pytest

from veladura.base.deprecation import renamed, warn_of_rename


@renamed(datasets="release", columns="known")
def risk(original: list[int], release: list[int], *, known: str = "all") -> tuple[int, int, str]:
    """Return what was given."""
    return len(original), len(release), known


def test_new_names_and_positions_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert risk([1], [1, 2]) == (1, 2, "all")
        assert risk([1], release=[1, 2], known="age") == (1, 2, "age")


def test_an_old_name_works_and_the_warning_has_both_names_and_the_line_of_the_caller():
    with pytest.warns(DeprecationWarning, match=r"'datasets' of risk\(\) .* 'release'") as caught:
        assert risk([1], datasets=[1, 2]) == (1, 2, "all")
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="'columns'"):
        assert risk([1], [2], columns="age") == (1, 1, "age")


def test_both_names_at_once_are_refused():
    with pytest.raises(TypeError, match="got 'release' twice: 'datasets' is its old name"):
        risk([1], release=[1], datasets=[1])
    warned = pytest.warns(DeprecationWarning, match="datasets")
    with warned, pytest.raises(TypeError, match="multiple values"):
        risk([1], [1], datasets=[1])


def test_signature_types_and_text_are_those_of_the_function():
    signature = inspect.signature(risk)
    assert list(signature.parameters) == ["original", "release", "known"]
    assert signature.parameters["release"].annotation == "list[int]"
    assert (risk.__name__, risk.__doc__) == ("risk", "Return what was given.")


def test_a_name_that_is_unknown_stays_an_error():
    with pytest.raises(TypeError, match="unexpected keyword"):
        risk([1], [1], tables=[1])


def test_the_warning_names_the_line_of_the_caller():
    def old():
        warn_of_rename("old()", "new()")

    with pytest.warns(DeprecationWarning, match=r"old\(\) is now called new\(\)") as caught:
        old()
    assert caught[0].filename == __file__
