from types import ModuleType

import numpy as np
import pytest

from mi_attention.measures import kendall_tau_b, somers_d
from mi_attention.statistics import (
    GAP_COLUMNS,
    RESULT_COLUMNS,
    concordance_by_gap,
    difference_error,
    pair_gaps,
    tau_above_gap,
)


def test_pairs_by_hand() -> None:
    # Pairs 01, 02, 12 of m = (3, 1, 1), a = (.2, .8, 0).
    pairs = pair_gaps([3.0, 1.0, 1.0], [0.2, 0.8, 0.0], [1.0, 4.0, 1.0])
    np.testing.assert_array_equal(pairs.agreement, [[-1, 1, 0]])
    np.testing.assert_allclose(pairs.gap, [[0.75, 0.25, 1.0]])
    np.testing.assert_array_equal(pairs.resolution, [[2.0, 0.5, 0.0]])
    np.testing.assert_array_equal(pairs.separated, [[True, True, False]])
    logs = pair_gaps([3.0, 1.0, 1.0], [0.2, 0.8, 0.0], kind="log ratio")
    np.testing.assert_allclose(logs.gap, [[np.log(4), np.nan, np.nan]])


def test_difference_error_is_that_of_the_paired_difference() -> None:
    rng = np.random.default_rng(0)
    local = rng.standard_normal((4, 50)) + 2 * rng.standard_normal(50)  # what instances share cancels
    errors = difference_error(local)
    expected = [np.std(local[p] - local[q], ddof=1) / np.sqrt(50) for p in range(4) for q in range(p + 1, 4)]
    np.testing.assert_allclose(errors, expected)
    local[1, :20] = np.nan
    expected[0] = np.std((local[0] - local[1])[20:], ddof=1) / np.sqrt(30)
    np.testing.assert_allclose(difference_error(local)[0], expected[0])
    assert np.isnan(difference_error(np.array([[1.0, np.nan], [np.nan, 1.0]]))).all()


def test_concordance_by_hand() -> None:
    # Two runs. Pairs as above: gaps .75 (−), .25 (+), 1 (tie); m = (3, 2, 1), a = (.5, .2, .1): .6 +, .8 +, .2 +.
    pairs = pair_gaps([[3, 1, 1], [3, 2, 1]], [[0.2, 0.8, 0.0], [0.5, 0.2, 0.1]])
    found = concordance_by_gap(pairs, [0, 0.5, 1])
    np.testing.assert_allclose(found["estimate"], [1.0, 2 / 3])  # 2 of 2, and 2 of 3: not the mean of 0 and 1
    np.testing.assert_array_equal(found["n_pairs"], [2, 3])
    np.testing.assert_allclose(found["degenerate_share"], [0, 0.25])
    assert list(found.columns) == [*RESULT_COLUMNS, *GAP_COLUMNS]
    assert "no spread" in found["reason"].iloc[0]


def test_bins_partition_the_pairs() -> None:
    rng = np.random.default_rng(1)
    m, a = rng.standard_normal((3, 9)), rng.random((3, 9))
    pairs = pair_gaps(m, a, np.full((3, 36), 0.5))
    found = concordance_by_gap(pairs, [0, 0.1, 0.4, 1], resolution_edges=[0, 1, 2, np.inf])
    assert len(found) == 9
    assert found["n_pairs"].sum() == 3 * 36
    whole = concordance_by_gap(pairs, [0, 1])
    np.testing.assert_allclose(whole["estimate"], (np.mean(kendall_tau_b(a, m).values) + 1) / 2)
    resolved = found[found["resolution_low"] >= 2]
    assert (resolved["resolved_share"].dropna() == 1).all()


def test_tau_at_zero_is_the_measure_and_rises_only_above_the_planted_gap(simulate: ModuleType) -> None:
    rng = np.random.default_rng(2)
    m, a = np.round(rng.standard_normal((4, 15)), 1), np.round(rng.random((4, 15)), 1)
    found = tau_above_gap(pair_gaps(m, a), [0.0, 0.3])
    untied = [np.count_nonzero(np.subtract.outer(row, row)) for row in a]
    assert found["estimate"].iloc[0] == pytest.approx(np.average(somers_d(a, m).values, weights=untied))
    one = tau_above_gap(pair_gaps(m[0], a[0]), [0.0])["estimate"]
    np.testing.assert_allclose(one, [somers_d(a[:1], m[:1]).values[0], kendall_tau_b(a[:1], m[:1]).values[0]])
    pairs = pair_gaps(*simulate.planted_wide_gaps(rng, 20, 20, step=0.4))
    shares = concordance_by_gap(pairs, [0.0, 0.1, 0.51, 1.0])["estimate"]
    assert shares.iloc[0] < 0.65
    assert shares.iloc[2] == 1.0
    taus = tau_above_gap(pairs, [0.0, 0.51])
    assert taus["estimate"].iloc[3] == 1.0 > taus["estimate"].iloc[1]


