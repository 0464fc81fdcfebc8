"""Mutual information of two discrete variables, from their table of counts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.estimators.labels import as_classes
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.pointwise_estimate import constant_estimate, pointwise_estimate
from mi_attention.estimators.samples import (
    SmallSampleWarning,
    as_array,
    as_groups,
    count_independent,
)
from mi_attention.interface import IntArray, MIEstimate

__all__ = ["Discrete", "joint_symbols"]

# Independent rows a cell below which even the corrected value is mostly bias.
ROWS_PER_CELL = 2


@dataclass(frozen=True)
class Discrete(OneByOne):
    """I(x; y) in nats of discrete x and y from the counts of their joint values.

    - ``correction="none"``: the plug-in value, the information of the empirical table: in [0, min(H(x), H(y))], and
      high by about (A − 1)(B − 1)/2n at independence of A and B values.
    - ``correction="miller-madow"``: the plug-in value with that bias taken off: minus (K_xy − K_x − K_y + 1)/2n, with K
      the numbers of values and pairs that occur. Signed: near independence about half of the values are negative.

    ``local`` is log p(x, y)/p(x) p(y) of each row, plus the constant correction, so that its mean is ``nats``;
    ``standard_error`` is that of the mean, by group where rows share instances (0 where every row has the same
    pointwise value, as for equal x and y of equally frequent values). With groups the correction counts groups in
    place of rows, which takes off too much rather than too little. ``lower_bound`` is None.

    Attributes:
        correction: ``"miller-madow"`` or ``"none"``.

    References:
        Miller (1955), Note on the bias of information estimates; Panzeri, Treves (1996).
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
            Undefined where y has one class only; exactly 0 where x has one value, flagged in ``reason``.

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
        _, pair, counts = np.unique(
            symbols * len(labels.classes) + labels.codes, return_inverse=True, return_counts=True
        )
        local = np.log(counts[pair] * n / (np.bincount(symbols)[symbols] * labels.counts[labels.codes]))
        independent = count_independent(n, instances)
        if independent < ROWS_PER_CELL * states * len(labels.classes):
            warnings.warn(
                f"{independent} independent rows for {states} x {len(labels.classes)} cells: the counts are mostly "
                "bias; merge rare values, or use a permutation test of the value",
                SmallSampleWarning,
                stacklevel=2,
            )
        if self.correction == "miller-madow":
            local -= (len(counts) - states - len(labels.classes) + 1) / (2 * independent)
        return pointwise_estimate(local, instances, self.signature, labels.entropy)


def joint_symbols(x: Any) -> IntArray:
    """``(n,)`` one code for each distinct row of ``x (n,)`` or ``(n, d)``.

    Raises:
        ValueError: more than two axes, a missing value, or floats that vary like a measurement, naming the column.
    """
    array = as_array("x", x)
    columns = array[:, None] if array.ndim == 1 else array
    if columns.ndim != 2 or columns.shape[1] == 0:
        raise ValueError(f"x must be (n,) or (n, d) of symbols, got shape {array.shape}")
    symbols = np.zeros(len(columns), dtype=np.int64)
    for index in range(columns.shape[1]):
        codes = as_classes(columns[:, index], len(columns), f"x in column {index}").codes
        # Numbered anew after every column: the product of many columns' counts would overflow.
        symbols = np.unique(symbols * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return symbols
