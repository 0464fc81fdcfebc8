"""Neighbours where rows share instances: own rows are left out, and the others count for what they are worth.

Rows of a group that come as neighbours all together, as near copies do, are one thing and not several, so that psi of a
count of rows is biased. Counts of groups are biased where rows of a group have nothing in common: a large ball then has
a row of every group. Hence rows are counted, and psi is taken of the rows over their *design effect*: 1 where rows of a
group meet in a ball as often as those of different groups do, the rows of a group where they come all together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.neighbours import closed, is_zero, opened
from mi_attention.interface import FloatArray, IntArray

__all__ = [
    "Balls",
    "GroupedColumns",
    "SpaceBalls",
    "design_effects",
    "in_steps",
    "likeness",
]


@dataclass(frozen=True, eq=False)
class Balls:
    """How the rows in the ball of each centre share groups; the centre's own group is left out.

    Attributes:
        rows: ``(b,)`` rows inside.
        hit: ``(b,)`` groups that have a row inside.
        pairs: ``(b,)`` ordered pairs of rows inside that share a group.
        whole: ``(b,)`` the same if all other rows of these rows' groups were inside as well.
    """

    rows: FloatArray
    hit: FloatArray
    pairs: FloatArray
    whole: FloatArray

    @classmethod
    def joined(cls, blocks: Sequence[Balls]) -> Balls:
        """Balls of all blocks of centres."""
        return cls(*(np.concatenate([getattr(balls, part.name) for balls in blocks]) for part in fields(cls)))

    def of(self, centres: NDArray[np.bool_]) -> Balls:
        """Balls of some centres."""
        return Balls(self.rows[centres], self.hit[centres], self.pairs[centres], self.whole[centres])


@dataclass(frozen=True, eq=False)
class GroupedColumns:
    """Columns of a block of distances put in the order of their groups.

    Attributes:
        order: ``(n,)`` row of each column.
        group: ``(n,)`` group of each row.
        starts: ``(G,)`` first column of each group.
        sizes: ``(G,)`` rows of each group.
    """

    order: IntArray
    group: IntArray
    starts: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, group: IntArray) -> GroupedColumns:
        """Columns for groups numbered from 0 without gaps."""
        sizes = np.bincount(group)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        return cls(order=np.argsort(group, kind="stable"), group=group, starts=starts, sizes=sizes)

    @property
    def number(self) -> int:
        """Groups."""
        return len(self.starts)

    @property
    def candidates(self) -> IntArray:
        """``(n,)`` rows of other groups than each row's own."""
        return np.asarray(len(self.order) - self.sizes[self.group])

    @property
    def chance(self) -> FloatArray:
        """``(n,)`` share of the pairs of a row's candidates that share a group."""
        pairs = self.sizes * (self.sizes - 1.0)
        return np.asarray((pairs.sum() - pairs[self.group]) / np.maximum(self.candidates * (self.candidates - 1.0), 1))

    def exclude_own(self, distance: NDArray[np.float64], start: int, stop: int) -> None:
        """Put rows of the row's own group infinitely far away."""
        distance[self.group[start:stop, None] == self.group[self.order]] = np.inf

    def nearest(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """``(b, G)`` distance to the nearest row of each group."""
        return np.asarray(np.minimum.reduceat(distance, self.starts, axis=1))

    def balls(self, within: NDArray[np.bool_]) -> Balls:
        """Balls that hold the rows ``within (b, n)``."""
        counts = np.add.reduceat(within, self.starts, axis=1, dtype=np.float64)
        rows = counts.sum(axis=1)
        return Balls(
            rows=rows,
            hit=np.count_nonzero(counts, axis=1).astype(np.float64),
            pairs=np.einsum("bg,bg->b", counts, counts) - rows,
            whole=counts @ (self.sizes - 1.0),
        )


@dataclass(eq=False)
class SpaceBalls:
    """The balls of all centres in one space, gathered block by block.

    Attributes:
        columns: Of the space's rows.
        inside: Open balls.
        further: Open balls that tell how rows are alike where ``inside`` has none, at k = 1.
        cells: Closed balls of centres whose radius is 0.
        closed_rows: ``(b,)`` rows in the closed balls.
    """

    columns: GroupedColumns
    inside: list[Balls] = field(default_factory=list)
    further: list[Balls] = field(default_factory=list)
    cells: list[Balls] = field(default_factory=list)
    closed_rows: list[FloatArray] = field(default_factory=list)

    def add(
        self,
        distance: NDArray[np.float64],
        radius: NDArray[np.float64],
        further: NDArray[np.float64] | None = None,
    ) -> None:
        """Count one block of centres ``(b, n)`` with radii ``(b,)``, and perhaps further radii."""
        within = distance <= closed(radius)[:, None]
        self.closed_rows.append(np.count_nonzero(within, axis=1).astype(np.float64))
        self.cells.append(self.columns.balls(within[is_zero(radius)]))
        self.inside.append(self.columns.balls(distance <= opened(radius)[:, None]))
        if further is not None:
            self.further.append(self.columns.balls(distance <= opened(further)[:, None]))

    def rows(self) -> NDArray[np.float64]:
        """``(n,)`` rows in the open balls."""
        return np.concatenate([balls.rows for balls in self.inside])

    def rows_with_rim(self) -> NDArray[np.float64]:
        """``(n,)`` rows in the closed balls."""
        return np.concatenate(self.closed_rows)

    def effects(
        self, at_zero: NDArray[np.bool_], chance: FloatArray, more: FloatArray | float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``(n,)`` likeness and ``(n,)`` design effects; centres with and without a radius are pooled apart.

        Args:
            at_zero: ``(n,)`` centres whose radius is 0.
            chance: ``(n,)`` as in ``GroupedColumns``, of the centres.
            more: As in ``likeness``, for centres with a radius.
        """
        alike, effect = np.zeros(len(at_zero)), np.ones(len(at_zero))
        rim = np.broadcast_to(more, len(at_zero))
        shown = Balls.joined(self.further or self.inside).of(~at_zero)
        for centres, balls, stopping in (
            (~at_zero, shown, rim),
            (at_zero, Balls.joined(self.cells), np.zeros(len(rim))),
        ):
            pooled = likeness(balls, chance[centres], stopping[centres])
            alike[centres] = pooled
            effect[centres] = design_effects(balls, pooled)
        return alike, effect


def likeness(balls: Balls, chance: FloatArray, more: FloatArray | float = 0.0) -> float:
    """By how much rows inside share a group more often than by chance, as a part of what they can: 0 to 1.

    Pooled over centres, since a ball of few rows says nothing of its own.

    Args:
        balls: Of the centres that are pooled; empty ones count for nothing.
        chance: ``(b,)`` as in ``GroupedColumns``.
        more: ``(b,)`` rows on the rim for which a ball was stopped that was to hold so many groups: under such a rule
            pairs inside reach their expectation at the rows inside and these. Default none.
    """
    some = balls.rows > 0
    rows, met = balls.rows[some], (balls.rows + more)[some]
    expected = chance[some] * met * (met - 1.0)
    possible = float(((balls.whole[some] - expected) / rows).sum())
    excess = float(((balls.pairs[some] - expected) / rows).sum())
    return min(1.0, excess / possible) if possible > 0 and excess > 0 else 0.0


def design_effects(balls: Balls, alike: float) -> NDArray[np.float64]:
    """``(b,)`` rows that count as one independent row in each ball, at least 1: Kish's design effect.

    Args:
        balls: Of all centres.
        alike: Likeness of their rows.
    """
    some = balls.rows > 0
    if alike == 0 or not some.any():
        return np.ones(len(balls.rows))
    # Of all balls together: a few groups of unequal sizes do not tell what a group has on average.
    others = balls.whole[some].sum() / balls.rows[some].sum()
    return np.asarray(1.0 + alike * others * _relative_fullness(balls))


def _relative_fullness(balls: Balls) -> NDArray[np.float64]:
    """``(b,)`` rows per group hit in a ball against all balls, as far as that is more than chance among few groups.

    Where balls differ in size, those twice as large have twice the rows of each group. The mean of few groups is drawn
    to the mean of all balls by the share of its variance that rows of groups within one ball already have.
    """
    relative = np.ones(len(balls.rows))
    some = balls.rows > 0
    rows, hit = balls.rows[some], balls.hit[some]
    freedom = float((hit - 1).sum())
    if freedom <= 0:
        return relative
    each = rows / hit
    noise = float((balls.pairs[some] + rows - rows * each).sum()) / freedom / hit
    between = max(0.0, float(each.var() - noise.mean()))
    weight = between / np.maximum(between + noise, 1e-12)
    relative[some] = 1.0 + weight * (each / each.mean() - 1.0)
    return relative


def in_steps(counts: FloatArray) -> NDArray[np.float64]:
    """Counts to 2⁻³⁰, so that sums of them are exact and a rim of one row is known for that."""
    return np.asarray(np.round(counts * 2.0**30) / 2.0**30)
