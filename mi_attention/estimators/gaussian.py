"""Mutual information of jointly Gaussian vectors, from canonical correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.estimators.canonical import held_out_log_ratio
from mi_attention.estimators.elliptical import (
    chance_spread,
    full_rank,
    gaussian_information,
    grouped_information,
    pair_information,
)
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.measured_pair import measured_pair
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.samples import (
    FEW_ROWS,
    FEWEST_ROWS,
    cluster_standard_error,
    warn_if_small,
)
from mi_attention.estimators.scores import normal_scores, rank_resolution
from mi_attention.interface import IntArray, MIEstimate

__all__ = ["Gaussian", "beyond_ranks", "why_unbounded"]

Matrix = NDArray[np.float64]

UNBOUNDED = "unbounded: x determines a direction of y"
ONE_FOLD = "without the rows of one fold x determines a direction of y: the dependence is too strong to tell; add rows"
# Nats of a held-out row below which its fold is looked at: outliers reach that, and a fit that left no variance.
SURPRISING = -100.0
NESTED_FOLDS = 5
# The exact correction needs this many rows a column; with fewer its spread exceeds what it removes.
ROWS_PER_COLUMN = 2
GROUPS_PER_COLUMN = 4


@dataclass(frozen=True)
class Gaussian(OneByOne):
    """I(x; y) in nats of Gaussian vectors x and y: −½ Σ log(1 − ρ_i²) over canonical correlations ρ_i.

    **Blind to everything but linear-Gaussian dependence**: a donut, an XOR, a shared scale read 0. Use ``Copula`` for
    what lies beyond.

    - ``lower_bound``: the mean held-out log ratio log q(x, y) − log q(x) − log q(y), with q the Gaussian of the
      canonical coordinates of the other folds. Directions are shrunk by a ridge and correlations by what chance
      gives; nothing of either has seen the row (``canonical.held_out_log_ratio``). In expectation it is I(x; y) −
      KL(p(x,y) ‖ q(x,y)) + KL(p(x) ‖ q(x)) + KL(p(y) ‖ q(y)): a lower bound of I(x; y) where x or y is itself
      Gaussian, which with ``scores="ranks"`` is so (to 1/n) whenever x or y is a single column. Else it can exceed
      I(x; y): on a bivariate Cauchy by 1 nat.
    - ``nats``: without the bias of sampling (see ``elliptical.gaussian_information``) where rows are independent and
      at least twice as many as the columns of x and y; with at least four groups a column by
      ``elliptical.grouped_information``; else the held-out value. Signed.
      With ``scores="ranks"`` a pair counts for at most log(n/√(2π)) nats, more than which the ranks of n independent
      rows cannot show (``scores.rank_resolution``); ``reason`` says so where that is less than the pair reads.
    - ``standard_error``: of the mean of ``local`` and, where ``nats`` is not the held-out value, of what it varies by
      at independence (``elliptical.chance_spread``), which the shrunk ``local`` does not show.

    Attributes:
        scores: ``"raw"`` takes the columns as they are; ``"ranks"`` makes every margin normal by ranks first (a
            Gaussian copula, Ince et al. 2017), so that monotone maps of single columns change nothing.
        folds: At least 3; fewer where there are fewer groups.
        seed: Of the folds.

    References:
        Ince et al. (2017), A statistical framework for neuroimaging data analysis based on mutual information
        estimated via a Gaussian copula; Misra, Singh, Demchuk (2005), on the entropy of a multivariate normal.
    """

    scores: Literal["raw", "ranks"] = "raw"
    folds: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        if self.scores not in ("raw", "ranks"):
            raise ValueError(f"scores must be 'raw' or 'ranks', got {self.scores!r}")
        if self.folds < 3:
            raise ValueError(f"folds must be at least 3, got {self.folds}")

    @property
    def signature(self) -> str:
        """Name, scores, folds and seed."""
        return f"gaussian|scores={self.scores}|folds={self.folds}|seed={self.seed}"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats from ``x (n, d)`` or ``(n,)`` and continuous ``y (n,)`` or ``(n, dy)``.

        Returns:
            Exactly 0 where x or y is constant, flagged in ``reason``; undefined for fewer than 10 independent rows,
            where x determines a direction of y, and where it does so in their ranks or without the rows of one fold.

        Raises:
            ValueError: bad input, and classes in y.
        """
        pair = measured_pair(x, y, groups, type(self).__name__)
        n, instances, independent = pair.n, pair.groups, pair.independent
        if pair.constant:
            return self._result(0.0, np.zeros(n), pair.constant, instances)
        if independent < FEWEST_ROWS:
            return MIEstimate.undefined(FEW_ROWS, n=n, signature=self.signature)
        warn_if_small(independent)
        a, b, most = pair.x, pair.y, np.inf
        if self.scores == "ranks":
            a, b, most = normal_scores(a), normal_scores(b), rank_resolution(independent)
        width, other = full_rank(a).shape[1], full_rank(b).shape[1]
        columns = width + other
        strongest = float(pair_information(a, b).max()) if n > columns + 1 else 0.0
        if strongest == np.inf:
            return MIEstimate.undefined(why_unbounded(pair.x, pair.y), n=n, signature=self.signature)
        reason = beyond_ranks(independent) if strongest > most else ""
        fold = stratified_folds(
            np.zeros(n, dtype=np.int64),
            instances,
            min(self.folds, independent),
            np.random.default_rng([self.seed, 0]),
        )
        nest = fold % min(NESTED_FOLDS, int(fold.max()) + 1)
        # Where both coordinates of a row agree, its log ratio is ½ above the information of the correlation.
        most_held_out = most - 0.5 if reason else most
        local = held_out_log_ratio(a, b, fold, nest, independent, most_held_out).sum(axis=1)
        level, spread = float(local.mean()), 0.0
        if independent >= (ROWS_PER_COLUMN if instances is None else GROUPS_PER_COLUMN) * columns:
            spread = chance_spread(independent, width, other)
            if instances is None:
                level = gaussian_information(a, b, most=most)
            elif not reason:
                try:
                    level = grouped_information(a, b, fold, independent)
                except np.linalg.LinAlgError:
                    return MIEstimate.undefined(ONE_FOLD, n=n, signature=self.signature)
        held_out = float(local.mean())
        if local.min() < SURPRISING or level < held_out - 1:
            strongest = _strongest_without_a_fold(a, b, fold)
            if strongest == np.inf:
                return MIEstimate.undefined(ONE_FOLD, n=n, signature=self.signature)
            if strongest > most and not reason:
                reason, level = beyond_ranks(independent), held_out
        return self._result(level, local, reason, instances, spread)

    def _result(self, nats: float, local: Any, reason: str, groups: IntArray | None, spread: float = 0.0) -> MIEstimate:
        return MIEstimate(
            nats=nats,
            lower_bound=float(local.mean()),
            local=local,
            standard_error=float(np.hypot(cluster_standard_error(local, groups), spread)),
            n=len(local),
            ceiling=None,
            status="ok",
            reason=reason,
            signature=self.signature,
            groups=groups,
        )


def _strongest_without_a_fold(x: Matrix, y: Matrix, fold: IntArray) -> float:
    """Nats of the strongest pair of the training rows of any fold; 0 where they are too few for one."""
    columns = x.shape[1] + y.shape[1]
    training = [fold != index for index in range(int(fold.max()) + 1)]
    return max(
        (float(pair_information(x[rows], y[rows]).max()) for rows in training if rows.sum() > columns + 1), default=0.0
    )


def beyond_ranks(independent: int) -> str:
    """Why the value is held to what ranks can show."""
    return (
        f"ranks of x and y largely agree: {independent} independent rows cannot tell dependence of more than about "
        f"{rank_resolution(independent):.1f} nats a pair, and there may be more"
    )


def why_unbounded(x: Matrix, y: Matrix) -> str:
    """Whether x determines a direction of y by the values, or by their ranks alone."""
    if pair_information(x, y).max() == np.inf:
        return UNBOUNDED
    return (
        f"the ranks of x and y coincide in all {len(x)} rows, in a column or a direction: the dependence is too strong "
        "to tell; add rows"
    )
