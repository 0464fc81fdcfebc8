"""Every member on odd data: few rows, rounded, skewed, separable, constant, ReLU zeros, uneven groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.estimators.registered import CHEAP, estimate_quietly

# Neighbours in many columns are tried on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::mi_attention.estimators.HighDimensionWarning")

# NPEET has no pointwise values and takes no groups; counts need a discrete state.
ALL = [member for member in CHEAP if member.grouped and member.pointwise and not member.counts]
CLASSIFYING = [member for member in ALL if member.takes_classes]


@st.composite
def samples(draw):
    """Small, rounded, skewed, sometimes constant or separable data with groups or without."""
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    n, width, classes = draw(st.integers(12, 60)), draw(st.integers(1, 12)), draw(st.integers(2, 4))
    y = rng.permutation(np.r_[np.repeat(np.arange(classes), 2), rng.integers(0, classes, n - 2 * classes)])
    x = rng.standard_normal((n, width)) * np.exp(draw(st.floats(-3, 3)) * rng.standard_normal(width))
    x = x + draw(st.sampled_from([0.0, 1.0, 100.0])) * y[:, None]
    x = np.round(x, draw(st.integers(0, 12)))
    x = np.maximum(x, 0) if draw(st.booleans()) else x
    groups = rng.integers(0, n // 2, n) if draw(st.booleans()) else None
    return x, y, groups


def output_for(member, y):
    """The same output as numbers, for members that take no classes."""
    return y if member.takes_classes else y + np.linspace(0, 0.01, len(y))


@pytest.mark.parametrize("member", ALL, ids=str)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(samples())
def test_results_are_consistent(member, data):
    x, y, groups = data
    estimate = estimate_quietly(member, x[:, : member.width], output_for(member, y), groups)
    assert estimate.n == len(y)
    assert estimate.local.shape == y.shape
    if estimate.status == "undefined":
        assert estimate.reason
        assert np.isnan(estimate.nats)
        return
    assert np.isfinite(estimate.nats)
    assert np.isfinite(estimate.local).all()
    assert estimate.standard_error >= 0
    raw = estimate.nats if estimate.lower_bound is None else estimate.lower_bound
    assert estimate.local.mean() == pytest.approx(raw, abs=1e-12)


@pytest.mark.parametrize("member", CLASSIFYING, ids=str)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(samples())
def test_nothing_exceeds_the_entropy_of_the_class(member, data):
    x, y, groups = data
    estimate = estimate_quietly(member, x[:, : member.width], y, groups)
    if estimate.status == "ok":
        slack = 0.0 if member.capped else 4 / len(y) if groups is None else np.inf
        assert estimate.nats <= estimate.ceiling + slack + 1e-12


@pytest.mark.parametrize("member", ALL, ids=str)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(samples(), st.floats(-3, 3), st.sampled_from([1e-3, 1.0, 1e3]))
def test_affine_maps_of_the_state_change_nothing(member, data, offset, scale):
    x, y, groups = data
    x, y = x[:, : member.width], output_for(member, y)
    plain, moved = estimate_quietly(member, x, y, groups), estimate_quietly(member, x * scale + offset, y, groups)
    assert moved.reason == plain.reason
    if plain.status == "ok":
        assert moved.nats == pytest.approx(plain.nats, abs=1e-5)


@pytest.mark.parametrize("member", CLASSIFYING, ids=str)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(samples(), st.permutations(range(4)))
def test_names_of_classes_change_nothing(member, data, names):
    x, y, groups = data
    x = x[:, : member.width]
    plain, renamed = estimate_quietly(member, x, y, groups), estimate_quietly(member, x, np.array(names)[y], groups)
    assert renamed.reason == plain.reason
    if plain.status == "ok":
        assert renamed.nats == pytest.approx(plain.nats, abs=1e-7)
