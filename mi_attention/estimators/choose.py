"""Which estimator suits the data, and why: one rule that can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.estimators.copula import Copula
from mi_attention.estimators.discrete import Discrete, joint_symbols
from mi_attention.estimators.folds import groups_per_class
from mi_attention.estimators.gaussian import Gaussian
from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.labels import MANY_VALUES, as_classes, as_continuous, is_discrete
from mi_attention.estimators.mixture import Mixture
from mi_attention.estimators.neighbours import LOW_DIMENSION
from mi_attention.estimators.probe import Probe
from mi_attention.estimators.regression import Regression
from mi_attention.estimators.ross import Ross
from mi_attention.estimators.samples import as_array, as_groups, as_states, count_independent
from mi_attention.interface import MIEstimator

__all__ = ["CELL_ROWS", "CLASS_ROWS", "LOW_DIMENSION", "TIED_SHARE", "Choice", "choose"]

# Independent rows a class needs for them, and a cell of a table of counts.
CLASS_ROWS = 30
CELL_ROWS = 5
# Share of rows that repeat a value of their column, above which ties are not chance.
TIED_SHARE = 0.05


@dataclass(frozen=True)
class Choice:
    """An estimator and why it was chosen.

    Attributes:
        estimator: Ready to use.
        reason: One sentence on the data: type, columns, rows.
        alternatives: Estimators for a second look, each with what it tells.
    """

    estimator: MIEstimator
    reason: str
    alternatives: tuple[tuple[MIEstimator, str], ...] = ()

    def __str__(self) -> str:
        """The advice as text, one line an estimator."""
        lines = [f"{self.estimator.signature}: {self.reason}"]
        return "\n".join(lines + [f"or {other.signature}: {why}" for other, why in self.alternatives])


def choose(x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, seed: int = 0) -> Choice:
    """The estimator of I(x; y) that suits these data; nothing is estimated here.

    The rule, first match:

    1. y of classes (integers, strings, booleans, categoricals; floats that repeat, see ``labels``) and x of symbols
       (integers, strings, booleans) with at least 5 independent rows for every cell of their table → ``Discrete``.
    2. y of classes, x of at most 5 columns, 30 independent rows in every class → ``Ross``, which sees any
       dependence; ``Mixture`` where a column of x repeats values in 5 % of the rows.
    3. y of classes else → ``Probe``, which sees what its readers can use, in any dimension. Beside it ``Copula`` of
       ``y.astype(float)`` where y holds more than 20 integers, some in fewer than 30 independent rows.
    4. y continuous, x and y of at most 5 columns together of which one repeats values in 5 % of the rows →
       ``Mixture``: ranks of tied values are arbitrary.
    5. y continuous else, in any dimension → ``Copula``, which decides between a Gaussian, a Student t and neighbours
       on few coordinates by the data themselves.

    Args:
        x: ``(n, d)`` or ``(n,)`` states, or symbols.
        y: ``(n,)`` classes or values, or ``(n, dy)`` values.
        groups: ``(n,)`` the instance of each row where rows share instances.
        seed: Passed on to estimators that draw something.

    Raises:
        ValueError: bad input.
    """
    if is_discrete(y) and _is_column(y):
        return _for_classes(x, y, groups, seed)
    states = as_states(x)
    output = as_continuous(y, len(states))
    columns = states.shape[1] + output.shape[1]
    tied = max(_tied_share(states), _tied_share(output))
    alternatives: list[tuple[MIEstimator, str]] = [
        (Regression(seed=seed), "a held-out lower bound: what a regression of y on x can use"),
        (Gaussian(scores="ranks", seed=seed), "the part of linear-Gaussian dependence alone"),
    ]
    if columns <= LOW_DIMENSION:
        alternatives.append((KSG(), f"neighbours alone, which suit {columns} columns"))
        if tied > TIED_SHARE:
            reason = f"y is continuous, {columns} columns together, and {tied:.0%} of the rows of one repeat a value"
            return Choice(Mixture(), reason, tuple(alternatives[:2]))
    reason = f"y is continuous, {columns} columns together, {len(states)} rows"
    return Choice(Copula(seed=seed), reason, tuple(alternatives))


def _for_classes(x: Any, y: Any, groups: Any, seed: int) -> Choice:
    array = as_array("x", x)
    n = len(array) if array.ndim else 0
    labels = as_classes(y, n) if n else None
    instances = as_groups(groups, n)
    if labels is not None and array.dtype.kind in "biuUSO" and array.ndim in (1, 2):
        values = int(joint_symbols(array).max()) + 1
        cells = values * len(labels.classes)
        if count_independent(n, instances) >= CELL_ROWS * cells or array.dtype.kind in "USO":
            reason = f"x has {values} values and y {len(labels.classes)} classes: {cells} cells for {n} rows"
            return Choice(Discrete(), reason, ((Discrete(correction="none"), "the plug-in value, never negative"),))
    states = as_states(x)
    labels = as_classes(y, len(states))
    width = states.shape[1]
    rows = int(groups_per_class(labels.codes, instances).min())
    probe = Probe(seed=seed)
    about = f"y has {len(labels.classes)} classes of {rows} independent rows or more and x {width} columns"
    if width > LOW_DIMENSION or rows < CLASS_ROWS or len(labels.classes) < 2:
        others: tuple[tuple[MIEstimator, str], ...] = ()
        if width <= LOW_DIMENSION:
            others = ((Ross(), "sees any dependence, but noisily in so few rows"),)
        if rows < CLASS_ROWS and len(labels.classes) > MANY_VALUES and labels.classes.dtype.kind in "iu":
            others += ((Copula(seed=seed), "on y.astype(float), if these integers are amounts and not names"),)
        return Choice(probe, f"{about}: too many columns or too few rows for neighbours", others)
    tied = _tied_share(states)
    second = ((probe, "a held-out lower bound, and the better in smooth dependence"),)
    if tied > TIED_SHARE:
        return Choice(Mixture(), f"{about}, with {tied:.0%} of the rows of one repeating a value", second)
    return Choice(Ross(), f"{about}: neighbours see any dependence", second)


def _is_column(y: Any) -> bool:
    array = as_array("y", y)
    return array.ndim <= 1 or (array.ndim == 2 and array.shape[1] == 1)


def _tied_share(values: NDArray[Any]) -> float:
    """Largest share of rows, over the columns that vary, whose value another row has too."""
    share = 0.0
    for index in range(values.shape[1]):
        counts = np.unique(values[:, index], return_counts=True)[1]
        if len(counts) > 1:
            share = max(share, float(counts[counts > 1].sum()) / len(values))
    return share
