"""Ridge-regularised logistic regression on every training part of a unit at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from mi_attention.estimators.axes import PrincipalRows
from mi_attention.estimators.moments import ClassMoments, Parts
from mi_attention.estimators.rows import StandardisedRows
from mi_attention.interface import IntArray

__all__ = ["ridge_logistic"]

Matrix = NDArray[np.float64]

# A search ends where a step promises to gain less than this many nats a row; the one that all parts start from earlier.
WORTHLESS = 1e-7
ROUGH = 1e-4
MAX_STEPS = 200
# Steps and gradients remembered.
MEMORY = 8
SHORTEST = 1e-6


def ridge_logistic(
    rows: StandardisedRows | PrincipalRows,
    codes: IntArray,
    moments: ClassMoments,
    parts: Parts | None,
    penalty: float,
) -> tuple[Matrix, Matrix]:
    """Weights ``(P, C, d)`` and intercepts ``(P, C)`` of the log odds, the class shares included.

    Each part minimises Σ −log q(y|x) + penalty/2 · |W|² over its rows: with two classes |W|² is that of the difference
    of their weights, with more that of the weights of all classes, as in scikit-learn with C = 1/penalty; intercepts
    are free. One search serves all rows; the parts go on from there together, all their log odds in one matrix product
    a step, by limited-memory BFGS on the curvature of a linear model, which is additive.

    Args:
        rows: Standardised states.
        codes: ``(n,)`` classes.
        moments: Of every part.
        parts: The training parts, or None for one part that holds all rows.
        penalty: Above 0.

    References:
        Liu, Nocedal (1989), On the limited memory BFGS method for large scale optimization.
    """
    classes = moments.counts.shape[1]
    outputs = 1 if classes == 2 else classes
    grams = _augmented(moments)
    whole = _Problem(rows, codes, outputs, np.ones((1, rows.n)), penalty)
    shares = np.bincount(codes, minlength=classes) / len(codes)
    start = np.zeros((1, outputs, rows.width + 1))
    logs = np.log(shares)
    start[0, :, -1] = logs[1] - logs[0] if classes == 2 else logs
    if parts is None:
        found = _minimise(whole, start, grams, _variance(shares), WORTHLESS)
    else:
        # Every row is in all of the parts of the folds but one.
        total = grams[: parts.folds].sum(axis=0, keepdims=True) / (parts.folds - 1)
        common = _minimise(whole, start, total, _variance(shares), ROUGH)
        each = _Problem(rows, codes, outputs, parts.training(0, rows.n).astype(np.float64), penalty)
        found = _minimise(each, np.repeat(common, parts.count, axis=0), grams, whole.variance(common), WORTHLESS)
    if classes == 2:
        found = np.concatenate([np.zeros_like(found), found], axis=1)
    return found[..., :-1], found[..., -1]


def _variance(shares: Matrix) -> float:
    """Mean variance of the indicators of the classes; of two the one that both have."""
    return float((shares * (1 - shares)).mean())


def _augmented(moments: ClassMoments) -> Matrix:
    """``(P, d + 1, d + 1)`` sums of outer products of the rows with a 1 at their end."""
    count, width = len(moments.members), moments.cells.shape[1]
    grams = np.empty((count, width + 1, width + 1))
    grams[:, :-1, :-1] = moments.scatter
    grams[:, -1, :-1] = grams[:, :-1, -1] = moments.sums.sum(axis=1)
    grams[:, -1, -1] = moments.counts.sum(axis=1)
    return grams


@dataclass(frozen=True, eq=False)
class _Problem:
    """Mean loss of a row for every part.

    Attributes:
        rows: Standardised states.
        codes: ``(n,)`` classes.
        outputs: K, 1 for two classes (the log odds of the second) and C else.
        trained: ``(P, n)`` 1 where a part trains on a row, else 0.
        penalty: Of a sum over rows.
    """

    rows: StandardisedRows | PrincipalRows
    codes: IntArray
    outputs: int
    trained: Matrix
    penalty: float

    def loss(self, weight: Matrix, chosen: IntArray) -> tuple[Matrix, Matrix]:
        """Values ``(P,)`` and gradients ``(P, K, d + 1)`` of the chosen parts at ``(P, K, d + 1)``."""
        value, gradient = np.zeros(len(chosen)), np.zeros_like(weight)
        for start, stop, block in self.rows.blocks(4 * len(chosen) * self.outputs):
            label = self.codes[start:stop]
            trained = self.trained[chosen, start:stop]
            share, log_total, own = self._shares(weight, block, label)
            value += np.einsum("pn,pn->p", log_total - own, trained)
            share -= label if self.outputs == 1 else (label == np.arange(self.outputs)[:, None])
            share *= trained[:, None]
            flat = share.reshape(-1, stop - start) @ block
            gradient[..., :-1] += flat.reshape(*share.shape[:2], -1)
            gradient[..., -1] += share.sum(axis=2)
        slopes = weight[..., :-1]
        value += 0.5 * self.penalty * np.square(slopes).sum(axis=(1, 2))
        gradient[..., :-1] += self.penalty * slopes
        count = self.trained.sum(axis=1)[chosen]
        return value / count, gradient / count[:, None, None]

    def variance(self, weight: Matrix) -> float:
        """Mean variance of the predicted indicators at ``(1, K, d + 1)``."""
        total = 0.0
        for start, stop, block in self.rows.blocks(4 * self.outputs):
            share = self._shares(weight, block, self.codes[start:stop])[0]
            total += float((share * (1 - share)).mean(axis=1).sum())
        return total / len(self.codes)

    def _shares(self, weight: Matrix, block: Matrix, label: IntArray) -> tuple[Matrix, Matrix, Matrix]:
        """Probabilities ``(P, K, b)``, log of what was normalised and log odds of the rows' classes ``(P, b)``."""
        count, outputs, size = weight.shape
        odds = (weight[..., :-1].reshape(-1, size - 1) @ block.T).reshape(count, outputs, -1)
        odds += weight[..., -1:]
        if outputs == 1:
            own = odds[:, 0] * label
            top = np.maximum(odds[:, 0], 0.0)
        else:
            own = odds[:, label, np.arange(len(label))]
            top = odds.max(axis=1)
        odds -= top[:, None]
        np.exp(odds, out=odds)
        total = odds[:, 0] + np.exp(-top) if outputs == 1 else odds.sum(axis=1)
        odds /= total[:, None]
        np.log(total, out=total)
        total += top
        return odds, total, own


