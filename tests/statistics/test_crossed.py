from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from mi_attention.measures import kendall_tau_b
from mi_attention.statistics import attention_order, bootstrap_means, crossed_bootstrap, crossed_interval

# Deviations of seed effect, instance effect and residual.
DESIGNS = {
    "no seed effect": (0.0, 1.0, 1.0),
    "small seed effect": (0.1, 0.5, 1.0),
    "balanced": (0.3, 0.3, 1.0),
    "dominant seed effect": (1.0, 0.2, 0.2),
    "no instance effect": (0.1, 0.0, 1.0),
}


def test_by_hand() -> None:
    # Values [[1, 2], [3, 6]]: seed means 1.5, 4.5 (variance 4.5, A = 2.25); instance means 2, 4 (variance 2, B = 1);
    # grand mean 3; residuals ±.5, SS 1 over 1 degree, D = 1/4. SE² = 2.25 + 1 − .25 = 3,
    # df = 9 / (2.25²/1 + 1/1 + .0625/1) = 9 / 6.125.
    found = crossed_interval([[1, 2], [3, 6]])
    assert (found.seed_part, found.instance_part, found.residual_part) == pytest.approx((2.25, 1.0, 0.25))
    assert found.standard_error == pytest.approx(np.sqrt(3))
    assert found.degrees_of_freedom == pytest.approx(9 / 6.125)
    half = stats.t.ppf(0.975, 9 / 6.125) * np.sqrt(3)
    assert (found.estimate, found.ci_low, found.ci_high) == pytest.approx((3, 3 - half, 3 + half))
    assert found.scope == "seeds crossed with instances"


def test_variance_is_at_least_that_of_either_mean() -> None:
    # Residual only: instance means differ by less than the residual explains, so B − D < 0.
    table = np.array([[1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.2]])
    found = crossed_interval(table)
    assert found.seed_part + found.instance_part - found.residual_part < max(found.seed_part, found.instance_part)
    assert found.standard_error**2 == pytest.approx(max(found.seed_part, found.instance_part))


def test_values_that_cancel_in_every_mean_have_no_interval() -> None:
    found = crossed_interval([[0, 1], [1, 0]])
    assert found.estimate == 0.5
    assert np.isnan([found.ci_low, found.ci_high]).all()
    assert "no spread" in found.reason
    assert crossed_interval([[0, 1], [1, 0]], profile_variance=1.0).standard_error == 1.0


def test_profile_variance_widens_by_hand() -> None:
    # To the example above add 1: SE² = 4; df of 16 / (9 / (9 / 6.125) + 1/1) = 2.25 would narrow the interval
    # (3.9 · 2 < 6.2 · √3), so that the df without it, 9 / 6.125, are kept.
    found = crossed_interval([[1, 2], [3, 6]], profile_variance=1.0)
    assert found.standard_error == pytest.approx(2)
    assert found.degrees_of_freedom == pytest.approx(9 / 6.125)
    plain = crossed_interval([[1, 2], [3, 6]])
    assert found.ci_high - found.ci_low > plain.ci_high - plain.ci_low
    assert found.profile_part == 1.0
    with pytest.raises(ValueError, match="profile_variance is -1"):
        crossed_interval([[1, 2], [3, 6]], profile_variance=-1.0)


def test_one_seed_says_it_is_about_instances_of_one_run() -> None:
    values = np.random.default_rng(0).standard_normal((1, 40))
    found = crossed_interval(values)
    expected = stats.t.interval(0.95, 39, values.mean(), stats.sem(values[0]))
    assert (found.ci_low, found.ci_high) == pytest.approx(expected)
    assert found.scope == "instances of one run"
    assert crossed_bootstrap(values, rng=0, n_resamples=200).scope == "instances of one run"


def test_undefined_values_are_left_out_by_the_stated_rule_and_counted() -> None:
    rng = np.random.default_rng(1)
    whole = rng.standard_normal((4, 30))
    values = whole.copy()
    values[2] = np.nan
    values[0, 3] = values[1, 3] = values[3, 7] = np.nan
    found = crossed_interval(values)
    same = crossed_interval(np.delete(np.delete(whole, 2, axis=0), [3, 7], axis=1))
    assert (found.estimate, found.ci_low, found.ci_high) == (same.estimate, same.ci_low, same.ci_high)
    assert (found.n_seeds, found.n_seeds_left_out) == (3, 1)
    assert (found.n_instances, found.n_instances_left_out) == (28, 2)
    assert found.mean_all_defined == pytest.approx(np.mean([np.nanmean(values[s]) for s in (0, 1, 3)]))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.full((3, 4), np.nan), "no defined value"),
        (np.full((3, 4), 0.5), "no spread"),
        (np.array([[1.0, np.nan], [2.0, np.nan]]), "fewer than two instances"),
        (np.array([[np.nan, 1.0], [2.0, np.nan]]), "fewer than two instances"),
    ],
)
def test_no_interval_has_a_reason(values: np.ndarray, reason: str) -> None:
    for found in (crossed_interval(values), crossed_bootstrap(values, rng=0, n_resamples=100)):
        assert found.reason.startswith(reason)
        assert np.isnan(found.ci_low)
        assert np.isnan(found.ci_high)


