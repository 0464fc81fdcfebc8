"""Mutual information of two discrete variables, from their table of counts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from mi_attention.estimators.folds import groups_per_class
from mi_attention.estimators.labels import as_classes
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.pointwise_estimate import constant_estimate, pointwise_estimate
from mi_attention.estimators.samples import SmallSampleWarning, as_array, as_groups, cluster_standard_error
from mi_attention.interface import FloatArray, IntArray, MIEstimate

__all__ = ["Discrete", "effective_rows", "joint_symbols", "occurs_once"]

# Independent rows a cell below which even the corrected value is mostly bias.
ROWS_PER_CELL = 2


@dataclass(frozen=True)
class Discrete(OneByOne):
    """I(x; y) in nats of discrete x and y from the counts of their joint values.

    - ``correction="none"``: the plug-in value, the information of the empirical table: in [0, min(H(x), H(y))], and
      high by about (A − 1)(B − 1)/2n at independence of A and B values.
    - ``correction="miller-madow"``: the plug-in value with that bias taken off: minus (K_xy − K_x − K_y + 1)/2n, with K
      the numbers of values and pairs that occur. Signed: near independence about half of the values are negative. Never
      above min(H(x), H(y)) of the empirical table.

    With groups the bias depends on what the rows of a group share, and the correction is the jackknife that leaves out
    whole groups: that of Miller and Madow to first order where rows are independent all the same, and that of so many
    groups where all rows of a group are equal (5 to 400 groups of independent rows: within 0.01 nats of the truth on
    average; equal rows need about as many groups as rows would be needed without groups). A ``SmallSampleWarning``
    says where the effective rows (``effective_rows``) are few for the table.

    ``local`` is log p(x, y)/p(x) p(y) of each row, plus the constant correction, so that its mean is ``nats``;
    ``standard_error`` is that of the mean (0 where every row has the same pointwise value, as for equal x and y of
    equally frequent values). With groups and a correction it is that of the jackknife, together with the difference
    between the jackknife's and the second-order correction, and at least what the value lies below 0.
    ``lower_bound`` is None.

    Attributes:
        correction: ``"miller-madow"`` or ``"none"``.

    References:
        Miller (1955), Note on the bias of information estimates; Panzeri, Treves (1996).
        Busing, Meijer, van der Leeden (1999), Delete-m jackknife for unequal m.
    """

    correction: Literal["miller-madow", "none"] = "miller-madow"

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        if self.correction not in ("miller-madow", "none"):
            raise ValueError(f"correction must be 'miller-madow' or 'none', got {self.correction!r}")

    @property
    def signature(self) -> str:
        """Name and correction."""
        return f"discrete|correction={self.correction}"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats.

        Args:
            x: ``(n,)`` or ``(n, d)`` of integers, strings, booleans, or floats of at most 20 values; a row's columns
                together are one symbol.
            y: ``(n,)`` classes.
            groups: ``(n,)`` instance of each row.

        Returns:
            Undefined where y has one class only, where no value of x or none of y occurs in two rows (groups), and
            where the correction of few groups exceeds the plug-in value by more than chance can; exactly 0 where x has
            one value, flagged in ``reason``.

        Raises:
            ValueError: bad input, and floats that vary like a measurement.
        """
        array = as_array("x", x)
        n = len(array) if array.ndim else 0
        if n == 0:
            raise ValueError(f"x is empty: shape {array.shape}; an estimate needs at least one row")
        symbols = joint_symbols(array)
        labels = as_classes(y, n)
        instances = as_groups(groups, n)
        if len(labels.classes) < 2:
            return MIEstimate.undefined("a single class", n=n, signature=self.signature, ceiling=0.0)
        states = int(symbols.max()) + 1
        if states == 1:
            return constant_estimate("constant state", n, instances, self.signature, labels.entropy)
        for name, codes in (("x", symbols), ("y", labels.codes)):
            if occurs_once(codes, instances):
                rows = "row" if instances is None else "group"
                reason = f"no value of {name} occurs in two {rows}s: merge values, or add {rows}s"
                return MIEstimate.undefined(reason, n=n, signature=self.signature, ceiling=labels.entropy)
        _, pairs, counts = np.unique(
            symbols * len(labels.classes) + labels.codes, return_inverse=True, return_counts=True
        )
        local = np.log(counts[pairs] * n / (np.bincount(symbols)[symbols] * labels.counts[labels.codes]))
        effective = effective_rows(pairs, instances)
        if effective < ROWS_PER_CELL * states * len(labels.classes):
            warnings.warn(
                f"{effective:.0f} independent rows for {states} x {len(labels.classes)} cells: the counts are mostly "
                "bias; merge rare values, or use a permutation test of the value",
                SmallSampleWarning,
                stacklevel=2,
            )
        if self.correction == "none":
            return pointwise_estimate(local, instances, self.signature, labels.entropy)
        # Rows that say all of themselves cannot say more of another: the plug-in value stops short of that by this.
        room = max(0.0, min(_entropy(symbols), labels.entropy) - float(local.mean()))
        freedom = len(counts) - states - len(labels.classes) + 1
        if instances is None:
            local -= max(freedom / (2 * n), -room)
            return pointwise_estimate(local, instances, self.signature, labels.entropy)
        found = _jackknife([pairs, symbols, labels.codes], instances)
        signature = f"{self.signature}|jackknife"
        value = float(local.mean()) - found.correction
        if value < -max(freedom, 1) / effective:
            reason = (
                f"a correction of {found.correction:.3f} nats for rows that share groups, at a plug-in value of "
                f"{local.mean():.3f}: add groups or merge values"
            )
            return MIEstimate.undefined(reason, n=n, signature=signature, ceiling=labels.entropy)
        local -= max(found.correction, -room)
        error = max(found.standard_error, -value, cluster_standard_error(local, instances))
        return replace(pointwise_estimate(local, instances, signature, labels.entropy), standard_error=error)


