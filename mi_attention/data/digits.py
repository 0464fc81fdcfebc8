"""Handwritten digits as sequences of pixel rows: real data that comes with a dependency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mi_attention.data.dataset import Dataset, Sequences
from mi_attention.data.fingerprint import fingerprint, text_hash
from mi_attention.data.planting import FRACTIONS, check_fractions
from mi_attention.interface import IntArray

__all__ = ["load_digits"]


def load_digits(*, fractions: Sequence[float] = FRACTIONS) -> Dataset:
    """1,797 images of 8 × 8 pixels as T = 8 rows of E = 8 pixels in [0, 1], ten classes, positions aligned.

    Source: the test part of "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998, UCI),
    as ``sklearn.datasets.load_digits`` holds it. The split is fixed: within every class, images are
    ordered by a hash of their pixels and cut by ``fractions``, so every split has all classes.

    Args:
        fractions: Shares of train, dev and test.

    Raises:
        ValueError: if ``fractions`` are not three shares that sum to 1.
    """
    import sklearn.datasets

    check_fractions(fractions)
    loaded = sklearn.datasets.load_digits()
    pixels = loaded.data.astype(np.int64)
    label = loaded.target.astype(np.int64)
    members = _stratified(pixels, label, fractions)
    splits = {name: _rows(pixels, label, index) for name, index in members.items() if len(index)}
    dataset = Dataset(
        name="digits",
        train=splits.get("train"),
        dev=splits.get("dev"),
        test=splits.get("test"),
        classes=tuple(str(digit) for digit in range(10)),
        aligned=True,
    )
    provenance = {
        "source": "sklearn.datasets.load_digits",
        "split": f"within each class by hash of the pixels, fractions {[float(share) for share in fractions]}",
        "counts": {name: len(split) for name, split in splits.items()},
    }
    return replace(dataset, fingerprint=fingerprint(dataset), provenance=provenance)


def _stratified(pixels: IntArray, label: IntArray, fractions: Sequence[float]) -> dict[str, IntArray]:
    hashes = [text_hash("digits", bytes(image.astype(np.uint8)).hex()) for image in pixels]
    chosen: dict[str, list[int]] = {"train": [], "dev": [], "test": []}
    for digit in range(10):
        order = sorted(np.flatnonzero(label == digit).tolist(), key=lambda i: (hashes[i], i))
        dev, test = (round(len(order) * share) for share in fractions[1:])
        train = len(order) - dev - test
        chosen["train"] += order[:train]
        chosen["dev"] += order[train : train + dev]
        chosen["test"] += order[train + dev :]
    return {name: np.array(sorted(index), dtype=np.int64) for name, index in chosen.items()}


def _rows(pixels: IntArray, label: IntArray, index: IntArray) -> Sequences:
    return Sequences(
        offsets=np.arange(len(index) + 1, dtype=np.int64) * 8,
        label=label[index],
        vectors=(pixels[index].reshape(-1, 8) / 16.0).astype(np.float32),
        identifier=index,
    )
