"""Figure: a quantity against temperature, one line an attention, the claim of a temperature sweep."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mi_attention.report.panels import (
    add_legend,
    name_setting,
    panel_grid,
    plain_name,
    require_columns,
    say_undefined,
    temperature_axis,
    undefined_reasons,
    wrap,
)
from mi_attention.report.style import ONE_COLUMN, LineLook, look, styled

__all__ = ["TEMPERATURE_COLUMNS", "temperature_figure"]

TEMPERATURE_COLUMNS = ("temperature", "estimate", "ci_low", "ci_high")
LINE = ("score", "normalizer")


def temperature_figure(
    frame: pd.DataFrame,
    *,
    panels: tuple[str, ...] = ("data", "encoder"),
    label: str = "tau-b (−1 to 1)",
    width: float = ONE_COLUMN,
) -> Figure:
    """Estimate against temperature on a logarithmic axis, with the band of its interval.

    A line is a score and normaliser (``score`` and ``normalizer``, as far as the frame has them). A row without
    temperature (NaN) is a level line across its panel. A band is drawn where the frame has both bounds.

    Args:
        frame: Tidy frame with ``TEMPERATURE_COLUMNS``, one row a panel, line and temperature, and optionally
            ``reason``.
        panels: Columns whose combinations are panels; those absent from the frame are left out.
        label: Name and range of the quantity, on the vertical axis.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns or rows are missing, a temperature is not positive, no line has two of them, or a
            line has two rows for one temperature.
    """
    require_columns(frame, TEMPERATURE_COLUMNS, "temperature")
    lines = [name for name in LINE if name in frame.columns]
    keys = [name for name in panels if name in frame.columns]
    temperatures = sorted(float(value) for value in frame["temperature"].dropna().unique())
    if len(temperatures) < 2:
        raise ValueError(f"the temperature figure needs at least two temperatures, got {temperatures}")
    if temperatures[0] <= 0:
        raise ValueError(f"temperature must be positive, got {temperatures[0]}")
    if frame.duplicated([*keys, *lines, "temperature"]).any():
        raise ValueError("a line has two rows for one temperature; select one quantity first")
    varying = [name for name in lines if frame[name].nunique() > 1]
    names = {
        key: " · ".join(plain_name(v) for name, v in zip(lines, key, strict=True) if name in varying or not varying)
        for key in dict.fromkeys(frame[lines].itertuples(index=False, name=None))
    }
    groups = list(frame.groupby(keys, sort=False, dropna=False)) if keys else [((), frame)]
    n_rows, n_columns = panel_grid(len(groups), width, 1.5)
    panel_width = width / n_columns - 0.35
    with styled():
        figure = Figure(
            figsize=(width, 0.55 + 1.6 * n_rows + 0.11 * (width < 4) * len(names) / 2), layout="constrained"
        )
        shared: Axes | None = None
        handles: dict[str, Artist] = {}
        for number, (values, rows) in enumerate(groups):
            axes = figure.add_subplot(n_rows, n_columns, number + 1, sharey=shared)
            shared = shared or axes
            for place, (key, name) in enumerate(names.items()):
                same = np.all([rows[c] == v for c, v in zip(lines, key, strict=True)], axis=0) if lines else slice(None)
                part = rows.loc[same].sort_values("temperature")
                if part.empty:
                    continue
                _draw(axes, part, look(place), order=len(names) - place)
                shown = look(place).line()
                if part["temperature"].isna().all():
                    shown["marker"] = ""
                handles.setdefault(name, Line2D([], [], **shown))
            if rows["estimate"].isna().all():
                say_undefined(axes, undefined_reasons(rows), panel_width)
            title = ", ".join(name_setting(k, v) for k, v in zip(keys, values, strict=True))
            axes.set_title(wrap(title, panel_width))
            temperature_axis(axes, temperatures)
            axes.set_xlabel("temperature (log scale)")
            if number % n_columns == 0:
                axes.set_ylabel(label)
        if len(names) > 1 or any(names.values()):
            add_legend(figure, list(handles.values()), list(handles), width)
    return figure


def _draw(axes: Axes, part: pd.DataFrame, style: LineLook, *, order: int) -> None:
    level = part[part["temperature"].isna()]
    for value in level["estimate"].dropna():
        axes.axhline(float(value), color=style.color, linestyle=style.linestyle, linewidth=0.9, zorder=2)
    curve = part[part["temperature"].notna()]
    x, y, low, high = (
        curve[name].to_numpy(dtype=np.float64) for name in ("temperature", "estimate", "ci_low", "ci_high")
    )
    axes.plot(x, y, zorder=3 + order, **style.line())
    known = ~(np.isnan(y) | np.isnan(low) | np.isnan(high))
    axes.fill_between(x, low, high, where=known.tolist(), color=style.color, alpha=0.16, linewidth=0, zorder=2)
    # In grey, and where bands lie over each other, their edges still tell whose they are.
    for bound in (low, high):
        axes.plot(
            x, np.where(known, bound, np.nan), color=style.color, linestyle=style.linestyle, linewidth=0.4, zorder=2
        )
