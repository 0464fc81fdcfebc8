"""Folds that keep whole groups together and spread every class over all of them."""

from __future__ import annotations

import numpy as np

from mi_attention.interface import IntArray

__all__ = ["groups_per_class", "majority_class", "rare_class", "renumber_by_appearance", "stratified_folds"]


def renumber_by_appearance(codes: IntArray) -> IntArray:
    """Codes renumbered in the order in which they appear, so that results do not depend on names."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.int64)


def majority_class(codes: IntArray, groups: IntArray) -> IntArray:
    """``(G,)`` the commonest class of each group, the first of equals."""
    classes = int(codes.max()) + 1
    table = np.bincount(groups * classes + codes, minlength=(int(groups.max()) + 1) * classes)
    return np.asarray(table.reshape(-1, classes).argmax(axis=1), dtype=np.int64)


def groups_per_class(codes: IntArray, groups: IntArray | None) -> IntArray:
    """``(C,)`` in how many groups (rows, without groups) each class occurs."""
    if groups is None:
        return np.bincount(codes)
    classes = int(codes.max()) + 1
    pairs = np.unique(groups * classes + codes)
    return np.bincount(pairs % classes, minlength=classes)


def rare_class(groups: IntArray | None) -> str:
    """Why nothing is estimated where a class occurs once, and what to do."""
    if groups is None:
        return "class has fewer than 2 rows: merge or remove it; amounts go to Copula as floats"
    return "class has fewer than 2 groups: merge or remove it, or add instances"


def stratified_folds(codes: IntArray, groups: IntArray | None, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Fold of each row: groups of one class are shuffled and dealt to the folds in turn.

    A class that occurs in at least two groups of its own is in the training part of every fold. The
    assignment depends on ``rng`` and on the order of the rows, not on the names of classes or groups.

    Args:
        codes: ``(n,)`` class of each row.
        groups: ``(n,)`` instance of each row, numbered from 0, or None. Whole groups go to one fold; a group
            with several classes counts as its commonest.
        n_folds: At least 2.
        rng: Source of the shuffle.

    Returns:
        ``(n,)`` int64 in ``[0, n_folds)``.
    """
    codes = renumber_by_appearance(codes)
    pieces = codes if groups is None else majority_class(codes, renumber_by_appearance(groups))
    fold = np.empty(len(pieces), dtype=np.int64)
    # Dealing goes on where the last class stopped, so that fold sizes differ by one at most.
    dealt = 0
    for label in range(int(codes.max()) + 1):
        members = rng.permutation(np.flatnonzero(pieces == label))
        fold[members] = (dealt + np.arange(len(members))) % n_folds
        dealt += len(members)
    return fold if groups is None else fold[renumber_by_appearance(groups)]
