"""Token sequences whose label follows from several positions together: exclusive or, and majority.

Truth and rationale as in ``mi_attention.data.planted``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from mi_attention.data.dataset import Dataset
from mi_attention.data.information import entropy, table_information
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
from mi_attention.interface import IntArray

__all__ = ["expected_winner_share", "majority", "xor"]


def xor(
    n: int | Sequence[int] = 2000,
    *,
    length: int = 10,
    classes: int = 2,
    positions: Sequence[int] | None = None,
    fillers: int = 20,
    balance: Sequence[float] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
) -> Dataset:
    """Two positions that say nothing alone and everything together.

    The first word is u, uniform on 0 … C − 1, the second (label − u) mod C: their sum modulo C is the
    label. Given any label each is uniform, so each has truth 0, for every class balance. Joint: H(Y),
    which is ln 2 for two equal classes.

    Args:
        n: Total, or (train, dev, test).
        length: T ≥ 2.
        classes: C.
        positions: The two positions, at a quarter and three quarters if None.
        fillers: Number of filler words.
        balance: ``(C,)`` class probabilities, equal if None.
        fractions: Shares of train, dev and test when ``n`` is a total.
        seed: Same seed, same data.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    p = class_probabilities(classes, balance)
    check_length(length, fillers)
    if length < 2:
        raise ValueError(f"length must be at least 2 for xor, got {length}")
    places = distinct_positions((length // 4, 3 * length // 4) if positions is None else positions, length)
    if len(places) != 2:
        raise ValueError(f"positions must be two, got {positions!r}")
    first_filler = FIRST_WORD + 2 * classes

    def draw(generator: np.random.Generator, label: IntArray) -> Drawn:
        content = generator.integers(first_filler, first_filler + fillers, size=(len(label), length))
        first = generator.integers(classes, size=len(label))
        content[:, places[0]] = FIRST_WORD + first
        content[:, places[1]] = FIRST_WORD + classes + (label - first) % classes
        return Drawn(content, marked(len(label), length, places))

    words = [f"{side}_{c}" for side in ("left", "right") for c in range(classes)]
    return plant(
        "planted/xor",
        draw,
        n=n,
        fractions=fractions,
        balance=p,
        seed=seed,
        words=words + filler_words(fillers),
        truth=np.zeros(length),
        joint_truth=entropy(p),
        options={"informative": list(places)},
    )


def majority(
    n: int | Sequence[int] = 2000,
    *,
    length: int = 11,
    classes: int = 2,
    positions: Sequence[int] | None = None,
    fillers: int = 20,
    balance: Sequence[float] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
) -> Dataset:
    """The label is the most frequent vote: every voter carries a little.

    Given the label, votes are uniform over all sequences of which the label is the only winner. A voter
    then shows the label with probability E[winner's votes] / voters and each other class equally often,
    from which the truth follows; it is the same at every voter. Joint: H(Y), as the votes decide.

    Args:
        n: Total, or (train, dev, test).
        length: T.
        classes: C.
        positions: Positions that vote, all if None; the others are filler.
        fillers: Number of filler words.
        balance: ``(C,)`` class probabilities, equal if None.
        fractions: Shares of train, dev and test when ``n`` is a total.
        seed: Same seed, same data.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    p = class_probabilities(classes, balance)
    check_length(length, fillers)
    places = distinct_positions(range(length) if positions is None else positions, length)
    voters = len(places)
    right = expected_winner_share(voters, classes)
    first_filler = FIRST_WORD + classes

    def draw(generator: np.random.Generator, label: IntArray) -> Drawn:
        content = generator.integers(first_filler, first_filler + fillers, size=(len(label), length))
        content[:, list(places)] = FIRST_WORD + _votes(generator, label, voters, classes)
        return Drawn(content, marked(len(label), length, places))

    truth = np.zeros(length)
    truth[list(places)] = table_information((p[:, None] * symmetric_channel(classes, 1.0 - right)).T)
    return plant(
        "planted/majority",
        draw,
        n=n,
        fractions=fractions,
        balance=p,
        seed=seed,
        words=[f"vote_{c}" for c in range(classes)] + filler_words(fillers),
        truth=truth,
        joint_truth=entropy(p),
        options={"informative": sorted(places), "vote_agrees": right},
    )


def expected_winner_share(voters: int, classes: int) -> float:
    """Mean share of votes of the winner, over all vote sequences with one winner.

    Sequences in which class 0 has w votes and every other class fewer number
    C(V, w) · R(C − 1, V − w, w − 1), where R counts the ways to give the remaining votes to C − 1 classes
    with at most w − 1 each. Counted exactly, in integers.

    Args:
        voters: V ≥ 1.
        classes: C ≥ 2.
    """
    weighted = total = 0
    for winner in range(1, voters + 1):
        # ways[r]: assignments of r labelled votes to the classes so far, none above winner − 1.
        ways = [1] + [0] * (voters - winner)
        for _ in range(classes - 1):
            ways = [
                sum(comb(r, taken) * ways[r - taken] for taken in range(min(winner - 1, r) + 1))
                for r in range(len(ways))
            ]
        sequences = comb(voters, winner) * ways[-1]
        weighted += winner * sequences
        total += sequences
    return weighted / (total * voters)


def _votes(generator: np.random.Generator, label: IntArray, voters: int, classes: int) -> IntArray:
    """``(n, V)`` votes, uniform given that the label is the only winner.

    Uniform votes with ties refused are uniform given their winner; swapping winner and label keeps that.
    """
    votes = np.empty((len(label), voters), dtype=np.int64)
    open_rows = np.arange(len(label))
    while open_rows.size:
        tried = generator.integers(classes, size=(len(open_rows), voters))
        counts = (tried[:, :, None] == np.arange(classes)).sum(axis=1)
        most = counts.max(axis=1)
        clear = (counts == most[:, None]).sum(axis=1) == 1
        winner = counts[clear].argmax(axis=1)[:, None]
        wanted = label[open_rows[clear]][:, None]
        kept = tried[clear]
        votes[open_rows[clear]] = np.where(kept == winner, wanted, np.where(kept == wanted, winner, kept))
        open_rows = open_rows[~clear]
    return votes