def test_ties_of_information_separate_d_and_tau_b() -> None:
    # a = (3, 2, 1), m = (1, 1, 0): pairs 0, +, +: d = 2/3, tau-b = 2 / √(3 · 2).
    found = tau_above_gap(pair_gaps([1, 1, 0], [3, 2, 1]), [0.0])
    np.testing.assert_allclose(found["estimate"], [2 / 3, 2 / np.sqrt(6)])
    np.testing.assert_allclose(found["degenerate_share"], [1 / 3, 1 / 3])


def test_pairs_count_alike_whatever_run_they_are_of(simulate: ModuleType) -> None:
    # Unrelated orders. Where both gaps are large, one position makes many concordant pairs or one discordant one:
    # a mean of runs' own shares would be .44.
    pairs = pair_gaps(*simulate.unrelated_skewed(np.random.default_rng(3), 3000, 6))
    found = concordance_by_gap(pairs, [0.5, 1.0], resolution_edges=[2.0, np.inf]).iloc[0]
    inside = (pairs.gap > 0.5) & (pairs.resolution > 2)
    kept = inside.any(axis=1)
    shares = ((pairs.agreement > 0) & inside)[kept].sum(axis=1) / inside[kept].sum(axis=1)
    assert shares.mean() < 0.47
    assert found["ci_low"] < 0.5 < found["ci_high"]
    assert found["ci_high"] - found["ci_low"] < 0.06


def test_the_interval_is_that_of_resampled_runs(simulate: ModuleType) -> None:
    pairs = pair_gaps(*simulate.planted_wide_gaps(np.random.default_rng(4), 200, 12))
    found = concordance_by_gap(pairs, [0.0, 0.15, 0.3], rng=1)
    for bound in ("low", "high"):
        width = found["ci_high"] - found["ci_low"]
        assert ((found[f"ci_{bound}"] - found[f"bootstrap_{bound}"]).abs() < 0.1 * width).all()
    assert concordance_by_gap(pairs, [0.0, 0.15], n_resamples=0)["bootstrap_low"].isna().all()


def test_runs_without_pairs_or_order_are_undefined_not_zero() -> None:
    pairs = pair_gaps([[1, 2, 3], [2, 2, 2]], [[1, 2, 3], [1, 2, 3]])
    found = tau_above_gap(pairs, [0.0, 0.9])
    assert found["n_seeds"].iloc[0] == 1
    assert found["estimate"].iloc[0] == 1.0
    assert np.isnan(found["estimate"].iloc[2])
    empty = concordance_by_gap(pairs, [2.0, 3.0]).iloc[0]
    assert np.isnan(empty["estimate"])
    assert empty["reason"] == "no such pair"
    unordered = tau_above_gap(pair_gaps([[2, 2, 2]], [[1, 2, 3]]), [0.0])
    assert unordered["estimate"].isna().all()
    assert (unordered["reason"] == "no pair that information orders").all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pair_gaps([1, 2], [1, 2, 3]), r"must both be \(S, T\)"),
        (lambda: pair_gaps([1, np.nan], [1, 2]), "finite"),
        (lambda: pair_gaps([1, 2], [-1, 2]), "attention ≥ 0"),
        (lambda: pair_gaps([1, 2], [0, 0]), "somewhere > 0"),
        (lambda: pair_gaps([1, 2], [1, 2], [1, 2]), "error has shape"),
        (lambda: pair_gaps([1, 2], [1, 2], kind="ratio"), "kind is 'ratio'"),
        (lambda: concordance_by_gap(pair_gaps([1, 2], [1, 2]), [1, 0]), "edges is"),
        (lambda: concordance_by_gap(pair_gaps([1, 2], [1, 2]), [0, 1], resolution_edges=[0, 2]), "give error"),
        (lambda: tau_above_gap(pair_gaps([1, 2], [1, 2]), [-0.1]), "grid is"),
        (lambda: difference_error([1.0, 2.0]), "at least two units"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
