"""The horizontal axis of figures by position: positions as numbers, or bins of relative position as such."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from mi_attention.interface import FloatArray
from mi_attention.report.numbers import format_setting
from mi_attention.report.panels import integer_ticks, wrap

__all__ = ["position_axis", "relative_bins"]

# Names of bins as the alignment by position gives them, such as "0.1 to 0.2".
BIN = re.compile(r"([\d.]+(?:e-?\d+)?) to ([\d.]+(?:e-?\d+)?)")


def relative_bins(rows: pd.DataFrame) -> int | None:
    """Number of bins of relative position if the units of ``rows`` are such bins, None if they are positions.

    Bins are told by their names, ``"0.1 to 0.2"``. The count is the largest ``unit_index`` plus 1, so that a bin
    without a row is still a bin.
    """
    if "unit" not in rows.columns or rows.empty:
        return None
    if not all(BIN.fullmatch(str(unit)) for unit in rows["unit"].unique()):
        return None
    return int(rows["unit_index"].max()) + 1


def position_axis(axes: Axes, numbers: FloatArray, bins: int | None, inches: float, note: str = "") -> None:
    """Limits, ticks and label of an axis of positions, or of ``bins`` of relative position.

    Bin ``b`` stands at ``b`` and reaches from ``b - 1/2`` to ``b + 1/2``, so that the ticks 0 to 1 are edges of bins.

    Args:
        axes: Axes whose x values are the numbers of the units.
        numbers: The numbers drawn.
        bins: Number of bins, None for positions.
        inches: Width of the panel, for the line breaks.
        note: Further words below the label.
    """
    if bins is None:
        label = "position"
        integer_ticks(axes, numbers)
    else:
        # Below the axes there is also room below the tick labels beside them, and the count is never broken up.
        label = wrap(f"relative position in the text ({bins}\u00a0bins)", inches + 0.25).replace("\u00a0", " ")
        places = np.linspace(0.0, 1.0, 5 if inches > 1.2 else 3)
        axes.set_xlim(-0.5, bins - 0.5)
        axes.xaxis.set_major_locator(FixedLocator((bins * places - 0.5).tolist()))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_setting((value + 0.5) / bins)))
    axes.set_xlabel(label + (f"\n{wrap(note, inches, 6.5)}" if note else ""))
