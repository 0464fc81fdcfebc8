"""One hash for the content of a data set, the same in every process and on every platform."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mi_attention.data.dataset import Dataset, Sequences, Vocabulary
from mi_attention.interface import FloatArray

__all__ = ["fingerprint", "fingerprint_of", "text_hash", "unit_interval"]

COLUMNS = ("offsets", "label", "token_ids", "vectors", "segment", "rationale", "identifier")


def fingerprint_of(
    *,
    classes: Sequence[str],
    splits: Mapping[str, Sequences],
    vocabulary: Vocabulary | None,
    pretrained: FloatArray | None = None,
    options: Mapping[str, Any] | None = None,
) -> str:
    """SHA-256 over classes, options, vocabulary, token strings and every array of every split.

    Integers are hashed as little-endian 64-bit and reals as little-endian 32-bit numbers, strings as
    UTF-8, options as JSON with sorted keys, so that neither the platform nor the process matters.

    Args:
        classes: Names of the classes.
        splits: The splits that exist, by name.
        vocabulary: None for vector sequences.
        pretrained: ``(V, E)`` or None.
        options: JSON-able facts that must part results (tokeniser, versions), not places of files.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    header = {
        "classes": list(classes),
        "options": dict(options or {}),
        "vocabulary": None if vocabulary is None else [list(vocabulary.tokens), vocabulary.lowercase],
        "splits": sorted(splits),
    }
    _add_bytes(digest, "header", _json_bytes(header))
    for name in sorted(splits):
        split = splits[name]
        for column in COLUMNS:
            _add_array(digest, f"{name}.{column}", getattr(split, column))
        tokens = None if split.tokens is None else list(split.tokens)
        _add_bytes(digest, f"{name}.tokens", _json_bytes(tokens))
    _add_array(digest, "pretrained", pretrained)
    return digest.hexdigest()


def fingerprint(dataset: Dataset, options: Mapping[str, Any] | None = None) -> str:
    """``fingerprint_of`` the parts of a data set."""
    return fingerprint_of(
        classes=dataset.classes,
        splits=dataset.splits,
        vocabulary=dataset.vocabulary,
        pretrained=dataset.pretrained,
        options=options,
    )


def text_hash(salt: str, *parts: str) -> bytes:
    """SHA-256 of texts; different salts give independent hashes of the same text."""
    return hashlib.sha256(_json_bytes([salt, *parts])).digest()


def unit_interval(salt: str, *parts: str) -> float:
    """A number in [0, 1) that depends on the texts alone: below a fraction it chooses a split."""
    # 53 bits are what a float64 holds exactly, so the number never rounds up to 1.
    return (int.from_bytes(text_hash(salt, *parts)[:8], "big") >> 11) / 2**53


def _json_bytes(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def _add_bytes(digest: hashlib._Hash, name: str, content: bytes) -> None:
    digest.update(f"{name}:{len(content)}:".encode())
    digest.update(content)


def _add_array(digest: hashlib._Hash, name: str, array: np.ndarray[Any, Any] | None) -> None:
    if array is None:
        _add_bytes(digest, name, b"none")
        return
    kind = "<f4" if np.issubdtype(array.dtype, np.floating) else "<i8"
    digest.update(f"{name}:{kind}:{array.shape}:".encode())
    digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
