"""Conditional mutual information I(x; y | z) by nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from mi_attention.estimators.joint_neighbours import Sides, joint_values
from mi_attention.estimators.neighbour_estimate import nothing_between
from mi_attention.estimators.neighbour_sides import as_sides
from mi_attention.estimators.neighbours import NEIGHBOURS, check_neighbours, refuse_few_rows
from mi_attention.estimators.pointwise_estimate import pointwise_estimate
from mi_attention.estimators.samples import as_groups
from mi_attention.interface import MIEstimate

__all__ = ["ConditionalMixture"]


@dataclass(frozen=True)
class ConditionalMixture:
    """k-nearest-neighbour estimate of I(x; y | z) in nats: what x tells of y beyond what z tells already.

    Sides are as in ``Mixture``: numbers centred and scaled, columns of few values and labels categorical, ties taken
    part of the way across the rim. Without ties it is psi(k) + <psi(n_z + 1) − psi(n_xz + 1) − psi(n_yz + 1)> of
    Frenzel and Pompe; where rows coincide, the table of counts within the cells of z, as Mesner and Shalizi do, but
    signed. A constant z leaves the unconditional value of ``Mixture``.

    Biased towards 0 where x, y and z have more than about 5 columns together; a z that determines x leaves 0. With
    ``groups``, as in ``Mixture``. ``lower_bound`` is None.

    Attributes:
        k: Neighbours, at least 1.

    References:
        Frenzel, Pompe (2007), Partial mutual information for coupling analysis of multivariate time series, equation 6.
        Mesner, Shalizi (2021), Conditional mutual information estimation for mixed, discrete and continuous data.
    """

    k: int = NEIGHBOURS

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        check_neighbours(self.k)

    @property
    def signature(self) -> str:
        """Name and k."""
        return f"conditional-mixture|k={self.k}"

    def estimate(self, x: ArrayLike, y: ArrayLike, z: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y | z) in nats.

        Args:
            x: ``(n, d)`` or ``(n,)`` states, or labels.
            y: ``(n,)`` or ``(n, dy)`` output, or labels.
            z: ``(n,)`` or ``(n, dz)`` condition, or labels.
            groups: ``(n,)`` instance of each row where rows share instances.

        Returns:
            As ``Mixture.estimate``; ``ceiling`` is H of a categorical x or y, which bounds I(x; y | z) too.

        Raises:
            ValueError: bad input, and k ≥ n.
        """
        first, second, condition = as_sides(x=x, y=y, z=z)
        n = len(first.values)
        instances = as_groups(groups, n)
        refuse_few_rows(self.k, n)
        nothing, ceiling = nothing_between(first, second, instances, self.k, self.signature)
        if nothing is not None:
            return nothing
        given = condition.values if condition.values.shape[1] else None
        local = joint_values(Sides(first.values, second.values, given), self.k, instances).local
        reason = "" if given is not None else "constant condition: the unconditional value"
        return pointwise_estimate(local, instances, self.signature, ceiling, reason)
