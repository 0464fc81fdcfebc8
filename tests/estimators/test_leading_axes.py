"""The second reading along the axes that stand out: taken where it is better, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention.estimators import Probe, probe
from mi_attention.estimators.axes import leading_rows, principal_rows
from mi_attention.estimators.rows import standardise

FACTORS, WIDTH = 6, 60


def correlated(rows, seed, *, shift=0.0, curve=1.0, hidden=0.0):
    """States of six factors beside noise in a random frame, and two classes.

    ``shift`` moves a factor by class, ``curve`` is its standard deviation in the second class, ``hidden`` moves a
    direction of the noise, in its standard deviations.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    factors = rng.standard_normal((rows, FACTORS))
    factors[:, 0] = factors[:, 0] * np.where(y, curve, 1.0) + shift * y
    noise = rng.standard_normal((rows, WIDTH - FACTORS))
    noise[:, 0] += hidden * y
    x = np.hstack([factors @ rng.standard_normal((FACTORS, FACTORS)), 0.05 * noise])
    return x @ np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0], y, factors


def without(monkeypatch):
    monkeypatch.setattr(probe, "FEW_ROWS", 0)


def test_the_axes_of_the_factors_stand_out_and_hardly_any_others():
    x, _, factors = correlated(400, 0)
    whole = principal_rows(standardise(x))
    found = leading_rows(whole)
    assert found is not None
    # The columns are scaled first, which makes the noise uneven.
    assert FACTORS <= found.width <= FACTORS + 2
    # They span the factors: these are linear in the coordinates, but for the noise and the cut tails.
    ((_, _, block),) = list(found.blocks())
    left = factors - block @ np.linalg.lstsq(block, factors, rcond=None)[0]
    assert (left.var(axis=0) / factors.var(axis=0)).max() < 0.15
    np.testing.assert_array_equal(block, next(iter(found.blocks()))[2])


@pytest.mark.parametrize("seed", range(5))
def test_no_axis_of_noise_stands_out_from_twice_as_many_rows(seed):
    x = np.random.default_rng(seed).standard_normal((2 * WIDTH, WIDTH))
    assert leading_rows(principal_rows(standardise(x))) is None


def test_more_than_half_of_the_axes_are_no_few():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 10)) * ([10.0] * 6 + [0.1] * 4)
    frame = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    assert leading_rows(principal_rows(standardise(x @ frame))) is None


def test_correlated_states_are_read_nearly_as_well_as_their_factors(monkeypatch):
    kept = {}
    for seed in range(3):
        x, y, factors = correlated(240, seed, curve=4.0)
        truth = Probe().estimate(factors, y).nats
        kept[seed] = (truth, Probe().estimate(x, y).nats)
        with monkeypatch.context() as patch:
            without(patch)
            kept[seed] += (Probe().estimate(x, y).nats,)
    of_factors, of_states, before = np.mean(list(kept.values()), axis=0)
    assert of_factors > 0.2
    assert of_states > 0.8 * of_factors
    assert before < 0.6 * of_factors


def test_what_only_small_axes_hold_is_read_as_before(monkeypatch):
    x, y, _ = correlated(240, 1, hidden=2.0)
    found = Probe().estimate(x, y)
    without(monkeypatch)
    before = Probe().estimate(x, y)
    assert found.nats == before.nats > 0.2
    np.testing.assert_array_equal(found.local, before.local)


def test_enough_rows_are_read_once(monkeypatch):
    x, y, _ = correlated(16 * WIDTH, 2, curve=2.0)
    found = Probe().estimate(x, y)
    without(monkeypatch)
    assert found.nats == Probe().estimate(x, y).nats


def test_a_linear_reader_reads_once(monkeypatch):
    x, y, _ = correlated(240, 3, shift=1.0)
    linear = Probe(members=("linear", "smooth"))
    found = linear.estimate(x, y)
    without(monkeypatch)
    assert found.nats == linear.estimate(x, y).nats


def test_choosing_between_two_readings_makes_no_information():
    values = [Probe().estimate(*correlated(160, seed)[:2]) for seed in range(12)]
    held_out = np.array([found.lower_bound for found in values])
    assert abs(np.mean([found.nats for found in values])) < 0.01
    assert held_out.mean() < 0.005


def test_the_fitted_probe_reads_along_the_same_axes():
    x, y, _ = correlated(480, 4, curve=4.0)
    fitted = Probe().fit(x[:240], y[:240])
    assert fitted.axes is not None
    assert FACTORS <= len(fitted.axes.spread) <= 2 * FACTORS
    inside = Probe().estimate(x[:240], y[:240])
    assert fitted.support(x[240:], y[240:]).mean() == pytest.approx(inside.lower_bound, abs=0.12)
    probabilities = Probe().cross_fitted_probabilities(x[:240], y[:240])
    local = np.log(probabilities[np.arange(240), y[:240]]) - np.log(0.5)
    np.testing.assert_allclose(local, inside.local, atol=1e-12)
