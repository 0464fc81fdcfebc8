"""Records of the package's own classifier."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mi_attention.data.dataset import Dataset, Sequences
from mi_attention.interface import AttentionRecord
from mi_attention.models.checkpoint import weights_hash
from mi_attention.models.training import TrainedClassifier

__all__ = ["record_from_classifier"]


def record_from_classifier(
    trained: TrainedClassifier,
    dataset: Dataset,
    splits: Sequence[str] = ("dev", "test"),
    *,
    embedding: bool = True,
    batch_size: int = 128,
) -> AttentionRecord:
    """Run a trained classifier over splits of a data set and record what its attention did.

    The record holds the positions the attention may weigh: with ``query="second_text"`` those of the first
    text. Sequences without any such position are undefined; they are left out and counted in
    ``meta["excluded"]``.

    Args:
        trained: What ``train`` returned.
        dataset: The data; a model trained on other data needs this one encoded with its vocabulary.
        splits: Splits to pool, in this order; absent ones are refused.
        embedding: Keep the input vectors too, for the control on input embeddings.
        batch_size: Sequences a pass; results differ by rounding only.

    Returns:
        The record, with the linear head, labels, tokens, segments, query and rationale where there are any.

    Raises:
        ValueError: if a split is missing, or no sequence has a position to attend to.
    """
    chosen = [(name, _split(dataset, name)) for name in splits]
    if not chosen:
        raise ValueError("splits is empty; name at least one of train, dev, test")
    parts = [_run(trained, sequences, embedding, batch_size) for _, sequences in chosen]
    columns = {
        name: np.concatenate([part[name] for part in parts])
        for name in parts[0]
        if name != "row" and all(name in part for part in parts)
    }
    names, token_ids = _vocabulary([sequences for _, sequences in chosen], [part["row"] for part in parts])
    kept, lengths = columns.pop("kept"), columns.pop("length")
    logits = columns.pop("logits").astype(np.float64)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    meta = _facts(trained, dataset, splits)
    excluded = int((~kept).sum())
    if excluded:
        meta["excluded"] = {"no positions to attend to": excluded}
    return AttentionRecord(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        output=shifted / shifted.sum(axis=1, keepdims=True),
        token_ids=token_ids,
        vocabulary=names,
        head=trained.model.head,
        meta=meta,
        **columns,
    )


def _split(dataset: Dataset, name: str) -> Sequences:
    found = dataset.splits.get(name)
    if found is None:
        raise ValueError(f"data {dataset.name!r} has no {name!r} split; it has {', '.join(dataset.splits)}")
    return found


def _run(trained: TrainedClassifier, sequences: Sequences, embedding: bool, batch_size: int) -> dict[str, NDArray[Any]]:
    """Packed columns of one split; ``row`` says which row of the split each kept position is."""
    rows, count = int(sequences.offsets[-1]), len(sequences)
    model = trained.model
    per_row: dict[str, NDArray[Any]] = {
        "hidden": np.empty((rows, model.hidden), np.float32),
        "attention": np.zeros(rows, np.float32),
    }
    if embedding:
        per_row["embedding"] = np.empty((rows, model.embedding_size), np.float32)
    per_instance: dict[str, NDArray[Any]] = {"logits": np.empty((count, model.classes), np.float32)}
    readable = np.zeros(rows, dtype=bool)
    undefined = np.zeros(count, dtype=bool)
    for indices, batch, output in model.run(sequences, batch_size):
        mask = batch.mask.cpu().numpy()
        place = sequences.rows(indices)
        per_row["hidden"][place] = output.states.cpu().numpy()[mask]
        per_row["attention"][place] = output.attention.weights.cpu().numpy()[mask]
        if embedding:
            per_row["embedding"][place] = output.embedded.cpu().numpy()[mask]
        readable[place] = output.readable.cpu().numpy()[mask]
        undefined[indices] = output.attention.undefined.cpu().numpy()
        per_instance["logits"][indices] = output.logits.cpu().numpy()
        if output.query is not None:
            query = output.query.cpu().numpy()
            per_instance.setdefault("query", np.zeros((count, query.shape[1]), np.float32))[indices] = query
    owner = np.repeat(np.arange(count), sequences.lengths)
    row = np.flatnonzero(readable & ~undefined[owner])
    optional = {"segment": sequences.segment, "rationale": sequences.rationale}
    per_row.update({name: column for name, column in optional.items() if column is not None})
    per_instance["label"] = sequences.label
    # Everything is kept almost always, and then nothing is copied.
    columns = per_row if len(row) == rows else {name: column[row] for name, column in per_row.items()}
    columns |= {name: column[~undefined] if undefined.any() else column for name, column in per_instance.items()}
    return columns | {
        "length": np.bincount(owner[row], minlength=count)[~undefined],
        "kept": ~undefined,
        "row": row,
    }


def _vocabulary(
    splits: Sequence[Sequences], rows: Sequence[NDArray[Any]]
) -> tuple[tuple[str, ...], NDArray[np.int32] | None]:
    """The words as written, not the model's unknown token: a reader of a heat map wants the text."""
    index: dict[str, int] = {}
    parts = []
    for sequences, row in zip(splits, rows, strict=True):
        if sequences.tokens is None:
            return (), None
        words = [index.setdefault(word, len(index)) for word in sequences.tokens]
        parts.append(np.array(words, dtype=np.int32)[row])
    return tuple(index), np.concatenate(parts)


def _facts(trained: TrainedClassifier, dataset: Dataset, splits: Sequence[str]) -> dict[str, Any]:
    config = trained.classifier_config
    return {
        "data": dataset.name,
        "fingerprint": dataset.fingerprint,
        "splits": list(splits),
        "classes": list(dataset.classes),
        "encoder": config.encoder,
        "score": config.score,
        "normalizer": config.normalizer,
        "temperature": config.temperature,
        "seed": trained.training_config.seed,
        "dev_accuracy": trained.dev.accuracy,
        "test_accuracy": None if trained.test is None else trained.test.accuracy,
        "weights": weights_hash(trained.model),
        "classifier": config.model_dump(mode="json"),
        "training": trained.training_config.model_dump(mode="json"),
        "versions": {name: version(name) for name in ("mi-attention", "torch", "numpy")},
    }
