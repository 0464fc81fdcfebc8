"""Canonical correlations, cross-fitted: the pairs of directions of x and y that are most correlated.

Every row gets its coordinates from a fit that saw neither it nor its group, so that in many dimensions chance
correlations do not read as dependence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import IntArray

__all__ = ["RIDGES", "CanonicalCoordinates", "best_ridge", "canonical_maps", "cross_fit_canonical", "pair_log_ratio"]

Matrix = NDArray[np.float64]

# Added to the eigenvalues of each block's covariance, as shares of their mean.
RIDGES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Correlations are kept this far from 1: the log ratio of a held-out row must stay finite.
CORRELATION_LIMIT = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class CanonicalCoordinates:
    """Out-of-fold canonical coordinates for every degree of shrinkage.

    Attributes:
        x: ``(L, n, r)`` coordinates of the states, of about unit variance.
        y: ``(L, n, r)`` coordinates of the output; pair i belongs to pair i of ``x``.
    """

    x: Matrix
    y: Matrix


def canonical_maps(
    xx: Matrix, yy: Matrix, xy: Matrix, ridges: tuple[float, ...], pairs: int
) -> list[tuple[Matrix, Matrix]]:
    """``(d, r)`` and ``(dy, r)`` directions of each ridge from covariances; strongest pair first."""
    (x_values, x_vectors), (y_values, y_vectors) = np.linalg.eigh(xx), np.linalg.eigh(yy)
    found = []
    for ridge in ridges:
        whiten_x = x_vectors / np.sqrt(np.maximum(x_values, 0) + ridge * x_values.mean())
        whiten_y = y_vectors / np.sqrt(np.maximum(y_values, 0) + ridge * y_values.mean())
        left, _, right = np.linalg.svd(whiten_x.T @ xy @ whiten_y, full_matrices=False)
        found.append((whiten_x @ left[:, :pairs], whiten_y @ right.T[:, :pairs]))
    return found


def cross_fit_canonical(
    x: Matrix, y: Matrix, fold: IntArray, ridges: tuple[float, ...] = RIDGES, pairs: int | None = None
) -> CanonicalCoordinates:
    """Coordinates of each row from directions fitted on the other folds.

    Directions of different fits are turned onto those of all rows by one rotation of x and y together, fitted on
    the training rows: pairs of similar strength swap order and sign from fit to fit.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        fold: ``(n,)`` which fold holds a row out; by group where rows share groups.
        ridges: Degrees of shrinkage, L of them.
        pairs: r, at most min(d, dy); None for all.
    """
    pairs = min(x.shape[1], y.shape[1], pairs or x.shape[1])
    n = len(x)
    sums_x, sums_y = x.sum(axis=0), y.sum(axis=0)
    total_xx, total_yy, total_xy = x.T @ x, y.T @ y, x.T @ y
    whole = canonical_maps(*_covariances(n, sums_x, sums_y, total_xx, total_yy, total_xy), ridges, pairs)
    found_x, found_y = np.empty((2, len(ridges), n, pairs))
    for index in range(int(fold.max()) + 1):
        held = fold == index
        a, b = x[held], y[held]
        count = n - len(a)
        mean_x, mean_y = (sums_x - a.sum(axis=0)) / count, (sums_y - b.sum(axis=0)) / count
        covariances = _covariances(
            count, count * mean_x, count * mean_y, total_xx - a.T @ a, total_yy - b.T @ b, total_xy - a.T @ b
        )
        xx, yy, _ = covariances
        for level, (map_x, map_y) in enumerate(canonical_maps(*covariances, ridges, pairs)):
            likeness = map_x.T @ xx @ whole[level][0] + map_y.T @ yy @ whole[level][1]
            left, _, right = np.linalg.svd(likeness)
            turn = left @ right
            found_x[level, held] = (a - mean_x) @ map_x @ turn
            found_y[level, held] = (b - mean_y) @ map_y @ turn
    return CanonicalCoordinates(x=found_x, y=found_y)


def pair_log_ratio(x: Matrix, y: Matrix, owner: IntArray) -> Matrix:
    """``(n, r)`` Gaussian log density ratio log q(x_i, y_i) − log q(x_i) − log q(y_i) of each pair, in nats.

    Means, scales and correlations come from the rows with another owner. Squared correlations are shrunk by what
    chance alone gives, ρ² ← max(0, (n ρ² − 1)/(n − 1)), so that a pair without dependence adds nothing.

    Args:
        x: ``(n, r)`` coordinates.
        y: ``(n, r)`` coordinates.
        owner: ``(n,)`` nested fold of each row.
    """
    ratio = np.empty_like(x)
    for index in range(int(owner.max()) + 1):
        held = owner == index
        train_x, train_y = x[~held], y[~held]
        centre_x, centre_y = train_x.mean(axis=0), train_y.mean(axis=0)
        scale_x, scale_y = np.maximum(train_x.std(axis=0), 1e-12), np.maximum(train_y.std(axis=0), 1e-12)
        rho = ((train_x - centre_x) * (train_y - centre_y)).mean(axis=0) / (scale_x * scale_y)
        count = len(train_x)
        size = np.sqrt(np.maximum(0.0, (count * rho**2 - 1) / (count - 1)))
        rho = np.sign(rho) * np.minimum(size, CORRELATION_LIMIT)
        a, b = (x[held] - centre_x) / scale_x, (y[held] - centre_y) / scale_y
        rest = 1 - rho**2
        ratio[held] = -0.5 * np.log(rest) - (rho**2 * (a**2 + b**2) - 2 * rho * a * b) / (2 * rest)
    return ratio


def best_ridge(coordinates: CanonicalCoordinates, owner: IntArray) -> tuple[IntArray, Matrix]:
    """``(n,)`` the ridge for each row, and the ``(L, n, r)`` log ratios it was chosen by.

    Rows of one owner use the ridge whose log ratio is best on the rows of the other owners.
    """
    ratios = np.stack([pair_log_ratio(x, y, owner) for x, y in zip(coordinates.x, coordinates.y, strict=True)])
    totals = ratios.sum(axis=2)
    chosen = np.empty(len(owner), dtype=np.int64)
    for index in range(int(owner.max()) + 1):
        chosen[owner == index] = int(totals[:, owner != index].mean(axis=1).argmax())
    return chosen, ratios


def _covariances(
    count: int, sums_x: Matrix, sums_y: Matrix, xx: Matrix, yy: Matrix, xy: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    mean_x, mean_y = sums_x / count, sums_y / count
    return (
        xx / count - np.outer(mean_x, mean_x),
        yy / count - np.outer(mean_y, mean_y),
        xy / count - np.outer(mean_x, mean_y),
    )
