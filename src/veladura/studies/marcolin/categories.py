"""Section 3.2: several categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.inference.posterior.samplers import adaptive_metropolis, chain_model
from veladura.studies import pictures
from veladura.studies.marcolin.releases import Estimates, alpha_of, estimated, released
from veladura.studies.study import Cell, Entry, Result, Results, Setting, cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PRIOR = 0.5


def drawn(
    setting: Setting, shares: Floats, n: int, epsilon: float, *, covers: bool = False
) -> Estimates:
    """Return estimates over releases, the table drawn anew for each."""
    rng = setting.streams("categories", str(shares.tolist()), n, str(epsilon))
    tables = rng.multinomial(n, shares, setting.times(150, 600)).astype(np.float64)
    alpha = alpha_of(epsilon, n)
    release = released(rng, tables, n, alpha)
    return estimated(release, n, alpha, PRIOR, shares if covers else None)


def categories(setting: Setting) -> Results:
    """Return the exhibits of several categories."""
    printed = setting.printed
    four = np.array(printed["Table 3.7"]["p"])
    eight = np.array(printed["Figure 3.8"]["p"])
    sixteen = np.array(printed["Figure 3.9"]["p"]) / np.sum(printed["Figure 3.9"]["p"])
    even, uneven = (np.array(printed[f"Table {t}"]["p"]) for t in ("3.8", "3.9"))
    sizes = {n: drawn(setting, four, n, 2.0) for n in (100, 500, 1000)}
    whole = {
        "4 categories": (four, drawn(setting, four, 500, 2.0, covers=True)),
        "8 categories": (eight, drawn(setting, eight, 500, 2.0, covers=True)),
        "17 categories": (sixteen, drawn(setting, sixteen, 500, 2.0, covers=True)),
    }
    balanced = drawn(setting, even, 500, 2.0, covers=True)
    unbalanced = drawn(setting, uneven, 500, 2.0, covers=True)
    cover = {**whole, "balanced": (even, balanced), "unbalanced": (uneven, unbalanced)}
    return {
        "Table 3.7": _by_size(setting, sizes),
        "Figure 3.6": Result(
            picture=pictures.panels(
                4,
                lambda cell, axes: pictures.boxes(
                    {str(n): one.mean[:, cell] for n, one in sizes.items()},
                    four[cell],
                    across="n",
                )(axes),
            )
        ),
        "Figure 3.7": _densities(*whole["4 categories"]),
        "Figure 3.8": _densities(*whole["8 categories"]),
        "Figure 3.9": _densities(*whole["17 categories"]),
        "Section 3.2.2": _coverage(cover),
        "Table 3.8": _means(setting, "Table 3.8", balanced),
        "Table 3.9": _unbalanced(setting, unbalanced, uneven),
        "Figure 3.10": _densities(even, balanced),
        "Figure 3.11": _densities(uneven, unbalanced),
        **_by_epsilon(setting, four, eight),
    }


def _by_size(setting: Setting, sizes: dict[int, Estimates]) -> Result:
    printed = setting.printed["Table 3.7"]
    rows: list[list[Entry]] = []
    for n, one in sizes.items():
        rows.append([f"n = {n}, mean", *cells(one.mean, printed[str(n)], 4)])
        spread = one.mean.var(axis=0, ddof=1)
        error = spread * np.sqrt(2 / (len(one.mean) - 1))
        theirs = printed[f"variance {n}"]
        rows.append(
            [
                f"n = {n}, variance",
                *(Cell(*each, 4) for each in zip(spread, error, theirs, strict=True)),
            ]
        )
    return Result(
        ("", *(f"p = {share}" for share in printed["p"])),
        rows,
        remark=f"Over {len(sizes[100].mean)} tables and releases; variances are over releases.",
    )


def _means(setting: Setting, table: str, one: Estimates) -> Result:
    printed = setting.printed[table]
    spread = one.mean.var(axis=0, ddof=1)
    error = spread * np.sqrt(2 / (len(one.mean) - 1))
    return Result(
        ("", *(f"p = {share}" for share in printed["p"])),
        [
            ["mean", *cells(one.mean, printed["mean"], 4)],
            [
                "variance",
                *(Cell(*each, 4) for each in zip(spread, error, printed["variance"], strict=True)),
            ],
        ],
    )


def _unbalanced(setting: Setting, one: Estimates, shares: Floats) -> Result:
    """Table 3.9, with the document's own sampler beside the exact posterior."""
    table = _means(setting, "Table 3.9", one)
    rng = setting.streams("unbalanced")
    some, alpha = setting.times(8, 40), alpha_of(2.0, 500)
    release = released(rng, rng.multinomial(500, shares, some).astype(np.float64), 500, alpha)
    exact = estimated(release, 500, alpha, PRIOR)
    chain = adaptive_metropolis(
        chain_model(release, 500, alpha=alpha, prior=PRIOR),
        sweeps=setting.times(6000, 20_000),
        burn=setting.times(4000, 10_000),
        seed=int(rng.integers(2**31)),
    )
    apart = chain.mean - exact.mean
    return Result(
        table.header,
        [
            *table.rows,
            ["algorithm 6 (corrected)", *cells(chain.mean, digits=4)],
            ["exact, same releases", *cells(exact.mean, digits=4)],
            ["difference", *cells(apart, digits=4)],
        ],
        remark=(
            f"Algorithm 6 with the right conditional on {some} releases, acceptance"
            f" {chain.acceptance.mean():.3f}."
        ),
    )


def _densities(shares: Floats, one: Estimates) -> Result:
    def draw(cell: int, axes: Axes) -> None:
        pictures.densities({"": one.mean[:, cell]}, shares[cell])(axes)
        axes.set_title(f"p = {shares[cell]:.3g}", fontsize=8)

    return Result(picture=pictures.panels(shares.size, draw, size=(1.9, 1.5)))


def _coverage(cover: dict[str, tuple[Floats, Estimates]]) -> Result:
    rows: list[list[Entry]] = []
    for name, (shares, one) in cover.items():
        large = shares > 0.1
        row: list[Entry] = [name]
        for part, theirs in ((large, 0.80), (~large, 0.60)):
            some = one.covered[:, part]
            row.extend(cells(some.mean(axis=1)[:, None], [theirs]) if part.any() else [""])
        rows.append(row)
    return Result(("", "shares above .1", "other shares"), rows)


def _by_epsilon(setting: Setting, four: Floats, eight: Floats) -> Results:
    epsilons = setting.printed["Figure 3.12"]["epsilon"]
    results: dict[str, Result] = {}
    rows: list[list[Entry]] = []
    for number, shares in (("Figure 3.12", four), ("Figure 3.13", eight)):
        found = {e: drawn(setting, shares, 500, e, covers=True) for e in epsilons}

        def draw(
            cell: int,
            axes: Axes,
            found: dict[float, Estimates] = found,
            shares: Floats = shares,
        ) -> None:
            groups = {f"{e:g}": one.mean[:, cell] for e, one in found.items()}
            pictures.boxes(groups, shares[cell], across="epsilon")(axes)
            axes.set_title(f"p = {shares[cell]:g}", fontsize=8)

        results[number] = Result(picture=pictures.panels(shares.size, draw))
        for e, one in found.items():
            theirs = 0.30 if e == 0.5 else None
            covered = one.covered.mean(axis=1)[:, None]
            rows.append([f"{shares.size} categories, epsilon {e:g}", *cells(covered, [theirs])])
    return {**results, "Section 3.2.4": Result(("", "coverage, mean of cells"), rows)}
