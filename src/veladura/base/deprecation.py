"""Old names of arguments and functions: they work for one more version, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def renamed(
    **names: str,
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator that lets callers use the old names of keyword arguments.

    The signature stays that of the function: editors and type checkers offer the new names only.

    Parameters
    ----------
    names
        ``old="new"``, one for each argument that changed its name.

    Examples
    --------
    >>> @renamed(datasets="release")
    ... def rows(release):
    ...     return len(release)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DeprecationWarning)
    ...     rows(datasets="abc")
    3
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            for old in [name for name in names if name in kwargs]:
                new = names[old]
                if new in kwargs:
                    msg = f"{function.__name__}() got {new!r} twice: {old!r} is its old name."
                    raise TypeError(msg)
                warn_of_rename(f"argument {old!r} of {function.__name__}()", repr(new))
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def warn_of_rename(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a name has changed.

    Parameters
    ----------
    old, new
        What was used, and what to use instead.
    stacklevel
        How far up the caller is whose line the warning names.
    """
    warnings.warn(
        f"{old} is now called {new}; the old name will be removed in the next version.",
        DeprecationWarning,
        stacklevel=stacklevel,
    )
