"""Classifiers that are given their attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mi_attention.data import load
from mi_attention.data.dataset import Dataset
from mi_attention.models import AttentionClassifier, ClassifierConfig, TrainingConfig, train
from mi_attention.models.guided import GuidedClassifier, train_guided
from mi_attention.records import record_from_classifier

MLP = ClassifierConfig(encoder="mlp", units=8, embedding_size=8)
BILSTM = ClassifierConfig(encoder="bilstm", units=4, embedding_size=8)
TRAINING = TrainingConfig(epochs=2, learning_rate=1e-2)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load("planted/keyword", n=[200, 60, 60], length=6)


@pytest.fixture(scope="module")
def giver(dataset: Dataset) -> AttentionClassifier:
    return train(dataset, BILSTM, TRAINING).model


def test_the_record_has_the_attention_of_the_giver_and_states_of_its_own(
    dataset: Dataset, giver: AttentionClassifier
) -> None:
    trained = train_guided(dataset, MLP, TRAINING, giver)
    own = record_from_classifier(trained, dataset)
    given = record_from_classifier(train(dataset, BILSTM, TRAINING), dataset)
    np.testing.assert_array_equal(own.attention, given.attention)
    assert own.hidden.shape[1] == 8 == trained.model.hidden
    # What it says is what its own decoder makes of its own states under the given weights.
    assert own.head is not None
    weighted = np.asarray(own.attention)[:, None] * np.asarray(own.hidden)
    context = np.add.reduceat(weighted, np.asarray(own.offsets)[:-1], axis=0)
    logits = context @ np.asarray(own.head.weight).T + np.asarray(own.head.bias)
    np.testing.assert_array_equal(logits.argmax(axis=1), np.asarray(own.output).argmax(axis=1))


def test_the_giver_is_not_changed_and_no_part_of_the_model(dataset: Dataset, giver: AttentionClassifier) -> None:
    before = {name: value.clone() for name, value in giver.state_dict().items()}
    trained = train_guided(dataset, MLP, TRAINING, giver)
    assert all(torch.equal(before[name], value) for name, value in giver.state_dict().items())
    plain = AttentionClassifier.from_dataset(dataset, MLP, 0)
    assert trained.model.state_dict().keys() == plain.state_dict().keys()
    # Its own attention, which it does not use, was not trained either.
    for name, value in trained.model.attention.state_dict().items():
        assert torch.equal(value, plain.attention.state_dict()[name])


def test_a_uniform_guide_is_training_under_uniform_attention(dataset: Dataset) -> None:
    even = MLP.model_copy(update={"normalizer": "uniform"})
    uniform = AttentionClassifier.from_dataset(dataset, even, 5).eval()
    guided, plain = train_guided(dataset, MLP, TRAINING, uniform), train(dataset, even, TRAINING)
    logits = [trained.model.predict(dataset.require("test")).logits for trained in (guided, plain)]
    np.testing.assert_allclose(*logits, atol=1e-5)
    assert guided.test is not None
    assert plain.test is not None
    assert guided.test.accuracy == plain.test.accuracy


def test_a_guide_that_knows_the_position_helps_and_one_that_hides_it_hurts(dataset: Dataset) -> None:
    class Pointing(AttentionClassifier):
        """All weight on one position."""

        at = 0

        def forward(self, batch, *, generator=None):  # type: ignore[no-untyped-def]
            out = super().forward(batch, generator=generator)
            weights = torch.zeros_like(out.attention.weights)
            weights[:, self.at] = 1.0
            return type(out)(
                out.embedded,
                out.states,
                out.readable,
                out.query,
                type(out.attention)(out.attention.context, weights, out.attention.logits, out.attention.undefined),
                out.logits,
            )

    accuracies = {}
    for at in (3, 0):  # The keyword stands in the middle of six.
        pointing = Pointing.from_dataset(dataset, MLP, 0)
        pointing.at = at
        found = train_guided(dataset, MLP, TRAINING.model_copy(update={"epochs": 4}), pointing).test
        assert found is not None
        accuracies[at] = found.accuracy
    assert accuracies[3] == 1.0
    assert accuracies[0] < 0.75


def test_the_same_seed_gives_the_same_weights(dataset: Dataset, giver: AttentionClassifier) -> None:
    first, second = (train_guided(dataset, MLP, TRAINING, giver).model.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_cannot_be_is_refused(dataset: Dataset, giver: AttentionClassifier) -> None:
    with pytest.raises(ValueError, match="has no attention to freeze"):
        train_guided(dataset, MLP, TRAINING.model_copy(update={"freeze": "attention"}), giver)
    other = load("planted/keyword", n=[40, 20, 20], length=6, fillers=3)
    small = AttentionClassifier.from_dataset(other, MLP, 0)
    with pytest.raises(ValueError, match="vocabulary"):
        train_guided(dataset, MLP, TRAINING, small)
    assert isinstance(GuidedClassifier.of(giver, dataset, MLP, 0), AttentionClassifier)
