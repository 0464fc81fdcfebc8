"""Token sequences with keywords: informative positions and exact mutual information are known.

Every planted generator draws the label from the class balance and the tokens from p(tokens | label),
and returns a ``Dataset`` with ``truth (T,)`` = I(x_t; label) and ``joint_truth`` = I(x_1 … x_T; label),
both in nats, under that very distribution: from closed forms or by enumeration, never from a sample.
``rationale`` is 1 where a token was drawn in a way that depends on the label. Filler words are uniform
and independent of everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mi_attention.data.dataset import Dataset
from mi_attention.data.information import table_information
from mi_attention.data.planting import (
    FIRST_WORD,
    FRACTIONS,
    Drawn,
    check_length,
    class_probabilities,
    distinct_positions,
    filler_words,
    marked,
    plant,
    symmetric_channel,
)
from mi_attention.interface import FloatArray, IntArray

__all__ = ["keyword", "keywords", "noisy_keyword"]

# Outcomes of all keywords together that are enumerated for the joint truth.
OUTCOMES = 1_000_000


def keyword(
    n: int | Sequence[int] = 2000,
    *,
    length: int = 10,
    classes: int = 2,
    position: int | Literal["anywhere"] | None = None,
    fillers: int = 20,
    balance: Sequence[float] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
) -> Dataset:
    """One word names the class; all others are filler.

    Truth: H(Y) at the keyword's position, 0 elsewhere; for ``position="anywhere"`` H(Y)/T at every
    position, since a position holds the keyword with probability 1/T whatever the class. Joint: H(Y).

    Args:
        n: Total, or (train, dev, test).
        length: T.
        classes: C; there is one keyword for each class.
        position: Where the keyword stands, ``"anywhere"`` (uniform, anew for each sequence), or None
            for the middle.
        fillers: Number of filler words.
        balance: ``(C,)`` class probabilities, equal if None.
        fractions: Shares of train, dev and test when ``n`` is a total.
        seed: Same seed, same data.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    return _one_keyword("planted/keyword", n, length, classes, position, 0.0, fillers, balance, fractions, seed)


def noisy_keyword(
    n: int | Sequence[int] = 2000,
    *,
    length: int = 10,
    classes: int = 2,
    position: int | Literal["anywhere"] | None = None,
    flip: float | None = None,
    signal_to_noise: float | None = None,
    fillers: int = 20,
    balance: Sequence[float] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
) -> Dataset:
    """One word names the class, but with probability ``flip`` it is another class's word.

    Truth: I(shown; Y) of the C-ary symmetric channel, at the keyword's position (divided by T for
    ``"anywhere"``). For two equal classes it is ln 2 − H(flip). It is 0 at flip = (C − 1)/C.

    Args:
        n: Total, or (train, dev, test).
        length: T.
        classes: C.
        position: Where the keyword stands, ``"anywhere"``, or None for the middle.
        flip: Probability in [0, 1] of a wrong word, which is then uniform over the other classes.
            0.1 if neither this nor ``signal_to_noise`` is given.
        signal_to_noise: Instead of ``flip``: P(right word) / P(wrong word) ≥ 0, so flip = 1/(1 + ratio).
        fillers: Number of filler words.
        balance: ``(C,)`` class probabilities, equal if None.
        fractions: Shares of train, dev and test when ``n`` is a total.
        seed: Same seed, same data.

    Raises:
        ValueError: naming the argument that is out of range, or if both noise arguments are given.
    """
    if flip is not None and signal_to_noise is not None:
        raise ValueError(f"give flip or signal_to_noise, not both (got {flip} and {signal_to_noise})")
    if signal_to_noise is not None:
        if not signal_to_noise >= 0:
            raise ValueError(f"signal_to_noise must be at least 0, got {signal_to_noise}")
        flip = 1.0 / (1.0 + signal_to_noise)
    flip = 0.1 if flip is None else flip
    return _one_keyword("planted/noisy_keyword", n, length, classes, position, flip, fillers, balance, fractions, seed)


