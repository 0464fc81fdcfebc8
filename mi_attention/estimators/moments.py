"""Additive sufficient statistics of labelled rows, by cell of the two fold assignments.

Every training part is a sum of cells, so one pass over the rows serves all fits of a cross-fitted
discriminant, whatever the number of folds and however large the unit.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.rows import StandardisedRows
from mi_attention.interface import BoolArray, IntArray

__all__ = ["ClassMoments", "Parts", "moments_of_parts"]


@dataclass(frozen=True, eq=False)
class Parts:
    """The training parts of one unit: the complements of ``folds`` folds, then the two halves.

    Attributes:
        fold: ``(n,)`` which of ``folds`` folds holds a row out.
        half: ``(n,)`` which half of an independent split in two holds a row out.
        folds: Number of folds F; there are P = F + 2 parts.
    """

    fold: IntArray
    half: IntArray
    folds: int

    @property
    def count(self) -> int:
        """P."""
        return self.folds + 2

    def training(self, start: int, stop: int) -> BoolArray:
        """``(P, stop − start)``: True where a part trains on a row."""
        by_fold = self.fold[None, start:stop] != np.arange(self.folds)[:, None]
        by_half = self.half[None, start:stop] != np.arange(2)[:, None]
        return np.concatenate([by_fold, by_half])

    def of_cells(self) -> BoolArray:
        """``(P, 2F)``: True where a part trains on cell ``2·fold + half``."""
        fold, half = np.divmod(np.arange(2 * self.folds), 2)
        return np.concatenate([fold[None] != np.arange(self.folds)[:, None], half[None] != np.arange(2)[:, None]])


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Moments of the rows of ``P`` training parts.

    Attributes:
        counts: ``(P, C)`` rows of each class.
        sums: ``(P, C, d)`` sums of the rows of each class.
        scatter: ``(P, d, d)`` sum of outer products of all rows, about the origin.
    """

    counts: NDArray[np.float64]
    sums: NDArray[np.float64]
    scatter: NDArray[np.float64]


def moments_of_parts(rows: StandardisedRows, codes: IntArray, n_classes: int, parts: Parts | None) -> ClassMoments:
    """Moments of every training part in one pass over the rows.

    Args:
        rows: The unit's standardised states.
        codes: ``(n,)`` classes.
        n_classes: C.
        parts: The training parts, or None for one part that holds all rows.

    Returns:
        Moments of the ``P`` parts; memory O(folds · d²), whatever n is.
    """
    cells = 1 if parts is None else 2 * parts.folds
    width = rows.width
    counts = np.zeros((cells, n_classes))
    sums = np.zeros((cells, n_classes, width))
    scatter = np.zeros((cells, width, width))
    for start, stop, block in rows.blocks():
        cell = np.zeros(stop - start, dtype=np.int64)
        if parts is not None:
            cell = 2 * parts.fold[start:stop] + parts.half[start:stop]
        order = np.argsort(cell * n_classes + codes[start:stop], kind="stable")
        ordered, owner, label = block[order], cell[order], codes[start:stop][order]
        bounds = np.searchsorted(owner, np.arange(cells + 1))
        for index, (left, right) in enumerate(itertools.pairwise(bounds)):
            piece = ordered[left:right]
            indicator = (label[left:right, None] == np.arange(n_classes)).astype(np.float64)
            counts[index] += indicator.sum(axis=0)
            sums[index] += indicator.T @ piece
            scatter[index] += piece.T @ piece
    if parts is None:
        return ClassMoments(counts=counts, sums=sums, scatter=scatter)
    member = parts.of_cells().astype(np.float64)
    return ClassMoments(
        counts=member @ counts,
        sums=np.tensordot(member, sums, axes=1),
        scatter=np.tensordot(member, scatter, axes=1),
    )
