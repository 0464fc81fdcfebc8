"""How good a classifier is on a split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax
from sklearn.metrics import f1_score

from mi_attention.data.dataset import Sequences
from mi_attention.models.classifier import AttentionClassifier

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """Scores of one split.

    Attributes:
        accuracy: Share of right predictions among the defined ones.
        macro_f1: Unweighted mean of F1 over the classes that occur in labels or predictions.
        loss: Mean cross-entropy in nats.
        n: Sequences scored.
        undefined: Sequences left out because they have no position to attend to.
    """

    accuracy: float
    macro_f1: float
    loss: float
    n: int
    undefined: int


def evaluate(model: AttentionClassifier, sequences: Sequences, batch_size: int = 128) -> Evaluation:
    """Score a classifier in evaluation mode.

    Args:
        model: The classifier.
        sequences: Labelled sequences.
        batch_size: Sequences at once.

    Raises:
        ValueError: If no sequence has a position to attend to.
    """
    predictions = model.predict(sequences, batch_size)
    defined = ~predictions.undefined
    if not defined.any():
        raise ValueError(f"none of the {len(sequences)} sequences has a position to attend to; nothing can be scored")
    logits = predictions.logits[defined].astype(np.float64)
    label = np.asarray(sequences.label)[defined]
    predicted = logits.argmax(axis=1)
    return Evaluation(
        accuracy=float((predicted == label).mean()),
        macro_f1=float(f1_score(label, predicted, average="macro")),
        loss=float(-log_softmax(logits, axis=1)[np.arange(len(label)), label].mean()),
        n=int(defined.sum()),
        undefined=int(predictions.undefined.sum()),
    )
