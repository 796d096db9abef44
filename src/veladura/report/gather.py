"""Gathering what a page says: from a release, its assessment, proofs and verdicts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from veladura.base.limits import Light, Verdict
from veladura.core.linked import NAME as LINKED
from veladura.core.linking import linked_words
from veladura.core.lost_design import design_in, design_words
from veladura.core.promise import Proof
from veladura.errors import PlanError
from veladura.measures.measure import Figure, reasons
from veladura.measures.population import among_its_people
from veladura.report import words
from veladura.report.codebook import FEWEST, describe
from veladura.report.facts import (
    Audience,
    Facts,
    FigureFacts,
    Picture,
    PromiseFacts,
    SettingFacts,
    StepFacts,
)
from veladura.report.intervals import interval_facts
from veladura.report.opening import opening
from veladura.report.own_formulas import own_groups
from veladura.report.snippets import command, snippet

if TYPE_CHECKING:
    from veladura.core.release import Release, Step
    from veladura.measures.assessment import Assessment

WITHHELD = (
    "Figures on risk and utility of a differentially private release would themselves disclose"
    " something about the data. They stay with the holder."
)
FEW_LEFT_OUT = (
    "Fewer than ten people of the original are not in the release. What the page would say of the"
    " original beside the release would tell who they are: figures of utility stay with the holder."
)
HALF_A_PAGE = 640.0  # points; a wider picture has a row of its own
NO_CONTROL = "Membership inference: not measured, no control group was kept."
UNMEASURED = "Risk and utility were not measured for this page."
BETTER = {"low": "lower is better", "high": "higher is better", "neither": "for comparison"}
VERDICTS: Mapping[Light, str] = {
    "green": "passed",
    "amber": "failed: the interval crosses the limit",
    "red": "failed",
}


def gather(
    release: Release,
    assessment: Assessment | None = None,
    proofs: Iterable[Proof] = (),
    *,
    verdicts: Sequence[Verdict] = (),
    audience: Audience = "public",
    drawings: Mapping[str, bytes] | None = None,
) -> Facts:
    """Return the facts of a release for one audience.

    Parameters
    ----------
    assessment
        Its figures; without them the page says that none were measured.
    proofs
        The result of `Release.prove`.
    verdicts
        The verdict on every limit of the plan's gate.
    audience
        "public" for the report in the release folder, "custodian" for the private one.
    drawings
        The result of `public_drawings`, where it is there already.
    """
    if audience not in get_args(Audience):
        what = "audience"
        raise PlanError.unknown(what, audience, get_args(Audience))
    manifest = release.manifest
    if release.original is not None:  # pages may not tell how many people a filter left out
        _, release = among_its_people(release.original, release)
    mine = audience == "custodian"
    secret = release.rule.private
    few = 0 if mine else few_left_out(release)
    hidden = (secret and not mine) or few or release.rule.statistics
    original = None if hidden else release.original
    withheld = WITHHELD if secret and not mine else UNMEASURED if assessment is None else ""
    page = Facts(
        title=str(manifest["name"]),
        audience=audience,
        summary=(
            _statistics(manifest)
            if release.rule.statistics
            else (*_summary(manifest), *_linked(release))
        ),
        refused=sum(not verdict.passed for verdict in verdicts),
        steps=tuple(_step(step) for step in release.steps),
        columns=describe(release.tables[0].table, original, release.changed),
        promises=promise_facts(release, list(proofs)),
        figures={},
        no_figures=withheld,
        conclusions=release.rule.conclusions,
        snippet=snippet(release),
        command=command(release),
        provenance=_provenance(release),
        intervals=interval_facts(release, release.original if mine else None),
        draft=tuple(manifest.get("unconfirmed", ())),
        opening=opening(release, assessment, withheld, compared=not few),
        left_out=FEW_LEFT_OUT if few and assessment is not None else "",
    )
    if assessment is not None and not withheld:
        shown = [figure for figure in assessment if mine or figure.public]
        shown = [figure for figure in shown if not (few and figure.family == "utility")]
        page = replace(
            page,
            figures=_figures(shown, {v.figure: v for v in verdicts}),
            absent=_absent(shown, [v.figure for v in verdicts]),
            membership=NO_CONTROL if _without_control(assessment) else "",
        )
    everyone = public_drawings(release) if drawings is None else drawings
    if not mine:
        told = () if withheld or few or assessment is None else assessment.details.values()
        public = tuple(part for detail in told if (part := detail.public()) is not None)
        return replace(page, pictures=_pictures(everyone), details=public)
    own: dict[str, Any] = {
        title: drawing for draw in release.pictures for title, drawing in draw().items()
    }
    for detail in () if assessment is None else assessment.details.values():
        own |= detail.pictures()
    return replace(
        page,
        intervals=(*page.intervals, *own_groups(assessment)),
        details=() if assessment is None else tuple(assessment.details.values()),
        pictures=_pictures(
            {**everyone} | {title: svg for title, svg in own.items() if isinstance(svg, bytes)}
        ),
        texts={title: text for title, text in own.items() if isinstance(text, str)},
        recipe=repr(release.recipe),
    )


def _without_control(assessment: Assessment) -> bool:
    """Whether membership inference was not tried because there is no control group."""
    figure = assessment.figures.get("risk.attacks.membership")
    return figure is not None and figure.estimate is None and "control group" in figure.why


def few_left_out(release: Release) -> int:
    """Return how many people a release leaves out, where they are so few that it must not be seen.

    The difference of two figures, with them and without, would be a figure on them alone. Rows that
    a model drew stand for nobody.
    """
    original = release.original
    drawn = release.rule.synthetic and release.rows is None
    if original is None or drawn or not release.tables:
        return 0
    gone = max(original.rows - dataset.table.rows for dataset in release.tables)
    return gone if 0 < gone < FEWEST else 0


def public_drawings(release: Release) -> dict[str, bytes]:
    """Return the pictures that everyone may see, as SVG by title."""
    shown: dict[str, Any] = {
        title: svg for draw in release.public_pictures for title, svg in draw().items()
    }
    if release.rule.posterior:
        from veladura.inference.posterior.pictures import pictures

        shown |= pictures(release)
    return shown


def _pictures(drawings: Mapping[str, bytes]) -> tuple[Picture, ...]:
    return tuple(
        Picture(
            title, f"data:image/svg+xml;base64,{b64encode(svg).decode()}", _width(svg) > HALF_A_PAGE
        )
        for title, svg in drawings.items()
    )


def _width(svg: bytes) -> float:
    """Return the width of a picture in points, from its own header."""
    match = re.search(rb'<svg[^>]*? width="([0-9.]+)', svg)
    return float(match[1]) if match else 0.0


def _statistics(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the size of a release of statistics."""
    rows = words.plural(sum(manifest["rows"]), "statistic")
    return (
        f"This release is a table of {rows}, each with its interval. It has no rows of people.",
    )


