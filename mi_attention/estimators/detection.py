"""The detection limit: the smallest information that a permutation test would have found in half the draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtri
from scipy.stats import rankdata

from mi_attention.estimators.labels import as_classes, as_continuous, is_discrete
from mi_attention.estimators.permutation import as_rows, permutation_test, statistic_of
from mi_attention.estimators.samples import as_array, as_groups, count_independent
from mi_attention.interface import FloatArray, IntArray, MIEstimator, Unit

__all__ = ["DetectionLimit", "detection_limit", "information_of_spacing", "intraclass_correlation"]

# Halvings of the bracket, which spans four decades of information: a draw's crossing is found within 4 %.
HALVINGS = 7
LOWEST = 1e-4
# More classes than this are planted as so many blocks of classes, each with one mean.
BLOCKS = 8
# Where the output is continuous its information has no ceiling; nobody asks whether more than this is seen.
CONTINUOUS_CEILING = 3.0
# Numbers of planted states held at once: 128 MiB.
PLANTED_NUMBERS = 2**24


@dataclass(frozen=True, eq=False)
class DetectionLimit:
    """Smallest I(x; y) found in half the draws at these n, d, groups and class shares.

    Attributes:
        nats: Median over draws of the information at which a draw passes the threshold; infinite where even the largest
            planted information is missed in half of them.
        per_draw: ``(draws,)`` the same of each draw.
        threshold: The statistic a draw must exceed, in nats.
        correlation: Correlation of rows of one group in the planted states, 0 without groups.
        reason: Why there is none (``nats`` is NaN), or empty.
    """

    nats: float
    per_draw: FloatArray
    threshold: float
    correlation: float
    reason: str


def detection_limit(
    estimator: MIEstimator,
    x: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    seed: int,
    threshold: float | None = None,
    draws: int = 20,
    watch: Callable[[int, int], None] | None = None,
) -> DetectionLimit:
    """Plant known information beside the labels as given, and search where the estimator starts to see it.

    Each draw is standard Gaussian states of the shape of x, plus a shift along one random direction that depends on y:
    equally spaced means of the classes (of 8 blocks of classes, if there are more), or for a continuous y a linear
    dependence on its normal scores, so that I(x; y) is known by quadrature. Rows of one group correlate as much as
    those of x do on average. With the noise of a draw fixed, the dependence is made stronger and weaker until the
    statistic crosses the threshold; the limit is the median of these crossings, because at that information half the
    draws lie above it. Its own standard error is about the spread of ``per_draw`` times 1.25/√draws, beside that of the
    threshold: from 199 permutations of each of 8 data sets (100 rows, 2 columns) it was .0055 to .0115 nats.

    What it says: a *linear* dependence below the limit would rather have been missed. Dependence of another kind needs
    more, and an estimator that is blind to it never sees it.

    Args:
        estimator: Any estimator.
        x: ``(n, d)`` or ``(n,)`` states; only their shape and their correlation within groups are used.
        y: ``(n,)`` outputs.
        groups: ``(n,)`` instance of each row where rows share instances.
        seed: Of the planted states.
        threshold: What counts as found: ``quantile`` of a ``permutation_test`` of these data; by default one with 199
            permutations and this seed is made.
        draws: Planted data sets; each takes 8 estimates.
        watch: Called with (done, all) after every batch of estimates.

    Raises:
        ValueError: bad input, draws below 1, or a y of several columns.
    """
    if draws < 1:
        raise ValueError(f"draws is {draws}; it must be at least 1")
    states, labels = as_rows(x), as_array("y", y)
    instances = as_groups(groups, len(states))
    if labels.ndim == 2 and labels.shape[1] > 1:
        raise ValueError(f"y has {labels.shape[1]} columns; a detection limit needs one, ask for it column by column")
    labels = labels.reshape(-1)
    reason = ""
    if threshold is None:
        test = permutation_test(estimator, states, labels, instances, seed=seed)
        threshold, reason = test.quantile, test.reason
        if not reason and np.ptp(test.null) == 0:
            reason = test.estimate.reason or "the statistic does not depend on the labels"
    if not reason and not np.isfinite(threshold):
        reason = "no threshold: too few permutations for a p of .05"
    reason = reason or _refusal(estimator, states, labels, instances)
    correlation = 0.0 if instances is None or reason else intraclass_correlation(states, instances)
    if reason:
        return DetectionLimit(float("nan"), np.empty(0), threshold, correlation, reason)
    plant = _plan(labels)
    size = int(np.clip(PLANTED_NUMBERS // states.size, 1, draws))
    crossings: list[FloatArray] = []
    for start in range(0, draws, size):
        noise = [
            _noise(states.shape, instances, correlation, np.random.default_rng([seed, draw]))
            for draw in range(start, min(start + size, draws))
        ]
        done = start * (HALVINGS + 1)

        def report(estimates: int, before: int = done) -> None:
            if watch is not None:
                watch(before + estimates, draws * (HALVINGS + 1))

        crossings.append(_crossings(estimator, noise, plant, labels, instances, threshold, report))
    per_draw = np.concatenate(crossings)
    return DetectionLimit(float(np.median(per_draw)), per_draw, threshold, correlation, "")


def information_of_spacing(spacing: float, prior: ArrayLike) -> float:
    """I(x; c) in nats of x ~ N(spacing · c, 1), classes c = 0 … C − 1 with these probabilities, by quadrature."""
    shares = np.asarray(prior, dtype=np.float64)
    deviation = np.linspace(-9.0, 9.0, 721)
    weight = np.exp(-0.5 * deviation**2)
    weight /= weight.sum()
    steps = spacing * (np.arange(len(shares))[:, None] - np.arange(len(shares))[None])
    joint = -0.5 * (deviation[:, None, None] + steps[None]) ** 2
    ratio = -0.5 * deviation[:, None] ** 2 - logsumexp(joint, axis=2, b=shares)
    return float(shares @ (weight @ ratio))


def intraclass_correlation(x: FloatArray, groups: IntArray) -> float:
    """Correlation of two rows of one group, mean over columns, by one-way analysis of variance; in [0, 1]."""
    sizes = np.bincount(groups).astype(np.float64)
    n, pieces = len(groups), len(sizes)
    if pieces < 2 or n <= pieces:
        return 0.0
    values = np.asarray(x, dtype=np.float64)
    values = values - values.mean(axis=0)
    sums = np.zeros((pieces, values.shape[1]))
    np.add.at(sums, groups, values)
    means = sums / sizes[:, None]
    between = (sizes @ means**2) / (pieces - 1)
    within = np.maximum(np.square(values).sum(axis=0) - sizes @ means**2, 0.0) / (n - pieces)
    size = (n - (sizes**2).sum() / n) / (pieces - 1)
    total = between + (size - 1) * within
    varies = total > 0
    if not varies.any():
        return 0.0
    return float(np.clip(((between - within)[varies] / total[varies]).mean(), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class _Plan:
    """How a dependence of some strength is planted: the spacing of class means, or the information itself.

    Attributes:
        score: ``(n,)`` block of classes of each row as a number, or normal score of its output.
        prior: ``(C,)`` shares of the blocks, None for a continuous output.
    """

    score: NDArray[np.float64]
    prior: NDArray[np.float64] | None

    def bracket(self) -> tuple[float, float]:
        """Strengths of the least and the most that is planted."""
        prior = self.prior
        if prior is None:
            return LOWEST, CONTINUOUS_CEILING
        # All of H(Y) would need infinitely distant means.
        most = 0.999 * float(-(prior * np.log(prior)).sum())
        low, high = (
            brentq(lambda s, wanted=wanted: information_of_spacing(s, prior) - wanted, 0.0, 40.0)
            for wanted in (min(LOWEST, most / 100), most)
        )
        return float(low), float(high)

    def information(self, strength: float) -> float:
        """I(x; y) in nats."""
        return strength if self.prior is None else information_of_spacing(strength, self.prior)

    def factors(self, strength: float) -> tuple[float, float]:
        """What the score is multiplied with, and the noise along the direction."""
        if self.prior is None:
            return float(np.sqrt(-np.expm1(-2 * strength))), float(np.exp(-strength))
        return strength, 1.0


def _plan(labels: NDArray[Any]) -> _Plan:
    n = len(labels)
    if is_discrete(labels):
        classes = as_classes(labels, n)
        block = np.arange(len(classes.classes))
        if len(block) > BLOCKS:
            middle = np.cumsum(classes.prior) - classes.prior / 2
            block = np.unique(np.floor(BLOCKS * middle), return_inverse=True)[1]
        # x depends on y through its block alone, so that I(x; y) = I(x; block).
        return _Plan(
            block[classes.codes].astype(np.float64), np.bincount(block, weights=classes.prior).astype(np.float64)
        )
    values = as_continuous(labels, n)[:, 0]
    return _Plan(ndtri((rankdata(values) - 0.5) / n), None)


def _refusal(estimator: MIEstimator, states: NDArray[Any], labels: NDArray[Any], groups: IntArray | None) -> str:
    """Why the estimator takes no Gaussian states (it wants symbols), or an empty string."""
    if states.dtype.kind not in "fiub":
        return "states are symbols, in which no shift can be planted"
    rows, _ = _noise(states.shape, None, 0.0, np.random.default_rng(0))
    try:
        estimator.estimate(rows, labels, groups)
    except ValueError as error:
        return f"no Gaussian states can be planted: {error}"
    return ""


def _noise(
    shape: tuple[int, ...], groups: IntArray | None, correlation: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Standard Gaussian rows that correlate within groups, and a random unit direction."""
    rows = rng.standard_normal(shape)
    if groups is not None:
        shared = rng.standard_normal((count_independent(len(groups), groups), shape[1]))
        rows = np.sqrt(1 - correlation) * rows + np.sqrt(correlation) * shared[groups]
    direction = rng.standard_normal(shape[1])
    return rows, direction / np.linalg.norm(direction)


