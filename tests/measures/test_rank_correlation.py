from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mi_attention.interface import Measured
from mi_attention.measures import kendall_tau_b, smallest_p, somers_d, spearman, tie_share, weighted_tau
from mi_attention.measures.pair_signs import PAIRWISE_LIMIT, pair_counts, pair_signs

CORRELATIONS = (kendall_tau_b, somers_d, weighted_tau, spearman)
SYMMETRIC = (kendall_tau_b, weighted_tau, spearman)
ORACLES = {
    kendall_tau_b: lambda a, b: stats.kendalltau(a, b, variant="b").statistic,
    somers_d: lambda a, b: stats.somersd(a, b).statistic,
    weighted_tau: lambda a, b: stats.weightedtau(a, b).statistic,
    spearman: lambda a, b: stats.spearmanr(a, b).statistic,
}

# Few distinct levels, so that ties on one side, on both sides and constant vectors all occur.
tied_pairs = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)))
)


def ragged(rng: np.random.Generator, lengths: list[int], levels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    left, right = rng.integers(0, levels, (2, offsets[-1])).astype(float)
    return left, right, offsets


def test_tau_b_by_hand() -> None:
    # left [1,1,2,3], right [1,2,3,3]: of 6 pairs one is tied left (0,1), one right (2,3), the other four
    # are concordant: S = 4, untied 5 and 5, tau-b = 4/5.
    assert kendall_tau_b([1, 1, 2, 3], [1, 2, 3, 3]).values == pytest.approx([0.8], abs=1e-15)


def test_sparse_attention_scores_below_one_though_nothing_conflicts() -> None:
    # Pairs: 28. Attention separates .7 from 7 others and .3 from 6: 13. All concordant: 13/sqrt(13*28).
    attention, reference = [0.7, 0.3, 0, 0, 0, 0, 0, 0], np.arange(8.0, 0, -1)
    assert kendall_tau_b(attention, reference).values == pytest.approx([np.sqrt(13 / 28)], abs=1e-15)
    assert somers_d(attention, reference).values == [1.0]
    assert tie_share(attention).values == pytest.approx([15 / 28], abs=1e-15)


def test_somers_asks_about_pairs_the_left_separates() -> None:
    # left [1,1,1,2] separates three pairs, all concordant with [1,2,3,4]: 3/3. Exchanged: 3 of 6 pairs.
    assert somers_d([1, 1, 1, 2], [1, 2, 3, 4]).values == [1.0]
    assert somers_d([1, 2, 3, 4], [1, 1, 1, 2]).values == [0.5]


def test_weighted_tau_by_hand() -> None:
    # a = [3,2,1], b = [2,3,1]. Signs over pairs 01,02,12: a +++, b -++.
    # Ranks from a: 0,1,2, weights 1, 1/2, 1/3; pairs weigh 3/2, 4/3, 5/6: (-3/2+4/3+5/6)/(11/3) = 2/11.
    # Ranks from b: 1,0,2, weights 1/2, 1, 1/3; pairs weigh 3/2, 5/6, 4/3: the same sum. Mean 2/11.
    assert weighted_tau([3, 2, 1], [2, 3, 1]).values == pytest.approx([2 / 11], abs=1e-15)


@pytest.mark.parametrize("correlation", CORRELATIONS)
@settings(max_examples=150, deadline=None)
@given(pair=tied_pairs)
def test_equal_to_scipy_with_ties(correlation: Callable[..., Measured], pair: tuple[list[int], list[int]]) -> None:
    left, right = pair
    found = correlation(left, right)
    if len(set(left)) == 1 or len(set(right)) == 1:
        assert not found.defined.any()
        assert "constant" in found.reasons[0]
    else:
        assert found.values == pytest.approx([ORACLES[correlation](left, right)], abs=1e-12)


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize("levels", [2, 5, 10_000])
def test_packed_ragged_equals_one_call_an_instance(correlation: Callable[..., Measured], levels: int) -> None:
    rng = np.random.default_rng(levels)
    lengths = [1, 2, 3, 3, 7, 7, 7, 40, 5, 1, 12]
    left, right, offsets = ragged(rng, lengths, levels)
    together = correlation(left, right, offsets)
    for i in range(len(lengths)):
        own = slice(offsets[i], offsets[i + 1])
        alone = correlation(left[own], right[own])
        np.testing.assert_array_equal(together.values[i], alone.values[0])
        assert together.reasons[i] == alone.reasons[0]


@pytest.mark.parametrize("correlation", [kendall_tau_b, somers_d, weighted_tau])
@pytest.mark.parametrize("levels", [7, 10**9])
def test_long_instances_take_the_sorting_route_and_agree(correlation: Callable[..., Measured], levels: int) -> None:
    rng = np.random.default_rng(3)
    left, right, offsets = ragged(rng, [128, 129, PAIRWISE_LIMIT, PAIRWISE_LIMIT + 1], levels)
    found = correlation(left, right, offsets).values
    for i, value in enumerate(found):
        a, b = (column[offsets[i] : offsets[i + 1]] for column in (left, right))
        if correlation is somers_d:  # scipy's builds a contingency table: count by hand instead
            signs = pair_signs(np.stack([a, b])).astype(float)
            expected = signs[0] @ signs[1] / (signs[0] @ signs[0])
        else:
            expected = ORACLES[correlation](a, b)
        assert value == pytest.approx(expected, abs=1e-12)


def test_the_two_counting_routes_agree_exactly() -> None:
    rng = np.random.default_rng(11)
    length = PAIRWISE_LIMIT + 40
    for levels in (2, 30, 10**9):
        left, right = rng.integers(0, levels, (2, length)).astype(float)
        counts = pair_counts(left, right, np.array([0, length]))
        signs = pair_signs(np.stack([left, right])).astype(float)
        assert counts.score[0] == signs[0] @ signs[1]
        assert counts.untied_left[0] == np.abs(signs[0]).sum()
        assert counts.untied_right[0] == np.abs(signs[1]).sum()
        assert counts.pairs[0] == length * (length - 1) / 2


def test_pair_signs_order() -> None:
    values = np.array([[2.0, 1.0, 1.0, 5.0]])
    p, q = np.triu_indices(4, 1)
    np.testing.assert_array_equal(pair_signs(values), np.sign(values[:, p] - values[:, q]))


@pytest.mark.parametrize("correlation", CORRELATIONS)
@settings(max_examples=60, deadline=None)
@given(pair=tied_pairs, seed=st.integers(0, 1000))
def test_bounds_and_invariances(
    correlation: Callable[..., Measured], pair: tuple[list[int], list[int]], seed: int
) -> None:
    left, right = (np.array(vector, dtype=float) for vector in pair)
    found = correlation(left, right)
    rising = correlation(np.exp(left), 3 * right**3 - 5)
    order = np.random.default_rng(seed).permutation(len(left))
    moved = correlation(left[order], right[order])
    assert found.reasons == rising.reasons == moved.reasons
    if found.defined[0]:
        assert -1 <= found.values[0] <= 1
        assert rising.values == pytest.approx(found.values, abs=1e-13)
        assert moved.values == pytest.approx(found.values, abs=1e-13)


@pytest.mark.parametrize("correlation", SYMMETRIC)
@settings(max_examples=50, deadline=None)
@given(pair=tied_pairs)
def test_symmetric_members(correlation: Callable[..., Measured], pair: tuple[list[int], list[int]]) -> None:
    forth, back = correlation(*pair), correlation(pair[1], pair[0])
    if forth.defined[0]:
        assert forth.values == pytest.approx(back.values, abs=1e-13)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_perfect_and_reversed_orders_are_exactly_one(correlation: Callable[..., Measured]) -> None:
    for length in (2, 3, 17, 100):
        vector = np.random.default_rng(length).permutation(length).astype(float)
        assert correlation(vector, vector).values[0] == pytest.approx(1, abs=1e-15)
        if correlation is not weighted_tau:
            assert correlation(vector, -vector).values == [-1.0]


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_undefined_has_a_reason_with_the_names_of_the_inputs(correlation: Callable[..., Measured]) -> None:
    attention = [0.25] * 4 + [0.1, 0.2, 0.3, 0.4] + [1.0] + [0.25] * 4
    reference = [1.0, 2, 3, 4] + [0.5] * 4 + [2.0] + [7.0] * 4
    found = correlation(attention, reference, [0, 4, 8, 9, 13], names=("attention", "gradient"))
    assert found.reasons == (
        "constant attention",
        "constant gradient",
        "fewer than two positions",
        "constant attention and constant gradient",
    )
    assert np.isnan(found.mean())


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_rows_layout_equals_packed(correlation: Callable[..., Measured]) -> None:
    left, right = np.random.default_rng(0).random((2, 5, 6))
    rows = correlation(left, right).values
    np.testing.assert_array_equal(rows, correlation(left.ravel(), right.ravel(), np.arange(6) * 6).values)


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize(
    ("left", "right", "offsets", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], None, "must agree"),
        ([1.0, np.nan], [1.0, 2.0], None, "attention is nan"),
        ([1.0, 2.0], [1.0, np.inf], None, "information is inf"),
        ([], [], None, "empty"),
        (1.0, 2.0, None, "shape"),
        ([1.0, 2.0], [1.0, 2.0], [0, 1], "rise strictly"),
        ([1.0, 2.0], [1.0, 2.0], [0, 0, 2], "rise strictly"),
        ([1.0, 2.0], [1.0, 2.0], [0.0, 2.0], "integers"),
    ],
)
def test_bad_input_is_named(
    correlation: Callable[..., Measured], left: object, right: object, offsets: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        correlation(left, right, offsets)


def test_tie_share_by_hand_and_ragged() -> None:
    # [1,1,1,2]: 3 of 6 pairs tied. Equal values in neighbouring instances are not ties.
    found = tie_share([1, 1, 1, 2, 2, 3, 5, 5, 5], [0, 4, 6, 7, 9])
    np.testing.assert_array_equal(found.values, [0.5, 0.0, np.nan, 1.0])
    assert found.reasons[2] == "fewer than two positions"


def test_smallest_p_is_what_an_exact_test_of_a_perfect_order_says() -> None:
    for n in (2, 3, 4, 5, 8):
        assert smallest_p(n) == pytest.approx(stats.kendalltau(range(n), range(n), method="exact").pvalue)
    assert smallest_p(1) == 1.0
    with pytest.raises(ValueError, match="at least one position"):
        smallest_p(0)
