"""Members of the probe: families of classifiers fitted on every training part of every unit at once.

A member turns units into ``PartFits``, one per unit, and a ``PartFits`` turns rows into *evidence*: class
scores without the prior. The probe stacks the evidence of its members log-linearly, so a new family joins
by implementing ``Member`` and an entry in ``MEMBERS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.discriminant import discriminant
from mi_attention.estimators.moments import ClassMoments, Parts
from mi_attention.estimators.rows import StandardisedRows
from mi_attention.interface import IntArray

__all__ = ["MEMBERS", "LinearFits", "LinearMember", "Member", "PartFits", "TrainingUnit"]


@dataclass(frozen=True, eq=False)
class TrainingUnit:
    """What members may learn from.

    Attributes:
        rows: Standardised states.
        codes: ``(n,)`` classes.
        n_classes: C.
        parts: The P training parts, or None where all rows are the one part.
        moments: Moments of each part.
    """

    rows: StandardisedRows
    codes: IntArray
    n_classes: int
    parts: Parts | None
    moments: ClassMoments


class PartFits(Protocol):
    """One member fitted on each training part of one unit."""

    def evidence(self, block: NDArray[np.float64], parts: Sequence[int]) -> NDArray[np.float64]:
        """Scores ``(len(parts), C, b)`` of standardised rows ``(b, d)``: log p(x | c) up to a constant per row."""
        ...


class Member(Protocol):
    """A family of classifiers."""

    def fit(self, units: Sequence[TrainingUnit]) -> Sequence[PartFits]:
        """Fit every part of every unit; units share d and C and P, so that the work can be batched."""
        ...


@dataclass(frozen=True, eq=False)
class LinearFits:
    """Linear scores of every part.

    Attributes:
        weight: ``(P, C, d)``.
        bias: ``(P, C)``.
    """

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]

    def evidence(self, block: NDArray[np.float64], parts: Sequence[int]) -> NDArray[np.float64]:
        """Scores ``(len(parts), C, b)``: one matrix product for all parts asked for."""
        chosen = list(parts)
        weight = self.weight[chosen]
        scores = weight.reshape(-1, weight.shape[-1]) @ block.T
        return np.asarray(scores.reshape(len(chosen), weight.shape[1], len(block)) + self.bias[chosen][:, :, None])


@dataclass(frozen=True)
class LinearMember:
    """Linear discriminant with a shrunk covariance, in closed form from moments.

    Attributes:
        shrinkage: Weight of the spherical target in [0, 1], or None for the oracle approximating value.
    """

    shrinkage: float | None

    def fit(self, units: Sequence[TrainingUnit]) -> list[LinearFits]:
        """One batched solve for all units and parts."""
        weight, bias = discriminant(
            np.stack([unit.moments.counts for unit in units]),
            np.stack([unit.moments.sums for unit in units]),
            np.stack([unit.moments.scatter for unit in units]),
            shrinkage=self.shrinkage,
        )
        return [LinearFits(weight=weight[i], bias=bias[i]) for i in range(len(units))]


MEMBERS: Mapping[str, Member] = {
    "linear": LinearMember(shrinkage=None),
    # Hidden states carry most of their label in directions of large variance, which a strong pull towards
    # the sphere favours as a ridge penalty does; the stack decides how much of each a unit wants.
    "smooth": LinearMember(shrinkage=0.5),
}
