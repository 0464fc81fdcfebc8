"""Mutual information of jointly Gaussian vectors, from canonical correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.estimators.canonical import held_out_log_ratio
from mi_attention.estimators.elliptical import (
    chance_spread,
    full_rank,
    gaussian_information,
    grouped_information,
)
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.measured_pair import measured_pair
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.samples import (
    cluster_standard_error,
    warn_if_small,
)
from mi_attention.estimators.scores import normal_scores
from mi_attention.interface import IntArray, MIEstimate

__all__ = ["UNBOUNDED", "Gaussian"]

UNBOUNDED = "unbounded: x determines a direction of y"
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
            Exactly 0 where x or y is constant, flagged in ``reason``; undefined for fewer than 4 independent rows,
            and where x determines a direction of y.

        Raises:
            ValueError: bad input, and classes in y.
        """
        pair = measured_pair(x, y, groups, type(self).__name__)
        n, instances, independent = pair.n, pair.groups, pair.independent
        if pair.constant:
            return self._result(0.0, np.zeros(n), pair.constant, instances)
        if independent < 4:
            return MIEstimate.undefined("fewer than 4 independent rows", n=n, signature=self.signature)
        warn_if_small(independent)
        a, b = pair.x, pair.y
        if self.scores == "ranks":
            a, b = normal_scores(a), normal_scores(b)
        width, other = full_rank(a).shape[1], full_rank(b).shape[1]
        columns = width + other
        plain = gaussian_information(a, b, corrected=False) if n > columns + 1 else float("nan")
        if plain == np.inf:
            return MIEstimate.undefined(UNBOUNDED, n=n, signature=self.signature)
        fold = stratified_folds(
            np.zeros(n, dtype=np.int64),
            instances,
            min(self.folds, independent),
            np.random.default_rng([self.seed, 0]),
        )
        nest = fold % min(NESTED_FOLDS, int(fold.max()) + 1)
        local = held_out_log_ratio(a, b, fold, nest, independent).sum(axis=1)
        level, spread = float(local.mean()), 0.0
        if independent >= (ROWS_PER_COLUMN if instances is None else GROUPS_PER_COLUMN) * columns:
            level = gaussian_information(a, b) if instances is None else grouped_information(a, b, fold, independent)
            spread = chance_spread(independent, width, other)
        return self._result(level, local, "", instances, spread)

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
