"""The cross-fitted regression probe: I(x; y) of a continuous output from what a regression can use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import lsq_linear, minimize_scalar
from scipy.special import log_ndtr, logsumexp, ndtri

from mi_attention.estimators.axes import principal_rows
from mi_attention.estimators.features import with_cosines
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.measured_pair import measured_pair
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.pointwise_estimate import pointwise_estimate
from mi_attention.estimators.rows import standardise
from mi_attention.estimators.samples import FEW_ROWS, FEWEST_ROWS, count_independent, warn_if_small
from mi_attention.estimators.scores import normal_scores
from mi_attention.interface import IntArray, MIEstimate

__all__ = ["REGRESSORS", "Regression"]

Matrix = NDArray[np.float64]

# Added to the eigenvalues of the features' covariance, as shares of their mean.
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
FEATURES = 300
NESTED_FOLDS = 5
# Of the stack: predictions of rows held out are shrunk already, and more than all of one is chance.
COEFFICIENT_LIMIT = 1.0
REGRESSORS = ("linear", "axes", "kernel", "boosting")
# Variance of a whitened residual is kept above this share of its mean.
SMALLEST_VARIANCE = 1e-6
MARGINAL_NUMBERS = 2**22
# Where y has ties: how much of the predicted scale is taken, and log variances from which the likeliest is sought.
SCALE_SHARES = (0.0, 0.5, 1.0)
LOG_VARIANCES = tuple(np.linspace(np.log(1e-6), np.log(4.0), 24))


@dataclass(frozen=True)
class Regression(OneByOne):
    """I(x; y) in nats of a continuous output y, one column or several, from a cross-fitted conditional density.

    All columns become normal scores of their ranks (``"axes"`` takes x as it is). Regressions of y on x are fitted on
    the training part of every fold; the conditional density q(y|x) is Gaussian around a linear stack of their
    out-of-fold predictions, with one covariance times a scale exp(a + b s(x)) that follows a cross-fitted regression s
    of the log squared residual (*heteroscedastic*), and q(y) is mixed into it with the weight 1 / (independent training
    rows), so that no row counts for less than minus the log of their number. Stack, covariance, a and b come from the
    other ones of at most five unions of folds. Predictions are taken without the mean of y in their training rows, and
    coefficients of the stack lie between 0 and 1: a mean of the other rows, and fits that saw the tested rows, would
    tell of these.

    ``lower_bound`` is the mean of ``local`` = log q(y|x) − log q(y), *usable* information of these regressions (Xu et
    al. 2020), and ``nats`` is the same number: no bias is taken off. In which sense it is a lower bound:

    - One column: q(y) is the standard normal, which the scores follow up to 1/n; of values that repeat, the mass of
      their interval of scores is compared, and variance and scale are those of the highest likelihood on other rows.
      Then the expectation of the held-out value is I(x; y) − E KL(p(y|x) ‖ q(y|x)), never above I(x; y).
    - Several columns: a fitted q(y) that misfits would add KL(p(y) ‖ q(y)) to the value. Instead q(y) is the mean of
      q(y|x_j) over the held-out rows of the fold, the row itself among them, which is a lower bound in expectation for
      any q(y|x) and any p(y) when rows are independent (van den Oord et al. 2018), and at most the log of the rows in
      a fold. It costs about E[p(y|x)/p(y)] / (rows in a fold): with strong dependence take fewer folds. The stack is
      then learned from 25 further fits of each member, nested in the rows of the other unions.

    The ranks (and the correlations of several columns) come from all rows. In one column the stack learns from
    predictions by fits that saw the tested rows too, which the bounds of its coefficients keep in check: without any
    information the mean value lies below 0 and at most 5 % of one-sided 95 % intervals above it, from 10 rows or groups
    on, with 2 folds and with as many as there are rows.

    Attributes:
        members: From ``"linear"`` (ridge), ``"axes"`` (ridge on the principal axes of the columns as they are, tails
            cut at 3.5 standard deviations, beside others only where there are several columns: ranks blur directions of
            small variance; of .35 nats in the last direction of a spectrum from e^2.5 to e^-2.5, 2,000 rows of 128
            columns, .31 are read with it and .07 without, ``tests/benchmarks/spectrum.py``), ``"kernel"`` (ridge on
            random cosine features beside the columns: smooth dependence on few columns) and ``"boosting"``
            (scikit-learn's histogram trees: steps and interactions of a few columns, slow).
        folds: At least 2; fewer where there are fewer groups.
        seed: Of folds, features and trees.

    References:
        Barber, Agakov (2003), The IM algorithm; van den Oord, Li, Vinyals (2018), equation 4; Xu et al. (2020).
    """

    members: tuple[str, ...] = ("linear", "axes", "kernel")
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
        if independent < FEWEST_ROWS:
            return MIEstimate.undefined(FEW_ROWS, n=n, signature=self.signature)
        warn_if_small(independent)
        a, b = _Inputs.of(pair.x), normal_scores(pair.y)
        ties = _ties(pair.y[:, 0]) if pair.y.shape[1] == 1 else None
        b = b if ties is None else ties.scores[:, None]
        fold = stratified_folds(
            np.zeros(n, dtype=np.int64),
            instances,
            min(self.folds, independent),
            np.random.default_rng([self.seed, 0]),
        )
        owner = fold % min(NESTED_FOLDS, int(fold.max()) + 1)
        shares = _shares(b)
        means = _with_shared(self._predictions(a, b, fold, owner), shares)
        stack = self._stack(means, shares, a, b, owner, instances)
        surprise = _log_square(b - _combined(means, stack[owner]), None if ties is None else ties.within)
        spread = self._predictions(a, surprise[:, None], fold, owner)
        local = _log_ratio(means, stack, spread, b, fold, owner, ties)
        local = _smoothed(local, _training_pieces(fold, instances))
        return pointwise_estimate(local, instances, self.signature, held_out=True)

    def _stack(
        self, means: Matrix, shares: Matrix | None, x: _Inputs, y: Matrix, owner: IntArray, groups: IntArray | None
    ) -> Matrix:
        """``(owners, m, dy)`` coefficients of the predictions, fitted on the rows of other owners.

        Of several columns from predictions by fits that saw these rows alone: without the cost of estimating a margin,
        which outweighs it in one column, what ``_coefficients`` says of chance would show.
        """
        found = []
        for index in range(int(owner.max()) + 1):
            rest = owner != index
            inside = means[:, rest]
            if shares is not None:
                some = None if groups is None else np.unique(groups[rest], return_inverse=True)[1]
                pieces = min(NESTED_FOLDS, count_independent(int(rest.sum()), some))
                rng = np.random.default_rng([self.seed, 2])
                fold = stratified_folds(np.zeros(int(rest.sum()), dtype=np.int64), some, pieces, rng)
                inside = _with_shared(self._predictions(x.of_rows(rest), y[rest], fold, fold), shares)
            found.append(_coefficients(inside, y[rest]))
        return np.stack(found)

    def _predictions(self, x: _Inputs, y: Matrix, fold: IntArray, owner: IntArray) -> Matrix:
        """``(m, n, dy)`` out-of-fold predictions of y by all members, each less the mean of y in its training rows.

        That mean is opposite to the mean of the rows held out, which it would tell.
        """
        used = [name for name in self.members if name != "axes" or x.scores.shape[1] > 1 or len(self.members) == 1]
        return np.stack([self._predict(name, x, y, fold, owner) for name in used])

    def _predict(self, name: str, x: _Inputs, y: Matrix, fold: IntArray, owner: IntArray) -> Matrix:
        if name == "boosting":
            return _boosted(x.scores, y, fold, self.seed)
        if name == "kernel":
            return _ridge(with_cosines(x.scores, FEATURES, np.random.default_rng([self.seed, 1])), y, fold, owner)
        return _ridge(x.scores if name == "linear" else x.axes, y, fold, owner)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """The states as members read them.

    Attributes:
        scores: ``(n, d)`` normal scores of every column.
        axes: ``(n, k)`` the columns as they are, along their principal axes.
    """

    scores: Matrix
    axes: Matrix

    @classmethod
    def of(cls, x: Matrix) -> _Inputs:
        """Of raw columns."""
        rows = principal_rows(standardise(x))
        return cls(scores=normal_scores(x), axes=np.concatenate([block for _, _, block in rows.blocks()]))

    def of_rows(self, rows: NDArray[np.bool_]) -> _Inputs:
        """Some rows."""
        return _Inputs(self.scores[rows], self.axes[rows])


def _ridge(x: Matrix, y: Matrix, fold: IntArray, owner: IntArray) -> Matrix:
    """Out-of-fold ridge predictions less the training mean; a row's penalty is the best on the rows of other owners."""
    found = np.empty((len(PENALTIES), *y.shape))
    loss = np.empty((len(PENALTIES), len(y)))
    moments, cross, sums_x, sums_y = x.T @ x, x.T @ y, x.sum(axis=0), y.sum(axis=0)
    for index in range(int(fold.max()) + 1):
        held = fold == index
        a, b = x[held], y[held]
        count = len(x) - len(a)
        mean_x, mean_y = (sums_x - a.sum(axis=0)) / count, (sums_y - b.sum(axis=0)) / count
        values, vectors = np.linalg.eigh((moments - a.T @ a) / count - np.outer(mean_x, mean_x))
        target = vectors.T @ ((cross - a.T @ b) / count - np.outer(mean_x, mean_y))
        turned = (a - mean_x) @ vectors
        # Columns that do not vary outside the fold have no eigenvalue to be penalised by.
        level = values.mean() if values.mean() > 0 else 1.0
        for place, penalty in enumerate(PENALTIES):
            found[place, held] = turned @ (target / (np.maximum(values, 0) + penalty * level)[:, None])
        loss[:, held] = np.square(found[:, held] + mean_y - b).mean(axis=2)
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
            level = y[~held, column].mean()
            predicted[held, column] = model.fit(x[~held], y[~held, column]).predict(x[held]) - level
    return predicted


def _shares(y: Matrix) -> Matrix | None:
    """``(dy, dy)`` what the prediction of each column (row) adds to that of every other; None of a single one.

    What columns have in common is predicted better by all of them: predictions are added up in proportion to the
    correlations, so that a single common signal comes back as it is with the mean of their errors.
    """
    if y.shape[1] == 1:
        return None
    correlation = np.corrcoef(y, rowvar=False)
    return np.asarray(correlation / np.square(correlation).sum(axis=0))


def _with_shared(predictions: Matrix, shares: Matrix | None) -> Matrix:
    """``(m', n, dy)`` predictions, and beside them what those of all columns say of each."""
    return predictions if shares is None else np.concatenate([predictions, predictions @ shares])


def _coefficients(predictions: Matrix, y: Matrix) -> Matrix:
    """``(m, dy)`` least-squares coefficients of the predictions of each column, between 0 and 1.

    The fits behind the predictions saw the rows on which the combination is tested. What they make of chance is
    opposite to chance in those rows, so that a free coefficient turns negative and reads it as dependence; a large one
    magnifies it.
    """
    coefficients = np.empty((len(predictions), y.shape[1]))
    for column in range(y.shape[1]):
        # The triangle holds all that least squares needs of many rows.
        frame, triangle = np.linalg.qr(predictions[:, :, column].T)
        coefficients[:, column] = lsq_linear(triangle, frame.T @ y[:, column], (0, COEFFICIENT_LIMIT), "bvls").x
    return coefficients


def _combined(predictions: Matrix, coefficients: Matrix) -> Matrix:
    """``(n, dy)`` predictions ``(m, n, dy)`` with coefficients ``(m, dy)``, or ``(n, m, dy)`` of each row."""
    if coefficients.ndim == 3:
        return np.asarray((predictions * coefficients.swapaxes(0, 1)).sum(axis=0))
    return np.asarray((predictions * coefficients[:, None]).sum(axis=0))


def _log_square(residual: Matrix, within: Matrix | None) -> Matrix:
    """``(n,)`` log of the mean squared residual ``(n, dy)``; of tied rows that of any score within their interval."""
    squares = np.square(residual).mean(axis=1) + SMALLEST_VARIANCE
    return np.asarray(np.log(squares if within is None else squares + within))


def _smoothed(local: Matrix, pieces: Matrix) -> Matrix:
    """``(n,)`` log ratios of q mixed with q(y) by the weight 1 / ``pieces (n,)``: no row counts for less than its log.

    As the probe's ``stack.smoothed_log_probabilities``: so many rows cannot tell that a value never occurs.
    """
    return np.asarray(np.logaddexp(np.log1p(-1 / pieces) + local, -np.log(pieces)))


def _training_pieces(fold: IntArray, groups: IntArray | None) -> Matrix:
    """``(n,)`` independent rows, or groups, outside the fold of each row."""
    first = slice(None) if groups is None else np.unique(groups, return_index=True)[1]
    held = np.bincount(fold[first])
    return np.asarray((held.sum() - held)[fold], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Ties:
    """Equal values of one column: each set is an interval of normal scores, and a row any score within it.

    Attributes:
        tied: ``(n,)`` rows whose value another row has too.
        scores: ``(n,)`` mean normal score of each set; of a single row its own.
        within: ``(n,)`` variance of the scores of each set.
        edges: ``(2, n)`` ends of the interval of each set.
        log_share: ``(n,)`` log of the share of rows in it.
    """

    tied: NDArray[np.bool_]
    scores: Matrix
    within: Matrix
    edges: Matrix
    log_share: Matrix


def _ties(y: Matrix) -> _Ties | None:
    """Of one column ``(n,)``; None where all values differ."""
    n = len(y)
    inverse, counts = np.unique(y, return_inverse=True, return_counts=True)[1:]
    if len(counts) == n:
        return None
    ordered = ndtri((np.arange(n) + 0.5) / n)
    last = counts.cumsum()
    first = last - counts
    scores = np.add.reduceat(ordered, first) / counts
    within = np.add.reduceat(np.square(ordered - np.repeat(scores, counts)), first) / counts
    return _Ties(
        tied=(counts > 1)[inverse],
        scores=scores[inverse],
        within=within[inverse],
        edges=ndtri(np.stack([first, last]) / n)[:, inverse],
        log_share=np.log(counts / n)[inverse],
    )


def _log_mass(low: Matrix, high: Matrix) -> Matrix:
    """Log of the standard normal's mass between ``low`` and ``high``, in the tails too."""
    # Differences of the upper tail are those of the lower one turned over.
    turned = low + high > 0
    below, above = log_ndtr(np.where(turned, -high, low)), log_ndtr(np.where(turned, -low, high))
    return np.asarray(above + np.log1p(-np.exp(below - above)))


def _log_ratio(
    means: Matrix, stack: Matrix, spread: Matrix, y: Matrix, fold: IntArray, owner: IntArray, ties: _Ties | None
) -> Matrix:
    """``(n,)`` log q(y|x) − log q(y) in nats."""
    n, width = y.shape
    local = np.empty(n)
    for index in range(int(owner.max()) + 1):
        rows = owner == index
        centre = _combined(means, stack[index])
        residual = (y - centre)[~rows]
        # The scale follows the predicted log squared residual as far as least squares on other rows bears it out.
        surprise = _log_square(residual, None if ties is None else ties.within[~rows])
        slopes = _coefficients(spread[:, ~rows], (surprise - surprise.mean())[:, None])
        log_scale = _combined(spread, slopes)[:, 0]
        log_scale -= log_scale[~rows].mean()
        if ties is not None:
            local[rows] = _likeliest_ratio(y[:, 0], centre[:, 0], log_scale, ties, ~rows)[rows]
            continue
        scale = np.exp(log_scale)
        covariance = (residual / scale[~rows, None]).T @ residual / len(residual)
        factor = np.linalg.cholesky(covariance + SMALLEST_VARIANCE * np.eye(width))
        for part in np.unique(fold[rows]):
            inside = rows & (fold == part)
            local[inside] = _part_ratio(y[inside], centre[inside], scale[inside], factor)
    return local


def _likeliest_ratio(y: Matrix, centre: Matrix, log_scale: Matrix, ties: _Ties, fitted: NDArray[np.bool_]) -> Matrix:
    """``(n,)`` log ratios of one column with ties, whose variance has the highest likelihood on the ``fitted`` rows.

    Moments would ask of every set of equal values how far it scatters, when all that counts is whether it is hit.
    """
    pieces = np.full(len(y), float(fitted.sum()))

    def ratio(share: float, log_variance: float) -> Matrix:
        return _tied_ratio(y, centre, log_variance + share * log_scale, ties)

    def gain(share: float, log_variance: float) -> float:
        return float(_smoothed(ratio(share, log_variance), pieces)[fitted].mean())

    best = max(((share, start) for share in SCALE_SHARES for start in LOG_VARIANCES), key=lambda pair: gain(*pair))
    step = LOG_VARIANCES[1] - LOG_VARIANCES[0]
    near = (best[1] - step, best[1] + step)
    return ratio(best[0], float(minimize_scalar(lambda v: -gain(best[0], v), bounds=near, method="bounded").x))


def _tied_ratio(y: Matrix, centre: Matrix, log_variance: Matrix, ties: _Ties) -> Matrix:
    """``(n,)`` log q(y|x) − log q(y): densities of single values, masses of the intervals of tied ones."""
    local = 0.5 * (np.square(y) - log_variance - np.square(y - centre) / np.exp(log_variance))
    low, high = (ties.edges[:, ties.tied] - centre[ties.tied]) / np.exp(0.5 * log_variance[ties.tied])
    local[ties.tied] = _log_mass(low, high) - ties.log_share[ties.tied]
    return np.asarray(local)


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
