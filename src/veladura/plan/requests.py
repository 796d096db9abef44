"""Several recipients of one table: a release for each request of a plan, held against each other.

Two recipients may put their files together. Each release keeps its promise on its own, and any two
are held against each other before anything is written. Classes are intersected: people whose two
classes are shared by fewer than k people would be found by both recipients together. Files whose
rows are people are joined on the columns that are the same in both. Of synthetic rows those are
counted that both hold alone, and private releases add up their epsilon.
"""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import tomli_w

from veladura.base.checks import check_whole
from veladura.base.context import Progress, silent
from veladura.errors import BudgetError, DataError, GateError, PlanError, PromiseError

if TYPE_CHECKING:
    from veladura.plan.plan import Plan
    from veladura.plan.run import Outcome, Trial
    from veladura.release.entry import Entry
    from veladura.release.intersected import Added

# Settings of steps that are lists or tables by column: those of columns a request leaves out go.
BY_COLUMN = (
    *("hierarchies", "limits", "domain", "order", "levels", "strata", "smoothing", "weights"),
    *("pairs", "predictors", "groups", "models", "republish", "spikes", "transform", "criterion"),
    *("min_variance", "keep", "members", "missing", "bounds", "bins", "private_cuts", "matrix"),
    *("design_effects", "by", "within", "attributes", "continuous", "replicates"),
)
TREATED = (
    "quasi_identifiers",
    "columns",
    "critical",
    "cells",
)  # without any of them a step has no work
SAID = ("recipient", "purpose")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One recipient of a plan, as ``[[request]]``.

    Parameters
    ----------
    name
        Names the folders of its release and its record, below those of the plan.
    recipient, purpose
        For the manifest and the certificate; those of ``[release]`` by default.
    columns
        The columns that are released to it; all by default. New numbers of people who have several
        rows stay, because the promise counts people.
    intruders
        Names of the intruders of the plan that hold for it; all by default.
    k, prefer
        Of the k-anonymity step, where they differ for this recipient.
    """

    name: str
    recipient: str = ""
    purpose: str = ""
    columns: tuple[str, ...] = ()
    intruders: tuple[str, ...] = ()
    k: int | None = None
    prefer: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name or not self.name.replace("-", "").replace("_", "").isalnum():
            msg = (
                f"a request needs a short name of letters, figures, - and _, got {self.name!r}: it"
                " names a folder."
            )
            raise PlanError(msg)
        if self.k is not None:
            check_whole("k", self.k, 2)


def check_requests(requests: Sequence[Request]) -> tuple[Request, ...]:
    """Return requests, after refusing two of one name."""
    names = [request.name.casefold() for request in requests]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"two requests have the same name: {twice}.\n\nHint: give each a name of its own."
        raise PlanError(msg)
    return tuple(requests)


def plans_of(plan: Plan) -> dict[str, Plan]:
    """Return the plan of every request: each could be run alone."""
    from veladura.plan.reading import plan_in

    plans = {}
    for request in plan.requests:
        with _named(request.name):
            text = tomli_w.dumps(_tables(plan, request))
            plans[request.name] = plan_in(text, plan.home)
    return plans


def run_requests(
    plan: Plan, *, force: bool = False, progress: Progress = silent
) -> tuple[dict[str, Outcome], list[str]]:
    """Make all releases of a plan, or none.

    Returns
    -------
    The outcome of each request, and what any two releases of which one has no classes tell
    together, in words.
    """
    from veladura.plan.run import check, hand_out, judge, tried
    from veladura.plan.series import reserved

    plans, places = plans_of(plan), {}
    trials: dict[str, Trial] = {}
    for name, each in plans.items():
        with _named(name):
            places[name] = check(each, force=force)
    # Private draws are charged: they come last, when nothing else can refuse the others.
    private = [name for name, each in plans.items() if any(step.private for step in each.steps)]
    for name in (*(name for name in plans if name not in private), *private):
        if private and name == private[0]:
            _refuse(_together(trials)[1], plan.custodian.breaks_earlier)
        with _named(name):
            trials[name] = tried(plans[name], progress)
            judge(trials[name], places[name])
    trials = {name: trials[name] for name in plans}
    told, broken = _together(trials)
    if broken:
        _refuse(broken, plan.custodian.breaks_earlier)
        told = [*told, *(f"{line}: accepted by the holder" for line in broken)]
        trials = {name: _accepted(trial, plan) for name, trial in trials.items()}
    with reserved([(each, trials[name].entry) for name, each in plans.items()]):
        outcomes = {
            name: hand_out(each, places[name], trials[name], force=force, progress=progress)
            for name, each in plans.items()
        }
    return outcomes, told


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say in an error which request it is about."""
    try:
        yield
    except (PlanError, DataError, GateError, PromiseError, BudgetError) as error:
        raise type(error)(f"request {name!r}: {error}") from error


