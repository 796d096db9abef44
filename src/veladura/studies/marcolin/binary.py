"""Sections 2.6 and 3.1: one share, x = 30 of 100."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats
from veladura.inference.combined import combine
from veladura.inference.posterior.samplers import (
    Chain,
    acceptance_by_step,
    adaptive_metropolis,
    chain_model,
    gibbs,
    metropolis,
)
from veladura.studies import pictures
from veladura.studies.marcolin.releases import Estimates, alpha_of, estimated, released
from veladura.studies.study import Cell, Entry, Result, Results, Setting, cells

N, X, EPSILON, PRIOR = 100, 30, 2.0, 1.0
SETS = (1, 2, 5, 10)
WIDTHS = tuple(range(6, 13))


def binary(setting: Setting) -> Results:
    """Return the exhibits of one share."""
    rng = setting.streams("binary")
    repetitions = setting.times(200, 600)
    releases = {sets: _releases(setting, sets, repetitions) for sets in SETS}
    exact = {
        sets: estimated(drawn, N, alpha_of(EPSILON, N, sets), PRIOR, np.array([0.3, 0.7]))
        for sets, drawn in releases.items()
    }
    chains = {sets: _chains(setting, releases[sets], sets) for sets in SETS}
    means = {f"M = {sets}": one.mean[:, 0] for sets, one in exact.items()}
    return {
        "Section 2.6": _rules(releases),
        "Figure 3.1": _widths(setting),
        "Table 3.1": _moments(setting, exact, chains, "Table 3.1", spread=False),
        "Table 3.2": _moments(setting, exact, chains, "Table 3.2", spread=True),
        "Table 3.3": _sizes(setting, chains),
        "Table 3.4": _times(setting, releases[1][0], int(rng.integers(2**31))),
        "Figure 3.2": Result(picture=pictures.one(pictures.boxes(means, 0.3, "E(p)"))),
        "Figure 3.3": Result(picture=pictures.one(pictures.densities(means, 0.3, "E(p)"))),
        "Section 3.1.4": Result(
            ("", "coverage"),
            [
                (
                    f"M = {sets}",
                    *cells(one.covered[:, :1], [0.98] if sets == 1 else None),
                )
                for sets, one in exact.items()
            ],
        ),
        **_by_epsilon(setting, repetitions),
        "Table 3.6": _borders(setting, repetitions),
    }


def _releases(setting: Setting, sets: int, repetitions: int) -> Floats:
    counts = np.tile([X, N - X], (repetitions, 1)).astype(np.float64)
    rng = setting.streams("binary", "releases", sets)
    return released(rng, counts, N, alpha_of(EPSILON, N, sets), sets)


def _chains(setting: Setting, drawn: Floats, sets: int) -> dict[str, Chain]:
    """Run both samplers on some of the releases, a chain to each, all at once."""
    some = drawn[: setting.times(40, 200)]
    model = chain_model(some, N, alpha=alpha_of(EPSILON, N, sets), prior=PRIOR)
    seed = int(setting.streams("binary", "chains", sets).integers(2**31))
    kept, burn, thin = setting.times(100, 600), setting.times(500, 1000), 20
    return {
        "Metropolis": metropolis(model, step=11, sweeps=kept, burn=burn, thin=thin, seed=seed),
        "Gibbs": gibbs(model, sweeps=kept, burn=burn, thin=thin, seed=seed),
    }


def _rules(releases: dict[int, Floats]) -> Result:
    """Combining rules on the released shares beside the exact posterior: bias and coverage."""
    rows: list[list[Entry]] = []
    for sets in SETS[1:]:
        shares = releases[sets][:, :, 0] / N
        combined = combine(shares.T, (shares * (1 - shares) / N).T, rule="imputed")
        low, high = np.asarray(combined.lower), np.asarray(combined.upper)
        held = (low <= X / N) & (high >= X / N)
        exact = estimated(
            releases[sets], N, alpha_of(EPSILON, N, sets), PRIOR, np.array([0.3, 0.7])
        )
        rows.append(
            [
                f"M = {sets}",
                *cells(shares.mean(axis=1)[:, None] - X / N),
                *cells(np.asarray(combined.variance)[:, None], digits=4),
                Cell(float(shares.mean(axis=1).var(ddof=1)), digits=4),
                *cells(held[:, None]),
                *cells(exact.mean[:, :1] - X / N),
                *cells(exact.covered[:, :1]),
            ]
        )
    return Result(
        (
            "",
            "bias, rules",
            "their variance",
            "true variance",
            "coverage, rules",
            "bias, exact",
            "coverage, exact",
        ),
        rows,
        remark=(
            "Bias of the estimate of x / n = .3, and how often 95 % intervals hold it. Rules of"
            f" multiple imputation, as the document prints them; {len(releases[1])} releases."
        ),
    )


def _widths(setting: Setting) -> Result:
    drawn = _releases(setting, 1, setting.times(100, 600))
    model = chain_model(drawn, N, alpha=alpha_of(EPSILON, N), prior=PRIOR)
    rates = acceptance_by_step(
        model,
        steps=WIDTHS,
        sweeps=setting.times(200, 600),
        burn=setting.times(100, 600),
        chains=1,
        seed=int(setting.streams("widths").integers(2**31)),
    )
    printed = {11.0: setting.printed["Figure 3.1"]["11"]}
    return Result(
        ("L", "acceptance rate"),
        [(str(width), Cell(rate, None, printed.get(width))) for width, rate in rates.items()],
        pictures.one(
            pictures.curves(
                list(rates), {"ours": list(rates.values())}, ("L", "acceptance rate"), printed
            )
        ),
        f"One chain to each of {len(drawn)} releases.",
    )


def _moments(
    setting: Setting,
    exact: dict[int, Estimates],
    chains: dict[int, dict[str, Chain]],
    table: str,
    *,
    spread: bool,
) -> Result:
    """Means or variances over releases, by sampler, beside the exact posterior."""
    printed = setting.printed[table]
    rows: list[list[Entry]] = [["exact"], ["Metropolis"], ["Gibbs"], ["JAGS"]]
    for place, sets in enumerate(SETS):
        drawn = {
            "exact": exact[sets].mean[:, 0],
            **{name: chain.mean[:, 0] for name, chain in chains[sets].items()},
        }
        for row in rows:
            name = str(row[0])
            theirs = printed[name][place] if name in printed else None
            if name not in drawn:
                row.append(Cell(theirs=theirs, digits=4))
            elif spread:
                variance = float(drawn[name].var(ddof=1))
                error = variance * np.sqrt(2 / (drawn[name].size - 1))
                row.append(Cell(variance, float(error), theirs, 4))
            else:
                row.extend(cells(drawn[name][:, None], [theirs], 4))
    some = len(chains[1]["Gibbs"].acceptance)
    return Result(
        ("", *(f"M = {sets}" for sets in SETS)),
        rows,
        remark=f"Exact: {exact[1].mean.shape[0]} releases; samplers: {some} of them.",
    )


def _sizes(setting: Setting, chains: dict[int, dict[str, Chain]]) -> Result:
    printed = setting.printed["Table 3.3"]
    rows: list[list[Entry]] = []
    for name in ("Metropolis", "Gibbs"):
        row: list[Entry] = [name]
        for place, sets in enumerate(SETS):
            chain = chains[sets][name]
            kept = len(chain.draws)
            sizes = chain.effective[:, :1] * 1000 / kept
            row.extend(cells(sizes, [printed[name][place]], 0))
        rows.append(row)
    rows.append(["JAGS", *(Cell(theirs=value, digits=0) for value in printed["JAGS"])])
    kept = len(chains[1]["Gibbs"].draws)
    return Result(
        ("", *(f"M = {sets}" for sets in SETS)),
        rows,
        remark=f"Of {kept} kept draws, told for 1000.",
    )


def _times(setting: Setting, one: Floats, seed: int) -> Result:
    printed = setting.printed["Table 3.4"]
    model = chain_model(one, N, alpha=alpha_of(EPSILON, N), prior=PRIOR)
    samplers = {"Metropolis": metropolis, "Gibbs": gibbs, "adaptive": adaptive_metropolis}
    rows: list[list[Entry]] = [
        [name, Cell(sampler(model, seed=seed).seconds, None, printed.get(name), 2)]
        for name, sampler in samplers.items()
    ]
    return Result(("", "seconds"), [*rows, ["JAGS", Cell(theirs=printed["JAGS"], digits=2)]])


def _by_epsilon(setting: Setting, repetitions: int) -> Results:
    printed = setting.printed["Table 3.5"]
    drawn = {}
    for epsilon in printed["epsilon"]:
        alpha = alpha_of(epsilon, N)
        counts = np.tile([X, N - X], (repetitions, 1)).astype(np.float64)
        release = released(setting.streams("binary", str(epsilon)), counts, N, alpha)
        drawn[str(epsilon)] = estimated(release, N, alpha, PRIOR).mean[:, 0]
    rows: list[list[Entry]] = []
    for place, (name, values) in enumerate(drawn.items()):
        variance = float(values.var(ddof=1))
        error = variance * float(np.sqrt(2 / (values.size - 1)))
        rows.append(
            [
                name,
                *cells(values[:, None], [printed["mean"][place]], 4),
                Cell(variance, error, printed["variance"][place], 4),
            ]
        )
    return {
        "Table 3.5": Result(("epsilon", "mean", "variance"), rows),
        "Figure 3.4": Result(picture=pictures.one(pictures.densities(drawn, 0.3, "E(p)"))),
        "Figure 3.5": Result(picture=pictures.one(pictures.boxes(drawn, 0.3, "E(p)"))),
    }


def _borders(setting: Setting, repetitions: int) -> Result:
    printed = setting.printed["Table 3.6"]
    rows: list[list[Entry]] = []
    for name, theirs in printed.items():
        if name == "p":
            continue
        n, size, sets = (int(part) for part in name.split(","))
        alpha = alpha_of(EPSILON, size, sets)
        row: list[Entry] = [f"n = {n}, size = {size}, M = {sets}"]
        for share, value in zip(printed["p"], theirs, strict=True):
            counts = np.tile([round(n * share), n - round(n * share)], (repetitions, 1))
            rng = setting.streams("borders", name, str(share))
            release = released(rng, counts.astype(np.float64), size, alpha, sets)
            row.extend(cells(estimated(release, n, alpha, PRIOR).mean[:, :1], [value]))
        rows.append(row)
    return Result(("", *(f"p = {share}" for share in printed["p"])), rows)
