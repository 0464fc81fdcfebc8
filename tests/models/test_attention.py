"""Every score with every normaliser, asked in every way."""

from __future__ import annotations

import itertools

import pytest
import torch

from mi_attention.models.attention import Attention
from mi_attention.models.config import ClassifierConfig
from mi_attention.models.normalizers import NORMALIZERS
from mi_attention.models.query import last_query, mean_query
from mi_attention.models.scores import SCORES

SCORE_VARIANTS = [
    ("additive", "auto"),
    ("additive", "mean"),
    ("additive", "last"),
    ("deep", "auto"),
    ("scaled_dot", "learned"),
    ("scaled_dot", "mean"),
    ("scaled_dot", "last"),
]
PAIRS = list(itertools.product(SCORE_VARIANTS, sorted(NORMALIZERS)))
every = pytest.mark.parametrize(("score", "normalizer"), PAIRS, ids=lambda value: str(value).replace(" ", ""))
HIDDEN = 6


def build(score: tuple[str, str], normalizer: str, temperature: float = 0.7, **fields: object) -> Attention:
    config = ClassifierConfig(score=score[0], query=score[1], normalizer=normalizer, temperature=temperature, **fields)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return Attention(config, HIDDEN).eval()


def states_and_mask(rows: int = 4, width: int = 7) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    states = 2 * torch.randn(rows, width, HIDDEN, generator=generator)
    mask = torch.arange(width) < torch.tensor([7, 4, 1, 5])[:rows, None]
    return states.masked_fill(~mask[..., None], 0.0), mask


def test_pairs_cover_every_registered_part() -> None:
    assert {score[0] for score, _ in PAIRS} == set(SCORES)
    assert {normalizer for _, normalizer in PAIRS} == set(NORMALIZERS)


@every
def test_weights_are_a_distribution_and_the_context_their_mean(score, normalizer) -> None:
    states, mask = states_and_mask()
    output = build(score, normalizer)(states, mask)
    assert bool((output.weights >= 0).all())
    assert bool((output.weights[~mask] == 0).all())
    assert bool((output.logits[~mask] == 0).all())
    assert not output.undefined.any()
    torch.testing.assert_close(output.weights.sum(dim=1), torch.ones(4), atol=1e-6, rtol=0)
    assert output.weights[2].tolist() == [1.0, 0, 0, 0, 0, 0, 0]  # the text of one token
    expected = torch.stack([sum(w * h for w, h in zip(output.weights[i], states[i], strict=True)) for i in range(4)])
    torch.testing.assert_close(output.context, expected, atol=1e-5, rtol=0)


