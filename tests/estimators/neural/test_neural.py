"""The neural estimator: values against truth, what must not matter, groups, and input that cannot be used."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from mi_attention.estimators.labels import class_entropy
from mi_attention.estimators.neural import Neural
from mi_attention.estimators.neural.objective import row_terms
from mi_attention.estimators.neural.parts import CriticBatch
from mi_attention.estimators.neural.training import HeldOut
from mi_attention.interface import MIEstimator, Unit

BOUNDS = ["mine", "nwj", "infonce", "smile"]
# Of one view: what the other adds is in test_views.
QUICK: dict = {"views": ("columns",), "hidden": 16, "steps": 120, "patience": 60, "learning_rate": 5e-3, "folds": 3}


def gaussian_pair(n, rho, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    return x, rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(n)


def two_classes(n, shift, width=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    x = rng.standard_normal((n, width))
    x[:, 0] += shift * (2 * y - 1)
    return x, y


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_correlation_is_found_and_not_exceeded(bound):
    x, y = gaussian_pair(1000, 0.8)
    estimate = Neural(bound=bound, **QUICK).estimate(x, y)
    truth = -0.5 * np.log(1 - 0.64)
    assert 0.6 * truth < estimate.nats < truth + 3 * estimate.standard_error
    assert estimate.ceiling is None
    assert estimate.local.mean() == pytest.approx(estimate.nats, abs=1e-12)
    assert estimate.lower_bound == (estimate.nats if bound in ("nwj", "infonce") else None)


@pytest.mark.parametrize("critic", ["separable", "bilinear", "concatenated"])
@pytest.mark.parametrize("bound", ["mine", "infonce"])
def test_classes_are_found_by_every_critic(bound, critic, line_information):
    truth = line_information(np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    # A bilinear critic starts at 0 altogether and comes a step's length at a time.
    options = {**QUICK, "learning_rate": 2e-2} if critic == "bilinear" else QUICK
    estimate = Neural(bound=bound, critic=critic, **options).estimate(*two_classes(1000, 1.0))
    assert 0.75 * truth < estimate.nats < truth + 3 * estimate.standard_error
    assert estimate.ceiling == pytest.approx(np.log(2))
    assert estimate.local.mean() == pytest.approx(estimate.nats, abs=1e-12)


def test_what_a_linear_reader_misses():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (1500, 2))
    x = bits + 0.2 * rng.standard_normal((1500, 2))
    y = bits[:, 0] ^ bits[:, 1]
    assert Neural(**QUICK).estimate(x, y).nats > 0.5
    assert abs(Neural(critic="bilinear", **QUICK).estimate(x, y).nats) < 0.05


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("continuous", [False, True])
def test_independence_reads_about_nothing(bound, continuous):
    values = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.standard_normal(300) if continuous else rng.integers(0, 3, 300)
        values.append(Neural(bound=bound, **QUICK).estimate(rng.standard_normal((300, 3)), y).nats)
    assert abs(np.mean(values)) < 0.02
    assert max(values) < 0.05


def test_what_is_learned_by_heart_is_not_reported(line_information):
    # 30 columns and 100 training rows: these read nearly twice the truth.
    truth = line_information(np.array([-0.8, 0.8]), np.array([0.5, 0.5]))
    options = {**QUICK, "weight_decay": 0.0, "patience": 120}
    x, y = two_classes(300, 0.8, width=30)
    assert 0.02 < Neural(**options).estimate(x, y).nats < truth
    # The same rows four times, in different parts: what was learned by heart is read.
    assert Neural(**options).estimate(np.repeat(x, 4, axis=0), np.repeat(y, 4)).nats > 1.1 * truth


@pytest.mark.parametrize("bound", BOUNDS)
def test_separated_classes_reach_their_entropy_and_no_more(bound):
    y = np.arange(400) % 4
    estimate = Neural(bound=bound, **QUICK).estimate(10 * np.eye(4)[y], y)
    assert 0.8 * np.log(4) < estimate.nats <= np.log(4)
    if bound != "smile":
        assert estimate.local.mean() <= np.log(4) + 1e-12


def test_a_bound_above_the_entropy_is_capped_and_named(monkeypatch):
    module = "mi_attention.estimators.neural.training.cross_fitted_terms"
    monkeypatch.setattr(module, lambda _, units: [HeldOut(0.8, np.linspace(0.7, 0.9, len(u[0].x))) for u in units])
    y = np.arange(400) % 2
    wide = Neural(bound="smile", **QUICK).estimate(10 * np.eye(2)[y], y)
    assert wide.nats == wide.ceiling == pytest.approx(np.log(2))
    assert wide.local.mean() == pytest.approx(0.8)
    assert wide.reason == "raw value 0.8000 above H(Y)"
    lower = Neural(bound="nwj", **QUICK).estimate(10 * np.eye(2)[y], y, np.arange(400) // 2)
    assert lower.lower_bound == lower.nats == lower.ceiling


@pytest.mark.parametrize(
    ("value", "groups", "reason"),
    [
        # 300 rows in 3 parts: log 100 = 4.61
        (3.5, None, ""),
        (3.7, None, "near its ceiling log B = 4.61"),
        # 30 groups of 10, 10 a part: log 10 = 2.30
        (1.27, np.arange(300) // 10, ""),
        (1.35, np.arange(300) // 10, "near its ceiling log B = 2.30"),
    ],
)
def test_infonce_says_when_it_is_near_its_ceiling(monkeypatch, value, groups, reason):
    module = "mi_attention.estimators.neural.training.cross_fitted_terms"
    monkeypatch.setattr(module, lambda _, units: [HeldOut(value, np.full(len(u[0].x), value)) for u in units])
    x, y = gaussian_pair(300, 0.5)
    assert Neural(**QUICK).estimate(x, y, groups).reason == reason
    assert Neural(bound="nwj", **QUICK).estimate(x, y, groups).reason == ""


def test_a_ceiling_of_unequal_groups_is_reached_by_a_critic_that_knows_every_row(monkeypatch):
    found = []

    def sure(options, units):
        batch = CriticBatch(options, [views[0] for views in units])
        for m in range(len(batch)):
            keep = batch.test.valid[[m]]
            rows, at = batch.test.rows[[m]][keep][None], torch.tensor([m])
            surplus, every = batch.test.surplus[[m]][keep][None], torch.ones_like(rows, dtype=torch.bool)
            inputs = batch.pair_inputs(at, rows, rows, torch.arange(rows.shape[1]), every, True, surplus)
            scores = 100 * torch.eye(rows.shape[1], dtype=torch.float64)[None]
            terms = row_terms(options, scores, inputs)
            found.append((terms.joint - terms.log_sums + terms.totals.log())[0].numpy())
        local = np.concatenate(found)
        return [HeldOut(local.mean(), local)]

    monkeypatch.setattr("mi_attention.estimators.neural.training.cross_fitted_terms", sure)
    size = np.tile([40, 3, 5, 8, 20, 13, 2, 9, 30, 5, 7, 1, 12, 6, 25], 2)
    x, y = gaussian_pair(int(size.sum()), 0.5)
    estimate = Neural(**QUICK).estimate(x, y, np.repeat(np.arange(30), size))
    assert estimate.reason == f"near its ceiling log B = {estimate.nats:.2f}"


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize(("critic", "views"), [("separable", ("columns", "axes")), ("concatenated", ("axes",))])
def test_a_batch_gives_what_each_unit_gives(bound, continuous, critic, views):
    rng = np.random.default_rng(0)
    units = []
    for n in (120, 121, 77):
        x = rng.standard_normal((n, 4))
        y = x[:, 0] + rng.standard_normal(n)
        units.append(Unit(x, y if continuous else (y > 0).astype(int)))
    estimator = Neural(
        bound=bound, critic=critic, **{**QUICK, "views": views, "batch": 32, "steps": 50, "patience": 20}
    )
    together = estimator.estimate_many(units)
    for unit, found in zip(units, together, strict=True):
        alone = estimator.estimate(unit.x, unit.y)
        np.testing.assert_allclose(found.local, alone.local, atol=1e-4)
        assert found.nats == pytest.approx(alone.nats, abs=1e-6)
    for found, expected in zip(estimator.estimate_many(units[::-1]), together[::-1], strict=True):
        assert found.nats == pytest.approx(expected.nats, abs=1e-6)
    assert len({estimate.nats for estimate in together}) == len(units)


def test_units_of_all_kinds_keep_their_places():
    rng = np.random.default_rng(0)
    x, y = two_classes(120, 2.0)
    units = [
        Unit(rng.standard_normal((90, 1)), rng.standard_normal(90)),
        Unit(np.ones((50, 2)), np.arange(50) % 2),
        Unit(x, y),
        Unit(x[:, :1], np.zeros(120, dtype=int)),
    ]
    found = Neural(**QUICK).estimate_many(units)
    assert [estimate.n for estimate in found] == [90, 50, 120, 120]
    assert found[0].ceiling is None
    assert (found[1].nats, found[1].reason) == (0.0, "constant state")
    assert found[2].nats > 0.3
    assert (found[3].status, found[3].reason, found[3].ceiling) == ("undefined", "a single class", 0.0)


def test_several_columns_of_output_are_one_output():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 600, 2))
    y = np.stack([x[0, :, 1], x[0, :, 0]], axis=1) + 0.5 * rng.standard_normal((600, 2))
    related, unrelated = Neural(**QUICK).estimate_many(x, y)
    assert related.nats == pytest.approx(Neural(**QUICK).estimate(x[0], y).nats, abs=1e-5)
    assert related.nats > 0.8
    assert abs(unrelated.nats) < 0.05
    # Either column alone holds half of it.
    assert Neural(**QUICK).estimate(x[0], y[:, 0]).nats < 0.75 * related.nats


@pytest.mark.parametrize("bound", ["mine", "infonce"])
def test_offset_and_scale_do_not_matter(bound):
    x, y = gaussian_pair(300, 0.7)
    plain = Neural(bound=bound, **QUICK).estimate(x, y).nats
    for moved in (x * 1e6, x * 1e-6, x + 1e8):
        assert Neural(bound=bound, **QUICK).estimate(moved, 1e6 * y + 1e8).nats == pytest.approx(plain, abs=1e-3)


def test_seeds_workers_and_torch_are_left_alone():
    x, y = two_classes(200, 1.0)
    before = x.copy()
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first = Neural(**QUICK).estimate(x, y)
    with torch.inference_mode():
        second = Neural(**QUICK).estimate(x, y)
    torch.set_default_dtype(torch.float64)
    try:
        third = Neural(**QUICK).estimate(x, y)
    finally:
        torch.set_default_dtype(torch.float32)
    assert first.nats == second.nats == third.nats
    assert Neural(**QUICK, seed=1).estimate(x, y).nats != first.nats
    np.testing.assert_array_equal(x, before)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.get_num_threads() == threads


def test_containers_and_names_change_nothing():
    x, y = two_classes(100, 1.0)
    short = {**QUICK, "steps": 30}
    plain = Neural(**short).estimate(x, y).nats
    for labels in (
        y.tolist(),
        torch.from_numpy(y),
        np.array(["a", "b"])[y],
        y.astype(bool),
        y.astype(float),
        y[:, None],
    ):
        assert Neural(**short).estimate(x.tolist(), labels).nats == plain
    assert Neural(**short).estimate(torch.from_numpy(x), y).nats == plain
    assert Neural(**short).estimate(x, y, np.arange(100)).nats == pytest.approx(plain, abs=1e-5)


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("bound", ["infonce", "nwj"])
def test_rows_of_one_instance_need_groups(bound, continuous):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 10)
    x = rng.standard_normal((60, 3))[groups] + 0.1 * rng.standard_normal((600, 3))
    y = rng.standard_normal(60)[groups] if continuous else rng.permutation(np.arange(60) % 2)[groups]
    options = {**QUICK, "hidden": 32, "steps": 400, "patience": 200}
    grouped = Neural(bound=bound, **options).estimate(x, y, groups)
    assert abs(grouped.nats) < 3 * grouped.standard_error + 0.02
    assert Neural(bound=bound, **options).estimate(x, y).nats > 0.1
    renamed = Neural(bound=bound, **options).estimate(x, y, [f"text {g}" for g in groups])
    assert renamed.nats == grouped.nats


def test_groups_bring_their_information_through():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 4)
    y = rng.permutation(np.arange(150) % 2)[groups]
    x = rng.standard_normal((600, 2)) + 2 * y[:, None]
    estimate = Neural(**QUICK).estimate(x, y, groups)
    assert estimate.nats == pytest.approx(Neural(**QUICK).estimate(x, y).nats, abs=0.08)
    np.testing.assert_array_equal(estimate.groups, groups)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("continuous", [False, True])
def test_y_that_goes_with_the_size_of_a_group_is_no_information_of_noise(bound, continuous):
    groups = np.repeat(np.arange(30), np.r_[np.full(3, 60), np.full(27, 1)])
    units = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = (groups < 3).astype(int)
        units.append(
            Unit(rng.standard_normal((len(groups), 2)), y + 0.1 * rng.random(len(y)) if continuous else y, groups)
        )
    values = [estimate.local.mean() for estimate in Neural(bound=bound, **QUICK).estimate_many(units)]
    assert np.mean(values) < 0.005
    assert max(values) < 0.02


@pytest.mark.parametrize("bound", BOUNDS)
def test_few_groups_of_equal_size_that_share_x_and_y_read_no_more_than_there_is(bound):
    units = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(30) % 2)
        x = 8 * y + rng.standard_normal(30)
        groups = np.repeat(np.arange(30), 10)
        units.append(Unit((x[groups] + 0.05 * rng.standard_normal(300))[:, None], y[groups], groups))
    # Raw values, since what is reported is capped; a part is three groups.
    values = [estimate.local.mean() for estimate in Neural(bound=bound, **{**QUICK, "folds": 10}).estimate_many(units)]
    assert 0.3 < np.mean(values) < np.log(2) + 0.03


@pytest.mark.parametrize("continuous", [False, True])
def test_groups_of_unequal_size_bring_their_information_through(continuous):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(120), np.arange(120) % 9 + 1)
    x = rng.standard_normal(len(groups))
    y = x + 0.6 * rng.standard_normal(len(groups))
    y = y if continuous else (y > 0).astype(int)
    whole = Neural(**QUICK).estimate(x, y).nats
    assert Neural(**QUICK).estimate(x, y, groups).nats == pytest.approx(whole, abs=0.1 * whole + 0.02)


def test_what_is_undefined_says_why():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 2))
    cases = [
        (x[:9], np.arange(9) % 2, None, "fewer than 10 independent rows"),
        (x[:9], x[:9, 0], None, "fewer than 10 independent rows"),
        (x, np.arange(40) % 2, np.arange(40) % 9, "fewer than 10 independent rows"),
        (x, np.r_[np.zeros(38, dtype=int), 1, 1], None, "class has fewer than 3 rows"),
        (x, np.r_[np.zeros(36, dtype=int), 1, 1, 1, 1], np.r_[np.arange(38), 37, 37], "class has fewer than 3 groups"),
        (x, np.zeros(40, dtype=int), None, "a single class"),
    ]
    for states, y, groups, reason in cases:
        estimate = Neural(**QUICK).estimate(states, y, groups)
        assert (estimate.status, estimate.reason) == ("undefined", reason)
        assert np.isnan(estimate.nats)
        assert estimate.lower_bound is None
        assert estimate.ceiling == (None if y.dtype == float else pytest.approx(class_entropy(y)))


@pytest.mark.parametrize("bound", BOUNDS)
def test_constants_are_exactly_nothing(bound):
    estimator = Neural(bound=bound, **QUICK)
    state = estimator.estimate(np.full((50, 3), 1e8 + 0.1), np.arange(50) % 2)
    output = estimator.estimate(np.random.default_rng(0).standard_normal(50), np.full((50, 1), 0.1) * np.ones((50, 2)))
    for estimate, reason in ((state, "constant state"), (output, "constant output")):
        assert (estimate.nats, estimate.reason, estimate.status) == (0.0, reason, "ok")
        assert estimate.lower_bound == (0.0 if bound in ("nwj", "infonce") else None)
        assert not estimate.local.any()


def test_outliers_and_columns_that_hardly_vary_stay_finite():
    rng = np.random.default_rng(0)
    x, y = two_classes(300, 1.0, width=3)
    x[:, 1] = 0.0
    x[7, 1] = 1e12
    x[:, 2] = rng.standard_cauchy(300) ** 3
    for bound in BOUNDS:
        estimate = Neural(bound=bound, **QUICK).estimate(x, y)
        assert np.isfinite(estimate.local).all()
        assert estimate.nats > 0.1


def test_bad_input_is_named():
    x, y = two_classes(50, 1.0)
    broken = x.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        Neural().estimate(broken, y)
    with pytest.raises(ValueError, match=r"y must be \(50,\)"):
        Neural().estimate(x, y[:-1])
    with pytest.raises(ValueError, match="y is NaN or infinite at row 0"):
        Neural().estimate(x, np.r_[np.nan, np.random.default_rng(0).standard_normal(49)])
    for options, message in (
        ({"bound": "dv"}, "bound must be one of mine, nwj, infonce, smile, got 'dv'"),
        ({"critic": "linear"}, "critic must be one of"),
        ({"folds": 2}, "folds must be an integer of at least 3, got 2"),
        ({"batch": 1}, "batch must be"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"weight_decay": -1.0}, "weight_decay must be at least 0"),
        ({"average_rate": 0.0}, r"average_rate must be in \(0, 1\]"),
        ({"clip": np.inf}, "clip must be above 0 and finite"),
    ):
        with pytest.raises(ValueError, match=message):
            Neural(**options)


def test_it_follows_the_protocol_and_says_how_it_was_made():
    assert isinstance(Neural(), MIEstimator)
    assert Neural() == Neural(seed=0)
    made = {Neural(bound=bound).signature for bound in BOUNDS} | {Neural(clip=1.0, bound="smile").signature}
    assert len(made) == 5
    quick = Neural(bound="mine", **QUICK)
    assert quick.estimate(*two_classes(60, 1.0)).signature == quick.signature


def test_torch_is_loaded_by_the_first_estimate_only():
    code = "import sys; from mi_attention.estimators.neural import Neural; Neural(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
