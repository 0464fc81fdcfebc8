"""The order attention gives to aligned positions, summed over the instances of a run.

The mean over instances needs them only once: with M = mean_i w_i sign(a_ip − a_iq), where
w_i = 1/√(untied pairs of a_i), mean_i tau-b(m, a_i) = Σ_{p<q} M_pq sign(m_p − m_q) / √(untied pairs of m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray
from mi_attention.measures.pair_signs import pair_signs

__all__ = ["AttentionOrder", "attention_order"]

_BLOCK_PAIRS = 2**20


@dataclass(frozen=True, eq=False)
class AttentionOrder:
    """The order attention gives to aligned positions, averaged over the instances of one run.

    Attributes:
        pairs: ``(T(T − 1)/2,)`` mean over instances of sign(a_ip − a_iq)/√(untied pairs of a_i), for p < q
            in the order of ``np.triu_indices(T, 1)``.
        profile: ``(T,)`` mean attention of the same instances.
        n_instances: Instances averaged.
        n_undefined: Instances left out because their attention is constant.
    """

    pairs: FloatArray
    profile: FloatArray
    n_instances: int
    n_undefined: int

    def mean_tau_b(self, profiles: ArrayLike) -> FloatArray:
        """Mean over instances of tau-b with each of ``profiles (B, T)``: ``(B,)``, NaN for a constant one."""
        rows = np.atleast_2d(np.asarray(profiles, dtype=np.float64))
        values = np.full(len(rows), np.nan)
        step = max(1, _BLOCK_PAIRS // self.pairs.size)
        for start in range(0, len(rows), step):
            signs = pair_signs(rows[start : start + step]).astype(np.float64)
            untied = np.einsum("bp,bp->b", signs, signs)
            np.divide(signs @ self.pairs, np.sqrt(untied), out=values[start : start + step], where=untied > 0)
        return values


def attention_order(attention: ArrayLike) -> AttentionOrder:
    """Summarise the attention of one run over instances with aligned positions.

    Args:
        attention: ``(N, T)`` one instance a row, all positions of all instances real; ``(T,)`` for one
            profile, such as the mean attention.

    Returns:
        The order; the statistic of ``shift_null`` and its cost no longer depend on N.

    Raises:
        ValueError: for a wrong shape, fewer than two positions, NaN or infinite values.
    """
    rows = np.atleast_2d(np.asarray(attention, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] < 2:
        raise ValueError(f"attention has shape {np.shape(attention)}; give (N, T) with at least two positions")
    if not np.isfinite(rows).all():
        raise ValueError("attention holds NaN or infinite values; positions must be real in every instance")
    length = rows.shape[1]
    defined = np.ptp(rows, axis=1) > 0
    kept, total = rows[defined], np.zeros(length * (length - 1) // 2)
    step = max(1, _BLOCK_PAIRS // total.size)
    for start in range(0, len(kept), step):
        signs = pair_signs(kept[start : start + step]).astype(np.float64)
        total += (1 / np.sqrt(np.einsum("np,np->n", signs, signs))) @ signs
    count = len(kept)
    return AttentionOrder(
        pairs=total / max(count, 1),
        profile=kept.mean(axis=0) if count else np.full(length, np.nan),
        n_instances=count,
        n_undefined=len(rows) - count,
    )
