"""Distances between two distributions: total variation, Kullback-Leibler, Jensen-Shannon.

Nats, no epsilon: zeros are handled by the limits x ln x → 0 and x ln(x/0) = ∞. Both inputs must be
distributions; attention with a sink needs the sink as an entry of its own. Sums that miss 1 by float32
rounding are divided out in float64, larger ones are errors. Layouts as in ``mi_attention.measures.layout``, where
an "instance" is one pair of distributions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray, IntArray, Measured
from mi_attention.interface.validation import SUM_TOLERANCE
from mi_attention.measures.layout import measured, packed, reduce_sum

__all__ = ["jensen_shannon", "kullback_leibler", "total_variation"]


def total_variation(p: ArrayLike, q: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Total variation distance ½ Σ |p − q|.

    For two classes it is |Δp| of either class. The L1 distance Σ |p − q| is twice this value.

    Args:
        p: ``(C,)``, ``(N, C)`` or packed ``(M,)`` distributions.
        q: The same shape.
        offsets: ``(N + 1,)`` for packed distributions.

    Returns:
        ``(N,)`` in [0, 1]: identical exactly 0, disjoint 1; always defined.

    Raises:
        ValueError: for shapes that disagree, negative or non-finite entries, sums other than 1.
    """
    (first, second), bounds = _distributions(p, q, offsets)
    return measured(np.minimum(reduce_sum(np.abs(first - second), bounds) / 2, 1.0))


def kullback_leibler(p: ArrayLike, q: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Kullback-Leibler divergence KL(p ‖ q) = Σ p ln(p / q) in nats: of the first from the second.

    By hand: p = [.9, .1], q = [.5, .5] gives .3681, exchanged .5108.

    Args:
        p: ``(C,)``, ``(N, C)`` or packed ``(M,)`` distributions, the weights of the mean.
        q: The same shape, the reference.
        offsets: ``(N + 1,)`` for packed distributions.

    Returns:
        ``(N,)`` in [0, ∞]: identical exactly 0; ``inf``, a defined value, where p has mass and q has none.

    Raises:
        ValueError: for shapes that disagree, negative or non-finite entries, sums other than 1.

    Source: S. Kullback, R. A. Leibler, On information and sufficiency, Annals of Mathematical Statistics
    22 (1951), 79-86.
    """
    (first, second), bounds = _distributions(p, q, offsets)
    terms = np.zeros_like(first)
    both = (first > 0) & (second > 0)
    # A difference of logarithms: the quotient overflows for denormal q.
    terms[both] = first[both] * (np.log(first[both]) - np.log(second[both]))
    terms[(first > 0) & (second == 0)] = np.inf
    return measured(np.maximum(reduce_sum(terms, bounds), 0.0))  # below 0 is rounding: Gibbs' inequality


def jensen_shannon(p: ArrayLike, q: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Jensen-Shannon divergence ½ KL(p ‖ m) + ½ KL(q ‖ m), m = (p + q)/2, in nats; not its root.

    Args:
        p: ``(C,)``, ``(N, C)`` or packed ``(M,)`` distributions.
        q: The same shape.
        offsets: ``(N + 1,)`` for packed distributions.

    Returns:
        ``(N,)`` in [0, ln 2]: identical exactly 0, disjoint ln 2; always defined.

    Raises:
        ValueError: for shapes that disagree, negative or non-finite entries, sums other than 1.

    Source: J. Lin, Divergence measures based on the Shannon entropy, IEEE Transactions on Information
    Theory 37 (1991), 145-151, equation 3.1.
    """
    (first, second), bounds = _distributions(p, q, offsets)
    total = first + second
    # ln(p / m) = ln 2p − ln(p + q) without forming m, which would round to 0 for denormal p.
    terms = np.zeros_like(total)
    for own in (first, second):
        present = own > 0
        terms[present] += own[present] * (np.log(2 * own[present]) - np.log(total[present]))
    return measured(np.clip(reduce_sum(terms, bounds) / 2, 0.0, np.log(2)))  # outside is rounding only


def _distributions(p: ArrayLike, q: ArrayLike, offsets: ArrayLike | None) -> tuple[list[FloatArray], IntArray]:
    columns, bounds = packed(offsets, {"p": p, "q": q})
    normalised: list[FloatArray] = []
    for name, column in zip(("p", "q"), columns, strict=True):
        if (column < 0).any():
            row = int(np.flatnonzero(column < 0)[0])
            raise ValueError(f"{name} is {column[row]} at entry {row}; probabilities are not negative")
        sums = reduce_sum(column, bounds)
        wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
        if wrong.size:
            raise ValueError(
                f"{name} sums to {sums[wrong[0]]:.6g} in row {wrong[0]}, not 1; normalise it, "
                "or add the missing mass (a sink) as an entry of its own"
            )
        normalised.append(column / np.repeat(sums, np.diff(bounds)))
    return normalised, bounds
