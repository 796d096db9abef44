"""Analyst: a release folder and nothing else. Report, formulas, posteriors, files, snippets."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError, VeladuraError
from veladura.report import words
from veladura.report.snippets import command, first_model, r_snippet, snippet
from veladura.studio.answers import Answer, FieldError, Form, required, text
from veladura.studio.pages import fragment

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.studio.session import Session

FAMILIES = ("gaussian", "binomial", "poisson", "gamma", "quasi-binomial", "quasi-poisson")
MOST_ROWS = 200
SMALL_P = 1e-4
LARGE, VERY_LARGE = 1e4, 1e12  # numbers that are written out


def show(session: Session, _query: Mapping[str, str]) -> str:
    """Return the room of a release folder; a folder that does not verify says so first."""
    folder = folder_of(session)
    if folder is None:
        return fragment("analyst-none", own=session.release is None)
    try:
        lines = session.once(("analyst", folder), lambda: _verified(folder))
        release = loaded(session, folder)
    except VeladuraError as error:
        return fragment("analyst-broken", folder=folder, problem=str(error))
    manifest = release.manifest
    model = first_model(release)
    return fragment(
        "analyst",
        folder=folder,
        manifest=manifest,
        lines=lines,
        broken=[line for line in lines if line.status == "broken"],
        rule=words.rule(release.rule),
        posterior=release.rule.posterior,
        combines=release.rule.combines(len(release.tables)),
        columns=manifest["columns"],
        model=model,
        families=FAMILIES,
        report=_report(session, folder),
        files=_files(session, folder),
        python=snippet(release, str(folder)),
        shell=command(release, str(folder)),
        r=r_snippet(release, str(folder)),
        questions=_values(release) if release.rule.posterior else {},
        own=session.release is None,
    )


def folder_of(session: Session) -> Path | None:
    """Return the release folder that is open: the one the studio was given, or the plan's."""
    if session.release is not None:
        return session.release
    opened = session.kept.get("analyst-folder")
    if opened is not None:
        return Path(opened)
    plan, _ = session.ready
    return plan.folder if (plan.folder / "manifest.json").exists() else None


def loaded(session: Session, folder: Path) -> Release:
    """Return the release in a folder, read once."""
    from veladura.release.package import load

    release: Release = session.once(("release", str(folder)), lambda: load(folder))
    return release


def _verified(folder: Path) -> list[Any]:
    from veladura.release.verify import verify

    return verify(folder)


def _report(session: Session, folder: Path) -> str:
    """Return the address of the report; empty where the folder has none of its own."""
    from veladura.release.folder import is_plain

    path = folder / "report.html"
    return session.views.address(path.read_bytes) if is_plain(path) else ""


def _files(session: Session, folder: Path) -> list[tuple[str, int, str]]:
    """Return the files of the folder: name, size, address. No link or device is followed."""
    from veladura.release.folder import is_plain, listed_files

    return [
        (
            name,
            (folder / name).stat().st_size,
            session.views.address(
                (folder / name).read_bytes, "application/octet-stream", Path(name).name
            ),
        )
        for name in listed_files(folder)
        if is_plain(folder / name)
    ]


def _values(release: Release) -> dict[str, list[str]]:
    """Return the declared categories of a private release, for the questions."""
    table = release.tables[0].table
    found = {}
    for name in table.names:
        values = table.column(name).to_arrow().unique().drop_null().to_pylist()
        found[name] = sorted(map(str, values))[:MOST_ROWS]
    return found


def _open(session: Session, form: Form) -> Answer:
    """Open another release folder."""
    folder = Path(required(form, "folder", "the path of a release folder")).expanduser()
    if not (folder / "manifest.json").is_file():
        raise FieldError("folder", "this is no release folder: it has no manifest.json.")
    session.kept["analyst-folder"] = str(folder)
    return Answer(f"{folder.name} is open.")


