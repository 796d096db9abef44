"""Everything the report says, as plain records: gathered here, only laid out by the template."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from veladura.base.limits import Light
from veladura.core.promise import Proof
from veladura.core.rules import Conclusions
from veladura.errors import PlanError
from veladura.measures.measure import Detail, Figure, reasons
from veladura.report import words
from veladura.report.codebook import ColumnFacts, describe
from veladura.report.intervals import IntervalGroup, interval_facts
from veladura.report.snippets import command, snippet

if TYPE_CHECKING:
    from veladura.core.release import Release, Step
    from veladura.measures.assessment import Assessment
    from veladura.release.gate import Verdict

Audience = Literal["public", "custodian"]
WITHHELD = (
    "Figures of a differentially private release would themselves tell something of the data. They"
    " stay with the holder."
)
HALF_A_PAGE = 640.0  # points; a wider picture has a row of its own
UNMEASURED = "Risk and utility were not measured for this page."


@dataclass(frozen=True)
class SettingFacts:
    """One setting of a method."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class StepFacts:
    """One method, in words."""

    method: str
    sentence: str
    changed: str
    settings: tuple[SettingFacts, ...]


@dataclass(frozen=True)
class PromiseFacts:
    """A claim and what became of it."""

    claim: str
    status: str
    how: str


@dataclass(frozen=True)
class FigureFacts:
    """One figure as it is printed, with the verdict of the gate if it has one."""

    name: str
    meaning: str
    value: str
    interval: str
    better: str
    note: str
    limit: str = ""
    verdict: str = ""
    light: Light | None = None
    headline: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture as an address that holds it whole: a page without network can show that."""

    title: str
    address: str
    wide: bool  # needs a row of its own


@dataclass(frozen=True)
class Facts:
    """What one page says."""

    title: str
    audience: Audience
    summary: tuple[str, ...]
    refused: int
    steps: tuple[StepFacts, ...]
    columns: tuple[ColumnFacts, ...]
    promises: tuple[PromiseFacts, ...]
    figures: Mapping[str, tuple[FigureFacts, ...]]
    no_figures: str
    conclusions: Conclusions
    snippet: str
    command: str
    provenance: Mapping[str, str]
    absent: tuple[tuple[str, str], ...] = ()  # figures that do not apply, and why
    details: tuple[Detail, ...] = ()
    intervals: tuple[IntervalGroup, ...] = ()
    pictures: tuple[Picture, ...] = field(default=(), repr=False)
    texts: Mapping[str, str] = field(
        default_factory=dict, repr=False
    )  # drawn in characters, such as a tree
    recipe: str = field(default="", repr=False)


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
        What `Release.prove` returned.
    verdicts
        What `veladura.release.gate.gate` returned.
    audience
        "public" for the page in the release folder, "custodian" for the private one.
    drawings
        What `public_drawings` returned, where it was called already.
    """
    if audience not in get_args(Audience):
        what = "audience"
        raise PlanError.unknown(what, audience, get_args(Audience))
    manifest = release.manifest
    mine = audience == "custodian"
    secret = release.rule.private
    original = None if secret and not mine else release.original
    withheld = WITHHELD if secret and not mine else UNMEASURED if assessment is None else ""
    page = Facts(
        title=str(manifest["name"]),
        audience=audience,
        summary=_summary(manifest),
        refused=sum(not verdict.passed for verdict in verdicts),
        steps=tuple(_step(step) for step in release.steps),
        columns=describe(
            release.tables[0].table,
            original,
            [name for step in release.steps for name in step.changed],
        ),
        promises=promise_facts(manifest, list(proofs)),
        figures={},
        no_figures=withheld,
        conclusions=release.rule.conclusions,
        snippet=snippet(release),
        command=command(release),
        provenance=_provenance(manifest),
        intervals=interval_facts(release, release.original if mine else None),
    )
    if assessment is not None and not withheld:
        shown = [figure for figure in assessment if mine or figure.public]
        page = replace(
            page,
            figures=_figures(shown, {v.figure: v for v in verdicts}),
            absent=_absent(shown, [v.figure for v in verdicts]),
        )
    everyone = public_drawings(release) if drawings is None else drawings
    if not mine:
        return replace(page, pictures=_pictures(everyone))
    own = {title: drawing for draw in release.pictures for title, drawing in draw().items()}
    return replace(
        page,
        details=() if assessment is None else tuple(assessment.details.values()),
        pictures=_pictures(
            {**everyone} | {title: svg for title, svg in own.items() if isinstance(svg, bytes)}
        ),
        texts={title: text for title, text in own.items() if isinstance(text, str)},
        recipe=repr(release.recipe),
    )


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
    """Return the width of a picture in points, as it says itself."""
    told = re.search(rb'<svg[^>]*? width="([0-9.]+)', svg)
    return float(told[1]) if told else 0.0


