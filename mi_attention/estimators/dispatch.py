"""One function for people in a hurry."""

from __future__ import annotations

from numpy.typing import ArrayLike

from mi_attention.estimators.choose import choose
from mi_attention.interface import MIEstimate

__all__ = ["mutual_information"]


def mutual_information(x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, seed: int = 0) -> MIEstimate:
    """Estimate I(x; y) in nats with the estimator that ``choose`` names; the signature says which it was.

    Args:
        x: ``(n, d)`` or ``(n,)`` states, or symbols.
        y: ``(n,)`` classes or values, or ``(n, dy)`` values.
        groups: ``(n,)`` the instance of each row where rows share instances.
        seed: Of folds and whatever else the estimator draws.

    Raises:
        ValueError: bad input.
    """
    return choose(x, y, groups, seed).estimator.estimate(x, y, groups)
