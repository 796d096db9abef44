"""Pictures: one style, and figures as bytes that are the same for the same data.

Matplotlib takes half a second to load, so it is imported when the first picture is drawn. Figures
are made without pyplot, which would keep every one of them open.
"""

from __future__ import annotations

import io
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.visible import visible
from veladura.errors import PlanError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT_SIZE = 9.0
FORMATS = ("svg", "png", "pdf")
INK, SOFT = "#22272e", "#57606a"  # text and lines; what matters less


def style(font_size: float = FONT_SIZE) -> AbstractContextManager[None]:
    """Return the context in which pictures are drawn and written.

    Text stays text in an SVG file, ``$`` is a plain sign, and names inside the file are not random.
    """
    import matplotlib as mpl

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "veladura",
        "font.family": "sans-serif",
        "font.size": font_size,
        "text.parse_math": False,
    }
    return mpl.rc_context(settings)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, its size in inches, whose panels share the room it has."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def image_of(
    figure: Figure,
    format_: str = "svg",
    *,
    dpi: float | None = 160,
    font_size: float = FONT_SIZE,
) -> bytes:
    """Return a figure as an image file: the same bytes for the same figure, no date, no program.

    Parameters
    ----------
    format_
        A format that Matplotlib knows: "svg", "png", "pdf".
    dpi
        Dots per inch of what is not made of lines; None for those of the figure.
    font_size
        Size of labels that Matplotlib makes no sooner than the figure is written.
    """
    out = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if format_ == "svg" else None
    with style(font_size), warnings.catch_warnings():
        # the text of a picture is drawn by whoever shows it, with letters of its own
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(out, format=format_, dpi=dpi or "figure", metadata=metadata)
    if format_ != "svg":
        return out.getvalue()
    return visible(out.getvalue().decode("utf-8")).encode("utf-8")  # labels of axes too


def write_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by the name of the file; return the path."""
    format_ = path.suffix.lower().removeprefix(".")
    if format_ not in FORMATS:
        setting = "the format of a picture"
        raise PlanError.unknown(setting, format_ or "none", FORMATS)
    path.write_bytes(image_of(figure, format_))
    return path
