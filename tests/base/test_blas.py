"""BLAS takes one thread within the context, and as many as before after it."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from veladura.base.blas import one_thread

pytestmark = pytest.mark.quick


def threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))  # BLAS is loaded
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_takes_one_thread_and_then_as_many_as_before():
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        for _ in range(3):
            with one_thread():
                assert threads() <= {1}
                with one_thread():  # a step within a step
                    assert threads() <= {1}
                assert threads() <= {1}
            assert threads() == before


def test_a_library_that_is_imported_later_is_found(monkeypatch):
    with one_thread():
        pass
    monkeypatch.setitem(sys.modules, "later", types.ModuleType("later"))
    with one_thread():
        assert threads() <= {1}