def keywords(
    n: int | Sequence[int] = 2000,
    *,
    length: int = 10,
    classes: int = 2,
    flips: Sequence[float] = (0.05, 0.15, 0.25, 0.35),
    positions: Sequence[int] | None = None,
    fillers: int = 20,
    balance: Sequence[float] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
) -> Dataset:
    """Several keywords, each with its own error rate: positions of graded information.

    Given the class the keywords err independently. Each position has words of its own, so that a model
    can learn which to trust. Truth: I of each symmetric channel; joint: enumeration of all C^K outcomes
    (None, with the reason in the provenance, above a million).

    Args:
        n: Total, or (train, dev, test).
        length: T.
        classes: C.
        flips: K error probabilities in [0, 1].
        positions: K distinct positions, evenly spread if None.
        fillers: Number of filler words.
        balance: ``(C,)`` class probabilities, equal if None.
        fractions: Shares of train, dev and test when ``n`` is a total.
        seed: Same seed, same data.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    p = class_probabilities(classes, balance)
    check_length(length, fillers)
    if positions is None:
        if not 1 <= len(flips) <= length:
            raise ValueError(f"flips must have 1 to {length} entries (length {length}), got {len(flips)}")
        positions = [int((k + 0.5) * length / len(flips)) for k in range(len(flips))]
    places = distinct_positions(positions, length)
    if len(places) != len(flips):
        raise ValueError(f"flips has {len(flips)} entries but positions has {len(places)}; give one of each")
    channels = np.stack([symmetric_channel(classes, flip) for flip in flips])  # (K, C, C): P(shown | class)
    first_filler = FIRST_WORD + len(places) * classes

    def draw(generator: np.random.Generator, label: IntArray) -> Drawn:
        content = generator.integers(first_filler, first_filler + fillers, size=(len(label), length))
        for k, place in enumerate(places):
            content[:, place] = FIRST_WORD + k * classes + _shown(generator, label, flips[k], classes)
        return Drawn(content, marked(len(label), length, places))

    truth = np.zeros(length)
    for k, place in enumerate(places):
        truth[place] = table_information((p[:, None] * channels[k]).T)
    joint = _joint_of_channels(p, channels)
    options: dict[str, Any] = {"flips": [float(flip) for flip in flips], "informative": list(places)}
    if joint is None:
        options["joint_truth"] = f"not enumerated: {classes}^{len(places)} outcomes are more than {OUTCOMES}"
    return plant(
        "planted/keywords",
        draw,
        n=n,
        fractions=fractions,
        balance=p,
        seed=seed,
        words=[f"key{k}_{c}" for k in range(len(places)) for c in range(classes)] + filler_words(fillers),
        truth=truth,
        joint_truth=joint,
        options=options,
    )


def _one_keyword(
    name: str,
    n: int | Sequence[int],
    length: int,
    classes: int,
    position: int | Literal["anywhere"] | None,
    flip: float,
    fillers: int,
    balance: Sequence[float] | None,
    fractions: Sequence[float],
    seed: int,
) -> Dataset:
    p = class_probabilities(classes, balance)
    check_length(length, fillers)
    if isinstance(position, str) and position != "anywhere":
        raise ValueError(f"position must be a number, 'anywhere' or None, got {position!r}")
    place = length // 2 if position is None else position
    anywhere = place == "anywhere"
    places = tuple(range(length)) if place == "anywhere" else distinct_positions([place], length, "position")
    first_filler = FIRST_WORD + classes

    def draw(generator: np.random.Generator, label: IntArray) -> Drawn:
        rows = np.arange(len(label))
        content = generator.integers(first_filler, first_filler + fillers, size=(len(label), length))
        at = generator.integers(length, size=len(label)) if anywhere else np.full(len(label), places[0])
        content[rows, at] = FIRST_WORD + _shown(generator, label, flip, classes)
        evidence = np.zeros((len(label), length), dtype=bool)
        evidence[rows, at] = True
        return Drawn(content, evidence)

    shown = (p[:, None] * symmetric_channel(classes, flip)).T  # (C, C): shown × class
    here = 1.0 / length if anywhere else 1.0
    filler = np.tile((1.0 - here) * p / fillers, (fillers, 1))
    truth = np.zeros(length)
    truth[list(places)] = table_information(np.concatenate([here * shown, filler]))
    return plant(
        name,
        draw,
        n=n,
        fractions=fractions,
        balance=p,
        seed=seed,
        words=[f"key_{c}" for c in range(classes)] + filler_words(fillers),
        truth=truth,
        # Where the keyword stands is independent of the class, so the sequence says what the keyword says.
        joint_truth=table_information(shown),
        options={"flip": float(flip), "informative": list(places), "position": "anywhere" if anywhere else places[0]},
    )


def _shown(generator: np.random.Generator, label: IntArray, flip: float, classes: int) -> IntArray:
    wrong = generator.random(len(label)) < flip
    other = (label + generator.integers(1, classes, size=len(label))) % classes
    return np.where(wrong, other, label)


def _joint_of_channels(p: FloatArray, channels: FloatArray) -> float | None:
    classes = len(p)
    if classes ** len(channels) > OUTCOMES:
        return None
    table = p[None, :]
    for channel in channels:
        table = (table[:, None, :] * channel.T[None, :, :]).reshape(-1, classes)
    return table_information(table)