def _analyze(session: Session, form: Form) -> Answer:
    """Fit a model to every dataset, and combine by the rule of the manifest."""
    from veladura.inference.analysis import analyze

    folder = _folder(session)
    formula = required(form, "formula", "the formula")
    try:
        analysis = analyze(
            loaded(session, folder),
            formula,
            family=text(form, "family") or "gaussian",
            level=_level(form),
            robust=bool(form.get("robust")),
        )
    except FieldError:
        raise
    except VeladuraError as error:
        raise FieldError("formula", str(error)) from None
    ratios = bool(form.get("ratios"))
    frame = analysis.table(exponentiate=ratios)
    picture = _picture(lambda path: analysis.plot(path, exponentiate=ratios))
    html = fragment(
        "analyst-model",
        heading=analysis.heading(),
        columns=list(frame.columns),
        rows=[
            (str(term), [_cell(*cell) for cell in zip(frame.columns, row, strict=True)])
            for term, row in zip(frame.index, frame.to_numpy().tolist(), strict=True)
        ],
        cautions=list(analysis.cautions),
        csv=_download(session, frame.to_csv().encode(), "model.csv"),
        svg=session.views.address(lambda: picture, "image/svg+xml"),
        download=session.views.address(lambda: picture, "image/svg+xml", "model.svg"),
        ratios=ratios,
    )
    return Answer(html=html, target="#answer")


def _posterior(session: Session, form: Form) -> Answer:
    """Ask the posterior of a private release: an event in groups, or the shares of a column."""
    import pandas as pd

    from veladura.inference.posterior.compare import answers, column_table
    from veladura.inference.posterior.posterior import posterior

    folder, level = _folder(session), _level(form)
    release = loaded(session, folder)
    shares = session.once(("posterior", str(folder)), lambda: posterior(release, 0.5))
    event, column = text(form, "event"), text(form, "column")
    try:
        if event:
            among = [group for group in (text(form, "among"), text(form, "among2")) if group]
            rows = [
                (question, e.value, e.lower, e.upper)
                for question, e in answers(shares, event, among, level).items()
            ]
            frame = pd.DataFrame(rows, columns=["question", "estimate", "lower", "upper"])
        else:
            frame = column_table(shares, column, level) if column else shares.table(level)
    except VeladuraError as error:
        raise FieldError("event" if event else "column", str(error)) from None
    cells = [
        [
            f"{cell:.4f}" if isinstance(cell, float) else "missing" if cell is None else str(cell)
            for cell in row
        ]
        for row in frame.head(MOST_ROWS).itertuples(index=False)
    ]
    html = fragment(
        "analyst-posterior",
        columns=list(frame.columns),
        rows=cells,
        more=max(len(frame) - MOST_ROWS, 0),
        people=shares.n,
        level=level,
        method=shares.method,
        csv=_download(session, frame.to_csv(index=False).encode(), "posterior.csv"),
    )
    return Answer(html=html, target="#answer")


def _cell(column: str, value: float) -> str:
    """Return a cell of the table of coefficients; a p-value has no use for more digits."""
    return "< 0.0001" if column == "p" and value < SMALL_P else _number(value)


def _number(value: float) -> str:
    """Return a number in a few digits, as people write it."""
    return f"{value:,.0f}" if LARGE <= abs(value) < VERY_LARGE else f"{value:.4g}"


def _picture(draw: Any) -> bytes:
    """Return a picture that a function writes to a file."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as home:
        path = Path(home) / "picture.svg"
        draw(path)
        return path.read_bytes()


def _download(session: Session, content: bytes, name: str) -> str:
    kept = io.BytesIO(content).getvalue()
    return session.views.address(lambda: kept, "application/octet-stream", name)


def _folder(session: Session) -> Path:
    folder = folder_of(session)
    if folder is None:
        msg = "no release folder is open."
        raise PlanError(msg)
    return folder


def _level(form: Form) -> float:
    try:
        level = float(text(form, "level") or "95") / 100
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise FieldError("level", "a level is a number of per cent, such as 95.")
    return level


ACTIONS = {"open": _open, "analyze": _analyze, "posterior": _posterior}
