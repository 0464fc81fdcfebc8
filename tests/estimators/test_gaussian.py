import numpy as np
import pytest

from mi_attention.estimators.canonical import held_out_log_ratio
from mi_attention.estimators.elliptical import chance_spread, gaussian_information
from mi_attention.estimators.gaussian import Gaussian
from mi_attention.estimators.intervals import interval
from mi_attention.interface import Unit


def pair(rho, n, rng, width=1, other=1):
    """x (n, width), y (n, other), one canonical correlation rho: I = −½ log(1 − rho²)."""
    x, y = rng.standard_normal((n, width)), rng.standard_normal((n, other))
    y[:, 0] = rho * x[:, 0] + np.sqrt(1 - rho**2) * y[:, 0]
    return x, y, -0.5 * np.log(1 - rho**2)


def test_one_column_each_is_the_closed_form():
    rng = np.random.default_rng(0)
    x, y, truth = pair(0.8, 5000, rng)
    found = Gaussian().estimate(x, y)
    assert truth == pytest.approx(0.5108, abs=1e-4)
    assert abs(found.nats - truth) < 3 * found.standard_error
    # By hand from the sample correlation, less the known bias of about 1/2n.
    rho = np.corrcoef(x[:, 0], y[:, 0])[0, 1]
    assert found.nats == pytest.approx(-0.5 * np.log(1 - rho**2) - 1 / 10_000, abs=1e-5)
    assert found.local.mean() == pytest.approx(found.lower_bound, abs=1e-12)


@pytest.mark.parametrize(("n", "width", "other"), [(200, 1, 1), (200, 40, 1), (150, 20, 10)])
def test_the_level_is_unbiased_where_the_plug_in_is_not(n, width, other):
    rng = np.random.default_rng(1)
    level, plain = [], []
    for _ in range(120):
        x, y, truth = pair(0.6, n, rng, width, other)
        level.append(gaussian_information(x, y) - truth)
        plain.append(gaussian_information(x, y, corrected=False) - truth)
    error = np.std(level) / np.sqrt(len(level))
    assert abs(np.mean(level)) < 3 * error
    assert np.mean(plain) > 0.5 * width * other / n * 0.9


def test_held_out_is_below_the_truth_and_about_zero_at_independence():
    rng = np.random.default_rng(2)
    x, y, truth = pair(0.6, 600, rng, 64, 2)
    low = [Gaussian(seed=seed).estimate(x, y).lower_bound for seed in range(3)]
    assert 0.4 * truth < np.mean(low) < truth + 0.02
    nothing = [Gaussian().estimate(rng.standard_normal((600, 64)), y).lower_bound for _ in range(10)]
    assert abs(np.mean(nothing)) < 0.006
    assert min(nothing) > -0.01
    levels = [Gaussian().estimate(rng.standard_normal((600, 64)), y).nats for _ in range(10)]
    assert abs(np.mean(levels)) < 0.02


def test_more_columns_than_rows_keep_the_held_out_value():
    rng = np.random.default_rng(3)
    x, y, truth = pair(0.95, 150, rng, 200, 1)
    x[:, 0] *= 20
    found = Gaussian().estimate(x, y)
    assert found.nats == found.lower_bound
    assert 0.2 * truth < found.nats < truth + 3 * found.standard_error


@pytest.mark.parametrize("scores", ["raw", "ranks"])
def test_symmetric_and_blind_to_affine_maps(scores):
    rng = np.random.default_rng(4)
    x, y, _ = pair(0.7, 400, rng, 3, 2)
    estimator = Gaussian(scores=scores)
    plain = estimator.estimate(x, y)
    assert estimator.estimate(y, x).nats == pytest.approx(plain.nats, abs=1e-10)
    assert estimator.estimate(y, x).lower_bound == pytest.approx(plain.lower_bound, abs=1e-10)
    moved = estimator.estimate(x * [1e6, -1.0, 1e-3] + [1e8, 0.0, 3.0], y)
    assert moved.nats == pytest.approx(plain.nats, abs=1e-6)
    assert moved.lower_bound == pytest.approx(plain.lower_bound, abs=1e-6)
    rows = rng.permutation(400)
    assert estimator.estimate(x[rows], y[rows]).nats == pytest.approx(plain.nats, abs=1e-10)
    if scores == "raw":
        mixed = estimator.estimate(x @ rng.standard_normal((3, 3)), y)
        assert mixed.nats == pytest.approx(plain.nats, abs=1e-10)


def test_ranks_undo_monotone_maps_and_raw_columns_do_not():
    rng = np.random.default_rng(5)
    x, y, truth = pair(0.8, 3000, rng)
    bent = np.exp(3 * x)
    ranks = Gaussian(scores="ranks")
    assert ranks.estimate(bent, y**3).nats == pytest.approx(ranks.estimate(x, y).nats, abs=1e-12)
    assert abs(ranks.estimate(bent, y**3).nats - truth) < 0.04
    assert Gaussian().estimate(bent, y**3).nats < truth / 2


def test_blind_to_a_donut():
    rng = np.random.default_rng(6)
    angle = rng.uniform(0, 2 * np.pi, 3000)
    found = Gaussian(scores="ranks").estimate(np.cos(angle), np.sin(angle))
    assert abs(found.nats) < 0.01


