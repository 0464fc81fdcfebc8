"""Expected digamma terms where several rows lie on the rim of a ball: rounded data, duplicates, ReLU zeros.

The k-th neighbour is then not one row. Both functions give what an estimator would give on average if the rows on the
rim were put in a random order, without drawing one. Where exactly one row is on the rim they are the published
formulas, and where all rows coincide they are the digamma form of a table of counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, polygamma

from mi_attention.interface import FloatArray

__all__ = ["expected_digamma_of_rank", "local_information"]

# Open and closed counts: whole numbers.
Counts = tuple[NDArray[Any], NDArray[Any]]

# Halvings that find the share of a rim to a relative 1e-6.
HALVINGS = 20


def expected_digamma_of_rank(
    before: NDArray[Any], wanted: NDArray[Any], own_tied: NDArray[Any], all_tied: NDArray[Any]
) -> NDArray[np.float64]:
    """``(n,)`` mean of psi(before + J), J the place of the ``wanted``-th own row in a random order of the rim.

    J is negative hypergeometric. For ``before`` = 0 the mean is psi(wanted) + psi(all + 1) − psi(own + 1); else the
    first two moments of J are used.

    Args:
        before: ``(n,)`` rows strictly inside.
        wanted: ``(n,)`` own rows still to be found on the rim, from 1.
        own_tied: ``(n,)`` own rows on the rim, at least ``wanted``.
        all_tied: ``(n,)`` rows on the rim.
    """
    value = digamma(before + 1.0)
    tied = all_tied > 1
    if not tied.any():
        return np.asarray(value)
    m, a, own, every = (np.asarray(given, dtype=np.float64)[tied] for given in (before, wanted, own_tied, all_tied))
    mean = a * (every + 1) / (own + 1)
    variance = a * (every - own) * (every + 1) * (own + 1 - a) / (np.square(own + 1) * (own + 2))
    expanded = digamma(m + mean) + polygamma(2, m + mean) * variance / 2
    value[tied] = np.where(m == 0, digamma(a) + digamma(every + 1) - digamma(own + 1), expanded)
    return np.asarray(value)


def local_information(
    k: int, at_zero: NDArray[np.bool_], joint: Counts, x: Counts, y: Counts, z: Counts
) -> NDArray[np.float64]:
    """``(n,)`` psi(k) + psi(n_z + 1) − psi(n_xz + 1) − psi(n_yz + 1) in nats, counts strictly inside the k-th radius.

    Where more than one row is on the rim, counts are taken part of the way across it, to where the joint ball would
    hold its k-th row if rows on the rim came in random order: at the joint share (k − k_open)/(k_closed − k_open + 1),
    from which the marginal share follows as if the joint mass grew like n_xz n_yz / n_z. At radius 0 the rows that
    coincide are a cell of a table: psi(k_closed + 1) + psi(n_z + 1) − psi(n_xz + 1) − psi(n_yz + 1).

    Args:
        k: Neighbours.
        at_zero: ``(n,)`` whether the radius is 0.
        joint: Open and closed counts ``(n,)`` of other rows in the joint ball.
        x: The same for x with the condition.
        y: The same for y with the condition.
        z: The same for the condition; both n − 1 where there is none.
    """
    one_each = (x[1] - x[0]) + (y[1] - y[0]) - (z[1] - z[0]) == 1
    tied = (joint[1] > k) | ~one_each
    value = digamma(k) + digamma(z[0] + 1) - digamma(x[0] + 1) - digamma(y[0] + 1)
    if tied.any():
        value[tied] = _tied_information(k, *((c[0][tied], c[1][tied]) for c in (joint, x, y, z)))
    if at_zero.any():
        cell = [digamma(c[1][at_zero] + 1) for c in (joint, x, y, z)]
        value[at_zero] = cell[0] + cell[3] - cell[1] - cell[2]
    return np.asarray(value)


def _tied_information(k: int, joint: Counts, x: Counts, y: Counts, z: Counts) -> NDArray[np.float64]:
    wanted, own = k - joint[0], joint[1] - joint[0]
    share = _share_of_rim(wanted / (own + 1), x, y, z)
    value = np.full(len(share), float(digamma(k)))
    for sign, counts in ((1, z), (-1, x), (-1, y)):
        value += sign * digamma(_size(counts, share))
    # A rim on one side only is an order of rows, whose mean is known better.
    for side, other in ((x, y), (y, x)):
        single = (side[1] > side[0]) & (other[1] == other[0]) & (z[1] == z[0])
        rank = expected_digamma_of_rank(*(c[single] for c in (side[0], wanted, own, side[1] - side[0])))
        value[single] = digamma(k) + (digamma(z[0] + 1) - digamma(other[0] + 1))[single] - rank
    return value


def _size(counts: Counts, share: FloatArray) -> FloatArray:
    """Count up to and with the last row taken from the rim; without a rim, with the row itself."""
    tied = counts[1] - counts[0]
    return np.asarray(np.where(tied > 0, counts[0] + share * (tied + 1), counts[0] + 1))


def _share_of_rim(wanted: FloatArray, x: Counts, y: Counts, z: Counts) -> NDArray[np.float64]:
    """Share of the marginal rims at which the joint rim is taken to the share ``wanted``."""

    def mass(t: FloatArray) -> FloatArray:
        return np.asarray(_size(x, t) * _size(y, t) / np.maximum(_size(z, t), 1e-9))

    low, high = np.zeros(len(wanted)), np.ones(len(wanted))
    first = mass(low)
    target = first + wanted * (mass(high) - first)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = mass(middle) < target
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray((low + high) / 2)
