"""Nearest-neighbour information inside parts of the rows, and its bias where the truth is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.samples import cluster_standard_error
from mi_attention.interface import IntArray

__all__ = ["neighbour_bias", "within_parts"]

Matrix = NDArray[np.float64]

# Added to each pair's information before it is shared out, so that a sample without linear dependence shares evenly.
EVEN_SHARE = 0.02


def within_parts(x: Matrix, y: Matrix, part: IntArray, groups: IntArray | None, k: int) -> Matrix:
    """``(n,)`` pointwise values of ``KSG(k)`` in nats, each from neighbours of its own part.

    Args:
        x: ``(n, d)`` coordinates.
        y: ``(n, dy)`` coordinates.
        part: ``(n,)`` part of each row, from 0; whole groups in one part.
        groups: ``(n,)`` or None; rows of one group are no neighbours of each other.
        k: Neighbours.
    """
    local = np.empty(len(x))
    for index in range(int(part.max()) + 1):
        rows = part == index
        local[rows] = KSG(k=k).estimate(x[rows], y[rows], None if groups is None else groups[rows]).local
    return local


def neighbour_bias(x: Matrix, y: Matrix, value: float, part: IntArray, k: int, seed: int) -> tuple[float, float]:
    """What must be added to ``value`` in nats, and its standard error, from a Gaussian sample of known information.

    The sample has the rows, parts and widths of x and y, canonical correlations in their proportion, and so much
    information that its own neighbour value is about ``value`` (two steps). The exact pointwise values of the same
    sample are compared, so that its sampling error cancels.
    """
    pairs = min(x.shape[1], y.shape[1])
    rho = np.array([np.corrcoef(x[:, i], y[:, i])[0, 1] for i in range(pairs)])
    share = EVEN_SHARE - 0.5 * np.log1p(-np.minimum(rho**2, 1 - 1e-9))
    share /= share.sum()
    bias, error = 0.0, 0.0
    for _ in range(2):
        rng = np.random.default_rng([seed, 4])
        information = max(value + bias, 0.0) * share
        rho = np.sqrt(-np.expm1(-2 * information))
        a, b = rng.standard_normal((len(x), x.shape[1])), rng.standard_normal((len(x), y.shape[1]))
        lead, rest = a[:, :pairs], np.exp(-2 * information)
        b[:, :pairs] = rho * lead + np.sqrt(rest) * b[:, :pairs]
        follow = b[:, :pairs]
        exact = information - (rho**2 * (lead**2 + follow**2) - 2 * rho * lead * follow) / (2 * rest)
        missing = exact.sum(axis=1) - within_parts(a, b, part, None, k)
        bias, error = float(missing.mean()), cluster_standard_error(missing, None)
    return bias, error
