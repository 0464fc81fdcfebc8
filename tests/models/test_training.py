"""Training: it learns, it is deterministic, it freezes what it should, it never looks at the test split."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from mi_attention.data.dataset import Dataset, Sequences
from mi_attention.models.checkpoint import weights_hash
from mi_attention.models.classifier import AttentionClassifier
from mi_attention.models.config import ClassifierConfig, TrainingConfig
from mi_attention.models.evaluation import evaluate
from mi_attention.models.training import train

SMALL = {"units": 8, "embedding_size": 8}


def attention_on_the_keyword(trained, split: Sequences) -> tuple[float, float, float]:
    """Over texts of at least four words: how often the keyword has the largest weight, its mean weight, and
    its mean weight under uniform attention."""
    most, share, uniform = [], [], []
    for _, batch, output in trained.model.run(split):
        keyword = (batch.token_ids >= 2) & (batch.token_ids <= 5)
        length = batch.mask.sum(dim=1)
        weights = output.attention.weights
        long = length >= 4
        most.append(keyword.gather(1, weights.argmax(dim=1, keepdim=True))[long, 0].float())
        share.append((weights * keyword).sum(dim=1)[long])
        uniform.append(1 / length[long])
    first, second, third = (float(torch.cat(values).mean()) for values in (most, share, uniform))
    return first, second, third


@pytest.mark.parametrize(
    ("score", "normalizer"),
    [("additive", "softmax"), ("deep", "sparsemax"), ("scaled_dot", "softmax"), ("additive", "gumbel_softmax")],
)
def test_the_planted_keyword_is_learned_and_attended_to(score, normalizer, keyword_data) -> None:
    data = keyword_data(300, classes=4)
    config = ClassifierConfig(encoder="mlp", score=score, normalizer=normalizer, units=16, embedding_size=16)
    trained = train(data, config, TrainingConfig(epochs=10, patience=10, learning_rate=0.01, batch_size=16))
    assert trained.test.accuracy >= 0.95
    # One class of the four can be told by the absence of the other keywords, so a good classifier may
    # leave its keyword alone; and cross-entropy stops pushing once all texts are classified.
    most, share, uniform = attention_on_the_keyword(trained, data.test)
    assert most >= 0.7
    assert share >= 2 * uniform


@pytest.mark.parametrize("encoder", ["embedding", "cnn", "bilstm"])
def test_every_encoder_learns(encoder, keyword_data) -> None:
    config = ClassifierConfig(encoder=encoder, units=8, embedding_size=16)
    trained = train(keyword_data(200), config, TrainingConfig(epochs=8, patience=8, learning_rate=0.02, batch_size=16))
    assert trained.test.accuracy >= 0.9


@pytest.mark.parametrize("encoder", ["mlp", "cnn", "bilstm"])
@pytest.mark.parametrize("normalizer", ["softmax", "gumbel_softmax"])
def test_the_same_seed_gives_the_same_weights_to_the_bit(encoder, normalizer, keyword_data) -> None:
    data, config = keyword_data(100), ClassifierConfig(encoder=encoder, normalizer=normalizer, **SMALL)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    one, same, other = (train(data, config, TrainingConfig(epochs=2, seed=seed)) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert weights_hash(one.model) == weights_hash(same.model)
    assert weights_hash(one.model) != weights_hash(other.model)
    assert [epoch.train_loss for epoch in one.history] == [epoch.train_loss for epoch in same.history]


@pytest.mark.parametrize(
    ("freeze", "still"),
    [
        ("none", set()),
        ("attention", {"attention"}),
        ("encoder", {"embedding", "encoder"}),
        ("all_but_attention", {"embedding", "encoder", "decoder"}),
    ],
)
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_frozen_parts_keep_their_initial_values_and_the_others_move(freeze, still, score, keyword_data) -> None:
    data, config = keyword_data(60), ClassifierConfig(encoder="mlp", score=score, **SMALL)
    initial = AttentionClassifier.from_dataset(data, config, seed=3)
    trained = train(data, config, TrainingConfig(epochs=1, seed=3, freeze=freeze, weight_decay=0.1))
    for part in ("embedding", "encoder", "attention", "decoder"):
        before, after = (getattr(model, part).state_dict() for model in (initial, trained.model))
        unchanged = [torch.equal(before[name], after[name]) for name in before]
        assert all(unchanged) if part in still else not any(unchanged), part


def test_frozen_embeddings_keep_their_values_and_trained_ones_move(keyword_data) -> None:
    data = keyword_data(60)
    table = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    data = dataclasses.replace(data, pretrained=table)
    for trainable in (False, True):
        config = ClassifierConfig(encoder="mlp", units=8, train_embeddings=trainable)
        after = train(data, config, TrainingConfig(epochs=1)).model.embedding.weight.detach().numpy()
        assert bool((after[0] == 0).all())
        assert np.array_equal(after[1:], table[1:]) != trainable


def test_training_the_attention_alone_over_a_trained_encoder(keyword_data) -> None:
    data, config = keyword_data(100), ClassifierConfig(encoder="mlp", **SMALL)
    first = train(data, config, TrainingConfig(epochs=2))
    second = train(data, config, TrainingConfig(epochs=1, freeze="all_but_attention", seed=9), initial=first.model)
    for part in ("embedding", "encoder", "decoder"):
        for name, value in getattr(first.model, part).state_dict().items():
            assert torch.equal(value, getattr(second.model, part).state_dict()[name])
    with pytest.raises(ValueError, match="initial does not fit"):
        train(data, ClassifierConfig(encoder="mlp", units=9), TrainingConfig(), initial=first.model)
    with pytest.raises(ValueError, match="nothing to train"):
        train(
            data,
            ClassifierConfig(encoder="mlp", normalizer="uniform", **SMALL),
            TrainingConfig(freeze="all_but_attention"),
        )


def test_attention_last_stands_over_the_states_of_the_model_of_uniform_attention(keyword_data) -> None:
    data, config = keyword_data(100), ClassifierConfig(encoder="mlp", **SMALL)
    last = train(data, config, TrainingConfig(epochs=2, freeze="attention_last", seed=3))
    uniform = train(
        data, ClassifierConfig(encoder="mlp", normalizer="uniform", **SMALL), TrainingConfig(epochs=2, seed=3)
    )
    initial = AttentionClassifier.from_dataset(data, config, seed=3)
    for part in ("embedding", "encoder", "decoder"):
        for name, value in getattr(uniform.model, part).state_dict().items():
            assert torch.equal(value, getattr(last.model, part).state_dict()[name])
    moved = [
        not torch.equal(value, last.model.attention.state_dict()[name])
        for name, value in initial.attention.state_dict().items()
    ]
    assert all(moved)
    # The keyword is found once the states are fixed.
    assert last.dev.loss < uniform.dev.loss
    with pytest.raises(ValueError, match="leave initial out"):
        train(data, config, TrainingConfig(freeze="attention_last"), initial=initial)
    with pytest.raises(ValueError, match="'attention_last' but this attention has nothing to train"):
        train(data, uniform.classifier_config, TrainingConfig(freeze="attention_last"))


def test_the_best_epoch_is_restored_and_patience_ends_training(keyword_data) -> None:
    # Labels of the dev split are noise, so its best epoch comes early and training stops.
    data = keyword_data(80)
    noise = np.random.default_rng(1).integers(0, 2, size=80)
    data = dataclasses.replace(data, dev=dataclasses.replace(data.dev, label=noise))
    for monitor in ("accuracy", "macro_f1", "loss"):
        trained = train(
            data,
            ClassifierConfig(encoder="mlp", **SMALL),
            TrainingConfig(epochs=30, patience=2, learning_rate=0.02, monitor=monitor),
        )
        values = [getattr(epoch.dev, monitor) for epoch in trained.history]
        best = min(values) if monitor == "loss" else max(values)
        assert values[trained.best_epoch - 1] == best
        assert len(trained.history) == trained.best_epoch + 2 < 30
        assert evaluate(trained.model, data.dev) == trained.dev == trained.history[trained.best_epoch - 1].dev
        assert not trained.model.training


def test_the_test_split_has_no_influence(keyword_data) -> None:
    data, config = keyword_data(80), ClassifierConfig(encoder="mlp", **SMALL)
    flipped = dataclasses.replace(data, test=dataclasses.replace(data.test, label=1 - data.test.label))
    one, other = (train(d, config, TrainingConfig(epochs=3)) for d in (data, flipped))
    assert weights_hash(one.model) == weights_hash(other.model)
    assert one.test.accuracy == pytest.approx(1 - other.test.accuracy)
    assert train(dataclasses.replace(data, test=None), config, TrainingConfig(epochs=1)).test is None


def test_evaluation_by_hand(small_classifier, keyword_data) -> None:
    data = keyword_data(50)
    model = small_classifier(classes=2)
    result = evaluate(model, data.test)
    probabilities = model.predict(data.test).probabilities
    predicted = probabilities.argmax(axis=1)
    assert result.accuracy == pytest.approx(np.mean(predicted == data.test.label))
    assert result.macro_f1 == pytest.approx(f1_score(data.test.label, predicted, average="macro"))
    assert result.loss == pytest.approx(-np.log(probabilities[np.arange(50), data.test.label]).mean(), rel=1e-5)
    assert (result.n, result.undefined) == (50, 0)


def test_texts_that_cannot_be_attended_to_are_left_out_and_counted(keyword_data) -> None:
    data = keyword_data(60, pairs=True)
    segment = data.train.segment.copy()
    for i in (3, 10, 11):
        segment[data.train.offsets[i] : data.train.offsets[i + 1]] = 0
    data = dataclasses.replace(data, train=dataclasses.replace(data.train, segment=segment))
    config = ClassifierConfig(encoder="mlp", score="scaled_dot", query="second_text", **SMALL)
    trained = train(data, config, TrainingConfig(epochs=1))
    assert trained.excluded == 3
    scored = evaluate(trained.model, data.train)
    assert (scored.n, scored.undefined) == (57, 3)
    assert math.isfinite(scored.loss)
    nothing = dataclasses.replace(data.dev, segment=np.zeros_like(data.dev.segment))
    with pytest.raises(ValueError, match="none of the 60 sequences"):
        evaluate(trained.model, nothing)
    with pytest.raises(ValueError, match="nothing can be trained"):
        train(dataclasses.replace(data, train=nothing), config, TrainingConfig(epochs=1))


def test_vector_sequences_train() -> None:
    # Class-conditional means at one of four positions, far apart.
    def split(seed: int) -> Sequences:
        rng = np.random.default_rng(seed)
        label = rng.integers(0, 2, size=150)
        vectors = rng.normal(size=(150, 4, 3)).astype(np.float32)
        vectors[:, 2, 0] += 8 * label - 4
        return Sequences(np.arange(0, 604, 4), label, vectors=vectors.reshape(-1, 3))

    data = Dataset("vectors", split(0), split(1), split(2), ("a", "b"))
    trained = train(data, ClassifierConfig(encoder="mlp", units=8), TrainingConfig(epochs=10, learning_rate=0.02))
    assert trained.test.accuracy >= 0.9
    assert trained.vocabulary is None


def test_bad_data_is_named_with_a_remedy(keyword_data) -> None:
    data, config = keyword_data(20), ClassifierConfig(encoder="mlp", **SMALL)
    for changes, message in [
        ({"train": None}, "no training split"),
        ({"dev": None}, "no dev split.*hold out part"),
        ({"classes": ("one",)}, "labels run from 0 to 1"),
        ({"vocabulary": None}, "neither a vocabulary nor vectors"),
    ]:
        with pytest.raises(ValueError, match=message):
            train(dataclasses.replace(data, **changes), config, TrainingConfig(epochs=1))


def test_divergence_is_an_error(keyword_data) -> None:
    with pytest.raises(ValueError, match=r"lower learning_rate|diverged"):
        train(
            keyword_data(40),
            ClassifierConfig(encoder="embedding", score="deep", **SMALL),
            TrainingConfig(epochs=5, learning_rate=1e30, clip_norm=float("inf")),
        )
