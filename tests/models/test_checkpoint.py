"""Checkpoints: the same predictions to the bit, and clear words when a file is wrong."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from mi_attention.data.dataset import Dataset, Sequences, Vocabulary
from mi_attention.models.checkpoint import load_checkpoint, save_checkpoint, weights_hash
from mi_attention.models.config import ClassifierConfig, TrainingConfig
from mi_attention.models.training import train

CONFIG = ClassifierConfig(
    encoder="bilstm", units=4, embedding_size=6, score="deep", score_options={"depth": 3}, normalizer="entmax",
    normalizer_options={"alpha": 1.3}, temperature=0.5,
)  # fmt: skip


@pytest.fixture
def trained(keyword_data):
    data = keyword_data(20)
    data = dataclasses.replace(data, vocabulary=Vocabulary(data.vocabulary.tokens, lowercase=True))
    return train(data, CONFIG, TrainingConfig(epochs=2, seed=4))


def test_everything_comes_back(trained, keyword_data, tmp_path) -> None:
    folder = save_checkpoint(trained, tmp_path / "new" / "folder")
    loaded = load_checkpoint(folder)
    for field in dataclasses.fields(trained):
        if field.name != "model":
            assert getattr(loaded, field.name) == getattr(trained, field.name), field.name
    test = keyword_data(20).test
    assert np.array_equal(loaded.model.predict(test).logits, trained.model.predict(test).logits)
    assert weights_hash(loaded.model) == weights_hash(trained.model)
    assert loaded.model.config == trained.model.config
    assert not loaded.model.training


def test_pretrained_and_vector_models_come_back(keyword_data, tmp_path) -> None:
    table = np.random.default_rng(0).normal(size=(30, 7)).astype(np.float32)
    pretrained = dataclasses.replace(keyword_data(30), pretrained=table)
    rng = np.random.default_rng(0)
    split = Sequences(np.arange(0, 33, 3), rng.integers(0, 2, 10), vectors=rng.normal(size=(30, 5)).astype(np.float32))
    vectors = Dataset("vectors", split, split, None, ("a", "b"))
    for number, data in enumerate((pretrained, vectors)):
        first = train(data, ClassifierConfig(encoder="cnn", units=4), TrainingConfig(epochs=1))
        again = load_checkpoint(save_checkpoint(first, tmp_path / str(number)))
        assert np.array_equal(again.model.predict(data.dev).logits, first.model.predict(data.dev).logits)
        assert again.test == first.test


def test_saving_replaces_and_leaves_nothing_behind(trained, tmp_path) -> None:
    save_checkpoint(trained, tmp_path)
    with torch.no_grad():
        trained.model.decoder.bias += 1
    save_checkpoint(trained, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert weights_hash(load_checkpoint(tmp_path).model) == weights_hash(trained.model)


def test_an_interrupted_save_keeps_the_old_checkpoint(trained, tmp_path, monkeypatch) -> None:
    save_checkpoint(trained, tmp_path)
    before = weights_hash(trained.model)
    with torch.no_grad():
        trained.model.decoder.bias += 1

    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("mi_attention.models.checkpoint.save_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(trained, tmp_path)
    assert weights_hash(load_checkpoint(tmp_path).model) == before
    assert len(list(tmp_path.iterdir())) == 2


def test_no_pickle_in_any_file(trained, tmp_path) -> None:
    for path in save_checkpoint(trained, tmp_path).iterdir():
        with pytest.raises((pickle.UnpicklingError, ValueError, EOFError, KeyError, IndexError, UnicodeDecodeError)):
            pickle.loads(path.read_bytes())
        assert path.suffix in (".json", ".safetensors")


def test_missing_and_mismatched_files_are_named(trained, tmp_path) -> None:
    with pytest.raises(ValueError, match=r"has no checkpoint\.json"):
        load_checkpoint(tmp_path / "nowhere")
    save_checkpoint(trained, tmp_path)
    manifest, weights = tmp_path / "checkpoint.json", next(tmp_path.glob("*.safetensors"))
    good, tensors = manifest.read_text(encoding="utf-8"), weights.read_bytes()

    def changed(**changes: object) -> None:
        manifest.write_text(json.dumps({**json.loads(good), **changes}), encoding="utf-8")

    cases = [
        (lambda: manifest.write_text("{", encoding="utf-8"), "is damaged"),
        (lambda: changed(format=99), "format 99"),
        (lambda: manifest.write_text("[]", encoding="utf-8"), "format None"),
        (lambda: changed(classifier={"encoder": "gru"}), "unknown encoder 'gru'"),
        (lambda: changed(classifier={"unit": 3}), "not valid"),
        (lambda: changed(dev={"accuracy": 1}), "lacks or misnames"),
        (lambda: changed(classes=["a", "b", "c"]), "decoder"),
        (lambda: changed(sha256="0"), "other contents"),
        (lambda: weights.write_bytes(tensors[:100]), "is damaged"),
        (lambda: save_file({"x": torch.zeros(1)}, weights), "does not fit"),
        (weights.unlink, "which are missing"),
    ]
    for damage, message in cases:
        manifest.write_text(good, encoding="utf-8")
        weights.write_bytes(tensors)
        damage()
        with pytest.raises(ValueError, match=message):
            load_checkpoint(tmp_path)


def test_the_hash_sees_every_weight_and_its_name(trained) -> None:
    first = weights_hash(trained.model)
    assert first == weights_hash(trained.model)
    assert len(first) == 64
    with torch.no_grad():
        trained.model.attention.score.parameter_vector[0] += 1e-7
    assert weights_hash(trained.model) != first
