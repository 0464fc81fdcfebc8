"""Figure: agreement of attention with an order, cell by cell, with its controls in the same row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from mi_attention.report.panels import (
    CELL,
    CHARACTER,
    add_legend,
    cells_of,
    common_settings,
    panel_grid,
    plain_name,
    require_columns,
    require_rows,
    wrap,
)
from mi_attention.report.style import TWO_COLUMNS, LineLook, look, styled

__all__ = ["AGREEMENT_COLUMNS", "agreement_figure"]

AGREEMENT_COLUMNS = (*CELL, "estimand", "measure", "order", "output", "state", "estimate", "ci_low", "ci_high")

ESTIMANDS = {
    "position": "position level\n(mean attention)",
    "instance": "instance level\n(one MI order)",
    "pointwise": "pointwise\n(order of each instance)",
    "rank": "attention rank",
}
MEASURES = {
    "kendall_tau_b": "tau-b (−1 to 1)",
    "weighted_tau": "weighted tau (−1 to 1)",
    "somers_d": "Somers' d (−1 to 1)",
}
# Hollow marks of one shape look the same in grey, so every mark has a shape of its own before one returns.
SHAPES = ("o", "s", "D", "^", "v", "<", ">", "p", "*", "P", "X", "d", "h", "8")
REFERENCES: dict[str, tuple[Any, str]] = {
    "null_mean": ("|", "mean of the null"),
    "reliability": (((0.6, -1.0), (-0.1, -1.0), (-0.1, 1.0), (0.6, 1.0)), "split-half reliability"),
    "ceiling": (((-0.6, -1.0), (0.1, -1.0), (0.1, 1.0), (-0.6, 1.0)), "ceiling of tau"),
}
"""Column → mark and name of what a value is read against."""
REFERENCE_LOOK: dict[str, Any] = {
    "color": "0.4",
    "linestyle": "none",
    "markersize": 4.2,
    "markerfacecolor": "none",
    "markeredgewidth": 0.9,
}
LEADING = ("informativeness", "support", "mutual information")


def agreement_figure(
    frame: pd.DataFrame,
    *,
    measure: str = "kendall_tau_b",
    estimands: tuple[str, ...] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Dots and intervals: one row a cell, one panel an estimand, filled what is claimed and hollow the controls.

    Orders of information about the model's prediction from the attended states are filled; every other order
    (head evidence, position, random), output (gold label, uniform attention) and state (embeddings) is a
    hollow control mark at its own height in the row, so that marks never cover each other. Where the frame has them,
    what a mark must be read against stands at its height in grey: the mean of its null (``null_mean``) as an upright
    stroke, the split-half reliability of its order (``reliability``) as ``[``, and the tau of perfect attention at that
    reliability (``ceiling``) as ``]``.

    Args:
        frame: Tidy frame with ``AGREEMENT_COLUMNS``, one row a cell, estimand, measure, order, output and
            state, and optionally ``reason``, ``null_mean``, ``reliability`` and ``ceiling``.
        measure: Which measure.
        estimands: Which estimands, left to right; by default all in the frame.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns, the measure or an estimand is missing, or a cell has two rows for one mark.
    """
    require_columns(frame, AGREEMENT_COLUMNS, "agreement")
    rows = require_rows(frame, "measure", measure, "agreement")
    present = set(rows["estimand"])
    wanted = estimands or tuple(e for e in [*ESTIMANDS, *sorted(present - set(ESTIMANDS))] if e in present)
    for estimand in wanted:
        require_rows(rows, "estimand", estimand, "agreement")
    rows = rows[rows["estimand"].isin(wanted)]
    mark = ["estimand", "order", "output", "state"]
    if rows.duplicated([*CELL, *mark]).any():
        raise ValueError("a cell has two rows for one order, output and state; select one analysis first")
    cells = cells_of(rows)
    names = {key: _name(*key) for key in _marks(rows)}
    most = max(len(_marks(rows[rows["estimand"] == estimand])) for estimand in wanted)
    looks = _looks(list(names))
    label_width = min(
        0.34 * width, CHARACTER * 7 * max(len(line) for cell in cells for line in cell.title.split("\n")) + 0.05
    )
    titles = [wrap(cell.title, label_width) for cell in cells]
    blocks, n_columns = panel_grid(len(wanted), width - label_width, 1.25)
    row_height = max(0.3, 0.085 * most + 0.06, 0.12 * max(t.count("\n") + 1 for t in titles) + 0.06)
    with styled():
        height = 0.75 + blocks * (0.45 + row_height * len(cells)) + 0.12 * len(names) * (width < 4)
        figure = Figure(figsize=(width, height), layout="constrained")
        shared: Axes | None = None
        references: set[str] = set()
        for number, estimand in enumerate(wanted):
            axes = figure.add_subplot(blocks, n_columns, number + 1, sharex=shared)
            shared = shared or axes
            axes.axvline(0.0, color="0.6", linewidth=0.6, zorder=1)
            here = {key: looks[key] for key in names if key in set(_marks(rows[rows["estimand"] == estimand]))}
            for place, cell in enumerate(cells):
                if place:
                    axes.axhline(place - 0.5, color="0.88", linewidth=0.5, zorder=0)
                part = cell.rows[cell.rows["estimand"] == estimand]
                references |= _draw_row(axes, part, place, here)
            axes.set_ylim(len(cells) - 0.5, -0.5)
            axes.set_yticks(range(len(cells)), titles if number % n_columns == 0 else [""] * len(cells))
            axes.tick_params(axis="y", length=0)
            axes.set_title(ESTIMANDS.get(estimand, estimand.replace("_", " ")))
            axes.set_xlabel(MEASURES.get(measure, measure.replace("_", " ")))
            axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
        figure.suptitle(wrap(common_settings(rows), width, 7.5))
        handles: list[Artist] = [Line2D([], [], **(looks[key].line() | {"linestyle": "none"})) for key in names]
        labels = list(names.values())
        for column in (name for name in REFERENCES if name in references):
            handles.append(Line2D([], [], **REFERENCE_LOOK, marker=REFERENCES[column][0]))
            labels.append(REFERENCES[column][1])
        add_legend(figure, handles, labels, width)
    return figure