def test_shift_scale_and_order() -> None:
    values = np.random.default_rng(2).standard_normal((5, 12))
    found, moved = crossed_interval(values), crossed_interval(3 - 2 * values[::-1, ::-1])
    assert (moved.ci_low, moved.ci_high) == pytest.approx((3 - 2 * found.ci_high, 3 - 2 * found.ci_low))
    assert moved.degrees_of_freedom == pytest.approx(found.degrees_of_freedom)


def test_bootstrap_agrees_with_a_direct_loop_and_is_seeded() -> None:
    values = np.random.default_rng(3).standard_normal((6, 25))
    found = crossed_bootstrap(values, rng=5, n_resamples=4000)
    assert found == crossed_bootstrap(values, rng=5, n_resamples=4000)
    rng = np.random.default_rng(9)
    means = [values[np.ix_(rng.integers(6, size=6), rng.integers(25, size=25))].mean() for _ in range(4000)]
    assert found.standard_error == pytest.approx(np.std(means), rel=0.06)
    assert found.ci_low == pytest.approx(np.quantile(means, 0.025), abs=0.04)
    assert found.ci_high == pytest.approx(np.quantile(means, 0.975), abs=0.04)


@pytest.mark.parametrize(
    ("values", "level", "message"),
    [([1.0, 2.0], 0.95, r"\(S, N\)"), ([[1.0, np.inf]], 0.95, "infinite"), ([[1.0, 2.0]], 95, "level")],
)
def test_bad_input(values: list[float], level: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crossed_interval(values, level)
    with pytest.raises(ValueError, match=message):
        crossed_bootstrap(values, level, rng=0)


def coverage(
    simulate: ModuleType, seeds: int, instances: int, deviations: tuple[float, float, float], runs: int
) -> float:
    rng = np.random.default_rng(seeds)
    found = [crossed_interval(simulate.crossed(rng, seeds, instances, deviations)) for _ in range(runs)]
    return float(np.mean([interval.ci_low <= 0 <= interval.ci_high for interval in found]))


@pytest.mark.parametrize("seeds", [5, 8])
@pytest.mark.parametrize("design", DESIGNS)
def test_coverage(simulate: ModuleType, design: str, seeds: int) -> None:
    # .93 to .97 with 3 SE of 400 runs (.033); conservative by design where there is next to no effect.
    assert 0.90 <= coverage(simulate, seeds, 200, DESIGNS[design], 400) <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 8, 12, 20])
@pytest.mark.parametrize("design", DESIGNS)
def test_coverage_long(simulate: ModuleType, design: str, seeds: int) -> None:
    # .93 to .97, with 3 SE of 4000 runs (.010).
    assert 0.92 <= coverage(simulate, seeds, 200, DESIGNS[design], 4000) <= 0.98


def test_coverage_of_one_run(simulate: ModuleType) -> None:
    assert 0.92 <= coverage(simulate, 1, 60, (0.0, 1.0, 0.5), 1000) <= 0.98


def test_interval_over_seed_means_alone_would_fail(simulate: ModuleType) -> None:
    # Why the crossed interval exists: t over seed means forgets that other instances could have been drawn.
    rng, hits = np.random.default_rng(4), 0
    for _ in range(300):
        means = simulate.crossed(rng, 8, 50, (0.0, 1.0, 0.3)).mean(axis=1)
        low, high = stats.t.interval(0.95, 7, means.mean(), stats.sem(means))
        hits += low <= 0 <= high
    assert hits / 300 < 0.6


def coverage_with_estimated_profiles(
    simulate: ModuleType, seeds: int, error: float, shared: float, runs: int
) -> tuple[float, float]:
    """Coverage without and with ``profile_variance``, of the mean tau of profiles estimated on N instances."""
    rng = np.random.default_rng(seeds)
    plain, mended = [], []
    for _ in range(runs):
        local, attention = simulate.estimated_profiles(rng, seeds, 20, 100, error, shared)
        taus = np.stack(
            [
                kendall_tau_b(np.broadcast_to(local[s].mean(axis=1), attention[s].shape), attention[s]).values
                for s in range(seeds)
            ]
        )
        orders = [attention_order(rows) for rows in attention]

        def mean_tau(*profiles: np.ndarray, orders: list = orders) -> np.ndarray:
            return np.mean([order.mean_tau_b(m) for order, m in zip(orders, profiles, strict=True)], axis=0)

        variance = bootstrap_means(mean_tau, *local, rng=rng, n_resamples=100).standard_error ** 2
        plain.append(crossed_interval(taus))
        mended.append(crossed_interval(taus, profile_variance=variance))
    target = np.mean([interval.estimate for interval in plain])
    shares = [np.mean([i.ci_low <= target <= i.ci_high for i in found]) for found in (plain, mended)]
    return float(shares[0]), float(shares[1])


def test_error_of_the_profile_is_missed_by_the_table_and_mended(simulate: ModuleType) -> None:
    plain, mended = coverage_with_estimated_profiles(simulate, 8, 0.6, 0.9, 80)
    assert plain < 0.92
    assert mended >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 80)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [5, 8])
@pytest.mark.parametrize(("error", "shared"), [(0.3, 0.0), (0.3, 0.9), (0.6, 0.5), (0.6, 0.9)])
def test_coverage_with_estimated_profiles_long(simulate: ModuleType, seeds: int, error: float, shared: float) -> None:
    _, mended = coverage_with_estimated_profiles(simulate, seeds, error, shared, 600)
    # .93 to .97 with 3 SE of 600 runs (.027).
    assert 0.903 <= mended <= 0.997
