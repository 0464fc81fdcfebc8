"""The p value of a statistic among its values under null transforms."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mi_attention.interface import FloatArray

__all__ = ["Alternative", "permutation_p"]

Alternative = Literal["greater", "two-sided"]

# Statistics equal up to rounding count as equal, which can only enlarge p.
_ROUNDING = 1e-12


def permutation_p(statistic: float, null: FloatArray, alternative: Alternative) -> float:
    """(1 + #) / (1 + B): the one seen is one of the possible ones, so p is never 0.

    Args:
        statistic: The value seen.
        null: ``(B,)`` values under the null transforms, without the identity.
        alternative: ``"greater"`` counts values at least as large, ``"two-sided"`` absolute values.

    Returns:
        The p in (0, 1].

    Raises:
        ValueError: for another ``alternative``.
    """
    if alternative not in ("greater", "two-sided"):
        raise ValueError(f"alternative is {alternative!r}; it must be 'greater' or 'two-sided'")
    seen, values = (statistic, null) if alternative == "greater" else (abs(statistic), np.abs(null))
    return (1 + int((values >= seen - _ROUNDING).sum())) / (1 + null.size)
