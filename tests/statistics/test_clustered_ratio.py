import numpy as np
import pytest
from scipy import stats

from mi_attention.statistics import clustered_ratio


def test_a_share_by_hand() -> None:
    found = clustered_ratio([2, 0], [2, 2])
    # Residuals 1 and −1: √(2 · 2) / 4 = .5, times t of one degree of freedom.
    assert found.estimate == 0.5
    assert found.standard_error == pytest.approx(0.5)
    assert found.ci_high - 0.5 == pytest.approx(0.5 * stats.t.ppf(0.975, 1))
    cut = clustered_ratio([2, 0], [2, 2], within=(0.0, 1.0))
    assert (cut.ci_low, cut.ci_high) == (0.0, 1.0)


def test_equal_counts_give_the_t_interval_of_the_mean() -> None:
    values = np.random.default_rng(0).standard_normal(9)
    found = clustered_ratio(4 * values, np.full(9, 4))
    expected = stats.ttest_1samp(values, 0).confidence_interval()
    np.testing.assert_allclose([found.ci_low, found.ci_high], [expected.low, expected.high])


@pytest.mark.parametrize("with_other", [False, True])
def test_error_is_that_of_leaving_one_cluster_out(with_other: bool) -> None:
    rng = np.random.default_rng(1)
    count = rng.integers(1, 30, 400)
    share = rng.random(400)
    other = rng.binomial(count, share) if with_other else None
    score = rng.normal(0.8 * share * count, np.sqrt(count))

    def ratio(kept: np.ndarray) -> float:
        second = count if other is None else other
        return float(score[kept].sum() / np.sqrt(count[kept].sum() * second[kept].sum()))

    without = np.array([ratio(np.arange(400) != i) for i in range(400)])
    jackknife = np.sqrt(399 / 400 * ((without - without.mean()) ** 2).sum())
    assert clustered_ratio(score, count, other).standard_error == pytest.approx(jackknife, rel=0.02)


def test_clusters_without_count_and_their_order_do_not_matter() -> None:
    score, count = np.array([1.0, 0.0, 3.0, 2.0]), np.array([2, 0, 5, 2])
    whole, kept = clustered_ratio(score, count), clustered_ratio(score[[3, 2, 0]], count[[3, 2, 0]])
    assert (whole.clusters, kept.clusters) == (3, 3)
    np.testing.assert_allclose([whole.ci_low, whole.ci_high], [kept.ci_low, kept.ci_high])


def test_what_is_undefined_says_why() -> None:
    assert clustered_ratio([0], [0]).reason == "nothing to count"
    assert clustered_ratio([0, 0], [1, 1], [0, 0]).reason == "zero denominator"
    one = clustered_ratio([1], [2])
    assert (one.estimate, one.reason) == (0.5, "one run: no spread between runs")
    agreed = clustered_ratio([1, 2], [1, 2])
    assert agreed.estimate == 1.0
    assert np.isnan(agreed.ci_low)
    assert "all agree" in agreed.reason


@pytest.mark.parametrize(
    ("score", "count", "message"),
    [([1], [1, 2], "alike"), ([np.nan], [1], "finite"), ([1], [-1], "not negative"), ([[1]], [[1]], "alike")],
)
def test_bad_input(score: object, count: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clustered_ratio(score, count)  # type: ignore[arg-type]
