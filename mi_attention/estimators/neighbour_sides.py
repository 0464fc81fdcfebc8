"""One side of a mixture: numbers as scaled columns, categories as points that are all equally far apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.discrete import joint_symbols
from mi_attention.estimators.folds import groups_per_class, rare_class
from mi_attention.estimators.labels import MANY_VALUES, ClassLabels, as_classes
from mi_attention.estimators.neighbours import rescale
from mi_attention.estimators.objects import are_numbers, native
from mi_attention.estimators.samples import as_array, as_states, check_finite
from mi_attention.interface import IntArray

__all__ = ["CONSTANT", "GAP", "Side", "as_sides"]

# Distance of two categories, beyond all distances of data of unit scale.
GAP = 2.0**20
# Reasons that make an information exactly 0 instead of undefined.
CONSTANT = ("constant state", "constant output", "constant condition")
_NAMES = {"x": "state", "y": "output", "z": "condition"}


@dataclass(frozen=True, eq=False)
class Side:
    """Coordinates in which Chebyshev neighbours are looked for.

    Attributes:
        values: ``(n, d')``; no column where a numeric side is constant.
        labels: Classes of a side of few values, else None.
        name: ``"x"``, ``"y"`` or ``"z"``.
    """

    values: NDArray[np.float64]
    labels: ClassLabels | None
    name: str

    @property
    def entropy(self) -> float | None:
        """H in nats of a side of few values."""
        return None if self.labels is None else self.labels.entropy

    def obstacle(self, groups: IntArray | None) -> str:
        """Why nothing can be estimated with this side, or an empty string."""
        if self.labels is None:
            return "" if self.values.shape[1] else f"constant {_NAMES[self.name]}"
        if len(self.labels.classes) < 2:
            return "a single class" if self.name == "y" else f"constant {_NAMES[self.name]}"
        # A number that occurs once is a point of a distribution, a name that occurs once is no class.
        named = self.labels.classes.dtype.kind != "f"
        if named and int(groups_per_class(self.labels.codes, groups).min()) < 2:
            return rare_class(groups)
        return ""


def as_sides(**given: Any) -> list[Side]:
    """Numbers or labels of any kind as the sides x, y and perhaps z, of equally many rows.

    Categorical are labels that are no floats (single columns of integers, where half the rows or more repeat a value;
    else they are numbers, and so are several columns of booleans), several columns of which some are strings, whose
    row is one label, float columns of two values, and float columns of up to ``MANY_VALUES`` values that repeat where
    there are more than two columns in all: beside many columns the steps of a scaled label are smaller than any
    distance, and it would never be told apart. Between two float columns the steps have a meaning: pass integers that
    are amounts or grades as floats.

    Args:
        **given: ``x=``, ``y=`` and perhaps ``z=``: ``(n, d)`` or ``(n,)`` numbers or labels.

    Raises:
        ValueError: lengths that differ, a missing or infinite entry (the row is named).
    """
    arrays = {name: _columns(as_array(name, value), name) for name, value in given.items()}
    n = len(arrays["x"]) if arrays["x"].ndim else 0
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or len(array) != n:
            raise ValueError(f"{name} must be ({n},) or ({n}, d) to match x, got shape {array.shape}")
    few = 2 if sum(1 if a.ndim == 1 else a.shape[1] for a in arrays.values()) <= 2 else MANY_VALUES
    return [_as_side(array, name, few) for name, array in arrays.items()]


def _columns(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Numbers, booleans or labels; several columns of which some are names as the one label they are together."""
    kind = array.dtype.kind
    several = array.ndim == 2 and array.shape[1] > 1 and len(array) > 0
    if several and (kind in "US" or (kind == "O" and not are_numbers(array))):
        return joint_symbols(array, name).astype(str)
    return native(array, name)


def _as_side(array: NDArray[Any], name: str, few: int) -> Side:
    column = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    kind = array.dtype.kind
    if kind == "b" and column.ndim == 2:
        return _as_side(array.astype(np.float64), name, few)
    if kind not in "fiu" or (kind in "iu" and _is_name(column)) or (kind == "f" and _repeats(column, MANY_VALUES)):
        labels = as_classes(column, len(array), name)
        if kind != "f" or len(labels.classes) <= few:
            return Side(values=_apart(labels), labels=labels, name=name)
        return Side(values=rescale(as_states(array, name)), labels=labels, name=name)
    states = as_states(array, name)
    check_finite(states, name)
    return Side(values=rescale(states), labels=None, name=name)


def _is_name(column: NDArray[Any]) -> bool:
    """Whether integers name classes: one column in which half the rows or more repeat a value."""
    return column.ndim == 1 and 2 * len(np.unique(column)) <= len(column)


def _repeats(column: NDArray[Any], most: int) -> bool:
    """Whether numbers take several, but at most ``most`` values in twice as many rows (one value is a constant)."""
    if column.ndim != 1 or (column.dtype.kind == "f" and not np.isfinite(column).all()):
        return False
    distinct = len(np.unique(column))
    return 1 < distinct <= most and 2 * distinct <= len(column)


def _apart(labels: ClassLabels) -> NDArray[np.float64]:
    """``(n, bits)`` points all at Chebyshev distance ``GAP`` of each other: the binary digits of the codes."""
    bits = (len(labels.classes) - 1).bit_length()
    return np.asarray(GAP * ((labels.codes[:, None] >> np.arange(bits)) & 1))
