"""Log-linear stack: log q(c | x) = log p(c) + Σ_m a_m A_mc(x) − log Z, with bounded coefficients."""

from __future__ import annotations

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
TOLERANCE = 1e-9
MAX_STEPS = 50


def fit_coefficients(
    evidence: NDArray[np.float64],
    log_prior: FloatArray,
    codes: IntArray,
    start: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Coefficients that maximise the mean log likelihood, by projected Newton steps on a concave problem.

    Args:
        evidence: ``(m, C, n)`` scores of m members.
        log_prior: ``(C,)``.
        codes: ``(n,)`` classes.
        start: ``(m,)`` where to begin.

    Returns:
        ``(m,)`` in [0, 3], the first at least 0.02.
    """
    members = evidence.shape[0]
    low = np.zeros(members)
    low[0] = COEFFICIENT_FLOOR
    here = np.full(members, 1.0 / members) if start is None else start.copy()
    own = evidence[:, codes, np.arange(len(codes))].mean(axis=1)
    value, gradient, curvature = _derivatives(here, evidence, log_prior, own)
    for _ in range(MAX_STEPS):
        free = ~(((here <= low) & (gradient < 0)) | ((here >= COEFFICIENT_LIMIT) & (gradient > 0)))
        if not free.any():
            break
        step = np.zeros(members)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        length = 1.0
        while True:
            there = np.clip(here + length * step, low, COEFFICIENT_LIMIT)
            moved = float(np.abs(there - here).max())
            new_value, new_gradient, new_curvature = _derivatives(there, evidence, log_prior, own)
            if new_value >= value - 1e-14 or moved < TOLERANCE:
                break
            length /= 2
        here, value, gradient, curvature = there, new_value, new_gradient, new_curvature
        if moved < TOLERANCE:
            break
    return here


def nested_coefficients(
    evidence: NDArray[np.float64], log_prior: FloatArray, codes: IntArray, fold: IntArray, folds: int
) -> NDArray[np.float64]:
    """Coefficients for each fold, fitted on the rows outside it: ``(folds, m)``."""
    common = fit_coefficients(evidence, log_prior, codes)
    fitted = np.empty((folds, evidence.shape[0]))
    for index in range(folds):
        outside: BoolArray = fold != index
        fitted[index] = fit_coefficients(evidence[:, :, outside], log_prior, codes[outside], common)
    return fitted


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


def _derivatives(
    coefficients: NDArray[np.float64],
    evidence: NDArray[np.float64],
    log_prior: FloatArray,
    own: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    rows = evidence.shape[2]
    joint = np.tensordot(coefficients, evidence, axes=1)
    joint += log_prior[:, None]
    top = joint.max(axis=0)
    share = np.exp(joint - top)
    total = share.sum(axis=0)
    share /= total
    # The prior's own term of the likelihood does not depend on the coefficients.
    value = float(coefficients @ own - (top + np.log(total)).mean()) - 0.5 * RIDGE * float(coefficients @ coefficients)
    weighted = evidence * share
    expected = weighted.sum(axis=1)
    gradient = own - expected.mean(axis=1) - RIDGE * coefficients
    flat = (len(coefficients), -1)
    second = weighted.reshape(flat) @ evidence.reshape(flat).T - expected @ expected.T
    return value, gradient, second / rows + RIDGE * np.eye(len(coefficients))
