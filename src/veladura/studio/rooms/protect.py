"""Protect: steps chosen by need, every setting with its help text, ways to reach k-anonymity."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veladura.base.settings import to_plain
from veladura.core import registry
from veladura.errors import PlanError
from veladura.methods.kanonymity.kanonymity import KAnonymity
from veladura.numeric.hierarchies.grid import pair_name
from veladura.plan.audience import AUDIENCES
from veladura.plan.commented import steps_text
from veladura.plan.edit import set_steps
from veladura.plan.needs import NEEDS
from veladura.plan.quasi import completed
from veladura.plan.steps import recipe_from
from veladura.studio.answers import Answer, FieldError, Form, required, text
from veladura.studio.drafting import redraft
from veladura.studio.fields import field_in, settings_of, step_from
from veladura.studio.lattice import picture
from veladura.studio.pages import fragment, spread
from veladura.studio.work import begin

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.studio.session import Session

WIDTH, HEIGHT = 420.0, 230.0


def show(session: Session, query: Mapping[str, str]) -> str:
    """Return the needs, the steps as cards, and the ways where they were looked for."""
    plan, source = session.ready
    last = session.notes().get("draft", {})
    steps = raw_steps(session)
    return fragment(
        "protect",
        needs=NEEDS,
        method=last.get("method", ""),
        audiences=AUDIENCES,
        audience=last.get("audience", "open-data"),
        region=str(last.get("settings", {}).get("region", "")),
        has_places=bool(source.table.schema.of_role("geographic")),
        steps=[_card(i, step) for i, step in enumerate(steps)],
        methods=[m for m in registry.METHODS if m != "steps" and registry.available(m)],
        editable=hierarchies_of(session),
        ways=_ways(session),
        has_ways=any(step.get("method") == "k-anonymity" for step in steps),
        opened=query.get("step", ""),
        models="\n".join(plan.utility.models),
        read_only=session.read_only,
    )


def raw_steps(session: Session) -> list[dict[str, Any]]:
    """Return the steps of the plan as they are written, paths from its folder."""
    return list(tomllib.loads(session.ready[0].text)["step"])


def _card(number: int, step: Mapping[str, Any]) -> dict[str, Any]:
    cls = registry.find(step["method"])
    return {
        "number": number,
        "method": step["method"],
        "summary": (cls.__doc__ or "").strip().split("\n")[0],
        "settings": settings_of(cls, step),
    }


def hierarchies_of(session: Session) -> list[str]:
    """Return the columns and pairs of the plan that have a hierarchy."""
    plan, _ = session.ready
    step = next((step for step in plan.steps if isinstance(step, KAnonymity)), None)
    if step is None:
        return []
    paired = {name for pair in step.pairs for name in pair}
    pairs = [pair_name(pair) for pair in step.pairs]
    return [*pairs, *(name for name in step.names if name not in paired)]


def _draft(session: Session, form: Form) -> Answer:
    """Draft the steps again for what somebody needs."""
    method, audience = text(form, "method"), text(form, "audience") or "open-data"
    settings: dict[str, Any] = {}
    if method == "geography" and text(form, "region"):
        settings["region"] = text(form, "region")
    title = NEEDS[method][0] if method in NEEDS else method
    try:
        redraft(session, f"steps for {title}", method=method, audience=audience, settings=settings)
    except PlanError as error:
        raise FieldError("region" if "region" in str(error) else "method", str(error)) from None
    return Answer(f"The steps were drafted again: {title}. Undo brings the old ones back.")


def change_steps(session: Session, steps: list[dict[str, Any]], words: str) -> None:
    """Write other steps into the plan, with comments on every setting."""
    plan, _ = session.ready
    recipes = [
        recipe_from(completed(s, plan.columns), f"[[step]] {i}") for i, s in enumerate(steps, 1)
    ]
    keys = {name for name, column in plan.columns.items() if column.role == "quasi-identifier"}
    texts = []
    for step, recipe in zip(steps, recipes, strict=True):
        pairs = {name for pair in step.get("pairs", ()) for name in pair}
        given = "quasi_identifiers" in step
        texts.append(steps_text(recipe, () if given else keys | pairs))
    session.edit(lambda old: set_steps(old, "\n".join(texts)), words)


def _set(session: Session, form: Form) -> Answer:
    """Change the settings of a step."""
    steps, number = raw_steps(session), _number(session, form)
    method = steps[number]["method"]
    cls: type[Recipe] = registry.find(method)
    steps[number] = step_from(cls, method, form)
    try:
        change_steps(session, steps, f"settings of {method}")
    except FieldError:
        raise
    except PlanError as error:
        names = [setting.name for setting in settings_of(cls, {})]
        raise FieldError(field_in(str(error), names), str(error)) from None
    return Answer(f"The settings of {method} are in the plan.")


def _add(session: Session, form: Form) -> Answer:
    """Add a step with the settings that the method suggests."""
    _, source = session.ready
    method = required(form, "method", "the method")
    cls = registry.find(method)
    try:
        suggested = cls.suggest_for(source.table.without_identifiers(), source.facts)
        change_steps(
            session,
            [*raw_steps(session), {"method": method, **to_plain(suggested)}],
            f"a step: {method}",
        )
    except PlanError as error:
        raise FieldError("method", str(error)) from None
    return Answer(f"{method} is the last step now.")


def _remove(session: Session, form: Form) -> Answer:
    steps, number = raw_steps(session), _number(session, form)
    method = steps.pop(number)["method"]
    if not steps:
        msg = "a plan needs at least one step.\n\nHint: add another one first."
        raise PlanError(msg)
    change_steps(session, steps, f"{method} taken out")
    return Answer(f"{method} was taken out. Undo brings it back.")


def _move(session: Session, form: Form) -> Answer:
    steps, number = raw_steps(session), _number(session, form)
    if number == 0:
        msg = "it is the first step already."
        raise PlanError(msg)
    steps[number - 1], steps[number] = steps[number], steps[number - 1]
    change_steps(session, steps, f"{steps[number - 1]['method']} moved up")
    return Answer(f"{steps[number - 1]['method']} comes earlier now.")


def _number(session: Session, form: Form) -> int:
    session.refuse_read_only()
    number, count = int(form.get("step", -1)), len(raw_steps(session))
    if not 0 <= number < count:
        msg = "this step is gone: it was taken out in another tab."
        raise PlanError(msg)
    return number


def _models(session: Session, form: Form) -> Answer:
    """Keep the formulas that matter to the holder's analysts."""
    from veladura.inference.formula import check_models
    from veladura.plan.edit import set_table

    models = [line.strip() for line in text(form, "models").splitlines() if line.strip()]
    try:
        check_models(models)
    except PlanError as error:
        raise FieldError("models", str(error)) from None
    session.edit(lambda old: set_table(old, ["utility"], {"models": models}), "formulas")
    return Answer("The formulas are in the plan: every run compares their slopes.")


