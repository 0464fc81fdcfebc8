"""Further readings along the leading axes: taken where they are better, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from mi_attention.estimators import Probe, axes
from mi_attention.estimators.axes import leading_rows, leading_widths, principal_rows
from mi_attention.estimators.crossfit import cross_fit
from mi_attention.estimators.members import DISCRIMINANTS
from mi_attention.estimators.rows import standardise
from tests.benchmarks.designs import draw

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
    monkeypatch.setattr(axes, "ROWS_FOR_ALL", 0)
    monkeypatch.setattr(axes, "ROWS_FOR_MOST", 0)


def standing_out(whole):
    """Widths read in 8 to 16 rows a column: at most that of the axes that stand out."""
    return leading_widths(whole, 10 * whole.width)


def test_the_axes_of_the_factors_stand_out_and_hardly_any_others():
    x, _, factors = correlated(400, 0)
    whole = principal_rows(standardise(x))
    (width,) = standing_out(whole)
    found = leading_rows(whole, width)
    # The columns are scaled first, which makes the noise uneven.
    assert FACTORS <= found.width == width <= FACTORS + 2
    # They span the factors: these are linear in the coordinates, but for the noise and the cut tails.
    ((_, _, block),) = list(found.blocks())
    left = factors - block @ np.linalg.lstsq(block, factors, rcond=None)[0]
    assert (left.var(axis=0) / factors.var(axis=0)).max() < 0.15
    np.testing.assert_array_equal(block, next(iter(found.blocks()))[2])


@pytest.mark.parametrize("seed", range(5))
def test_no_axis_of_noise_stands_out_from_twice_as_many_rows(seed):
    x = np.random.default_rng(seed).standard_normal((2 * WIDTH, WIDTH))
    assert standing_out(principal_rows(standardise(x))) == []


def test_more_than_half_of_the_axes_are_no_few():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 10)) * ([10.0] * 6 + [0.1] * 4)
    frame = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    assert standing_out(principal_rows(standardise(x @ frame))) == []


def test_the_fewer_the_rows_the_more_is_read():
    whole = principal_rows(standardise(correlated(400, 0)[0]))
    out = standing_out(whole)
    assert leading_widths(whole, 8 * WIDTH - 1) == [36, 30, *out]
    assert leading_widths(whole, 8 * WIDTH) == leading_widths(whole, 16 * WIDTH - 1) == out
    assert leading_widths(whole, 16 * WIDTH) == []


@pytest.mark.parametrize(("columns", "expected"), [(1, []), (2, []), (3, [2]), (4, [2]), (10, [6, 5])])
def test_fewer_axes_are_at_least_two_and_never_all(columns, expected):
    whole = principal_rows(standardise(np.random.default_rng(0).standard_normal((40, columns))))
    assert leading_widths(whole, 2) == expected


def test_axes_of_equal_variance_have_no_leading_ones():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((90, 20))
    left, _, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    assert leading_widths(principal_rows(standardise(left)), 90) == []
    # Ten axes of one variance and ten of a smaller one: .6 of all would take two of the ten that are equal.
    pairs = np.hstack([left[:, :10] + left[:, 10:], left[:, :10]])
    assert leading_widths(principal_rows(standardise(pairs)), 90) == [10]


def test_the_leading_axes_are_those_of_largest_variance():
    whole = principal_rows(standardise(correlated(400, 0)[0]))
    left = leading_rows(whole, 7)
    kept = np.sort(whole.axes.spread)[-7:]
    np.testing.assert_array_equal(np.sort(left.axes.spread), kept)
    np.testing.assert_allclose(left.kept.std(axis=0), left.axes.spread, rtol=0.05)


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


def test_what_only_small_axes_hold_is_read_linearly_along_all_of_them():
    x, y, _ = correlated(240, 1, hidden=2.0)
    found = Probe().estimate(x, y)
    along = Probe()._prepare(x, Probe()._output(y, None, len(x)))
    linear = cross_fit(along, DISCRIMINANTS, ())[0]
    np.testing.assert_array_equal(found.local, linear.held_out)
    assert found.nats > 0.2


def test_in_few_rows_of_a_rare_class_curved_readings_cost_no_order():
    """Twenty positions that differ in mean; reading all members first, tau was .41 and the RMSE .157."""
    made = draw("lin", d=40, n=100, classes=2, balance="80/20", seed=1)
    nats = [estimate.nats for estimate in Probe().estimate_many(made.x, made.y)]
    assert kendalltau(nats, made.truth).statistic > 0.6
    assert np.sqrt(np.mean((nats - made.truth) ** 2)) < 0.11


def antipodal(rows, seed, strength=3.0):
    """Two classes at ± strength along an axis each, beside 58 directions of which half are of smaller variance."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    x = rng.standard_normal((rows, WIDTH))
    x[np.arange(rows), y] += strength * rng.choice([-1.0, 1.0], rows)
    x[:, 2:] *= 10 ** np.linspace(-1, 1, WIDTH - 2)
    return x @ np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0], y


