"""Small data and classifiers for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mi_attention.data.dataset import Dataset, Sequences, Vocabulary
from mi_attention.models.batch import Batch, make_batch
from mi_attention.models.classifier import AttentionClassifier
from mi_attention.models.config import ClassifierConfig

VOCABULARY = 30
KEYWORDS = (2, 3, 4, 5)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def _sequences(n: int, seed: int, *, pairs: bool = False, classes: int = 2) -> Sequences:
    """Texts of 1 to 12 tokens: a keyword (one token a class, from 2 on), and noise words around it."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, size=n)
    if pairs:
        lengths = np.maximum(lengths, 2)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    token_ids = rng.integers(6, VOCABULARY, size=offsets[-1]).astype(np.int32)
    label = rng.integers(0, classes, size=n)
    segment = np.zeros(offsets[-1], dtype=np.int8)
    for i in range(n):
        last = lengths[i] - 1 if pairs else lengths[i]
        token_ids[offsets[i] + rng.integers(0, last)] = KEYWORDS[label[i]]
        if pairs:
            segment[offsets[i] + rng.integers(1, lengths[i]) : offsets[i + 1]] = 1
    return Sequences(offsets, label, token_ids=token_ids, segment=segment if pairs else None)


@pytest.fixture
def keyword_data() -> Callable[..., Dataset]:
    """Planted data: one keyword decides the class."""

    def make(n: int = 200, *, pairs: bool = False, classes: int = 2) -> Dataset:
        train, dev, test = (_sequences(n, split, pairs=pairs, classes=classes) for split in range(3))
        tokens = ("<pad>", "<unk>", *(f"word{i}" for i in range(2, VOCABULARY)))
        return Dataset("keyword", train, dev, test, tuple("abcd"[:classes]), Vocabulary(tokens), fingerprint="test")

    return make


@pytest.fixture
def small_classifier() -> Callable[..., AttentionClassifier]:
    """An untrained classifier over the vocabulary of ``keyword_data``, in evaluation mode."""

    def make(seed: int = 0, classes: int = 3, **fields: Any) -> AttentionClassifier:
        config = ClassifierConfig(**{"encoder": "mlp", "units": 8, "embedding_size": 6, **fields})
        return AttentionClassifier(config, classes=classes, vocabulary_size=VOCABULARY, seed=seed).eval()

    return make


@pytest.fixture
def small_batch(keyword_data: Callable[..., Dataset]) -> Callable[..., Batch]:
    """A padded batch of planted texts of unequal lengths."""

    def make(size: int = 6, *, pairs: bool = False) -> Batch:
        train = keyword_data(40, pairs=pairs).train
        assert train is not None
        return make_batch(train, np.arange(size))

    return make
