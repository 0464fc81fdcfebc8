"""Multinomial ridge logistic regression with an offset."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from mi_attention.interface import IntArray

__all__ = ["fit_logistic"]

# A step that promises to gain less than this many nats a row is the last one.
WORTHLESS = 1e-7
MAX_STEPS = 40
SHORTEST = 1e-4


def fit_logistic(
    powers: NDArray[np.float64],
    codes: IntArray,
    offset: NDArray[np.float64],
    penalty: float,
    start: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Coefficients of a log-linear correction to an offset.

    Minimises the mean cross-entropy of softmax(offset + Bᵀ powers) plus penalty/2 · Σ |B_c − mean B|² (all but the
    constant, symmetric in the classes). From a start near the optimum the curvature there serves all steps.

    Args:
        powers: ``(n, p)``, the first column constant.
        codes: ``(n,)`` classes.
        offset: ``(C, n)`` log odds to be corrected, the prior included.
        penalty: At least 0.
        start: ``(p, C)`` near the optimum, or None.

    Returns:
        ``(p, C)``, 0 for the first class.
    """
    classes, size = len(offset), powers.shape[1]
    truth = (codes == np.arange(1, classes)[:, None]).astype(np.float64)
    relative = offset - offset[0]
    ridge = np.asarray(
        penalty * np.kron(np.eye(classes - 1) - 1 / classes, np.diag(np.arange(size) > 0)), dtype=np.float64
    )
    if start is None:
        found = _newton(powers, truth, relative, ridge)
    else:
        found = _chord(powers, truth, relative, ridge, start[:, 1:])
    return np.hstack([np.zeros((size, 1)), found])


def _newton(
    powers: NDArray[np.float64], truth: NDArray[np.float64], relative: NDArray[np.float64], ridge: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Optimum ``(p, C − 1)``."""
    here = np.zeros((powers.shape[1], len(truth)))
    value, shares = _loss(powers, truth, relative, ridge, here)
    for _ in range(MAX_STEPS):
        gradient = _gradient(powers, truth, shares, ridge, here)
        curvature = _curvature(powers, shares) / len(powers) + ridge
        step = _solve(curvature, gradient)
        here, value, shares = _descend(powers, truth, relative, ridge, here, value, shares, step)
        if 0.5 * gradient @ step < WORTHLESS:
            break
    return here


def _chord(
    powers: NDArray[np.float64],
    truth: NDArray[np.float64],
    relative: NDArray[np.float64],
    ridge: NDArray[np.float64],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Newton steps with the curvature of the start."""
    here = start
    value, shares = _loss(powers, truth, relative, ridge, here)
    factor = cho_factor(_regular(_curvature(powers, shares) / len(powers) + ridge))
    for _ in range(MAX_STEPS):
        gradient = _gradient(powers, truth, shares, ridge, here)
        step = cho_solve(factor, gradient)
        here, value, shares = _descend(powers, truth, relative, ridge, here, value, shares, step)
        if 0.5 * gradient @ step < WORTHLESS:
            break
    return here


def _descend(
    powers: NDArray[np.float64],
    truth: NDArray[np.float64],
    relative: NDArray[np.float64],
    ridge: NDArray[np.float64],
    here: NDArray[np.float64],
    value: float,
    shares: NDArray[np.float64],
    step: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """One step, halved until it does not climb; stays where even a short one does."""
    move = step.reshape(here.shape[1], here.shape[0]).T
    length = 1.0
    while length > SHORTEST:
        there = here - length * move
        reached, there_shares = _loss(powers, truth, relative, ridge, there)
        if reached <= value:
            return there, reached, there_shares
        length /= 2
    return here, value, shares


def _loss(
    powers: NDArray[np.float64],
    truth: NDArray[np.float64],
    relative: NDArray[np.float64],
    ridge: NDArray[np.float64],
    here: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Penalised mean cross-entropy, and the shares of all classes but the first."""
    joint = relative[1:] + (powers @ here).T
    top = np.maximum(joint.max(axis=0), 0.0)
    shares = np.exp(joint - top)
    total = shares.sum(axis=0) + np.exp(-top)
    flat = here.T.ravel()
    value = float((top + np.log(total)).mean() - (joint * truth).sum() / len(powers) + 0.5 * flat @ ridge @ flat)
    return value, shares / total


def _gradient(
    powers: NDArray[np.float64],
    truth: NDArray[np.float64],
    shares: NDArray[np.float64],
    ridge: NDArray[np.float64],
    here: NDArray[np.float64],
) -> NDArray[np.float64]:
    return np.asarray(((shares - truth) @ powers / len(powers)).ravel() + ridge @ here.T.ravel())


def _curvature(powers: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Second derivatives summed over rows, ``((C − 1) p, (C − 1) p)``."""
    others, size = len(shares), powers.shape[1]
    result = np.empty((others, size, others, size))
    for one in range(others):
        for other in range(one, others):
            weight = shares[one] * ((one == other) - shares[other])
            block = (powers * weight[:, None]).T @ powers
            result[one, :, other, :] = block
            result[other, :, one, :] = block
    return result.reshape(others * size, others * size)


def _regular(curvature: NDArray[np.float64]) -> NDArray[np.float64]:
    """A touch on the diagonal: features that say the same leave a direction without curvature."""
    return np.asarray(curvature + 1e-9 * np.eye(len(curvature)))


def _solve(curvature: NDArray[np.float64], gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(cho_solve(cho_factor(_regular(curvature)), gradient))
