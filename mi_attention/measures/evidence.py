"""How high a score ranks the positions that are evidence: area under the curve and average precision, per instance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import BoolArray, FloatArray, IntArray, Measured
from mi_attention.measures.layout import measured, packed, reduce_sum

__all__ = ["evidence_auc", "evidence_precision"]


def evidence_auc(score: ArrayLike, evidence: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Probability that a position of evidence scores higher than one that is none, ties counting ½.

    By hand: scores [3, 2, 1], evidence [1, 0, 0] gives 1, evidence [0, 0, 1] gives 0; a constant score gives ½.

    Args:
        score: ``(T,)``, ``(M,)`` or ``(N, T)``, finite.
        evidence: The same shape, 0 or 1.
        offsets: ``(N + 1,)`` for packed vectors.

    Returns:
        ``(N,)`` in [0, 1]: ½ for unrelated scores. Undefined where all positions are evidence, or none.

    Raises:
        ValueError: for shapes that disagree, empty instances, NaN, or evidence that is neither 0 nor 1.

    Source: D. Bamber, The area above the ordinal dominance graph and the area below the receiver operating
    characteristic graph, Journal of Mathematical Psychology 12 (1975), 387-415.
    """
    ranked = _rank(score, evidence, offsets)
    positive, negative = ranked.positive, ranked.lengths - ranked.positive
    # Mean place from the bottom, 1 first, of tied positions.
    from_bottom = np.repeat(ranked.lengths, ranked.lengths) + 1 - (ranked.first + ranked.last) / 2
    total = reduce_sum(np.where(ranked.evidence, from_bottom, 0.0), ranked.offsets)
    area = (total - positive * (positive + 1) / 2) / np.maximum(positive * negative, 1)
    return measured(area, *_undefined(positive, negative))


def evidence_precision(score: ArrayLike, evidence: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Average precision: mean over the positions of evidence of the share of evidence among all that score as high.

    Its value for unrelated scores is not ½ but near the share of evidence, and above it in short instances: compare it
    with that of a random order. Ties count as one place, so that a constant score gives the share of evidence.
    By hand: scores [3, 2, 1], evidence [1, 0, 1] gives (1/1 + 2/3)/2 = .833.

    Args:
        score: ``(T,)``, ``(M,)`` or ``(N, T)``, finite.
        evidence: The same shape, 0 or 1.
        offsets: ``(N + 1,)`` for packed vectors.

    Returns:
        ``(N,)`` in (0, 1], equal to ``sklearn.metrics.average_precision_score``. Undefined where all positions are
        evidence, or none.

    Raises:
        ValueError: for shapes that disagree, empty instances, NaN, or evidence that is neither 0 nor 1.
    """
    ranked = _rank(score, evidence, offsets)
    hits = np.cumsum(ranked.evidence)
    before: IntArray = np.repeat(hits[ranked.offsets[:-1]] - ranked.evidence[ranked.offsets[:-1]], ranked.lengths)
    starts = np.repeat(ranked.offsets[:-1], ranked.lengths)
    precision = (hits[starts + ranked.last - 1] - before) / ranked.last
    total = reduce_sum(np.where(ranked.evidence, precision, 0.0), ranked.offsets)
    negative = ranked.lengths - ranked.positive
    return measured(total / np.maximum(ranked.positive, 1), *_undefined(ranked.positive, negative))


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Rows sorted within each instance, highest score first.

    Attributes:
        evidence: ``(M,)`` of the sorted rows.
        first: ``(M,)`` place from the top, 1 first, of the first position tied with this one.
        last: ``(M,)`` of the last one.
        positive: ``(N,)`` positions of evidence.
        lengths: ``(N,)``.
        offsets: ``(N + 1,)``.
    """

    evidence: BoolArray
    first: IntArray
    last: IntArray
    positive: FloatArray
    lengths: IntArray
    offsets: IntArray


def _rank(score: ArrayLike, evidence: ArrayLike, offsets: ArrayLike | None) -> _Ranked:
    (values, marks), bounds = packed(offsets, {"score": score, "evidence": evidence})
    if ((marks != 0) & (marks != 1)).any():
        row = int(np.flatnonzero((marks != 0) & (marks != 1))[0])
        raise ValueError(f"evidence is {marks[row]} at row {row}; threshold it to 0 or 1 first")
    lengths = np.diff(bounds)
    instance = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-values, instance))
    opens = np.ones(values.size, dtype=bool)
    opens[1:] = (np.diff(values[order]) != 0) | (np.diff(instance[order]) != 0)
    starts = np.flatnonzero(opens)
    sizes = np.diff(np.append(starts, values.size))
    first = np.repeat(starts, sizes) - np.repeat(bounds[:-1], lengths) + 1
    return _Ranked(
        evidence=marks[order] == 1,
        first=first,
        last=first + np.repeat(sizes, sizes) - 1,
        positive=reduce_sum(marks, bounds),
        lengths=lengths,
        offsets=bounds,
    )


def _undefined(positive: FloatArray, negative: FloatArray) -> tuple[tuple[BoolArray, str], ...]:
    return (positive == 0, "no position is evidence"), (negative == 0, "every position is evidence")
