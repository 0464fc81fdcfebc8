"""The alignments: which states, over all instances, count as samples of one thing.

Position 7 of one sentence is not position 7 of another, so there is no single answer. Three alignments
make units here; the fourth, ``instance``, needs none: a probe shared by all positions gives pointwise
information (see ``pointwise``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mi_attention.agreement.notes import Note
from mi_attention.interface import AttentionRecord, FloatArray, IntArray, Unit

__all__ = ["Alignment", "align_positions", "align_ranks", "align_tokens"]


@dataclass(frozen=True, eq=False)
class Alignment:
    """Rows of a record gathered into units.

    Attributes:
        kind: ``"position"``, ``"rank"`` or ``"token"``.
        names: What each unit is.
        rows: For each unit the rows of the record that are its samples.
        repeated: True where one instance may give several rows to a unit, so that rows are not
            independent and folds and errors must go by instance.
        notes: What was left out or is arbitrary, for the reader of the table.
        relative: True where instances of different lengths share units; see ``attention_by_instance``.
    """

    kind: str
    names: tuple[str, ...]
    rows: tuple[IntArray, ...]
    repeated: bool
    notes: tuple[Note, ...] = ()
    relative: bool = False

    def __len__(self) -> int:
        """U."""
        return len(self.names)

    def unit(self, record: AttentionRecord, u: int, y: NDArray[Any], *, state: str = "hidden") -> Unit:
        """Unit ``u`` of this alignment.

        Args:
            record: The record the rows belong to.
            u: Which unit.
            y: ``(N,)`` the output of each instance.
            state: ``"hidden"`` or ``"embedding"``, the column whose information is wanted.

        Returns:
            The unit, its states copied out of the record's (memory-mapped) column.

        Raises:
            ValueError: if the record has no such column.
        """
        column = record.hidden if state == "hidden" else record.embedding
        if column is None:
            raise ValueError("the record has no embedding; make it with embedding=")
        rows = self.rows[u]
        groups = self.owners(record, u)
        return Unit(np.asarray(column[rows]), y[groups], groups if self.repeated else None, self.names[u])

    def owners(self, record: AttentionRecord, u: int) -> IntArray:
        """``(n,)`` the instance of each row of unit ``u``."""
        return np.searchsorted(record.offsets, self.rows[u], side="right") - 1

    def attention_by_instance(self, record: AttentionRecord, attention: FloatArray) -> FloatArray:
        """``(U, N)`` mean attention of each instance on each unit, NaN where it has no row there.

        Where instances of different lengths share units (bins, token types) it is attention in multiples of uniform
        attention, a·T: plain weights are larger in short instances, and their mean would measure length.
        """
        n = record.n_instances
        if self.relative:
            attention = _relative(record, attention)
        means = [_mean_at(self.owners(record, u), attention[rows], n) for u, rows in enumerate(self.rows)]
        return np.stack(means) if means else np.empty((0, n))

    def local_by_instance(self, record: AttentionRecord, local: list[FloatArray]) -> FloatArray:
        """``(U, N)`` mean pointwise information of each instance in each unit, NaN where it has no row."""
        out = np.full((len(self), record.n_instances), np.nan)
        for u, values in enumerate(local):
            out[u] = _mean_at(self.owners(record, u), values, record.n_instances)
        return out


def _relative(record: AttentionRecord, attention: FloatArray) -> FloatArray:
    """``(M,)`` attention in multiples of uniform attention, exactly 1 throughout an instance of constant attention."""
    lengths = record.lengths
    weights = np.asarray(attention, dtype=np.float64)
    total = np.add.reduceat(weights, record.offsets[:-1])
    low, high = (reduce.reduceat(weights, record.offsets[:-1]) for reduce in (np.minimum, np.maximum))
    # An instance whose mass is all on the sink has no relative weights; it is constant, and so 1 throughout.
    scale = np.where(low == high, 0.0, lengths / np.where(total > 0, total, 1.0))
    return np.where(np.repeat(low == high, lengths), 1.0, weights * np.repeat(scale, lengths))


def _mean_at(owner: IntArray, values: FloatArray, n: int) -> FloatArray:
    counts = np.bincount(owner, minlength=n)
    sums = np.bincount(owner, weights=values, minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def align_positions(record: AttentionRecord, *, bins: int | None = None) -> Alignment:
    """States at one position over instances.

    Args:
        record: The record.
        bins: Number of bins of relative position. None means: the positions themselves where all
            instances have the same length, else as many bins, up to 10, as nine of ten instances have positions.

    Returns:
        The alignment. Bins are filled from one panel, the instances with at least as many positions as there are
        bins, so that every bin holds states of the same instances; a bin may hold several of a long one.

    Raises:
        ValueError: if ``bins`` is less than 2, or no instance has as many positions.
    """
    if bins is not None and bins < 2:
        raise ValueError(f"bins is {bins}; use at least 2, or None for the positions themselves")
    lengths = record.lengths
    if bins is None and (lengths == lengths[0]).all():
        starts = record.offsets[:-1]
        positions = range(int(lengths[0]))
        return Alignment("position", tuple(f"{t}" for t in positions), tuple(starts + t for t in positions), False)
    count = bins or int(np.clip(np.quantile(lengths, 0.1, method="lower"), 2, 10))
    if lengths.max() < count:
        raise ValueError(f"no instance has {count} positions (the longest has {lengths.max()}); ask for fewer bins")
    relative = (record.row_position * count) // np.repeat(lengths, lengths)
    relative[np.repeat(lengths < count, lengths)] = count
    order = np.argsort(relative, kind="stable")
    bounds = np.searchsorted(relative[order], np.arange(count + 1))
    rows = tuple(order[bounds[b] : bounds[b + 1]] for b in range(count))
    names = tuple(f"{b / count:.2g} to {(b + 1) / count:.2g}" for b in range(count))
    notes = [Note(f"lengths differ, so that positions are {count} bins of relative position")]
    short = int((lengths < count).sum())
    if short:
        notes.append(Note(f"instances shorter than {count} positions, left out by position", short, len(lengths)))
    return Alignment("position", names, rows, bool((lengths > count).any()), tuple(notes), relative=True)


def align_ranks(record: AttentionRecord, attention: FloatArray, *, ranks: int = 5, seed: int = 0) -> Alignment:
    """The k-th most attended state of each instance, on one panel of instances for every k.

    Args:
        record: The record.
        attention: ``(M,)`` the weights that rank, the record's own or permuted ones.
        ranks: K; the panel is the instances with at least K positions.
        seed: Exact ties are broken at random, never by position, which would let position in.

    Returns:
        The alignment with K units.

    Raises:
        ValueError: if no instance has K positions, or K is less than 2.
    """
    lengths = record.lengths
    if ranks < 2:
        raise ValueError(f"ranks is {ranks}; an order needs at least 2")
    panel = np.flatnonzero(lengths >= ranks)
    if len(panel) == 0:
        raise ValueError(f"no instance has {ranks} positions (the longest has {lengths.max()}); ask for fewer ranks")
    tie_break = np.random.default_rng(seed).random(record.n_rows)
    order = np.lexsort((tie_break, -np.asarray(attention), record.row_instance))
    starts = record.offsets[:-1][panel]
    rows = tuple(order[starts + k] for k in range(ranks))
    notes: list[Note] = []
    if len(panel) < record.n_instances:
        short = record.n_instances - len(panel)
        notes.append(Note(f"instances shorter than {ranks} positions, left out by rank", short, record.n_instances))
    tied = np.zeros(len(panel), dtype=bool)
    for here, after in pairwise(rows):
        tied |= attention[here] == attention[after]
    longer = lengths[panel] > ranks
    tied[longer] |= attention[rows[-1][longer]] == attention[order[starts[longer] + ranks]]
    if tied.any():
        notes.append(Note("instances with exact ties at these ranks, broken at random", int(tied.sum()), len(panel)))
    return Alignment("rank", tuple(str(k + 1) for k in range(ranks)), rows, False, tuple(notes))


def align_tokens(record: AttentionRecord, *, minimum: int = 100, most: int = 20) -> Alignment:
    """All states of one token type.

    Args:
        record: A record with tokens.
        minimum: A type must occur in at least this many instances.
        most: Keep this many types, those in most instances first.

    Returns:
        The alignment; it has no units where no type is frequent enough.

    Raises:
        ValueError: if the record has no tokens.
    """
    if record.token_ids is None:
        raise ValueError("the record has no tokens; make it with tokens=")
    token_ids = np.asarray(record.token_ids)
    pairs = np.unique(np.stack([token_ids, record.row_instance]), axis=1)
    counts = np.bincount(pairs[0], minlength=len(record.vocabulary))
    frequent = np.flatnonzero(counts >= minimum)
    kept = frequent[np.argsort(-counts[frequent], kind="stable")][:most]
    order = np.argsort(token_ids, kind="stable")
    bounds = np.searchsorted(token_ids[order], np.arange(len(record.vocabulary) + 1))
    rows = tuple(order[bounds[token] : bounds[token + 1]] for token in kept)
    note = Note(f"token types shown of those in at least {minimum} instances", len(kept), len(frequent))
    return Alignment("token", tuple(record.vocabulary[token] for token in kept), rows, True, (note,), relative=True)
