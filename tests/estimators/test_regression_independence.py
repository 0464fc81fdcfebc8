"""Nothing may be read where there is nothing, whatever the rows, folds, groups and columns."""

import numpy as np
import pytest

from mi_attention.estimators.intervals import interval
from mi_attention.estimators.regression import Regression

pytestmark = pytest.mark.filterwarnings("ignore::mi_attention.estimators.samples.SmallSampleWarning")


def readings(draw, seeds, **options):
    """Values, and lower ends of one-sided 95 % intervals, of independent x and y that ``draw`` makes."""
    found = [Regression(**options).estimate(*draw(np.random.default_rng(1000 + seed))) for seed in range(seeds)]
    for one in found:
        assert one.local.min() >= -np.log(one.n)
    return np.array([one.nats for one in found]), np.array([interval(one, 0.9).low for one in found])


def sound(values, low):
    error = values.std() / np.sqrt(len(values))
    return values.mean() <= 2 * error and (low > 0).mean() <= 0.05 and values.min() > -1


@pytest.mark.parametrize(
    ("n", "folds", "width"), [(10, 10, 1), (25, 25, 1), (40, 5, 3), (100, 50, 1), (200, 100, 1), (100, 2, 3)]
)
def test_one_column_of_any_number_of_rows_and_folds(n, folds, width):
    values, low = readings(
        lambda rng: (rng.standard_normal((n, width)), rng.standard_normal(n)), 24, members=("linear",), folds=folds
    )
    assert sound(values, low), (values.mean(), values.min(), (low > 0).mean())


@pytest.mark.parametrize("outputs", [1, 2])
def test_rows_of_few_groups(outputs):
    groups = np.repeat(np.arange(20), 10)

    def draw(rng):
        x = rng.standard_normal((20, 3))[groups] + 0.3 * rng.standard_normal((200, 3))
        return x, rng.standard_normal((20, outputs))[groups] + 0.3 * rng.standard_normal((200, outputs)), groups

    values, low = readings(draw, 40, members=("linear",), folds=20)
    assert sound(values, low), (values.mean(), values.min(), (low > 0).mean())


def test_several_columns():
    values, low = readings(
        lambda rng: (rng.standard_normal((100, 3)), rng.standard_normal((100, 3))), 40, members=("linear",)
    )
    assert sound(values, low), (values.mean(), values.min(), (low > 0).mean())


@pytest.mark.parametrize(
    ("members", "n", "folds", "seeds"), [(("linear", "kernel"), 40, 20, 6), (("linear", "boosting"), 60, 2, 4)]
)
def test_every_member(members, n, folds, seeds):
    values, low = readings(
        lambda rng: (rng.standard_normal((n, 1)), rng.standard_normal(n)), seeds, members=members, folds=folds
    )
    assert sound(values, low), (values, low)


def test_values_that_repeat_are_no_information():
    # Half the rows of a rectified output are 0: scores of less than unit variance, which a Gaussian of their own
    # variance fits better than the standard normal does.
    rectified = [
        (rng.standard_normal((400, 2)), np.maximum(rng.standard_normal(400), 0))
        for rng in map(np.random.default_rng, range(8))
    ]
    line = Regression(members=("linear",))
    assert -0.01 < np.mean([line.estimate(x, y).nats for x, y in rectified]) < 0.002


@pytest.mark.parametrize(("n", "folds"), [(60, 60), (100, 5)])
@pytest.mark.parametrize("lattice", [False, True])
def test_an_output_that_repeats_values_in_few_rows(n, folds, lattice):
    def draw(rng):
        y = rng.standard_normal(n)
        return rng.standard_normal((n, 2)), np.round(y, 1) if lattice else np.maximum(y, 0)

    values, low = readings(draw, 16, members=("linear",), folds=folds)
    assert sound(values, low), (values.mean(), values.min(), (low > 0).mean())


def test_values_that_repeat_are_still_predicted():
    rng = np.random.default_rng(8)
    x = rng.standard_normal((1000, 3))
    latent = 0.9 * x[:, 0] + np.sqrt(0.19) * rng.standard_normal(1000)
    line = Regression(members=("linear",))
    whole = line.estimate(x, latent).nats
    # The zeros hide what varies below them; tenths hide next to nothing.
    assert 0.5 * whole < line.estimate(x, np.maximum(latent, 0)).nats < whole
    assert line.estimate(x, np.round(latent, 1)).nats == pytest.approx(whole, abs=0.03)


def test_a_signal_common_to_several_columns_is_read_from_all_of_them():
    rng = np.random.default_rng(9)
    x = rng.standard_normal((400, 20))
    signal = 0.7 * x.sum(axis=1) / np.sqrt(20)
    y = signal[:, None] + np.sqrt(0.51) * rng.standard_normal((400, 4))
    truth = 0.5 * np.log(1 + 4 * 0.49 / 0.51)
    found = Regression(members=("linear",), folds=5).estimate(x, y)
    assert truth - 0.12 < found.lower_bound < truth + 2 * found.standard_error


def test_columns_that_vary_in_one_row_alone_break_nothing():
    rng = np.random.default_rng(10)
    single, y = np.zeros((40, 1)), rng.standard_normal((40, 2))
    single[7] = 1.0
    assert np.isfinite(Regression(members=("linear",), folds=5).estimate(single, y).nats)
    assert np.isfinite(Regression(members=("linear",), folds=5).estimate(y, np.hstack([single, y[:, :1]])).nats)
