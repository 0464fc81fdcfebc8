"""Which estimator suits the data, and why: one rule that can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.estimators.copula import Copula
from mi_attention.estimators.discrete import Discrete, effective_rows, joint_symbols, occurs_once
from mi_attention.estimators.folds import groups_per_class
from mi_attention.estimators.gaussian import Gaussian
from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.labels import MANY_VALUES, ClassLabels, as_classes, as_measurements, is_discrete
from mi_attention.estimators.mixture import Mixture
from mi_attention.estimators.neighbours import LOW_DIMENSION
from mi_attention.estimators.objects import are_numbers, native
from mi_attention.estimators.probe import Probe
from mi_attention.estimators.regression import Regression
from mi_attention.estimators.ross import Ross
from mi_attention.estimators.samples import as_array, as_groups, as_states
from mi_attention.interface import IntArray, MIEstimator

__all__ = ["CELL_ROWS", "CLASS_ROWS", "LOW_DIMENSION", "TIED_SHARE", "Choice", "choose"]

# Independent rows a class needs for neighbours, and a cell of a table of counts for its correction.
CLASS_ROWS = 30
CELL_ROWS = 5
# Share of rows whose pair of values recurs, from which on the empty cells of a table are empty and not unseen.
RECURRING = 0.98
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
       (integers, strings, booleans) with at least 5 independent rows for every cell of their table → ``Discrete``. Rows
       that share groups count as ``discrete.effective_rows``: in full where they are independent all the same. Strings
       in fewer rows → ``Discrete`` too where the pairs of 98 % of the rows occur in another row (group), since then
       their other cells are empty; else ``Mixture``, undefined where a value occurs in one row (group) only.
    2. y of classes, x of at most 5 columns, 30 independent rows in every class → ``Ross``, which sees any
       dependence; ``Mixture`` where a column of x repeats values in 5 % of the rows.
    3. y of classes else → ``Probe``, which sees what its readers can use, in any dimension. Beside it ``Copula`` of
       ``y.astype(float)`` where y holds more than 20 integers, some in fewer than 30 independent rows.
    4. y continuous, x and y of one column each, of which one repeats values in 5 % of the rows → ``Mixture``, which
       counts what lies on a value. Beside more columns its neighbours read too little (25 values that one of three
       columns determines, 1,000 rows: 1.6 of 3.2 nats, ``Copula`` 2.9).
    5. y continuous else, in any dimension → ``Copula``, which decides between a Gaussian, a Student t and neighbours
       on few coordinates by the data themselves.

    Args:
        x: ``(n, d)`` or ``(n,)`` states, or symbols.
        y: ``(n,)`` classes or values, or ``(n, dy)`` values.
        groups: ``(n,)`` the instance of each row where rows share instances.
        seed: Passed on to estimators that draw something.

    Raises:
        ValueError: bad input, and classes in several columns of y.
    """
    if is_discrete(y) and _is_column(y):
        return _for_classes(x, y, groups, seed)
    states = as_states(x)
    output = as_measurements(y, len(states), "Copula")
    columns = states.shape[1] + output.shape[1]
    tied = max(_tied_share(states), _tied_share(output))
    alternatives: list[tuple[MIEstimator, str]] = [
        (Regression(seed=seed), "a held-out lower bound: what a regression of y on x can use"),
        (Gaussian(scores="ranks", seed=seed), "the part of linear-Gaussian dependence alone"),
    ]
    if columns <= LOW_DIMENSION:
        neighbours = Mixture() if tied > TIED_SHARE else KSG()
        alternatives.append((neighbours, f"neighbours alone, which suit {columns} columns"))
        if tied > TIED_SHARE and columns == 2:
            reason = f"y is continuous, x and y of one column each, and {tied:.0%} of the rows of one repeat a value"
            return Choice(neighbours, reason, ((Copula(seed=seed), "which shares ranks among them"), *alternatives[:2]))
    reason = f"y is continuous, {columns} columns together, {len(states)} rows"
    return Choice(Copula(seed=seed), reason, tuple(alternatives))


def _for_classes(x: Any, y: Any, groups: Any, seed: int) -> Choice:
    array = _numbers_or_names(as_array("x", x))
    if array.ndim not in (1, 2):
        # Says what is wrong with x before anything is said of y.
        as_states(array)
    n = len(array)
    labels = as_classes(y, n) if n else None
    instances = as_groups(groups, n)
    if labels is not None and array.dtype.kind in "biuUSO":
        choice = _for_symbols(array, labels, instances)
        if choice is not None:
            return choice
    states = as_states(array)
    labels = as_classes(y, len(states))
    width = states.shape[1]
    rows = int(groups_per_class(labels.codes, instances).min())
    probe = Probe(seed=seed)
    if len(labels.classes) < 2:
        return Choice(probe, "y has a single class: any estimator of its information is undefined")
    about = f"y has {len(labels.classes)} classes of {rows} independent rows or more and x {width} columns"
    if width > LOW_DIMENSION or rows < CLASS_ROWS:
        others: tuple[tuple[MIEstimator, str], ...] = ()
        if width <= LOW_DIMENSION:
            others = ((Ross(), "sees any dependence, but noisily in so few rows"),)
        if rows < CLASS_ROWS and len(labels.classes) > MANY_VALUES and labels.classes.dtype.kind in "iu":
            others += ((Copula(seed=seed), "on y.astype(float), if these integers are amounts and not names"),)
        lack = "too many columns" if width > LOW_DIMENSION else "too few rows"
        return Choice(probe, f"{about}: {lack} for neighbours", others)
    tied = _tied_share(states)
    second = ((probe, "a held-out lower bound, and the better in smooth dependence"),)
    if tied > TIED_SHARE:
        return Choice(Mixture(), f"{about}, with {tied:.0%} of the rows of one repeating a value", second)
    return Choice(Ross(), f"{about}: neighbours see any dependence", second)


def _for_symbols(x: NDArray[Any], labels: ClassLabels, groups: IntArray | None) -> Choice | None:
    """What counts the pairs of symbols and classes; None for numbers in too few rows to count them."""
    symbols = joint_symbols(x)
    values, classes = int(symbols.max()) + 1, len(labels.classes)
    pairs = np.unique(symbols * classes + labels.codes, return_inverse=True)[1]
    effective, cells = effective_rows(pairs, groups), values * classes
    reason = f"x has {values} values and y {classes} classes: {cells} cells for {len(x)} rows"
    if groups is not None:
        reason += f", as sure as {effective:.0f} independent ones"
    plug_in = (Discrete(correction="none"), "the plug-in value, never negative")
    if effective >= CELL_ROWS * cells:
        return Choice(Discrete(), reason, (plug_in,))
    if x.dtype.kind not in "USO":
        return None
    recurring = float((groups_per_class(pairs, groups) > 1)[pairs].mean())
    if recurring >= RECURRING:
        return Choice(Discrete(), f"{reason}, with pairs that recur in {recurring:.0%} of the rows", (plug_in,))
    if values < 2 or classes < 2 or occurs_once(symbols, groups) or occurs_once(labels.codes, groups):
        return Choice(Discrete(), f"{reason}, and nothing to count", (plug_in,))
    table = (Discrete(), "the table of counts all the same, whose bias is not all taken off; better, merge rare values")
    return Choice(Mixture(), f"{reason}: too few for a table of counts", (table,))


def _numbers_or_names(x: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all numbers as numbers; columns of several kinds stay as they are, for each to be read alone."""
    if x.dtype.kind != "O" or not are_numbers(x):
        return x
    return native(x, "x", "remove that row or repair the state")


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
