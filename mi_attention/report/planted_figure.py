"""Figure: estimated against true mutual information, on data whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mi_attention.report.curves import curve, undefined_line
from mi_attention.report.panels import (
    CELL,
    add_legend,
    cells_of,
    common_settings,
    panel_grid,
    plain_name,
    require_columns,
    say_undefined,
    wrap,
)
from mi_attention.report.position_axis import position_axis, relative_bins
from mi_attention.report.style import TWO_COLUMNS, look, styled

__all__ = ["PLANTED_COLUMNS", "planted_figure"]

PLANTED_COLUMNS = ("data", "unit_index", "nats", "standard_error", "truth")
# Encoders whose state at a position sees that position alone. Of any other the planted truth is not the truth.
SEES_ONE_POSITION = ("embedding", "mlp")

TRUTH: dict[str, Any] = {"color": "0.5", "linewidth": 1.8, "solid_capstyle": "butt"}
LANDMARK: dict[str, Any] = {"color": "0.5", "linewidth": 1.0, "linestyle": (0, (3.0, 2.0))}


def planted_figure(frame: pd.DataFrame, *, width: float = TWO_COLUMNS) -> Figure:
    """Estimates by position beside what was planted there, one panel a cell, and both against each other.

    What was planted is the information of the *input* at a position. It is the truth of states that see one position
    (``SEES_ONE_POSITION``, or frames without an encoder), and only these stand in the last panel, against it. Where an
    encoder mixes positions, as a recurrent one does, every state may hold what the whole instance holds: there the
    planted information is drawn dashed, as a landmark.

    Dots are means over seeds. Bars are ± two standard errors, about 95 % for one estimate; they do not include
    bias. The standard error is the mean over seeds of the estimates' own, not the spread over seeds: seeds that
    share their data share its sampling error, of which their spread says nothing.

    Args:
        frame: Tidy frame with ``PLANTED_COLUMNS``, in nats, and optionally ``seed``, ``unit`` and ``reason``, and
            the other columns of ``CELL``, which then tell the panels apart and name them.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns are missing, the frame is empty, a truth is NaN or negative, or differs
            between the rows of one position of a cell, or a seed has two rows for one position.
    """
    require_columns(frame, PLANTED_COLUMNS, "planted")
    if frame.empty:
        raise ValueError("the planted figure needs at least one row")
    if not (frame["truth"] >= 0).all():
        raise ValueError("truth must be a mutual information of at least 0 nats in every row")
    keys = [key for key in CELL if key in frame.columns]
    if (frame.groupby([*keys, "unit_index"], dropna=False)["truth"].nunique() > 1).any():
        raise ValueError("truth differs between rows of one position; select one planted data set first")
    cells = cells_of(frame, keys)
    alone = [cell.settings.get("encoder", SEES_ONE_POSITION[0]) in SEES_ONE_POSITION for cell in cells]
    n_rows, n_columns = panel_grid(len(cells) + any(alone), width, 1.55)
    panel_width = width / n_columns - 0.35
    with styled():
        figure = Figure(figsize=(width, (0.45 if keys == ["data"] else 0.6) + 1.65 * n_rows), layout="constrained")
        scatter = figure.add_subplot(n_rows, n_columns, len(cells) + 1) if any(alone) else None
        handles: dict[str, Artist] = {}
        lowest, highest = 0.0, float(frame["truth"].max())
        for number, cell in enumerate(cells):
            style = look(number)
            title = cell.title or plain_name(cell.settings["data"])
            estimate = curve(cell.rows, "nats", "standard_error", over_seeds=False)
            truth = curve(cell.rows, "truth", None)
            error = 2 * np.nan_to_num(estimate.error)
            axes = figure.add_subplot(n_rows, n_columns, number + 1)
            axes.axhline(0.0, color="0.6", linewidth=0.5, zorder=1)
            # Steps: between two positions there is no truth to draw a slope through.
            axes.step(truth.x, truth.mean, where="mid", zorder=2, **(TRUTH if alone[number] else LANDMARK))
            axes.vlines(estimate.x, estimate.mean - error, estimate.mean + error, color=style.color, linewidth=0.8)
            axes.plot(estimate.x, estimate.mean, zorder=3, **style.line() | {"linestyle": "none"})
            axes.set_title(wrap(title, panel_width))
            position_axis(axes, estimate.x, relative_bins(cell.rows), panel_width, undefined_line([estimate]))
            if number % n_columns == 0:
                axes.set_ylabel("MI (nats)")
            if np.isnan(estimate.mean).all():
                say_undefined(axes, "; ".join(estimate.reasons), panel_width)
            handles[title.replace("\n", ", ")] = Line2D([], [], **style.line() | {"linestyle": "none"})
            if scatter is None or not alone[number]:
                continue
            scatter.vlines(truth.mean, estimate.mean - error, estimate.mean + error, color=style.color, linewidth=0.7)
            scatter.plot(truth.mean, estimate.mean, zorder=3, **style.line() | {"linestyle": "none"})
            if not np.isnan(estimate.mean).all():
                lowest = min(lowest, float(np.nanmin(estimate.mean - error)))
                highest = max(highest, float(np.nanmax(estimate.mean + error)))
        if scatter is not None:
            pad = 0.05 * (highest - lowest) or 0.1
            scatter.plot([lowest, highest], [lowest, highest], color="0.5", linewidth=0.8, zorder=1)
            scatter.set_xlim(lowest - pad, highest + pad)
            scatter.set_ylim(lowest - pad, highest + pad)
            scatter.set_aspect("equal")
            scatter.set_title("all positions" if all(alone) else wrap("states of one position", panel_width))
            scatter.set_xlabel("true MI (nats)")
            scatter.set_ylabel("estimated MI (nats)")
            handles["truth"] = Line2D([], [], **TRUTH)
        if not all(alone):
            handles["planted in the input; these states may hold more"] = Line2D([], [], **LANDMARK)
        if keys != ["data"]:
            figure.suptitle(wrap(common_settings(frame, keys), width, 7.5))
        add_legend(figure, list(handles.values()), list(handles), width)
    return figure
