import numpy as np
import pytest
from scipy.special import ndtr

from mi_attention.estimators.regression import Regression
from mi_attention.interface import Unit
from tests.benchmarks.designs import in_spectrum

FAST = Regression(folds=5)


def test_linear_gaussian_reaches_the_closed_form_from_below():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 20))
    y = 0.8 * x[:, 0] + 0.6 * rng.standard_normal(2000)
    found = FAST.estimate(x, y)
    truth = -0.5 * np.log(1 - 0.64)
    assert truth - 0.06 < found.lower_bound < truth + 2 * found.standard_error
    assert found.nats == found.lower_bound == pytest.approx(found.local.mean(), abs=1e-12)


def test_the_kernel_sees_what_a_line_does_not():
    # y = x² + noise of standard deviation 1/2: h(y) − h(noise), well above half a nat; a line sees nothing.
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1500, 1))
    y = x[:, 0] ** 2 + 0.5 * rng.standard_normal(1500)
    line = Regression(members=("linear",), folds=5).estimate(x, y).lower_bound
    assert FAST.estimate(x, y).lower_bound > 0.5
    assert line < 0.1


def test_spread_that_follows_x_is_seen():
    # y = s·z with s = 1/3 or 3 by the sign of x: I = I(sign; y), at most log 2, and no mean depends on x.
    rng = np.random.default_rng(2)
    x = rng.standard_normal((2000, 2))
    y = np.where(x[:, 0] > 0, 3.0, 1 / 3) * rng.standard_normal(2000)
    found = Regression(members=("linear", "boosting"), folds=3).estimate(x, y)
    assert 0.2 < found.lower_bound < np.log(2)


@pytest.mark.parametrize("width", [1, 3])
def test_nothing_reads_as_nothing(width):
    rng = np.random.default_rng(3)
    values = [FAST.estimate(rng.standard_normal((400, 30)), rng.standard_t(2, (400, width))).nats for _ in range(6)]
    assert -0.05 < np.mean(values) < 0.005


def test_several_outputs_are_bounded_whatever_their_margin():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((1500, 3))
    y = np.stack([0.8 * x[:, 0] + 0.6 * rng.standard_normal(1500), 0.6 * x[:, 1] + 0.8 * rng.standard_normal(1500)], 1)
    truth = -0.5 * np.log(0.36) - 0.5 * np.log(0.64)
    found = FAST.estimate(x, y)
    assert truth - 0.12 < found.lower_bound < truth + 2 * found.standard_error
    # Independent of x, the outputs strongly dependent among themselves: a fitted Gaussian margin would read > 0.
    circle = rng.uniform(0, 2 * np.pi, 1500)
    outputs = np.stack([np.cos(circle), np.sin(circle)], 1) * rng.chisquare(1, (1500, 1))
    assert FAST.estimate(x, outputs).lower_bound < 0.005
    # At most the log of the rows of a fold, also where y is all but determined.
    assert FAST.estimate(x, x[:, :2] + 1e-3 * rng.standard_normal((1500, 2))).local.max() <= np.log(300) + 1e-9


def test_monotone_maps_of_columns_change_nothing_and_seeds_repeat():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((300, 3))
    y = x[:, 0] + rng.standard_normal(300)
    plain = FAST.estimate(x, y)
    ranked = Regression(members=("linear", "kernel"), folds=5)
    expected = ranked.estimate(x, y).nats
    assert ranked.estimate(np.exp(x), np.arctan(y)).nats == pytest.approx(expected, abs=1e-10)
    # One column is read by its ranks alone; several also as they are.
    first = FAST.estimate(x[:, 0], y).nats
    assert FAST.estimate(np.exp(x[:, 0]), np.arctan(y)).nats == pytest.approx(first, abs=1e-10)
    assert FAST.estimate(x, y).nats == plain.nats
    assert Regression(folds=5, seed=1).estimate(x, y).nats != plain.nats
    units = [Unit(x, y), Unit(x, np.stack([y, x[:, 1]], 1) + rng.standard_normal((300, 2)))]
    assert FAST.estimate_many(units)[0].nats == plain.nats


def test_a_direction_of_small_variance_is_read_along_the_principal_axes():
    rng = np.random.default_rng(9)
    x = rng.standard_normal((1000, 40))
    y = x[:, 0] + rng.standard_normal(1000)  # .347 nats
    x = in_spectrum(x, rng)
    assert Regression(members=("linear", "kernel")).estimate(x, y).nats < 0.15
    assert Regression().estimate(x, y).nats == pytest.approx(0.31, abs=0.06)


def test_groups_stay_in_one_fold():
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(60), 15)
    x = rng.standard_normal((60, 5))[groups] + 0.01 * rng.standard_normal((900, 5))
    y = rng.standard_normal(60)[groups] + 0.01 * rng.standard_normal(900)
    assert FAST.estimate(x, y, groups).lower_bound < 0.05
    assert FAST.estimate(x, y).lower_bound > 0.5


def test_edges_are_named():
    rng = np.random.default_rng(7)
    x = rng.standard_normal((50, 2))
    assert FAST.estimate(np.ones((50, 2)), x[:, 0]).reason == "constant state"
    assert FAST.estimate(x, np.ones(50)).reason == "constant output"
    assert FAST.estimate(x, x[:, 0], np.arange(50) % 4).status == "undefined"
    with pytest.raises(ValueError, match="use Probe"):
        FAST.estimate(x, np.arange(50) % 3)
    with pytest.raises(ValueError, match="members must be"):
        Regression(members=("forest",))
    with pytest.raises(ValueError, match="folds must be"):
        Regression(folds=1)


@pytest.mark.parametrize("kind", ["rectified", "rectified exactly", "lattice"])
def test_an_output_that_repeats_values_reads_what_the_unrounded_one_would(kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(600)
        if kind == "rectified":
            # I = .396 by quadrature.
            y, least, most = np.maximum(x + 0.75 * rng.standard_normal(600), 0), 0.2, 0.5
        elif kind == "rectified exactly":
            y, least, most = np.maximum(x, 0), 1.2, np.inf
        else:
            y, least, most = np.floor(25 * ndtr(x)), 2.5, np.log(25)
        assert least < FAST.estimate(x, y).nats < most


def test_the_scale_of_an_output_with_ties_is_followed():
    # A third of y is one value; elsewhere its spread is 1/3 or 3 by the sign of x.
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 2))
    y = np.where(x[:, 0] > 0, 3.0, 1 / 3) * rng.standard_normal(2000)
    y[rng.random(2000) < 1 / 3] = 0.0
    found = Regression(members=("linear", "boosting"), folds=3).estimate(x, y)
    assert found.lower_bound > 0.04
    # As if no value were repeated, which a jitter far below the spread makes of it.
    apart = Regression(members=("linear", "boosting"), folds=3).estimate(x, y + 1e-6 * rng.standard_normal(2000))
    assert found.lower_bound == pytest.approx(apart.lower_bound, abs=0.02)
