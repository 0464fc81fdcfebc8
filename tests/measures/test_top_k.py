from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.measures import top_k_excess, top_k_overlap


def enumerated(left: list[int], right: list[int], k: int) -> float:
    """Mean overlap over all tie breaks: sort by (score, random priority) for every priority order."""

    def sets(scores: list[int]) -> list[frozenset[int]]:
        size = len(scores)
        return [
            frozenset(sorted(range(size), key=lambda i: (-scores[i], priority[i]))[:k])
            for priority in permutations(range(size))
        ]

    return float(np.mean([len(a & b) / k for a in set_counts(sets(left)) for b in set_counts(sets(right))]))


def set_counts(sets: list[frozenset[int]]) -> list[frozenset[int]]:
    # Every set that can come out does so equally often, so that distinct sets suffice.
    return sorted(set(sets), key=sorted)


def test_by_hand() -> None:
    # Top two of the left: 0 and 1; of the right: 0 and 2: overlap 1/2, chance 2/4.
    left, right = [4, 3, 2, 1], [4, 1, 3, 2]
    assert top_k_overlap(left, right, k=2).values == [0.5]
    assert top_k_excess(left, right, k=2).values == [0.0]
    assert top_k_excess(left, right, k=1).values == [0.75]


def test_ties_at_the_cut_by_hand() -> None:
    # Left: position 0 surely, one of 1, 2, 3 with probability 1/3 each. Right: 0 and 1 surely.
    # Expected overlap (1 + 1/3)/2 = 2/3.
    assert top_k_overlap([0.5, 0.1, 0.1, 0.1], [9, 8, 7, 6], k=2).values == pytest.approx([2 / 3])


@settings(max_examples=40, deadline=None)
@given(
    vectors=st.integers(2, 5).flatmap(
        lambda n: st.tuples(*(st.lists(st.integers(0, 2), min_size=n, max_size=n) for _ in range(2)))
    ),
    k=st.integers(1, 4),
)
def test_expectation_equals_enumeration(vectors: tuple[list[int], list[int]], k: int) -> None:
    left, right = vectors
    found = top_k_overlap(left, right, k=k)
    if k >= len(left):
        assert found.reasons == ("no more positions than k",)
    elif len(set(left)) == 1 or len(set(right)) == 1:
        assert found.reasons[0].startswith("constant")
    else:
        assert found.values == pytest.approx([enumerated(left, right, k)], abs=1e-12)


def test_excess_of_unrelated_orders_has_mean_zero() -> None:
    left, right = np.random.default_rng(0).integers(0, 4, (2, 4000, 9)).astype(float)
    for k in (1, 3, 5):
        values = top_k_excess(left, right, k=k)
        standard_error = values.values[values.defined].std() / np.sqrt(values.defined.sum())
        assert abs(values.mean()) < 4 * standard_error


def test_fraction_is_per_length() -> None:
    # 10 % of 4 is at least one, of 25 is 2.5 → 3, of 40 is 4.
    rng = np.random.default_rng(1)
    for length, k in ((4, 1), (25, 3), (40, 4)):
        left, right = rng.random((2, length))
        assert top_k_overlap(left, right, fraction=0.1).values == top_k_overlap(left, right, k=k).values


def test_ragged_equals_single_and_short_ones_are_undefined() -> None:
    rng = np.random.default_rng(2)
    offsets = np.cumsum([0, 2, 3, 6, 6, 1])
    left, right = rng.integers(0, 3, (2, offsets[-1]))
    found = top_k_excess(left, right, offsets, k=3)
    assert found.reasons[:2] == ("no more positions than k",) * 2
    for i in range(5):
        own = slice(offsets[i], offsets[i + 1])
        np.testing.assert_array_equal(found.values[i], top_k_excess(left[own], right[own], k=3).values[0])


@pytest.mark.parametrize("arguments", [{}, {"k": 1, "fraction": 0.1}, {"k": 0}, {"fraction": 1.0}, {"fraction": 0.0}])
def test_bad_sizes(arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"k|fraction"):
        top_k_overlap([1, 2, 3], [1, 2, 3], **arguments)
