from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mi_attention.interface import Measured
from mi_attention.measures import (
    concentration,
    effective_support,
    gini,
    max_weight,
    normalized_entropy,
    normalized_skew,
    zero_share,
)

FAMILY = (normalized_skew, normalized_entropy, effective_support, gini, max_weight, zero_share)


@pytest.mark.parametrize("length", [3, 4, 8, 20, 100, 1001])
def test_one_hot(length: int) -> None:
    # m2 = (T-1)/T², m3 = (T-1)(T-2)/T³, so g1 = (T-2)/sqrt(T-1) and G1 = sqrt(T(T-1))/(T-2) g1 = sqrt(T).
    one_hot = np.eye(length)[length // 2]
    found = {name: value.values[0] for name, value in concentration(one_hot).items()}
    assert found["normalized_skew"] == pytest.approx(1, abs=1e-13)
    assert found["normalized_entropy"] == 0
    assert found["effective_support"] == 1
    assert found["gini"] == 1
    assert found["max_weight"] == 1
    assert found["zero_share"] == (length - 1) / length


@pytest.mark.parametrize("length", [2, 3, 7, 49, 100])
def test_uniform(length: int) -> None:
    found = concentration(np.full(length, 1 / length))
    reason = "constant attention" if length > 2 else "fewer than three positions"
    assert found["normalized_skew"].reasons == (reason,)
    assert found["normalized_entropy"].values == [1.0]
    assert found["effective_support"].values == [float(length)]
    assert found["gini"].values == [0.0]
    assert found["max_weight"].values == pytest.approx([1 / length], abs=1e-15)
    assert found["zero_share"].values == [0.0]


def test_one_position() -> None:
    found = concentration([1.0])
    assert found["normalized_skew"].reasons == ("fewer than three positions",)
    assert found["normalized_entropy"].reasons == ("fewer than two positions",)
    assert found["gini"].reasons == ("fewer than two positions",)
    assert found["effective_support"].values == [1.0]
    assert found["max_weight"].values == [1.0]


def test_by_hand() -> None:
    # a = (.5, .25, .25, 0). H = .5 ln 2 + .5 ln 4 = 1.5 ln 2, over ln 4: .75. exp(H) = 2^1.5.
    # Gini: ordered 0, .25, .25, .5 with 2i - 5 = -3, -1, 1, 3: 1.5; over T Σ = 4 gives .375, times 4/3: .5.
    found = {name: value.values[0] for name, value in concentration([0.5, 0.25, 0.25, 0.0]).items()}
    assert found["normalized_entropy"] == pytest.approx(0.75)
    assert found["effective_support"] == pytest.approx(2**1.5)
    assert found["gini"] == pytest.approx(0.5)
    assert found["max_weight"] == 0.5
    assert found["zero_share"] == 0.25
    assert found["normalized_skew"] == pytest.approx(0, abs=1e-15)  # symmetric about .25


@settings(max_examples=80, deadline=None)
@given(scores=st.lists(st.floats(-8, 8), min_size=3, max_size=12))
def test_against_scipy_and_bounds(scores: list[float]) -> None:
    weights = np.exp(scores) / np.exp(scores).sum()
    found = {name: value.values[0] for name, value in concentration(weights).items()}
    length = len(scores)
    assert found["normalized_entropy"] == pytest.approx(stats.entropy(weights) / np.log(length), abs=1e-12)
    pairwise = np.abs(weights[:, None] - weights).sum() / (2 * length**2 * weights.mean())
    assert found["gini"] == pytest.approx(pairwise * length / (length - 1), abs=1e-12)
    assert 1 <= found["effective_support"] <= length
    if np.ptp(weights) > 1e-6:
        expected = stats.skew(weights, bias=False) / np.sqrt(length)
        assert found["normalized_skew"] == pytest.approx(expected, abs=1e-8)
        assert -1 <= found["normalized_skew"] <= 1


def test_skew_of_nearly_constant_attention_is_computed_not_cancelled() -> None:
    # One weight an ulp above the others is, in shape, a one-hot vector.
    weights = np.full(10, 0.1)
    weights[3] = np.nextafter(0.1, 1)
    assert normalized_skew(weights).values[0] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("measure", FAMILY)
def test_order_does_not_matter_and_ragged_equals_single(measure: Callable[..., Measured]) -> None:
    rng = np.random.default_rng(5)
    parts = [rng.dirichlet(np.ones(length)) for length in (1, 2, 3, 9, 9, 30)]
    offsets = np.cumsum([0, *map(len, parts)])
    together = measure(np.concatenate(parts), offsets)
    for i, part in enumerate(parts):
        alone, moved = measure(part), measure(rng.permutation(part))
        assert together.reasons[i] == alone.reasons[0] == moved.reasons[0]
        np.testing.assert_allclose(together.values[i], alone.values[0], rtol=1e-13)
        np.testing.assert_allclose(moved.values[0], alone.values[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("measure", FAMILY)
def test_a_sink_leaves_the_shape_of_the_rest(measure: Callable[..., Measured]) -> None:
    weights = np.random.default_rng(6).dirichlet(np.ones(8))
    assert measure(0.25 * weights).values == pytest.approx(measure(weights).values, abs=1e-12)
    assert measure(np.zeros(8)).reasons == ("no attention on any position",)


def test_sharper_softmax_is_more_concentrated() -> None:
    scores = np.random.default_rng(7).standard_normal(12)
    for measure, sign in ((normalized_entropy, 1), (effective_support, 1), (gini, -1), (max_weight, -1)):
        values = [
            measure(np.exp(scores / temperature) / np.exp(scores / temperature).sum()).values[0]
            for temperature in (0.1, 0.5, 1.0, 2.0)
        ]
        assert (sign * np.diff(values) > 0).all()


@pytest.mark.parametrize("measure", FAMILY)
@pytest.mark.parametrize(
    ("weights", "message"), [([-0.1, 1.1], "attention is -0.1"), ([1.0, 1.0], "sums to 2"), ([np.nan, 1.0], "nan")]
)
def test_bad_input(measure: Callable[..., Measured], weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(weights)
