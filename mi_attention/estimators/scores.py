"""Continuous margins made standard normal by their ranks, which changes no mutual information."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from mi_attention.interface import FloatArray

__all__ = ["agreeing_ranks", "normal_scores", "rank_resolution", "untied", "varying_columns"]


def varying_columns(x: FloatArray) -> NDArray[np.float64]:
    """``(n, d')`` the columns that are not constant, centred and of unit standard deviation, in float64."""
    values = np.asarray(x, dtype=np.float64)
    values = values[:, values.min(axis=0) != values.max(axis=0)]
    # Of a column at the ends of the floating range sums and squares over- or underflow; a power of 2 costs no digit.
    values = np.ldexp(values, -np.frexp(np.abs(values).max(axis=0))[1])
    # An offset of 1e8 leaves no digits in a sum of squares: centre first.
    moved = values - values.mean(axis=0)
    return np.asarray(moved / moved.std(axis=0))


def normal_scores(x: FloatArray) -> NDArray[np.float64]:
    """``(n, d)`` normal scores Φ⁻¹((rank − ½) / n) of each column; equal values share their mean rank.

    Mutual information does not change under a strictly monotone map of a single column, so that heavy tails, bounded
    ranges and units are gone at no cost. The ranks come from all rows: a held-out row shifts another's score by 1/n
    of a quantile, which no held-out value here accounts for.
    """
    values = np.asarray(x, dtype=np.float64)
    return np.asarray(ndtri((rankdata(values, axis=0) - 0.5) / len(values)))


def untied(scores: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """``(n, d)`` normal scores of the same order with equal values in random order, the very ``scores`` without ties.

    The order drawn tells nothing of any other column, so that mutual information stays; and where tied scores sit on
    points and have no density, these have one.

    Args:
        scores: ``(n, d)`` normal scores whose ties share their mean rank.
        rng: Source of the order.
    """
    ordered = np.sort(scores, axis=0)
    if (ordered[1:] > ordered[:-1]).all():
        return scores
    order = np.lexsort((rng.random(scores.shape), scores), axis=0)
    ranks = np.argsort(order, axis=0)
    return np.asarray(ndtri((ranks + 0.5) / len(scores)))


def agreeing_ranks(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Largest share of rows, over the columns of x and of y, whose values have the same rank or mirrored ranks.

    About one half where the information of both columns is ``rank_resolution``.

    Args:
        x: ``(n, d)`` normal scores without ties.
        y: ``(n, dy)`` normal scores without ties.
    """
    ranks_x, ranks_y = rankdata(x, axis=0), rankdata(y, axis=0)
    shares = [
        (ranks_x == column[:, None]).mean(axis=0).max() for each in ranks_y.T for column in (each, len(x) + 1 - each)
    ]
    return float(max(shares))


def rank_resolution(independent: int) -> float:
    """Nats of one pair of directions beyond which the ranks of so many independent rows cannot tell dependence.

    Normal scores of neighbouring ranks are √(2π)/n apart in the middle. A conditional standard deviation below that
    leaves nearly all ranks of both equal, whatever it is; the information of the pair, −log of it, is then more than
    log(n/√(2π)).

    Args:
        independent: Number of rows, or of groups where rows share groups.
    """
    return float(np.log(independent) - 0.5 * np.log(2 * np.pi))