@every
def test_masking_equals_removing_and_batches_equal_single_texts(score, normalizer) -> None:
    states, mask = states_and_mask()
    attention = build(score, normalizer)
    batched = attention(states, mask)
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        alone = attention(states[row : row + 1, :length], mask[row : row + 1, :length])
        torch.testing.assert_close(batched.weights[row, :length], alone.weights[0], atol=1e-6, rtol=0)
        torch.testing.assert_close(batched.logits[row, :length], alone.logits[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(batched.context[row], alone.context[0], atol=1e-5, rtol=0)
    # A hole in the middle is the text without that position ("last" asks what is last, so keep the end).
    hole = mask.clone()
    hole[0, 3] = False
    kept = torch.tensor([0, 1, 2, 4, 5, 6])
    without = attention(states[:1, kept], torch.ones(1, 6, dtype=torch.bool))
    torch.testing.assert_close(attention(states, hole).weights[0, kept], without.weights[0], atol=1e-6, rtol=0)


@every
def test_permuting_the_states_permutes_the_weights(score, normalizer) -> None:
    states, mask = states_and_mask()
    order = torch.tensor([3, 5, 0, 2, 1, 4, 6])  # the last state of the full row stays last
    attention = build(score, normalizer)
    whole, permuted = attention(states[:1], mask[:1]), attention(states[:1, order], mask[:1])
    torch.testing.assert_close(permuted.weights, whole.weights[:, order], atol=1e-6, rtol=0)
    torch.testing.assert_close(permuted.context, whole.context, atol=1e-5, rtol=0)


@every
def test_temperature_limits(score, normalizer) -> None:
    states, mask = states_and_mask()
    sharp = build(score, normalizer, 1e-40)(states, mask)
    flat = build(score, normalizer, 1e30)(states, mask)
    torch.testing.assert_close(flat.weights, mask / mask.sum(dim=1, keepdim=True), atol=1e-6, rtol=0)
    if normalizer != "uniform":
        # All ReLU units of the deep score can be off at several positions, which ties them.
        logits = sharp.logits.masked_fill(~mask, -float("inf"))
        best = logits == logits.amax(dim=1, keepdim=True)
        torch.testing.assert_close(sharp.weights, best / best.sum(dim=1, keepdim=True))


@every
def test_a_fully_masked_row_is_undefined_and_leaves_the_others_alone(score, normalizer) -> None:
    states, mask = states_and_mask()
    gone = mask.clone()
    gone[1] = False
    attention = build(score, normalizer)
    leaf = states.clone().requires_grad_()
    rest, whole = attention(leaf, gone), attention(states, mask)
    others = [0, 2, 3]
    assert rest.undefined.tolist() == [False, True, False, False]
    assert bool((rest.weights[1] == 0).all())
    assert bool((rest.context[1] == 0).all())
    assert torch.equal(rest.weights[others], whole.weights[others])
    assert torch.equal(rest.context[others], whole.context[others])
    rest.context.sum().backward()
    assert torch.isfinite(leaf.grad).all()
    assert bool((leaf.grad[1] == 0).all())
    assert all(p.grad is None or bool(torch.isfinite(p.grad).all()) for p in attention.parameters())


@every
def test_gradcheck(score, normalizer) -> None:
    states, mask = states_and_mask(rows=3, width=5)
    mask = mask[:, :5]
    attention = build(score, normalizer).double()
    leaf = (0.3 * states[:, :5].double()).requires_grad_()
    assert torch.autograd.gradcheck(lambda values: attention(values, mask).context, (leaf,), eps=1e-6, atol=1e-5)


def test_mean_query_by_hand() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]], [[5.0, 5.0], [7.0, 7.0], [7.0, 7.0]]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert mean_query(states, mask).tolist() == [[2.0, 4.0], [0.0, 0.0]]


def test_last_query_by_hand() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]], [[5.0, 5.0], [7.0, 7.0], [7.0, 7.0]]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert last_query(states, mask).tolist() == [[3.0, 6.0], [0.0, 0.0]]
    # The forward half ends at the last real position, the backward half at the first.
    assert last_query(states, mask, bidirectional=True).tolist() == [[3.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_second_text_asks_about_the_first(score, small_classifier, small_batch) -> None:
    batch = small_batch(pairs=True)
    model = small_classifier(score=score, query="second_text")
    output = model(batch)
    first, second = batch.mask & (batch.segment == 0), batch.mask & (batch.segment == 1)
    assert torch.equal(output.readable, first)
    assert bool((output.attention.weights[~first] == 0).all())
    torch.testing.assert_close(output.query, mean_query(output.states, second))
    torch.testing.assert_close(output.attention.weights.sum(dim=1), torch.ones(6))
    with pytest.raises(ValueError, match="no segment"):
        model(small_batch())


def test_a_pair_without_a_second_text_is_undefined(small_classifier, small_batch) -> None:
    batch = small_batch(pairs=True)
    batch.segment[2] = 0
    batch.segment[3] = 1
    output = small_classifier(score="scaled_dot", query="second_text")(batch)
    assert output.attention.undefined.tolist() == [False, False, True, True, False, False]


def test_scores_are_only_asked_what_they_can_answer() -> None:
    for score, query, message in [
        ("scaled_dot", "none", "needs one"),
        ("deep", "mean", "takes no query"),
        ("additive", "learned", "learned constants of its own"),
    ]:
        with pytest.raises(ValueError, match=message):
            ClassifierConfig(score=score, query=query)
    states, mask = states_and_mask()
    with pytest.raises(ValueError, match="built without one"):
        build(("deep", "auto"), "softmax")(states, mask, torch.zeros(4, HIDDEN))
    with pytest.raises(ValueError, match="no segment"):
        build(("scaled_dot", "second_text"), "softmax")(states, mask)


def test_a_given_query_is_used() -> None:
    states, mask = states_and_mask()
    attention = build(("scaled_dot", "mean"), "softmax")
    query = torch.ones(4, HIDDEN)
    torch.testing.assert_close(
        attention(states, mask, query).logits, states.sum(dim=-1) / HIDDEN**0.5, atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        attention(states, mask).weights, attention(states, mask, mean_query(states, mask)).weights
    )
