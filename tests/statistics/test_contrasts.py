import numpy as np
import pytest
from scipy import stats

from mi_attention.statistics import (
    bca_interval,
    contrast_table,
    crossed_interval,
    effect_size_interval,
    paired_contrast,
)

RNG = np.random.default_rng(0)
FIRST = RNG.standard_normal((8, 40)) + 0.4
SECOND = RNG.standard_normal((8, 40))


def test_rows_of_run_means() -> None:
    first, second = FIRST.mean(axis=1), SECOND.mean(axis=1)
    table = contrast_table(first, second, effect_unit="tau", signature="s", n_data=1).set_index("quantity")
    found = paired_contrast(first, second)
    primary = table.loc["mean difference"]
    assert (primary["estimate"], primary["ci_low"], primary["p"]) == (found.estimate, found.ci_low, found.p)
    assert table.loc["d_z", "estimate"] == found.effect_size
    half = table.loc["difference in concordance probability"]
    assert (half["estimate"], half["ci_high"]) == (found.estimate / 2, found.ci_high / 2)
    wins = np.mean(first[:, None] > second[None, :])
    assert table.loc["probability of superiority", "estimate"] == pytest.approx(wins)
    check = stats.wilcoxon(first - second, method="exact").pvalue
    assert table.loc["mean difference (BCa)", "p"] == pytest.approx(check)
    assert "mean difference (new instances too)" not in table.index
    assert (table["signature"] == "s").all()
    assert (table["n_data"] == 1).all()
    assert (table["n_seeds"] == 8).all()


def test_values_by_instance_add_the_crossed_row() -> None:
    table = contrast_table(FIRST, SECOND, effect_unit="nats").set_index("quantity")
    found = crossed_interval(FIRST - SECOND)
    crossed = table.loc["mean difference (new instances too)"]
    assert (crossed["estimate"], crossed["ci_low"], crossed["ci_high"]) == (found.estimate, found.ci_low, found.ci_high)
    # p and interval are one test: p is .05 where an end of the interval is 0.
    t = stats.t.isf(crossed["p"] / 2, found.degrees_of_freedom) * found.standard_error
    assert t == pytest.approx(abs(found.estimate))
    means = contrast_table(FIRST.mean(axis=1), SECOND.mean(axis=1)).set_index("quantity")
    for name in ("mean difference", "d_z"):
        assert table.loc[name, "estimate"] == pytest.approx(means.loc[name, "estimate"])
    assert "difference in concordance probability" not in table.index
    assert (table["n_instances"] == 40).all()


def test_undefined_values_leave_instances_and_seeds_out_on_both_sides() -> None:
    first, second = FIRST.copy(), SECOND.copy()
    first[3] = np.nan
    second[0, 5] = np.nan
    table = contrast_table(first, second).set_index("quantity")
    same = contrast_table(*(np.delete(np.delete(side, 3, axis=0), 5, axis=1) for side in (FIRST, SECOND)))
    np.testing.assert_allclose(table["estimate"], same["estimate"])
    assert (table["n_seeds"] == 7).all()
    np.testing.assert_allclose(table["degenerate_share"], 1 - 7 * 39 / 320)


def test_opposite_contrast_mirrors() -> None:
    there, back = (contrast_table(*sides, rng=1).set_index("quantity") for sides in ((FIRST, SECOND), (SECOND, FIRST)))
    for name in ("mean difference", "mean difference (new instances too)", "d_z"):
        assert there.loc[name, "ci_low"] == pytest.approx(-back.loc[name, "ci_high"], rel=1e-6)
        assert there.loc[name, "p"] == pytest.approx(back.loc[name, "p"], nan_ok=True)
    p = "probability of superiority"
    assert there.loc[p, "estimate"] == pytest.approx(1 - back.loc[p, "estimate"])


def test_ties_and_zeros_of_wilcoxon() -> None:
    # Differences 1, 1, -1, 0: by sign flips of the three others all |ranks| are 2; the sum of signs is as extreme
    # as 1 of 3 in every pattern.
    found = contrast_table([1.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 2.0]).set_index("quantity")
    assert found.loc["mean difference (BCa)", "p"] == 1.0


def test_wilcoxon_of_a_single_difference_that_is_not_zero_says_nothing() -> None:
    found = contrast_table([1.0, 2.0, 3.0, 5.0], [1.0, 2.0, 3.0, 4.0]).set_index("quantity")
    assert found.loc["mean difference (BCa)", "p"] == 1.0


def test_no_spread_and_no_pairs_have_reasons() -> None:
    equal = contrast_table(np.ones(6), np.zeros(6)).set_index("quantity")
    assert "no spread" in equal.loc["mean difference", "reason"]
    assert equal.loc["mean difference", "p"] == 2 / 64
    assert np.isnan(equal.loc["d_z", "estimate"])
    nothing = contrast_table([np.nan, np.nan], [1.0, 2.0])
    assert nothing["estimate"].isna().all()
    assert (nothing["reason"] != "").all()


def test_bca_of_skewed_values_leans_and_is_wider_than_plain() -> None:
    values = np.random.default_rng(3).exponential(size=10)
    low, high, reason = bca_interval(values, rng=1)
    assert reason == ""
    assert high - values.mean() > values.mean() - low
    plain = stats.bootstrap((values,), np.mean, n_resamples=9999, rng=np.random.default_rng(1)).confidence_interval
    assert low < plain.low < plain.high < high
    # Ten values: t of 9 degrees 2.2622 · √(10/9) = 2.3845, which a normal exceeds on either side in .01710.
    options = {"n_resamples": 9999, "rng": np.random.default_rng(1)}
    widened = stats.bootstrap((values,), np.mean, confidence_level=1 - 0.0171, **options).confidence_interval
    assert (low, high) == pytest.approx((widened.low, widened.high), rel=1e-3)
    assert bca_interval(values[:7], rng=1)[2].startswith("fewer than 8")


@pytest.mark.parametrize(("effect", "n"), [(0.0, 8), (0.8, 8), (-2.5, 5), (12.0, 6)])
def test_effect_size_interval_inverts_the_noncentral_t(effect: float, n: int) -> None:
    low, high = effect_size_interval(effect, n)
    seen = np.sqrt(n) * effect
    assert stats.nct.sf(seen, n - 1, np.sqrt(n) * low) == pytest.approx(0.025, abs=1e-6)
    assert stats.nct.sf(seen, n - 1, np.sqrt(n) * high) == pytest.approx(0.975, abs=1e-6)
    assert low < effect < high


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="paired by seed"):
        contrast_table(FIRST, SECOND[:, :3])
    with pytest.raises(ValueError, match="level is 95"):
        contrast_table(FIRST, SECOND, level=95)
    with pytest.raises(ValueError, match="infinit"):
        contrast_table([1.0, np.inf], [1.0, 2.0])
