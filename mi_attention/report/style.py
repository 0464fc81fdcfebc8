"""One look for every figure, and saving them so that the same input gives the same bytes.

The style is a dictionary applied for a moment by ``styled()``, never a change of the caller's settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
from matplotlib.figure import Figure

from mi_attention.report.atomic import atomic_path, with_ending

__all__ = ["ONE_COLUMN", "STYLE", "TWO_COLUMNS", "LineLook", "look", "save_figure", "styled", "svg_text"]

ONE_COLUMN = 3.3
"""Width in inches of a figure in one column of a two-column page."""
TWO_COLUMNS = 6.9
"""Width in inches of a figure across both columns."""

FORMATS = ("pdf", "svg", "png")

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 7.0,
    "axes.titlesize": 7.0,
    "axes.labelsize": 7.0,
    "figure.titlesize": 7.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlepad": 3.0,
    "axes.labelpad": 2.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.pad": 2.0,
    "ytick.major.pad": 2.0,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.4,
    "figure.dpi": 150.0,
    "savefig.dpi": 300.0,
    "savefig.facecolor": "white",
    "savefig.bbox": None,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.unicode_minus": True,
    "text.usetex": False,
    # A dollar sign in the name of a data set is no mathematics.
    "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    # Text stays text, so that a journal can search and a reader copy it.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    # Otherwise the identifiers inside an SVG are random.
    "svg.hashsalt": "mi-attention",
}


@dataclass(frozen=True)
class LineLook:
    """How one series is drawn; series differ in colour, marker and dashes, so that grey print works."""

    color: str
    marker: str
    linestyle: str | tuple[int, tuple[float, ...]]
    filled: bool = True

    def line(self) -> dict[str, Any]:
        """Keyword arguments for ``Axes.plot`` and ``Axes.errorbar``."""
        face = self.color if self.filled else "white"
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.linestyle,
            "markerfacecolor": face,
            "markeredgecolor": self.color,
            "markeredgewidth": 0.8,
        }


# Okabe and Ito's colours without yellow, which vanishes on white, in an order of alternating lightness.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#000000", "#56B4E9", "#D55E00", "#CC79A7")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "solid",
    (0, (4.0, 1.5)),
    (0, (1.2, 1.2)),
    (0, (5.0, 1.5, 1.2, 1.5)),
    (0, (7.0, 2.0)),
    (0, (3.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
    (0, (2.0, 2.5)),
)


def look(index: int) -> LineLook:
    """The look of series ``index``; the first seven differ in colour, marker and dashes.

    From the eighth on the colours return with other markers, hollow, so that 49 series stay distinct.

    Raises:
        ValueError: if ``index`` is not in [0, 49).
    """
    if not 0 <= index < 49:
        raise ValueError(f"a figure can tell 49 series apart, got series {index}; select fewer")
    turn, place = divmod(index, 7)
    return LineLook(_COLORS[place], _MARKERS[(place + turn) % 7], _DASHES[(place + turn) % 7], filled=turn == 0)


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style inside a block and restore the caller's settings after it."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(cast(Any, STYLE))
        yield


def save_figure(
    figure: Figure, path: str | Path, *, formats: Sequence[str] = FORMATS, signature: str = "", title: str = ""
) -> list[Path]:
    """Save a figure in several formats, each file atomically, without dates or random identifiers.

    Args:
        figure: The figure.
        path: Stem to which ``.pdf``, ``.svg`` and ``.png`` are appended.
        formats: Which of these.
        signature: How the numbers were made; kept in the file's metadata.
        title: Title in the file's metadata.

    Returns:
        The paths written, in the order of ``formats``.

    Raises:
        ValueError: if a format is unknown.
    """
    wanted = tuple(formats)
    if not wanted or any(name not in FORMATS for name in wanted):
        raise ValueError(f"formats must be some of {FORMATS}, got {wanted}")
    targets = {name: with_ending(Path(path), name) for name in wanted}
    with ExitStack() as stack:
        stack.enter_context(styled())
        stack.enter_context(_laid_out(figure))
        for name, target in targets.items():
            temporary = stack.enter_context(atomic_path(target))
            figure.savefig(temporary, format=name, metadata=_metadata(name, signature, title))
    return list(targets.values())


def svg_text(figure: Figure, *, signature: str = "", title: str = "") -> str:
    """The SVG that ``save_figure`` would write, as text, for a page that holds its figures.

    Args:
        figure: The figure.
        signature: How the numbers were made; kept in the image's metadata.
        title: Title in its metadata.
    """
    drawn = StringIO()
    with styled(), _laid_out(figure):
        figure.savefig(drawn, format="svg", metadata=_metadata("svg", signature, title))
    return drawn.getvalue()


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Lay a figure out once for all its formats; the caller's figure has its layout engine back afterwards."""
    engine = figure.get_layout_engine()
    figure.draw_without_rendering()
    # The engine "none" would keep a placeholder, for which every format is still drawn twice.
    figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def _metadata(ending: str, signature: str, title: str) -> dict[str, str | None]:
    shown: dict[str, str | None] = {"Title": title} if title else {}
    if signature:
        shown["Subject" if ending == "pdf" else "Description"] = signature
    if ending == "pdf":
        return {"Creator": "mi-attention", "Producer": None, "CreationDate": None, **shown}
    if ending == "svg":
        return {"Creator": "mi-attention", "Date": None, **shown}
    return {"Software": "mi-attention", **shown}
