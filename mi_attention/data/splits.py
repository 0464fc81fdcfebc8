"""Which split a text belongs to: as its source says, or by a hash of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mi_attention.data.fingerprint import unit_interval
from mi_attention.data.options import TextOptions

__all__ = ["carve_dev", "hashed_split", "written_split"]

SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "development": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
    "testing": "test",
}


def written_split(place: int, row: Mapping[str, Any], column: str | None, options: TextOptions) -> str | None:
    """``"train"``, ``"dev"``, ``"test"``, ``""`` where the hash must choose, None to leave the row out.

    Raises:
        ValueError: if the row has no split or an unknown one.
    """
    if column is None:
        return ""
    written = row.get(column)
    if not isinstance(written, str) or not written.strip():
        raise ValueError(f"row {place} has no split in column {column!r}; fill it, or pass split=None to split by hash")
    if options.splits is not None and written in options.splits:
        chosen = options.splits[written]
        if chosen is not None and chosen not in ("train", "dev", "test"):
            raise ValueError(f"splits maps {written!r} to {chosen!r}; use 'train', 'dev', 'test' or None")
        return chosen
    chosen = SPLIT_NAMES.get(written.strip().lower())
    if chosen is None:
        raise ValueError(
            f"row {place} has the unknown split {written!r}; say what it is with splits={{{written!r}: 'train'}} "
            "(or 'dev', 'test', or None to leave it out)"
        )
    return chosen


def hashed_split(key: Sequence[str], options: TextOptions) -> str:
    """A split by ``options.fractions`` that depends on the text (or pair of texts) alone."""
    place = unit_interval("split", *key)
    train, dev, _ = options.fractions
    return "train" if place < train else "dev" if place < train + dev else "test"


def carve_dev(texts: Sequence[tuple[str, Sequence[str]]], options: TextOptions) -> list[str] | None:
    """New splits of texts given as (split, key), where a part of train has become dev.

    None if nothing is to be moved: there is a dev split already, or no train, or the option says 0, or so
    few texts that one of the two would be empty.
    """
    present = {split for split, _ in texts}
    if "train" not in present or "dev" in present or options.dev_fraction == 0:
        return None
    moved = [
        "dev" if split == "train" and unit_interval("dev", *key) < options.dev_fraction else split
        for split, key in texts
    ]
    return moved if {"train", "dev"} <= set(moved) else None