def test_groups_keep_copies_from_reading_as_information():
    # 40 instances of 25 nearly equal rows; x and y independent across instances.
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(40), 25)
    values = []
    for _ in range(8):
        x = rng.standard_normal((40, 10))[groups] + 0.01 * rng.standard_normal((1000, 10))
        y = rng.standard_normal(40)[groups] + 0.01 * rng.standard_normal(1000)
        values.append([Gaussian().estimate(x, y, g).lower_bound for g in (groups, None)])
    grouped, ungrouped = np.mean(values, axis=0)
    assert grouped < 0.05
    assert ungrouped > 0.1


def test_what_has_no_finite_value_is_undefined_and_bad_input_named():
    rng = np.random.default_rng(8)
    x = rng.standard_normal((200, 2))
    exact = Gaussian().estimate(x, x[:, 0] - 2 * x[:, 1])
    assert exact.status == "undefined"
    assert "determines" in exact.reason
    assert Gaussian().estimate(np.ones((200, 2)), x[:, 0]).reason == "constant state"
    assert Gaussian().estimate(x, np.ones(200)).reason == "constant output"
    assert Gaussian().estimate(np.hstack([x, x]), x[:, :1] + rng.standard_normal((200, 1))).status == "ok"
    with pytest.raises(ValueError, match="y holds 2 classes and Gaussian needs a continuous output; use Probe"):
        Gaussian().estimate(x, np.arange(200) % 2)
    with pytest.raises(ValueError, match="use Probe or Ross"):
        Gaussian().estimate(x, np.array(["a", "b"] * 100))
    with pytest.raises(ValueError, match="scores must be"):
        Gaussian(scores="rank")
    with pytest.raises(ValueError, match="row 3"):
        Gaussian().estimate(np.where(np.arange(200)[:, None] == 3, np.nan, x), x[:, 0])


def test_many_units_with_outputs_of_several_columns():
    rng = np.random.default_rng(9)
    units = [Unit(*pair(0.5, 100, rng, 3, 2)[:2]) for _ in range(2)]
    before = units[0].x.copy()
    found = Gaussian().estimate_many(units)
    assert [e.nats for e in found] == [Gaussian().estimate(u.x, u.y).nats for u in units]
    assert (units[0].x == before).all()


@pytest.mark.parametrize(("n", "width", "other", "draws"), [(60, 4, 3, 40), (150, 60, 20, 8), (400, 128, 16, 4)])
def test_chance_in_many_columns_is_no_bound(n, width, other, draws):
    # Maps or correlations that saw a held-out row read .044, 1.2 and .28 here.
    rng = np.random.default_rng(20)
    found = [
        Gaussian().estimate(rng.standard_normal((n, width)), rng.standard_normal((n, other))) for _ in range(draws)
    ]
    low = [each.lower_bound for each in found]
    assert np.mean(low) < 2 * np.std(low) / np.sqrt(draws)
    assert np.mean(low) > -0.05
    inside = [interval(each).low <= 0 <= interval(each).high for each in found]
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize(("instances", "rows", "noise"), [(60, 6, 0.1), (60, 6, 1.0), (200, 6, 0.1)])
def test_rows_of_an_instance_bias_neither_nothing_nor_something(instances, rows, noise):
    rng = np.random.default_rng(21)
    groups = np.repeat(np.arange(instances), rows)
    correlation = 0.9 / (1 + noise**2)
    truth = -0.5 * np.log(1 - correlation**2)
    nothing, something = [], []
    for _ in range(40):
        x, free = rng.standard_normal((instances, 4)), rng.standard_normal((instances, 3))
        bound = free.copy()
        bound[:, 0] = 0.9 * x[:, 0] + np.sqrt(0.19) * free[:, 0]
        x, free, bound = (
            each[groups] + noise * rng.standard_normal((len(groups), each.shape[1])) for each in (x, free, bound)
        )
        nothing.append(Gaussian().estimate(x, free, groups).nats)
        something.append(Gaussian().estimate(x, bound, groups).nats)
    assert abs(np.mean(nothing)) < 3 * np.std(nothing) / np.sqrt(40) + 0.005
    assert abs(np.mean(something) - truth) < 3 * np.std(something) / np.sqrt(40) + 0.01


def test_the_spread_of_chance_is_that_of_wilks():
    rng = np.random.default_rng(22)
    for n, width, other in ((60, 4, 3), (200, 20, 2)):
        values = [
            gaussian_information(rng.standard_normal((n, width)), rng.standard_normal((n, other))) for _ in range(400)
        ]
        assert np.std(values) == pytest.approx(chance_spread(n, width, other), rel=0.12)
        assert chance_spread(n, width, other) == pytest.approx(chance_spread(n, other, width), rel=1e-9)


def test_a_held_out_row_touches_nothing_of_what_judges_it():
    rng = np.random.default_rng(23)
    x, y, _ = pair(0.7, 200, rng, 6, 3)
    fold = np.arange(200) % 10
    nest = fold % 5
    one = held_out_log_ratio(x, y, fold, nest, 200)
    moved = x.copy()
    moved[0], moved[5] = 50, -50  # rows of folds 0 and 5, which share a nest
    other = held_out_log_ratio(moved, y, fold, nest, 200)
    # Row 10 is of fold 0 too, row 15 of fold 5; row 10's directions come from fold 5 as well.
    alone = x.copy()
    alone[0] = 50
    np.testing.assert_allclose(held_out_log_ratio(alone, y, fold, nest, 200)[10::10], one[10::10], atol=1e-12)
    assert abs(other[10] - one[10]).max() > 1e-6
    with pytest.raises(ValueError, match="folds must be at least 3"):
        Gaussian(folds=2)
