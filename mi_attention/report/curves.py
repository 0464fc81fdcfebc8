"""Profiles over seeds: a mean, its error and what is undefined, position by position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from mi_attention.interface import FloatArray
from mi_attention.report.position_axis import relative_bins
from mi_attention.report.style import LineLook, look

__all__ = ["SERIES", "Curve", "curve", "draw_curve", "series_look", "series_of", "undefined_line"]

SERIES = {
    ("prediction", "hidden"): "prediction",
    ("label", "hidden"): "gold label",
    ("uniform prediction", "hidden"): "prediction under uniform attention",
    ("permuted attention", "hidden"): "mechanical baseline (attention permuted)",
    ("prediction", "embedding"): "prediction, input embeddings",
}
"""(output, state) → what the legend calls it, in drawing order."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a profile figure.

    Attributes:
        x: ``(U,)`` numbers of the units, increasing.
        mean: ``(U,)`` mean over seeds of the defined values; NaN where no seed has one.
        error: ``(U,)`` standard error: over seeds where there are several (or as asked of ``curve``), the
            estimate's own for one seed; NaN where unknown.
        undefined: Values left out of the means because they are undefined.
        total: All values.
        reasons: Why, in order of appearance.
        n_seeds: Seeds.
    """

    x: FloatArray
    mean: FloatArray
    error: FloatArray
    undefined: int
    total: int
    reasons: tuple[str, ...]
    n_seeds: int


def curve(rows: pd.DataFrame, value: str, error: str | None, *, over_seeds: bool = True) -> Curve:
    """Summarise the rows of one series of one cell.

    Args:
        rows: Columns ``unit_index``, ``value``, and where present ``unit``, ``seed``, ``reason``.
        value: Column to average, in nats or as a weight.
        error: Column with the standard error of one estimate, used where only one seed has a value.
        over_seeds: Where several seeds have a value, take the error of their mean from their spread. False takes
            the mean of the known standard errors of the estimates instead, for seeds that share their data.

    Returns:
        The curve.

    Raises:
        ValueError: if a seed has two rows for one unit, since averaging over them would mix two analyses.
    """
    keys = [key for key in ("seed", "unit_index") if key in rows.columns]
    repeated = rows[rows.duplicated(keys)]
    if not repeated.empty:
        where = ", ".join(f"{key} {repeated[key].iloc[0]}" for key in keys)
        raise ValueError(f"two rows for {where}; select the rows of one analysis (one signature) first")
    numbers = unit_numbers(rows)
    x = np.unique(numbers)
    values = rows[value].to_numpy(dtype=np.float64)
    errors = np.full(len(rows), np.nan) if error is None else rows[error].to_numpy(dtype=np.float64)
    mean, spread = np.full(x.size, np.nan), np.full(x.size, np.nan)
    for place, number in enumerate(x):
        here = (numbers == number) & ~np.isnan(values)
        if not here.any():
            continue
        mean[place] = values[here].mean()
        if over_seeds and here.sum() > 1:
            spread[place] = values[here].std(ddof=1) / np.sqrt(here.sum())
        elif not np.isnan(errors[here]).all():
            spread[place] = np.nanmean(errors[here])
    missing = np.isnan(values)
    reasons: tuple[str, ...] = ()
    if "reason" in rows.columns:
        reasons = tuple(dict.fromkeys(str(r) for r in rows["reason"][missing] if isinstance(r, str) and r))
    seeds = rows["seed"].nunique() if "seed" in rows.columns else 1
    return Curve(x, mean, spread, int(missing.sum()), len(rows), reasons, seeds)


def unit_numbers(rows: pd.DataFrame) -> FloatArray:
    """The number that ends every unit's name (``rank 3``), so that figures count as tables do; else ``unit_index``."""
    if "unit" in rows.columns and relative_bins(rows) is None:
        found = [re.search(r"(?<![\d.])(\d+)$", str(unit)) for unit in rows["unit"]]
        named = np.array([float(match[1]) if match else np.nan for match in found])
        pairs = set(zip(named, rows["unit_index"], strict=True))
        if not np.isnan(named).any() and len(pairs) == len({number for number, _ in pairs}):
            return named
    return rows["unit_index"].to_numpy(dtype=np.float64)


def series_of(rows: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """Rows by (output, state): the known controls first and in fixed order, then any others."""
    groups: dict[Any, pd.DataFrame] = dict(iter(rows.groupby(["output", "state"], sort=False)))
    order = [key for key in SERIES if key in groups] + [key for key in groups if key not in SERIES]
    return {key: groups[key] for key in order}


def series_look(key: tuple[str, str], keys: list[tuple[str, str]]) -> tuple[str, LineLook]:
    """Legend text and look of a series; a known control looks the same in every figure."""
    known = list(SERIES)
    if key in SERIES:
        return SERIES[key], look(known.index(key))
    others = [other for other in keys if other not in SERIES]
    name = key[0] if key[1] == "hidden" else f"{key[0]}, {key[1]}"
    return name, look(len(known) + others.index(key))


def draw_curve(axes: Axes, line: Curve, style: LineLook, label: str, *, order: int, count: int) -> None:
    """Draw mean and error band; of many series over many units each marks other units, so that marks stay apart."""
    every: Any = None
    if line.x.size > 12:
        step = max(count, line.x.size // 6)
        every = (order * step // max(count, 1), step)
    axes.plot(line.x, line.mean, label=label, markevery=every, zorder=3 + count - order, **style.line())
    known = ~np.isnan(line.mean) & ~np.isnan(line.error)
    low, high = (np.where(known, line.mean + sign * line.error, np.nan) for sign in (-1, 1))
    axes.fill_between(line.x, low, high, where=known.tolist(), color=style.color, alpha=0.18, linewidth=0, zorder=2)


def undefined_line(lines: list[Curve]) -> str:
    """``"3 of 40 undefined (reason)"`` over the curves of a panel, empty if none is."""
    undefined = sum(line.undefined for line in lines)
    if not undefined:
        return ""
    reasons = dict.fromkeys(reason for line in lines for reason in line.reasons)
    because = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{undefined} of {sum(line.total for line in lines)} undefined{because}"
