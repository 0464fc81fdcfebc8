"""What all planted generators share: class balance, split sizes, random streams, and the data set made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mi_attention.data.dataset import Dataset, Sequences, Vocabulary
from mi_attention.data.fingerprint import fingerprint
from mi_attention.interface import BoolArray, FloatArray, IntArray

__all__ = [
    "Drawn",
    "check_fractions",
    "check_length",
    "class_probabilities",
    "distinct_positions",
    "filler_words",
    "marked",
    "plant",
    "split_sizes",
    "structure_generator",
    "symmetric_channel",
]

FRACTIONS = (0.6, 0.1, 0.3)

# Indices 0 and 1 of a vocabulary are padding and unknown.
FIRST_WORD = 2


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a generator draws for n labels.

    Attributes:
        content: ``(n, T)`` integers from 2 into the vocabulary, or ``(n, T, E)`` vectors.
        evidence: ``(n, T)`` True where a position was drawn in a way that depends on the label.
    """

    content: IntArray | FloatArray
    evidence: BoolArray


def class_probabilities(classes: int, balance: Sequence[float] | None) -> FloatArray:
    """``(C,)`` class probabilities: equal if ``balance`` is None.

    Raises:
        ValueError: if there are fewer than two classes, or the probabilities are not positive or do
            not sum to 1.
    """
    if classes < 2:
        raise ValueError(f"classes must be at least 2, got {classes}")
    if balance is None:
        return np.full(classes, 1.0 / classes)
    p = np.asarray(balance, dtype=np.float64)
    if p.shape != (classes,):
        raise ValueError(f"balance must have one probability for each of the {classes} classes, got {balance!r}")
    if not (p > 0).all() or abs(p.sum() - 1.0) > 1e-9:
        raise ValueError(f"balance must be positive and sum to 1, got {balance!r} with sum {p.sum():.6g}")
    return p


def split_sizes(n: int | Sequence[int], fractions: Sequence[float] = FRACTIONS) -> tuple[int, int, int]:
    """Sequences in train, dev and test.

    Args:
        n: The three sizes (0 for no such split), or the total, which ``fractions`` divides.
        fractions: Shares of train, dev and test; used for a total only. Rounding favours train.

    Raises:
        ValueError: if sizes are negative or all 0, or fractions do not sum to 1.
    """
    if not isinstance(n, int | np.integer):
        sizes = tuple(int(size) for size in n)
        if len(sizes) != 3 or min(sizes) < 0 or sum(sizes) == 0:
            raise ValueError(f"n must be a total or three sizes (train, dev, test) ≥ 0, got {n!r}")
        return sizes[0], sizes[1], sizes[2]
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    check_fractions(fractions)
    # The small number keeps 100 × 0.29 from being 28 for the binary digits of 0.29.
    dev, test = (int(n * share + 1e-6) for share in fractions[1:])
    return int(n) - dev - test, dev, test


def check_fractions(fractions: Sequence[float]) -> None:
    """Refuse anything but three shares ≥ 0 that sum to 1."""
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1.0) > 1e-9:
        raise ValueError(f"fractions must be three shares ≥ 0 of train, dev, test that sum to 1, got {fractions!r}")


def structure_generator(seed: int) -> np.random.Generator:
    """The stream for what all splits share (directions of classes); the splits have their own streams."""
    return np.random.default_rng(_streams(seed)[0])


def distinct_positions(positions: Sequence[int], length: int, name: str = "positions") -> tuple[int, ...]:
    """Distinct positions in ``[0, T)``, as given.

    Raises:
        ValueError: if a position is outside or occurs twice.
    """
    chosen = tuple(int(position) for position in positions)
    if not chosen or min(chosen) < 0 or max(chosen) >= length or len(set(chosen)) < len(chosen):
        raise ValueError(f"{name} must be distinct numbers from 0 to {length - 1} (length {length}), got {positions!r}")
    return chosen


