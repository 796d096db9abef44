"""Match risk under several intruders: by scenario, or over how precisely one intruder knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.deprecation import renamed
from veladura.errors import PlanError
from veladura.measures.pairing import linked_tables
from veladura.measures.risk.intruder import Intruder
from veladura.measures.risk.match_search import MatchRisk, search
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, eq=False)
class Scenarios(Mapping[Any, MatchRisk]):
    """Match risks by the name of the intruder, or by the factor of the radius.

    Prints as a table; ``plot(path)`` draws the rates over the radius, or by intruder.
    """

    risks: Mapping[Any, MatchRisk]

    def __getitem__(self, name: Any) -> MatchRisk:
        return self.risks[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.risks)

    def __len__(self) -> int:
        return len(self.risks)

    def __str__(self) -> str:
        lines = [("scenario", "EMR / n", "TMR", "FMR"), *self.rows()]
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def picture(self) -> Figure:
        """Return the three rates: as curves over the radius, or as bars by intruder."""
        from veladura.measures.risk.match_picture import match_figure

        return match_figure(self.risks)

    def plot(self, path: str | Path) -> Path:
        """Write the picture: SVG, PNG or PDF by the name of the file. Private: of the original."""
        from veladura.base.pictures import write_figure

        return write_figure(self.picture(), Path(path))

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return each scenario with its three figures, as text."""
        return [
            (str(name), f"{float(r.emr):.4f}", f"{float(r.tmr):.4f}", f"{float(r.fmr):.4f}")
            for name, r in self.risks.items()
        ]


@renamed(datasets="release")
def scenarios(
    original: Any, release: Any, intruders: Mapping[str, Intruder], *, targets: int | None = None
) -> Scenarios:
    """Return the match risk under each of several intruders.

    Parameters
    ----------
    original, release, targets
        As for `match`.
    intruders
        What each intruder knows, by a name of your choice.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"sex": ["f", "f", "m"], "income": [10.0, 20.0, 30.0]})
    >>> after = before.assign(income=[11.0, 21.0, 90.0])
    >>> both = Intruder(known=["sex"], sensitive=["income"], radius=2)
    >>> print(scenarios(before, after, {"sex": Intruder(known=["sex"]), "both": both}))
    scenario  EMR / n  TMR     FMR
    sex       0.6667   0.3333  0.0000
    both      0.6667   0.6667  0.0000
    """
    if not intruders:
        msg = "scenarios needs at least one intruder."
        raise PlanError(msg)
    table = open_quietly(original)
    released = linked_tables(table, release)
    return Scenarios(
        {name: search(table, released, intruder, targets) for name, intruder in intruders.items()}
    )


@renamed(datasets="release")
def match_curve(
    original: Any,
    release: Any,
    intruder: Intruder,
    *,
    factors: Sequence[float] = FACTORS,
    targets: int | None = None,
) -> Scenarios:
    """Return the match risk of one intruder for several radii: his own, times each factor.

    Parameters
    ----------
    original, release, targets
        As for `match`.
    intruder
        What the intruder knows.
    factors
        What the radius is multiplied by; a relative radius is cut at 1.
    """
    if intruder.radius is None or not factors:
        msg = "a curve needs an intruder with a radius, and at least one factor."
        raise PlanError(msg)
    table = open_quietly(original)
    released = linked_tables(table, release)
    return Scenarios(
        {factor: search(table, released, intruder.widened(factor), targets) for factor in factors}
    )
