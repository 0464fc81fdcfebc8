"""The second algorithm of Kraskov et al. where rows share instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from mi_attention.estimators.joint_neighbours import GroupedJoint
from mi_attention.estimators.neighbour_groups import Balls, GroupedColumns, design_effects, likeness
from mi_attention.estimators.neighbours import BLOCK_NUMBERS, chebyshev, closed, opened
from mi_attention.interface import IntArray

__all__ = ["rectangle_of_groups"]


def rectangle_of_groups(
    x: NDArray[np.float64], y: NDArray[np.float64], k: int, groups: IntArray, joint: GroupedJoint
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """``(n,)`` nats of equation 9 with rows of other groups counted over their design effects, and ``(n,)`` ties.

    The rectangle is that of the k nearest groups, each at its nearest row. Equation 9 is for a rim that holds one row
    or near copies of it: with more, as in an atom, a row is tied and its value means nothing.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        k: Neighbours.
        groups: ``(n,)`` numbered from 0 without gaps.
        joint: Of the joint balls.
    """
    n = len(x)
    columns = GroupedColumns.of(groups)
    inside: tuple[list[Balls], list[Balls]] = [], []
    tied = np.zeros(n, dtype=np.bool_)
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        stop = min(start + size, n)
        apart = [chebyshev(side[start:stop], side[columns.order]) for side in (x, y)]
        for distance in apart:
            columns.exclude_own(distance, start, stop)
        both = np.maximum(apart[0], apart[1])
        nearest = columns.nearest(both)
        radius = closed(np.partition(nearest, k - 1, axis=1)[:, k - 1])
        # The one row of each group by which it is among the k nearest.
        spanned = (both <= radius[:, None]) & (both == np.repeat(nearest, columns.sizes, axis=1))
        cube = both <= radius[:, None]
        for distance, blocks in zip(apart, inside, strict=True):
            reach = np.max(distance, axis=1, where=spanned, initial=0.0)
            within = distance <= opened(reach)[:, None]
            on_rim = np.logical_or.reduceat(spanned & ~within, columns.starts, axis=1)
            # Near copies of the row on the rim lie on both sides of it; together they are one thing.
            copies = cube & np.repeat(on_rim, columns.sizes, axis=1)
            blocks.append(columns.balls(within & ~copies))
            others = (distance <= closed(reach)[:, None]) & ~within & ~copies
            tied[start:stop] |= others.any(axis=1) | (np.count_nonzero(on_rim, axis=1) > 1)
    local = digamma(joint.found) - 1 / joint.found - joint.level
    for blocks in inside:
        balls = Balls.joined(blocks)
        effect = design_effects(balls, likeness(balls, columns.chance))
        local += digamma(columns.candidates / effect + 1) - digamma(balls.rows / effect + 1)
    return np.asarray(local), tied
