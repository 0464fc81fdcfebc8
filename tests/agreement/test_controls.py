"""The controls: what other attention would have said, and the head's own evidence."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention.agreement import (
    find_decoder,
    head_evidence,
    permute_attention,
    probabilities_under,
    uniform_attention,
)
from mi_attention.interface import AttentionRecord, LinearHead
from tests.agreement.synthetic import make_record


def test_the_given_head_reproduces_the_output():
    record = make_record(ragged=True)
    decoder = find_decoder(record)
    assert decoder.source == "given"
    np.testing.assert_allclose(probabilities_under(record, decoder.head, record.attention), record.output, atol=1e-12)


def test_a_head_that_is_not_the_decoder_is_not_used():
    record = make_record()
    wrong = LinearHead(record.head.weight * 2, record.head.bias)
    decoder = find_decoder(make_record(head=wrong))
    assert decoder.head is None
    assert "misses the recorded output" in decoder.source


@pytest.mark.parametrize("classes", [2, 4])
def test_a_missing_head_is_recovered_where_the_output_is_linear_in_the_context(classes):
    record = make_record(head=None, classes=classes)
    decoder = find_decoder(record)
    assert decoder.source == "recovered from the outputs"
    truth = make_record(classes=classes)
    for attention in (uniform_attention(record), permute_attention(record, 3)):
        np.testing.assert_allclose(
            probabilities_under(record, decoder.head, attention),
            probabilities_under(truth, truth.head, attention),
            atol=1e-6,
        )


def test_no_head_is_made_up():
    assert "hard outputs" in find_decoder(make_record(head=None, output=np.arange(400) % 2)).source
    assert "do not determine one" in find_decoder(make_record(head=None, n=8)).source
    rng = np.random.default_rng(0)
    nonlinear = find_decoder(make_record(head=None, output=rng.uniform(0.1, 0.9, 400)))
    assert nonlinear.head is None
    assert "not linear in the context" in nonlinear.source


def test_permuting_keeps_each_instances_weights_and_depends_on_the_seed_alone():
    record = make_record(ragged=True)
    permuted = permute_attention(record, 5)
    np.testing.assert_array_equal(permuted, permute_attention(record, 5))
    assert not np.array_equal(permuted, permute_attention(record, 6))
    for i in range(record.n_instances):
        np.testing.assert_array_equal(np.sort(permuted[record.rows(i)]), np.sort(record.attention[record.rows(i)]))


def test_uniform_attention_leaves_the_sink_its_mass():
    record = AttentionRecord.from_arrays(np.zeros((1, 4, 1)), np.full((1, 4), 0.2), [0.5], sink=[0.2])
    np.testing.assert_allclose(uniform_attention(record), np.full(4, 0.2))


def test_head_evidence_by_hand():
    # Two classes: w = (w1 - w0)/2 of the predicted class, so |w·h| = |(2, 0)·h| / 2 = |h_0|.
    head = LinearHead(np.array([[0.0, 1.0], [2.0, 1.0]]), np.zeros(2))
    hidden = np.array([[[1.0, 5.0], [-3.0, 7.0]]])
    logits = head.logits(hidden.mean(axis=1))
    record = AttentionRecord.from_arrays(hidden, [[0.5, 0.5]], logits, head=head, logits=True)
    np.testing.assert_allclose(head_evidence(record, head), [1.0, 3.0])
    shifted = LinearHead(head.weight + np.array([[4.0, -1.0]]), head.bias)
    np.testing.assert_allclose(head_evidence(record, shifted), [1.0, 3.0])


def test_hard_outputs_are_compared_as_classes_and_saturated_ones_as_log_odds():
    record = make_record(classes=3)
    hard = make_record(classes=3, output=record.prediction)
    assert find_decoder(hard).source == "given"
    # Ten times the head gives the same classes and, where outputs are saturated, nearly the same probabilities.
    strong = LinearHead(record.head.weight * 3, record.head.bias)
    saturated = make_record(classes=3, head=strong, output=probabilities_under(record, strong, record.attention))
    assert find_decoder(saturated).source == "given"
    wrong = LinearHead(strong.weight * 10, strong.bias)
    refused = make_record(classes=3, head=wrong, output=saturated.output)
    assert find_decoder(refused).head is None


def test_a_head_is_not_made_up_where_attention_does_not_look():
    # Attention is always on position 0, whose states use other dimensions than those of position 1.
    rng = np.random.default_rng(0)
    states = np.zeros((300, 2, 4))
    states[:, 0, :2], states[:, 1, 2:] = rng.standard_normal((2, 300, 2))
    attention = np.tile([1.0, 0.0], (300, 1))
    logits = states[:, 0] @ np.array([1.0, -2.0, 5.0, 5.0])
    record = AttentionRecord.from_arrays(states, attention, logits, logits=True)
    assert "where attention does not look" in find_decoder(record).source