def _summary(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the size of the release, what was replaced, what was not, and what units became."""
    names = [column["name"] for column in manifest["columns"]]
    changed = {name for step in manifest["steps"] for name in step["changed"]}
    units = manifest.get("units", {})
    kept = [name for name in names if name not in changed and name not in units]
    sets, rows = manifest["datasets"], sorted(set(manifest["rows"]))
    size = (
        words.plural(rows[0], "row")
        if len(rows) == 1
        else f"{rows[0]:,} to {words.plural(rows[-1], 'row')}"
    )
    first = (
        f"This release has {words.plural(sets, 'dataset')} of"
        f" {size}{' each' if sets > 1 else ''}, with {words.plural(len(names), 'column')}."
    )
    replaced = [name for name in names if name in changed]
    second = (
        f"The protection replaces values of {words.enumerated(replaced)}."
        if replaced
        else "No value was replaced."
    )
    third = f"Unchanged: {words.enumerated(kept)}." if kept else "No column is unchanged."
    return first, second, third, *units.values(), *_design(manifest)


def _linked(release: Release) -> list[str]:
    """Return what each method did with linked tables; nothing for a release of one table."""
    if not any(promise.name == LINKED for promise in release.promises):
        return []
    return linked_words(step.recipe for step in release.steps if step.recipe is not None)


def _design(manifest: Mapping[str, Any]) -> list[str]:
    """Return what intervals do not know of a survey's design; nothing for any other table."""
    lost = design_in(manifest)
    said = [words.capital(design_words(lost))] if lost else []
    roles = {column["role"] for column in manifest["columns"]}
    if "weight" in roles and not {"strata", "cluster", "replicate weight"} & {*roles, *lost}:
        said.append(
            "It has sampling weights and neither strata nor clusters: intervals take rows for"
            " independent draws, and are too narrow where the survey sampled areas or households."
        )
    if "replicate weight" in roles and not manifest.get("replication"):
        said.append(
            "The manifest does not say how the replicate weights were made: intervals on this page"
            " use them only where the weights show it."
        )
    return said


def _step(step: Step) -> StepFacts:
    meanings = words.FOUND | words.setting_meanings(step.recipe)
    shown = dict(step.settings)
    if shown.get("columns") in (list(step.changed), tuple(step.changed)):
        del shown["columns"]  # the sentence names them; a mapping says more
    settings = tuple(
        SettingFacts(name.replace("_", " "), words.setting(value), meanings.get(name, ""))
        for name, value in shown.items()
    )
    return StepFacts(step.method, sentence_of(step), words.enumerated(step.changed), settings)


def sentence_of(step: Step) -> str:
    """Return what a step did to the data; this version may not know its method."""
    return f"The method {step.method} was applied." if step.recipe is None else step.recipe.sentence


def promise_facts(release: Release, proofs: Sequence[Proof]) -> tuple[PromiseFacts, ...]:
    """Return every promise, as its check words it, with the worst of its proofs."""
    facts = []
    for promise, claim in zip(release.promises, release.claims, strict=True):
        statuses = {proof.status for proof in proofs if proof.promise == promise}
        status = next((s for s in ("broken", "attested", "holds") if s in statuses), "not checked")
        how = words.PROOFS.get((status, promise.proof), words.UNCHECKED)
        facts.append(PromiseFacts(claim, status, how))
    return tuple(facts)


def _figures(
    shown: Iterable[Figure], verdicts: Mapping[str, Verdict]
) -> dict[str, tuple[FigureFacts, ...]]:
    """Return the figures of each family that apply, or that a limit asks for."""
    families: dict[str, list[FigureFacts]] = {}
    for figure in shown:
        if figure.estimate is not None or figure.name in verdicts:
            families.setdefault(figure.family, []).append(
                _figure(figure, verdicts.get(figure.name))
            )
    return {family: tuple(figures) for family, figures in families.items()}


def _absent(shown: Iterable[Figure], judged: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the other figures, those with one reason together."""
    return tuple(
        (", ".join(names), why)
        for why, names in reasons(figure for figure in shown if figure.name not in judged).items()
    )


def _figure(figure: Figure, verdict: Verdict | None) -> FigureFacts:
    facts = FigureFacts(
        figure.name,
        figure.meaning,
        words.figure(figure),
        words.interval(figure),
        BETTER[figure.better],
        figure.why or figure.note,
        headline=figure.headline or verdict is not None,
    )
    if verdict is None:
        return facts
    return replace(
        facts,
        limit=words.limit(verdict.limit, figure.unit),
        verdict=VERDICTS[verdict.light],
        light=verdict.light,
    )


def _provenance(release: Release) -> dict[str, str]:
    manifest = release.manifest
    sizes = list(dict.fromkeys(f"{rows:,}" for rows in manifest["rows"]))
    sets, files = manifest["datasets"], manifest["files"]
    parts = sum(map(len, files.get("parts", ())))
    ending = "" if parts else f".{files['format']}"
    data = f"data/dataset-1{ending}" + (f" to data/dataset-{sets}{ending}" if sets > 1 else "")
    if parts:
        data += f" (in {parts:,} parts, {files['format']})"
    return {
        "Made with": str(manifest["library"]),
        "Rows": words.enumerated(sizes) + (" in each dataset" if sets > 1 else ""),
        "Datasets": str(sets),
        "Combining rule": words.rule(release.rule),
        "Format": f"{manifest['format']}, version {manifest['version']}",
        "Files": (
            f"{data}, codebook.json (columns), manifest.json (for programs), SHA256SUMS (checksum"
            " of every file)"
        ),
    }
