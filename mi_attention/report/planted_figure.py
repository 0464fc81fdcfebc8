"""Figure: estimated against true mutual information, on data whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mi_attention.report.curves import Curve, curve, undefined_line
from mi_attention.report.panels import (
    add_legend,
    integer_ticks,
    panel_grid,
    plain_name,
    require_columns,
    say_undefined,
    wrap,
)
from mi_attention.report.style import TWO_COLUMNS, look, styled

__all__ = ["PLANTED_COLUMNS", "planted_figure"]

PLANTED_COLUMNS = ("data", "unit_index", "nats", "standard_error", "truth")


def planted_figure(frame: pd.DataFrame, *, width: float = TWO_COLUMNS) -> Figure:
    """Estimate and truth by position, one panel a data set, and all of them against each other in the last panel.

    Bars are ± two standard errors (over seeds where the frame has several), about 95 %; they do not include bias.

    Args:
        frame: Tidy frame with ``PLANTED_COLUMNS``, in nats, and optionally ``seed`` and ``reason``.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns are missing, the frame is empty, a truth is NaN or negative, or differs
            between seeds, or a seed has two rows for one position.
    """
    require_columns(frame, PLANTED_COLUMNS, "planted")
    if frame.empty:
        raise ValueError("the planted figure needs at least one row")
    if not (frame["truth"] >= 0).all():
        raise ValueError("truth must be a mutual information of at least 0 nats in every row")
    if (frame.groupby(["data", "unit_index"])["truth"].nunique() > 1).any():
        raise ValueError("truth differs between rows of one position; select one planted data set first")
    groups = dict(iter(frame.groupby("data", sort=False)))
    n_rows, n_columns = panel_grid(len(groups) + 1, width, 1.55)
    panel_width = width / n_columns - 0.35
    with styled():
        figure = Figure(figsize=(width, 0.45 + 1.65 * n_rows), layout="constrained")
        scatter = figure.add_subplot(n_rows, n_columns, len(groups) + 1)
        handles: dict[str, Artist] = {}
        lowest, highest = 0.0, float(frame["truth"].max())
        lines: list[Curve] = []
        for number, (data, rows) in enumerate(groups.items()):
            style = look(number)
            estimate, truth = curve(rows, "nats", "standard_error"), curve(rows, "truth", None)
            lines.append(estimate)
            error = 2 * np.nan_to_num(estimate.error)
            axes = figure.add_subplot(n_rows, n_columns, number + 1)
            axes.axhline(0.0, color="0.6", linewidth=0.5, zorder=1)
            axes.plot(truth.x, truth.mean, color="0.5", linewidth=2.2, zorder=2, solid_capstyle="butt")
            axes.vlines(estimate.x, estimate.mean - error, estimate.mean + error, color=style.color, linewidth=0.8)
            axes.plot(estimate.x, estimate.mean, zorder=3, **style.line() | {"linestyle": "none"})
            axes.set_title(wrap(plain_name(data), panel_width))
            note = undefined_line([estimate])
            axes.set_xlabel("position" + (f"\n{wrap(note, panel_width, 6.5)}" if note else ""))
            integer_ticks(axes, estimate.x)
            if number % n_columns == 0:
                axes.set_ylabel("MI (nats)")
            if np.isnan(estimate.mean).all():
                say_undefined(axes, "; ".join(estimate.reasons), panel_width)
            scatter.vlines(truth.mean, estimate.mean - error, estimate.mean + error, color=style.color, linewidth=0.7)
            scatter.plot(truth.mean, estimate.mean, zorder=3, **style.line() | {"linestyle": "none"})
            handles[plain_name(data)] = Line2D([], [], **style.line() | {"linestyle": "none"})
            if not np.isnan(estimate.mean).all():
                lowest = min(lowest, float(np.nanmin(estimate.mean - error)))
                highest = max(highest, float(np.nanmax(estimate.mean + error)))
        pad = 0.05 * (highest - lowest) or 0.1
        scatter.plot([lowest, highest], [lowest, highest], color="0.5", linewidth=0.8, zorder=1)
        scatter.set_xlim(lowest - pad, highest + pad)
        scatter.set_ylim(lowest - pad, highest + pad)
        scatter.set_aspect("equal")
        scatter.set_title("all positions")
        scatter.set_xlabel("true MI (nats)")
        scatter.set_ylabel("estimated MI (nats)")
        handles["truth"] = Line2D([], [], color="0.5", linewidth=2.2)
        add_legend(figure, list(handles.values()), list(handles), width)
    return figure
