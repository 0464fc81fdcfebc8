"""Figures of claims: their contrasts with what would matter, and estimates along a factor that is a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from mi_attention.report import TWO_COLUMNS, look, styled, temperature_figure
from mi_attention.report.panels import CHARACTER, add_legend, wrap
from mi_attention.study.claim_contrasts import GROUPING

__all__ = ["claims_figure", "sweep_figure"]

# Verdict → place among the looks, and whether the mark is filled: they differ in shape too, for grey print.
_LOOKS = {"supported": (0, True), "contradicted": (5, True), "undecided": (3, False)}


def claims_figure(claims: pd.DataFrame, *, width: float = TWO_COLUMNS) -> Figure:
    """Every contrast of every claim, a panel a claim under its words.

    The grey band is what would not matter, around the value that the claim is held against; colour and shape of a mark
    are the verdict. The finer dots are the same by data set, the fine crosses by encoder, where it was averaged over.

    Args:
        claims: Rows of ``answer``, those by data set among them or not.
        width: Inches.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if there is no row.
    """
    if claims.empty:
        raise ValueError("the figure of claims needs at least one row")
    names = list(dict.fromkeys(claims["claim"]))
    longest = max(len(part) for name in claims["contrast"] for part in wrap(name, 0.3 * width).split("\n"))
    titles = [wrap(name, width - longest * CHARACTER * 6.5 - 0.3) for name in names]
    panels = [claims[claims["claim"] == name] for name in names]
    heads = [panel[panel["verdict"] != ""] for panel in panels]
    heights = [0.42 + 0.13 * title.count("\n") + 0.16 * len(head) for title, head in zip(titles, heads, strict=True)]
    with styled():
        figure = Figure(figsize=(width, sum(heights) + 0.45), layout="constrained")
        grid = figure.add_gridspec(len(names), 1, height_ratios=heights)
        for place, (title, panel, head) in enumerate(zip(titles, panels, heads, strict=True)):
            _draw(figure, grid[place], title, panel, head, width)
        handles = [Line2D([], [], linestyle="none", **_mark(verdict)) for verdict in _LOOKS]
        add_legend(figure, handles, list(_LOOKS), width)
    return figure


def sweep_figure(
    estimates: pd.DataFrame, factor: str, *, axis: str, label: str, panels: Sequence[str] = ("data", "encoder")
) -> Figure:
    """Estimates against a factor whose levels are positive numbers, on a logarithmic axis.

    Args:
        estimates: Rows of ``Runs.table`` of one kind, one a panel, line and level.
        factor: Column of the levels.
        axis: Name of the factor, on the horizontal axis.
        label: Name of the quantity, on the vertical axis.
        panels: Columns whose combinations are panels.
    """
    frame = estimates.assign(temperature=estimates[factor].astype(np.float64))
    figure = temperature_figure(frame, panels=tuple(panels), label=label, width=TWO_COLUMNS)
    for axes in figure.axes:
        axes.set_xlabel(axis)
    return figure


def _draw(
    figure: Figure, place: SubplotSpec, title: str, panel: pd.DataFrame, head: pd.DataFrame, width: float
) -> None:
    axes = figure.add_subplot(place)
    reference, matters = float(head["reference"].iloc[0]), float(head["matters"].iloc[0])
    axes.axvspan(reference - matters, reference + matters, color="0.9", linewidth=0, zorder=0)
    axes.axvline(reference, color="0.5", linewidth=0.6, zorder=1)
    names = [wrap(name, 0.3 * width) for name in head["contrast"]]
    for row, at in zip(head.to_dict("records"), range(len(head)), strict=True):
        mark = _mark(str(row["verdict"]))
        for factor, shape in (("data", "."), ("encoder", "x")):
            # The same pair under the same levels, but for that factor.
            same = [name for name in GROUPING if name != factor]
            beside = np.logical_and.reduce([panel[name] == row[name] for name in ("pair", *same)])
            single = panel[beside & (panel["verdict"] == "")]
            axes.plot(
                single["estimate"],
                np.full(len(single), at + 0.24),
                shape,
                color="0.5",
                markersize=2.5,
                mew=0.5,
                zorder=2,
            )
        axes.hlines(at, row["ci_low"], row["ci_high"], color=mark["color"], linewidth=1.1, zorder=3)
        axes.plot(row["estimate"], at, zorder=4, linestyle="none", **mark)
    axes.set_yticks(range(len(head)), names)
    axes.set_ylim(len(head) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    axes.set_title(title, loc="left")
    unit = str(head["effect_unit"].iloc[0] or "")
    axes.set_xlabel(unit if unit != "nan" else "")


def _mark(verdict: str) -> dict[str, Any]:
    place, filled = _LOOKS[verdict]
    shape = look(place)
    face = shape.color if filled else "white"
    return {"color": shape.color, "marker": shape.marker, "markerfacecolor": face, "markeredgecolor": shape.color}
