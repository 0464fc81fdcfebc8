"""What nearest neighbours need not look for: one side is constant, or there are too few rows."""

from __future__ import annotations

from mi_attention.estimators.neighbour_sides import CONSTANT, Side
from mi_attention.estimators.pointwise_estimate import constant_estimate
from mi_attention.estimators.samples import count_independent, warn_if_small
from mi_attention.interface import IntArray, MIEstimate

__all__ = ["nothing_between"]


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