def _tables(plan: Plan, request: Request) -> dict[str, Any]:
    """Return the tables of the plan of one request."""
    tables = tomllib.loads(plan.text)
    del tables["request"]
    kept = set(request.columns or plan.columns)
    if unknown := [name for name in request.columns if name not in plan.columns]:
        msg = f"columns names {unknown}, which [columns] does not."
        raise PlanError(f"{msg}\n\nHint: declare every column that is released in [columns].")
    columns = tables.setdefault("columns", {})
    for name, declared in plan.columns.items():
        if name not in kept and declared.role not in ("identifier", "person"):
            columns[name] = {"role": "dropped"}
    dropped = {name for name in plan.columns if columns.get(name, {}).get("role") == "dropped"}
    tables["step"] = [
        _changed(left, request)
        for step in tables["step"]
        if (left := _without(step, dropped)) is not None
    ]
    if not tables["step"]:
        msg = (
            "no [[step]] of the plan treats a column that it gets: they would all be released as"
            " they are.\n\nHint: name a column in columns that a [[step]] protects, or add a"
            " [[step]] for one of these."
        )
        raise PlanError(msg)
    tables["intruder"] = _intruders(tables.get("intruder", []), request, dropped)
    release = tables.setdefault("release", {})
    release["folder"] = f"{release.get('folder', 'release')}/{request.name}"
    release |= {key: value for key in SAID if (value := getattr(request, key))}
    if folder := tables.get("custodian", {}).get("folder"):
        tables["custodian"]["folder"] = f"{folder}/{request.name}"
    return tables


def _without(step: Mapping[str, Any], dropped: set[str]) -> dict[str, Any] | None:
    """Return a step without columns that are not released; None where it has nothing left to do."""
    left = dict(step)
    gone = dropped | _pairs_without(step.get("pairs", ()), dropped)
    for key in (*TREATED, *BY_COLUMN):
        given = left.get(key)
        if isinstance(given, list):
            left[key] = _left(given, gone)
        elif isinstance(given, dict):
            left[key] = {name: value for name, value in given.items() if name not in gone}
        if given and not left[key]:
            if key in TREATED:
                return None
            del left[key]
    if isinstance(by_name := left.get("predictors"), dict):
        left["predictors"] = {name: _left(given, gone) for name, given in by_name.items()}
    if "groups" in left:
        left["groups"] = [group for group in left["groups"] if len(group) > 1]
    if zeros := left.get("structural_zeros"):
        left["structural_zeros"] = [zero for zero in zeros if not dropped & set(zero)]
    return left


def _pairs_without(pairs: Sequence[Sequence[str]], dropped: set[str]) -> set[str]:
    """Return the names of places that are not released; refuse half of a place."""
    for pair in pairs:
        if len(dropped & set(pair)) == 1:
            msg = (
                f"columns has one of {list(pair)} without the other, and the plan protects both as"
                " one place.\n\nHint: name both, or none of them."
            )
            raise PlanError(msg)
    return {", ".join(pair) for pair in pairs if dropped & set(pair)}


def _left(given: Sequence[Any], gone: set[str]) -> list[Any]:
    """Return what is not about columns that are gone, also of lists of lists and of models."""
    left: list[Any] = []
    for one in given:
        if isinstance(one, list):
            left += [rest] if (rest := _left(one, gone)) else []
        elif isinstance(one, dict):
            left += [one] if one.get("column") not in gone else []
        elif one not in gone:
            left.append(one)
    return left


def _changed(step: dict[str, Any], request: Request) -> dict[str, Any]:
    if step["method"] != "k-anonymity":
        return step
    own: dict[str, Any] = {"k": request.k} if request.k is not None else {}
    return step | own | ({"prefer": list(request.prefer)} if request.prefer else {})


def _intruders(
    tables: Sequence[Mapping[str, Any]], request: Request, dropped: set[str]
) -> list[dict[str, Any]]:
    """Return the intruders of a request, who know no column that it does not get."""
    names = [who["name"] for who in tables]
    if unknown := [name for name in request.intruders if name not in names]:
        what = "intruder"
        raise PlanError.unknown(what, unknown[0], names)
    kept = []
    for who in tables:
        knows = [name for name in who["knows"] if name not in dropped]
        within = {n: reach for n, reach in who.get("within", {}).items() if n not in dropped}
        if knows and who["name"] in (request.intruders or names):
            kept.append({**who, "knows": knows} | ({"within": within} if within else {}))
            if not within:
                kept[-1].pop("within", None)
    return kept


def _refuse(broken: Sequence[str], reason: str) -> None:
    """Refuse releases that break a promise together, unless the holder accepts it."""
    if broken and not reason:
        raise GateError(_words(broken))