def _minimise(problem: _Problem, start: Matrix, grams: Matrix, variance: float, worthless: float) -> Matrix:
    """Optimum ``(P, K, d + 1)`` of every part; a part that has arrived is left alone."""
    here = start.copy()
    rows = grams[:, -1, -1]
    ridge = problem.penalty * np.append(np.ones(grams.shape[1] - 1), 0.0)
    # A touch for constant columns of parts, which no row tells from the intercept.
    factors = [
        dpotrf(max(variance, 1e-3) * gram + np.diag(ridge + 1e-9 * count), lower=1)[0]
        for gram, count in zip(grams, rows, strict=True)
    ]
    active = np.arange(len(here))
    value, gradient = problem.loss(here, active)
    past: list[tuple[Matrix, Matrix]] = []
    for _ in range(MAX_STEPS):

        def solve(vector: Matrix, chosen: IntArray = active) -> Matrix:
            solved = [dpotrs(factors[p], v.T, lower=1)[0].T for p, v in zip(chosen, vector, strict=True)]
            return np.stack(solved) * rows[chosen, None, None]

        step = -_direction(gradient, past, solve)
        slope = np.einsum("pkd,pkd->p", gradient, step)
        going = -0.5 * slope > worthless
        if not going.any():
            break
        active, step, slope = active[going], step[going], slope[going]
        past = [(moved[going], turned[going]) for moved, turned in past]
        moved, reached, there = _search(problem, here, active, step, slope, value[going])
        here[active] += moved
        past = [*past[1 - MEMORY :], (moved, there - gradient[going])]
        value, gradient = reached, there
    return here


def _direction(gradient: Matrix, past: list[tuple[Matrix, Matrix]], solve: Callable[[Matrix], Matrix]) -> Matrix:
    """Inverse curvature times gradient, by the two loops over the past."""
    vector = gradient.copy()
    weights = []
    for moved, turned in reversed(past):
        bend = np.einsum("pkd,pkd->p", moved, turned)
        # A step that went nowhere says nothing about curvature.
        scale = np.where(bend > 0, 1 / np.where(bend > 0, bend, 1.0), 0.0)
        weight = scale * np.einsum("pkd,pkd->p", moved, vector)
        vector -= weight[:, None, None] * turned
        weights.append((scale, weight))
    vector = solve(vector)
    for (moved, turned), (scale, weight) in zip(past, reversed(weights), strict=True):
        back = scale * np.einsum("pkd,pkd->p", turned, vector)
        vector += (weight - back)[:, None, None] * moved
    return vector


def _search(
    problem: _Problem, here: Matrix, active: IntArray, step: Matrix, slope: Matrix, value: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """Steps halved until they descend, and the values and gradients there."""
    length = np.ones(len(active))
    reached, gradient = problem.loss(here[active] + step, active)
    while True:
        short = np.flatnonzero((reached > value + 1e-4 * length * slope) & (length > SHORTEST))
        if not len(short):
            return length[:, None, None] * step, reached, gradient
        length[short] /= 2
        there = here[active[short]] + length[short, None, None] * step[short]
        reached[short], gradient[short] = problem.loss(there, active[short])
