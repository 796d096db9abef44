"""Draw the pictures of trees in docs/images anew, from the bundled example, which is made up."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import veladura as vd
from veladura.example import path

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    """Fit income on a few columns, and draw its tree, leaves, subtrees and partition."""
    table = vd.open(path("clinic.csv")).without_identifiers().arrow.to_pandas()
    people = table[["sex", "marital", "diagnosis", "stay", "income"]].assign(
        born=pd.to_datetime(table["birth"]).dt.year
    )
    recipe = vd.Cart(
        columns=["income"],
        linear_scores=False,
        criterion="values",
        m=5,
        transform={"income": "log"},
    )
    fitted, release = recipe.fit(people, seed=1), recipe.protect(people, seed=1)
    leaves = fitted.leaves("income", most=7)
    fitted.tree("income", most=7).plot(IMAGES / "tree.svg")
    leaves.plot(IMAGES / "tree-leaves.svg", release)
    leaves.means(release).plot(IMAGES / "tree-leaf-means.svg")
    fitted.subtrees("income").plot(IMAGES / "tree-subtrees.svg")
    two = vd.Cart(
        columns=["income"],
        predictors=["born", "stay"],
        linear_scores=False,
        criterion="values",
        transform={"income": "log"},
    ).fit(people, seed=1)
    two.surface("income", most=7).plot(IMAGES / "tree-surface.png")


if __name__ == "__main__":
    main()
