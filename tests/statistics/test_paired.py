import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mi_attention.statistics import HOLM_COLUMNS, holm_family, paired_contrast, sign_flip_p


def test_sign_flip_by_hand() -> None:
    # Differences 1, 2, 4: sums over patterns with the first sign fixed are 7, -1, 3, -5. Two-sided: only ±7
    # reach 7, 2 of 8.
    assert sign_flip_p([1, 2, 4]) == 0.25
    # 1, 2, -4: |-1| is reached by all 8 patterns (sums ±7, ±1, ±3, ±5).
    assert sign_flip_p([1, 2, -4]) == 1.0
    assert sign_flip_p([0, 0, 0]) == 1.0
    assert sign_flip_p([0.1] * 6) == 2 / 64


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=2, max_size=8))
def test_sign_flip_equals_scipy(differences: list[int]) -> None:
    # Integers are summed exactly, so that ties between patterns are the same for both.
    expected = stats.permutation_test(
        (np.array(differences),), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert sign_flip_p(differences) == pytest.approx(expected)
    assert sign_flip_p(np.array(differences) * 0.1) == pytest.approx(expected)
    assert sign_flip_p([-d for d in differences]) == pytest.approx(expected)


def test_many_seeds_are_sampled_with_a_generator() -> None:
    differences = np.random.default_rng(0).standard_normal(24) + 0.35
    exact = sign_flip_p(differences)
    longer = np.append(differences, 0.0)  # a zero changes no pattern's sum
    assert sign_flip_p(longer, rng=1) == pytest.approx(exact, abs=0.005)
    with pytest.raises(ValueError, match="give rng"):
        sign_flip_p(longer)


def test_a_contrast_of_many_seeds_says_that_its_patterns_were_sampled() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.standard_normal((2, 24))
    exact = paired_contrast(first, second)
    assert exact.test.startswith("exact sign flip")
    assert exact.smallest_p == 2**-23
    # A seed without a difference changes no pattern's sum.
    sampled = paired_contrast(np.append(first, 1.0), np.append(second, 1.0))
    assert sampled.test == "sampled sign flip of the mean difference, two-sided"
    assert sampled.p == pytest.approx(exact.p, abs=0.005)
    assert sampled.p == paired_contrast(np.append(first, 1.0), np.append(second, 1.0)).p
    # Nothing is further out than thirty equal differences: the smallest p there is.
    far = paired_contrast(np.arange(30.0) / 1e3 + 1, np.zeros(30))
    assert far.p == far.smallest_p == 1 / 100_000
    assert holm_family({"many": sampled, "far": far}, family="F")["p_adjusted"].iloc[1] == 2 / 100_000


def test_contrast_equals_paired_t_interval() -> None:
    first, second = np.random.default_rng(1).standard_normal((2, 8))
    found = paired_contrast(first, second)
    expected = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (found.ci_low, found.ci_high) == pytest.approx((expected.low, expected.high))
    assert found.effect_size == pytest.approx((first - second).mean() / (first - second).std(ddof=1))
    assert found.p == sign_flip_p(first - second)
    assert found.smallest_p == 2 / 2**8
    opposite = paired_contrast(second, first)
    assert (opposite.estimate, opposite.p) == (-found.estimate, found.p)


def test_undefined_runs_leave_their_pair_out() -> None:
    found = paired_contrast([1.0, np.nan, 3.0, 2.0], [0.5, 1.0, np.nan, 1.0])
    assert (found.n_seeds, found.n_left_out, found.estimate) == (2, 2, pytest.approx(0.75))
    nothing = paired_contrast([np.nan], [1.0])
    assert nothing.reason == "no seed with a defined value"
    assert np.isnan(nothing.p)


def test_holm_by_hand_and_columns() -> None:
    rng = np.random.default_rng(2)
    cells = {name: rng.standard_normal(8) + shift for name, shift in (("a", 0.0), ("b", 1.5), ("c", 4.0))}
    contrasts = {name: paired_contrast(values, np.zeros(8)) for name, values in cells.items()}
    table = holm_family(contrasts, family="F1")
    assert tuple(table.columns) == HOLM_COLUMNS
    order = np.argsort(table["p"])
    p = table["p"].to_numpy()[order]
    by_hand = np.minimum(1, np.maximum.accumulate(p * np.array([3, 2, 1])))
    np.testing.assert_allclose(table["p_adjusted"].to_numpy()[order], by_hand)
    assert (table["rejected"] == (table["p_adjusted"] <= 0.05)).all()


@pytest.mark.parametrize(("seeds", "most"), [(6, 1), (7, 3), (8, 6)])
def test_a_family_that_could_never_reject_is_refused(seeds: int, most: int) -> None:
    values = np.arange(1.0, seeds + 1)

    def family(size: int) -> dict[str, object]:
        return {f"c{i}": paired_contrast(values, np.zeros(seeds)) for i in range(size)}

    assert holm_family(family(most), family="F")["rejected"].all()
    with pytest.raises(ValueError, match=rf"needs {seeds + 1} seeds, or at most {most} contrasts"):
        holm_family(family(most + 1), family="F")


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="paired by seed"):
        paired_contrast([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="infinity"):
        paired_contrast([1, np.inf], [1, 2])
    with pytest.raises(ValueError, match="finite"):
        sign_flip_p([])
    with pytest.raises(ValueError, match="empty"):
        holm_family({}, family="F")


@pytest.mark.parametrize("seeds", [6, 8, 10])
def test_sign_flip_holds_its_level_and_interval_its_coverage(seeds: int) -> None:
    rng, runs = np.random.default_rng(seeds), 600
    found = [paired_contrast(rng.standard_normal(seeds), rng.standard_normal(seeds)) for _ in range(runs)]
    for alpha in (0.05, 0.2):
        rate = np.mean([contrast.p <= alpha for contrast in found])
        assert rate <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / runs)
    # .95 within 3 SE of 600 runs (.027).
    assert 0.923 <= np.mean([contrast.ci_low <= 0 <= contrast.ci_high for contrast in found]) <= 0.977


def test_holm_holds_the_family_wise_error_and_finds_a_planted_contrast() -> None:
    # Holm rejects something exactly when the smallest p passes Bonferroni; the first runs check that it does.
    rng, runs, errors, found = np.random.default_rng(7), 250, 0, 0
    for run in range(runs):
        base = rng.standard_normal(8)
        contrasts = {f"null {i}": paired_contrast(base + rng.standard_normal(8), base) for i in range(5)}
        any_rejected = min(contrast.p for contrast in contrasts.values()) <= 0.05 / 5
        errors += any_rejected
        planted = paired_contrast(base + 2.5 + rng.standard_normal(8), base)
        found += planted.p <= 0.05 / 6
        if run < 3:
            assert holm_family(contrasts, family="F")["rejected"].any() == any_rejected
            table = holm_family({**contrasts, "planted": planted}, family="F").set_index("contrast")
            assert table.loc["planted", "rejected"] == (planted.p <= 0.05 / 6)
    assert errors / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert found / runs >= 0.8
