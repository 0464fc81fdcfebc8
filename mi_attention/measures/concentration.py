"""How concentrated an attention is: skew, entropy, effective support, Gini, largest weight, zeros.

Every measure is of the shape of the weights within an instance: they are divided by their sum, so that
attention with a sink is described by what its listed positions share. Descriptive only: weights of one
instance sum to 1 and depend on each other, so no p value belongs to them. Layouts as in
``mi_attention.measures.layout``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import BoolArray, FloatArray, IntArray, Measured
from mi_attention.interface.validation import SUM_TOLERANCE
from mi_attention.measures.layout import constant, measured, packed, reduce_sum

__all__ = [
    "concentration",
    "effective_support",
    "gini",
    "max_weight",
    "normalized_entropy",
    "normalized_skew",
    "zero_share",
]

_NO_MASS = "no attention on any position"
_TOO_SHORT = "fewer than two positions"


def concentration(attention: ArrayLike, offsets: ArrayLike | None = None) -> dict[str, Measured]:
    """All measures of this file by name.

    Args:
        attention: ``(T,)``, ``(M,)`` or ``(N, T)`` weights.
        offsets: ``(N + 1,)`` for packed weights.

    Returns:
        ``normalized_skew``, ``normalized_entropy``, ``effective_support``, ``gini``, ``max_weight``,
        ``zero_share``, each ``(N,)``.

    Raises:
        ValueError: for negative or non-finite weights, or a sum above 1.
    """
    return {
        "normalized_skew": normalized_skew(attention, offsets),
        "normalized_entropy": normalized_entropy(attention, offsets),
        "effective_support": effective_support(attention, offsets),
        "gini": gini(attention, offsets),
        "max_weight": max_weight(attention, offsets),
        "zero_share": zero_share(attention, offsets),
    }


def normalized_skew(attention: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Adjusted Fisher-Pearson skewness over its largest value, G1 / √T.

    G1 = √(T(T − 1))/(T − 2) · m3 / m2^{3/2}. A one-hot vector of length T has G1 = √T exactly, so raw
    skewness grows with length and this does not.

    Args:
        attention: ``(T,)``, ``(M,)`` or ``(N, T)`` weights.
        offsets: ``(N + 1,)`` for packed weights.

    Returns:
        ``(N,)`` in [−1, 1], 1 for one-hot. Undefined for constant attention and below three positions.

    Raises:
        ValueError: for negative or non-finite weights, or a sum above 1.

    Source: D. N. Joanes, C. A. Gill, Comparing measures of sample skewness and kurtosis, The
    Statistician 47 (1998), 183-189.
    """
    weights, bounds, empty = _weights(attention, offsets)
    lengths = np.diff(bounds)
    size = np.maximum(lengths, 3).astype(np.float64)
    # Differences from the smallest weight are exact where weights are nearly equal; the mean is not.
    low = np.minimum.reduceat(weights, bounds[:-1])
    height = np.maximum.reduceat(weights, bounds[:-1]) - low
    flat = constant(weights, bounds)
    shifted = (weights - np.repeat(low, lengths)) / np.repeat(np.where(flat, 1.0, height), lengths)
    centred = shifted - np.repeat(reduce_sum(shifted, bounds) / lengths, lengths)
    second, third = (reduce_sum(centred**power, bounds) / lengths for power in (2, 3))
    raw = third / np.where(flat, 1.0, second) ** 1.5
    values = np.clip(np.sqrt(size - 1) / (size - 2) * raw, -1, 1)  # rounding only: one-hot is the extreme
    return measured(
        values, (lengths < 3, "fewer than three positions"), (empty, _NO_MASS), (flat, "constant attention")
    )


