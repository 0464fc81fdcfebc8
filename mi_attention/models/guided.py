"""Classifiers that are given their attention by another model and cannot change it.

If the attention of a model says which positions matter, another model should do well when it has to weigh its states
so: a guide of uniform weights is the level to beat (Wiegreffe and Pinter 2019, Attention is not not Explanation,
section 3.4).
"""

from __future__ import annotations

import copy

import torch

from mi_attention.data.dataset import Dataset
from mi_attention.models.batch import Batch
from mi_attention.models.classifier import AttentionClassifier, ClassifierOutput
from mi_attention.models.config import ClassifierConfig, TrainingConfig
from mi_attention.models.output import AttentionOutput
from mi_attention.models.training import TrainedClassifier, fit

__all__ = ["GuidedClassifier", "train_guided"]


class GuidedClassifier(AttentionClassifier):
    """Embedding, encoder and decoder of its own; the weights are those another classifier gives the same text.

    The giver is a frozen copy without noise, so every text has one fixed guide. Its parameters are no parameters of
    this model. The model's own attention is there, unused, so that equal seeds start from equal parts.
    """

    @classmethod
    def of(cls, giver: AttentionClassifier, dataset: Dataset, config: ClassifierConfig, seed: int) -> GuidedClassifier:
        """An untrained classifier that fits the data, guided by ``giver``.

        Raises:
            ValueError: if the giver does not fit the data.
        """
        for split in dataset.splits.values():
            giver.require_fitting(split)
        model = cls.from_dataset(dataset, config, seed)
        model.attention.requires_grad_(False)
        frozen = copy.deepcopy(giver).eval()
        frozen.requires_grad_(False)
        # In a list, so that torch does not take it for a part of this model.
        model._giver = [frozen]
        return model

    _giver: list[AttentionClassifier]

    def forward(self, batch: Batch, *, generator: torch.Generator | None = None) -> ClassifierOutput:
        """One pass under the guide; ``generator`` is not used, a guide has no noise."""
        with torch.no_grad():
            guide = self._giver[0](batch)
        embedded = self.embed(batch)
        states = self.encode(embedded, batch.mask)
        weights = guide.attention.weights.to(states.dtype)
        context = torch.bmm(weights[:, None, :], states)[:, 0]
        attention = AttentionOutput(context, weights, guide.attention.logits, guide.attention.undefined)
        return ClassifierOutput(embedded, states, guide.readable, None, attention, self.decoder(context))


def train_guided(
    dataset: Dataset,
    classifier_config: ClassifierConfig,
    training_config: TrainingConfig,
    giver: AttentionClassifier,
) -> TrainedClassifier:
    """Train a classifier whose attention is given per text and kept fixed.

    Trained and stopped as ``train`` does it, from the same initial embedding, encoder and decoder as a classifier of
    the same seed. A record of it has the giver's attention and its own states.

    Args:
        dataset: With training and development splits.
        classifier_config: What to build; its score, query and normaliser are not used.
        training_config: How to train; ``freeze`` must be ``"none"``.
        giver: Whose attention is given; trained on data of the same vocabulary. For uniform weights train with the
            normaliser ``uniform`` instead, which is the same.

    Returns:
        The classifier; its dev and test scores are under the guide.

    Raises:
        ValueError: If ``freeze`` is another, the giver does not fit, or as ``train``.

    Source: S. Wiegreffe, Y. Pinter, Attention is not not Explanation, EMNLP 2019, section 3.4.
    """
    if training_config.freeze != "none":
        raise ValueError(
            f"freeze is {training_config.freeze!r}, but a guided classifier has no attention to freeze; use 'none'"
        )
    model = GuidedClassifier.of(giver, dataset, classifier_config, training_config.seed)
    return fit(model.to(training_config.device), dataset, classifier_config, training_config)
