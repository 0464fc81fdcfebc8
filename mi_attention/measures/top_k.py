"""Do the most attended positions hold the most information? Overlap of the two top-k sets.

Ties at the cut are broken at random, each vector for itself, and the expectation over all ways of
breaking them is computed exactly: no order of storage decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray, IntArray, Measured
from mi_attention.measures.layout import buckets, constant, measured, packed
from mi_attention.measures.rank_correlation import NAMES

__all__ = ["top_k_excess", "top_k_overlap"]


def top_k_overlap(
    left: ArrayLike,
    right: ArrayLike,
    offsets: ArrayLike | None = None,
    *,
    k: int | None = None,
    fraction: float | None = None,
    names: tuple[str, str] = NAMES,
) -> Measured:
    """Expected share of common positions in the two top-k sets, |A ∩ B| / k.

    A position above the cut is in its set surely, one tied at the cut with probability (places left) /
    (positions tied there); the two vectors' ties are broken independently, so the expected overlap is the sum of
    products of the two probabilities.

    Args:
        left: ``(T,)``, ``(M,)`` or ``(N, T)``, finite scores.
        right: The same shape.
        offsets: ``(N + 1,)`` for packed vectors.
        k: Size of the sets, at least 1; or
        fraction: size as a share of T in (0, 1), rounded half up and at least 1. Exactly one of the two.
        names: What the two vectors are, for the reasons.

    Returns:
        ``(N,)`` in [0, 1]. Undefined where T ≤ k (the sets are everything) and where a vector is
        constant (it has no top).

    Raises:
        ValueError: for bad ``k`` or ``fraction``, shapes that disagree, NaN or infinite values.
    """
    columns, bounds = packed(offsets, {names[0]: left, names[1]: right})
    sizes = _sizes(np.diff(bounds), k, fraction)
    return _overlap(columns, bounds, sizes, names, np.zeros(len(sizes)))


def top_k_excess(
    left: ArrayLike,
    right: ArrayLike,
    offsets: ArrayLike | None = None,
    *,
    k: int | None = None,
    fraction: float | None = None,
    names: tuple[str, str] = NAMES,
) -> Measured:
    """Expected top-k overlap minus its value for random orders, k/T.

    Args:
        left: ``(T,)``, ``(M,)`` or ``(N, T)``, finite scores.
        right: The same shape.
        offsets: ``(N + 1,)`` for packed vectors.
        k: Size of the sets, at least 1; or
        fraction: size as a share of T in (0, 1), rounded half up and at least 1. Exactly one of the two.
        names: What the two vectors are, for the reasons.

    Returns:
        ``(N,)`` in [−k/T, 1 − k/T], 0 in expectation for unrelated orders. Undefined as ``top_k_overlap``.

    Raises:
        ValueError: for bad ``k`` or ``fraction``, shapes that disagree, NaN or infinite values.
    """
    columns, bounds = packed(offsets, {names[0]: left, names[1]: right})
    sizes = _sizes(np.diff(bounds), k, fraction)
    return _overlap(columns, bounds, sizes, names, sizes / np.diff(bounds))


def _sizes(lengths: IntArray, k: int | None, fraction: float | None) -> IntArray:
    if (k is None) == (fraction is None):
        raise ValueError(f"give exactly one of k and fraction, got k={k} and fraction={fraction}")
    if fraction is not None:
        if not 0 < fraction < 1:
            raise ValueError(f"fraction is {fraction}; it must lie strictly between 0 and 1")
        # The small addition keeps .1 × 25 = 2.5 at half up although .1 is not exact in binary.
        return np.asarray(np.maximum(1, np.floor(fraction * lengths + 0.5 + 1e-9)), dtype=np.int64)
    if k is None or int(k) != k or k < 1:
        raise ValueError(f"k is {k}; it must be a whole number of at least 1 (use fraction for a share of T)")
    return np.full(lengths.shape, int(k), dtype=np.int64)


def _overlap(
    columns: list[FloatArray], offsets: IntArray, sizes: IntArray, names: tuple[str, str], chance: FloatArray
) -> Measured:
    lengths = np.diff(offsets)
    values = np.zeros(len(lengths))
    for instances, rows in buckets(offsets):
        size = int(sizes[instances[0]])
        if size < rows.shape[1]:
            members = [_membership(column[rows], size) for column in columns]
            values[instances] = np.einsum("nt,nt->n", members[0], members[1]) / size
    flat = [constant(column, offsets) for column in columns]
    return measured(
        values - chance,
        (lengths <= sizes, "no more positions than k"),
        (flat[0] & flat[1], f"constant {names[0]} and constant {names[1]}"),
        (flat[0], f"constant {names[0]}"),
        (flat[1], f"constant {names[1]}"),
    )


def _membership(scores: FloatArray, size: int) -> FloatArray:
    """Probability ``(n, T)`` that a position is among the ``size`` largest, ties at the cut broken evenly."""
    cut = -np.partition(-scores, size - 1, axis=1)[:, size - 1 : size]
    above, at = scores > cut, scores == cut
    share = (size - above.sum(axis=1, keepdims=True)) / at.sum(axis=1, keepdims=True)
    return np.asarray(above + at * share)