def test_what_all_axes_hide_in_few_rows_the_leading_half_shows(monkeypatch):
    draws = [antipodal(180, seed) for seed in range(6)]
    found = np.array([Probe().estimate(*made).nats for made in draws])
    without(monkeypatch)
    before = np.array([Probe().estimate(*made).nats for made in draws])
    assert found.mean() > before.mean() + 0.05
    assert (found >= before - 0.02).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_maps_of_whitened_states_change_nothing(seed):
    x, y = antipodal(180, seed)
    left, _, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    expected = Probe().estimate(left, y).nats
    for mapped in (3 * left + 1, left[:, ::-1], -left, (1 + 1e-15) * left):
        assert Probe().estimate(mapped, y).nats == pytest.approx(expected, abs=1e-6)
    assert Probe().estimate(left.astype(np.float32), y).nats == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_maps_of_states_read_along_fewer_axes_and_names_of_classes_change_nothing(classes):
    x, y = antipodal(240, 5, 5.0)
    y = y if classes == 2 else np.where(x[:, 0] > np.quantile(x[:, 0], 0.8), 2, y)
    expected = Probe().estimate(x, y)
    assert len(Probe().fit(x, y).axes.spread) < WIDTH
    rng = np.random.default_rng(1)
    scale = 10.0 ** rng.integers(-3, 4, WIDTH)
    for mapped in (x * scale + 5 * scale, x[:, rng.permutation(WIDTH)], x * rng.choice([-1, 1], WIDTH)):
        assert Probe().estimate(mapped, y).nats == pytest.approx(expected.nats, abs=1e-6)
    assert Probe().estimate(x, np.array([7, -1, 3])[y]).nats == pytest.approx(expected.nats, abs=1e-6)


def test_enough_rows_are_read_once(monkeypatch):
    x, y, _ = correlated(16 * WIDTH, 2, curve=2.0)
    found = Probe().estimate(x, y)
    without(monkeypatch)
    assert found.nats == Probe().estimate(x, y).nats


def test_a_linear_reader_reads_once(monkeypatch):
    x, y, _ = correlated(240, 3, shift=1.0)
    linear = Probe(members=DISCRIMINANTS)
    found = linear.estimate(x, y)
    without(monkeypatch)
    assert found.nats == linear.estimate(x, y).nats


def grouped(groups, rows, seed):
    """Rows of 20 uneven columns that share half of their variance within an instance, and a class an instance."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((groups, 20))[np.arange(groups * rows) // rows]
    x = (shared + rng.standard_normal(shared.shape)) * 10 ** np.linspace(-1, 1, 20)
    return x, np.repeat(rng.permutation(groups) % 2, rows), np.repeat(np.arange(groups), rows)


@pytest.mark.parametrize(
    "made", [lambda seed: correlated(160, seed)[:2], lambda seed: grouped(30, 4, seed)], ids=["rows", "groups"]
)
def test_choosing_among_readings_makes_no_information(made):
    values = [Probe().estimate(*made(seed)) for seed in range(24)]
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
