import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mi_attention.estimators.folds import groups_per_class, majority_class, renumber_by_appearance, stratified_folds


@given(st.lists(st.integers(0, 3), min_size=8, max_size=80), st.integers(2, 6), st.integers(0, 5))
def test_classes_and_folds_are_balanced(labels, n_folds, seed):
    codes = np.array(labels)
    fold = stratified_folds(codes, None, n_folds, np.random.default_rng(seed))
    sizes = np.bincount(fold, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1
    for label in np.unique(codes):
        share = np.bincount(fold[codes == label], minlength=n_folds)
        assert share.max() - share.min() <= 1


def test_groups_stay_whole_and_spread_by_class():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(60), 5))
    codes = (groups % 3 == 0).astype(int)
    fold = stratified_folds(codes, groups, 10, rng)
    for group in range(60):
        assert len(np.unique(fold[groups == group])) == 1
    per_class = [
        len({(f, g) for f, g, c in zip(fold, groups, codes, strict=True) if c == 1 and f == k}) for k in range(10)
    ]
    assert per_class == [2] * 10  # 20 groups of class 1 over 10 folds


def test_names_of_classes_and_groups_do_not_matter():
    codes = np.array([2, 0, 0, 1, 2, 1, 0, 1, 2, 2])
    groups = np.arange(10) // 2
    swap = np.array([1, 2, 0])
    for given_groups in (None, groups):
        renamed = None if given_groups is None else 9 - given_groups
        first = stratified_folds(codes, given_groups, 3, np.random.default_rng(4))
        second = stratified_folds(swap[codes], renamed, 3, np.random.default_rng(4))
        np.testing.assert_array_equal(first, second)


def test_the_seed_matters():
    codes = np.arange(100) % 2
    first, second = (stratified_folds(codes, None, 10, np.random.default_rng(s)) for s in (0, 1))
    assert (first != second).any()


def test_small_pieces_by_hand():
    np.testing.assert_array_equal(renumber_by_appearance(np.array([5, 2, 5, 9])), [0, 1, 0, 2])
    np.testing.assert_array_equal(majority_class(np.array([0, 1, 1, 0]), np.array([0, 0, 0, 1])), [1, 0])
    np.testing.assert_array_equal(groups_per_class(np.array([0, 1, 1, 0]), np.array([0, 0, 0, 1])), [2, 1])


@pytest.mark.parametrize("n_folds", [2, 10])
def test_a_class_with_two_groups_is_in_every_training_part(n_folds):
    codes = np.array([0] * 30 + [1] * 2)
    fold = stratified_folds(codes, None, n_folds, np.random.default_rng(0))
    assert all((codes[fold != k] == 1).any() for k in range(n_folds))