def normalized_entropy(attention: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Entropy over its largest value, H / ln T.

    Args:
        attention: ``(T,)``, ``(M,)`` or ``(N, T)`` weights.
        offsets: ``(N + 1,)`` for packed weights.

    Returns:
        ``(N,)`` in [0, 1]: 0 one-hot, 1 (exactly) uniform. Undefined for one position.

    Raises:
        ValueError: for negative or non-finite weights, or a sum above 1.
    """
    weights, bounds, empty = _weights(attention, offsets)
    lengths = np.diff(bounds)
    values = _entropy(weights, bounds) / np.log(np.maximum(lengths, 2))
    values = np.where(constant(weights, bounds), 1.0, np.minimum(values, 1.0))
    return measured(values, (lengths < 2, _TOO_SHORT), (empty, _NO_MASS))


def effective_support(attention: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Effective number of attended positions, exp(H) with H in nats.

    Args:
        attention: ``(T,)``, ``(M,)`` or ``(N, T)`` weights.
        offsets: ``(N + 1,)`` for packed weights.

    Returns:
        ``(N,)`` in [1, T]: 1 one-hot, T (exactly) uniform.

    Raises:
        ValueError: for negative or non-finite weights, or a sum above 1.
    """
    weights, bounds, empty = _weights(attention, offsets)
    lengths = np.diff(bounds)
    values = np.minimum(np.exp(_entropy(weights, bounds)), lengths)
    return measured(np.where(constant(weights, bounds), lengths, values), (empty, _NO_MASS))


def gini(attention: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Gini coefficient of the weights over its largest value: G · T/(T − 1).

    G = Σ_i (2i − T − 1) a_(i) / (T Σ a) with a_(1) ≤ … ≤ a_(T).

    Args:
        attention: ``(T,)``, ``(M,)`` or ``(N, T)`` weights.
        offsets: ``(N + 1,)`` for packed weights.

    Returns:
        ``(N,)`` in [0, 1]: 0 (exactly) uniform, 1 one-hot. Undefined for one position.

    Raises:
        ValueError: for negative or non-finite weights, or a sum above 1.
    """
    weights, bounds, empty = _weights(attention, offsets)
    lengths = np.diff(bounds)
    instance = np.repeat(np.arange(len(lengths)), lengths)
    ordered = weights[np.lexsort((weights, instance))]
    rank = np.arange(weights.size) - np.repeat(bounds[:-1], lengths) + 1
    contrast = reduce_sum((2 * rank - np.repeat(lengths, lengths) - 1) * ordered, bounds)
    values = np.clip(contrast / np.maximum(lengths - 1, 1), 0.0, 1.0)  # rounding only
    return measured(np.where(constant(weights, bounds), 0.0, values), (lengths < 2, _TOO_SHORT), (empty, _NO_MASS))


def max_weight(attention: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Largest share of the attention on one position.

    Args:
        attention: ``(T,)``, ``(M,)`` or ``(N, T)`` weights.
        offsets: ``(N + 1,)`` for packed weights.

    Returns:
        ``(N,)`` in [1/T, 1].

    Raises:
        ValueError: for negative or non-finite weights, or a sum above 1.
    """
    weights, bounds, empty = _weights(attention, offsets)
    return measured(np.asarray(np.maximum.reduceat(weights, bounds[:-1])), (empty, _NO_MASS))


def zero_share(attention: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Share of positions with a weight of exactly 0 (sparsemax and entmax make them, softmax underflow too).

    Args:
        attention: ``(T,)``, ``(M,)`` or ``(N, T)`` weights.
        offsets: ``(N + 1,)`` for packed weights.

    Returns:
        ``(N,)`` in [0, 1).

    Raises:
        ValueError: for negative or non-finite weights, or a sum above 1.
    """
    weights, bounds, empty = _weights(attention, offsets)
    values = reduce_sum((weights == 0).astype(np.float64), bounds) / np.diff(bounds)
    return measured(values, (empty, _NO_MASS))


def _weights(attention: ArrayLike, offsets: ArrayLike | None) -> tuple[FloatArray, IntArray, BoolArray]:
    """Weights that sum to 1 within each instance, offsets, and where there is no mass at all."""
    (column,), bounds = packed(offsets, {"attention": attention})
    if (column < 0).any():
        row = int(np.flatnonzero(column < 0)[0])
        raise ValueError(f"attention is {column[row]} at row {row}; give weights, not scores")
    sums = reduce_sum(column, bounds)
    above = np.flatnonzero(sums > 1 + SUM_TOLERANCE)
    if above.size:
        raise ValueError(f"attention sums to {sums[above[0]]:.6g} in instance {above[0]}; normalise it to at most 1")
    empty = sums == 0
    return column / np.repeat(np.where(empty, 1.0, sums), np.diff(bounds)), bounds, empty


def _entropy(weights: FloatArray, offsets: IntArray) -> FloatArray:
    logarithm = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return np.maximum(-reduce_sum(weights * logarithm, offsets), 0.0)  # −0.0 for one-hot
