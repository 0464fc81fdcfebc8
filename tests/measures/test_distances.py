from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.spatial.distance import jensenshannon

from mi_attention.interface import Measured
from mi_attention.measures import jensen_shannon, kullback_leibler, total_variation

DISTANCES = (total_variation, kullback_leibler, jensen_shannon)
UPPER = {total_variation: 1.0, kullback_leibler: np.inf, jensen_shannon: np.log(2)}

weights = arrays(np.float64, 5, elements=st.sampled_from([0.0, 1e-300, 1e-12, 0.1, 1.0, 1.0 + 1e-12, 3.0])).filter(
    lambda values: values.sum() > 0.05
)


def test_kl_with_zeros_by_hand() -> None:
    assert kullback_leibler([0.5, 0.5, 0], [0.5, 0.5, 0]).values == [0.0]
    assert kullback_leibler([0.3, 0.3, 0.4], [0.5, 0.5, 0]).values == [np.inf]
    assert kullback_leibler([1, 0], [0.5, 0.5]).values == pytest.approx([np.log(2)], abs=1e-15)


def test_kl_direction_by_hand() -> None:
    # .9 ln(.9/.5) + .1 ln(.1/.5) = .5290 - .1609 = .3681; .5 ln(.5/.9) + .5 ln(.5/.1) = -.2939 + .8047 = .5108.
    p, q = [0.9, 0.1], [0.5, 0.5]
    assert kullback_leibler(p, q).values == pytest.approx([0.3681], abs=5e-5)
    assert kullback_leibler(q, p).values == pytest.approx([0.5108], abs=5e-5)


def test_total_variation_is_half_the_l1_distance() -> None:
    # |.9 - .5| + |.1 - .5| = .8; of two classes it is the change of one probability, .4.
    assert total_variation([0.9, 0.1], [0.5, 0.5]).values == pytest.approx([0.4], abs=1e-15)


def test_disjoint() -> None:
    assert jensen_shannon([1, 0], [0, 1]).values == [np.log(2)]
    assert total_variation([1, 0], [0, 1]).values == [1.0]
    assert kullback_leibler([1, 0], [0, 1]).values == [np.inf]


@pytest.mark.parametrize("distance", DISTANCES)
@settings(max_examples=100, deadline=None)
@given(p=weights, q=weights)
def test_bounds_identity_and_oracles(distance: Callable[..., Measured], p: np.ndarray, q: np.ndarray) -> None:
    p, q = p / p.sum(), q / q.sum()
    value = distance(p, q).values[0]
    assert 0 <= value <= UPPER[distance]
    assert distance(p, p).values[0] == 0.0
    with np.errstate(all="ignore"):
        oracle = {
            total_variation: np.abs(p - q).sum() / 2,
            kullback_leibler: stats.entropy(p, q),
            jensen_shannon: jensenshannon(p, q) ** 2,
        }[distance]
    if np.isfinite(oracle):
        assert value == pytest.approx(oracle, abs=1e-9)
    if distance is not kullback_leibler:
        assert value == pytest.approx(distance(q, p).values[0], abs=1e-15)


@pytest.mark.parametrize("distance", DISTANCES)
def test_float32_softmax_rows_are_safe(distance: Callable[..., Measured]) -> None:
    rng = np.random.default_rng(0)
    logits = 30 * rng.standard_normal((2000, 6)).astype(np.float32)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    near = p * (1 + np.float32(1e-7) * rng.standard_normal(p.shape).astype(np.float32))
    near /= near.sum(axis=1, keepdims=True)
    assert p.dtype == np.float32
    np.testing.assert_array_equal(distance(p, p).values, 0.0)
    values = distance(p, near).values
    assert (values >= 0).all()
    assert (values < 1e-5).all()


def test_denormal_probabilities_do_not_overflow() -> None:
    tiny = 5e-324
    # 1 · ln(1 / 5e-324) = 744.44; the Jensen-Shannon divergence of nearly disjoint distributions is ln 2.
    assert kullback_leibler([1, 0], [tiny, 1]).values == pytest.approx([744.44], abs=0.01)
    assert jensen_shannon([tiny, 1], [1, 0]).values == pytest.approx([np.log(2)], abs=1e-15)


@pytest.mark.parametrize("distance", DISTANCES)
def test_packed_rows_and_single_agree(distance: Callable[..., Measured]) -> None:
    p, q = np.random.default_rng(1).dirichlet(np.ones(4), (2, 7))
    rows = distance(p, q).values
    np.testing.assert_array_equal(rows, distance(p.ravel(), q.ravel(), np.arange(8) * 4).values)
    assert rows[3] == distance(p[3], q[3]).values[0]
    ragged = distance(np.r_[p[0], 1.0, p[1, :2] / p[1, :2].sum()], np.r_[q[0], 1.0, 0.5, 0.5], [0, 4, 5, 7])
    assert ragged.values[0] == rows[0]
    assert ragged.values[1] == 0.0


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.4], [0.5, 0.5], "p sums to 0.9"),
        ([0.5, 0.5], [1.0, 1.0], "q sums to 2"),
        ([1.2, -0.2], [0.5, 0.5], "p is -0.2"),
        ([np.nan, 1.0], [0.5, 0.5], "p is nan"),
        ([0.5, 0.5], [1.0], "must agree"),
    ],
)
def test_bad_input(distance: Callable[..., Measured], p: list[float], q: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        distance(p, q)
