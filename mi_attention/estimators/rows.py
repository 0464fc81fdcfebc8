"""Rows of one unit, centred and scaled column by column, read in blocks however large they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.samples import check_finite, row_blocks
from mi_attention.interface import FloatArray

__all__ = ["StandardisedRows", "standardise"]

# Units up to this many numbers (64 MiB) are standardised once and kept; larger ones block by block.
KEPT_NUMBERS = 2**23
# Rows whose mean is taken off first.
SHIFT_ROWS = 64
# A column whose variance is less than this share of its square after that is suspected of being constant.
ROUNDING = 1e-12
# Passes over rows are made in so many pieces of a usual block, which stay in the cache.
CHUNKS = 8


@dataclass(frozen=True, eq=False)
class StandardisedRows:
    """A view of ``(n, d)`` states with mean 0 and standard deviation 1 in every column.

    A column whose values are all equal becomes exactly 0.

    Attributes:
        source: ``(n, d)`` states as given; may be memory-mapped and is never written.
        centre: ``(d,)`` float64 column means.
        scale: ``(d,)`` float64 column standard deviations, 1 for constant columns.
        constant: True where no column varies.
        kept: ``(n, d)`` float64 standardised rows where they fit, else None.
    """

    source: FloatArray
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    constant: bool
    kept: NDArray[np.float64] | None

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.source.shape[0])

    @property
    def width(self) -> int:
        """Columns."""
        return int(self.source.shape[1])

    def blocks(self, width: int = 0) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Start, stop and standardised rows of consecutive blocks.

        Args:
            width: Numbers held per row while a block is worked on, where that is more than ``d``.
        """
        for start, stop in row_blocks(self.n, max(self.width, width)):
            if self.kept is not None:
                yield start, stop, self.kept[start:stop]
            else:
                yield start, stop, _transform(self.source[start:stop], self.centre, self.scale)


def standardise(x: FloatArray) -> StandardisedRows:
    """Centre and scale states by column, in float64 and in blocks.

    Statistics come from deviations from the mean of the first few rows, so that an offset of 1e8 costs nothing but
    the digits the input has lost already.

    Raises:
        ValueError: NaN or infinite entries, naming the row.
    """
    n, width = x.shape
    shift = np.asarray(x[:SHIFT_ROWS], dtype=np.float64).mean(axis=0)
    kept = np.empty((n, width)) if n * width <= KEPT_NUMBERS else None
    total, square = np.zeros(width), np.zeros(width)
    # NaN and infinity reach the sums, and are named then.
    with np.errstate(invalid="ignore"):
        for start, stop in row_blocks(n, CHUNKS * width):
            deviation = np.subtract(
                x[start:stop], shift, dtype=np.float64, out=None if kept is None else kept[start:stop]
            )
            total += deviation.sum(axis=0)
            square += np.einsum("nd,nd->d", deviation, deviation)
    if not (np.isfinite(total).all() and np.isfinite(square).all()):
        check_finite(x)
    mean = total / n
    variance = np.maximum(square / n - np.square(mean), 0.0)
    still = _constant_columns(x, variance <= ROUNDING * square / n)
    centre = np.where(still, np.asarray(x[0], dtype=np.float64), shift + mean)
    # A column that varies by less than rounding (variance 0 although not all equal) counts as constant too.
    still |= variance == 0
    scale = np.where(still, 1.0, np.sqrt(variance))
    if kept is not None:
        moved = np.where(still, centre - shift, mean)
        for start, stop in row_blocks(n, CHUNKS * width):
            kept[start:stop] -= moved
            kept[start:stop] /= scale
    return StandardisedRows(source=x, centre=centre, scale=scale, constant=bool(still.all()), kept=kept)


def _constant_columns(x: FloatArray, suspected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``(d,)`` columns whose values are all equal, looked for among those suspected."""
    still = suspected.copy()
    for start, stop in row_blocks(len(x), x.shape[1]):
        if not still.any():
            break
        still[still] = (x[start:stop, still] == x[0, still]).all(axis=0)
    return still


def _transform(block: FloatArray, centre: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    moved = np.subtract(block, centre, dtype=np.float64)
    moved /= scale
    return moved