def _look(session: Session, _form: Form) -> Answer:
    """Look for all minimal ways to reach k-anonymity."""
    begin(session, "ways", {})
    return Answer("Looking for the ways. You can go on meanwhile.")


def _ways(session: Session) -> dict[str, Any] | None:
    """Return the ways that were found for the step as it is, as points of a scatter."""
    kept = session.notes().get("ways")
    if not kept or kept["key"] != ways_key(session):
        return None
    ways = kept["ways"]
    across = spread([way["suppressed"] for way in ways["ways"]], WIDTH)
    down = spread([way["loss"] for way in ways["ways"]], HEIGHT)
    chosen = _chosen(session)
    points = [
        {**way, "x": x, "y": y, "with": json.dumps({"levels": way["levels"]})}
        for way, x, y in zip(ways["ways"], across, down, strict=True)
    ]
    for point in points:
        point["chosen"] = point["levels"] == chosen if chosen else point["chosen"]
    drawn = picture(ways.get("lattice", ()), chosen or _proposed(points))
    return {**ways, "ways": points, "lattice": drawn, "width": WIDTH, "height": HEIGHT}


def _proposed(points: list[dict[str, Any]]) -> dict[str, int]:
    """Return the levels that the policy of the step chooses."""
    return next((point["levels"] for point in points if point["chosen"]), {})


def ways_key(session: Session) -> str:
    """Return what the ways depend on: the steps without the chosen levels, and the columns."""
    plan, _ = session.ready
    # as they are read, so that another way to write the same step makes no difference
    plain = [{"method": step.method, **to_plain(step)} for step in plan.steps]
    steps = [{k: v for k, v in step.items() if k != "levels"} for step in plain]
    roles = {name: (column.role, column.kind) for name, column in plan.columns.items()}
    return json.dumps([steps, roles], sort_keys=True, default=str)


def _chosen(session: Session) -> dict[str, int]:
    step = next((s for s in raw_steps(session) if s["method"] == "k-anonymity"), {})
    return dict(step.get("levels", {}))


def _choose(session: Session, form: Form) -> Answer:
    """Take one of the ways: its levels go into the step."""
    steps = raw_steps(session)
    levels = form.get("levels")
    step = next((s for s in steps if s["method"] == "k-anonymity"), None)
    if step is None or not isinstance(levels, Mapping):
        msg = "the plan has no k-anonymity step any more."
        raise PlanError(msg)
    step["levels"] = {str(name): int(level) for name, level in levels.items()}
    change_steps(session, steps, "another way to reach k-anonymity")
    return Answer("This way is in the plan now.")


ACTIONS = {
    "draft": _draft,
    "set": _set,
    "add": _add,
    "remove": _remove,
    "move": _move,
    "models": _models,
    "look": _look,
    "choose": _choose,
}
