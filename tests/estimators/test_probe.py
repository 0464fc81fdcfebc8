"""The probe against known information, and its promises."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import kendalltau

from mi_attention.estimators import Probe, SmallSampleWarning, interval, level_standard_error
from mi_attention.estimators.folds import rare_class
from mi_attention.estimators.levels import corrected_level, gate
from mi_attention.estimators.members import DISCRIMINANTS
from mi_attention.interface import MIEstimator, Unit
from tests.benchmarks.designs import draw


@pytest.mark.parametrize("classes", [2, 4])
def test_order_and_level_on_hidden_gaussian_positions(hidden_positions, classes):
    x, y, truth = hidden_positions(classes)
    found = Probe().estimate_many(x, y)
    nats = np.array([estimate.nats for estimate in found])
    bound = np.array([estimate.lower_bound for estimate in found])
    assert kendalltau(nats, truth).statistic >= 0.95
    assert kendalltau(bound, truth).statistic >= 0.95
    assert np.sqrt(np.mean((nats - truth) ** 2)) <= 0.04
    # The held-out value is below the truth, up to its own error.
    error = np.array([estimate.standard_error for estimate in found])
    assert (bound <= truth + 3 * error).all()
    assert all(estimate.nats <= estimate.ceiling for estimate in found)
    assert isinstance(Probe(), MIEstimator)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_order_and_level_on_fresh_seeds(hidden_positions, classes, seed):
    x, y, truth = hidden_positions(classes, seed=seed)
    nats = np.array([estimate.nats for estimate in Probe().estimate_many(x, y)])
    assert kendalltau(nats, truth).statistic >= 0.95
    assert np.sqrt(np.mean((nats - truth) ** 2)) <= 0.04


@pytest.mark.slow
def test_interval_covers_the_truth(hidden_positions):
    inside = []
    for seed in range(5):
        x, y, truth = hidden_positions(2, seed=seed)
        for estimate, t in zip(Probe().estimate_many(x, y), truth, strict=True):
            inside.append(abs(estimate.nats - t) <= 1.96 * level_standard_error(estimate))
    assert np.mean(inside) >= 0.9


def test_a_linear_reader_sees_nothing_of_xor_and_the_default_nearly_all(xor_states):
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    for _ in range(4):
        states = xor_states(y, 64, rng)
        estimate = Probe(members=DISCRIMINANTS).estimate(states, y)
        assert abs(estimate.nats) <= 0.01
        assert abs(estimate.lower_bound) <= max(3 * estimate.standard_error, 2e-3)
        assert Probe().estimate(states, y).lower_bound > 0.3


@pytest.mark.parametrize(("n", "width", "prior"), [(600, 64, [0.5, 0.5]), (800, 32, [0.2, 0.8]), (600, 32, [0.25] * 4)])
def test_independence_reads_nothing_on_average(n, width, prior):
    rng = np.random.default_rng(0)
    units = [Unit(x=rng.standard_normal((n, width)), y=rng.choice(len(prior), n, p=prior)) for _ in range(16)]
    found = Probe().estimate_many(units)
    assert abs(np.mean([estimate.nats for estimate in found])) <= 0.01
    bounds = np.array([estimate.lower_bound for estimate in found])
    # With features from fits that saw the nest it was .0025 and more over its error, whatever the number of units.
    assert bounds.mean() <= 0.001 + 2 * bounds.std(ddof=1) / np.sqrt(len(bounds))
    # Signed and hardly ever tied.
    assert len({estimate.lower_bound for estimate in found}) == 16
    assert min(estimate.lower_bound for estimate in found) < 0


@pytest.mark.parametrize("shape", [(60, 64), (60, 200), (90, 128), (100, 96)])
def test_fewer_rows_than_columns_or_about_as_many(shape):
    # The leading eigenvalues of the differences of two classes are one another's equals there.
    for seed in range(3):
        x, y = np.random.default_rng(seed).standard_normal(shape), np.arange(shape[0]) % 2
        found = Probe().estimate(x, y)
        assert found.status == "ok"
        assert abs(found.nats) < 0.3
        assert Probe().estimate(x + 9 * y[:, None], y).nats > 0.5


def check_order_and_level(design, classes, least_tau, most_error):
    made = draw(design, classes=classes, seed=206)
    found = Probe(seed=206).estimate_many(made.x, made.y, made.groups)
    nats = np.array([estimate.nats for estimate in found])
    bounds = [interval(estimate) for estimate in found]
    assert kendalltau(nats, made.truth).statistic >= least_tau
    assert np.sqrt(np.mean((nats - made.truth) ** 2)) <= most_error
    assert np.mean([b.low <= truth <= b.high for b, truth in zip(bounds, made.truth, strict=True)]) >= 0.75
    assert (nats <= made.entropy + 1e-9).all()


def test_order_and_level_where_half_of_the_positions_differ_in_no_mean():
    check_order_and_level("mixed", 2, 0.9, 0.04)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "classes", "least_tau", "most_error"),
    [("mixed", 4, 0.9, 0.05), ("heavy", 2, 0.9, 0.04), ("lowrank", 2, 0.9, 0.04), ("all4", 4, 0.88, 0.09)],
)
def test_order_and_level_on_further_designs(design, classes, least_tau, most_error):
    check_order_and_level(design, classes, least_tau, most_error)


def test_batch_and_single_give_identical_values():
    rng = np.random.default_rng(0)
    units = []
    for n, width, classes in ((200, 8, 2), (150, 8, 2), (200, 8, 3), (90, 5, 2), (200, 8, 2)):
        y = rng.integers(0, classes, n)
        units.append(Unit(x=rng.standard_normal((n, width)) + y[:, None], y=y, groups=np.arange(n) // 2))
    units.append(Unit(x=np.ones((50, 8)), y=np.arange(50) % 2))
    units.append(Unit(x=rng.standard_normal((50, 8)), y=np.zeros(50, dtype=int)))
    for unit, together in zip(units, Probe(seed=3).estimate_many(units), strict=True):
        alone = Probe(seed=3).estimate(unit.x, unit.y, unit.groups)
        np.testing.assert_allclose(
            [alone.nats, alone.standard_error], [together.nats, together.standard_error], atol=1e-12
        )
        np.testing.assert_allclose(alone.local, together.local, atol=1e-10)
        assert alone.status == together.status


def test_dense_form_is_the_list_of_units():
    rng = np.random.default_rng(0)
    x, y, groups = rng.standard_normal((3, 120, 4)), rng.integers(0, 2, 120), np.arange(120) // 3
    dense = Probe().estimate_many(x, y, groups)
    listed = Probe().estimate_many([Unit(x=unit, y=y, groups=groups) for unit in x])
    assert [estimate.nats for estimate in dense] == [estimate.nats for estimate in listed]


@pytest.mark.parametrize("classes", [2, 3])
def test_mean_of_local_is_the_lower_bound_and_informativeness_is_a_divergence(classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, 400)
    x = rng.standard_normal((400, 6)) + y[:, None]
    estimate = Probe().estimate(x, y)
    assert estimate.local.mean() == estimate.lower_bound
    assert (estimate.informativeness >= -1e-12).all()
    q = Probe().cross_fitted_probabilities(x, y)
    prior = np.bincount(y) / 400
    np.testing.assert_allclose(q.sum(axis=1), 1)
    np.testing.assert_allclose(estimate.local, np.log(q[np.arange(400), y] / prior[y]), atol=1e-10)
    np.testing.assert_allclose(estimate.informativeness, (q * np.log(q / prior)).sum(axis=1), atol=1e-10)
    # H(Y) minus the cross-entropy, with H(Y) of the empirical distribution.
    assert estimate.lower_bound == pytest.approx(estimate.ceiling + np.log(q[np.arange(400), y]).mean(), abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_offset_and_scale_of_states_change_nothing(scale, offset):
    rng = np.random.default_rng(0)
    y = np.arange(500) % 2
    x = rng.standard_normal((500, 8)) + 0.5 * y[:, None]
    if scale * 1e9 < offset:
        pytest.skip("float64 keeps no digits of this signal beside this offset")
    plain = Probe().estimate(x, y)
    moved = Probe().estimate(x * scale + offset, y)
    assert moved.nats == pytest.approx(plain.nats, abs=1e-6)


def test_scale_of_single_columns_changes_nothing():
    rng = np.random.default_rng(0)
    y = np.arange(500) % 2
    x = rng.standard_normal((500, 8)) + 0.5 * y[:, None]
    assert Probe().estimate(x * np.logspace(-6, 6, 8), y).nats == pytest.approx(Probe().estimate(x, y).nats, abs=1e-10)


def test_order_of_rows_matters_no_more_than_the_folds():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    x = rng.standard_normal((1000, 16)) + 0.3 * y[:, None]
    order = rng.permutation(1000)
    plain, shuffled, seeded = Probe().estimate(x, y), Probe().estimate(x[order], y[order]), Probe(seed=1).estimate(x, y)
    assert shuffled.nats == pytest.approx(plain.nats, abs=plain.standard_error)
    assert seeded.nats == pytest.approx(plain.nats, abs=plain.standard_error)
    assert seeded.nats != plain.nats
    assert Probe().estimate(x, y).nats == plain.nats


def test_renaming_classes_changes_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    x = rng.standard_normal((300, 5)) + np.eye(5)[y]
    renamed = Probe().estimate(x, np.array(["z", "a", "m"])[y])
    assert renamed.nats == pytest.approx(Probe().estimate(x, y).nats, abs=1e-10)


def test_more_noise_means_less():
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 2
    signal = np.outer(2.0 * y - 1, np.r_[1.0, np.zeros(15)])
    noise = rng.standard_normal((1500, 16))
    values = [Probe().estimate(signal + s * noise, y).nats for s in (0.5, 1, 2, 4, 8)]
    assert values == sorted(values, reverse=True)


def test_a_state_that_determines_the_class_reads_its_entropy():
    y = np.arange(1000) % 4
    estimate = Probe().estimate(np.eye(4)[y], y)
    assert estimate.ceiling == pytest.approx(np.log(4))
    assert estimate.nats <= estimate.ceiling
    # One row in n is doubted: the smoothing costs 1/n of the entropy's share.
    assert estimate.lower_bound == pytest.approx(np.log(4), abs=2e-3)


def test_one_contradicting_row_costs_no_more_than_the_smoothing_allows():
    y = np.arange(400) % 2
    x = y.astype(float)
    y = y.copy()
    y[10] = 1 - y[10]
    estimate = Probe().estimate(x, y)
    assert estimate.local.min() >= np.log(1 / 400) - 1e-9
    assert estimate.lower_bound > 0.6


def test_fresh_rows_confirm_the_held_out_value():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    x = rng.standard_normal((3000, 10)) * 7 + 100 + 5.0 * np.eye(10)[y]
    probe = Probe().fit(x[:1000], y[:1000])
    fresh = probe.support(x[1000:], y[1000:])
    inside = Probe().estimate(x[:1000], y[:1000])
    assert abs(fresh.mean() - inside.lower_bound) < 4 * inside.standard_error
    np.testing.assert_allclose(np.exp(probe.log_probabilities(x)).sum(axis=1), 1)
    assert (probe.informativeness(x) >= -1e-12).all()
    names = np.array(["a", "b", "c"])
    named = Probe().fit(x[:1000], names[y[:1000]])
    np.testing.assert_allclose(named.support(x[1000:], names[y[1000:]]), fresh, atol=1e-9)
    with pytest.raises(ValueError, match="not trained on"):
        named.support(x[:2], ["a", "zebra"])
    with pytest.raises(ValueError, match="3 columns but the probe was fitted on 10"):
        probe.log_probabilities(x[:, :3])


def test_a_probe_of_a_constant_state_is_the_prior():
    y = np.array([0, 1, 1, 1] * 10)
    probe = Probe().fit(np.ones((40, 2)), y)
    np.testing.assert_allclose(np.exp(probe.log_probabilities(np.zeros((3, 2)))), [[0.25, 0.75]] * 3)
    np.testing.assert_allclose(Probe().cross_fitted_probabilities(np.ones((40, 2)), y), [[0.25, 0.75]] * 40)


def test_undefined_is_a_result_with_a_reason():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3))
    single = Probe().estimate(x, np.zeros(40, dtype=int))
    assert (single.status, single.reason, single.ceiling) == ("undefined", "a single class", 0.0)
    assert np.isnan(single.nats)
    rare = Probe().estimate(x, np.array([1] + [0] * 39))
    assert (rare.status, rare.reason) == ("undefined", rare_class(None))
    grouped = Probe().estimate(x, np.array([1] * 4 + [0] * 36), np.repeat(np.arange(10), 4))
    assert (grouped.status, grouped.reason[:29]) == ("undefined", "class has fewer than 2 groups")
    with pytest.raises(ValueError, match="a single class"):
        Probe().fit(x, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match="fewer than 2 rows"):
        Probe().cross_fitted_probabilities(x, np.array([1] + [0] * 39))


def test_few_members_of_a_class_still_count():
    rng = np.random.default_rng(0)
    y = np.array([1] * 3 + [0] * 97)
    x = rng.standard_normal((100, 3)) + 3 * y[:, None]
    assert Probe().estimate(x, y).lower_bound > 0.02
    with pytest.warns(SmallSampleWarning, match="permutation test"):
        Probe().estimate(x[:12], y[:12])


def test_fewer_rows_than_ten_are_undefined_since_noise_can_separate_them():
    rng = np.random.default_rng(0)
    for rows, classes in ((4, 2), (6, 3), (9, 2)):
        found = Probe().estimate(rng.standard_normal((rows, 3)), np.arange(rows) % classes)
        assert found.status == "undefined"
        assert found.reason == "fewer than 10 independent rows"
    grouped = Probe().estimate(rng.standard_normal((40, 3)), np.arange(40) % 2, np.arange(40) // 5)
    assert grouped.reason == "fewer than 10 independent rows"
    assert grouped.ceiling == pytest.approx(np.log(2))


def test_hyper_parameters_are_checked_and_named():
    with pytest.raises(ValueError, match="folds"):
        Probe(folds=1)
    with pytest.raises(ValueError, match="members"):
        Probe(members=("quadratic",))
    with pytest.raises(ValueError, match="at least one linear"):
        Probe(members=("gaussian",))
    assert Probe(seed=4).signature == "probe|members=linear+smooth+sharp+plain+gaussian+polynomial|folds=10|seed=4"


def test_gate_and_level_by_hand():
    assert gate(-1.0, 0.1) == 0.0
    assert gate(0.2, 0.1) == pytest.approx(0.5)  # z = 2
    assert gate(0.4, 0.1) == pytest.approx(16 / 17)  # z = 4
    assert gate(0.2, 0.0) == 1.0
    # mid = .3, mid2 = .25, r = .9**-2 = 1.2346, r / (4 - r) = .44643: .3 + .44643 * .05 = .32232; gate .5 of the way
    level = corrected_level(
        held_out=0.2, in_sample=0.4, held_out_half=0.1, in_sample_half=0.4, folds=10, standard_error=0.1, ceiling=0.6
    )
    assert level == pytest.approx(0.2 + 0.5 * 0.12232, abs=1e-5)
    capped = corrected_level(
        held_out=0.2, in_sample=0.4, held_out_half=0.1, in_sample_half=0.4, folds=2, standard_error=0.0, ceiling=0.25
    )
    assert capped == 0.25


def test_correction_is_added_to_the_error():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    estimate = Probe().estimate(rng.standard_normal((300, 40)) + 0.3 * y[:, None], y)
    expected = np.hypot(estimate.standard_error, 0.7 * (estimate.nats - estimate.lower_bound))
    assert level_standard_error(estimate) == pytest.approx(expected)
    assert np.isnan(level_standard_error(Probe().estimate(np.ones(5), np.ones(5))))


def test_states_larger_than_the_memory_used(tmp_path):
    n, width = 50_000, 256
    path = tmp_path / "states.dat"
    states = np.memmap(path, dtype=np.float32, mode="w+", shape=(n, width))
    rng = np.random.default_rng(0)
    groups = np.arange(n) // 20
    y = (groups % 2).astype(np.int64)
    for start in range(0, n, 10_000):
        states[start : start + 10_000] = rng.standard_normal((10_000, width), dtype=np.float32)
        states[start : start + 10_000, 0] += 0.5 * y[start : start + 10_000]
    states.flush()
    opened = np.memmap(path, dtype=np.float32, mode="r", shape=(n, width))
    tracemalloc.start()
    estimate = Probe().estimate(opened, y, groups)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Means 0.5 apart with unit variance: 0.0306 nats by quadrature (conftest's information_on_a_line).
    assert estimate.nats == pytest.approx(0.0306, abs=0.005)
    # Float64 states would take 102 MB; what grows with n is some 500 numbers a row, whatever the width:
    # what 57 fits say of it, and its monomials.
    assert peak < 8 * n * 600


def test_blocks_do_not_change_the_value(monkeypatch):
    rng = np.random.default_rng(0)
    groups = np.arange(900) // 3
    y = (groups % 3 == 0).astype(int)
    x = (rng.standard_normal((900, 7)) + 0.5 * y[:, None]).astype(np.float32)
    whole = Probe().estimate(x, y, groups)
    monkeypatch.setattr("mi_attention.estimators.samples.BLOCK_NUMBERS", 500)
    monkeypatch.setattr("mi_attention.estimators.rows.KEPT_NUMBERS", 0)
    pieces = Probe().estimate(x, y, groups)
    np.testing.assert_allclose(pieces.local, whole.local, atol=1e-9)
    assert pieces.nats == pytest.approx(whole.nats, abs=1e-10)


def test_the_same_seed_gives_the_same_values_to_the_bit():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    x = rng.standard_normal((400, 12))
    x[:, 0] += y
    x[:, 1] *= 1 + y
    first, second = (Probe(seed=5).estimate(x, y) for _ in range(2))
    assert (first.nats, first.lower_bound, first.standard_error) == (
        second.nats,
        second.lower_bound,
        second.standard_error,
    )
    np.testing.assert_array_equal(first.local, second.local)
    assert Probe(seed=6).estimate(x, y).nats != first.nats
