"""Neighbours where rows share instances: a group is one neighbour, at the distance of its nearest row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import IntArray

__all__ = ["GroupedColumns", "Spread", "spread_correction"]


@dataclass(frozen=True, eq=False)
class GroupedColumns:
    """Columns of a block of distances put in the order of their groups.

    Rows of a group come as neighbours all together where they nearly coincide, so that counts of rows are no counts of
    independent things and psi of them is biased. Counts of groups are: at independence of a label that the rows of a
    group share, Ross's formula over groups is exact for any states whatever.

    Attributes:
        order: ``(n,)`` row of each column.
        group: ``(n,)`` group of each row.
        starts: ``(G,)`` first column of each group.
    """

    order: IntArray
    group: IntArray
    starts: IntArray

    @classmethod
    def of(cls, group: IntArray) -> GroupedColumns:
        """Columns for groups numbered from 0 without gaps."""
        order = np.argsort(group, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(group))[:-1]])
        return cls(order=order, group=group, starts=starts)

    @property
    def number(self) -> int:
        """Groups."""
        return len(self.starts)

    def exclude_own(self, distance: NDArray[np.float64], start: int, stop: int) -> None:
        """Put rows of the row's own group infinitely far away."""
        distance[self.group[start:stop, None] == self.group[self.order]] = np.inf

    def nearest(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """``(b, G)`` distance to the nearest row of each group."""
        return np.asarray(np.minimum.reduceat(distance, self.starts, axis=1))


@dataclass
class Spread:
    """Mean number of rows that a group has in a ball, given that it has one.

    Groups hit and rows hit are proportional only where this number is the same for the balls compared: its logarithm is
    what a digamma of a count of groups lacks to one of rows. Every centre weighs the same, since large balls, which hit
    more groups, also hold more rows of each.

    Attributes:
        total: Sum over centres of rows per group strictly inside.
        centres: Centres that have a group strictly inside.
    """

    total: float = 0.0
    logs: float = 0.0
    centres: int = 0

    def add(self, distance: NDArray[np.float64], nearest: NDArray[np.float64], reach: NDArray[np.float64]) -> None:
        """Count one block of centres with radii ``reach (b,)``."""
        rows, groups = ((apart <= reach[:, None]).sum(axis=1) for apart in (distance, nearest))
        some = groups > 0
        self.total += float((rows[some] / groups[some]).sum())
        self.logs += float(np.log(rows[some] / groups[some]).sum())
        self.centres += int(some.sum())

    @property
    def log(self) -> float | None:
        """Logarithm of the mean; None where no group is strictly inside any ball."""
        return float(np.log(self.total / self.centres)) if self.centres else None

    @property
    def typical_log(self) -> float | None:
        """Half way from ``log`` to the mean of the logarithms.

        The logarithm of a joint ball's few groups can only be taken of their mean over centres. It exceeds the mean of
        logarithms by what centres differ, taken to be half of what they differ in the two marginal spaces together.
        """
        return None if self.log is None else (self.log + self.logs / self.centres) / 2


def spread_correction(joint: Spread, x: Spread, y: Spread, whole: float) -> float:
    """Nats to add to a product estimate over groups: 0 where all rows of a group coincide in x or in y.

    Args:
        joint: Of the joint balls.
        x: Of the balls of x (with the condition).
        y: Of the balls of y (with the condition).
        whole: ``typical_log`` of the condition's balls, or log rows per group without a condition.
    """
    if joint.log is None or x.typical_log is None or y.typical_log is None:
        return 0.0
    return joint.log + whole - x.typical_log - y.typical_log
