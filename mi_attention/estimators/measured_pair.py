"""States beside a continuous output, as the estimators of continuous outputs take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.labels import as_measurements
from mi_attention.estimators.samples import as_groups, as_states, check_finite, count_independent
from mi_attention.estimators.scores import varying_columns
from mi_attention.interface import IntArray

__all__ = ["MeasuredPair", "measured_pair"]


@dataclass(frozen=True, eq=False)
class MeasuredPair:
    """Validated input.

    Attributes:
        x: ``(n, d)`` columns of the states that vary.
        y: ``(n, dy)`` columns of the output that vary.
        n: Rows.
        groups: ``(n,)`` numbered from 0, or None.
        independent: Number of groups, or of rows without groups.
        constant: ``"constant state"`` or ``"constant output"`` where no column varies, else empty.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    n: int
    groups: IntArray | None
    independent: int
    constant: str


def measured_pair(x: Any, y: Any, groups: Any, estimator: str) -> MeasuredPair:
    """Check and convert.

    Args:
        x: ``(n, d)`` or ``(n,)`` states.
        y: ``(n,)`` or ``(n, dy)`` values.
        groups: ``(n,)`` instance of each row, or None.
        estimator: Who asks, for the message.

    Raises:
        ValueError: bad input, and classes in y.
    """
    states = as_states(x)
    n = len(states)
    output = as_measurements(y, n, estimator)
    instances = as_groups(groups, n)
    check_finite(states)
    a, b = varying_columns(states), varying_columns(output)
    constant = "constant state" if a.shape[1] == 0 else "constant output" if b.shape[1] == 0 else ""
    return MeasuredPair(a, b, n, instances, count_independent(n, instances), constant)
