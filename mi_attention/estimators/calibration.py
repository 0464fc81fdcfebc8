"""Does a log density ratio claim more dependence than joint and independent pairs of rows bear out?

A classifier that must tell pairs (x_i, y_i) from pairs (x_i, y_j) of different rows says log p(x, y) / p(x) p(y) when
it is right. If a model ratio f = log q(x, y) / q(x) q(y) has the right margins, E_independent[σ(f)] = E_q[σ(−f)], which
is at most E_joint[σ(−f)] where the model is overfitted. Where independent pairs look more joint than that, the margins
of the model are wrong and its information is not to be had: two independent vectors with heavy tails of their own are
the plainest case, a t that shares its scale reads them as dependent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from mi_attention.estimators.samples import cluster_standard_error
from mi_attention.interface import BoolArray, IntArray

__all__ = ["Calibration", "calibrate", "shuffled_partners"]

Matrix = NDArray[np.float64]

# Independent pairs a row.
SHUFFLES = 4
# Log ratios beyond this decide for certain; clipping them keeps one row from ruling the fit.
LIMIT = 30.0
NEWTON_STEPS = 30
EVIDENCE = 3.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """The logistic fit of a log ratio.

    Attributes:
        overclaims: Whether E_independent[σ(f)] exceeds E_joint[σ(−f)] by 3 standard errors.
        likelihood: Mean log likelihood of the refitted classifier, higher is better.
        ratio: ``(n,)`` slope · f + intercept of the joint pairs in nats, refitted: about 0 where f tells nothing.
    """

    overclaims: bool
    likelihood: float
    ratio: Matrix


def shuffled_partners(fold: IntArray, groups: IntArray | None, rng: np.random.Generator) -> IntArray:
    """``(SHUFFLES, n)`` another row of the same fold and another group for each row, −1 where the draw failed.

    Args:
        fold: ``(n,)`` which fold holds a row out.
        groups: ``(n,)`` instance of each row, or None.
        rng: Source of the draw.
    """
    n = len(fold)
    owner = np.arange(n) if groups is None else groups
    partners = np.empty((SHUFFLES, n), dtype=np.int64)
    for row in partners:
        for index in range(int(fold.max()) + 1):
            held = np.flatnonzero(fold == index)
            row[held] = rng.permutation(held)
        row[owner[row] == owner] = -1
    return partners


def calibrate(joint: Matrix, apart: Matrix, usable: BoolArray, groups: IntArray | None) -> Calibration:
    """Test a log ratio against over-claiming, and refit its slope and intercept by maximum likelihood.

    Args:
        joint: ``(n,)`` held-out log ratios of the rows, in nats.
        apart: ``(S, n)`` those of x with the y of other rows.
        usable: ``(S, n)`` which of them count.
        groups: ``(n,)`` instance of each row, or None.
    """
    together, others = np.clip(joint, -LIMIT, LIMIT), np.clip(apart, -LIMIT, LIMIT)
    # Independent pairs weigh 1 a row together, so that joint and independent are equally likely beforehand.
    weight = usable / np.maximum(usable.sum(axis=0), 1)
    values = np.concatenate([together, others.ravel()])
    label = np.concatenate([np.ones(len(joint)), np.zeros(others.size)])
    mass = np.concatenate([usable.any(axis=0), weight.ravel()])
    design = np.stack([values, np.ones_like(values)])
    coefficient = np.array([1.0, 0.0])
    for _ in range(NEWTON_STEPS):
        share = expit(coefficient @ design)
        gradient = design @ (mass * (label - share))
        curvature = (design * (mass * share * (1 - share))) @ design.T + 1e-9 * len(joint) * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        # The logistic likelihood is concave; a full Newton step can overshoot where all pairs are told apart.
        coefficient = coefficient + step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-10:
            break
    slope, intercept = (float(c) for c in coefficient)

    excess = (weight * expit(others)).sum(axis=0) - expit(-together)
    refitted = log_expit(slope * together + intercept)
    refitted += (weight * log_expit(-(slope * others + intercept))).sum(axis=0)
    return Calibration(
        overclaims=bool(excess.mean() > EVIDENCE * cluster_standard_error(excess, groups)),
        likelihood=float(refitted.mean()),
        ratio=slope * joint + intercept,
    )
