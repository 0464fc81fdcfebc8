"""Estimates without a bound, from pointwise values or from none."""

from __future__ import annotations

import numpy as np

from mi_attention.estimators.samples import cluster_standard_error
from mi_attention.interface import FloatArray, IntArray, MIEstimate

__all__ = ["constant_estimate", "pointwise_estimate"]


def pointwise_estimate(
    local: FloatArray,
    groups: IntArray | None,
    signature: str,
    ceiling: float | None = None,
    reason: str = "",
    *,
    held_out: bool = False,
) -> MIEstimate:
    """An estimate whose value is the mean of ``local (n,)``, a lower bound where held out; standard error by group."""
    value = float(local.mean())
    return MIEstimate(
        nats=value,
        lower_bound=value if held_out else None,
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
