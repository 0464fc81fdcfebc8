"""The cross-fitted regression probe: I(x; y) of a continuous output from what a regression can use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from mi_attention.estimators.features import with_cosines
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.measured_pair import measured_pair
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.pointwise_estimate import pointwise_estimate
from mi_attention.estimators.samples import (
    warn_if_small,
)
from mi_attention.estimators.scores import normal_scores
from mi_attention.interface import IntArray, MIEstimate

__all__ = ["REGRESSORS", "Regression"]

Matrix = NDArray[np.float64]

# Added to the eigenvalues of the features' covariance, as shares of their mean.
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
FEATURES = 300
NESTED_FOLDS = 5
REGRESSORS = ("linear", "kernel", "boosting")
# Variance of a whitened residual is kept above this share of its mean.
SMALLEST_VARIANCE = 1e-6
MARGINAL_NUMBERS = 2**22


@dataclass(frozen=True)
class Regression(OneByOne):
    """I(x; y) in nats of a continuous output y, one column or several, from a cross-fitted conditional density.

    All columns become normal scores of their ranks. Regressions of y on x are fitted on the training part of every
    fold; the conditional density q(y|x) is Gaussian around a linear stack of their out-of-fold predictions, with one
    covariance times a scale exp(a + b s(x)) that follows a cross-fitted regression s of the log squared residual
    (*heteroscedastic*). Stack, covariance, a and b come from nested folds.

    ``lower_bound`` is the mean of ``local`` = log q(y|x) − log q(y), *usable* information of these regressions (Xu et
    al. 2020), and ``nats`` is the same number: no bias is taken off. In which sense it is a lower bound:

    - One column: q(y) is the standard normal, which the scores follow up to 1/n. Then the expectation of the held-out
      value is I(x; y) − E KL(p(y|x) ‖ q(y|x)), never above I(x; y).
    - Several columns: a fitted q(y) that misfits would add KL(p(y) ‖ q(y)) to the value. Instead q(y) is the mean of
      q(y|x_j) over the held-out rows of the fold, the row itself among them, which is a lower bound in expectation for
      any q(y|x) and any p(y) when rows are independent (van den Oord et al. 2018), and at most the log of the rows in
      a fold. It costs about E[p(y|x)/p(y)] / (rows in a fold): with strong dependence take fewer folds.

    The ranks come from all rows, which is the one thing held-out rows share with training.

    Attributes:
        members: From ``"linear"`` (ridge), ``"kernel"`` (ridge on random cosine features beside the columns: smooth
            dependence on few columns) and ``"boosting"`` (scikit-learn's histogram trees: steps and interactions of a
            few columns, slow).
        folds: At least 2; fewer where there are fewer groups.
        seed: Of folds, features and trees.

    References:
        Barber, Agakov (2003), The IM algorithm; van den Oord, Li, Vinyals (2018), equation 4; Xu et al. (2020).
    """

    members: tuple[str, ...] = ("linear", "kernel")
    folds: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        unknown = [name for name in self.members if name not in REGRESSORS]
        if unknown or not self.members:
            raise ValueError(f"members must be a non-empty choice of {list(REGRESSORS)}, got {self.members}")
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}")

    @property
    def signature(self) -> str:
        """Name, members, folds and seed."""
        return f"regression|members={'+'.join(self.members)}|folds={self.folds}|seed={self.seed}"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats from ``x (n, d)`` or ``(n,)`` and continuous ``y (n,)`` or ``(n, dy)``.

        Returns:
            Exactly 0 where x or y is constant, flagged in ``reason``; undefined for fewer than 10 independent rows.

        Raises:
            ValueError: bad input, and classes in y.
        """
        pair = measured_pair(x, y, groups, type(self).__name__)
        n, instances, independent = pair.n, pair.groups, pair.independent
        if pair.constant:
            return pointwise_estimate(np.zeros(n), instances, self.signature, reason=pair.constant, held_out=True)
        if independent < 2 * NESTED_FOLDS:
            return MIEstimate.undefined("fewer than 10 independent rows", n=n, signature=self.signature)
        warn_if_small(independent)
        a, b = normal_scores(pair.x), normal_scores(pair.y)
        fold = stratified_folds(
            np.zeros(n, dtype=np.int64),
            instances,
            min(self.folds, independent),
            np.random.default_rng([self.seed, 0]),
        )
        owner = fold % min(NESTED_FOLDS, int(fold.max()) + 1)
        means = np.hstack([self._predict(name, a, b, fold, owner) for name in self.members])
        surprise = np.log(np.square(b - _stacked(means, b, owner)).mean(axis=1) + SMALLEST_VARIANCE)[:, None]
        spread = np.hstack([self._predict(name, a, surprise, fold, owner) for name in self.members])
        local = _log_ratio(means, spread, b, fold, owner)
        return pointwise_estimate(local, instances, self.signature, held_out=True)

    def _predict(self, name: str, x: Matrix, y: Matrix, fold: IntArray, owner: IntArray) -> Matrix:
        """``(n, dy)`` out-of-fold predictions of y."""
        if name == "boosting":
            return _boosted(x, y, fold, self.seed)
        rows = x if name == "linear" else with_cosines(x, FEATURES, np.random.default_rng([self.seed, 1]))
        return _ridge(rows, y, fold, owner)


