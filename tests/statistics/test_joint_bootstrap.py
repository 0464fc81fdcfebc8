from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from mi_attention.measures import kendall_tau_b
from mi_attention.statistics import (
    bootstrap_means,
    crossed_interval,
    joint_bootstrap_interval,
    position_interval,
    seed_interval,
    shrink_profile,
)


def test_parts_by_hand() -> None:
    # Estimates 1, 3: A = 2/2 = 1. Resamples (0, 2), (2, 4), (1, 3) and the second run 2 higher always: the mean over
    # runs is 1, 3, 2 with variance 1 = B; no difference between runs changes over resamples, D = 0. SE² = 2.
    found = joint_bootstrap_interval([1.0, 3.0], [[0.0, 2.0, 1.0], [2.0, 4.0, 3.0]], n_instances=11)
    assert (found.seed_part, found.instance_part, found.residual_part) == pytest.approx((1, 1, 0))
    assert found.standard_error == pytest.approx(np.sqrt(2))
    # Satterthwaite's 4 / (1/1 + 1/10) = 3.64 would give 2.89 · √2 = 4.1, narrower than t with 1 degree alone (12.7).
    assert found.degrees_of_freedom == 1
    assert found.estimate == 2


def test_mean_of_instances_is_the_crossed_interval() -> None:
    # For a plain mean of values both procedures estimate the same variance.
    values = np.random.default_rng(0).standard_normal((6, 1)) + np.random.default_rng(1).standard_normal((6, 200))
    found = [bootstrap_means(lambda m: m[:, 0], row[None], rng=5, n_resamples=4000) for row in values]
    joint = joint_bootstrap_interval(
        [interval.estimate for interval in found], [interval.resampled for interval in found], n_instances=200
    )
    crossed = crossed_interval(values)
    assert joint.estimate == pytest.approx(crossed.estimate)
    assert joint.seed_part == pytest.approx(crossed.seed_part)
    assert joint.instance_part == pytest.approx(crossed.instance_part, rel=0.1)
    assert joint.standard_error == pytest.approx(crossed.standard_error, rel=0.01)


def test_own_error_is_not_counted_twice() -> None:
    # Errors of the runs' own only: B − D is about 0, and the interval about that over seeds.
    rng = np.random.default_rng(2)
    estimates = rng.standard_normal(8)
    draws = estimates[:, None] + rng.standard_normal((8, 4000))
    found = joint_bootstrap_interval(estimates, draws, n_instances=100)
    assert found.instance_part == pytest.approx(found.residual_part, rel=0.1)
    assert found.standard_error == pytest.approx(seed_interval(estimates).standard_error, rel=0.05)


def test_position_interval_of_one_run_and_of_many(simulate: ModuleType) -> None:
    local, attention = simulate.estimated_profiles(np.random.default_rng(3), 4, 10, 50, 0.5, 0.5)
    attention = np.swapaxes(attention, 1, 2)
    before = local.copy()
    found = position_interval(local, attention, rng=1, n_resamples=200)
    taus = [kendall_tau_b(a.mean(axis=1), m.mean(axis=1)).values[0] for m, a in zip(local, attention, strict=True)]
    assert found.estimate == pytest.approx(np.mean(taus))
    assert (found.n_seeds, found.n_instances, found.scope) == (4, 50, "seeds crossed with instances")
    assert found == position_interval(local, attention, rng=1, n_resamples=200)
    np.testing.assert_array_equal(local, before)
    one = position_interval(local[:1], attention[:1], rng=1, n_resamples=200)
    assert one.scope == "instances of one run"
    assert one.ci_high - one.estimate == pytest.approx(stats.t.ppf(0.975, 49) * one.standard_error)


def test_undefined_runs_are_left_out(simulate: ModuleType) -> None:
    local, attention = simulate.estimated_profiles(np.random.default_rng(4), 3, 8, 40, 0.5, 0.5)
    attention = np.swapaxes(attention, 1, 2)
    attention[1] = 0.125
    found = position_interval(local, attention, rng=1, n_resamples=100)
    assert (found.n_seeds, found.n_seeds_left_out) == (2, 1)
    nothing = position_interval(local[1:2], attention[1:2], rng=1, n_resamples=100)
    assert nothing.reason == "no seed with a defined value"
    assert np.isnan(nothing.ci_low)


def test_shrunken_profiles_keep_order_and_noise() -> None:
    rng = np.random.default_rng(5)
    profile = rng.standard_normal(15)
    local = profile[:, None] + 6 * rng.standard_normal((15, 40))
    local[3, :5] = np.nan
    shrunk = shrink_profile(local)
    order = np.argsort(np.nanmean(local, axis=1))
    np.testing.assert_array_equal(np.argsort(np.nanmean(shrunk, axis=1)), order)
    np.testing.assert_allclose(np.nanvar(shrunk, axis=1), np.nanvar(local, axis=1))
    assert np.nanmean(shrunk, axis=1).std() < np.nanmean(local, axis=1).std()
    # A profile without error is left as it is, one of pure noise keeps next to no spread but its order.
    exact = np.repeat(profile[:, None], 5, axis=1)
    np.testing.assert_allclose(shrink_profile(exact), exact)
    noise = np.random.default_rng(0).standard_normal((6, 30))
    np.testing.assert_array_equal(np.argsort(shrink_profile(noise).mean(axis=1)), np.argsort(noise.mean(axis=1)))


def test_shrunken_profiles_give_the_right_standard_error() -> None:
    rng = np.random.default_rng(6)
    profile = rng.standard_normal(20)
    attention = 0.8 * profile + 0.6 * rng.standard_normal(20)

    def tau(profiles: np.ndarray) -> np.ndarray:
        return kendall_tau_b(np.broadcast_to(attention, profiles.shape), profiles).values

    def draw() -> np.ndarray:
        return profile[:, None] + np.sqrt(30) * rng.standard_normal((20, 30))

    true = tau(np.array([draw().mean(axis=1) for _ in range(2000)])).std()
    plain, shrunk = [], []
    for _ in range(60):
        local = draw()
        plain.append(bootstrap_means(tau, local, rng=1, n_resamples=200).standard_error ** 2)
        shrunk.append(bootstrap_means(tau, shrink_profile(local), rng=1, n_resamples=200).standard_error ** 2)
    assert np.sqrt(np.mean(plain)) < 0.93 * true
    assert np.sqrt(np.mean(shrunk)) == pytest.approx(true, rel=0.07)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [[1.0, 2.0], [1.0, 2.0]], 10, 0.95), r"\(S, R\)"),
        (([np.inf], [[1.0, 2.0]], 10, 0.95), "infinity"),
        (([1.0], [[1.0, 2.0]], 1, 0.95), "n_instances is 1"),
        (([1.0], [[1.0, 2.0]], 10, 95), "level is 95"),
    ],
)
def test_bad_input(arguments: tuple[object, ...], message: str) -> None:
    estimates, resampled, n, level = arguments
    with pytest.raises(ValueError, match=message):
        joint_bootstrap_interval(estimates, resampled, n_instances=n, level=level)
    with pytest.raises(ValueError, match=r"\(S, U, N\)"):
        position_interval(np.ones((2, 3)), np.ones((2, 3)), rng=0)


def test_many_undefined_resamples_give_no_interval() -> None:
    draws = np.random.default_rng(7).standard_normal((2, 100))
    draws[0, :10] = np.nan
    assert "5 %" in joint_bootstrap_interval([0.0, 1.0], draws, n_instances=9).reason
    assert "no spread" in joint_bootstrap_interval([1.0, 1.0], np.ones((2, 100)), n_instances=9).reason
