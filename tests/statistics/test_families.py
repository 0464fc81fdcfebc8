import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from mi_attention.statistics import adjust_family, require_power, result_table, seeds_needed


def family(p: list[float], smallest: float = 1e-4) -> object:
    return result_table([{"p": value, "smallest_p": smallest} for value in p])


def test_adjusted_by_hand() -> None:
    p = [0.01, 0.04, 0.03]
    # Holm: .01·3, then max(.03·2, ...), then max(.06, .04). BH: sorted .01·3, .03·3/2 and .04: minima from the right
    # .03, .04, .04. BY: BH times 1 + 1/2 + 1/3 = 11/6.
    np.testing.assert_allclose(adjust_family(family(p), "F")["p_adjusted"], [0.03, 0.06, 0.06])
    np.testing.assert_allclose(adjust_family(family(p), "F", method="fdr_bh")["p_adjusted"], [0.03, 0.04, 0.04])
    by = adjust_family(family(p), "F", method="fdr_by")
    np.testing.assert_allclose(by["p_adjusted"], np.array([0.03, 0.04, 0.04]) * 11 / 6)
    assert (by["family"] == "F").all()


@pytest.mark.parametrize("method", ["holm", "fdr_bh", "fdr_by"])
def test_adjusted_equals_statsmodels(method: str) -> None:
    p = np.round(np.random.default_rng(0).random(30) ** 3, 2)  # with ties
    expected = multipletests(p, method=method)[1]
    np.testing.assert_allclose(adjust_family(family(p.tolist()), "F", method=method)["p_adjusted"], expected)


def test_undefined_members_count_for_nothing_and_input_is_not_changed() -> None:
    table = family([0.01, float("nan"), 0.04])
    before = table.copy()
    found = adjust_family(table, "F")
    np.testing.assert_allclose(found["p_adjusted"], [0.02, np.nan, 0.04])
    assert table.equals(before)


@pytest.mark.parametrize(("size", "seeds"), [(1, 6), (2, 7), (3, 7), (4, 8), (6, 8), (7, 9), (12, 9), (13, 10)])
def test_seeds_needed(size: int, seeds: int) -> None:
    assert seeds_needed(size) == seeds
    require_power(size, seeds, family="F")
    with pytest.raises(ValueError, match=f"needs {seeds} seeds"):
        require_power(size, seeds - 1, family="F")


def test_families_that_could_never_reject_are_refused() -> None:
    adjust_family(family([0.5] * 6, 2.0**-7), "F")
    with pytest.raises(ValueError, match=r"could never reject at alpha 0\.05 by holm.*need 9 seeds"):
        adjust_family(family([0.5] * 7, 2.0**-7), "F")
    # BH rejects all of a hundred at .05 each, BY needs .05 / 5.2.
    adjust_family(family([0.5] * 100, 0.05), "F", method="fdr_bh")
    with pytest.raises(ValueError, match="fdr_by"):
        adjust_family(family([0.5] * 100, 0.05), "F", method="fdr_by")


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="no defined p"):
        adjust_family(family([float("nan")]), "F")
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        adjust_family(family([1.5]), "F")
    with pytest.raises(ValueError, match="method is 'bonferroni'"):
        adjust_family(family([0.5]), "F", method="bonferroni")
    with pytest.raises(ValueError, match="alpha is 5"):
        adjust_family(family([0.5]), "F", alpha=5)
    with pytest.raises(ValueError, match="size is 0"):
        seeds_needed(0)
