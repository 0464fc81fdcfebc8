"""The forms in which critics are given rows: standardised columns, and standardised coordinates along principal axes.

A network that descends a gradient finds what lies in directions of large variance first, and with early stopping only
that. A label of .34 nats in the last direction of a spectrum from e^2.5 to e^-2.5 (``tests/benchmarks/spectrum.py``) is
read as .00 from the columns of 2,000 rows of 128, though no invertible map changes mutual information; along the axes
all directions are alike, and .27 are found. But where states are moved along directions of large variance, that is
where most of them say it, coordinates of equal spread bury it under all others. So there is a critic for each form, and
the validation rows tell which is kept. Mean held-out nats of InfoNCE on two classes at d = 128, 9 data sets each
(``tests/benchmarks/neural_values.py``), beside the linear reader:

============== ===== ======== ===== ===== ======
states         N     columns  axes  both  linear
============== ===== ======== ===== ===== ======
Gaussian       2000  .213     .202  .214  .240
Gaussian       500   .112     .105  .112  .194
ReLU features  2000  .205     .172  .205  .222
ReLU features  500   .142     .037  .140  .176
spectrum       2000  .000     .208  .208  .244
spectrum       500   -.005    .115  .115  .177
============== ===== ======== ===== ===== ======
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.axes import Axes, principal_rows
from mi_attention.estimators.neural.options import View
from mi_attention.estimators.rows import StandardisedRows

__all__ = ["views_of"]


def views_of(
    x: StandardisedRows, y: StandardisedRows | None, views: tuple[View, ...]
) -> list[tuple[NDArray[np.float32], NDArray[np.float32] | None]]:
    """The forms of a unit, in the order of ``views``; the columns alone where axes are no form of their own.

    Axes see states and no labels, of all rows, so that what is held out stays so.

    Args:
        x: States.
        y: Continuous output; None for classes, which stay as they are.
        views: Which are wanted.

    Returns:
        Pairs of ``(n, d)`` states and ``(n, dy)`` outputs (or None) of about unit scale. Where there are fewer axes
        than columns the rest is 0.
    """
    of_x = _axes(x) if "axes" in views else None
    of_y = _axes(y) if "axes" in views and y is not None else None
    if of_x is None and of_y is None:
        views = ("columns",)
    found = []
    for view in views:
        turn_x, turn_y = (of_x, of_y) if view == "axes" else (None, None)
        found.append((_rows(x, turn_x), None if y is None else _rows(y, turn_y)))
    return found


def _axes(rows: StandardisedRows) -> Axes | None:
    """Principal axes, or None where they are the columns (a single one, white states) or say nothing.

    Along as many axes as there are rows but one, all rows are equally far from each other.
    """
    if rows.width == 1:
        return None
    axes = principal_rows(rows).axes
    same = np.array_equal(axes.rotation, np.eye(rows.width))
    return None if same or len(axes.spread) >= rows.n - 1 else axes


def _rows(rows: StandardisedRows, axes: Axes | None = None) -> NDArray[np.float32]:
    """All rows, standardised in float64, as float32."""
    made = np.zeros((rows.n, rows.width), dtype=np.float32)
    turn = None if axes is None else _upright(axes.rotation) / axes.spread
    for start, stop, block in rows.blocks():
        if turn is None:
            made[start:stop] = block
        else:
            made[start:stop, : turn.shape[1]] = block @ turn
    return made


def _upright(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same axes with the largest entry of each above 0: which of two directions comes out is up to rounding."""
    largest = np.abs(rotation).argmax(axis=0)
    return np.asarray(rotation * np.sign(rotation[largest, np.arange(rotation.shape[1])]))