def _ridge(x: Matrix, y: Matrix, fold: IntArray, owner: IntArray) -> Matrix:
    """Out-of-fold ridge predictions; the penalty of a row is the best one on the rows of other owners."""
    found = np.empty((len(PENALTIES), *y.shape))
    moments, cross, sums_x, sums_y = x.T @ x, x.T @ y, x.sum(axis=0), y.sum(axis=0)
    for index in range(int(fold.max()) + 1):
        held = fold == index
        a, b = x[held], y[held]
        count = len(x) - len(a)
        mean_x, mean_y = (sums_x - a.sum(axis=0)) / count, (sums_y - b.sum(axis=0)) / count
        values, vectors = np.linalg.eigh((moments - a.T @ a) / count - np.outer(mean_x, mean_x))
        target = vectors.T @ ((cross - a.T @ b) / count - np.outer(mean_x, mean_y))
        turned = (a - mean_x) @ vectors
        for place, penalty in enumerate(PENALTIES):
            found[place, held] = mean_y + turned @ (target / (np.maximum(values, 0) + penalty * values.mean())[:, None])
    loss = np.square(found - y).mean(axis=2)
    predicted = np.empty_like(y)
    for index in range(int(owner.max()) + 1):
        rows = owner == index
        predicted[rows] = found[int(loss[:, ~rows].mean(axis=1).argmin()), rows]
    return predicted


def _boosted(x: Matrix, y: Matrix, fold: IntArray, seed: int) -> Matrix:
    # scikit-learn's ensembles take seconds to import.
    from sklearn.ensemble import HistGradientBoostingRegressor

    predicted = np.empty_like(y)
    for index in range(int(fold.max()) + 1):
        held = fold == index
        for column in range(y.shape[1]):
            model = HistGradientBoostingRegressor(max_iter=100, learning_rate=0.06, random_state=seed)
            predicted[held, column] = model.fit(x[~held], y[~held, column]).predict(x[held])
    return predicted


def _stacked(predictions: Matrix, y: Matrix, owner: IntArray) -> Matrix:
    """``(n, dy)`` least-squares combination of the out-of-fold predictions, fitted on the rows of other owners."""
    stacked = np.empty_like(y)
    for index in range(int(owner.max()) + 1):
        rows = owner == index
        stacked[rows] = _design(predictions[rows]) @ _coefficients(predictions[~rows], y[~rows])
    return stacked


def _coefficients(predictions: Matrix, y: Matrix) -> Matrix:
    return np.asarray(np.linalg.lstsq(_design(predictions), y, rcond=1e-8)[0])


def _design(predictions: Matrix) -> Matrix:
    return np.hstack([np.ones((len(predictions), 1)), predictions])


def _log_ratio(means: Matrix, spread: Matrix, y: Matrix, fold: IntArray, owner: IntArray) -> Matrix:
    """``(n,)`` log q(y|x) − log q(y) in nats."""
    n, width = y.shape
    local = np.empty(n)
    for index in range(int(owner.max()) + 1):
        rows = owner == index
        coefficients = _coefficients(means[~rows], y[~rows])
        residual = y[~rows] - _design(means[~rows]) @ coefficients
        # The scale follows the predicted log squared residual as far as least squares on other rows bears it out.
        surprise = np.log(np.square(residual).mean(axis=1) + SMALLEST_VARIANCE)
        slopes = _coefficients(spread[~rows], surprise[:, None])
        log_scale = _design(spread) @ slopes
        scale = np.exp(log_scale - log_scale[~rows].mean())[:, 0]
        covariance = (residual / scale[~rows, None]).T @ residual / len(residual)
        factor = np.linalg.cholesky(covariance + SMALLEST_VARIANCE * np.eye(width))
        centre = _design(means[rows]) @ coefficients
        for part in np.unique(fold[rows]):
            inside = fold[rows] == part
            local[np.flatnonzero(rows)[inside]] = _part_ratio(
                y[rows][inside], centre[inside], scale[rows][inside], factor
            )
    return local


def _part_ratio(y: Matrix, centre: Matrix, scale: Matrix, factor: Matrix) -> Matrix:
    width = y.shape[1]
    white_y, white_centre = np.linalg.solve(factor, y.T).T, np.linalg.solve(factor, centre.T).T
    constant = -0.5 * width * np.log(2 * np.pi * scale) - np.log(np.diag(factor)).sum()
    own = constant - 0.5 * np.square(white_y - white_centre).sum(axis=1) / scale
    if width == 1:
        return np.asarray(own + 0.5 * (y[:, 0] ** 2 + np.log(2 * np.pi)))
    marginal = np.empty(len(y))
    block = max(1, MARGINAL_NUMBERS // (len(y) * width))
    for start in range(0, len(y), block):
        distance = np.square(white_y[start : start + block, None] - white_centre[None]).sum(axis=2)
        marginal[start : start + block] = logsumexp(constant - 0.5 * distance / scale, axis=1)
    return np.asarray(own - marginal + np.log(len(y)))
