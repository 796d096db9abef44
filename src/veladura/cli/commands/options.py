"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(help="A release folder.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Large = Annotated[
    bool,
    typer.Option("--large", help="Read data that unfold to much more than their files."),
]
Level = Annotated[float, typer.Option(help="The confidence level of the intervals.")]
OutTable = Annotated[Path | None, typer.Option(help="Write the table (.csv).")]
TableName = Annotated[
    str | None, typer.Option(help="The table of the database, if it has several.")
]
