"""Continuous margins made standard normal by their ranks, which changes no mutual information."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from mi_attention.interface import FloatArray

__all__ = ["normal_scores", "varying_columns"]


def varying_columns(x: FloatArray) -> NDArray[np.float64]:
    """``(n, d')`` the columns that are not constant, centred and of unit standard deviation, in float64."""
    values = np.asarray(x, dtype=np.float64)
    values = values[:, values.min(axis=0) != values.max(axis=0)]
    # An offset of 1e8 leaves no digits in a sum of squares: centre first.
    moved = values - values.mean(axis=0)
    spread = moved.std(axis=0)
    return np.asarray(moved[:, spread > 0] / spread[spread > 0])


def normal_scores(x: FloatArray) -> NDArray[np.float64]:
    """``(n, d)`` normal scores Φ⁻¹((rank − ½) / n) of each column; equal values share their mean rank.

    Mutual information does not change under a strictly monotone map of a single column, so that heavy tails, bounded
    ranges and units are gone at no cost. The ranks come from all rows: a held-out row shifts another's score by 1/n
    of a quantile, which no held-out value here accounts for.
    """
    values = np.asarray(x, dtype=np.float64)
    return np.asarray(ndtri((rankdata(values, axis=0) - 0.5) / len(values)))
