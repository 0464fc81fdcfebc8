"""Values of a measure beside the reasons of those that do not exist."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mi_attention.interface.arrays import BoolArray, FloatArray

__all__ = ["Measured"]


@dataclass(frozen=True)
class Measured:
    """Values of one measure, with the undefined ones named instead of hidden.

    Attributes:
        values: ``(n,)`` float64, NaN exactly where ``reasons`` is not empty.
        reasons: ``n`` strings: ``""`` where the value is defined, else why it is not, for example
            ``"constant attention"`` or ``"fewer than two positions"``.
    """

    values: FloatArray
    reasons: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that a value is NaN exactly where a reason stands."""
        missing = np.array([reason != "" for reason in self.reasons], dtype=bool)
        if self.values.shape != missing.shape:
            raise ValueError(f"values has shape {self.values.shape} but there are {missing.size} reasons")
        if not np.array_equal(np.isnan(self.values), missing):
            raise ValueError("values must be NaN exactly where a reason says why it is undefined")

    @property
    def defined(self) -> BoolArray:
        """``(n,)``: True where the value exists."""
        return ~np.isnan(self.values)

    def mean(self) -> float:
        """Mean of the defined values, NaN if there are none; say ``undefined_counts`` beside it."""
        return float(self.values[self.defined].mean()) if self.defined.any() else float("nan")

    def undefined_counts(self) -> dict[str, int]:
        """How many values are undefined, by reason."""
        counts: dict[str, int] = {}
        for reason in self.reasons:
            if reason:
                counts[reason] = counts.get(reason, 0) + 1
        return counts
