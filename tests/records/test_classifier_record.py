"""Records of our own classifier: they hold what the model computed, whatever the batch, and say what they leave out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from mi_attention.agreement import find_decoder, probabilities_under
from mi_attention.data import load
from mi_attention.models import ClassifierConfig, TrainingConfig, make_batch, train, weights_hash
from mi_attention.records import open_record, record_from_classifier, save_record


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Pairs of texts of different lengths, some without a second text, in three splits."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(90):
        label = i % 2
        words = [f"w{rng.integers(9)}" for _ in range(rng.integers(1, 7))]
        words.insert(int(rng.integers(len(words) + 1)), ["good", "bad"][label])
        row = {"text": " ".join(words), "label": label, "split": ["train", "dev", "test"][i % 3]}
        row["text_b"] = "" if i % 10 == 5 else " ".join(f"v{rng.integers(5)}" for _ in range(rng.integers(1, 4)))
        row["rationale"] = [int(word in ("good", "bad")) for word in words]
        rows.append(row)
    single = [{k: v for k, v in row.items() if k != "text_b"} for row in rows]
    paired = [{k: v for k, v in row.items() if k != "rationale"} for row in rows]
    folder = tmp_path_factory.mktemp("texts")
    for name, content in (("single", single), ("paired", paired)):
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in content))
    return folder


def trained_on(dataset, **changes):
    return train(dataset, ClassifierConfig(units=6, embedding_size=5, **changes), TrainingConfig(epochs=1))


@pytest.mark.parametrize("encoder", ["embedding", "mlp", "cnn", "bilstm"])
def test_the_record_is_what_the_model_computes(texts, encoder):
    dataset = load(texts / "single.jsonl")
    # The convolutions split their units over four widths.
    trained = train(dataset, ClassifierConfig(encoder=encoder, units=8, embedding_size=5), TrainingConfig(epochs=1))
    record = record_from_classifier(trained, dataset, ("dev", "test"))
    assert record.n_instances == len(dataset.dev) + len(dataset.test)
    np.testing.assert_array_equal(record.lengths, np.concatenate([dataset.dev.lengths, dataset.test.lengths]))
    np.testing.assert_array_equal(record.label, np.concatenate([dataset.dev.label, dataset.test.label]))
    model = trained.model.eval()
    for split, first in ((dataset.dev, 0), (dataset.test, len(dataset.dev))):
        for i in (0, len(split) - 1):
            batch = make_batch(split, np.array([i]))
            with torch.no_grad():
                output = model(batch)
            here = record.instance(first + i)
            np.testing.assert_allclose(here.hidden, output.states[0].numpy(), atol=1e-6)
            np.testing.assert_allclose(here.attention, output.attention.weights[0].numpy(), atol=1e-6)
            np.testing.assert_allclose(here.embedding, output.embedded[0].numpy(), atol=1e-6)
            np.testing.assert_allclose(here.output[0], torch.softmax(output.logits[0].double(), 0).numpy(), atol=1e-6)
            rows = slice(split.offsets[i], split.offsets[i + 1])
            assert record.tokens(first + i) == list(split.tokens[rows])
            np.testing.assert_array_equal(here.rationale, split.rationale[rows])


@pytest.mark.parametrize("normalizer", ["softmax", "gumbel_softmax", "sparsemax", "entmax", "uniform"])
def test_the_head_reproduces_the_output(texts, normalizer):
    dataset = load(texts / "single.jsonl")
    record = record_from_classifier(trained_on(dataset, encoder="mlp", normalizer=normalizer), dataset)
    decoder = find_decoder(record)
    assert decoder.source == "given"
    np.testing.assert_allclose(probabilities_under(record, decoder.head, record.attention), record.output, atol=1e-5)


def test_the_batch_does_not_matter(texts):
    dataset = load(texts / "single.jsonl")
    trained = trained_on(dataset, encoder="bilstm")
    one, many = (record_from_classifier(trained, dataset, batch_size=size) for size in (1, 32))
    for name in ("hidden", "attention", "output"):
        np.testing.assert_allclose(getattr(one, name), getattr(many, name), atol=1e-5)


def test_the_second_text_asks_and_only_the_first_is_weighed(texts):
    dataset = load(texts / "paired.jsonl")
    trained = trained_on(dataset, encoder="mlp", score="scaled_dot", query="second_text")
    # Two sequences lose their second text: nothing asks, so their attention is undefined.
    segment = dataset.test.segment.copy()
    segment[dataset.test.rows([1, 4])] = 0
    sequences = replace(dataset.test, segment=segment)
    record = record_from_classifier(trained, replace(dataset, test=sequences), ("test",))
    assert record.meta["excluded"] == {"no positions to attend to": 2}
    kept = np.setdiff1d(np.arange(len(sequences)), [1, 4])
    np.testing.assert_array_equal(record.label, sequences.label[kept])
    np.testing.assert_array_equal(record.lengths, [(segment[sequences.rows([i])] == 0).sum() for i in kept])
    assert set(np.unique(record.segment)) == {0}
    assert record.query.shape == (len(kept), 6)
    np.testing.assert_allclose(np.add.reduceat(record.attention, record.offsets[:-1]), 1, atol=1e-5)
    whole = record_from_classifier(trained, dataset, ("test",))
    np.testing.assert_array_equal(record.output[0], whole.output[0])


def test_both_texts_are_weighed_where_no_text_asks(texts):
    dataset = load(texts / "paired.jsonl")
    record = record_from_classifier(trained_on(dataset, encoder="mlp"), dataset, ("test",))
    assert set(np.unique(record.segment)) == {0, 1}
    np.testing.assert_array_equal(record.lengths, dataset.test.lengths)


def test_facts_are_kept_and_survive_the_disk(texts, tmp_path):
    dataset = load(texts / "single.jsonl")
    trained = trained_on(dataset, encoder="mlp")
    record = record_from_classifier(trained, dataset, ("test",))
    opened = open_record(save_record(record, tmp_path / "record"))
    assert opened.meta["weights"] == weights_hash(trained.model)
    assert opened.meta["fingerprint"] == dataset.fingerprint
    assert opened.meta["splits"] == ["test"]
    assert opened.meta["dev_accuracy"] == trained.dev.accuracy
    np.testing.assert_array_equal(opened.hidden, record.hidden)


def test_missing_splits_are_named(texts):
    dataset = load(texts / "single.jsonl")
    trained = trained_on(dataset, encoder="mlp")
    with pytest.raises(ValueError, match=r"no 'validation' split; it has train, dev, test"):
        record_from_classifier(trained, dataset, ("validation",))
    with pytest.raises(ValueError, match="splits is empty"):
        record_from_classifier(trained, dataset, ())
