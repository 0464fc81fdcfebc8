"""Multinomial ridge logistic regression with an offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from mi_attention.interface import IntArray

__all__ = ["fit_logistic"]

# A step that promises to gain less than this many nats a row is the last one.
WORTHLESS = 1e-7
MAX_STEPS = 40
SHORTEST = 1e-4
# On the diagonal: features that say the same leave a direction without curvature.
REGULAR = 1e-9


def fit_logistic(
    powers: NDArray[np.float64],
    codes: IntArray,
    offset: NDArray[np.float64],
    penalty: float,
    start: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Coefficients of a log-linear correction to an offset.

    Minimises the mean cross-entropy of softmax(offset + Bᵀ powers) plus penalty/2 · Σ |B_c − mean B|² (all but the
    constant, symmetric in the classes) by Newton steps. From a start near the optimum the curvature there serves all
    steps.

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
    penalised = np.diag(np.arange(size) > 0)
    problem = _Problem(
        powers=powers,
        truth=(codes == np.arange(1, classes)[:, None]).astype(np.float64),
        odds=np.asarray(offset[1:] - offset[0], dtype=np.float64),
        ridge=np.asarray(penalty * np.kron(np.eye(classes - 1) - 1 / classes, penalised), dtype=np.float64),
    )
    here = np.zeros((size, classes - 1)) if start is None else start[:, 1:]
    value, shares = problem.loss(here)
    factor = cho_factor(problem.curvature(shares))
    for index in range(MAX_STEPS):
        if start is None and index > 0:
            factor = cho_factor(problem.curvature(shares))
        gradient = problem.gradient(here, shares)
        step = cho_solve(factor, gradient)
        here, value, shares = problem.descend(here, value, shares, step)
        if 0.5 * gradient @ step < WORTHLESS:
            break
    return np.hstack([np.zeros((size, 1)), here])


@dataclass(frozen=True, eq=False)
class _Problem:
    """Coefficients ``(p, C − 1)`` are those of all classes but the first.

    Attributes:
        powers: ``(n, p)``.
        truth: ``(C − 1, n)`` 1 where a row is of the class.
        odds: ``(C − 1, n)`` offset relative to the first class.
        ridge: ``((C − 1) p, (C − 1) p)`` penalty.
    """

    powers: NDArray[np.float64]
    truth: NDArray[np.float64]
    odds: NDArray[np.float64]
    ridge: NDArray[np.float64]

    def loss(self, here: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Penalised mean cross-entropy, and the shares ``(C − 1, n)`` of the classes."""
        joint = self.odds + (self.powers @ here).T
        top = np.maximum(joint.max(axis=0), 0.0)
        shares = np.exp(joint - top)
        total = shares.sum(axis=0) + np.exp(-top)
        flat = here.T.ravel()
        entropy = (top + np.log(total)).mean() - (joint * self.truth).sum() / len(self.powers)
        return float(entropy + 0.5 * flat @ self.ridge @ flat), shares / total

    def gradient(self, here: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """``((C − 1) p,)``."""
        return np.asarray(
            ((shares - self.truth) @ self.powers / len(self.powers)).ravel() + self.ridge @ here.T.ravel()
        )

    def curvature(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """``((C − 1) p, (C − 1) p)``, positive definite."""
        others, size = len(shares), self.powers.shape[1]
        result = np.empty((others, size, others, size))
        for one in range(others):
            for other in range(one, others):
                weight = shares[one] * ((one == other) - shares[other])
                block = (self.powers * weight[:, None]).T @ self.powers
                result[one, :, other, :] = block
                result[other, :, one, :] = block
        flat = result.reshape(others * size, others * size) / len(self.powers)
        return np.asarray(flat + self.ridge + REGULAR * np.eye(len(flat)))

    def descend(
        self, here: NDArray[np.float64], value: float, shares: NDArray[np.float64], step: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """One step, halved until it does not climb; stays where even a short one does."""
        move = step.reshape(here.shape[1], here.shape[0]).T
        length = 1.0
        while length > SHORTEST:
            there = here - length * move
            reached, there_shares = self.loss(there)
            if reached <= value:
                return there, reached, there_shares
            length /= 2
        return here, value, shares
