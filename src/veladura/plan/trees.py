"""veladura tree: the tree of one column of a plan, its leaves and its pruned subtrees. Private."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from veladura.base.context import Progress, silent
from veladura.base.pictures import image_of
from veladura.base.private_files import private_file, private_folder, write_private
from veladura.core.steps import Steps
from veladura.errors import FolderError, PlanError
from veladura.methods.cart.cart import Cart
from veladura.methods.cart.fitted import FittedCart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.core.release import Release
    from veladura.plan.plan import Plan
    from veladura.table.table import Table


@dataclass(frozen=True)
class TreeReport:
    """What a holder reads about one tree: text, and pictures by name. Nothing of it is released."""

    text: str = field(repr=False)
    pictures: dict[str, Figure] = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def write(self, folder: Path, release: Path) -> list[Path]:
        """Write text and pictures into a folder outside of the release; return the files."""
        home, public = folder.resolve(), release.resolve()
        if home == public or public in home.parents:
            msg = (
                f"{folder} is in the release folder: trees show original values and must not be"
                " published.\n\nHint: name another folder with --out."
            )
            raise FolderError(msg)
        private_folder(folder)
        files = [folder / "tree.txt"]
        write_private(files[0], f"{self.text}\n")
        for name, figure in self.pictures.items():
            files.append(folder / f"{name}.svg")
            with private_file(files[-1]) as stream:
                stream.write(image_of(figure))
        return files


def tree_report(
    plan: Plan,
    column: str,
    *,
    most: int | None = None,
    folds: int = 10,
    progress: Progress = silent,
) -> TreeReport:
    """Return the tree of a column that the plan's cart step replaces.

    Steps before it are applied. For numbers the leaves of original and synthetic rows stand beside
    each other, for categories the confusion table.
    """
    fitted, release = _fitted(plan, progress)
    tree, subtrees = fitted.tree(column, most), fitted.subtrees(column, folds)
    parts = [f"Tree of {tree.response} (private: do not share)", tree.text()]
    pictures = {"tree": tree.picture(), "subtrees": subtrees.picture()}
    if fitted.variables[column].places is not None and not tree.nodes[0].shares:
        leaves = fitted.leaves(column, most)
        means = leaves.means(release)
        table = leaves.statistics().to_string(float_format="{:.4g}".format)
        parts += [
            "Numbers of each leaf",
            table,
            "Means by leaf, original and synthetic",
            str(means),
        ]
        pictures |= {"leaves": leaves.picture(release), "means": means.picture()}
    elif fitted.variables[column].places is None:
        parts += ["Rows by true class and class of the tree", str(fitted.confusion(column, most))]
    best, small = subtrees.best, subtrees.best_within_one_error
    title = (
        f"Pruned subtrees ({folds}-fold cross-validation: least error at {best} leaves, smallest"
        f" within one standard error {small} leaves)"
    )
    parts += [title, str(subtrees)]
    return TreeReport("\n\n".join(parts), pictures)


def _fitted(plan: Plan, progress: Progress) -> tuple[FittedCart, Release]:
    """Return the fitted cart step of a plan, and a release of it that is not written."""
    places = [i for i, step in enumerate(plan.steps) if isinstance(step, Cart)]
    if not places:
        msg = "the plan has no step with method cart, so there are no trees."
        raise PlanError(msg)
    before, step = plan.steps[: places[0]], plan.steps[places[0]]
    table: Table = plan.open()
    seed, threads = plan.run.seed, plan.run.threads
    if before:
        first = before[0] if len(before) == 1 else Steps(before)
        table = first.protect(table, seed=seed, progress=progress).tables[0].table
    fitted = step.fit(table, seed, threads=threads, progress=progress)
    assert isinstance(fitted, FittedCart)  # noqa: S101  # of that step
    return fitted, step.protect(table, seed, threads=threads, progress=progress)