Mark = tuple[str, str, str]


def _is_claim(mark: Mark) -> bool:
    return mark[0] in LEADING and mark[1:] == ("prediction", "hidden")


def _marks(rows: pd.DataFrame) -> list[Mark]:
    """(order, output, state) of the frame: claims first, then controls, each in order of appearance."""
    seen = list(dict.fromkeys(zip(rows["order"], rows["output"], rows["state"], strict=True)))
    return sorted(seen, key=lambda mark: (not _is_claim(mark), LEADING.index(mark[0]) if _is_claim(mark) else 0))


def _name(order: str, output: str, state: str) -> str:
    name = plain_name(order)
    told = {"prediction": "", "label": "gold label", "uniform prediction": "uniform attention"}.get(output, output)
    parts = [part for part in (told, "embeddings" if state == "embedding" else "") if part]
    return name + (f" ({', '.join(parts)})" if parts else "")


def _looks(marks: list[Mark]) -> dict[Mark, LineLook]:
    """Claims are filled and controls hollow, whatever the palette says."""
    looks = {}
    for place, mark in enumerate(marks):
        base = look(place)
        looks[mark] = LineLook(base.color, SHAPES[place % len(SHAPES)], "solid", filled=_is_claim(mark))
    return looks


def _draw_row(axes: Axes, part: pd.DataFrame, place: int, looks: dict[Mark, LineLook]) -> set[str]:
    """Draw the marks of one cell; returns the columns of references it drew."""
    references: set[str] = set()
    marks = list(looks)
    offsets: Any = np.linspace(-0.36, 0.36, len(marks)) if len(marks) > 1 else np.zeros(1)
    drawn = False
    for row in part.to_dict("records"):
        mark = (row["order"], row["output"], row["state"])
        height = place + float(offsets[marks.index(mark)])
        if np.isnan(row["estimate"]):
            continue
        drawn = True
        style = looks[mark]
        for column, (sign, _) in REFERENCES.items():
            if not pd.isna(row.get(column, np.nan)):
                axes.plot(row[column], height, zorder=2, marker=sign, **REFERENCE_LOOK)
                references.add(column)
        if not (np.isnan(row["ci_low"]) or np.isnan(row["ci_high"])):
            line = 1.2 if style.filled else 0.7
            axes.hlines(height, row["ci_low"], row["ci_high"], color=style.color, linewidth=line, zorder=2)
        axes.plot(
            row["estimate"],
            height,
            zorder=3,
            markersize=3.6 if style.filled else 3.0,
            **style.line() | {"linestyle": "none"},
        )
    claims = part[[_is_claim(mark) for mark in zip(part["order"], part["output"], part["state"], strict=True)]]
    if drawn and not claims["estimate"].isna().any():
        return references
    if part.empty:
        text = "not computed"
    else:
        reasons = list(claims["reason"]) if "reason" in claims.columns else []
        because = "; ".join(dict.fromkeys(r for r in reasons if isinstance(r, str) and r))
        text = f"undefined ({because})" if because else "undefined"
    axes.text(
        0.5,
        place,
        wrap(text, 1.2, 6.0),
        transform=axes.get_yaxis_transform(),
        ha="center",
        va="center",
        style="italic",
        fontsize=6.0,
    )
    return references
