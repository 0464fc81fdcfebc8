import warnings

import numpy as np
import pytest
from scipy import stats

from mi_attention.statistics import (
    contrast_table,
    crossed_interval,
    effect_size_interval,
    equivalence,
    paired_contrast,
    paired_differences,
    seed_interval,
)
from mi_attention.statistics.rounding import has_spread, merge_rounding

BASE = np.random.default_rng(3).random((10, 30))


@pytest.mark.parametrize("second", [BASE.mean(axis=1), BASE], ids=["seeds", "seeds and instances"])
def test_differences_equal_up_to_rounding_are_equal(second: np.ndarray) -> None:
    first = second + 0.1
    assert np.ptp(first - second) > 0, "rounding must make them differ, or this tests nothing"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = contrast_table(first, second, effect_unit="tau")
    estimates, p = (dict(zip(table["quantity"], table[name], strict=True)) for name in ("estimate", "p"))
    assert estimates["mean difference"] == pytest.approx(0.1, abs=1e-15)
    assert np.isnan(table[["ci_low", "ci_high"]].to_numpy(dtype=float)).all()
    assert table["reason"].str.contains("no spread").all()
    assert np.isnan(estimates["d_z"])
    # Ten equal differences: both tests reach the smallest p that ten can, and neither is of ranks of rounding.
    assert p["mean difference"] == p["mean difference (BCa)"] == 2**-9
    assert np.isnan(p.get("mean difference (new instances too)", np.nan))


def test_no_difference_up_to_rounding_is_no_difference() -> None:
    second = BASE.mean(axis=1)
    first = (second * 3 - second) / 2
    first[0] = np.nextafter(second[0], 1)
    table = contrast_table(first, second)
    numbers = dict(zip(table["quantity"], table["estimate"], strict=True))
    assert numbers["mean difference"] == 0
    assert (table["p"].dropna() == 1).all()
    assert numbers["probability of superiority"] == 0.5


def test_contrast_and_intervals_agree_on_what_has_no_spread() -> None:
    second = BASE.mean(axis=1)
    assert "no spread" in paired_contrast(second + 0.1, second).reason
    assert "no spread" in seed_interval(second - second + np.where(second > 0.5, 0.1 + 0.2, 0.3)).reason
    assert "no spread" in crossed_interval(BASE * 0 + np.where(BASE > 0.5, 0.1 + 0.2, 0.3)).reason
    row = equivalence(paired_differences(second + 0.1, second), 0.2).iloc[0]
    assert np.isnan(row["p"])
    assert "no spread" in row["reason"]


def test_small_differences_that_are_no_rounding_stay() -> None:
    spread = 1e-9 * np.arange(10)
    found = paired_contrast(BASE[:, 0] + 0.1 + spread, BASE[:, 0])
    assert found.reason == ""
    assert found.ci_high - found.ci_low == pytest.approx(
        2 * stats.t.ppf(0.975, 9) * spread.std(ddof=1) / np.sqrt(10), rel=1e-5
    )
    d_low, d_high = effect_size_interval(found.effect_size, 10)
    assert 0 < d_low < found.effect_size < d_high < np.inf


@pytest.mark.parametrize("n", [2, 8, 20])
@pytest.mark.parametrize("sign", [1, -1])
def test_effect_sizes_beyond_the_noncentral_t_go_on_where_it_stops(n: int, sign: int) -> None:
    below, above = (
        np.array(effect_size_interval(sign * seen / np.sqrt(n), n)) / seen for seen in (1e4 * 0.999, 1e4 * 1.001)
    )
    np.testing.assert_allclose(below, above, rtol=2e-6)


def test_merging() -> None:
    values = np.array([[0.3, np.nan, 0.1 + 0.2], [1e-17, -1e-17, 0.3 + 1e-9]])
    before = values.copy()
    merged = merge_rounding(values, scale=1.0)
    np.testing.assert_array_equal(values, before)
    np.testing.assert_array_equal(merged, [[0.3, np.nan, 0.3], [0, 0, 0.3 + 1e-9]])
    # What is rounding beside 1 is a value beside 1e-17.
    np.testing.assert_array_equal(merge_rounding(values, scale=1e-17), values)
    np.testing.assert_array_equal(merge_rounding(np.full(3, np.nan), scale=0.0), np.full(3, np.nan))
    np.testing.assert_array_equal(merge_rounding(BASE, scale=1.0), BASE)
    assert not has_spread(np.array([0.3, 0.1 + 0.2]))
    assert has_spread(np.array([0.3, 0.3 + 1e-9]))
    assert not has_spread(np.zeros(3))
