"""Rows of one unit, centred and scaled column by column, read in blocks however large they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.samples import check_finite, row_blocks
from mi_attention.interface import FloatArray, IntArray

__all__ = ["StandardisedRows", "standardise"]

# Units up to this many numbers (64 MiB) are standardised once and kept; larger ones block by block.
KEPT_NUMBERS = 2**23
# Rows whose mean is taken off first.
SHIFT_ROWS = 64
# A column whose variance is less than this share of its square after that is suspected of being constant.
ROUNDING = 1e-12
# Sums of squares beyond these have lost digits to the ends of the floating range, or will.
TRUSTED_SQUARES = (1e-250, 1e250)
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
        exponent: ``(d,)`` powers of two that columns are divided by while they are worked on, 0 for most; None where
            no column is near the ends of the floating range.
    """

    source: FloatArray
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    constant: bool
    kept: NDArray[np.float64] | None
    exponent: IntArray | None = None

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
                yield start, stop, _transform(self.source[start:stop], self.centre, self.scale, self.exponent)


@dataclass(frozen=True, eq=False)
class _Statistics:
    """Of the columns of some rows.

    Attributes:
        centre: ``(d,)`` means.
        scale: ``(d,)`` standard deviations, 1 for constant columns.
        moved: ``(d,)`` means of ``kept``.
        still: ``(d,)`` columns that do not vary.
        doubtful: ``(d,)`` columns that vary and whose squares leave the range in which sums of squares are exact.
        kept: ``(n, d)`` deviations from the mean of the first rows, where they fit.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    moved: NDArray[np.float64]
    still: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]
    kept: NDArray[np.float64] | None


def standardise(x: FloatArray) -> StandardisedRows:
    """Centre and scale states by column, in float64 and in blocks.

    Statistics come from deviations from the mean of the first few rows, so that an offset of 1e8 costs nothing but
    the digits the input has lost already. Columns whose squares would over- or underflow are divided by a power of two
    first, which changes no digit.

    Raises:
        ValueError: NaN or infinite entries, naming the row.
    """
    exponent = None
    # NaN, infinity and what overflows reach the sums, which tell.
    with np.errstate(invalid="ignore", over="ignore"):
        found = _statistics(x, None)
    if found.doubtful.any():
        check_finite(x)
        exponent = _exponents(x, found.doubtful)
        found = _statistics(x, exponent)
    centre, scale, kept = found.centre, found.scale, found.kept
    if kept is not None:
        for start, stop in row_blocks(len(kept), CHUNKS * x.shape[1]):
            kept[start:stop] -= found.moved
            kept[start:stop] /= scale
    if exponent is not None:
        centre = np.ldexp(centre, exponent)
        # That of a column of subnormal numbers may round to 0.
        deviation = np.maximum(
            np.ldexp(scale, np.where(found.still, 0, exponent)), np.finfo(np.float64).smallest_subnormal
        )
        scale = np.where(found.still, 1.0, deviation)
    return StandardisedRows(
        source=x, centre=centre, scale=scale, constant=bool(found.still.all()), kept=kept, exponent=exponent
    )


def _statistics(x: FloatArray, exponent: IntArray | None) -> _Statistics:
    """Statistics of the columns, each divided by 2 to the power of its ``exponent (d,)`` if there are such."""
    n, width = x.shape
    kept = np.empty((n, width)) if n * width <= KEPT_NUMBERS else None
    total, square = np.zeros(width), np.zeros(width)
    shift = np.asarray(_divided(x[:SHIFT_ROWS], exponent), dtype=np.float64).mean(axis=0)
    for start, stop in row_blocks(n, CHUNKS * width):
        deviation = np.subtract(
            _divided(x[start:stop], exponent),
            shift,
            dtype=np.float64,
            out=None if kept is None else kept[start:stop],
        )
        total += deviation.sum(axis=0)
        square += np.einsum("nd,nd->d", deviation, deviation)
    mean = total / n
    variance = np.maximum(square / n - np.square(mean), 0.0)
    still = _constant_columns(x, variance <= ROUNDING * square / n)
    doubtful = ~still & ~((square >= TRUSTED_SQUARES[0]) & (square <= TRUSTED_SQUARES[1]))
    first = np.asarray(_divided(x[:1], exponent), dtype=np.float64)[0]
    centre = np.where(still, first, shift + mean)
    moved = np.where(still, centre - shift, mean)
    # A column that varies by less than rounding (variance 0 although not all equal) counts as constant too.
    still |= variance == 0
    scale = np.where(still, 1.0, np.sqrt(variance))
    return _Statistics(centre=centre, scale=scale, moved=moved, still=still, doubtful=doubtful, kept=kept)


def _exponents(x: FloatArray, chosen: NDArray[np.bool_]) -> IntArray:
    """``(d,)`` powers of two that bring the largest entry of each chosen column to between 1/2 and 1; 0 for others."""
    largest = np.zeros(x.shape[1])
    for start, stop in row_blocks(*x.shape):
        np.maximum(largest, np.abs(x[start:stop]).max(axis=0), out=largest)
    return np.asarray(np.where(chosen, np.frexp(largest)[1], 0), dtype=np.int64)


def _divided(block: FloatArray, exponent: IntArray | None) -> FloatArray:
    """A block as it is, or in float64 divided by powers of two."""
    return block if exponent is None else np.ldexp(block.astype(np.float64), -exponent)


def _constant_columns(x: FloatArray, suspected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``(d,)`` columns whose values are all equal, looked for among those suspected."""
    still = suspected.copy()
    for start, stop in row_blocks(len(x), x.shape[1]):
        if not still.any():
            break
        still[still] = (x[start:stop, still] == x[0, still]).all(axis=0)
    return still


def _transform(
    block: FloatArray, centre: NDArray[np.float64], scale: NDArray[np.float64], exponent: IntArray | None
) -> NDArray[np.float64]:
    # Divided by powers of two, differences at the end of the range and quotients of subnormal numbers are exact.
    moved = np.subtract(_divided(block, exponent), _divided(centre, exponent), dtype=np.float64)
    moved /= _divided(scale, exponent)
    return moved
