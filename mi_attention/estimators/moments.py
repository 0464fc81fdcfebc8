"""Additive sufficient statistics of labelled rows, by cell of the two fold assignments.

Every training part is a sum of cells, so one pass over the rows serves all fits of a cross-fitted
discriminant, whatever the number of folds and however large the unit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.axes import PrincipalRows
from mi_attention.estimators.rows import StandardisedRows
from mi_attention.interface import BoolArray, IntArray

__all__ = ["ClassMoments", "Parts", "moments_of_parts", "split_rows"]

# Numbers of scatter matrices held at once: 8 MiB.
PIECE_NUMBERS = 2**20


@dataclass(frozen=True, eq=False)
class Parts:
    """The training parts of one unit: the complements of ``folds`` folds, of the two halves, of all pairs of nests.

    A nest is a union of folds; a part without two nests gives the rows of one the features from which a model that
    never saw the other can learn.

    Attributes:
        fold: ``(n,)`` which of ``folds`` folds holds a row out.
        half: ``(n,)`` which half of an independent split in two holds a row out.
        folds: Number of folds F.
        nests: Number of nests J; fold f is in nest f mod J. With 0 there are no pairs.
    """

    fold: IntArray
    half: IntArray
    folds: int
    nests: int = 0

    @property
    def main(self) -> int:
        """Parts that are complements of folds and halves, F + 2; they come first."""
        return self.folds + 2

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of nests, in the order of their parts."""
        return list(itertools.combinations(range(self.nests), 2))

    @property
    def count(self) -> int:
        """P = F + 2 + J(J − 1)/2."""
        return self.main + self.nests * (self.nests - 1) // 2

    @property
    def nest(self) -> IntArray:
        """``(n,)`` nest of each row."""
        return np.asarray(self.fold % max(self.nests, 1), dtype=np.int64)

    def training(self, start: int, stop: int) -> BoolArray:
        """``(P, stop − start)``: True where a part trains on a row."""
        return self._training(self.fold[start:stop], self.half[start:stop])

    def of_cells(self) -> BoolArray:
        """``(P, 2F)``: True where a part trains on cell ``2·fold + half``."""
        fold, half = np.divmod(np.arange(2 * self.folds), 2)
        return self._training(fold, half)

    def _training(self, fold: IntArray, half: IntArray) -> BoolArray:
        by_fold = fold[None] != np.arange(self.folds)[:, None]
        by_half = half[None] != np.arange(2)[:, None]
        nest = fold % max(self.nests, 1)
        by_pair = [(nest != one) & (nest != other) for one, other in self.pairs]
        return np.concatenate([by_fold, by_half, np.reshape(by_pair, (-1, len(fold))).astype(bool)])


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Moments of the rows of ``P`` training parts.

    Attributes:
        counts: ``(P, C)`` rows of each class.
        sums: ``(P, C, d)`` sums of the rows of each class.
        cells: ``(cells, d, d)`` sum of outer products of the rows of each cell, about the origin.
        members: ``(P, cells)`` 1 where a part holds a cell, else 0.
    """

    counts: NDArray[np.float64]
    sums: NDArray[np.float64]
    cells: NDArray[np.float64]
    members: NDArray[np.float64]

    @property
    def scatter(self) -> NDArray[np.float64]:
        """``(P, d, d)`` sum of outer products of all rows of each part."""
        return np.tensordot(self.members, self.cells, axes=1)

    def pieces(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
        """Counts, sums and scatter of a few parts at a time: dozens of wide matrices at once would need gigabytes."""
        size = max(1, PIECE_NUMBERS // self.cells[0].size)
        for start in range(0, len(self.members), size):
            some = slice(start, start + size)
            yield self.counts[some], self.sums[some], np.tensordot(self.members[some], self.cells, axes=1)


def split_rows(
    block: NDArray[np.float64], codes: IntArray, n_classes: int, parts: Parts | None, start: int, stop: int
) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
    """Cell, class and rows of every cell and class that occurs among rows ``start`` to ``stop``.

    Args:
        block: ``(stop − start, d)`` those rows.
        codes: ``(stop − start,)`` their classes.
        n_classes: C.
        parts: The training parts, or None for a single cell.
        start: First row.
        stop: One past the last.
    """
    cell = np.zeros(stop - start, dtype=np.int64)
    if parts is not None:
        cell = 2 * parts.fold[start:stop] + parts.half[start:stop]
    key = cell * n_classes + codes
    order = np.argsort(key, kind="stable")
    ordered, owner = block[order], key[order]
    bounds = np.flatnonzero(np.diff(owner, prepend=-1, append=owner[-1] + 1))
    for left, right in itertools.pairwise(bounds):
        yield (*divmod(int(owner[left]), n_classes), ordered[left:right])


def moments_of_parts(
    rows: StandardisedRows | PrincipalRows, codes: IntArray, n_classes: int, parts: Parts | None
) -> ClassMoments:
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
        order = np.argsort(cell, kind="stable")
        bounds = np.searchsorted(cell[order], np.arange(cells + 1))
        # One buffer for the rows of all cells in turn stays in the cache.
        buffer = np.empty((int(np.diff(bounds).max()), width))
        for index, (left, right) in enumerate(itertools.pairwise(bounds)):
            rows_of = order[left:right]
            piece = np.take(block, rows_of, axis=0, out=buffer[: right - left], mode="clip")
            indicator = (codes[start:stop][rows_of] == np.arange(n_classes)[:, None]).astype(np.float64)
            counts[index] += indicator.sum(axis=1)
            sums[index] += indicator @ piece
            scatter[index] += piece.T @ piece
    if parts is None:
        return ClassMoments(counts=counts, sums=sums, cells=scatter, members=np.ones((1, 1)))
    member = parts.of_cells().astype(np.float64)
    return ClassMoments(counts=member @ counts, sums=np.tensordot(member, sums, axes=1), cells=scatter, members=member)
