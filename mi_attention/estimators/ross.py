"""Ross's nearest-neighbour estimator of I(x; class), for states of low dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from mi_attention.estimators.labels import as_classes
from mi_attention.estimators.neighbours import (
    closed,
    distance_blocks,
    kth_smallest,
    rescale,
    sorted_counts,
    sorted_radii,
    tree_counts,
)
from mi_attention.estimators.samples import (
    as_groups,
    as_states,
    check_finite,
    cluster_standard_error,
    count_independent,
    run_each,
    warn_if_small,
)
from mi_attention.interface import FloatArray, IntArray, MIEstimate, Unit

__all__ = ["Ross", "ross_local"]

TREE_WIDTH = 4


@dataclass(frozen=True)
class Ross:
    """k-nearest-neighbour estimate of I(x; y) in nats for classes y: exact neighbours, signed, never clipped.

    Columns are centred and scaled to unit variance first (constant ones are left out), so that offset and scale of a
    column do not matter; distances are Euclidean. The value can be negative at independence, and exceeds H(Y) by at
    most about (C − 1)/2n.

    Ties: balls are closed. Where several same-class rows lie on the rim all of them count (k_i > k), and where the k
    nearest coincide with the row (distance 0) the row itself joins both counts, as in the mixture estimator of Gao et
    al. (2017): rounded data, duplicates and ReLU zeros need no added noise.

    Meant for d up to about 5: at d = 128 it stays about half a nat low between 500 and 10,000 rows. Use Probe there.

    With ``groups``, rows of the same group are no neighbours of each other. Where rows of a group nearly coincide, they
    come as neighbours all together: take k above twice a group's rows, else the value is biased (by −0.26 to +0.18
    nats at k = 3 and 8 with 8 near copies an instance, 0 at k = 20). ``local`` values of neighbouring rows share
    neighbours, so ``standard_error`` is approximate. ``lower_bound`` is None: this is an estimate, not a bound.

    Time: O(n log n) for d = 1, a k-d tree up to d = 4, else (and with groups) O(n² d) in blocks of memory O(block · n).

    Attributes:
        k: Neighbours, at least 1; a class with k rows or fewer uses all its other rows.

    References:
        Ross (2014), Mutual information between discrete and continuous data sets, equation 2.
        Gao, Kannan, Oh, Viswanath (2017), Estimating mutual information for discrete-continuous mixtures.
    """

    k: int = 3

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")

    @property
    def signature(self) -> str:
        """Name and k."""
        return f"ross|k={self.k}"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats from ``x (n, d)`` or ``(n,)`` and classes ``y (n,)``.

        Returns:
            Undefined for a single class, and where a class has fewer than two rows (groups); exactly 0 for a constant
            state, flagged in ``reason``.

        Raises:
            ValueError: bad input, and k ≥ n.
        """
        states = as_states(x)
        n = len(states)
        labels = as_classes(y, n)
        instances = as_groups(groups, n)
        check_finite(states)
        if self.k >= n:
            raise ValueError(f"k={self.k} needs more than {self.k} rows but x has {n}; lower k or add rows")
        ceiling = labels.entropy
        if len(labels.classes) < 2:
            return MIEstimate.undefined("a single class", n=n, signature=self.signature, ceiling=0.0)
        scaled = rescale(states)
        if scaled.shape[1] == 0:
            return self._result(np.zeros(n), 0.0, ceiling, "constant state", instances)
        if instances is None:
            if int(labels.counts.min()) < 2:
                return MIEstimate.undefined(
                    "class has fewer than 2 rows", n=n, signature=self.signature, ceiling=ceiling
                )
        elif not _reachable(labels.codes, instances):
            return MIEstimate.undefined("class has fewer than 2 groups", n=n, signature=self.signature, ceiling=ceiling)
        warn_if_small(count_independent(n, instances))
        local = ross_local(scaled, labels.codes, self.k, instances)
        return self._result(local, cluster_standard_error(local, instances), ceiling, "", instances)

    @overload
    def estimate_many(self, units: Sequence[Unit]) -> list[MIEstimate]: ...

    @overload
    def estimate_many(self, units: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> list[MIEstimate]: ...

    def estimate_many(self, units: Any, y: Any = None, groups: Any = None) -> list[MIEstimate]:
        """Estimate a sequence of ``Unit``, or states ``(U, n, d)`` with one ``y``, one after another."""
        return run_each(self.estimate, units, y, groups)

    def _result(
        self, local: FloatArray, standard_error: float, ceiling: float, reason: str, groups: IntArray | None
    ) -> MIEstimate:
        return MIEstimate(
            nats=float(local.mean()),
            lower_bound=None,
            local=local,
            standard_error=standard_error,
            n=len(local),
            ceiling=ceiling,
            status="ok",
            reason=reason,
            signature=self.signature,
            groups=groups,
        )


def ross_local(x: NDArray[np.float64], codes: IntArray, k: int, groups: IntArray | None = None) -> NDArray[np.float64]:
    """Pointwise values psi(N) + psi(k_i) − psi(N_y) − psi(m_i) in nats, whose mean is the estimate.

    N is one more than the candidates of a row, N_y the same among its class, k_i and m_i how many of its class and of
    all lie in the closed ball that just holds k of its class.

    Args:
        x: ``(n, d)`` float64 of about unit scale.
        codes: ``(n,)`` classes, each with a candidate neighbour for every row.
        k: Neighbours.
        groups: ``(n,)``; rows of one group are no candidates of each other.
    """
    if groups is not None or x.shape[1] > TREE_WIDTH:
        counted = _counts_by_block(x, codes, k, groups)
    elif x.shape[1] == 1:
        counted = _counts_sorted(x[:, 0], codes, k)
    else:
        counted = _counts_by_tree(x, codes, k)
    radius, own, every, own_candidates, candidates = counted
    # At distance 0 there is no rim: the row is one of the points that coincide.
    self_counts = (closed(radius) <= closed(np.zeros(1))).astype(np.float64)
    return np.asarray(
        digamma(candidates + 1)
        + digamma(own + self_counts)
        - digamma(own_candidates + 1)
        - digamma(every + self_counts)
    )


_Counts = tuple[NDArray[np.float64], IntArray, IntArray, IntArray, IntArray]


def _counts_sorted(x: NDArray[np.float64], codes: IntArray, k: int) -> _Counts:
    n = len(x)
    radius, own, size = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for label in range(int(codes.max()) + 1):
        member = np.flatnonzero(codes == label)
        order = member[np.argsort(x[member], kind="stable")]
        ordered = x[order]
        radius[order] = sorted_radii(ordered, min(k, len(member) - 1))
        own[order] = sorted_counts(ordered, ordered, radius[order]) - 1
        size[order] = len(member) - 1
    return radius, own, sorted_counts(np.sort(x), x, radius) - 1, size, np.full(n, n - 1)


def _counts_by_tree(x: NDArray[np.float64], codes: IntArray, k: int) -> _Counts:
    n = len(x)
    radius, own, size = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for label in range(int(codes.max()) + 1):
        member = np.flatnonzero(codes == label)
        tree = cKDTree(x[member])
        near = min(k, len(member) - 1)
        radius[member] = np.asarray(tree.query(x[member], k=[near + 1])[0])[:, 0]
        own[member] = tree_counts(tree, x[member], radius[member], norm=2.0) - 1
        size[member] = len(member) - 1
    return radius, own, tree_counts(cKDTree(x), x, radius, norm=2.0) - 1, size, np.full(n, n - 1)


def _counts_by_block(x: NDArray[np.float64], codes: IntArray, k: int, groups: IntArray | None) -> _Counts:
    n = len(x)
    radius = np.empty(n)
    own, every, size, candidates = (np.empty(n, dtype=np.int64) for _ in range(4))
    pieces = np.arange(n) if groups is None else groups
    for start, stop, distance in distance_blocks(x):
        distance[pieces[start:stop, None] == pieces[None]] = np.inf
        same = codes[start:stop, None] == codes[None]
        within = np.where(same, distance, np.inf)
        size[start:stop] = np.isfinite(within).sum(axis=1)
        candidates[start:stop] = np.isfinite(distance).sum(axis=1)
        radius[start:stop] = kth_smallest(within, np.minimum(k, size[start:stop]))
        reach = closed(radius[start:stop])[:, None]
        own[start:stop] = (within <= reach).sum(axis=1)
        every[start:stop] = (distance <= reach).sum(axis=1)
    return radius, own, every, size, candidates


def _reachable(codes: IntArray, groups: IntArray) -> bool:
    """Whether every row has a row of its class in another group."""
    classes = int(codes.max()) + 1
    pairs = np.unique(groups * classes + codes)
    return int(np.bincount(pairs % classes, minlength=classes).min()) >= 2
