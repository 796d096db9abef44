"""Count the files that a reader opens to follow `protect`.

How often one has to change the file.

The functions and methods of the package that one call of ``protect`` enters are listed in the order
of their first call: that is the order in which a reader meets them. *Files* is the number of
different source files in that list, *switches* the number of neighbours in the list that stand in
different files. A function counts once, however often it is called; lambdas, comprehensions and
generator expressions belong to the function they are written in and do not count. The table (the
bundled clinic table, 5,000 people) is opened before, one call of ``protect`` goes first so that
imports, compiled kernels and cached codes do not count, and everything runs in one thread.

``python tools/trace_protect.py`` prints a table, with ``--list METHOD`` the functions too.
Another version of the code is traced with ``PYTHONPATH=path/to/its/src``.

By this definition the code of commit e5638e6, before it was laid out anew, has

    method                 files  switches
    k-anonymity               32        81
    cart                      28       101
    dirichlet-multinomial     22        66
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pandas as pd

import veladura as vd

ROOT = Path(vd.__file__).parent
DOMAIN = {"sex": ["female", "male"], "marital": ["single", "married", "divorced", "widowed"]}


def main() -> None:
    """Trace the three methods and print what was counted."""
    parser = argparse.ArgumentParser(description="Files and switches of files during protect.")
    parser.add_argument("--list", metavar="METHOD", default="", help="print its functions too")
    listed = parser.parse_args().list
    table = clinic()
    print(f"{'method':<22} {'files':>5}  {'switches':>8}")
    for name, (recipe, settings) in recipes().items():
        functions = functions_of(recipe, table, settings)
        files = [function.co_filename for function in functions]
        switches = sum(before != after for before, after in pairwise(files))
        print(f"{name:<22} {len(set(files)):>5}  {switches:>8}")
        if name == listed:
            for function in functions:
                path = Path(function.co_filename).relative_to(ROOT)
                print(f"    {path}:{function.co_firstlineno} {function.co_qualname}")


def clinic() -> Any:
    """Return the bundled table, opened, without the names and numbers of its people."""
    path = next(ROOT.rglob("clinic.csv"))
    frame = pd.read_csv(path, parse_dates=["birth"]).drop(columns=["name", "social_number"])
    return vd.open(frame)


def recipes() -> dict[str, tuple[Any, dict[str, int]]]:
    """Return each method with the arguments of its protect; a private draw takes no seed."""
    private = vd.DirichletMultinomial(columns=list(DOMAIN), domain=DOMAIN, epsilon=2.0)
    return {
        "k-anonymity": (vd.KAnonymity(quasi_identifiers=list(DOMAIN), k=5), {"seed": 7}),
        "cart": (vd.Cart(columns=["income"], m=5), {"seed": 7}),
        "dirichlet-multinomial": (private, {}),
    }


def functions_of(recipe: Any, table: Any, settings: dict[str, int]) -> list[CodeType]:
    """Return the package's functions that protect enters, in the order of their first call."""
    entered: dict[CodeType, None] = {}
    inside = str(ROOT)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(inside) and code.co_name[0] != "<":
            entered.setdefault(code)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recipe.protect(table, threads=1, **settings)
        sys.setprofile(note)
        try:
            recipe.protect(table, threads=1, **settings)
        finally:
            sys.setprofile(None)
    return list(entered)


if __name__ == "__main__":
    main()
