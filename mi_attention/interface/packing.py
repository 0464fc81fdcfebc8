"""Turns padded, ragged or packed arrays of any library into the packed columns of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface.arrays import BoolArray, FloatArray, IntArray
from mi_attention.interface.model import LinearHead
from mi_attention.interface.validation import SUM_TOLERANCE, first_true

__all__ = ["pack_arrays"]


def _to_numpy(name: str, value: Any) -> NDArray[Any]:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        # NumPy has no bfloat16.
        value = (value.float() if "bfloat16" in str(value.dtype) else value).numpy()
    array = np.asarray(value)
    if array.dtype == object:
        raise ValueError(
            f"{name} is not a rectangular array; pass a list with one array an instance for every ragged argument"
        )
    return array


def _is_ragged(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and np.ndim(value[0]) == 2


class _Layout:
    """How the caller laid instances out (padded, ragged, packed), read from ``hidden``."""

    def __init__(
        self,
        hidden: Any,
        *,
        mask: Any,
        lengths: Any,
        offsets: Any,
        empty: Literal["error", "exclude"],
    ) -> None:
        self.excluded = 0
        self.mask: BoolArray | None = None
        self.packed = False
        self.ragged = _is_ragged(hidden)
        if self.ragged:
            parts = [_to_numpy("hidden", part) for part in hidden]
            sizes = {part.shape[1] for part in parts}
            if len(sizes) > 1:
                raise ValueError(f"hidden has instances of different hidden sizes: {sorted(sizes)}")
            self.lengths = np.array([len(part) for part in parts], dtype=np.int64)
            self.width = 0
            self.hidden = np.concatenate(parts)
        else:
            array = _to_numpy("hidden", hidden)
            if array.ndim == 3:
                self._padded(array, mask, lengths)
            elif array.ndim == 2:
                self._packed(array, lengths, offsets)
            else:
                raise ValueError(
                    "hidden must be (N, T, H) padded, a list of N arrays (T, H), or (M, H) packed; "
                    f"got shape {array.shape}"
                )
        if mask is not None and self.mask is None:
            raise ValueError("mask goes with padded hidden (N, T, H); ragged and packed arrays have no padding")
        self.all_lengths = self.lengths
        self.kept = self.lengths > 0
        if empty == "exclude":
            self.excluded = int((~self.kept).sum())
            self.lengths = self.lengths[self.kept]
            if len(self.lengths) == 0:
                raise ValueError("every instance is empty or fully masked: there is nothing to record")
        elif not self.kept.all():
            raise ValueError(
                f"instance {first_true(~self.kept)} has no positions (fully masked or empty; is the mask 1 where a "
                "position is real?): its attention is "
                'undefined; leave it out, or pass empty="exclude" to have such instances left out and counted'
            )

    def _padded(self, array: NDArray[Any], mask: Any, lengths: Any) -> None:
        n, width, _ = array.shape
        if mask is not None and lengths is not None:
            raise ValueError("give mask or lengths, not both")
        if mask is not None:
            chosen = _to_numpy("mask", mask)
            if chosen.shape != (n, width):
                raise ValueError(f"mask must be ({n}, {width}) to match hidden, got shape {chosen.shape}")
            if not np.isin(chosen, (0, 1)).all():
                raise ValueError("mask must be boolean or 0/1, 1 where a position is real (not an additive mask)")
            self.mask = chosen.astype(bool)
        elif lengths is not None:
            counts = _to_numpy("lengths", lengths)
            if counts.shape != (n,) or (counts < 0).any() or (counts > width).any():
                raise ValueError(f"lengths must be ({n},) within 0 to {width}")
            self.mask = np.arange(width)[None, :] < counts[:, None]
        else:
            self.mask = np.ones((n, width), dtype=bool)
        self.width = width
        self.lengths = self.mask.sum(axis=1).astype(np.int64)
        self.hidden = array[self.mask]

    def _packed(self, array: NDArray[Any], lengths: Any, offsets: Any) -> None:
        if (offsets is None) == (lengths is None):
            raise ValueError("packed hidden (M, H) needs offsets (N + 1,) or lengths (N,), one of them")
        if offsets is not None:
            bounds = _to_numpy("offsets", offsets)
            if bounds.ndim != 1 or len(bounds) < 2 or bounds[0] != 0 or (np.diff(bounds) < 0).any():
                raise ValueError("offsets must be (N + 1,), start at 0 and never decrease")
            self.lengths = np.diff(bounds).astype(np.int64)
        else:
            self.lengths = _to_numpy("lengths", lengths).astype(np.int64)
        if self.lengths.ndim != 1 or self.lengths.sum() != len(array) or (self.lengths < 0).any():
            raise ValueError(f"the lengths sum to {self.lengths.sum()} but hidden has {len(array)} rows")
        self.width = 0
        self.packed = True
        self.hidden = array

    def column(self, name: str, value: Any, ndim: int) -> NDArray[Any]:
        """A per-position argument, packed."""
        if self.mask is not None:
            array = _to_numpy(name, value)
            if array.shape[:2] != self.mask.shape or array.ndim != ndim + 1:
                expected = f"{self.mask.shape}" if ndim == 1 else f"({self.mask.shape[0]}, {self.mask.shape[1]}, E)"
                hint = "; choose one head or average over heads" if name == "attention" and array.ndim > 2 else ""
                raise ValueError(f"{name} must be {expected} to match hidden, got shape {array.shape}{hint}")
            if name == "attention":
                outside = np.where(self.mask, 0.0, np.nan_to_num(array, nan=0.0))
                if (np.abs(outside).sum(axis=1) > SUM_TOLERANCE).any():
                    i = first_true(np.abs(outside).sum(axis=1) > SUM_TOLERANCE)
                    raise ValueError(
                        f"attention of instance {i} puts {np.abs(outside[i]).sum():.4f} on masked positions; "
                        "check the mask, or state that mass as sink and set those weights to 0"
                    )
            return array[self.mask]
        if self.ragged or (isinstance(value, (list, tuple)) and len(value) and np.ndim(value[0]) == ndim):
            parts = [_to_numpy(name, part) for part in value]
            if len(parts) != len(self.all_lengths):
                raise ValueError(f"{name} has {len(parts)} instances but hidden has {len(self.all_lengths)}")
            for i, part in enumerate(parts):
                if part.ndim != ndim or len(part) != self.all_lengths[i]:
                    raise ValueError(
                        f"{name} of instance {i} has shape {part.shape} but hidden has {self.all_lengths[i]} positions"
                    )
            return np.concatenate(parts)
        array = _to_numpy(name, value)
        if array.ndim != ndim or len(array) != len(self.hidden):
            raise ValueError(f"{name} must have {len(self.hidden)} rows to match hidden, got shape {array.shape}")
        return array

    def per_instance(self, name: str, value: Any) -> NDArray[Any]:
        """A per-instance argument without the excluded instances."""
        array = _to_numpy(name, value)
        if array.shape[:1] != self.kept.shape:
            raise ValueError(f"{name} has shape {array.shape} but there are {len(self.kept)} instances")
        return array[self.kept] if self.excluded else array

    def token_columns(self, tokens: Sequence[Sequence[str]] | None) -> tuple[IntArray | None, tuple[str, ...]]:
        """Token indices and the strings they stand for."""
        if tokens is None:
            return None, ()
        rows: Sequence[Any] = tokens
        if self.packed and len(tokens) == int(self.all_lengths.sum()) and np.ndim(tokens[0]) == 0:
            ends = np.cumsum(self.all_lengths)
            rows = [tokens[end - length : end] for end, length in zip(ends, self.all_lengths, strict=True)]
        if len(rows) != len(self.all_lengths):
            raise ValueError(f"tokens has {len(rows)} instances but hidden has {len(self.all_lengths)}")
        words: list[str] = []
        for i, row in enumerate(rows):
            given = list(row)
            if self.mask is not None and len(given) == self.width != self.all_lengths[i]:
                given = [word for word, real in zip(given, self.mask[i], strict=True) if real]
            if len(given) != self.all_lengths[i]:
                raise ValueError(
                    f"tokens of instance {i} has {len(given)} tokens but hidden has {self.all_lengths[i]} positions"
                )
            words.extend(str(word) for word in given)
        index: dict[str, int] = {}
        ids = np.array([index.setdefault(word, len(index)) for word in words], dtype=np.int32)
        return ids, tuple(index)


def pack_arrays(
    hidden: Any,
    attention: Any,
    output: Any,
    *,
    mask: Any,
    tokens: Sequence[Sequence[str]] | None,
    label: Any,
    lengths: Any,
    offsets: Any,
    segment: Any,
    query: Any,
    rationale: Any,
    embedding: Any,
    sink: Any,
    head: Any,
    meta: Mapping[str, Any] | None,
    logits: bool,
    empty: Literal["error", "exclude"],
) -> dict[str, Any]:
    """Pack every argument of ``AttentionRecord.from_arrays``, whose docstring says what each may be."""
    layout = _Layout(hidden, mask=mask, lengths=lengths, offsets=offsets, empty=empty)
    facts = dict(meta or {})
    if layout.excluded:
        facts["excluded"] = {**dict(facts.get("excluded", {})), "no positions": layout.excluded}
    token_ids, vocabulary = layout.token_columns(tokens)
    gold = None if label is None else _as_integers("label", layout.per_instance("label", label))
    linear = _as_head(head)

    def per_row(name: str, value: Any, ndim: int = 1) -> FloatArray | None:
        return None if value is None else _as_float(name, layout.column(name, value, ndim))

    def per_instance(name: str, value: Any) -> FloatArray | None:
        return None if value is None else _as_float(name, layout.per_instance(name, value))

    return {
        "hidden": _as_float("hidden", layout.hidden),
        "attention": per_row("attention", attention),
        "offsets": np.concatenate([[0], np.cumsum(layout.lengths)]).astype(np.int64),
        "output": _as_probabilities(layout.per_instance("output", output), logits=logits, label=gold, head=linear),
        "label": gold,
        "token_ids": token_ids,
        "vocabulary": vocabulary,
        "segment": None if segment is None else _as_integers("segment", layout.column("segment", segment, 1)),
        "query": per_instance("query", query),
        "rationale": per_row("rationale", rationale),
        "embedding": per_row("embedding", embedding, ndim=2),
        "sink": per_instance("sink", sink),
        "head": linear,
        "meta": facts,
    }


def _as_float(name: str, array: NDArray[Any]) -> FloatArray:
    if np.issubdtype(array.dtype, np.complexfloating) or array.dtype.kind in "USO":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float32 if array.dtype == np.float16 else np.float64)


def _as_integers(name: str, array: NDArray[Any]) -> IntArray:
    if np.issubdtype(array.dtype, np.integer) or array.dtype == bool:
        return array.astype(np.int64)
    if np.issubdtype(array.dtype, np.floating) and np.isfinite(array).all() and (array == np.round(array)).all():
        return array.astype(np.int64)
    raise ValueError(f"{name} must hold class numbers from 0, got dtype {array.dtype}; encode names as integers first")


def _as_head(head: Any) -> LinearHead | None:
    if head is None or isinstance(head, LinearHead):
        return head
    if hasattr(head, "weight") and hasattr(head, "bias"):
        head = (head.weight, head.bias)
    if not isinstance(head, (tuple, list)) or len(head) != 2:
        raise ValueError(
            "head must be (weight (C, H), bias (C,)), a LinearHead, or a linear layer with weight and bias"
        )
    weight = _as_float("head", _to_numpy("head", head[0]))
    bias = np.zeros(weight.shape[:-1], dtype=weight.dtype) if head[1] is None else _to_numpy("head", head[1])
    bias = _as_float("head", bias)
    if weight.ndim == 1 or (weight.ndim == 2 and weight.shape[0] == 1):
        weight = np.stack([np.zeros_like(weight.reshape(-1)), weight.reshape(-1)])
        bias = np.array([0.0, float(bias.reshape(-1)[0])], dtype=weight.dtype)
    return LinearHead(weight=weight, bias=bias)


def _as_probabilities(
    array: NDArray[Any], *, logits: bool, label: IntArray | None, head: LinearHead | None
) -> FloatArray:
    if array.ndim == 1 and (np.issubdtype(array.dtype, np.integer) or array.dtype == bool) and not logits:
        predicted = array.astype(np.int64)
        if (predicted < 0).any():
            raise ValueError("output given as predicted classes must count from 0")
        known = [int(predicted.max()) + 1, 2]
        known += [] if label is None or not len(label) else [int(label.max()) + 1]
        known += [] if head is None else [len(head.bias)]
        return np.eye(max(known), dtype=np.float64)[predicted]
    values = _as_float("output", array)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if logits:
        if values.ndim == 2 and (values >= 0).all() and np.allclose(values.sum(axis=1), 1, atol=1e-6):
            raise ValueError("output holds probabilities (each row sums to 1), but logits=True; leave logits out")
        values = np.stack([np.zeros_like(values), values], axis=1) if values.ndim == 1 else values
        if values.ndim != 2 or np.isnan(values).any():
            raise ValueError(f"output must be (N, C) logits without NaN, got shape {values.shape}")
        shifted = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
    if values.ndim == 1:
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError("output (N,) must be probabilities of class 1 in [0, 1]; pass logits=True for logits")
        return np.stack([1 - values, values], axis=1)
    return values
