"""Figure: paired differences as a forest, with the margin below which none matters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mi_attention.report.numbers import format_interval, format_p
from mi_attention.report.panels import CHARACTER, plain_name, require_columns, wrap
from mi_attention.report.style import ONE_COLUMN, LineLook, look, styled

__all__ = ["CONTRAST_COLUMNS", "contrast_figure"]

CONTRAST_COLUMNS = ("first", "second", "estimate", "ci_low", "ci_high")


def contrast_figure(
    frame: pd.DataFrame,
    *,
    margin: float | None = None,
    groups: str | None = None,
    label: str = "difference in tau-b",
    digits: int = 2,
    width: float = ONE_COLUMN,
) -> Figure:
    """Differences and intervals, one row a contrast in the order of the frame, their numbers at the right.

    Filled marks have an interval without 0, hollow ones an interval with 0 or none. The grey band is ± ``margin``,
    the difference that would not matter. Numbers beside a row are its estimate, interval, and adjusted p (else p)
    where the frame has one.

    Args:
        frame: Tidy frame with ``CONTRAST_COLUMNS``, first minus second, and optionally ``p``, ``p_adjusted`` and
            ``reason``.
        margin: Margin of equivalence, fixed beforehand; None draws no band.
        groups: Column by which rows are set apart under a heading, such as ``"family"`` or ``"data"``.
        label: Name and unit of the difference.
        digits: Decimals of the numbers at the right.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns or rows are missing, or the margin is not positive.
    """
    require_columns(frame, (*CONTRAST_COLUMNS, *([groups] if groups else [])), "contrast")
    if frame.empty:
        raise ValueError("the contrast figure needs at least one row")
    if margin is not None and not (math.isfinite(margin) and margin > 0):
        raise ValueError(f"margin must be positive, got {margin}")
    names = [f"{plain_name(row.first)} − {plain_name(row.second)}" for row in frame.itertuples()]
    numbers = [_numbers(row, digits) for row in frame.to_dict("records")]
    heads = list(frame[groups].astype(str)) if groups else [""] * len(frame)
    label_width = min(0.32 * width, CHARACTER * 7 * max(map(len, [*names, *heads])) + 0.05)
    titles = [wrap(name, label_width) for name in names]
    places, ticks, place = [], [], 0.0
    for number, title in enumerate(titles):
        if groups and (not number or heads[number] != heads[number - 1]):
            ticks.append((place, heads[number]))
            place += 1.0
        lines = max(title.count("\n"), numbers[number].count("\n")) + 1
        places.append(place + (lines - 1) * 0.35)
        place += 1 + (lines - 1) * 0.7
    with styled():
        figure = Figure(figsize=(width, 0.5 + 0.17 * place), layout="constrained")
        axes = figure.add_subplot()
        if margin is not None:
            axes.axvspan(-margin, margin, color="0.9", linewidth=0, zorder=0)
        axes.axvline(0.0, color="0.5", linewidth=0.6, zorder=1)
        for row, at, text in zip(frame.to_dict("records"), places, numbers, strict=True):
            known = not (math.isnan(row["ci_low"]) or math.isnan(row["ci_high"]))
            if not math.isnan(row["estimate"]):
                style = LineLook(look(0).color, "o", "solid", filled=known and not row["ci_low"] <= 0 <= row["ci_high"])
                if known:
                    axes.hlines(at, row["ci_low"], row["ci_high"], color=style.color, linewidth=1.1, zorder=2)
                axes.plot(row["estimate"], at, zorder=3, **style.line())
            axes.annotate(
                text,
                (1.0, at),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                ha="left",
                fontsize=6.0,
                annotation_clip=False,
            )
        marks = sorted([*ticks, *zip(places, titles, strict=True)])
        axes.set_yticks([at for at, _ in marks], [text for _, text in marks])
        for tick, (at, text) in zip(axes.yaxis.get_majorticklabels(), marks, strict=True):
            tick.set_fontweight("bold" if (at, text) in ticks else "normal")
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(place - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
        # A frame without any estimate still says where 0 and the margin are.
        if np.isnan(frame["estimate"].to_numpy(dtype=np.float64)).all():
            axes.set_xlim(*((-1, 1) if margin is None else (-3 * margin, 3 * margin)))
        band = "" if margin is None else f"\nshaded: ±{margin:g}, too small to matter"
        axes.set_xlabel(label + band)
    return figure


def _numbers(row: Mapping[Hashable, Any], digits: int) -> str:
    estimate, low, high = (float(row[name]) for name in ("estimate", "ci_low", "ci_high"))
    if math.isnan(estimate):
        reason = row.get("reason")
        return "undefined" + (f"\n({wrap(reason, 0.9, 6.0)})" if isinstance(reason, str) and reason else "")
    text = format_interval(estimate, low, high, digits).replace("-", "−")
    for name, shown in (("p_adjusted", "adj. p"), ("p", "p")):
        value = row.get(name)
        if isinstance(value, float) and not math.isnan(value):
            return f"{text}\n{shown} {format_p(value, equals=True)}"
    return text
