"""How soon does erasing positions in an order change the prediction?

The positions of an instance are erased one after another: weights set to zero, the rest renormalised to the mass
they all had, the states left as they are, the prediction decoded again. An order that puts first what the
prediction rests on changes it sooner. This is a question about the decoder that reads these states under these
weights, not about the encoder: erased states have already been read by their neighbours.

The end point is undefined and left out: with every position erased, or only weights of exactly 0 left, there is
nothing to renormalise. A curve of T positions has T − 1 steps; where only zero weights are left (sparse attention)
it stays at its last defined value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from mi_attention.interface import AttentionRecord, BoolArray, FloatArray, IntArray, LinearHead, Measured
from mi_attention.interface.validation import BLOCK_NUMBERS, SUM_TOLERANCE
from mi_attention.measures.layout import buckets, constant, measured

__all__ = ["SHARES", "Decode", "ErasureCurves", "ErasureOrder", "checked_probabilities", "erase"]

K = TypeVar("K", bound=Hashable)
Decode: TypeAlias = Callable[[FloatArray], FloatArray]
"""``(n, H)`` float64 contexts → ``(n, C)`` probabilities."""

# Shares erased at which curves are read: 0, .05 … .95. At 1 nothing is left to decode.
_STEPS = 20
SHARES: FloatArray = np.arange(_STEPS) / _STEPS


@dataclass(frozen=True, eq=False)
class ErasureOrder:
    """One order of erasure.

    Attributes:
        name: What the scores are, for the reasons.
        scores: ``(M,)``, or ``(R, M)`` for R orders that are averaged over. The largest of an instance is erased first,
            ties in random order; NaN anywhere in an instance leaves that instance undefined.
        attention: ``(M,)`` the weights under which the prediction is made.
        missing: Why an instance with NaN has no order.
    """

    name: str
    scores: FloatArray
    attention: FloatArray
    missing: str = "no order of this instance"


@dataclass(frozen=True, eq=False)
class ErasureCurves:
    """What erasing in one order does to the predictions of N instances.

    Attributes:
        area: ``(N,)`` mean over the steps 1 … T − 1 of the total variation distance from the full prediction: the area
            under the step curve, in [0, 1]. The sooner the prediction changes, the larger.
        never: ``(N,)`` 1 where no step changes the predicted class, 0 where one does (share of the R orders).
        change: ``(N, 20)`` total variation distance when a share ``SHARES`` of the positions is erased.
        flipped: ``(N, 20)`` 1 where the class has changed at some step up to that share (share of the R orders).
        first_flip: ``(R, N)`` share erased at the first change of class, infinite where there is none; NaN where
            undefined. Never put a number in place of the infinite ones: ``median_flip``.
    """

    area: Measured
    never: Measured
    change: FloatArray
    flipped: FloatArray
    first_flip: FloatArray

    def median_flip(self) -> float:
        """The smallest share erased by which half of the instances have changed class; infinite if fewer ever do.

        Instances that never change class count among all, as those censored at the end; NaN without any instance.
        """
        known = np.sort(self.first_flip[~np.isnan(self.first_flip)])
        return float(known[(known.size + 1) // 2 - 1]) if known.size else float("nan")


def erase(
    record: AttentionRecord, orders: Mapping[K, ErasureOrder], decoder: LinearHead | Decode, *, seed: int = 0
) -> dict[K, ErasureCurves]:
    """Erase in several orders.

    What remains is summed as it is, position by position from the last to be erased, in float64: the total minus what
    was erased would lose the small weights at the end. A linear head is applied to the states first, so that an order
    costs O(M C) beside its sort.

    Args:
        record: The record; a sink keeps its mass.
        orders: Key → order.
        decoder: From contexts to probabilities, linear or any function.
        seed: Of the order among exact ties.

    Returns:
        Key → curves. Undefined, with the reason: instances of one position, with attention on none or one position
        only, without an order, or whose order is constant.

    Raises:
        ValueError: if the scores have a wrong shape or the decoder returns something else than probabilities.
    """
    rng = np.random.default_rng([seed, 7])
    for order in orders.values():
        if np.shape(order.scores)[-1:] != (record.n_rows,) or np.ndim(order.scores) > 2:
            raise ValueError(f"scores of {order.name!r} have shape {np.shape(order.scores)}; give ({record.n_rows},)")
    collected = {key: _Collector(record, order, rng) for key, order in orders.items()}
    for instances, rows in _blocks(record):
        values, finish = _summands(record, rows, decoder)
        for found in collected.values():
            found.add(instances, rows, values, finish)
    return {key: found.curves() for key, found in collected.items()}


def checked_probabilities(found: FloatArray, n: int) -> FloatArray:
    """What a user's decoder returned, as float64 ``(n, C)``.

    Raises:
        ValueError: if it is no table of probabilities.
    """
    table = np.asarray(found, dtype=np.float64)
    if table.ndim != 2 or len(table) != n:
        raise ValueError(f"decode returned shape {table.shape} for {n} contexts; return ({n}, C) probabilities")
    if not (np.isfinite(table).all() and (table >= 0).all() and (np.abs(table.sum(axis=1) - 1) < SUM_TOLERANCE).all()):
        raise ValueError("decode returned something else than probabilities; apply softmax to logits")
    return table


def _blocks(record: AttentionRecord) -> Iterator[tuple[IntArray, IntArray]]:
    """Instances of one length and their rows ``(n, T)``, as many at once as a bounded memory holds."""
    width = record.hidden.shape[1] + record.n_classes
    for instances, rows in buckets(record.offsets):
        step = max(1, BLOCK_NUMBERS // (rows.shape[1] * width))
        for start in range(0, len(instances), step):
            yield instances[start : start + step], rows[start : start + step]


def _summands(
    record: AttentionRecord, rows: IntArray, decoder: LinearHead | Decode
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """What is summed over positions, ``(n, T, D)``, and how a sum ``(m, D)`` becomes a prediction."""
    states = np.asarray(record.hidden[rows.reshape(-1)], dtype=np.float64)
    if not isinstance(decoder, LinearHead):
        call = decoder
        return states.reshape(*rows.shape, -1), lambda context: checked_probabilities(call(context), len(context))
    projected = states @ np.asarray(decoder.weight, dtype=np.float64).T
    bias = np.asarray(decoder.bias, dtype=np.float64)
    return projected.reshape(*rows.shape, -1), lambda context: _softmax(context + bias)


def _softmax(logits: FloatArray) -> FloatArray:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


class _Collector:
    """Gathers the curves of one order, block by block."""

    def __init__(self, record: AttentionRecord, order: ErasureOrder, rng: np.random.Generator) -> None:
        scores = np.atleast_2d(np.asarray(order.scores, dtype=np.float64))
        self.weights = np.asarray(order.attention, dtype=np.float64)
        starts, n = record.offsets[:-1], record.n_instances
        unknown = np.logical_or.reduceat(np.isnan(scores).any(axis=0), starts)
        attended = np.add.reduceat((self.weights > 0).astype(np.int64), starts)
        self.conditions: list[tuple[BoolArray, str]] = [
            (record.lengths < 2, "fewer than two positions"),
            (attended == 0, "no attention on any position"),
            (attended == 1, "attention on a single position: nothing to renormalise without it"),
            (np.asarray(unknown), order.missing),
            (constant(np.where(np.isnan(scores[0]), 0.0, scores[0]), record.offsets), f"constant {order.name}"),
        ]
        self.usable = ~np.logical_or.reduce([mask for mask, _ in self.conditions])
        self.scores, self.ties = scores, rng.random(scores.shape)
        self.change, self.flipped = np.full((2, n, _STEPS), np.nan)
        self.area, self.never = np.full((2, n), np.nan)
        self.first = np.full((len(scores), n), np.nan)

    def add(
        self, instances: IntArray, rows: IntArray, values: FloatArray, finish: Callable[[FloatArray], FloatArray]
    ) -> None:
        """One block: instances of one length."""
        kept = self.usable[instances]
        if not kept.any():
            return
        own, rows, values = instances[kept], rows[kept], values[kept]
        length = rows.shape[1]
        places = np.arange(_STEPS) * length // _STEPS
        change, flipped = np.zeros((2, len(own), _STEPS))
        area, never = np.zeros((2, len(own)))
        for r, (scores, ties) in enumerate(zip(self.scores, self.ties, strict=True)):
            order = np.lexsort((ties[rows], -scores[rows]), axis=1)
            distance, other = _distances(self.weights[rows], values, order, finish)
            moved = np.maximum.accumulate(other, axis=1)
            change += distance[:, places]
            flipped += moved[:, places]
            area += distance[:, 1:].mean(axis=1)
            never += ~moved[:, -1]
            self.first[r, own] = np.where(moved[:, -1], moved.argmax(axis=1) / length, np.inf)
        draws = len(self.scores)
        self.change[own], self.flipped[own] = change / draws, flipped / draws
        self.area[own], self.never[own] = area / draws, never / draws

    def curves(self) -> ErasureCurves:
        """All instances together."""
        return ErasureCurves(
            area=measured(self.area, *self.conditions),
            never=measured(self.never, *self.conditions),
            change=self.change,
            flipped=self.flipped,
            first_flip=self.first,
        )


def _distances(
    weights: FloatArray, values: FloatArray, order: IntArray, finish: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, BoolArray]:
    """``(n, T)`` distance from the full prediction, and whether the class differs, after 0 … T − 1 erasures."""
    sorted_weights = np.take_along_axis(weights, order, axis=1)
    summands = sorted_weights[:, :, None] * np.take_along_axis(values, order[:, :, None], axis=1)
    mass = np.cumsum(sorted_weights[:, ::-1], axis=1)[:, ::-1]
    sums = np.cumsum(summands[:, ::-1], axis=1)[:, ::-1]
    defined = mass > 0
    scale = mass[:, :1] / np.where(defined, mass, 1.0)
    found = finish((sums * scale[:, :, None])[defined])
    probabilities = np.zeros((*order.shape, found.shape[1]))
    probabilities[defined] = found
    distance = np.abs(probabilities - probabilities[:, :1]).sum(axis=2) / 2
    decision = probabilities.argmax(axis=2)
    last = np.minimum(np.arange(order.shape[1]), defined.sum(axis=1, keepdims=True) - 1)
    other = np.asarray(decision != decision[:, :1])
    return np.take_along_axis(distance, last, axis=1), np.take_along_axis(other, last, axis=1)
