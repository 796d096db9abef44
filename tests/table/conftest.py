"""Scratch of the tests goes to a temporary folder; errors are searched for values."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from veladura.errors import VeladuraError

CANARY = "Zanzibar-77315"


@pytest.fixture(autouse=True, scope="session")
def own_custodian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VELADURA_CUSTODIAN", str(tmp_path_factory.mktemp("custodian")))
        yield


@pytest.fixture
def refused() -> Callable[..., AbstractContextManager[None]]:
    """Return a check that an error is raised, says what it should, and shows no value."""

    @contextmanager
    def check(kind: type[VeladuraError], match: str) -> Iterator[None]:
        with pytest.raises(kind, match=match) as error:
            yield
        shown = "".join(traceback.format_exception(error.value))
        assert CANARY not in shown
        assert CANARY.lower() not in shown.lower()
        assert "77315" not in shown

    return check
