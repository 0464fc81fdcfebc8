"""Rows along their principal axes, long tails cut off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.rows import KEPT_NUMBERS, StandardisedRows
from mi_attention.estimators.samples import row_blocks

__all__ = ["Axes", "PrincipalRows", "leading_rows", "principal_rows"]

# Standard deviations at which a coordinate is cut. The covariance of a class is a mean of squares: with t(3) tails a
# few rows decide it, and hide any difference between classes. Gaussian coordinates lose next to nothing.
TAIL = 3.5
# Axes with less than this share of the mean variance are rounding, not data.
NEGLIGIBLE = 1e-9
# Axes stand out from the rest with more than this multiple of the median variance; estimated from twice as many rows as
# columns, the largest of equal variances comes to 3.5 medians.
STANDS_OUT = 4.0


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
    real = variance > NEGLIGIBLE * variance.mean()
    axes = Axes(rotation=rotation[:, real], spread=np.sqrt(variance[real]))
    kept = axes.cut(rows.kept) if rows.kept is not None and rows.n * rows.width <= KEPT_NUMBERS // 2 else None
    return PrincipalRows(rows=rows, axes=axes, kept=kept)


def leading_rows(rows: PrincipalRows) -> PrincipalRows | None:
    """The rows along the axes that stand out from the rest, where these are at most half of all.

    Correlated states move along few of their directions. What is estimated along these alone needs fewer rows; what the
    others hold is lost, so this is a second reading and not a replacement.

    Returns:
        The rows along those axes; None where fewer than two, or more than half, stand out.
    """
    variance = rows.axes.spread**2
    out = variance > STANDS_OUT * np.median(variance)
    if not 2 <= out.sum() <= len(out) / 2:
        return None
    axes = Axes(rotation=np.ascontiguousarray(rows.axes.rotation[:, out]), spread=rows.axes.spread[out])
    kept = None if rows.kept is None else np.ascontiguousarray(rows.kept[:, out])
    return PrincipalRows(rows=rows.rows, axes=axes, kept=kept)
