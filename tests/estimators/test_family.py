"""Properties of every member, on data drawn by hypothesis."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.estimators import KSG, Probe, Ross, SmallSampleWarning

CLASSIFYING = [Probe(), Probe(folds=3, members=("linear",)), Ross(k=2)]
ALL = [*CLASSIFYING, KSG(k=2), KSG(k=2, algorithm=2)]


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


def quiet(estimator, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        return estimator.estimate(*data)


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: e.signature)
@settings(max_examples=15, deadline=None)
@given(samples())
def test_results_are_consistent(estimator, data):
    x, y, groups = data
    estimate = quiet(estimator, x, y, groups)
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


@pytest.mark.parametrize("estimator", CLASSIFYING, ids=lambda e: e.signature)
@settings(max_examples=15, deadline=None)
@given(samples())
def test_nothing_exceeds_the_entropy_of_the_class(estimator, data):
    x, y, groups = data
    estimate = quiet(estimator, x, y, groups)
    if estimate.status == "ok":
        slack = 0.0 if isinstance(estimator, Probe) else 4 / len(y) if groups is None else np.inf
        assert estimate.nats <= estimate.ceiling + slack + 1e-12


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: e.signature)
@settings(max_examples=10, deadline=None)
@given(samples(), st.floats(-3, 3), st.sampled_from([1e-3, 1.0, 1e3]))
def test_affine_maps_of_the_state_change_nothing(estimator, data, offset, scale):
    x, y, groups = data
    plain, moved = quiet(estimator, x, y, groups), quiet(estimator, x * scale + offset, y, groups)
    assert moved.reason == plain.reason
    if plain.status == "ok":
        assert moved.nats == pytest.approx(plain.nats, abs=1e-5)


@pytest.mark.parametrize("estimator", CLASSIFYING, ids=lambda e: e.signature)
@settings(max_examples=10, deadline=None)
@given(samples(), st.permutations(range(4)))
def test_names_of_classes_change_nothing(estimator, data, names):
    x, y, groups = data
    plain, renamed = quiet(estimator, x, y, groups), quiet(estimator, x, np.array(names)[y], groups)
    assert renamed.reason == plain.reason
    if plain.status == "ok":
        assert renamed.nats == pytest.approx(plain.nats, abs=1e-7)
