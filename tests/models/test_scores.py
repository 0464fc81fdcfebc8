"""Scores: values by hand, gradients, registration."""

from __future__ import annotations

import math

import pytest
import torch

from mi_attention.models.scores import SCORES, Score, additive, deep, register_score, scaled_dot

VARIANTS = [
    ("additive", False, {}),
    ("additive", True, {}),
    ("additive", False, {"attention_size": 3}),
    ("deep", False, {}),
    ("deep", False, {"depth": 4, "attention_size": 5}),
    ("scaled_dot", True, {}),
]
every = pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: str(v).replace(" ", ""))


def build(variant, hidden: int = 6, seed: int = 0) -> Score:
    name, with_query, options = variant
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return Score(name, hidden, with_query=with_query, options=options)


def states_and_query(variant, dtype=torch.float64, hidden: int = 6):
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(3, 5, hidden, generator=generator, dtype=dtype)
    query = torch.randn(3, hidden, generator=generator, dtype=dtype)
    return states, query if variant[1] else None


def test_variants_cover_every_built_in_score() -> None:
    assert {name for name, _, _ in VARIANTS} == set(SCORES)


@every
def test_each_position_is_scored_alone(variant) -> None:
    score = build(variant).double()
    states, query = states_and_query(variant)
    logits = score(states, query)
    assert logits.shape == (3, 5)
    for row in range(3):
        for position in range(5):
            own = score(states[row : row + 1, position : position + 1], None if query is None else query[row : row + 1])
            torch.testing.assert_close(own[0, 0], logits[row, position])


@every
def test_gradcheck(variant) -> None:
    score = build(variant).double()
    states, query = states_and_query(variant)
    inputs = [states.requires_grad_()] + ([query.requires_grad_()] if query is not None else [])
    names = [name for name, _ in score.named_parameters()]
    # Biases start at 0, where a ReLU unit could sit on its kink; move them off.
    values = [
        (
            value.detach() + 0.05 * torch.arange(1, value.numel() + 1, dtype=torch.float64).view_as(value)
        ).requires_grad_()
        for value in score.parameters()
    ]

    def function(*arguments):
        own = dict(zip(names, arguments[len(inputs) :], strict=True))
        return torch.func.functional_call(score, own, tuple(arguments[: len(inputs)]))

    assert torch.autograd.gradcheck(function, (*inputs, *values))


def test_additive_by_hand() -> None:
    # h = (1, 2): W h + b = (1 - 2 + 0, 2 + 1) = (-1, 3), v = (2, -1): 2 tanh(-1) - tanh(3).
    states = torch.tensor([[[1.0, 2.0]]])
    projection, bias, vector = (
        torch.tensor([[1.0, -1.0], [0.0, 1.0]]),
        torch.tensor([0.0, 1.0]),
        torch.tensor([2.0, -1.0]),
    )
    assert additive(states, projection, bias, vector).item() == pytest.approx(2 * math.tanh(-1) - math.tanh(3))
    # The query (1, 0) through U = identity adds (1, 0): 2 tanh(0) - tanh(3).
    with_query = additive(states, projection, bias, vector, torch.tensor([[1.0, 0.0]]), torch.eye(2))
    assert with_query.item() == pytest.approx(-math.tanh(3))
    with pytest.raises(ValueError, match="together"):
        additive(states, projection, bias, vector, torch.zeros(1, 2))


def test_deep_by_hand() -> None:
    # h = (1, -1): layer 1 identity, ReLU -> (1, 0); layer 2 rows (1, 5), (-1, 5)
    # plus (0.5, 0) -> (1.5, -1) -> (1.5, 0); v = (2, 7), bias 0.25: 3.25.
    weights = [torch.eye(2), torch.tensor([[1.0, 5.0], [-1.0, 5.0]])]
    biases = [torch.zeros(2), torch.tensor([0.5, 0.0])]
    logits = deep(torch.tensor([[[1.0, -1.0]]]), weights, biases, torch.tensor([2.0, 7.0]), torch.tensor([0.25]))
    assert logits.item() == pytest.approx(3.25)


def test_scaled_dot_by_hand() -> None:
    # (1, 2, 3, 4) . (1, 1, 0, -1) = -1, over sqrt(4).
    logits = scaled_dot(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), torch.tensor([[1.0, 1.0, 0.0, -1.0]]))
    assert logits.item() == pytest.approx(-0.5)


@pytest.mark.parametrize("depth", [2, 3, 6])
def test_depth_is_the_number_of_hidden_layers(depth) -> None:
    score = Score("deep", 8, options={"depth": depth})
    shapes = [tuple(value.shape) for name, value in score.named_parameters() if "weights" in name]
    assert shapes == [(4, 8)] + [(4, 4)] * (depth - 1)


def test_bad_options_are_rejected() -> None:
    with pytest.raises(ValueError, match="depth is 1"):
        Score("deep", 8, options={"depth": 1})
    with pytest.raises(ValueError, match=r"no option 'dept'; did you mean 'depth'"):
        Score("deep", 8, options={"dept": 3})
    with pytest.raises(ValueError, match="attention_size is -1"):
        Score("additive", 8, options={"attention_size": -1})
    with pytest.raises(ValueError, match=r"no option 'depth'; it takes none"):
        Score("scaled_dot", 8, with_query=True, options={"depth": 3})
    with pytest.raises(ValueError, match="needs a query"):
        Score("scaled_dot", 8)
    with pytest.raises(ValueError, match="takes no query"):
        Score("deep", 8, with_query=True)
    with pytest.raises(ValueError, match=r"did you mean 'additive'"):
        Score("aditive", 8)


def test_a_registered_function_works_without_any_class() -> None:
    @register_score("bilinear_for_test", parameters=lambda hidden: {"matrix": (hidden, hidden)})
    def bilinear(states, query, matrix, scale=1.0):
        return scale * torch.einsum("bth,hk,bk->bt", states, matrix, query)

    @register_score("norm_for_test")
    def norm(states):
        return states.norm(dim=-1)

    @register_score("wrong_for_test")
    def wrong(states):
        return states

    try:
        assert SCORES["bilinear_for_test"].query == "required"
        score = Score("bilinear_for_test", 6, with_query=True, options={"scale": 2.0})
        assert [tuple(value.shape) for value in score.parameters()] == [(6, 6)]
        states, query = torch.ones(2, 3, 6), torch.ones(2, 6)
        torch.testing.assert_close(score(states, query), 2 * next(iter(score.parameters())).sum().expand(2, 3))
        torch.testing.assert_close(Score("norm_for_test", 6)(states), torch.full((2, 3), math.sqrt(6)))
        with pytest.raises(ValueError, match=r"must return \(B, T\) = \(2, 3\)"):
            Score("wrong_for_test", 6)(states)
        with pytest.raises(ValueError, match="registered already"):
            register_score("additive")(norm)
    finally:
        for name in ("bilinear_for_test", "norm_for_test", "wrong_for_test"):
            SCORES.remove(name)


def test_repr_says_what_it_is() -> None:
    assert repr(Score("deep", 8, options={"depth": 3})).startswith(
        "Score(\n  'deep', hidden=8, with_query=False, depth=3"
    )
