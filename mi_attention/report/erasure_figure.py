"""Figure: how much the prediction changes when the leading positions of an order are erased."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mi_attention.report.panels import (
    CELL,
    add_legend,
    cells_of,
    common_settings,
    panel_grid,
    plain_name,
    require_columns,
    say_undefined,
    undefined_reasons,
    wrap,
)
from mi_attention.report.style import ONE_COLUMN, LineLook, look, styled

__all__ = ["ERASURE_COLUMNS", "erasure_figure"]

ERASURE_COLUMNS = ("order", "share", "estimate", "ci_low", "ci_high")
# The order in question first, the one that knows nothing last and in grey.
LEADING = ("informativeness", "mutual information", "attention", "attended head evidence", "head evidence", "gradient")
RANDOM = LineLook("0.45", "", (0, (1.0, 1.2)))


def erasure_figure(
    frame: pd.DataFrame,
    *,
    panels: tuple[str, ...] = CELL,
    label: str = "change of the prediction (TVD)",
    width: float = ONE_COLUMN,
) -> Figure:
    """Change of the prediction against the share of positions erased, one line an order of erasure.

    The earlier a line rises, the sooner its order reaches what the prediction rests on; a random order is the grey
    line. Bands are the frame's intervals. The axis is that of the lines: intervals of two or three seeds would flatten
    them, and are cut off where they leave it.

    Args:
        frame: Tidy frame with ``ERASURE_COLUMNS``, one row a panel, order and share erased in [0, 1], and optionally
            ``reason``.
        panels: Columns whose combinations are panels; those absent from the frame are left out. A title has the model
            and what differs between panels, the line above them what all share.
        label: Name and unit of the change.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns or rows are missing, a share is outside [0, 1], or a panel has two rows for one order
            and share.
    """
    require_columns(frame, ERASURE_COLUMNS, "erasure")
    if frame.empty:
        raise ValueError("the erasure figure needs at least one row")
    if not frame["share"].between(0, 1).all():
        raise ValueError(f"share must be in [0, 1], got {frame['share'].min()} to {frame['share'].max()}")
    keys = [name for name in panels if name in frame.columns]
    if frame.duplicated([*keys, "order", "share"]).any():
        raise ValueError("a panel has two rows for one order and share; select one analysis first")
    present = list(dict.fromkeys(frame["order"]))
    orders = [name for name in LEADING if name in present]
    orders += sorted((name for name in present if name not in LEADING), key=lambda name: name == "random")
    looks = {name: RANDOM if name == "random" else look(place) for place, name in enumerate(orders)}
    low, high = float(np.nanmin([0.0, frame["estimate"].min()])), float(frame["estimate"].max())
    cells = [(cell.title, cell.rows) for cell in cells_of(frame, keys)] if keys else [("", frame)]
    n_rows, n_columns = panel_grid(len(cells), width, 1.5)
    panel_width = width / n_columns - 0.35
    with styled():
        figure = Figure(figsize=(width, 0.6 + 1.6 * n_rows + 0.06 * len(orders) * (width < 4)), layout="constrained")
        shared: Axes | None = None
        for number, (title, rows) in enumerate(cells):
            axes = figure.add_subplot(n_rows, n_columns, number + 1, sharex=shared, sharey=shared)
            shared = shared or axes
            for place, name in enumerate(orders):
                _draw(axes, rows[rows["order"] == name].sort_values("share"), looks[name], place, len(orders))
            if rows["estimate"].isna().all():
                say_undefined(axes, undefined_reasons(rows), panel_width)
            axes.set_title(wrap(title, panel_width))
            axes.set_xlabel("share of positions erased")
            if high > low:
                axes.set_ylim(low - 0.03 * (high - low), high + 0.12 * (high - low))
            if number % n_columns == 0:
                axes.set_ylabel(label)
        figure.suptitle(wrap(common_settings(frame, keys), width, 7.5))
        handles: list[Artist] = [Line2D([], [], **looks[name].line()) for name in orders]
        add_legend(figure, handles, [plain_name(name) for name in orders], width)
    return figure


def _draw(axes: Axes, part: pd.DataFrame, style: LineLook, place: int, count: int) -> None:
    """One order; its marks stand at other shares than those of the orders beside it."""
    x, y, low, high = (part[name].to_numpy(dtype=np.float64) for name in ("share", "estimate", "ci_low", "ci_high"))
    step = max(1, len(x) // 6) if len(x) <= count else max(count, len(x) // 6)
    axes.plot(x, y, zorder=3 + count - place, markevery=(place % step, step), **style.line())
    known = ~(np.isnan(y) | np.isnan(low) | np.isnan(high))
    axes.fill_between(x, low, high, where=known.tolist(), color=style.color, alpha=0.11, linewidth=0, zorder=2)
