"""Members of the probe: families of classifiers fitted on every training part of a unit at once.

A member turns a unit into ``LinearFits``, which turn rows into *evidence*: class
scores without the prior. The probe stacks the evidence of its members log-linearly, so a new family joins
by implementing ``Member`` and an entry in ``MEMBERS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.axes import PrincipalRows
from mi_attention.estimators.discriminant import discriminants
from mi_attention.estimators.moments import ClassMoments, Parts
from mi_attention.estimators.ridge import ridge_logistic
from mi_attention.estimators.rows import StandardisedRows
from mi_attention.interface import IntArray

__all__ = [
    "DISCRIMINANTS",
    "MEMBERS",
    "LinearFits",
    "LinearMember",
    "Member",
    "RidgeMember",
    "TrainingUnit",
    "evidence_of_all",
    "fit_members",
]


@dataclass(frozen=True, eq=False)
class TrainingUnit:
    """What members may learn from.

    Attributes:
        rows: Standardised states, or the same along their principal axes.
        codes: ``(n,)`` classes.
        n_classes: C.
        parts: The P training parts, or None where all rows are the one part.
        moments: Moments of each part.
    """

    rows: StandardisedRows | PrincipalRows
    codes: IntArray
    n_classes: int
    parts: Parts | None
    moments: ClassMoments


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
        """Scores ``(len(parts), C, b)`` of standardised rows ``(b, d)``: log p(x | c) up to a constant per row."""
        chosen = list(parts)
        return np.asarray(evidence_of_all([LinearFits(self.weight[chosen], self.bias[chosen])], block)[0])


class Member(Protocol):
    """A family of classifiers."""

    def fit(self, unit: TrainingUnit) -> LinearFits:
        """Fit every part of a unit."""
        ...


def evidence_of_all(fits: Sequence[LinearFits], block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evidence ``(m, P, C, b)`` of standardised rows ``(b, d)`` from m members, all parts: one matrix product."""
    weight = np.concatenate([fit.weight.reshape(-1, block.shape[1]) for fit in fits])
    scores = weight @ block.T
    scores += np.concatenate([fit.bias.ravel() for fit in fits])[:, None]
    return np.asarray(scores.reshape(len(fits), *fits[0].bias.shape, len(block)))


@dataclass(frozen=True)
class LinearMember:
    """Linear discriminant with a shrunk covariance, in closed form from moments.

    Attributes:
        shrinkage: Weight of the spherical target in [0, 1], or None for the oracle approximating value.
        share: What the weight is multiplied by, in [0, 1].
    """

    shrinkage: float | None
    share: float = 1.0

    def fit(self, unit: TrainingUnit) -> LinearFits:
        """Batched solves for all parts."""
        return _fit_discriminants(unit, [self])[0]


def _fit_discriminants(unit: TrainingUnit, members: Sequence[LinearMember]) -> list[LinearFits]:
    """Fits of each, with the covariance of every part computed once."""
    shrinkages = [(member.shrinkage, member.share) for member in members]
    pieces = [discriminants(*piece, shrinkages) for piece in unit.moments.pieces()]
    return [LinearFits(*map(np.concatenate, zip(*found, strict=True))) for found in zip(*pieces, strict=True)]


@dataclass(frozen=True)
class RidgeMember:
    """Multinomial logistic regression with a ridge penalty, as scikit-learn's LogisticRegression of that C.

    Attributes:
        penalty: 1/C, above 0.
    """

    penalty: float

    def fit(self, unit: TrainingUnit) -> LinearFits:
        """All parts in one search."""
        weight, bias = ridge_logistic(unit.rows, unit.codes, unit.moments, unit.parts, self.penalty)
        shares = unit.moments.counts / unit.moments.counts.sum(axis=1, keepdims=True)
        return LinearFits(weight=weight, bias=bias - np.log(shares))


MEMBERS: Mapping[str, Member] = {
    "linear": LinearMember(shrinkage=None),
    # Hidden states carry most of their label in directions of large variance, which a strong pull towards
    # the sphere favours as a ridge penalty does; the stack decides how much of each a unit wants.
    "smooth": LinearMember(shrinkage=0.5),
    # The oracle value minimises the error of the covariance, which directions of large variance make up. Where the
    # label lies in small ones the discriminant wants far less, down to none: with all of it and 2,000 rows of 128
    # columns .02 of .34 nats were left of a label in the last direction of a spectrum from e^2.5 to e^-2.5
    # (``tests/benchmarks/spectrum.py``).
    "sharp": LinearMember(shrinkage=None, share=0.1),
    "plain": LinearMember(shrinkage=None, share=0.001),
    "ridge": RidgeMember(penalty=1.0),
}

# The linear part of the default probe.
DISCRIMINANTS = ("linear", "smooth", "sharp", "plain")


def fit_members(unit: TrainingUnit, names: Sequence[str]) -> list[LinearFits]:
    """Fits of the members with these names, in their order; discriminants in one go.

    Args:
        unit: What they learn from.
        names: Keys of ``MEMBERS``.
    """
    members = [MEMBERS[name] for name in names]
    shared = [member for member in members if isinstance(member, LinearMember)]
    found = dict(zip(shared, _fit_discriminants(unit, shared) if shared else [], strict=True))
    return [found[member] if isinstance(member, LinearMember) else member.fit(unit) for member in members]
