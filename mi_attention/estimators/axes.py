"""Rows along their principal axes, long tails cut off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.rows import KEPT_NUMBERS, StandardisedRows
from mi_attention.estimators.samples import row_blocks

__all__ = [
    "ROWS_FOR_ALL",
    "ROWS_FOR_MOST",
    "Axes",
    "PrincipalRows",
    "are_few",
    "leading_rows",
    "leading_widths",
    "principal_rows",
]

# Standard deviations at which a coordinate is cut. The covariance of a class is a mean of squares: with t(3) tails a
# few rows decide it, and hide any difference between classes. Gaussian coordinates lose next to nothing.
TAIL = 3.5
# Axes with less than this share of the mean variance are rounding, not data.
NEGLIGIBLE = 1e-9
# Axes stand out from the rest with more than this multiple of the median variance; estimated from twice as many rows as
# columns, the largest of equal variances comes to 3.5 medians.
STANDS_OUT = 4.0
# In fewer rows a column than this, all is read along the axes that stand out too: 2,000 rows of 128 columns just have.
ROWS_FOR_MOST = 16
# And in fewer than this along the larger part of the axes, and linearly unless something else is better: along some
# direction the covariances of two classes then differ by chance by as much as where classes are antipodal.
ROWS_FOR_ALL = 8
# Of the axes, in such few rows. On 19 draws 1 to 3 of lin, mixed, xor, heavy and all4 (``tests/benchmarks/designs.py``,
# 4 of them at (128, 2000), the others at d = 256), on which they were picked, tau is .56 along all axes and .73 with
# these; three quarters and .4 beside them added .01.
LEADING_SHARES = (0.6, 0.5)
# Variances that differ by less than this share are equal up to rounding.
EQUAL = 1e-4


@dataclass(frozen=True, eq=False)
class Axes:
    """The map from standardised rows to rows along principal axes.

    Attributes:
        rotation: ``(d, k)`` orthonormal principal axes.
        spread: ``(k,)`` standard deviation along each.
    """

    rotation: NDArray[np.float64]
    spread: NDArray[np.float64]

    def cut(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """``(b, k)`` coordinates of standardised rows ``(b, d)``, each within 3.5 standard deviations."""
        limit = TAIL * self.spread
        return np.asarray(np.clip(block @ self.rotation, -limit, limit))


@dataclass(frozen=True, eq=False)
class PrincipalRows:
    """A unit's rows along their principal axes; read in blocks like ``StandardisedRows``.

    Attributes:
        rows: The standardised rows.
        axes: Their principal axes.
        kept: ``(n, k)`` all of them where they fit, else None.
    """

    rows: StandardisedRows
    axes: Axes
    kept: NDArray[np.float64] | None

    @property
    def n(self) -> int:
        """Rows."""
        return self.rows.n

    @property
    def width(self) -> int:
        """Coordinates k."""
        return len(self.axes.spread)

    def blocks(self, width: int = 0) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Start, stop and cut rows of consecutive blocks; ``width`` as for ``StandardisedRows``."""
        if self.kept is None:
            for start, stop, block in self.rows.blocks(width):
                yield start, stop, self.axes.cut(block)
        else:
            for start, stop in row_blocks(self.n, max(self.rows.width, width)):
                yield start, stop, self.kept[start:stop]


def principal_rows(rows: StandardisedRows) -> PrincipalRows:
    """All rows of a unit along their principal axes.

    The axes come from all rows, training and held out: they see states and no labels, so that what is held out stays
    so.
    """
    covariance = np.zeros((rows.width, rows.width))
    for _, _, block in rows.blocks():
        covariance += block.T @ block
    variance, rotation = np.linalg.eigh(covariance / rows.n)
    if variance[-1] <= (1 + EQUAL) * variance[0]:
        # Whitened states have no axes but their columns: those that rounding makes up change with the unit of x.
        rotation = np.eye(rows.width)
    real = variance > NEGLIGIBLE * variance.mean()
    axes = Axes(rotation=rotation[:, real], spread=np.sqrt(variance[real]))
    kept = axes.cut(rows.kept) if rows.kept is not None and rows.n * rows.width <= KEPT_NUMBERS // 2 else None
    return PrincipalRows(rows=rows, axes=axes, kept=kept)


def are_few(rows: PrincipalRows, independent: int) -> bool:
    """Whether so many groups (or rows without groups) are fewer than 8 a column."""
    return independent < ROWS_FOR_ALL * rows.width


def leading_widths(rows: PrincipalRows, independent: int) -> list[int]:
    """How many of the leading axes are worth reading alone, in this few rows, widest first.

    What is estimated along fewer axes needs fewer rows, and what states say moves them more often than not: the axes of
    small variance are the first to leave out. What they hold is lost, so each width is a further reading and not a
    replacement.

    Args:
        rows: All of the rows, along all axes.
        independent: Number of groups, or of rows without groups.

    Returns:
        In fewer than 16 rows a column the number of axes that stand out from the rest (correlated states), where these
        are at most half of all; in fewer than 8 also .6 and half of the axes. Always at least two axes, never all, and
        never some of several of equal variance, among which there is no order (whitened states).
    """
    width = rows.width
    variance = rows.axes.spread**2
    found: set[int] = set()
    if are_few(rows, independent):
        found |= {round(share * width) for share in LEADING_SHARES}
    if independent < ROWS_FOR_MOST * width:
        out = int((variance > STANDS_OUT * np.median(variance)).sum())
        found |= {out} if out <= width / 2 else set()
    larger = variance[1:] > (1 + EQUAL) * variance[:-1]
    return sorted((wide for wide in found if 2 <= wide < width and larger[width - wide - 1]), reverse=True)


def leading_rows(rows: PrincipalRows, width: int) -> PrincipalRows:
    """The rows along so many of the axes, those of largest variance."""
    first = len(rows.axes.spread) - width
    axes = Axes(np.ascontiguousarray(rows.axes.rotation[:, first:]), rows.axes.spread[first:])
    kept = None if rows.kept is None else np.ascontiguousarray(rows.kept[:, first:])
    return PrincipalRows(rows=rows.rows, axes=axes, kept=kept)