def _accepted(trial: Trial, plan: Plan) -> Trial:
    from veladura.plan.accounting import with_broken

    return replace(trial, standing=with_broken(trial.standing, plan.custodian.breaks_earlier))


def _together(trials: Mapping[str, Trial]) -> tuple[list[str], list[str]]:
    """Return what releases tell together, in words, and the promises that they break."""
    from veladura.release.entry import any_entry
    from veladura.release.intersected import either
    from veladura.release.series import together

    key = secrets.token_bytes(32)
    entries = {
        name: any_entry(trial.release, trial.table, name, key, same_source=True)
        for name, trial in trials.items()
    }
    broken, told = [], []
    for first, second in combinations(entries, 2):
        if entries[first].kind == entries[second].kind == "classes":
            result = either(entries[first], entries[second])
            if result.broken:
                broken.append(_in_classes(f"{first} and {second}", result))
        lines, found = _by_rows(first, second, trials, entries)
        if not found and not entries[first].kind == entries[second].kind == "classes":
            said = str(together(entries[first], entries[second]))
            told.append(f"{first} and {second}: {said.split(': ', 1)[1]}")
        told += lines
        broken += found
    if not broken:
        broken += _in_all([entry for entry in entries.values() if entry.kind == "classes"])
        broken += _through([entry for entry in entries.values() if entry.kind != "private"])
    return told, broken


def _by_rows(
    first: str, second: str, trials: Mapping[str, Trial], entries: Mapping[str, Entry]
) -> tuple[list[str], list[str]]:
    """Return what the join of two releases tells, in words, and the promises that it breaks."""
    from veladura.release.joined import found_by, linking
    from veladura.release.linked import linked

    told, broken = [], []
    for one, other in ((first, second), (second, first)):
        if "private" in (entries[one].kind, entries[other].kind):
            continue
        k, by = entries[one].k, linking(entries[one], entries[other])
        if k and (people := found_by(entries[one], entries[other])):
            broken.append(
                f"{one} and {other}: {len(people):,} people of {one} are found in {other} by what"
                f" an intruder knows, and in {one} among fewer than k = {k} by"
                f" {', '.join(by)}, which are the same in both"
            )
        if k or one != first or entries[other].kind != "rows":
            continue
        source = trials[one].table.fetched()
        found = linked(trials[one].release, trials[other].release, source, by)
        if found is not None and found.people and found.column:
            told.append(
                f"{one} and {other}: {found.people:,} people are linked by {', '.join(found.by)};"
                f" {found.column} of {found.near_both:,} of them is within 10 % of the mean of both"
                f" files ({found.near_one:,} of one file alone)"
            )
    return told, broken


def _in_all(entries: Sequence[Entry]) -> list[str]:
    """Return the promises that three or more releases break where no two of them do."""
    from veladura.release.intersected import added_to_all

    broken = []
    # each release is a promise: that of the largest k is judged as an older one
    entries = sorted(entries, key=lambda entry: -entry.k)
    for place in range(2, len(entries)):
        joint = added_to_all(entries[:place], entries[place])
        if joint is not None and joint.broken:
            names = ", ".join(entry.name for entry in entries[: place + 1])
            broken.append(_in_classes(names, joint))
    return broken


def _through(entries: Sequence[Entry]) -> list[str]:
    """Return whom the join of three releases finds in the classes of one of them."""
    from veladura.release.joined import found_through, linking

    broken = []
    for classes, rows, middle in permutations(entries, 3):
        if classes.kind == "classes" and (found := found_through(classes, rows, middle)):
            broken.append(
                f"{classes.name}, {rows.name} and {middle.name}: {len(found):,} people of"
                f" {classes.name} are found in {rows.name} by what an intruder knows, and in"
                f" {classes.name} among fewer than k = {classes.k}: their rows are linked with"
                f" those of {middle.name} by {', '.join(linking(rows, middle))}, and these by"
                f" {', '.join(linking(classes, middle))}"
            )
    return broken


def _in_classes(names: str, result: Added) -> str:
    said = (
        f"{names}: {result.below:,} of {result.shared:,} people are in groups of"
        f" fewer than k = {result.k}, {result.alone:,} of them alone"
    )
    alike = f"; {result.alike:,} in groups with fewer different sensitive values than promised"
    others = (f"; {people:,} in groups that break {name}" for name, people in result.unlike.items())
    return said + (alike if result.alike else "") + "".join(others)


def _words(broken: Sequence[str]) -> str:
    lines = "".join(f"\n  - {line}" for line in broken)
    return (
        f"releases of this plan break a promise together, if recipients compare them:{lines}\n"
        "Nothing was released.\n\nHint: give these recipients the same generalisation (levels in"
        " the k-anonymity step), fewer columns in common, or one and the same k; or accept it with"
        ' a reason: [custodian] breaks_earlier = "..."'
    )
