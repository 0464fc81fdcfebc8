"""Equality up to rounding: values that only the order of summation tells apart are one value.

Differences of two cells that differ by a constant come out as that constant ± 1e-17. Taken at their word they have a
spread, an interval of no width, ranks, and an effect size of 10¹⁵.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray

__all__ = ["has_spread", "merge_rounding", "paired_differences"]

# Of the largest value: ten thousand roundings of float64, and far below what any measured quantity resolves.
_SHARE = 1e-12


def has_spread(values: FloatArray) -> bool:
    """Whether values differ by more than rounding.

    Args:
        values: Any shape, finite, at least one.
    """
    return bool(np.ptp(values) > _SHARE * np.abs(values).max())


def merge_rounding(values: ArrayLike, *, scale: float) -> FloatArray:
    """Values with those that rounding alone tells apart made equal, and those it tells from 0 made 0.

    Args:
        values: Any shape; NaN stays NaN.
        scale: The largest size of what they were computed from: they are as exact as 1e-12 of it.

    Returns:
        A copy; chains of values, each within rounding of the next, take the value of their smallest.
    """
    table: FloatArray = np.array(values, dtype=np.float64)
    flat = table.reshape(-1)
    known = np.flatnonzero(~np.isnan(flat))
    # 0 stands among them, so that what differs from it by rounding alone joins it.
    sorted_values, places = np.unique(np.append(flat[known], 0.0), return_inverse=True)
    chain = np.concatenate([[0], np.cumsum(np.diff(sorted_values) > _SHARE * scale)]).astype(np.int64)
    heads = sorted_values[np.searchsorted(chain, np.arange(chain[-1] + 1))]
    heads[chain[np.searchsorted(sorted_values, 0.0)]] = 0.0
    flat[known] = heads[chain[places[:-1]]]
    return table


def paired_differences(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """First − second, equal up to rounding being equal.

    Args:
        first: Any shape, NaN where undefined.
        second: The same shape.

    Returns:
        The differences.
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    differences = left - right
    known = ~np.isnan(differences)
    sizes = np.abs(np.concatenate([left[known], right[known]]))
    return merge_rounding(differences, scale=float(sizes.max()) if sizes.size else 0.0)
