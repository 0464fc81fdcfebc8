import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from mi_attention.statistics import crossed_interval, equivalence

VALUES = np.random.default_rng(0).standard_normal((8, 50)) * 0.2 + 0.01


def test_seed_means_equal_statsmodels() -> None:
    first, second = np.random.default_rng(1).standard_normal((2, 9)) * 0.05
    found = equivalence(first - second, 0.06).iloc[0]
    expected, _, _ = ttost_paired(first, second, -0.06, 0.06)
    assert found["p"] == pytest.approx(expected)
    assert found["level"] == 0.9


@pytest.mark.parametrize("margin", [0.02, 0.04, 0.08])
def test_p_and_interval_say_the_same(margin: float) -> None:
    found = equivalence(VALUES, margin).iloc[0]
    interval = crossed_interval(VALUES, 0.9)
    assert (found["ci_low"], found["ci_high"]) == (interval.ci_low, interval.ci_high)
    assert (found["p"] <= 0.05) == (-margin < interval.ci_low and interval.ci_high < margin)


def test_p_is_half_at_the_margin_and_the_profile_counts() -> None:
    estimate = abs(VALUES.mean())
    assert equivalence(VALUES, estimate)["p"].iloc[0] == pytest.approx(0.5)
    assert equivalence(VALUES, 0.05, profile_variance=0.01)["p"].iloc[0] > equivalence(VALUES, 0.05)["p"].iloc[0]


def test_undefined_and_bad_input() -> None:
    found = equivalence(np.full(5, np.nan), 0.05).iloc[0]
    assert np.isnan(found["p"])
    assert found["reason"]
    for margin in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="margin is"):
            equivalence(VALUES, margin)
    with pytest.raises(ValueError, match=r"alpha is 0\.5"):
        equivalence(VALUES, 0.05, alpha=0.5)