@dataclass(frozen=True)
class _Jackknife:
    """What leaving out one group at a time says of a plug-in value.

    Attributes:
        correction: Bias in nats, to be taken off.
        standard_error: In nats, of the value and its correction.
    """

    correction: float
    standard_error: float


def occurs_once(codes: IntArray, groups: IntArray | None) -> bool:
    """Whether every value of ``codes (n,)`` is in one group (one row, without groups): nothing can be counted then."""
    return int(groups_per_class(codes, groups).max()) < 2


def effective_rows(cells: IntArray, groups: IntArray | None) -> float:
    """How many independent rows would give the cells of a table shares as sure as these rows do, at most n.

    n over the mean design effect of the occupied cells. Rows that are independent inside their groups count in full,
    rows that are all equal inside a group as one; a single group is one row.

    Args:
        cells: ``(n,)`` cell of each row, numbered from 0 without gaps.
        groups: ``(n,)`` numbered from 0 without gaps, or None.

    References:
        Rao, Scott (1981), The analysis of categorical data from complex sample surveys.
    """
    n, occupied = len(cells), int(cells.max()) + 1
    if groups is None or occupied < 2:
        return float(n)
    if int(groups.max()) == 0:
        return 1.0
    excess = _second_order(cells, groups).sum() * n / (occupied - 1)
    return n / max(1.0, float(excess))


def _entropy(codes: IntArray) -> float:
    share = np.bincount(codes) / len(codes)
    return float(-xlogy(share, share).sum())


def _in_groups(cells: IntArray, groups: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Group, cell and rows of every cell that a group has rows in."""
    width = int(cells.max()) + 1
    found, counts = np.unique(groups * width + cells, return_counts=True)
    return found // width, found % width, counts


def _second_order(cells: IntArray, groups: IntArray) -> FloatArray:
    """``(G,)`` each group's part of Σ variance of a cell's share / share, the variances by group."""
    n, total, sizes = len(cells), np.bincount(cells), np.bincount(groups)
    owner, cell, counts = _in_groups(cells, groups)
    # Σ_cells (c_g − n_g p)²/p, of which the cells that a group has no row in are part.
    squares = np.bincount(owner, weights=counts**2 / total[cell]) * n - sizes.astype(np.float64) ** 2
    return np.asarray(squares / n**2 * len(sizes) / (len(sizes) - 1))


def _jackknife(sides: Sequence[IntArray], groups: IntArray) -> _Jackknife:
    """Bias and error of the plug-in value of ``sides`` (pairs, x, y), each ``(n,)`` cells numbered from 0."""
    n, sizes = len(groups), np.bincount(groups)
    rest = n - sizes
    number = len(sizes)
    whole, without = xlogy(n, n), xlogy(rest, rest)
    for cells, sign in zip(sides, (1, -1, -1), strict=True):
        total = np.bincount(cells)
        owner, cell, counts = _in_groups(cells, groups)
        before, after = total[cell], total[cell] - counts
        whole = whole + sign * xlogy(total, total).sum()
        change = np.bincount(owner, weights=xlogy(after, after) - xlogy(before, before), minlength=number)
        without = without + sign * (xlogy(total, total).sum() + change)
    value, left = float(whole / n), np.asarray(without / rest)
    corrected = number * value - float((rest / n * left).sum())
    weight = n / sizes
    pseudo = weight * value - (weight - 1) * left
    variance = float((np.square(pseudo - corrected) / (weight - 1)).mean())
    # The second derivatives alone, whose weights are known: what the two corrections differ by, both may lack.
    second = sum(sign * _second_order(cells, groups).sum() for cells, sign in zip(sides, (1, -1, -1), strict=True)) / 2
    return _Jackknife(value - corrected, float(np.hypot(np.sqrt(variance), value - corrected - second)))


def joint_symbols(x: Any, name: str = "x") -> IntArray:
    """``(n,)`` one code for each distinct row of ``x (n,)`` or ``(n, d)``; ``name`` is for messages.

    Raises:
        ValueError: more than two axes, a missing value, or floats that vary like a measurement, naming the column.
    """
    array = as_array(name, x)
    columns = array[:, None] if array.ndim == 1 else array
    if columns.ndim != 2 or columns.shape[1] == 0:
        raise ValueError(f"{name} must be (n,) or (n, d) of symbols, got shape {array.shape}")
    symbols = np.zeros(len(columns), dtype=np.int64)
    for index in range(columns.shape[1]):
        codes = as_classes(columns[:, index], len(columns), f"{name} in column {index}").codes
        # Numbered anew after every column: the product of many columns' counts would overflow.
        symbols = np.unique(symbols * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return symbols
