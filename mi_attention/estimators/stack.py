"""Log-linear stack: log q(c | x) = log p(c) + Σ_m a_m A_mc(x) − log Z, with bounded coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import BoolArray, FloatArray, IntArray

__all__ = [
    "COEFFICIENT_FLOOR",
    "COEFFICIENT_LIMIT",
    "fit_coefficients",
    "nested_coefficients",
    "smoothed_log_probabilities",
]

# The first member keeps a little weight even where it helps nobody: with 0 every state without information
# would read exactly 0, a tie; with this it reads a small signed value that says which way its scores lean.
COEFFICIENT_FLOOR = 0.02
COEFFICIENT_LIMIT = 3.0

# Curvature added so that members with the same scores share the weight instead of leaving it undetermined.
RIDGE = 1e-6
# A step that promises to gain less than this many nats a row is the last one: far below any standard error.
WORTHLESS = 1e-7
MAX_STEPS = 50
SHORTEST = 1e-6


@dataclass(frozen=True, eq=False)
class _Problem:
    """Scores of all classes but the first, relative to the first.

    Attributes:
        contrast: ``(m, C − 1, n)``.
        log_odds: ``(C − 1,)`` of the prior.
        own: ``(m, n)`` contrast of each row's class, 0 for the first.
    """

    contrast: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    own: NDArray[np.float64]

    def rows(self, chosen: BoolArray) -> _Problem:
        """The same for some of the rows."""
        return _Problem(self.contrast[:, :, chosen], self.log_odds, self.own[:, chosen])


def fit_coefficients(evidence: NDArray[np.float64], log_prior: FloatArray, codes: IntArray) -> NDArray[np.float64]:
    """Coefficients that maximise the mean log likelihood, by Newton steps within bounds on a concave problem.

    Args:
        evidence: ``(m, C, n)`` scores of m members.
        log_prior: ``(C,)``.
        codes: ``(n,)`` classes.

    Returns:
        ``(m,)`` in [0, 3], the first at least 0.02.
    """
    members = evidence.shape[0]
    return _search(_contrasts(evidence, log_prior, codes), np.full(members, 1.0 / members))


def nested_coefficients(
    evidence: NDArray[np.float64], log_prior: FloatArray, codes: IntArray, fold: IntArray, folds: int
) -> NDArray[np.float64]:
    """Coefficients for each fold, fitted on the rows outside it: ``(folds, m)``."""
    problem = _contrasts(evidence, log_prior, codes)
    members = evidence.shape[0]
    common = _search(problem, np.full(members, 1.0 / members))
    return np.stack([_search(problem.rows(fold != index), common) for index in range(folds)])


def smoothed_log_probabilities(
    scores: NDArray[np.float64], log_prior: FloatArray, smoothing: float
) -> NDArray[np.float64]:
    """log((1 − e) softmax(log p + scores) + e p): no row is ever believed more than e allows.

    Args:
        scores: ``(..., C, n)`` stacked evidence.
        log_prior: ``(C,)``.
        smoothing: e in [0, 1], 1 over the number of independent training rows.

    Returns:
        ``(..., C, n)`` log probabilities of distributions over C.
    """
    joint = scores + log_prior[:, None]
    top = joint.max(axis=-2, keepdims=True)
    normalised = joint - (top + np.log(np.exp(joint - top).sum(axis=-2, keepdims=True)))
    if smoothing <= 0:
        return np.asarray(normalised)
    return np.asarray(np.log((1 - smoothing) * np.exp(normalised) + smoothing * np.exp(log_prior)[:, None]))


def _contrasts(evidence: NDArray[np.float64], log_prior: FloatArray, codes: IntArray) -> _Problem:
    contrast = evidence[:, 1:] - evidence[:, :1]
    own = np.where(codes > 0, contrast[:, np.maximum(codes - 1, 0), np.arange(len(codes))], 0.0)
    return _Problem(contrast=contrast, log_odds=np.asarray(log_prior[1:] - log_prior[0], dtype=np.float64), own=own)


def _search(problem: _Problem, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Newton steps within bounds, halved where a full one does not climb."""
    low = np.zeros(len(start))
    low[0] = COEFFICIENT_FLOOR
    mean_own = problem.own.mean(axis=1)
    here = start.copy()
    value, gradient, curvature = _derivatives(here, problem, mean_own)
    for _ in range(MAX_STEPS):
        step, gain = _box_step(gradient, curvature, low - here, COEFFICIENT_LIMIT - here)
        if gain < WORTHLESS:
            return np.asarray(here + step)
        length = 1.0
        while True:
            there = here + length * step
            reached = _derivatives(there, problem, mean_own)
            if reached[0] >= value or length < SHORTEST:
                break
            length /= 2
        here, (value, gradient, curvature) = there, reached
    return here


def _box_step(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    lowest: NDArray[np.float64],
    highest: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """Step within bounds that gains most on the quadratic model, and that gain.

    Coefficients that would leave the box are held at its side, and let go again where the model pulls them inwards;
    what is left when nothing changes satisfies the conditions of the optimum of a concave problem.
    """
    members = len(gradient)
    step: NDArray[np.float64] = np.zeros(members)
    held = np.zeros(members, dtype=np.int64)
    for _ in range(3**members):
        free = held == 0
        step = np.asarray(np.where(held < 0, lowest, np.where(held > 0, highest, 0.0)), dtype=np.float64)
        if free.all():
            step = np.asarray(np.linalg.solve(curvature, gradient), dtype=np.float64)
        elif free.any():
            wanted = gradient[free] - curvature[np.ix_(free, ~free)] @ step[~free]
            step[free] = np.linalg.solve(curvature[np.ix_(free, free)], wanted)
        below, above = free & (step < lowest), free & (step > highest)
        if below.any() or above.any():
            held = held - below + above
            continue
        # Pull of the model on each held coefficient, positive where it points into the box.
        inwards = -held * (gradient - curvature @ step)
        if not (inwards > 0).any():
            break
        held[int(inwards.argmax())] = 0
    step = np.clip(step, lowest, highest)
    return step, float(gradient @ step - 0.5 * step @ curvature @ step)


def _derivatives(
    coefficients: NDArray[np.float64], problem: _Problem, mean_own: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Mean log likelihood up to a constant, its gradient, and minus its second derivatives."""
    members, others, rows = problem.contrast.shape
    flat = problem.contrast.reshape(members, -1)
    joint = (coefficients @ flat).reshape(others, rows) + problem.log_odds[:, None]
    top = np.maximum(joint.max(axis=0), 0.0)
    share = np.exp(joint - top)
    total = share.sum(axis=0) + np.exp(-top)
    share /= total
    value = float(coefficients @ mean_own - (top + np.log(total)).mean())
    value -= 0.5 * RIDGE * float(coefficients @ coefficients)
    weighted = problem.contrast * share
    expected = weighted.sum(axis=1)
    gradient = mean_own - expected.mean(axis=1) - RIDGE * coefficients
    second = weighted.reshape(members, -1) @ flat.T - expected @ expected.T
    return value, gradient, second / rows + RIDGE * np.eye(members)
