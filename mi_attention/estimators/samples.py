"""States, groups and units as the estimators take them: validated, never mutated, never copied without need."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.estimators.objects import is_missing, is_number, native
from mi_attention.interface import FloatArray, IntArray, Unit

__all__ = [
    "FEWEST_ROWS",
    "FEW_ROWS",
    "SMALL_SAMPLE",
    "SmallSampleWarning",
    "Units",
    "as_array",
    "as_groups",
    "as_states",
    "as_units",
    "check_finite",
    "cluster_standard_error",
    "count_independent",
    "naming",
    "row_blocks",
    "warn_if_small",
]

# Below this many independent rows every estimator's bias is of the order of what it measures.
SMALL_SAMPLE = 20
# Below this fits on the rows of other folds are chance: noise separates classes, and held-out values are nats off.
FEWEST_ROWS = 10
FEW_ROWS = f"fewer than {FEWEST_ROWS} independent rows"

# Float64 numbers in one block of rows: 8 MiB, small against memory and large against call overhead.
BLOCK_NUMBERS = 2**20

Units: TypeAlias = Sequence[Unit] | ArrayLike


class SmallSampleWarning(UserWarning):
    """Too few independent rows for a level; only a permutation test says something there."""


def as_array(name: str, value: Any) -> NDArray[Any]:
    """A numpy view of lists, numpy or torch; memory-mapped arrays stay on disk.

    Raises:
        ValueError: ragged lists, and masked entries (the first masked row is named).
    """
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return np.asarray(value.numpy())
    if isinstance(value, np.ma.MaskedArray):
        return _unmasked(name, value)
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in value):
        value = [_unmasked(name, row, index) if np.ma.isMA(row) else row for index, row in enumerate(value)]
    # numpy would make a text of a number, and of a missing value, that stands among strings.
    mixed = isinstance(value, list | tuple) and 0 < sum(isinstance(entry, str) for entry in value) < len(value)
    try:
        return np.asarray(value, dtype=object if mixed else None)
    except ValueError as error:
        raise ValueError(f"{name} is ragged: every row needs the same number of entries") from error


def _unmasked(name: str, value: Any, row: int | None = None) -> NDArray[Any]:
    """The data of a masked array of which nothing is masked."""
    mask = np.ma.getmaskarray(value)
    if mask.any():
        where = int(np.argwhere(np.atleast_1d(mask))[0, 0]) if row is None else row
        raise ValueError(
            f"{name} is masked at row {where}, which has no value; drop the masked rows of x, y and groups alike "
            "(x[~mask], y[~mask])"
        )
    return np.asarray(value.data)


def as_states(x: Any, name: str = "x") -> FloatArray:
    """States as ``(n, d)`` real numbers; ``(n,)`` becomes ``(n, 1)``.

    Integers and booleans become float64 (so that scaling never truncates them), objects that are all numbers what they
    hold; float32 and float64 are passed on as they are. Finiteness is left to ``check_finite``, which reads in blocks.

    Raises:
        ValueError: no rows, no columns, more than two axes, or entries that are no real numbers.
    """
    array = as_array(name, x)
    if array.dtype.kind == "O":
        array = _numbers(array, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}; encode it as numbers first")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be (n, d) or (n,), got shape {array.shape}; pass units (U, n, d) to estimate_many"
        )
    if 0 in array.shape:
        raise ValueError(f"{name} is empty: shape {array.shape}; an estimate needs at least one row and one column")
    if array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float32 if array.dtype == np.float16 else np.float64)


def _numbers(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Objects that are real numbers as an array of numbers; the first that is none is named."""
    for index, entry in np.ndenumerate(array):
        if not (is_number(entry) or is_missing(entry)):
            where = f"row {index[0]}" + (f", column {index[1]}" if len(index) == 2 else "")
            raise ValueError(
                f"{name} must hold real numbers, got dtype object with {entry!r} at {where}; encode it as numbers first"
            )
    return native(array, name, "remove that row or repair the state")


