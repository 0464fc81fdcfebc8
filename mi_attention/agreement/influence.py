"""Estimates whose error is known instance by instance, so that their sums, differences and ratios have one too.

Information is a mean of pointwise values over instances, H(Y) of −log p(y), mean attention of attention. What each
instance adds to such a mean, its influence, passes through any smooth function of means by the chain rule; two numbers
made of the same instances then share their error where they do, and a difference of them is a paired one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from mi_attention.agreement.resampling import ERROR_DRAWS, ERROR_SEED
from mi_attention.agreement.rows import Rows
from mi_attention.agreement.units import Alignment
from mi_attention.estimators.levels import CORRECTION_UNCERTAINTY
from mi_attention.interface import AttentionRecord, BoolArray, FloatArray, IntArray, MIEstimate

__all__ = ["LinearRow", "Linearised", "add_linear_rows", "entropy", "information", "unit_counts", "weighted_mean"]

# Multinomial weights of instances held at once: 32 MB.
_BLOCK_WEIGHTS = 2**22


@dataclass(frozen=True, eq=False)
class Linearised:
    """A number, what each instance adds to its error, and what all instances share.

    Attributes:
        value: The number.
        influence: ``(N,)`` over all instances of the record, mean 0, and 0 where an instance is not used: over
            resampled instances the number moves by the mean of their influence, to first order.
        correction: Standard deviation, signed, of the part of the value that is a correction of the estimator's bias.
            It is no matter of instances: two runs on them share it, and in a difference like corrections cancel.
    """

    value: float
    influence: FloatArray
    correction: float = 0.0

    @property
    def standard_error(self) -> float:
        """Of both parts."""
        n = len(self.influence)
        return float(np.hypot(np.sqrt(np.square(self.influence).sum() / max(n * (n - 1), 1)), self.correction))

    def minus(self, other: Linearised) -> Linearised:
        """The paired difference."""
        influence = self.influence - other.influence
        return Linearised(self.value - other.value, influence, self.correction - other.correction)

    def over(self, other: Linearised) -> Linearised:
        """The ratio; ``other`` must not be 0."""
        ratio = self.value / other.value
        influence = (self.influence - ratio * other.influence) / other.value
        return Linearised(ratio, influence, (self.correction - ratio * other.correction) / other.value)


def information(estimate: MIEstimate, owner: IntArray, n: int, *, held_out: bool = False) -> Linearised:
    """An estimate of information.

    Args:
        estimate: A defined one.
        owner: ``(rows,)`` the instance of each of its rows.
        n: N.
        held_out: Take the signed held-out value, which has no correction; it must exist.

    Returns:
        In nats. The share of the correction that counts as uncertain is that of ``estimators.level_standard_error``.

    Raises:
        ValueError: if a held-out value is asked for and there is none.
    """
    influence = _of_mean(estimate.local, owner, n)
    if held_out:
        if estimate.lower_bound is None:
            raise ValueError(f"{estimate.signature} has no held-out value; leave held_out out")
        return Linearised(estimate.lower_bound, influence)
    raw = estimate.nats if estimate.lower_bound is None else estimate.lower_bound
    return Linearised(estimate.nats, influence, CORRECTION_UNCERTAINTY * (estimate.nats - raw))


def entropy(y: NDArray[np.generic], owner: IntArray, n: int) -> Linearised:
    """H(Y) in nats of the class shares of rows ``y (rows,)`` that belong to instances ``owner (rows,)`` of N."""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    surprise = -np.log(counts / counts.sum())[codes]
    return Linearised(float(surprise.mean()), _of_mean(surprise, owner, n))


def weighted_mean(parts: Sequence[Linearised], mass: FloatArray) -> Linearised:
    """Σ_u w_u v_u with w_u the share of unit u in the mean mass of the instances, which are part of the error.

    Args:
        parts: U values.
        mass: ``(U, N)`` mass of each instance on each unit, not negative; one that is NaN throughout is left out.

    Raises:
        ValueError: if there is no mass at all.
    """
    used: BoolArray = np.asarray(~np.isnan(mass).all(axis=0))
    weight = np.where(np.isnan(mass), 0.0, mass)
    means = weight.sum(axis=1) / max(int(used.sum()), 1)
    total = means.sum()
    if not total > 0:
        raise ValueError("no instance has any mass on these units; give units that attention falls on")
    values = np.array([part.value for part in parts])
    shares = means / total
    mean = float(shares @ values)
    moved = np.where(used, (values - mean) @ (weight - means[:, None]), 0.0) * len(used) / used.sum() / total
    influence = shares @ np.stack([part.influence for part in parts]) + moved
    return Linearised(mean, influence, float(shares @ np.array([part.correction for part in parts])))


def _of_mean(values: FloatArray, owner: IntArray, n: int) -> FloatArray:
    """``(N,)`` influence of instances on the mean of the values of all rows."""
    sums = np.bincount(owner, weights=values, minlength=n)
    return np.asarray((sums - np.bincount(owner, minlength=n) * values.mean()) * (n / len(values)))


def unit_counts(record: AttentionRecord, alignment: Alignment, kept: Sequence[int]) -> dict[str, float | str]:
    """Columns of a number that is made of the units ``kept`` of an alignment: how many of what it rests on."""
    missing = len(alignment) - len(kept)
    owners = np.concatenate([alignment.owners(record, u) for u in range(len(alignment))])
    counts: dict[str, float | str] = {
        "n_instances": len(np.unique(owners)),
        "n_units": len(kept),
        "undefined": missing,
        "undefined_share": missing / max(len(alignment), 1),
    }
    return counts | ({"reason": f"{missing} units without an estimate"} if missing and kept else {})


@dataclass(frozen=True, eq=False)
class LinearRow:
    """One row of the agreement table to be.

    Attributes:
        measure: Of the table's columns, as are the next three.
        order: What the measure is of.
        output: Name of the output.
        state: ``"hidden"``, ``"embedding"``, ``"context"``, or a difference of them.
        found: The number, or why it is undefined.
        unit: Of the number.
        values: Further columns, such as ``n_units``.
        most: Where the interval ends at the latest.
    """

    measure: str
    order: str
    output: str
    state: str
    found: Linearised | str
    unit: str
    values: Mapping[str, Any] = field(default_factory=dict)
    most: float = np.inf


def add_linear_rows(rows: Rows, estimand: str, made: Sequence[LinearRow]) -> None:
    """Add numbers with normal intervals over the instances of this run, and draws for an interval over several runs.

    The draws are of resampled instances, the same ones in every run on these instances, and of the correction, the same
    one in every run: a bias that all runs share does not shrink with their number.

    Args:
        rows: Where to.
        estimand: Of all of them.
        made: The numbers.
    """
    defined = [row.found for row in made if isinstance(row.found, Linearised)]
    draws = iter(_draws(defined))
    for row in made:
        key = row.measure, row.order, row.output, row.state
        if isinstance(row.found, str):
            rows.add(estimand, *key, **{**row.values, "estimate": np.nan, "unit": row.unit, "reason": row.found})
            continue
        value, error = row.found.value, row.found.standard_error
        values: dict[str, Any] = {"estimate": value, "unit": row.unit}
        if error > 0:
            spread = float(norm.ppf(0.5 + rows.level / 2)) * error
            values |= {"ci_low": value - spread, "ci_high": min(value + spread, row.most)}
            values |= {"interval": "normal, over instances, MI error included"}
        else:
            values["reason"] = "no spread over instances"
        rows.add(estimand, *key, **{**values, **row.values})
        rows.add_resamples(estimand, row.order, row.output, row.state, next(draws), measure=row.measure)


def _draws(found: Sequence[Linearised]) -> FloatArray:
    """``(U, R)`` draws of U numbers."""
    if not found:
        return np.empty((0, ERROR_DRAWS))
    influence = np.stack([number.influence for number in found])
    n = influence.shape[1]
    rng, common = np.random.default_rng(ERROR_SEED), np.random.default_rng(ERROR_SEED + 1)
    moved = np.empty((len(found), ERROR_DRAWS))
    step = max(1, _BLOCK_WEIGHTS // n)
    for start in range(0, ERROR_DRAWS, step):
        stop = min(start + step, ERROR_DRAWS)
        weights = rng.multinomial(n, np.full(n, 1 / n), size=stop - start)
        moved[:, start:stop] = influence @ weights.T / n
    values, correction = (np.array([getattr(number, name) for number in found]) for name in ("value", "correction"))
    return np.asarray(values[:, None] + moved + correction[:, None] * common.standard_normal(ERROR_DRAWS))