def _summary(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what was released and how, in three sentences."""
    names = [column["name"] for column in manifest["columns"]]
    changed = {name for step in manifest["steps"] for name in step["changed"]}
    kept = [name for name in names if name not in changed]
    sets, rows = manifest["datasets"], sorted(set(manifest["rows"]))
    size = (
        words.plural(rows[0], "row")
        if len(rows) == 1
        else f"{rows[0]:,} to {words.plural(rows[-1], 'row')}"
    )
    first = (
        f"This release holds {words.plural(sets, 'dataset')} of"
        f" {size}{' each' if sets > 1 else ''}, with {words.plural(len(names), 'column')}."
    )
    replaced = [name for name in names if name in changed]
    second = (
        f"The protection replaces values of {words.enumerated(replaced)}."
        if replaced
        else "No value was replaced."
    )
    third = (
        f"The values of {words.enumerated(kept)} are released as they were."
        if kept
        else "No column is released as it was."
    )
    return first, second, third


def _step(step: Step) -> StepFacts:
    meanings = words.setting_meanings(step.recipe)
    shown = dict(step.settings)
    if shown.get("columns") in (list(step.changed), tuple(step.changed)):
        del shown["columns"]  # the sentence names them; a mapping says more
    settings = tuple(
        SettingFacts(name.replace("_", " "), words.setting(value), meanings.get(name, ""))
        for name, value in shown.items()
    )
    return StepFacts(step.method, sentence_of(step), words.enumerated(step.changed), settings)


def sentence_of(step: Step) -> str:
    """Return what a step did; this version may not know its method."""
    return f"The method {step.method} was applied." if step.recipe is None else step.recipe.sentence


def promise_facts(manifest: Mapping[str, Any], proofs: list[Proof]) -> tuple[PromiseFacts, ...]:
    """Return every promise with the worst of its proofs over the datasets."""
    facts = []
    for promise in manifest["promises"]:
        found = {proof.status for proof in proofs if proof.promise.to_json() == promise}
        status = next((s for s in ("broken", "attested", "holds") if s in found), "not checked")
        facts.append(
            PromiseFacts(
                promise["claim"],
                status,
                words.PROOFS.get((status, promise["proof"]), words.UNCHECKED),
            )
        )
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
    unit, estimate = figure.unit, figure.estimate
    value = "not applicable" if estimate is None else words.number(estimate.value, unit)
    interval = ""
    if estimate is not None and not estimate.is_exact:
        interval = f"{words.number(estimate.lower, unit)} to {words.number(estimate.upper, unit)}"
    better = {"low": "lower is better", "high": "higher is better", "neither": "for comparison"}[
        figure.better
    ]
    facts = FigureFacts(
        figure.name,
        figure.meaning,
        value,
        interval,
        better,
        figure.why or figure.note,
        headline=figure.headline or verdict is not None,
    )
    if verdict is None:
        return facts
    told = {"green": "passed", "amber": "missed by its interval", "red": "missed"}[verdict.light]
    return replace(
        facts, limit=words.limit(verdict.limit, figure.unit), verdict=told, light=verdict.light
    )


def _provenance(manifest: Mapping[str, Any]) -> dict[str, str]:
    sets, extension = manifest["datasets"], manifest["files"]["format"]
    data = (
        f"data/dataset-1.{extension}"
        if sets == 1
        else f"data/dataset-1.{extension} to data/dataset-{sets}.{extension}"
    )
    return {
        "Made with": str(manifest["library"]),
        "Rows": ", ".join(f"{rows:,}" for rows in manifest["rows"]),
        "Datasets": str(sets),
        "Combining rule": str(manifest["rule"]),
        "Format": f"{manifest['format']}, version {manifest['version']}",
        "Files": (
            f"{data}, codebook.json (columns), manifest.json (for programs), SHA256SUMS (hash of"
            " every file)"
        ),
    }