def as_groups(groups: Any, n: int) -> IntArray | None:
    """Group of each row as integers numbered by first appearance; None without groups, or where each has one row.

    Args:
        groups: ``(n,)`` integers or strings (the instance of each row), or None when rows are independent.
        n: Rows expected.

    Raises:
        ValueError: wrong length, or a missing group.
    """
    if groups is None:
        return None
    array = native(as_array("groups", groups), "groups", "name the instance of every row")
    if array.shape != (n,):
        raise ValueError(f"groups must be ({n},), one instance a row of x, got shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"groups is NaN or infinite at row {row}; number the instances with integers")
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    if len(first) == n:
        return None
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def count_independent(n: int, groups: IntArray | None) -> int:
    """Number of independent pieces: groups where there are groups, else rows."""
    return n if groups is None else int(groups.max()) + 1


def check_finite(x: FloatArray, name: str = "x") -> None:
    """Refuse NaN and infinity, naming the first offending row and column; reads in blocks."""
    for start, stop in row_blocks(*x.shape):
        finite = np.isfinite(x[start:stop])
        if not finite.all():
            row, column = (int(index[0]) for index in np.nonzero(~finite))
            raise ValueError(
                f"{name} is {x[start + row, column]} at row {start + row}, column {column}; "
                "remove that row or repair the state"
            )


def row_blocks(n: int, width: int) -> Iterator[tuple[int, int]]:
    """Start and stop of blocks of rows that hold about ``BLOCK_NUMBERS`` numbers each."""
    rows = max(1, BLOCK_NUMBERS // max(width, 1))
    for start in range(0, n, rows):
        yield start, min(start + rows, n)


def warn_if_small(independent: int) -> None:
    """Warn where the number of independent rows is too small for a level."""
    if independent < SMALL_SAMPLE:
        warnings.warn(
            f"only {independent} independent rows: the bias of any estimate is of the order of its value; "
            "use a permutation test of the value instead of its level, or more instances",
            SmallSampleWarning,
            stacklevel=4,
        )


def as_units(units: Any, y: Any = None, groups: Any = None) -> list[Unit]:
    """Both forms of ``estimate_many`` as a list of units.

    Args:
        units: A sequence of ``Unit``, or states ``(U, n, d)``.
        y: ``(n,)`` one output for all units; only with states ``(U, n, d)``.
        groups: ``(n,)`` the instance of each row; only with states ``(U, n, d)``.

    Raises:
        ValueError: if the two forms are mixed or the shapes do not match.
    """
    if y is None:
        given = list(units)
        if groups is not None or not all(isinstance(unit, Unit) for unit in given):
            raise ValueError("estimate_many takes a sequence of Unit, or x (U, n, d) with one y (n,) and groups (n,)")
        return given
    states = as_array("x", units)
    if states.ndim != 3:
        raise ValueError(f"x must be (U, n, d) beside one y, got shape {states.shape}; use estimate for one unit")
    output = as_array("y", y)
    instances = as_groups(groups, states.shape[1])
    return [Unit(x=unit, y=output, groups=instances) for unit in states]


@contextmanager
def naming(index: int, unit: Unit) -> Iterator[None]:
    """Put which unit of several it was before what a ValueError says."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"unit {index}{f' ({unit.name})' if unit.name else ''}: {error}") from error


def cluster_standard_error(local: FloatArray, groups: ArrayLike | None) -> float:
    """Standard error of the mean of ``local``, from sums by group where rows share a group.

    Args:
        local: ``(n,)`` values, in any unit.
        groups: ``(n,)`` integers or strings (the instance of each row), or None when rows are independent.

    Returns:
        sqrt(G/(G−1) Σ_g (Σ_{i in g} (local_i − mean))²) / n with G groups (G = n without groups); NaN for G < 2.

    Raises:
        ValueError: groups of another length than ``local``, or a missing group.
    """
    n = len(local)
    deviation = local - local.mean()
    numbered = None if groups is None else _numbered(groups, n)
    sums = deviation if numbered is None else np.bincount(numbered, weights=deviation)
    pieces = count_independent(n, numbered)
    if pieces < 2:
        return float("nan")
    return float(np.sqrt(pieces / (pieces - 1) * np.square(sums).sum()) / n)


def _numbered(groups: ArrayLike, n: int) -> IntArray | None:
    """Groups numbered from 0 without gaps, as they are where they are so already: to look costs less than to sort."""
    if isinstance(groups, np.ndarray) and groups.dtype == np.int64 and groups.shape == (n,) and n > 0:
        # Negative numbers are huge when read as unsigned ones.
        few = int(groups.view(np.uint64).max()) < n
        if few and bool(np.bincount(groups).all()):
            return groups
    return as_groups(groups, n)
