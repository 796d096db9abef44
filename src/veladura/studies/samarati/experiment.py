"""The experiment: loss by attribute as k grows, on the bundled register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veladura import example
from veladura.methods.kanonymity.kanonymity import KAnonymity
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.studies import pictures
from veladura.studies.study import Cell, Entry, Result, Results, Setting

if TYPE_CHECKING:
    import pandas as pd

    from veladura.methods.kanonymity.fitted import FittedKAnonymity

KEYS = ("zip", "birth", "sex", "ethnicity")
KS = (2, 3, 4, 5, 7, 10, 15, 20)
MAX_SUPPRESSION = 0.05


def register(setting: Setting, rows: int) -> pd.DataFrame:
    """Return some people of the bundled register, or of the user's table with these columns."""
    import pandas as pd

    source = setting.data or example.path("clinic.csv")
    frame = pd.read_csv(source, dtype={"zip": str}, parse_dates=["birth"])
    chosen = setting.streams("register").permutation(len(frame))[:rows]
    frame = frame.iloc[chosen].reset_index(drop=True)
    return frame.assign(birth=frame["birth"].dt.date)[[*KEYS, "diagnosis"]]


def fitted_for(frame: pd.DataFrame, k: int) -> FittedKAnonymity:
    """Return the search for one k; hierarchies as in the document."""
    recipe = KAnonymity(
        quasi_identifiers=list(KEYS),
        k=k,
        max_suppression=MAX_SUPPRESSION,
        hierarchies={
            "zip": Hierarchy.mask(5),
            "birth": Hierarchy.dates(["month", "year", "5 years", "decade", "50 years"]),
            "sex": Hierarchy.star(),
            "ethnicity": Hierarchy.star(),
        },
        prefer="balanced",
    )
    return recipe.fit(frame)  # type: ignore[return-value]


def experiment(setting: Setting) -> Results:
    """Return the exhibits of the experiment."""
    frame = register(setting, setting.times(2000, 5000))
    searches = {k: fitted_for(frame, k) for k in KS}
    chosen = {k: fitted.chosen for k, fitted in searches.items()}
    loss = {
        name: [node.levels[name] / node.heights[name] for node in chosen.values()] for name in KEYS
    }
    dropped = {"suppression": [1 - node.completeness for node in chosen.values()]}
    minimal = {k: list(fitted.minimal) for k, fitted in searches.items()}
    words = f"{len(frame)} people of the register, MaxSup {MAX_SUPPRESSION:.0%}."
    return {
        "Figure 6": _sample(frame),
        "Table 1": _distribution(frame),
        "Graph A": _graph(loss, "loss by generalisation", words),
        "Graph B": _graph(dropped, "loss by suppression", words),
        "Graph C": _spread(
            {k: [n.precision for n in nodes] for k, nodes in minimal.items()}, "precision"
        ),
        "Graph D": _spread(
            {k: [n.completeness for n in nodes] for k, nodes in minimal.items()}, "completeness"
        ),
    }


def _sample(frame: pd.DataFrame) -> Result:
    """Release a table with types kept, and show how values are written."""
    recipe = KAnonymity(
        quasi_identifiers=list(KEYS),
        k=5,
        max_suppression=MAX_SUPPRESSION,
        hierarchies={"birth": Hierarchy.dates(["month", "year", "decade", "50 years"])},
        preserve_type=True,
    )
    release = recipe.protect(frame)
    told = release.manifest["steps"][0]["settings"]
    rows = [(name, str(level)) for name, level in told["levels"].items()]
    rows += [("rows suppressed", f"{told['suppressed_rows']} of {len(frame)}")]
    return Result(("told to the recipient", "level"), rows)


def _distribution(frame: pd.DataFrame) -> Result:
    rows: list[Sequence[Entry]] = []
    for name in KEYS:
        values = frame[name].map(lambda day: day.year) if name == "birth" else frame[name]
        count = values.value_counts()
        figures = (len(count), count.min(), count.max(), count.median())
        label = "birth (year)" if name == "birth" else name
        rows.append((label, *(Cell(float(figure), digits=0) for figure in figures)))
    return Result(("attribute", "distinct", "least", "greatest", "median frequency"), rows)


def _graph(lines: dict[str, list[float]], label: str, words: str) -> Result:
    return Result(
        ("", *(f"k = {k}" for k in KS)),
        [(name, *(Cell(value, digits=2) for value in values)) for name, values in lines.items()],
        pictures.one(pictures.curves(KS, lines, ("k", label))),
        words,
    )


def _spread(groups: dict[int, list[float]], label: str) -> Result:
    return Result(
        ("", *(f"k = {k}" for k in groups)),
        [
            ("minimal generalisations", *(str(len(values)) for values in groups.values())),
            ("least", *(Cell(min(values), digits=2) for values in groups.values())),
            ("greatest", *(Cell(max(values), digits=2) for values in groups.values())),
        ],
        pictures.one(
            pictures.curves(
                list(groups),
                {
                    "greatest": [max(values) for values in groups.values()],
                    "least": [min(values) for values in groups.values()],
                },
                ("k", label),
            )
        ),
    )
