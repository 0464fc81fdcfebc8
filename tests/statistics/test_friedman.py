import itertools

import numpy as np
import pytest
from scipy import stats

from mi_attention.statistics import friedman


def test_w_by_hand_and_p_by_enumeration() -> None:
    # Ranks (1 2 3), (1 2 3), (2 1 3): sums 4, 5, 9 of mean 6, S = 4 + 1 + 9 = 14, W = 12 · 14 / (9 · 24) = 7/9.
    values = np.array([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [5.0, 4.0, 6.0]])
    found = friedman(values, rng=0).iloc[0]
    assert found["estimate"] == pytest.approx(7 / 9)
    orders = list(itertools.permutations([1, 2, 3]))
    spreads = [np.var(np.sum(chosen, axis=0)) for chosen in itertools.product(orders, repeat=3)]
    exact = np.mean(np.array(spreads) >= 14 / 3 - 1e-9)
    assert found["p"] == pytest.approx(exact, abs=0.015)
    assert found["smallest_p"] == pytest.approx(1 / 36)
    assert found["n_data"] == 3


def test_ties_equal_scipy() -> None:
    values = np.random.default_rng(1).integers(0, 3, (7, 4)).astype(float)
    w = stats.friedmanchisquare(*values.T).statistic / (7 * 3)
    assert friedman(values, rng=0)["estimate"].iloc[0] == pytest.approx(w)


def test_rank_invariance_and_seed() -> None:
    values = np.random.default_rng(2).standard_normal((5, 4))
    again = np.exp(values) + np.arange(5)[:, None]
    assert friedman(values, rng=3).equals(friedman(again, rng=3))


def test_orders_of_roundings_are_none() -> None:
    level = np.random.default_rng(4).random((8, 1)) + 1
    values = level + np.arange(4) * np.spacing(1.0)
    assert (np.diff(values, axis=1) > 0).all(), "rounding must make them differ, or this tests nothing"
    before = values.copy()
    found = friedman(values, rng=0).iloc[0]
    assert np.isnan(found["p"])
    assert found["reason"] == "no block orders the cells"
    np.testing.assert_array_equal(values, before)
    # Small beside other blocks is no rounding beside its own.
    scales = np.array([[1e-20], [1.0], [1e20]])
    assert friedman(scales * [1.0, 2.0, 3.0], rng=0)["estimate"].iloc[0] == pytest.approx(1)


def test_too_few_and_undefined_blocks() -> None:
    values = np.random.default_rng(3).standard_normal((3, 3))
    # Two blocks of three cells agree by chance in 1 of 6.
    found = friedman(values[:2], rng=0).iloc[0]
    assert found["smallest_p"] == pytest.approx(1 / 6)
    assert "cannot reach" in found["reason"]
    values[0, 1] = np.nan
    assert friedman(values, rng=0)["degenerate_share"].iloc[0] == pytest.approx(1 / 3)
    assert friedman(np.ones((3, 3)), rng=0)["reason"].iloc[0] == "no block orders the cells"
    with pytest.raises(ValueError, match="three cells"):
        friedman(values[:, :2], rng=0)
    with pytest.raises(ValueError, match="infinity"):
        friedman(np.full((3, 3), np.inf), rng=0)
