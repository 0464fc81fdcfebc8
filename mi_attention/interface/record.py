"""What one attention distribution did on one set of instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.interface.arrays import FloatArray, IntArray
from mi_attention.interface.model import LinearHead
from mi_attention.interface.packing import pack_arrays
from mi_attention.interface.validation import BLOCK_NUMBERS, PER_INSTANCE, PER_ROW, validate_record

__all__ = ["AttentionRecord"]


@dataclass(frozen=True, eq=False, repr=False)
class AttentionRecord:
    """What one attention distribution of one model did on one set of instances.

    Instances are packed one after another, so that long and short texts cost what they are: instance
    ``i`` owns rows ``offsets[i]:offsets[i + 1]`` of every ``(M, ...)`` column. Columns may be
    memory-mapped; they are validated once, in blocks, and are read-only from then on.

    Attributes:
        hidden: ``(M, H)`` the states the attention weighs.
        attention: ``(M,)`` weights, ≥ 0, summing to 1 within each instance, or to ``1 - sink``.
        offsets: ``(N + 1,)`` int64, strictly increasing from 0: an instance has at least one position.
        output: ``(N, C)`` probabilities of the model.
        label: ``(N,)`` gold classes in ``[0, C)``, or None.
        token_ids: ``(M,)`` indices into ``vocabulary``, or None.
        vocabulary: Token strings.
        segment: ``(M,)`` which text of a pair a position belongs to, or None.
        query: ``(N, H)`` what the attention was asked with, or None when it is a learned constant.
        rationale: ``(M,)`` human evidence in [0, 1], or None.
        embedding: ``(M, E)`` input vectors before the encoder, or None.
        sink: ``(N,)`` attention mass that fell on positions outside the record, or None for 0.
        head: The linear decoder from context to logits, when there is one.
        meta: JSON-able facts: data, encoder, score, normaliser, temperature, seed, accuracy, versions,
            hash of weights, and ``excluded`` (reason → count of instances left out).
    """

    hidden: FloatArray
    attention: FloatArray
    offsets: IntArray
    output: FloatArray
    label: IntArray | None = None
    token_ids: IntArray | None = None
    vocabulary: tuple[str, ...] = ()
    segment: IntArray | None = None
    query: FloatArray | None = None
    rationale: FloatArray | None = None
    embedding: FloatArray | None = None
    sink: FloatArray | None = None
    head: LinearHead | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Validate every column and make it read-only."""
        validate_record(self)
        for name in PER_ROW + PER_INSTANCE + ("offsets",):
            column = getattr(self, name)
            if column is not None and column.flags.writeable:
                view = column.view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    @classmethod
    def from_arrays(
        cls,
        hidden: ArrayLike | Sequence[ArrayLike],
        attention: ArrayLike | Sequence[ArrayLike],
        output: ArrayLike,
        mask: ArrayLike | None = None,
        tokens: Sequence[Sequence[str]] | None = None,
        *,
        label: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        segment: ArrayLike | Sequence[ArrayLike] | None = None,
        query: ArrayLike | None = None,
        rationale: ArrayLike | Sequence[ArrayLike] | None = None,
        embedding: ArrayLike | Sequence[ArrayLike] | None = None,
        sink: ArrayLike | None = None,
        head: LinearHead | tuple[ArrayLike, ArrayLike] | None = None,
        meta: Mapping[str, Any] | None = None,
        logits: bool = False,
        empty: Literal["error", "exclude"] = "error",
    ) -> AttentionRecord:
        """Make a record from plain arrays: padded, ragged or packed.

        The layout is read from the arguments: ``hidden (N, T, H)`` is padded (``mask (N, T)`` says which
        positions are real, or ``lengths (N,)``; neither means that all are); a sequence of ``N`` arrays
        ``(T_i, H)`` is ragged; ``hidden (M, H)`` with ``offsets (N + 1,)`` or ``lengths (N,)`` is packed.
        Every other per-position argument comes in the layout of ``hidden``. Torch tensors are accepted.

        Args:
            hidden: States the attention weighs.
            attention: Weights; on masked positions they must be 0 (a positive weight on padding is an error).
            output: ``(N, C)`` probabilities or, with ``logits=True``, logits. A vector ``(N,)`` is the
                probability (or logit) of class 1 of two; integers ``(N,)`` are predicted classes.
            mask: ``(N, T)``, True (or 1) where a position is real.
            tokens: One list of strings an instance, padding left out or not; for packed arrays also one flat list.
            label: ``(N,)`` gold classes.
            lengths: ``(N,)`` positions of each instance.
            offsets: ``(N + 1,)`` for packed arrays.
            segment: Which text of a pair each position belongs to.
            query: ``(N, H)``.
            rationale: Human evidence in [0, 1].
            embedding: Input vectors before the encoder.
            sink: ``(N,)`` attention mass on positions that are not in the record.
            head: ``LinearHead``, a linear layer with ``weight`` and ``bias``, or ``(weight (C, H), bias (C,))`` (bias
                may be None); a single-logit head ``(H,)``, ``()`` is accepted for two classes.
            meta: JSON-able facts.
            logits: ``output`` holds logits.
            empty: ``"exclude"`` leaves instances without any real position out and counts them in
                ``meta["excluded"]``; ``"error"`` refuses them.

        Returns:
            The validated record.

        Raises:
            ValueError: naming the argument, the first offending place and the remedy.
        """
        columns = pack_arrays(
            hidden,
            attention,
            output,
            mask=mask,
            tokens=tokens,
            label=label,
            lengths=lengths,
            offsets=offsets,
            segment=segment,
            query=query,
            rationale=rationale,
            embedding=embedding,
            sink=sink,
            head=head,
            meta=meta,
            logits=logits,
            empty=empty,
        )
        return cls(**columns)

    def __repr__(self) -> str:
        """Sizes and what there is, not the arrays."""
        optional = [name for name in (*PER_ROW, *PER_INSTANCE, "head") if getattr(self, name) is not None]
        given = [name for name in optional if name not in ("hidden", "attention", "output")]
        return (
            f"AttentionRecord({self.n_instances} instances, {self.n_rows} positions, hidden {self.hidden.shape[1]}, "
            f"{self.n_classes} classes; {', '.join(given) or 'nothing optional'})"
        )

    @property
    def n_instances(self) -> int:
        """N."""
        return len(self.offsets) - 1

    @property
    def n_rows(self) -> int:
        """M, all positions of all instances."""
        return int(self.attention.shape[0])

    @property
    def n_classes(self) -> int:
        """C."""
        return int(self.output.shape[1])

    @property
    def lengths(self) -> IntArray:
        """``(N,)`` positions of each instance."""
        return np.diff(self.offsets)

    @property
    def prediction(self) -> IntArray:
        """``(N,)`` the predicted class (the lowest of equally probable ones)."""
        return np.asarray(np.argmax(self.output, axis=1))

    @property
    def row_instance(self) -> IntArray:
        """``(M,)`` the instance each row belongs to."""
        return np.asarray(np.repeat(np.arange(self.n_instances), self.lengths))

    @property
    def row_position(self) -> IntArray:
        """``(M,)`` the position of each row inside its instance, from 0."""
        return np.arange(self.n_rows) - np.repeat(self.offsets[:-1], self.lengths)

    def rows(self, i: int) -> slice:
        """Rows of instance ``i``."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, slice]]:
        """Whole instances in blocks of at most ``rows`` rows (an instance is never split): (instances, rows).

        By default a block's states fill about 16 MB as float64.
        """
        most = rows or max(1, BLOCK_NUMBERS // self.hidden.shape[1])
        start = 0
        while start < self.n_instances:
            limit = int(self.offsets[start]) + most
            stop = max(start + 1, int(np.searchsorted(self.offsets, limit, side="right")) - 1)
            yield slice(start, stop), slice(int(self.offsets[start]), int(self.offsets[stop]))
            start = stop

    def instance(self, i: int) -> AttentionRecord:
        """Instance ``i`` as a record of its own."""
        if not 0 <= i < self.n_instances:
            raise IndexError(f"instance {i} is outside 0 to {self.n_instances - 1}")
        return self.select(np.array([i]))

    def select(self, instances: ArrayLike) -> AttentionRecord:
        """The record of some instances, in the order given (indices or a boolean mask over N)."""
        chosen = np.asarray(instances)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        changes: dict[str, Any] = {"offsets": offsets}
        for names, index in ((PER_ROW, rows), (PER_INSTANCE, chosen)):
            for name in names:
                column = getattr(self, name)
                changes[name] = None if column is None else np.asarray(column[index])
        return replace(self, **changes)

    def position(self, t: int) -> tuple[FloatArray, IntArray]:
        """States at position ``t``: ``(n, H)`` and the ``(n,)`` instances that are long enough."""
        if t < 0:
            raise IndexError(f"position {t} is negative; positions count from 0")
        present = np.flatnonzero(self.lengths > t)
        return np.asarray(self.hidden[self.offsets[present] + t]), present

    def padded(self) -> dict[str, NDArray[Any]]:
        """Padded copies: ``hidden (N, T, H)``, ``attention (N, T)``, ``mask (N, T)``, zeros outside."""
        longest = int(self.lengths.max())
        mask = np.arange(longest)[None, :] < self.lengths[:, None]
        hidden = np.zeros((*mask.shape, self.hidden.shape[1]), dtype=self.hidden.dtype)
        attention = np.zeros(mask.shape, dtype=self.attention.dtype)
        hidden[mask] = self.hidden
        attention[mask] = self.attention
        return {"hidden": hidden, "attention": attention, "mask": mask}

    def tokens(self, i: int) -> list[str]:
        """Token strings of instance ``i``; empty when the record has none."""
        if self.token_ids is None:
            return []
        return [self.vocabulary[token] for token in self.token_ids[self.rows(i)]]
