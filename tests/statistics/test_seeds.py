import numpy as np
import pytest
from scipy import stats

from mi_attention.statistics import seed_interval, smallest_sign_flip_p


def test_equals_scipy() -> None:
    values = np.random.default_rng(0).standard_normal(7)
    found = seed_interval(values, 0.9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert (found.ci_low, found.ci_high) == pytest.approx((expected.low, expected.high))
    assert found.degrees_of_freedom == 6


def test_undefined_runs_are_counted() -> None:
    found = seed_interval([0.1, np.nan, 0.3])
    assert (found.n_seeds, found.n_left_out, found.estimate) == (2, 1, pytest.approx(0.2))


@pytest.mark.parametrize(
    ("values", "estimate", "reason"),
    [([], np.nan, "no seed"), ([np.nan], np.nan, "no seed"), ([0.4], 0.4, "one seed"), ([0.4, 0.4], 0.4, "no spread")],
)
def test_no_interval_has_a_reason(values: list[float], estimate: float, reason: str) -> None:
    found = seed_interval(values)
    assert found.reason.startswith(reason)
    assert np.isnan(found.ci_low)
    np.testing.assert_equal(found.estimate, estimate)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 8])
def test_smallest_p_is_what_scipy_gives_for_one_sided_data(n: int) -> None:
    expected = stats.permutation_test(
        (np.arange(1.0, n + 1),), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert smallest_sign_flip_p(n) == pytest.approx(expected)


def test_smallest_p_of_one_seed_and_of_none() -> None:
    assert smallest_sign_flip_p(1) == 1.0
    with pytest.raises(ValueError, match="n_seeds is 0"):
        smallest_sign_flip_p(0)


@pytest.mark.parametrize(
    ("values", "level", "message"),
    [([[1.0]], 0.95, r"\(S,\)"), ([np.inf, 1.0], 0.95, "infinite"), ([1.0, 2.0], 1.0, "level"), ([1.0], 0, "level")],
)
def test_bad_input(values: list[float], level: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        seed_interval(values, level)


@pytest.mark.parametrize("seeds", [2, 3, 5, 8])
def test_coverage(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    found = [seed_interval(rng.standard_normal(seeds)) for _ in range(1000)]
    # Exact for normal values: .95 within 3 SE (.0069 each).
    assert 0.929 <= np.mean([interval.ci_low <= 0 <= interval.ci_high for interval in found]) <= 0.971
