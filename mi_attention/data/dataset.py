"""What a data source hands to models: packed sequences in three splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mi_attention.interface import FloatArray, IntArray

__all__ = ["Dataset", "Sequences", "SplitName", "Vocabulary"]

SplitName = Literal["train", "dev", "test"]


@dataclass(frozen=True)
class Vocabulary:
    """Token strings and their indices, from the training split only.

    Attributes:
        tokens: Index → string. Index 0 is padding, index 1 stands for every unknown token. A text that
            contains the string of either of them gets the unknown index, never the padding index.
        lowercase: Strings are put in lower case before they are looked up. Keep it beside ``tokens``
            when a vocabulary is saved, otherwise other data is encoded wrongly.
    """

    tokens: tuple[str, ...]
    lowercase: bool = False

    PADDING = 0
    UNKNOWN = 1
    PADDING_TOKEN = "<pad>"
    UNKNOWN_TOKEN = "<unk>"

    def __post_init__(self) -> None:
        """Check that the two special entries exist and that no string occurs twice."""
        if len(self.tokens) < 2:
            raise ValueError(f"tokens must start with the padding and the unknown entry, got {self.tokens!r}")
        if len(set(self.tokens)) != len(self.tokens):
            twice = next(token for token, count in Counter(self.tokens).items() if count > 1)
            raise ValueError(f"tokens has {twice!r} more than once; every string needs one index")

    def __len__(self) -> int:
        """Number of entries, padding and unknown included."""
        return len(self.tokens)

    @classmethod
    def build(
        cls,
        tokens: Iterable[str],
        *,
        lowercase: bool = False,
        min_count: int = 1,
        max_size: int | None = None,
    ) -> Vocabulary:
        """Count tokens and keep the frequent ones, most frequent first, ties in code point order.

        Args:
            tokens: All tokens of the training split.
            lowercase: Count and look up in lower case.
            min_count: Rarer strings are left to the unknown index.
            max_size: At most so many strings besides padding and unknown; None for no limit.

        Raises:
            ValueError: if ``min_count`` or ``max_size`` is below 1.
        """
        if min_count < 1:
            raise ValueError(f"min_count must be at least 1, got {min_count}")
        if max_size is not None and max_size < 1:
            raise ValueError(f"max_size must be at least 1 or None, got {max_size}")
        special = (cls.PADDING_TOKEN, cls.UNKNOWN_TOKEN)
        counts = Counter(token.lower() for token in tokens) if lowercase else Counter(tokens)
        frequent = [token for token, count in counts.items() if count >= min_count and token not in special]
        frequent.sort(key=lambda token: (-counts[token], token))
        return cls(tokens=special + tuple(frequent[:max_size]), lowercase=lowercase)

    @cached_property
    def index(self) -> dict[str, int]:
        """String → index, without the padding and unknown entries."""
        return {token: place for place, token in enumerate(self.tokens) if place > self.UNKNOWN}

    def encode(self, tokens: Iterable[str]) -> IntArray:
        """Indices of tokens, int32; what the vocabulary does not know is ``UNKNOWN``."""
        index, unknown = self.index, self.UNKNOWN
        if self.lowercase:
            return np.array([index.get(token.lower(), unknown) for token in tokens], dtype=np.int32)
        return np.array([index.get(token, unknown) for token in tokens], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Sequences:
    """One split: N sequences, packed one after another.

    Attributes:
        offsets: ``(N + 1,)`` int64; sequence ``i`` owns rows ``offsets[i]:offsets[i + 1]``, at least one.
        label: ``(N,)`` int64 classes.
        token_ids: ``(M,)`` int32 indices into the vocabulary, or None for vector sequences.
        vectors: ``(M, E)`` float32 input vectors, or None for token sequences.
        segment: ``(M,)`` int8, 0 for the first text and 1 for the second, or None.
        rationale: ``(M,)`` float32 human evidence in [0, 1], or None.
        tokens: ``(M,)`` the strings as written (before the vocabulary), or None for vectors.
        identifier: ``(N,)`` int64, the place of each sequence in its source, stable over runs.
    """

    offsets: IntArray
    label: IntArray
    token_ids: IntArray | None = None
    vectors: FloatArray | None = None
    segment: IntArray | None = None
    rationale: FloatArray | None = None
    tokens: tuple[str, ...] | None = None
    identifier: IntArray | None = None

    def __post_init__(self) -> None:
        """Check that exactly one input column exists and all lengths agree."""
        if (self.token_ids is None) == (self.vectors is None):
            raise ValueError("a sequence has token_ids or vectors, exactly one of them")
        if len(self.offsets) == 0 or self.offsets[0] != 0:
            raise ValueError(f"offsets must start with 0, got {self.offsets[:1]}")
        empty = np.flatnonzero(np.diff(self.offsets) < 1)
        if empty.size:
            raise ValueError(f"sequence {empty[0]} has no position; leave empty sequences out and count them")
        rows = int(self.offsets[-1])
        for name in ("token_ids", "vectors", "segment", "rationale", "tokens"):
            column = getattr(self, name)
            if column is not None and len(column) != rows:
                raise ValueError(f"{name} has {len(column)} rows but offsets end at {rows}")
        for name in ("label", "identifier"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self):
                raise ValueError(f"{name} has {len(column)} entries but there are {len(self)} sequences")

    def __len__(self) -> int:
        """N."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        """``(N,)`` positions of each sequence."""
        return np.diff(self.offsets)

    def rows(self, indices: Sequence[int] | IntArray) -> IntArray:
        """Packed rows of the chosen sequences, one sequence after another."""
        chosen = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[chosen]
        shift = self.offsets[:-1][chosen] - (np.cumsum(lengths) - lengths)
        found: IntArray = np.arange(lengths.sum(), dtype=np.int64) + np.repeat(shift, lengths)
        return found

    def take(self, indices: Sequence[int] | IntArray) -> Sequences:
        """The chosen sequences, in the order given.

        Args:
            indices: Sequence numbers in ``[0, N)``; a number may occur more than once.
        """
        chosen = np.asarray(indices, dtype=np.int64)
        rows = self.rows(chosen)
        return Sequences(
            offsets=np.concatenate([[0], np.cumsum(self.lengths[chosen])]).astype(np.int64),
            label=self.label[chosen],
            token_ids=None if self.token_ids is None else self.token_ids[rows],
            vectors=None if self.vectors is None else self.vectors[rows],
            segment=None if self.segment is None else self.segment[rows],
            rationale=None if self.rationale is None else self.rationale[rows],
            tokens=None if self.tokens is None else tuple(self.tokens[row] for row in rows),
            identifier=None if self.identifier is None else self.identifier[chosen],
        )


@dataclass(frozen=True, eq=False)
class Dataset:
    """Sequences of one source, split, with everything needed to trace them.

    Attributes:
        name: Short name for tables.
        train: Training split; None for sources without one (a model trained elsewhere is needed).
        dev: Split for early stopping; None if there is none.
        test: Split for evaluation; None if there is none.
        classes: Names of the classes; labels index them.
        vocabulary: None for vector sequences.
        pretrained: ``(V, E)`` float32 vectors for the vocabulary, or None.
        aligned: Position ``t`` means the same in every sequence (fixed length data).
        truth: ``(T,)`` exact I(x_t; label) in nats where the generator knows it, else None.
        joint_truth: I(whole sequence; label) in nats where known, else None.
        dropped: Why and how many sequences were left out, over all splits.
        fingerprint: Hash of the content (and, for ``docstrings``, of package versions): results of
            different fingerprints are not compared.
        provenance: JSON-able facts: source, versions, options, seed.
    """

    name: str
    train: Sequences | None
    dev: Sequences | None
    test: Sequences | None
    classes: tuple[str, ...]
    vocabulary: Vocabulary | None = None
    pretrained: FloatArray | None = None
    aligned: bool = False
    truth: FloatArray | None = None
    joint_truth: float | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    fingerprint: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def splits(self) -> dict[str, Sequences]:
        """The splits that exist, by name."""
        found = {"train": self.train, "dev": self.dev, "test": self.test}
        return {name: split for name, split in found.items() if split is not None}

    def require(self, split: SplitName) -> Sequences:
        """The split, or an error that says what to do without it.

        Args:
            split: ``"train"``, ``"dev"`` or ``"test"``.

        Raises:
            ValueError: if the data set has no such split, naming the splits it has and the remedy.
        """
        found = self.splits.get(split)
        if found is not None:
            return found
        remedies = {
            "train": "train the model on another data set with the same classes, and load this one with that "
            "data set's vocabulary and classes (vocabulary=..., classes=...)",
            "dev": "early stopping needs one, and the test split must not serve: ask for one to be carved from "
            "train (dev_fraction=...)",
            "test": "evaluate on another data set, or ask for a test split (fractions=...)",
        }
        if split not in remedies:
            raise ValueError(f"split must be one of {sorted(remedies)}, got {split!r}")
        have = ", ".join(self.splits) or "nothing"
        raise ValueError(f"data set {self.name!r} has no {split} split (it has: {have}): {remedies[split]}")
