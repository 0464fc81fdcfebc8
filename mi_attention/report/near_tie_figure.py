"""Figure: are near ties of attention also near ties of information? Concordance of pairs by both gaps."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mi_attention.report.numbers import format_setting
from mi_attention.report.panels import add_legend, name_setting, panel_grid, require_columns, wrap
from mi_attention.report.style import ONE_COLUMN, look, styled

__all__ = ["NEAR_TIE_COLUMNS", "near_tie_figure"]

NEAR_TIE_COLUMNS = ("gap_low", "gap_high", "resolution_low", "resolution_high", "estimate", "ci_low", "ci_high")


def near_tie_figure(
    frame: pd.DataFrame,
    *,
    panels: tuple[str, ...] = ("data", "encoder", "score"),
    label: str = "gap of attention",
    width: float = ONE_COLUMN,
) -> Figure:
    """P(concordant) by bin of the attention gap, one line a bin of the information gap over its standard error.

    Bins of attention stand side by side in equal widths, named by their edges; where the frame has ``n_pairs``, a mark
    is the larger the more pairs it stands for. The line at 1/2 is an order by chance.

    Args:
        frame: Tidy frame with ``NEAR_TIE_COLUMNS``, one row a panel and pair of bins (infinite edges are allowed).
        panels: Columns whose combinations are panels; those absent from the frame are left out.
        label: Name of the attention gap, on the horizontal axis.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns or rows are missing, a bin is upside down, a panel has two rows for one pair of bins,
            or an estimate is outside [0, 1].
    """
    require_columns(frame, NEAR_TIE_COLUMNS, "near-tie")
    if frame.empty:
        raise ValueError("the near-tie figure needs at least one row")
    edges = NEAR_TIE_COLUMNS[:4]
    keys = [name for name in panels if name in frame.columns]
    if (frame["gap_low"] >= frame["gap_high"]).any() or (frame["resolution_low"] >= frame["resolution_high"]).any():
        raise ValueError("a bin has its low edge at or above its high edge")
    if not frame["estimate"].dropna().between(0, 1).all():
        raise ValueError("estimate must be a probability of concordance in [0, 1]")
    if frame.duplicated([*keys, *edges]).any():
        raise ValueError("a panel has two rows for one pair of bins; select one analysis first")
    gaps = sorted(set(frame[["gap_low", "gap_high"]].itertuples(index=False, name=None)))
    resolutions = sorted(set(frame[["resolution_low", "resolution_high"]].itertuples(index=False, name=None)))
    groups = list(frame.groupby(keys, sort=False, dropna=False)) if keys else [((), frame)]
    n_rows, n_columns = panel_grid(len(groups), width, 1.5)
    panel_width = width / n_columns - 0.35
    offsets = np.linspace(-0.14, 0.14, len(resolutions)) if len(resolutions) > 1 else np.zeros(1)
    names = [_bin(low, high, "MI gap") for low, high in resolutions]
    with styled():
        figure = Figure(figsize=(width, 0.75 + 1.75 * n_rows), layout="constrained")
        shared: Axes | None = None
        for number, (values, rows) in enumerate(groups):
            axes = figure.add_subplot(n_rows, n_columns, number + 1, sharey=shared, sharex=shared)
            shared = shared or axes
            axes.axhline(0.5, color="0.6", linewidth=0.6, zorder=1)
            for place, wanted in enumerate(resolutions):
                part = rows[(rows["resolution_low"] == wanted[0]) & (rows["resolution_high"] == wanted[1])]
                x = [gaps.index(pair) + offsets[place] for pair in zip(part["gap_low"], part["gap_high"], strict=True)]
                _draw(axes, part.assign(x=x).sort_values("x"), place)
            axes.set_xticks(range(len(gaps)), [_edges(low, high) for low, high in gaps])
            axes.set_xlim(-0.5, len(gaps) - 0.5)
            crowded = len(gaps) * max(len(_edges(*gap)) for gap in gaps) * 0.052 > panel_width
            axes.tick_params(axis="x", labelrotation=90 if crowded else 0)
            axes.set_title(wrap(", ".join(name_setting(k, v) for k, v in zip(keys, values, strict=True)), panel_width))
            axes.set_xlabel(label)
            if number % n_columns == 0:
                axes.set_ylabel("P(concordant)")
        if len(resolutions) > 1:
            handles: list[Artist] = [Line2D([], [], **look(place).line()) for place in range(len(resolutions))]
            add_legend(figure, handles, names, width)
    return figure


def _draw(axes: Axes, part: pd.DataFrame, place: int) -> None:
    style = look(place)
    x, y, low, high = (part[name].to_numpy(dtype=np.float64) for name in ("x", "estimate", "ci_low", "ci_high"))
    axes.plot(x, y, zorder=3, **style.line() | {"marker": "", "linewidth": 0.8})
    sizes = np.full(len(part), 3.4)
    if "n_pairs" in part.columns and part["n_pairs"].max() > 0:
        share = part["n_pairs"].to_numpy(dtype=np.float64, na_value=0.0) / float(part["n_pairs"].max())
        sizes = 2.0 + 2.6 * np.sqrt(share)
    for at, value, size in zip(x, y, sizes, strict=True):
        axes.plot(at, value, zorder=4, **style.line() | {"linestyle": "none", "markersize": size})
    known = ~(np.isnan(low) | np.isnan(high))
    axes.vlines(x[known], low[known], high[known], color=style.color, linewidth=0.9, zorder=2)


def _edges(low: float, high: float) -> str:
    if math.isinf(high):
        return f"> {format_setting(low)}"
    return f"{format_setting(low)}–{format_setting(high)}"


def _bin(low: float, high: float, name: str) -> str:
    if math.isinf(high):
        return f"{name} above {format_setting(low)} SE" if low > 0 else "all pairs"
    return f"{name} {format_setting(low)} to {format_setting(high)} SE"
