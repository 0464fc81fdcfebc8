"""Log-linear stack: log q(c | x) = log p(c) + Σ_m a_m A_mc(x) − log Z, with bounded coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import FloatArray, IntArray

__all__ = [
    "COEFFICIENT_FLOOR",
    "COEFFICIENT_LIMIT",
    "fit_coefficients",
    "nested_coefficients",
    "own_log_ratios",
    "smoothed_log_probabilities",
]

# The first member keeps a little weight even where it helps nobody: with 0 every state without information
# would read exactly 0, a tie; with this it reads a small signed value that says which way its scores lean.
COEFFICIENT_FLOOR = 0.02
COEFFICIENT_LIMIT = 3.0

# Curvature added so that members with the same scores share the weight instead of leaving it undetermined.
RIDGE = 1e-6
# And this share of the curvature: where few rows are all but certain, scores of 1e8 leave nothing of the ridge.
ROUNDING = 1e-10
# A step that promises to gain less than this many nats a row is the last one. With 1e-5 classes that are all but
# separated (41 rows) read .01 nats more or less by the order of their names.
WORTHLESS = 1e-8
MAX_STEPS = 50
# A coefficient held at its side is let go where that gains more than this a unit.
WORTHLESS_PULL = 1e-9
# Room in the box divided by a smaller move would overflow.
NO_MOVE = 1e-200
# Coefficients are held and let go at most so often each; what is reached by then is within the box.
MOST_MOVES = 8
SHORTEST = 1e-6
# Numbers of one temporary while derivatives are summed over blocks of rows: 2 MiB, within the cache.
BLOCK_NUMBERS = 2**18


@dataclass(frozen=True, eq=False)
class _Problem:
    """Scores of all classes but the first, relative to the first.

    Attributes:
        contrast: ``(m, C − 1, n)``.
        log_odds: ``(C − 1,)`` of the prior.
        own: ``(m, n)`` contrast of each row's class, 0 for the first.
        products: ``(m (m + 1) / 2, C − 1, n)`` contrasts of two members multiplied, where that is not too much.
        weight: ``(F, n)`` 1 where a row belongs to each of F fits, else 0.
        rows: ``(F, 1)`` rows of each fit.
        mean_own: ``(F, m)`` means of ``own`` over them.
    """

    contrast: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    own: NDArray[np.float64]
    products: NDArray[np.float64] | None
    weight: NDArray[np.float64]
    rows: NDArray[np.float64]
    mean_own: NDArray[np.float64]

    def fits(self, chosen: IntArray) -> _Problem:
        """The same for some of the fits."""
        if len(chosen) == len(self.weight):
            return self
        return replace(self, weight=self.weight[chosen], rows=self.rows[chosen], mean_own=self.mean_own[chosen])

    def refitted(self, weight: NDArray[np.float64]) -> _Problem:
        """The same rows for other fits."""
        rows = weight.sum(axis=1, keepdims=True)
        return replace(self, weight=weight, rows=rows, mean_own=weight @ self.own.T / rows)

    def blocks(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
        """Contrasts ``(m, C − 1, b)``, their products and weights ``(F, b)`` of blocks of rows."""
        _, others, rows = self.contrast.shape
        size = max(1, BLOCK_NUMBERS // (others * len(self.weight)))
        for start in range(0, rows, size):
            chosen = slice(start, start + size)
            contrast = self.contrast[:, :, chosen]
            yield (
                contrast,
                _products(contrast) if self.products is None else self.products[:, :, chosen],
                (self.weight[:, chosen]),
            )


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
    return np.asarray(_search(_contrasts(evidence, log_prior, codes), np.full((1, members), 1.0 / members))[0])


def nested_coefficients(
    evidence: NDArray[np.float64], log_prior: FloatArray, codes: IntArray, fold: IntArray, folds: int
) -> NDArray[np.float64]:
    """Coefficients for each fold, fitted on the rows outside it: ``(folds, m)``.

    One search serves all rows; the fits of the folds go on from there together, and share its derivatives.
    """
    problem = _contrasts(evidence, log_prior, codes)
    members = evidence.shape[0]
    common = _search(problem, np.full((1, members), 1.0 / members))
    outside = (fold != np.arange(folds)[:, None]).astype(np.float64)
    return _search(problem.refitted(outside), common)


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


def own_log_ratios(
    scores: NDArray[np.float64], log_prior: FloatArray, codes: IntArray, smoothing: float
) -> NDArray[np.float64]:
    """``(..., n)`` log q(y|x) − log p(y) of the rows' own classes, q as in ``smoothed_log_probabilities``.

    Args:
        scores: ``(..., C, n)`` stacked evidence.
        log_prior: ``(C,)``.
        codes: ``(n,)`` classes.
        smoothing: e in (0, 1].
    """
    joint = scores + log_prior[:, None]
    joint -= joint.max(axis=-2, keepdims=True)
    np.exp(joint, out=joint)
    own = np.take_along_axis(joint, np.broadcast_to(codes, (*joint.shape[:-2], 1, len(codes))), axis=-2)[..., 0, :]
    own /= joint.sum(axis=-2)
    own *= ((1 - smoothing) * np.exp(-log_prior))[codes]
    own += smoothing
    return np.asarray(np.log(own, out=own))


def _contrasts(evidence: NDArray[np.float64], log_prior: FloatArray, codes: IntArray) -> _Problem:
    contrast = evidence[:, 1:] - evidence[:, :1]
    own = contrast[:, 0] * codes
    if contrast.shape[1] > 1:
        own = np.where(codes > 0, contrast[:, np.maximum(codes - 1, 0), np.arange(len(codes))], 0.0)
    log_odds = np.asarray(log_prior[1:] - log_prior[0], dtype=np.float64)
    return _Problem(
        contrast=contrast,
        log_odds=log_odds,
        own=own,
        products=_products(contrast) if len(contrast) * contrast.size <= 4 * BLOCK_NUMBERS else None,
        weight=np.ones((1, len(codes))),
        rows=np.full((1, 1), float(len(codes))),
        mean_own=own.mean(axis=1)[None],
    )


@cache
def _pairs(members: int) -> tuple[IntArray, IntArray]:
    """Indices of all pairs of members, each with itself too."""
    return np.triu_indices(members)


def _products(contrast: NDArray[np.float64]) -> NDArray[np.float64]:
    first, second = _pairs(len(contrast))
    return np.asarray(contrast[first] * contrast[second])


def _search(problem: _Problem, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Newton steps within bounds, halved where a full one does not climb: ``(F, m)``, each fit until it stands.

    Args:
        problem: With F fits.
        start: ``(F, m)``, or ``(1, m)`` from which all go on.
    """
    low = np.zeros(start.shape[1])
    low[0] = COEFFICIENT_FLOOR
    here = np.repeat(start, len(problem.weight) // len(start), axis=0)
    value, gradient, curvature = _derivatives(start, problem)
    active = np.arange(len(here))
    for _ in range(MAX_STEPS):
        step, gain = _box_steps(gradient, curvature, low - here[active], COEFFICIENT_LIMIT - here[active])
        last = gain < WORTHLESS
        here[active[last]] += step[last]
        if last.all():
            break
        active, step = active[~last], step[~last]
        value, gradient, curvature = _climb(problem.fits(active), here, active, step, value[~last])
    return here


def _climb(
    problem: _Problem,
    here: NDArray[np.float64],
    active: IntArray,
    step: NDArray[np.float64],
    value: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Move the active rows of ``here`` by steps halved until they climb; the derivatives there."""
    length = np.ones((len(active), 1))
    there = here[active] + step
    reached = _derivatives(there, problem)
    while True:
        short = np.flatnonzero((reached[0] < value) & (length[:, 0] >= SHORTEST))
        if not len(short):
            here[active] = there
            return reached
        length[short] /= 2
        there[short] = here[active[short]] + length[short] * step[short]
        again = _derivatives(there[short], problem.fits(short))
        for target, found in zip(reached, again, strict=True):
            target[short] = found


def _box_steps(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    lowest: NDArray[np.float64],
    highest: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps ``(F, m)`` within bounds that gain most on the quadratic models, and those gains ``(F,)``.

    From no step at all each model climbs towards the optimum of its free coefficients; one that meets its side of the
    box on the way is held there, and let go again where the model pulls it inwards. No move loses, so that members with
    all but the same scores, between which rounding decides, cannot send the search round in circles.
    """
    fits, members = gradient.shape
    step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
    if not ((step < lowest) | (step > highest)).any():
        return np.asarray(step), np.asarray(0.5 * (gradient * step).sum(axis=1))
    step = np.clip(0.0, lowest, highest)
    held = ((step <= lowest) & (gradient < 0)) | ((step >= highest) & (gradient > 0))
    rows = np.arange(fits)
    for _ in range(MOST_MOVES * members):
        move = _held_steps(gradient, curvature, step, held) - step
        # How far each coefficient can follow, in moves.
        room = np.where(move < 0, lowest, highest) - step
        reach = np.divide(room, move, out=np.full_like(move, np.inf), where=np.abs(move) > NO_MOVE)
        first = reach.argmin(axis=1)
        stopped = reach[rows, first] < 1
        step = np.clip(step + np.clip(reach[rows, first], 0.0, 1.0)[:, None] * move, lowest, highest)
        side = np.where(move < 0, lowest, highest)[rows, first]
        step[rows[stopped], first[stopped]] = side[stopped]
        held[rows[stopped], first[stopped]] = True
        slope = gradient - (curvature @ step[..., None])[..., 0]
        inwards = np.where(held, np.where(step <= lowest, slope, -slope), 0.0)
        strongest = inwards.argmax(axis=1)
        released = ~stopped & (inwards[rows, strongest] > WORTHLESS_PULL)
        held[rows[released], strongest[released]] = False
        if not (stopped | released).any():
            break
    gain = (gradient * step).sum(axis=1) - 0.5 * np.einsum("fi,fij,fj->f", step, curvature, step)
    return step, gain


def _held_steps(
    gradient: NDArray[np.float64], curvature: NDArray[np.float64], step: NDArray[np.float64], held: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Best steps of the free coefficients, the held ones where they are."""
    fixed = np.where(held, step, 0.0)
    wanted = np.where(held, fixed, gradient - (curvature @ fixed[..., None])[..., 0])
    free = ~held
    among = np.where(free[:, :, None] & free[:, None], curvature, np.eye(held.shape[1]))
    return np.asarray(np.linalg.solve(among, wanted[..., None])[..., 0])


def _derivatives(
    coefficients: NDArray[np.float64], problem: _Problem
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean log likelihoods up to a constant ``(F,)``, gradients, and minus second derivatives ``(F, m, m)``.

    Coefficients ``(1, m)`` stand for all fits, whose derivatives are then sums over the same terms.
    """
    members, others, _ = problem.contrast.shape
    fits = len(problem.weight)
    first, second = _pairs(members)
    total_log, expected_sum, product_sum = np.zeros(fits), np.zeros((fits, members)), np.zeros((fits, len(first)))
    for contrast, products, weight in problem.blocks():
        share, log_total = _shares(coefficients, contrast, problem.log_odds)
        total_log += weight @ log_total[0] if len(log_total) == 1 else np.einsum("fn,fn->f", weight, log_total)
        weighted = share * weight[:, None]
        expected_sum += weighted.reshape(fits, -1) @ contrast.reshape(members, -1).T
        if others == 1:
            weighted *= 1 - share
        else:
            expected = np.einsum("fcn,mcn->fmn", share, contrast)
            product_sum -= np.einsum("fn,fpn->fp", weight, expected[:, first] * expected[:, second])
        product_sum += weighted.reshape(fits, -1) @ products.reshape(len(first), -1).T
    value = (coefficients * problem.mean_own).sum(axis=1) - total_log / problem.rows[:, 0]
    value -= 0.5 * RIDGE * np.square(coefficients).sum(axis=1)
    gradient = problem.mean_own - expected_sum / problem.rows - RIDGE * coefficients
    curvature = np.empty((fits, members, members))
    curvature[:, first, second] = curvature[:, second, first] = product_sum / problem.rows
    ridge = RIDGE + ROUNDING * np.trace(curvature, axis1=1, axis2=2)
    return value, gradient, curvature + ridge[:, None, None] * np.eye(members)


def _shares(
    coefficients: NDArray[np.float64], contrast: NDArray[np.float64], log_odds: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities ``(F, C − 1, b)`` of all classes but the first, and log of what was normalised ``(F, b)``."""
    members, others, rows = contrast.shape
    joint = (coefficients @ contrast.reshape(members, -1)).reshape(len(coefficients), others, rows)
    joint += log_odds[:, None]
    # Reductions over an axis of one are slow.
    top = np.maximum(joint[:, 0] if others == 1 else joint.max(axis=1), 0.0)
    joint -= top[:, None]
    np.exp(joint, out=joint)
    total = np.exp(-top)
    total += joint[:, 0] if others == 1 else joint.sum(axis=1)
    joint /= total[:, None]
    np.log(total, out=total)
    total += top
    return joint, total
