"""The nearest-neighbour estimators of Kraskov, Stögbauer and Grassberger for a continuous output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.estimators.grouped_rectangles import rectangle_of_groups
from mi_attention.estimators.joint_neighbours import Sides, joint_values
from mi_attention.estimators.labels import as_continuous, is_discrete
from mi_attention.estimators.neighbours import (
    LOW_DIMENSION,
    NEIGHBOURS,
    check_neighbours,
    refuse_few_rows,
    rescale,
    warn_if_wide,
)
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.pointwise_estimate import constant_estimate, pointwise_estimate
from mi_attention.estimators.rectangles import rectangle_local
from mi_attention.estimators.samples import (
    as_array,
    as_groups,
    as_states,
    check_finite,
    count_independent,
    warn_if_small,
)
from mi_attention.interface import IntArray, MIEstimate

__all__ = ["KSG", "ksg_local"]

# Above this share of tied rows the result says that it is mostly the mixture estimator's.
MANY_TIES = 0.1


@dataclass(frozen=True)
class KSG(OneByOne):
    """k-nearest-neighbour estimate of I(x; y) in nats for continuous y of any dimension: exact, signed, never clipped.

    Columns of x and y are centred and scaled to unit variance (constant ones are left out), so that offset and scale
    do not matter; distances are Chebyshev. The value fluctuates round 0 at independence and has no ceiling: a state
    that determines a continuous output has unbounded information about it.

    Ties (rounded data, duplicates, ReLU zeros) are outside the derivation of both algorithms where several rows lie on
    the rim of a cube or, in algorithm 2, at an end of a rectangle. Cubes are then counted as in ``Mixture``, rectangles
    by the mean over random orders of these rows (with groups, by algorithm 1). ``reason`` says so where such rows are
    more than a tenth: use ``Mixture`` then. An atom of one side alone leaves the rims of cubes as they are. A column of
    classes is taken for a coordinate, which ``reason`` says too: use ``Ross``. Beside more than 5 columns it would read
    about 0 whatever it is, and is refused.

    Biased low where the dependence is strong or d is above about 5 (a ``HighDimensionWarning`` says so); check with the
    other algorithm and other k. With ``groups``, rows of one group are no neighbours of each other and count for
    what they are worth independently; see ``Mixture``. Prefer algorithm 1 there: where rows of an instance scatter
    about as far as neighbouring instances are apart, algorithm 2 read up to 0.09 nats too little with 100 instances and
    0.23 with 20 (algorithm 1: 0.04 and 0.1). Where more than a tenth of the rows tie, as with an output that goes by
    group or ReLU zeros, algorithm 1 serves for all rows. ``k=1`` with groups of near copies reads 0.3 to 0.5 nats at
    independence where values of one side repeat (k=3: about 0). ``lower_bound`` is None: no bound.

    Time: k-d trees and sorted scans up to 8 joint dimensions, from 10,000 rows on in as many threads as BLAS has (the
    value does not depend on how many); else (and with groups) O(n² d) in blocks of memory O(block · n).

    Attributes:
        k: Neighbours, at least 1.
        algorithm: 1 (cubes) or 2 (rectangles).

    References:
        Kraskov, Stögbauer, Grassberger (2004), Estimating mutual information, equations 8 and 9.
    """

    k: int = NEIGHBOURS
    algorithm: Literal[1, 2] = 1

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        check_neighbours(self.k)
        if self.algorithm not in (1, 2):
            raise ValueError(f"algorithm must be 1 or 2, got {self.algorithm}")

    @property
    def signature(self) -> str:
        """Name, algorithm and k."""
        return f"ksg{self.algorithm}|k={self.k}"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats from ``x (n, d)`` or ``(n,)`` and continuous ``y (n,)`` or ``(n, dy)``.

        Returns:
            Exactly 0 where x or y is constant, flagged in ``reason``; undefined where a row has fewer than k
            candidates in other groups.

        Raises:
            ValueError: bad input, k ≥ n, and classes beside more than 5 columns.
        """
        states = as_states(x)
        n = len(states)
        output = as_continuous(y, n)
        instances = as_groups(groups, n)
        check_finite(states)
        refuse_few_rows(self.k, n)
        scaled, target = rescale(states), rescale(output)
        for values, reason in ((scaled, "constant state"), (target, "constant output")):
            if values.shape[1] == 0:
                return constant_estimate(reason, n, instances, self.signature)
        independent = count_independent(n, instances)
        if independent - 1 < self.k:
            return MIEstimate.undefined("fewer than k other groups", n=n, signature=self.signature)
        warn_if_small(independent)
        columns, classes = max(scaled.shape[1], target.shape[1]), _classes(states) or _classes(y)
        if classes and columns > LOW_DIMENSION:
            raise ValueError(
                f"{classes} classes beside {columns} columns: KSG takes a class for a coordinate, whose steps are "
                "smaller than any distance there, and reads about 0; use Probe"
            )
        warn_if_wide("KSG", columns, "Copula")
        local, tied = ksg_local(scaled, target, self.k, self.algorithm, instances)
        reason = f"ties in {tied:.0%} of rows: use Mixture" if tied > MANY_TIES else ""
        reason = f"{classes} classes taken for a coordinate: use Ross or Mixture" if classes else reason
        return pointwise_estimate(local, instances, self.signature, reason=reason)


def _classes(values: ArrayLike) -> int:
    """Number of classes in a column that names them, else 0; whole numbers that mostly differ are amounts."""
    array = as_array("y", values)
    if (array.ndim == 2 and array.shape[1] > 1) or not is_discrete(array):
        return 0
    distinct = len(np.unique(array))
    return distinct if 2 * distinct <= array.size else 0


def ksg_local(
    x: NDArray[np.float64], y: NDArray[np.float64], k: int, algorithm: int, groups: IntArray | None = None
) -> tuple[NDArray[np.float64], float]:
    """Pointwise values in nats whose mean is the estimate, and the share of rows with ties.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        k: Neighbours.
        algorithm: 1 or 2.
        groups: ``(n,)`` numbered from 0; rows of one group are no candidates of each other.
    """
    cubes = joint_values(Sides(x, y), k, groups)
    local, tied = cubes.local, cubes.tied
    if algorithm == 2 and cubes.grouped is not None and groups is not None:
        # Where a side goes by group or has an atom, one rim of nearly every rectangle holds more than near copies.
        if tied.mean() <= MANY_TIES:
            rectangles, several = rectangle_of_groups(x, y, k, groups, cubes.grouped)
            tied = tied | several
            local = np.where(tied, local, rectangles) if tied.mean() <= MANY_TIES else local
    elif algorithm == 2 and not tied.all():
        rectangles, several = rectangle_local(x, y, k)
        local, tied = np.where(tied, local, rectangles), tied | several
    return local, float(tied.mean())
