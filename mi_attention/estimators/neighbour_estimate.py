"""Pointwise nearest-neighbour values as an estimate."""

from __future__ import annotations

import numpy as np

from mi_attention.estimators.neighbour_sides import CONSTANT, Side
from mi_attention.estimators.samples import cluster_standard_error, count_independent, warn_if_small
from mi_attention.interface import FloatArray, IntArray, MIEstimate

__all__ = ["constant_estimate", "neighbour_estimate", "nothing_between"]


def neighbour_estimate(
    local: FloatArray, groups: IntArray | None, signature: str, ceiling: float | None = None, reason: str = ""
) -> MIEstimate:
    """An estimate that is no bound, whose value is the mean of ``local (n,)``; standard error by group."""
    return MIEstimate(
        nats=float(local.mean()),
        lower_bound=None,
        local=local,
        standard_error=cluster_standard_error(local, groups),
        n=len(local),
        ceiling=ceiling,
        status="ok",
        reason=reason,
        signature=signature,
        groups=groups,
    )


def constant_estimate(
    reason: str, n: int, groups: IntArray | None, signature: str, ceiling: float | None = None
) -> MIEstimate:
    """Exactly 0 with error 0: one side is constant, which ``reason`` says."""
    return MIEstimate(
        nats=0.0,
        lower_bound=None,
        local=np.zeros(n),
        standard_error=0.0,
        n=n,
        ceiling=ceiling,
        status="ok",
        reason=reason,
        signature=signature,
        groups=groups,
    )


def nothing_between(
    first: Side, second: Side, groups: IntArray | None, k: int, signature: str
) -> tuple[MIEstimate | None, float | None]:
    """The estimate where two sides leave nothing to look for, and H of the side of fewest nats, the ceiling.

    Args:
        first: One side.
        second: The other.
        groups: ``(n,)`` or None.
        k: Neighbours.
        signature: Of the estimator.

    Returns:
        Exactly 0 where a numeric side is constant, undefined for an obstacle or for k groups or fewer, None else.
    """
    n = len(first.values)
    ceiling = min((side.entropy for side in (first, second) if side.entropy is not None), default=None)
    for side in (first, second):
        reason = side.obstacle(groups)
        if reason in CONSTANT:
            return constant_estimate(reason, n, groups, signature, ceiling), ceiling
        if reason:
            return MIEstimate.undefined(reason, n=n, signature=signature, ceiling=ceiling), ceiling
    independent = count_independent(n, groups)
    if independent - 1 < k:
        return MIEstimate.undefined("fewer than k other groups", n=n, signature=signature, ceiling=ceiling), ceiling
    warn_if_small(independent)
    return None, ceiling