def _planted(noise: tuple[FloatArray, FloatArray], plan: _Plan, strength: float) -> FloatArray:
    rows, direction = noise
    signal, kept = plan.factors(strength)
    return np.asarray(rows + np.outer(signal * plan.score - (1 - kept) * (rows @ direction), direction))


def _crossings(
    estimator: MIEstimator,
    noise: list[tuple[FloatArray, FloatArray]],
    plan: _Plan,
    labels: NDArray[Any],
    groups: IntArray | None,
    threshold: float,
    report: Callable[[int], None],
) -> FloatArray:
    """Information at which each draw passes the threshold, by halving a bracket of logarithmic strength."""

    def found(strength: NDArray[np.float64]) -> NDArray[np.bool_]:
        units = [
            Unit(x=_planted(each, plan, float(level)), y=labels, groups=groups)
            for each, level in zip(noise, strength, strict=True)
        ]
        return np.array([statistic_of(each)[0] > threshold for each in estimator.estimate_many(units)])

    low, high = (np.full(len(noise), np.log(end)) for end in plan.bracket())
    never = ~found(np.exp(high))
    report(len(noise))
    for step in range(HALVINGS):
        middle = (low + high) / 2
        seen = found(np.exp(middle))
        high, low = np.where(seen, middle, high), np.where(seen, low, middle)
        report((step + 2) * len(noise))
    crossing = [plan.information(strength) for strength in np.exp((low + high) / 2)]
    return np.where(never, np.inf, crossing)
