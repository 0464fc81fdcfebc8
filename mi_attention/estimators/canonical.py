"""Canonical correlations, cross-fitted: the pairs of directions of x and y that are most correlated.

Every row gets its coordinates from a fit that saw neither it nor its group, so that in many dimensions chance
correlations do not read as dependence.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import IntArray

__all__ = [
    "RIDGES",
    "CanonicalCoordinates",
    "best_ridge",
    "canonical_maps",
    "cross_fit_canonical",
    "held_out_log_ratio",
]

Matrix = NDArray[np.float64]

# Added to the eigenvalues of each block's covariance, as shares of their mean.
RIDGES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Correlations are kept this far from 1: the log ratio of a held-out row must stay finite.
CORRELATION_LIMIT = 1 - 1e-9
# A squared correlation of n rows is believed as far as n ρ² exceeds what chance gives: 1 for a single pair, more for
# the largest of several, up to two standard errors.
CHANCE = (1.0, 4.0)
# Of unit scale; fits of a few rows that agree must stay finite.
SMALLEST_VARIANCE = 1e-12


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
        whiten_x = x_vectors / np.sqrt(np.maximum(x_values, 0) + ridge * max(x_values.mean(), SMALLEST_VARIANCE))
        whiten_y = y_vectors / np.sqrt(np.maximum(y_values, 0) + ridge * max(y_values.mean(), SMALLEST_VARIANCE))
        left, _, right = np.linalg.svd(whiten_x.T @ xy @ whiten_y, full_matrices=False)
        found.append((whiten_x @ left[:, :pairs], whiten_y @ right.T[:, :pairs]))
    return found


def cross_fit_canonical(
    x: Matrix, y: Matrix, fold: IntArray, ridges: tuple[float, ...] = RIDGES, pairs: int | None = None
) -> CanonicalCoordinates:
    """Coordinates of each row from directions fitted on the other folds.

    Pair i of a fold is the i-th strongest of its own fit; nothing of a fold is matched to fits that saw its rows. The
    sign of a pair is arbitrary and may change from fold to fold, but its two directions share it: the correlation of a
    pair means the same in every fold, where that of two pairs, and the mean of a coordinate, do not.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        fold: ``(n,)`` which fold holds a row out; by group where rows share groups.
        ridges: Degrees of shrinkage, L of them.
        pairs: r, at most min(d, dy); None for all.
    """
    sums = _Sums(x, y, fold)
    pairs = min(x.shape[1], y.shape[1], pairs or x.shape[1])
    found_x, found_y = np.empty((2, len(ridges), len(x), pairs))
    for index in range(sums.parts):
        held = fold == index
        mean_x, mean_y, maps = sums.fit_without((index,), ridges, pairs)
        for level, (map_x, map_y) in enumerate(maps):
            found_x[level, held] = (x[held] - mean_x) @ map_x
            found_y[level, held] = (y[held] - mean_y) @ map_y
    return CanonicalCoordinates(x=found_x, y=found_y)


def best_ridge(coordinates: CanonicalCoordinates) -> int:
    """Index of the ridge whose out-of-fold pairs hold most Gaussian information."""
    moments = [_moments(x, y) for x, y in zip(coordinates.x, coordinates.y, strict=True)]
    return int(np.argmax([_PairGaussian(each, coordinates.x.shape[1]).score for each in moments]))


def held_out_log_ratio(
    x: Matrix, y: Matrix, fold: IntArray, nest: IntArray, independent: int, most: float = np.inf
) -> Matrix:
    """``(n, r)`` Gaussian log density ratio log q(x_i, y_i) − log q(x_i) − log q(y_i) of each pair, in nats.

    Nothing in q has seen the row. Its directions come from the other folds; ridge, scales and correlations from the
    rows of other nests, with coordinates of maps fitted without either nest. Were those coordinates of maps that
    saw the held row, chance would make them anti-correlated with it, and that would read as information. Squared
    correlations are shrunk by what chance gives, ρ² ← max(0, (n ρ² − c)/(n − c)) with c = min(4, 1 + 2 log r), and
    negative correlations are 0, so that pairs without dependence add about nothing.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        fold: ``(n,)`` which fold holds a row out; by group where rows share groups.
        nest: ``(n,)`` at least three nests, each of whole folds.
        independent: Number of groups, or of rows without groups.
        most: Nats of a pair that its correlation is held to, where x and y are ranks that cannot show more.
    """
    limit = min(CORRELATION_LIMIT, float(np.sqrt(-np.expm1(-2 * max(most, 0.0)))))
    pairs = min(x.shape[1], y.shape[1])
    by_fold, by_nest = _Sums(x, y, fold), _Sums(x, y, nest)
    # Per held nest and ridge: sums over the rows of the other nests.
    moments = np.zeros((by_nest.parts, len(RIDGES), 4, pairs))
    for first, second in combinations(range(by_nest.parts), 2):
        mean_x, mean_y, maps = by_nest.fit_without((first, second), RIDGES, pairs)
        for held, other in ((first, second), (second, first)):
            a, b = x[nest == other] - mean_x, y[nest == other] - mean_y
            for level, (map_x, map_y) in enumerate(maps):
                moments[held, level] += _moments(a @ map_x, b @ map_y)
    ratio = np.empty((len(x), pairs))
    for index in range(by_nest.parts):
        count = independent * float(moments[index, 0, 0, 0]) / len(x)
        gaussians = [_PairGaussian(each, count, limit) for each in moments[index]]
        best = int(np.argmax([gaussian.score for gaussian in gaussians]))
        for inner in np.unique(fold[nest == index]):
            held = fold == inner
            mean_x, mean_y, [(map_x, map_y)] = by_fold.fit_without((int(inner),), (RIDGES[best],), pairs)
            ratio[held] = gaussians[best].log_ratio((x[held] - mean_x) @ map_x, (y[held] - mean_y) @ map_y)
    return ratio


class _Sums:
    """Moments of every part of the rows, so that fits without some parts need no pass over the rest."""

    def __init__(self, x: Matrix, y: Matrix, part: IntArray) -> None:
        self.parts = int(part.max()) + 1
        self._of_part = []
        for index in range(self.parts):
            a, b = x[part == index], y[part == index]
            self._of_part.append((len(a), a.sum(axis=0), b.sum(axis=0), a.T @ a, b.T @ b, a.T @ b))
        self._all = [sum(each) for each in zip(*self._of_part, strict=True)]

    def fit_without(
        self, out: tuple[int, ...], ridges: tuple[float, ...], pairs: int
    ) -> tuple[Matrix, Matrix, list[tuple[Matrix, Matrix]]]:
        """Means of x and y and the maps of each ridge, from the rows of the other parts."""
        left = list(self._all)
        for index in out:
            left = [total - part for total, part in zip(left, self._of_part[index], strict=True)]
        count, sums_x, sums_y, xx, yy, xy = left
        covariances = _covariances(count, sums_x, sums_y, xx, yy, xy)
        return sums_x / count, sums_y / count, canonical_maps(*covariances, ridges, pairs)


class _PairGaussian:
    """Bivariate Gaussians of the pairs about 0, where their fits put the means, from sums over rows."""

    def __init__(self, moments: Matrix, count: float, limit: float = CORRELATION_LIMIT) -> None:
        rows, xx, yy, xy = moments
        self._scale_x = np.sqrt(np.maximum(xx / rows, SMALLEST_VARIANCE))
        self._scale_y = np.sqrt(np.maximum(yy / rows, SMALLEST_VARIANCE))
        plain = np.maximum(0.0, xy / rows / (self._scale_x * self._scale_y))
        chance = min(CHANCE[1], CHANCE[0] + 2 * np.log(len(plain)))
        squared = np.maximum(0.0, count * plain**2 - chance) / max(count - chance, 1.0)
        self._rho = np.minimum(np.sqrt(squared), limit)
        self._rest = 1 - self._rho**2
        #: Mean log ratio over the rows of the sums, summed over pairs.
        self.score = float((-0.5 * np.log(self._rest) - self._rho * (self._rho - plain) / self._rest).sum())

    def log_ratio(self, x: Matrix, y: Matrix) -> Matrix:
        """``(m, r)`` of coordinates ``(m, r)``."""
        a, b = x / self._scale_x, y / self._scale_y
        cost = self._rho**2 * (a**2 + b**2) - 2 * self._rho * a * b
        return np.asarray(-0.5 * np.log(self._rest) - cost / (2 * self._rest))


def _moments(x: Matrix, y: Matrix) -> Matrix:
    """``(4, r)`` number of rows and sums of x², y² and xy of each pair."""
    rows = np.full(x.shape[1], float(len(x)))
    return np.stack([rows, (x**2).sum(axis=0), (y**2).sum(axis=0), (x * y).sum(axis=0)])


def _covariances(
    count: int, sums_x: Matrix, sums_y: Matrix, xx: Matrix, yy: Matrix, xy: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    mean_x, mean_y = sums_x / count, sums_y / count
    return (
        xx / count - np.outer(mean_x, mean_x),
        yy / count - np.outer(mean_y, mean_y),
        xy / count - np.outer(mean_x, mean_y),
    )
