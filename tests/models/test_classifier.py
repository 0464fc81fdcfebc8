"""The classifier: protocol, batches, evaluation mode, bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from mi_attention.data.dataset import Sequences
from mi_attention.interface import AttentionModel
from mi_attention.models.batch import Batch, delete_positions, make_batch
from mi_attention.models.classifier import AttentionClassifier, evaluation_mode
from mi_attention.models.config import ClassifierConfig

ENCODERS = ("embedding", "mlp", "cnn", "bilstm")
COMBINATIONS = list(
    itertools.product(
        ENCODERS,
        (("additive", "auto"), ("deep", "auto"), ("scaled_dot", "learned"), ("scaled_dot", "last")),
        ("softmax", "gumbel_softmax", "sparsemax", "uniform"),
    )
)


def test_implements_the_protocol(small_classifier) -> None:
    assert isinstance(small_classifier(), AttentionModel)


@pytest.mark.parametrize(("encoder", "score", "normalizer"), COMBINATIONS)
def test_one_text_equals_its_row_in_a_batch(encoder, score, normalizer, small_classifier, keyword_data) -> None:
    test = keyword_data(40).test
    model = small_classifier(encoder=encoder, score=score[0], query=score[1], normalizer=normalizer)
    single, several = model.predict(test, batch_size=1), model.predict(test, batch_size=32)
    assert not single.undefined.any()
    np.testing.assert_allclose(single.logits, several.logits, atol=1e-5)
    again = model.predict(test, batch_size=32)
    assert np.array_equal(several.logits, again.logits)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_parts_compose_to_the_whole_and_the_head_is_linear(encoder, small_classifier, small_batch) -> None:
    model, batch = small_classifier(encoder=encoder), small_batch()
    output = model(batch)
    embedded = model.embed(batch)
    states = model.encode(embedded, batch.mask)
    attention = model.attend(states, batch.mask)
    logits = model.decode(states, attention.weights)
    torch.testing.assert_close(logits, output.logits)
    assert states.shape[-1] == model.hidden
    head = model.head
    np.testing.assert_allclose(head.logits(attention.context.detach().numpy()), logits.detach().numpy(), atol=1e-6)
    # Linear in the weights: half of one and half of another give the mean of their logits.
    other = batch.mask / batch.mask.sum(dim=1, keepdim=True)
    mixed = model.decode(states, (attention.weights + other) / 2)
    torch.testing.assert_close(mixed, (logits + model.decode(states, other)) / 2)


def test_head_is_a_copy(small_classifier) -> None:
    model = small_classifier()
    head = model.head
    with torch.no_grad():
        model.decoder.weight.zero_()
    assert np.abs(head.weight).max() > 0


@pytest.mark.parametrize("encoder", ENCODERS)
def test_delete_is_the_text_without_the_positions(encoder, small_classifier, keyword_data) -> None:
    test = keyword_data(40).test
    model = small_classifier(encoder=encoder)
    batch = make_batch(test, np.arange(8))
    positions = torch.rand(batch.mask.shape, generator=torch.Generator().manual_seed(0)) < 0.4
    positions[0] = True
    shorter = model.delete(batch, positions)
    output = model(shorter)
    assert output.attention.undefined.tolist() == [not bool((batch.mask[i] & ~positions[i]).any()) for i in range(8)]
    assert output.attention.undefined[0]
    torch.testing.assert_close(output.logits[0], model.decoder.bias)  # emptied: nothing but the bias
    for row in range(8):
        kept = [
            int(token)
            for token, real, gone in zip(batch.token_ids[row], batch.mask[row], positions[row], strict=True)
            if real and not gone
        ]
        assert shorter.token_ids[row][shorter.mask[row]].tolist() == kept
        if kept:
            alone = Sequences(np.array([0, len(kept)]), np.array([0]), token_ids=np.array(kept, dtype=np.int32))
            np.testing.assert_allclose(model.predict(alone).logits[0], output.logits[row].detach().numpy(), atol=1e-5)


def test_delete_moves_all_columns_and_nothing_is_a_no_op(small_batch) -> None:
    batch = small_batch(pairs=True)
    same = delete_positions(batch, ~batch.mask)
    for name in ("mask", "token_ids", "segment", "label"):
        assert torch.equal(getattr(same, name), getattr(batch, name))
    without_second = delete_positions(batch, batch.segment == 1)
    assert bool((without_second.segment == 0).all())
    vectors = torch.arange(12.0).view(1, 4, 3)
    packed = delete_positions(
        Batch(torch.tensor([[True, True, True, False]]), vectors=vectors), torch.tensor([[False, True, False, False]])
    )
    assert packed.vectors.tolist() == [[[0, 1, 2], [6, 7, 8]]]
    with pytest.raises(ValueError, match="positions must be bool"):
        delete_positions(batch, batch.segment)
    with pytest.raises(ValueError, match="positions must be bool"):
        delete_positions(batch, batch.mask[:, :-1])


def test_prediction_restores_the_mode_of_every_part(small_classifier, keyword_data) -> None:
    test = keyword_data(20).test
    model = small_classifier(normalizer="gumbel_softmax").train()
    model.encoder.eval()
    before = [module.training for module in model.modules()]
    model.predict(test)
    assert [module.training for module in model.modules()] == before
    with evaluation_mode(model):
        assert not any(module.training for module in model.modules())
    wrong = Sequences(test.offsets, test.label, token_ids=test.token_ids + 1000)
    with pytest.raises(ValueError, match="token_ids run"):
        model.predict(wrong)
    assert [module.training for module in model.modules()] == before
    passes = model.run(test, batch_size=2)
    next(passes)
    assert torch.is_grad_enabled()
    passes.close()
    assert [module.training for module in model.modules()] == before


def test_training_mode_needs_a_generator_where_there_is_noise(small_classifier, small_batch) -> None:
    model = small_classifier(normalizer="gumbel_softmax").train()
    with pytest.raises(ValueError, match="generator is None"):
        model(small_batch())
    model(small_batch(), generator=torch.Generator().manual_seed(0))


def test_undefined_texts_are_marked_and_the_others_untouched(small_classifier, keyword_data) -> None:
    test = keyword_data(20, pairs=True).test
    model = small_classifier(score="scaled_dot", query="second_text")
    whole = model.predict(test)
    segment = test.segment.copy()
    segment[test.offsets[4] : test.offsets[5]] = 0
    changed = model.predict(Sequences(test.offsets, test.label, token_ids=test.token_ids, segment=segment))
    assert np.flatnonzero(changed.undefined).tolist() == [4]
    assert np.isnan(changed.logits[4]).all()
    assert np.isnan(changed.probabilities[4]).all()
    others = np.arange(20) != 4
    assert np.array_equal(changed.logits[others], whole.logits[others])
    np.testing.assert_allclose(whole.probabilities.sum(axis=1), 1)


def test_seeds_decide_the_initial_weights_and_nothing_global_changes(small_classifier) -> None:
    before = torch.get_rng_state()
    one, same, other = small_classifier(0), small_classifier(0), small_classifier(1)
    assert torch.equal(torch.get_rng_state(), before)
    for name, value in one.state_dict().items():
        assert torch.equal(value, same.state_dict()[name])
    assert not torch.equal(one.encoder.linear.weight, other.encoder.linear.weight)
    # Equal seeds share everything but the attention across scores.
    deep = small_classifier(0, score="deep")
    for part in ("embedding", "encoder", "decoder"):
        for mine, theirs in zip(getattr(one, part).parameters(), getattr(deep, part).parameters(), strict=True):
            assert torch.equal(mine, theirs)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_vector_sequences_go_straight_to_the_encoder(encoder) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(11, 5)).astype(np.float32)
    sequences = Sequences(np.array([0, 4, 5, 11]), np.array([0, 1, 0]), vectors=vectors)
    model = AttentionClassifier(ClassifierConfig(encoder=encoder, units=8), classes=2, vector_size=5)
    np.testing.assert_allclose(model.predict(sequences, 1).logits, model.predict(sequences, 3).logits, atol=1e-5)
    batch = make_batch(sequences, np.array([2]))
    assert np.array_equal(model.embed(batch)[0].numpy(), vectors[5:])


def test_pretrained_vectors_are_taken_and_the_padding_row_is_zero() -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
    model = AttentionClassifier(ClassifierConfig(encoder="mlp"), classes=2, vocabulary_size=4, pretrained=table)
    assert np.array_equal(model.embedding.weight.detach().numpy()[1:], table[1:])
    assert bool((model.embedding.weight[0] == 0).all())
    fresh = AttentionClassifier(
        ClassifierConfig(encoder="mlp", pretrained=False, embedding_size=7),
        classes=2,
        vocabulary_size=4,
        pretrained=table,
    )
    assert fresh.embedding.weight.shape == (4, 7)
    assert bool((fresh.embedding.weight[0] == 0).all())


def test_bad_input_is_named() -> None:
    config = ClassifierConfig(encoder="mlp", units=4, embedding_size=3)
    table = np.zeros((4, 5), dtype=np.float32)
    for arguments, message in [
        ({"classes": 2}, "vocabulary_size for token sequences or vector_size"),
        ({"classes": 2, "vocabulary_size": 4, "vector_size": 3}, "not both"),
        ({"classes": 1, "vocabulary_size": 4}, "classes is 1"),
        ({"classes": 2, "vector_size": 0}, "vector_size is 0"),
        ({"classes": 2, "vocabulary_size": 4, "pretrained": table}, "embedding_size is 3"),
        ({"classes": 2, "vocabulary_size": 9, "pretrained": table}, "vocabulary 9 entries"),
    ]:
        with pytest.raises(ValueError, match=message):
            AttentionClassifier(config, **arguments)
    tokens = Sequences(np.array([0, 2]), np.array([0]), token_ids=np.array([1, 9], dtype=np.int32))
    vectors = Sequences(np.array([0, 2]), np.array([0]), vectors=np.zeros((2, 5), dtype=np.float32))
    token_model = AttentionClassifier(config, classes=2, vocabulary_size=4)
    vector_model = AttentionClassifier(config, classes=2, vector_size=3)
    for model, sequences, message in [
        (token_model, tokens, "token_ids run from 1 to 9"),
        (token_model, vectors, "takes token ids"),
        (vector_model, tokens, "takes vectors"),
        (vector_model, vectors, "vectors have 5 dimensions"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(sequences)
    with pytest.raises(ValueError, match="takes token ids"):
        token_model.embed(make_batch(vectors, np.array([0])))
    with pytest.raises(ValueError, match="takes vectors"):
        vector_model.embed(make_batch(tokens, np.array([0])))
    with pytest.raises(ValueError, match="exactly one"):
        Batch(torch.ones(1, 1, dtype=torch.bool))
    with pytest.raises(ValueError, match="token_ids has shape"):
        Batch(torch.ones(1, 1, dtype=torch.bool), token_ids=torch.zeros(1, 2, dtype=torch.int64))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_gradients_of_inputs_in_evaluation_mode(encoder, small_classifier, small_batch) -> None:
    model, batch = small_classifier(encoder=encoder), small_batch()
    embedded = model.embed(batch).detach().requires_grad_()
    states = model.encode(embedded, batch.mask)
    model.decode(states, model.attend(states, batch.mask).weights)[:, 0].sum().backward()
    assert bool((embedded.grad[batch.mask].abs().sum(dim=-1) > 0).all())
    assert bool((embedded.grad[~batch.mask] == 0).all())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_lstm_gradients_on_a_gpu_equal_those_on_the_cpu(small_classifier, small_batch) -> None:
    batch = small_batch()
    gradients = []
    for device in ("cpu", "cuda"):
        model = small_classifier(encoder="bilstm").to(device)
        embedded = model.embed(Batch(batch.mask.to(device), token_ids=batch.token_ids.to(device))).detach()
        embedded.requires_grad_()
        flags = torch.backends.cudnn.enabled
        model.encode(embedded, batch.mask.to(device)).square().sum().backward()
        assert torch.backends.cudnn.enabled == flags
        gradients.append(embedded.grad.cpu())
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=0)


def test_repr_says_what_it_is(small_classifier) -> None:
    text = repr(small_classifier(encoder="bilstm"))
    assert "vocabulary_size=30, embedding_size=6, hidden=16, classes=3" in text
    assert "'softmax', temperature=1" in text
