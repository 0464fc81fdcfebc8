"""How often a row counts with itself among the product samples of a part, so that both margins are those of its rows.

Rows of one group are not independent, so that no two of them are a product sample. Left out alone they would make the y
of large groups rare among product samples, and, where rows of a group share y, each row's own y: a critic that sees no
x, or the group behind it, would read information. So a row stands for the others of its group, and counts as often as
the group has rows. With N rows and groups of n_g every row then counts (N − n_g) + n_g = N times, as x and as y (less
once each where a row with itself is no product sample otherwise).

What this adds is a sample of the joint distribution. It brings the product nearer to it, which lowers the divergence
(Kullback-Leibler divergence is convex): in few groups values are low, never high.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import IntArray

__all__ = ["own_surplus"]


def own_surplus(groups: IntArray) -> NDArray[np.float64]:
    """``(n,)`` what is added to the weight of each row with itself: the other rows of its group in the part.

    Args:
        groups: ``(n,)`` instance of each row of the part.
    """
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(sizes[group] - 1, dtype=np.float64)
