"""manifest.json and codebook.json: everything that the recipient may know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

import veladura
from veladura.core import registry
from veladura.core.promise import Promise
from veladura.core.release import Step
from veladura.core.replicates import replication_in, said_fields
from veladura.core.rules import Rule, rule_named
from veladura.core.standing import ExactColumn
from veladura.errors import PlanError, PromiseError
from veladura.release.door import FORMAT, VERSION
from veladura.table.codes import label_text
from veladura.table.schema import Field, Schema
from veladura.table.summary import Summary, summarize

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.measures.assessment import Assessment
    from veladura.table.table import Table

MAX_LISTED = 1000


def build_manifest(
    release: Release,
    format_: str = "parquet",
    assessment: Assessment | None = None,
    parts: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:
    """Return the manifest of a release (schema in docs/manifest.md).

    Parameters
    ----------
    parts
        The rows of each file of every dataset that is written in parts.
    """
    first = release.tables[0].table.units
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": f"veladura {veladura.__version__}",
        "name": first.source.name,
        "datasets": len(release.tables),
        "rows": [dataset.table.rows for dataset in release.tables],
        "columns": [
            {"name": field.name, "kind": field.kind, "role": field.role} for field in first.schema
        ],
        "steps": [
            {"method": step.method, "changed": list(step.changed), "settings": dict(step.settings)}
            for step in release.steps
        ],
        "rule": release.rule.name,
        "rule_settings": release.rule.settings(),
        "promises": [
            promise.to_json(claim)
            for promise, claim in zip(release.promises, release.claims, strict=True)
        ],
        "files": {
            "format": format_,
            "text_disarmed": format_ == "csv",
            **({"parts": [list(rows) for rows in parts]} if any(parts) else {}),
        },
        **_standing(release),
        **_risk(release, assessment),
        **({"units": dict(release.units)} if release.units else {}),
        **({"replication": said} if (said := _replication(first.schema)) else {}),
        **({"design_not_released": list(lost)} if (lost := release.lost_design) else {}),
    }


def _replication(schema: Schema) -> dict[str, str]:
    """Return how replicate weights were made, by column."""
    return {field.name: field.replication for field in schema if field.replication}


def _standing(release: Release) -> dict[str, Any]:
    """Return what the plan says of the release as a whole; without one, its exact columns."""
    if release.standing is not None:
        return release.standing.to_json()
    return {"exact": [ExactColumn(name).to_json() for name in release.exact]}


def _risk(release: Release, assessment: Assessment | None) -> dict[str, Any]:
    """Return the people at risk for each intruder; of a private release they would disclose."""
    if assessment is None or release.rule.private or not assessment.intruders:
        return {}
    return {"risk": [record.to_json() for record in assessment.intruders]}


def promises_of(manifest: Mapping[str, Any]) -> tuple[Promise, ...]:
    """Return the promises of a manifest."""
    return tuple(
        Promise(
            promise["name"],
            promise["proof"],
            promise["settings"],
            tuple(promise.get("datasets", ())),
        )
        for promise in manifest["promises"]
    )


def steps_of(manifest: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the steps of a manifest, each with its recipe where this version knows the method."""
    return tuple(
        Step(
            step["method"],
            step["settings"],
            tuple(step["changed"]),
            registry.find(step["method"]) if step["method"] in registry.METHODS else None,
        )
        for step in manifest["steps"]
    )


def rule_of(manifest: Mapping[str, Any], steps: Sequence[Step]) -> Rule:
    """Return the combining rule of a manifest.

    Version 0.1.0 wrote what the rule needs among the settings of a step.
    """
    settings = manifest.get("rule_settings")
    if settings is None:
        written = next((s.settings for s in steps if "original_rows" in s.settings), {})
        settings = {**written, "proper": written.get("synthesis", "proper") == "proper"}
    own = [rule for step in steps if step.recipe is not None for rule in step.recipe.own_rules]
    try:
        return rule_named(manifest["rule"], settings, own)
    except PlanError as error:
        msg = f"the combining rule of the manifest cannot be used: {error}"
        raise PromiseError(msg) from None


def build_codebook(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Return the description of every released column, made from the released values only."""
    summaries = summarize(tables)
    return [_describe(field, summaries[field.name]) for field in tables[0].schema]


def _describe(field: Field, summary: Summary) -> dict[str, Any]:
    about: dict[str, Any] = {
        "name": field.name,
        "kind": field.kind,
        "role": field.role,
        "type": str(field.type),
        "missing": summary.missing,
    }
    values = summary.values
    if summary.distinct is not None:
        return about | {"distinct": summary.distinct}
    if values is None:
        lowest, highest = summary.ends
        return about | {"lowest": _json(lowest), "highest": _json(highest)}
    about["distinct"] = len(values)
    if field.kind != "text" and len(values) <= MAX_LISTED:
        about["categories"] = _sorted_categories(field, values)
    if words := {
        key: word
        for key, word in field.labels.items()
        if key in {label_text(v) for v in values.to_pylist()}
    }:
        about["labels"] = words
    return about


def _sorted_categories(field: Field, values: pa.Array) -> list[Any]:
    """Return the categories that occur, in the declared order or by code point."""
    if field.order:
        present = {label_text(value): value for value in values.to_pylist()}
        return [present[label] for label in field.order if label in present]
    return list(values.take(pc.sort_indices(values)).to_pylist())


def fields_of(
    codebook: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]
) -> tuple[Field, ...]:
    """Return the schema that a codebook describes; a manifest says how replicates were made."""
    from veladura.release.files import type_from_text

    fields = tuple(
        Field(
            about["name"],
            about["kind"],
            type_from_text(about["type"]),
            about["role"],
            (
                tuple(map(label_text, about.get("categories", ())))
                if about["kind"] == "ordered"
                else ()
            ),
            about.get("labels", {}),
        )
        for about in codebook
    )
    return said_fields(fields, replication_in(manifest))


def _json(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float)) else value.isoformat()