def symmetric_channel(classes: int, flip: float) -> FloatArray:
    """``(C, C)`` P(shown | class): the class with probability 1 − flip, else any other alike.

    Raises:
        ValueError: if ``flip`` is not a probability.
    """
    if not 0 <= flip <= 1:
        raise ValueError(f"flip must be a probability in [0, 1], got {flip}")
    return np.full((classes, classes), flip / (classes - 1)) + np.eye(classes) * (1.0 - flip - flip / (classes - 1))


def marked(n: int, length: int, places: Sequence[int]) -> BoolArray:
    """``(n, T)`` True at the places."""
    evidence = np.zeros((n, length), dtype=bool)
    evidence[:, list(places)] = True
    return evidence


def filler_words(fillers: int) -> list[str]:
    """Strings of the filler words."""
    return [f"filler_{i}" for i in range(fillers)]


def check_length(length: int, fillers: int) -> None:
    """Refuse sequences without positions and vocabularies without filler words."""
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}")
    if fillers < 1:
        raise ValueError(f"fillers must be at least 1, got {fillers}")


def plant(
    name: str,
    draw: Callable[[np.random.Generator, IntArray], Drawn],
    *,
    n: int | Sequence[int],
    fractions: Sequence[float],
    balance: FloatArray,
    seed: int,
    words: Sequence[str] | None,
    truth: FloatArray,
    joint_truth: float | None,
    options: Mapping[str, Any],
) -> Dataset:
    """Draw labels and content of three splits and pack them with the truth.

    Every split has a random stream of its own, so that the test split stays the same when the training
    split grows.

    Args:
        name: Name of the data set.
        draw: Content for labels ``(n,)``.
        n: See ``split_sizes``.
        fractions: See ``split_sizes``.
        balance: ``(C,)`` probabilities the labels are drawn with, independently.
        seed: Of labels and content.
        words: Strings of the vocabulary after padding and unknown, or None for vectors.
        truth: ``(T,)`` I(x_t; label) in nats.
        joint_truth: I(sequence; label) in nats.
        options: JSON-able facts for the provenance.
    """
    sizes = dict(zip(("train", "dev", "test"), split_sizes(n, fractions), strict=True))
    vocabulary = None
    if words is not None:
        vocabulary = Vocabulary((Vocabulary.PADDING_TOKEN, Vocabulary.UNKNOWN_TOKEN, *words))
    splits: dict[str, Sequences] = {}
    first = 0
    for (split, size), stream in zip(sizes.items(), _streams(seed)[1:], strict=True):
        if size:
            generator = np.random.default_rng(stream)
            label = generator.choice(len(balance), size=size, p=balance).astype(np.int64)
            splits[split] = _pack(draw(generator, label), label, vocabulary, first)
        first += size
    dataset = Dataset(
        name=name,
        train=splits.get("train"),
        dev=splits.get("dev"),
        test=splits.get("test"),
        classes=tuple(f"class_{c}" for c in range(len(balance))),
        vocabulary=vocabulary,
        aligned=True,
        truth=truth,
        joint_truth=joint_truth,
    )
    provenance = {
        "source": name,
        "seed": seed,
        "balance": [float(p) for p in balance],
        **options,
    }
    return replace(dataset, fingerprint=fingerprint(dataset, provenance), provenance=provenance)


def _streams(seed: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(seed).spawn(4)


def _pack(drawn: Drawn, label: IntArray, vocabulary: Vocabulary | None, first: int) -> Sequences:
    n, length = drawn.evidence.shape
    flat = drawn.content.reshape(n * length, -1)
    token_ids = None if vocabulary is None else flat[:, 0].astype(np.int32)
    return Sequences(
        offsets=np.arange(n + 1, dtype=np.int64) * length,
        label=label,
        token_ids=token_ids,
        vectors=flat.astype(np.float32) if vocabulary is None else None,
        rationale=drawn.evidence.reshape(-1).astype(np.float32),
        tokens=None if vocabulary is None or token_ids is None else tuple(vocabulary.tokens[i] for i in token_ids),
        identifier=np.arange(first, first + n, dtype=np.int64),
    )
