"""Texts for a page: words with their attention and pointwise informativeness, packed so that 10⁴ fit."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.interface import AttentionRecord, FloatArray, IntArray

__all__ = ["HtmlInstances"]


@dataclass(frozen=True, eq=False)
class HtmlInstances:
    """Texts to browse, packed as in ``AttentionRecord``: instance ``i`` owns rows ``offsets[i]:offsets[i + 1]``.

    The page keeps the numbers as float32, about 13 bytes a word in the file.

    Attributes:
        title: Name by which a reader chooses between sets.
        vocabulary: Token strings.
        token_ids: ``(M,)`` indices into ``vocabulary``.
        attention: ``(M,)`` weights, ≥ 0.
        informativeness: ``(M,)`` KL(q(·|h) ‖ p) in nats, NaN where undefined.
        offsets: ``(N + 1,)``, strictly increasing from 0.
        label: ``(N,)`` gold classes, or None.
        prediction: ``(N,)`` predicted classes, or None.
        probability: ``(N,)`` the model's probability of its prediction, or None.
        classes: Names of the classes; by default their numbers.
        measures: Name → ``(N,)`` a value of each instance to show and sort by, such as ``"tau-b"``; NaN is undefined.
        note: What a reader must know of these texts.
    """

    title: str
    vocabulary: Sequence[str]
    token_ids: IntArray
    attention: FloatArray
    informativeness: FloatArray
    offsets: IntArray
    label: IntArray | None = None
    prediction: IntArray | None = None
    probability: FloatArray | None = None
    classes: Sequence[str] = ()
    measures: Mapping[str, FloatArray] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        """Check that shapes fit and values exist."""
        offsets = np.asarray(self.offsets)
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or (np.diff(offsets) <= 0).any():
            raise ValueError("offsets must increase strictly from 0, with one more entry than there are instances")
        rows, n = int(offsets[-1]), len(offsets) - 1
        for name in ("token_ids", "attention", "informativeness"):
            shape = np.shape(getattr(self, name))
            if shape != (rows,):
                raise ValueError(f"{name} must be ({rows},) to match offsets, got shape {shape}")
        whole = {"label": self.label, "prediction": self.prediction, "probability": self.probability}
        for name, values in [*whole.items(), *self.measures.items()]:
            if values is not None and np.shape(values) != (n,):
                raise ValueError(f"{name} must be ({n},), one value an instance, got shape {np.shape(values)}")
        ids = np.asarray(self.token_ids)
        if ids.min() < 0 or ids.max() >= len(self.vocabulary):
            raise ValueError(
                f"token_ids must index the vocabulary of {len(self.vocabulary)}, got {ids.min()} to {ids.max()}"
            )
        if not (np.isfinite(self.attention).all() and (np.asarray(self.attention) >= 0).all()):
            raise ValueError("attention must be finite and at least 0; weights on padding have no place here")
        # A divergence is not negative; a rounding error is none to refuse.
        if (np.asarray(self.informativeness) < -1e-6).any() or np.isinf(self.informativeness).any():
            raise ValueError(
                "informativeness must be finite and at least 0 nats, as a divergence is; support may be negative"
            )
        highest = max((int(np.max(v)) for v in (self.label, self.prediction) if v is not None), default=-1)
        lowest = min((int(np.min(v)) for v in (self.label, self.prediction) if v is not None), default=0)
        if lowest < 0 or (self.classes and highest >= len(self.classes)):
            raise ValueError(
                f"classes has {len(self.classes)} names, but label and prediction are {lowest} to {highest}"
            )

    @classmethod
    def from_record(
        cls,
        record: AttentionRecord,
        informativeness: ArrayLike,
        *,
        title: str,
        classes: Sequence[str] = (),
        measures: Mapping[str, ArrayLike] | None = None,
        note: str = "",
    ) -> HtmlInstances:
        """The texts of a record with the pointwise informativeness of its states.

        Args:
            record: A record with tokens.
            informativeness: ``(M,)`` nats, such as column ``informativeness`` of ``Comparison.positions``.
            title: Name of the set.
            classes: Names of the classes.
            measures: Name → ``(N,)`` a value of each instance.
            note: What a reader must know.

        Raises:
            ValueError: if the record has no tokens, or shapes do not fit.
        """
        if record.token_ids is None:
            raise ValueError("record has no tokens to show; make it with tokens=")
        return cls(
            title=title,
            vocabulary=record.vocabulary,
            token_ids=np.asarray(record.token_ids),
            attention=np.asarray(record.attention),
            informativeness=np.asarray(informativeness, dtype=np.float64),
            offsets=np.asarray(record.offsets),
            label=None if record.label is None else np.asarray(record.label),
            prediction=record.prediction,
            probability=np.asarray(record.output).max(axis=1),
            classes=classes,
            measures={name: np.asarray(v, dtype=np.float64) for name, v in (measures or {}).items()},
            note=note,
        )

    @property
    def n_instances(self) -> int:
        """N."""
        return len(self.offsets) - 1

    @property
    def n_words(self) -> int:
        """M, all words of all instances."""
        return int(self.offsets[-1])

    def packed(self) -> dict[str, Any]:
        """What the page's script reads: JSON-able, arrays as base64 of little-endian float32, uint32 or uint16."""
        used, ids = np.unique(np.asarray(self.token_ids), return_inverse=True)
        width = "<u2" if len(used) <= 1 << 16 else "<u4"
        whole = {"label": self.label, "prediction": self.prediction}
        return {
            "title": self.title,
            "note": self.note,
            "vocabulary": [str(self.vocabulary[token]) for token in used],
            "wideIds": width == "<u4",
            "ids": _base64(ids, width),
            "lengths": _base64(np.diff(self.offsets), "<u4"),
            "attention": _base64(self.attention, "<f4"),
            "informativeness": _base64(self.informativeness, "<f4"),
            **{name: None if v is None else _base64(v, "<u4") for name, v in whole.items()},
            "probability": None if self.probability is None else _base64(self.probability, "<f4"),
            "classes": [str(name) for name in self.classes],
            "measures": [{"name": str(k), "values": _base64(v, "<f4")} for k, v in self.measures.items()],
        }


def _base64(values: ArrayLike, dtype: str) -> str:
    packed: NDArray[Any] = np.ascontiguousarray(np.asarray(values).astype(dtype))
    return base64.b64encode(packed.tobytes()).decode("ascii")
