"""Outputs as classes or as continuous values, from whatever container they come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.objects import native
from mi_attention.estimators.samples import as_array
from mi_attention.interface import FloatArray, IntArray

__all__ = [
    "MANY_VALUES",
    "ClassLabels",
    "as_classes",
    "as_continuous",
    "as_measurements",
    "class_entropy",
    "class_strata",
    "is_discrete",
]

# A float label with more distinct values than this is a measurement, not a class.
MANY_VALUES = 20


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """Classes of the rows.

    Attributes:
        codes: ``(n,)`` int64, the index of each row's class in ``classes``.
        classes: ``(C,)`` the distinct labels, sorted as ``numpy.unique`` sorts them.
    """

    codes: IntArray
    classes: NDArray[Any]

    @property
    def counts(self) -> IntArray:
        """``(C,)`` rows of each class, all at least 1."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def prior(self) -> FloatArray:
        """``(C,)`` share of each class among the rows."""
        return np.asarray(self.counts / len(self.codes), dtype=np.float64)

    @property
    def entropy(self) -> float:
        """H(Y) of the empirical distribution in nats, at least 0."""
        return float(max(0.0, -(self.prior * np.log(self.prior)).sum()))


def class_entropy(y: Any) -> float:
    """H(Y) in nats of class labels: the ceiling of any I(x; Y). Plug-in, so low by about (C−1)/2n."""
    labels = as_array("y", y)
    return as_classes(labels, len(labels)).entropy


def as_classes(y: Any, n: int, name: str = "y") -> ClassLabels:
    """Class labels of any kind as codes: lists, numpy, torch, strings, booleans, categoricals.

    Args:
        y: ``(n,)`` or ``(n, 1)`` labels.
        n: Rows expected.
        name: What it is, for messages.

    Raises:
        ValueError: wrong length, a missing label, or a float label with many distinct values.
    """
    array = _column(y, n, name)
    if array.dtype.kind == "f":
        _refuse_missing(array, name)
        if not _float_is_class(array):
            whole = bool((array == np.round(array)).all())
            codes = "whole numbers that name classes go in as integers (astype(int)); " if whole else ""
            raise ValueError(
                f"{name} holds {len(np.unique(array))} distinct float values in {n} rows: a continuous output, not "
                f"classes; {codes}bin it at quantiles you declare (numpy.digitize) for a classifier bound, or use KSG "
                "or Copula"
            )
    if array.dtype.kind not in "biufUS":
        raise ValueError(f"{name} must hold class labels, got dtype {array.dtype}; pass integers, strings or booleans")
    classes, codes_of_rows = np.unique(array, return_inverse=True)
    return ClassLabels(codes=codes_of_rows.astype(np.int64), classes=classes)


def as_continuous(y: Any, n: int) -> FloatArray:
    """A continuous output as ``(n, dy)`` float64.

    Raises:
        ValueError: wrong length, not numbers, NaN or infinite (the row is named).
    """
    array = _native("y", y)
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"y must hold numbers for a continuous output, got dtype {array.dtype}; use Probe or Ross for classes"
        )
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[0] != n or array.shape[1] == 0:
        raise ValueError(f"y must be ({n},) or ({n}, dy) to match x, got shape {array.shape}")
    values = array.astype(np.float64)
    _refuse_missing(values, "y")
    return values


def as_measurements(y: Any, n: int, estimator: str) -> FloatArray:
    """A continuous output as ``(n, dy)`` float64, refusing classes: a column of them, or several as of a one-hot code.

    Args:
        y: ``(n,)`` or ``(n, dy)``.
        n: Rows expected.
        estimator: Who asks, for the message.

    Raises:
        ValueError: classes, and whatever ``as_continuous`` refuses.
    """
    array = _native("y", y)
    if array.dtype.kind in "biuf" and array.size == n and is_discrete(array):
        distinct = len(np.unique(array[np.isfinite(array)]))
        if distinct > 1:
            amounts = "; amounts in whole numbers go in as y.astype(float)" if distinct > MANY_VALUES else ""
            raise ValueError(
                f"y holds {distinct} classes and {estimator} needs a continuous output; use Probe, Ross or Discrete"
                f"{amounts}"
            )
    output = as_continuous(array, n)
    if output.shape[1] > 1:
        distinct = len(np.unique(output, axis=0))
        # A single row of values is a constant output, of which others say so.
        if 1 < distinct <= MANY_VALUES and 2 * distinct <= n:
            raise ValueError(
                f"y holds {distinct} classes in {output.shape[1]} columns and {estimator} needs continuous ones; give "
                "Probe, Ross or Discrete one code a row: numpy.unique(y, axis=0, return_inverse=True)[1]"
            )
    return output


def class_strata(y: Any, n: int) -> IntArray:
    """``(n,)`` codes by which parts of the rows hold about equal shares of every class; zeros of anything else.

    Several columns name no classes, whatever their type.

    Raises:
        ValueError: wrong length, and missing labels.
    """
    array = as_array("y", y)
    several = array.ndim == 2 and array.shape[1] > 1
    return np.zeros(n, dtype=np.int64) if several or not is_discrete(array) else as_classes(array, n).codes


def is_discrete(y: Any) -> bool:
    """Whether a label is read as classes: everything but floats that vary like a measurement.

    Floats are classes where they take at most ``MANY_VALUES`` values and half the rows or more repeat one, whole or
    not; more classes than that must be integers or names.

    Raises:
        ValueError: a missing entry among objects.
    """
    array = _native("y", y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind != "f":
        return True
    return array.ndim == 1 and _float_is_class(array[np.isfinite(array)])


def _float_is_class(values: NDArray[Any]) -> bool:
    distinct = len(np.unique(values))
    # Half the rows distinct is a measurement even where there are few rows.
    return distinct <= 2 or (distinct <= MANY_VALUES and 2 * distinct <= len(values))


def _native(name: str, y: Any) -> NDArray[Any]:
    return native(as_array(name, y), name)


def _column(y: Any, n: int, name: str) -> NDArray[Any]:
    array = _native(name, y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n,):
        raise ValueError(f"{name} must be ({n},), one label a row of x, got shape {array.shape}")
    return array


def _refuse_missing(values: NDArray[Any], name: str) -> None:
    finite = np.isfinite(values) if values.ndim == 1 else np.isfinite(values).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise ValueError(f"{name} is NaN or infinite at row {row}; remove that row or repair the output")
