"""Neural bounds as an estimator: input, folds, one batch of critics, and what the numbers mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.estimators.folds import groups_per_class, stratified_folds
from mi_attention.estimators.labels import as_classes, as_continuous, is_discrete
from mi_attention.estimators.neural.options import COMPARED, CriticOptions
from mi_attention.estimators.neural.pairing import own_surplus
from mi_attention.estimators.neural.views import views_of
from mi_attention.estimators.rows import standardise
from mi_attention.estimators.samples import (
    FEW_ROWS,
    FEWEST_ROWS,
    as_array,
    as_groups,
    as_states,
    as_units,
    cluster_standard_error,
    count_independent,
    naming,
    warn_if_small,
)
from mi_attention.interface import FloatArray, IntArray, MIEstimate, Unit

__all__ = ["Neural"]

# Bounds whose held-out value is a lower bound in expectation where rows are independent.
LOWER_BOUNDS = ("nwj", "infonce")

# Float32 numbers of states, and of one step's hidden layers, held at a time (32 MiB each): more gains nothing.
BATCH_NUMBERS = 2**23


@dataclass(frozen=True, eq=False)
class _Prepared:
    views: list[tuple[NDArray[np.float32], NDArray[np.float32] | IntArray]]
    classes: int
    groups: IntArray | None
    fold: IntArray
    folds: int
    ceiling: float | None


@dataclass(frozen=True)
class Neural(CriticOptions):
    """Variational bound on I(x; y) in nats from a neural critic T(x, y), for classes or continuous y.

    The rows are cut into ``folds`` parts, whole groups together. For each part a critic is trained on the others but
    the next, stopped by the next, and judged on the part itself; all parts of all units train as one batch. So every
    row has a held-out ``local`` value, and the raw value is their mean.

    **Views.** There are two critics for each part, one of the standardised columns and one of the coordinates along
    principal axes with equal spread, and that with the most information about the validation rows judges the part
    (``views``). From the columns alone a network reads nothing of what lies in directions of small variance, from the
    axes alone little of hidden-like states in few rows; of a single column both are the same, and it is trained once.

    **Product of the marginals.** Continuous y: all pairs of rows of one part that share no group. Rows of a group are
    not independent, so they are no such pairs; without groups all pairs of different rows are. Classes: the critic is
    asked for every class, and classes are weighted by their rows in the part, outside of the row's group and with the
    row itself: the sum over all pairs of the part, exactly, at the cost of C scores a row. With the row itself among
    its product samples MINE, NWJ and InfoNCE stay lower bounds where they are, since joint and product are then nearer
    (Kullback-Leibler divergence is convex), and none of them can exceed H(Y) of the part.

    **Groups.** Rows of a group are no product samples of each other, and a row counts with itself for all of its group
    (``pairing``), so that y which goes with the group or its size is no information about any x. The bounds stay bounds
    and are low in few groups, as if a part held so many rows: of two classes that rows of a group share with x, .69
    nats read .68 to .69 with 10, 20, 50 or 100 groups (InfoNCE, mean of 6 draws), .34 nats .04, −.24, .27 and .34; of a
    pair of rho .9 (.83 nats) with independent rows .77 in 200 groups of 5 and .65 in 60 of 10, .74 and .60 in as many
    of lognormal sizes (sigma .5 and 1), and .82 in 1,000 rows without groups.

    **What the numbers mean.**

    - ``"infonce"`` (default): ``lower_bound`` is a lower bound in expectation. With classes it is H(Y) minus
      the held-out cross-entropy of the classifier q(y|x) ∝ p(y) exp T, at most H(Y). With continuous y it cannot exceed
      log B for B rows in a part, groups where there are groups of equal size (``reason`` warns within 1 nat of it): use
      more rows, fewer folds or another bound.
    - ``"nwj"``: ``lower_bound`` is a lower bound in expectation, without ceiling for continuous y. High variance: of
      order exp(I)/n, and worse where the critic is wrong, so that single values can be far below 0.
    - ``"mine"``: ``lower_bound`` is None, since minus the log of a mean over finitely many pairs is biased upwards: a
      bound in the limit only. High variance like NWJ for continuous y. Trained with the moving average that removes
      the bias of its gradient.
    - ``"smile"``: clipping trades variance for bias in either direction: no bound. ``lower_bound`` is None.

    ``nats`` is the raw value, signed; with classes at most H(Y), as ``lower_bound`` is, where a higher raw value is
    named in ``reason``. It is low by what the critic could not learn from these rows. A critic that never beats a
    constant one on the validation rows is that constant, and its part reads exactly 0. ``local`` is the pointwise log
    ratio T_ii − log Z, plus for all but InfoNCE the row's share in the error of Z, as x and as y of others
    (``losses.pointwise``, ``losses.output_shares``); ``standard_error`` is its, by group. It is that of the held-out
    mean given the critics: that they would differ on other rows is not in it, which for MINE and NWJ at high
    information is most of their spread (table, correlation .99). It is linear in the error of Z and of no use where a
    few pairs make up Z: three critics each of rho .9 trained on 300 rows spread by .09, .39, .12 (MINE) and 428, 1.9,
    1.9 (NWJ) over fresh parts of 100 rows, root mean square standard errors .09, .22, .11 and 604, 2.4, 2.1.

    **Measured** with the defaults at N = 2000, nats; mean over 4 draws of one column each, 2 draws of 10 columns
    (``tests/benchmarks/neural_values.py``):

    ======================  =====  ===========  ===========  =======  =====
    Gaussian pairs          truth  MINE         NWJ          InfoNCE  SMILE
    ======================  =====  ===========  ===========  =======  =====
    1 column, rho 0         0      -.003        -.003        -.002    -.002
    1 column, rho .5        .144   .140         .140         .139     .134
    1 column, rho .9        .830   .765         .708 ± .10   .814     .791
    1 column, rho .99       1.959  1.398 ± .16  1.433 ± .17  1.889    1.819
    10 columns, rho 0       0      .000         .000         -.005    .000
    10 columns, rho .3      .472   .401         .401         .401     .388
    10 columns, rho .6      2.231  1.986        1.999        2.095    1.965
    ======================  =====  ===========  ===========  =======  =====

    Two classes, d = 128, 20 positions of 0 to 0.75 H(Y), one draw (``results/accuracy/accuracy.md``); Kendall tau /
    RMSE:

    ====================  ==========  ==========  ==========  ==========
    positions             MINE        NWJ         InfoNCE     SMILE
    ====================  ==========  ==========  ==========  ==========
    differences in mean   .98 / .069  .98 / .070  .99 / .065  1.0 / .073
    half antipodal (XOR)  .60 / .164  .59 / .164  .67 / .138  .55 / .173
    antipodal             .39 / .266  .40 / .266  .72 / .163  .38 / .281
    ====================  ==========  ==========  ==========  ==========

    Differences in mean are ordered right and read low; what is antipodal is found in part, or not at all.

    Edge cases: a single class is undefined with ceiling 0; fewer than 10 independent rows, or a class in fewer than 3
    groups, are undefined; a constant state or output is exactly 0 and flagged in ``reason``.

    A seed gives one number, whatever the number of workers. A unit's value does not depend on the units beside it
    beyond rounding of float32: within 1e-8 nats where measured, 1e-6 in the tests. torch is loaded at the first
    estimate; its global generator and its number of threads are left alone.

    References: see ``losses`` and ``critics``.
    """

    @property
    def signature(self) -> str:
        """Bound, critic, and whatever changes the number."""
        smile = f"|clip={self.clip:g}" if self.bound == "smile" else ""
        average = f"|average={self.average_rate:g}" if self.bound == "mine" else ""
        return (
            f"{self.bound}{smile}{average}|critic={self.critic or 'auto'}{self.hidden}|folds={self.folds}"
            f"|batch={self.batch}|steps={self.steps}/{self.patience}/{self.interval}|rate={self.learning_rate:g}"
            f"|decay={self.weight_decay:g}|views={'+'.join(self.views)}|seed={self.seed}"
        )

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats.

        Args:
            x: ``(n, d)`` or ``(n,)`` states. Never written.
            y: ``(n,)`` classes (integers, strings, booleans, categoricals, floats that repeat), or ``(n,)`` or
                ``(n, dy)`` continuous values; ``labels.is_discrete`` tells them apart.
            groups: ``(n,)`` instance of each row where rows are not independent.

        Raises:
            ValueError: NaN or infinity (the row is named), shapes that do not match.
        """
        return self._estimate_all([(x, y, groups)])[0]

    @overload
    def estimate_many(self, units: Sequence[Unit]) -> list[MIEstimate]: ...

    @overload
    def estimate_many(self, units: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> list[MIEstimate]: ...

    def estimate_many(self, units: Any, y: Any = None, groups: Any = None) -> list[MIEstimate]:
        """Estimate many units, trained together: the values of one call of ``estimate`` a unit, within 1e-6 nats.

        Args:
            units: A sequence of ``Unit`` (sizes may differ), or states ``(U, n, d)`` with one ``y``.
            y: ``(n,)`` or, continuous, ``(n, dy)``; with states ``(U, n, d)``.
            groups: ``(n,)``, with states ``(U, n, d)``.
        """
        if y is not None and (wide := as_array("y", y)).ndim == 2:
            # A Unit holds one output a row; several columns go round it.
            listed = as_units(units, wide[:, 0], groups)
            return self._estimate_all([(unit.x, wide, unit.groups) for unit in listed], listed)
        listed = as_units(units, y, groups)
        return self._estimate_all([(unit.x, unit.y, unit.groups) for unit in listed], listed)

    def _estimate_all(
        self, inputs: Sequence[tuple[Any, Any, Any]], named: Sequence[Unit] | None = None
    ) -> list[MIEstimate]:
        results: dict[int, MIEstimate] = {}
        alike: dict[tuple[int, int, int], list[tuple[int, _Prepared]]] = {}
        for index, given in enumerate(inputs):
            with nullcontext() if named is None else naming(index, named[index]):
                unit = self._prepare(*given)
            if isinstance(unit, MIEstimate):
                results[index] = unit
            else:
                x, y = unit.views[0]
                alike.setdefault((x.shape[1], unit.classes, 0 if unit.classes else y.shape[1]), []).append(
                    (index, unit)
                )
        for (width, classes, _), members in alike.items():
            pairs = (classes or self.batch) if self.critic_for(classes) == "concatenated" else 1
            numbers = self.folds * self.batch * (width + 2 * self.hidden * pairs)
            largest = max(len(unit.views) * max(numbers, unit.views[0][0].size) for _, unit in members)
            size = max(1, BATCH_NUMBERS // largest)
            for start in range(0, len(members), size):
                results.update(self._train_and_judge(members[start : start + size]))
        return [results[index] for index in range(len(inputs))]

    def _train_and_judge(self, members: Sequence[tuple[int, _Prepared]]) -> dict[int, MIEstimate]:
        # Loaded here so that the package, and the terminal's --help, answer without torch.
        from mi_attention.estimators.neural.parts import Sample
        from mi_attention.estimators.neural.training import cross_fitted_terms

        samples = [
            [
                Sample(x=x, y=y, classes=unit.classes, groups=unit.groups, fold=unit.fold, folds=unit.folds)
                for x, y in unit.views
            ]
            for _, unit in members
        ]
        held_out = cross_fitted_terms(self, samples)
        return {index: self._result(unit, *found) for (index, unit), found in zip(members, held_out, strict=True)}

    def _prepare(self, x: Any, y: Any, groups: Any) -> _Prepared | MIEstimate:
        """A unit ready for its critics, or the estimate where there is nothing to train."""
        states = as_states(x)
        n = len(states)
        instances = as_groups(groups, n)
        wide = as_array("y", y)
        discrete = is_discrete(wide) and not (wide.ndim == 2 and wide.shape[1] > 1)
        labels = as_classes(y, n) if discrete else None
        output = None if labels is not None else standardise(as_continuous(y, n))
        ceiling = None if labels is None else labels.entropy
        rows = standardise(states)
        if labels is not None and len(labels.classes) < 2:
            return MIEstimate.undefined("a single class", n=n, signature=self.signature, ceiling=0.0)
        if rows.constant:
            return self._nothing(n, "constant state", ceiling, instances)
        if output is not None and output.constant:
            return self._nothing(n, "constant output", None, instances)
        pieces = count_independent(n, instances)
        if pieces < FEWEST_ROWS:
            return MIEstimate.undefined(FEW_ROWS, n=n, signature=self.signature, ceiling=ceiling)
        kind = "rows" if instances is None else "groups"
        folds = min(self.folds, pieces // 2)
        codes = np.zeros(n, dtype=np.int64) if labels is None else labels.codes
        fold = stratified_folds(codes, instances, folds, np.random.default_rng([self.seed, 0]))
        if labels is not None:
            reason = ""
            if int(groups_per_class(codes, instances).min()) < 3:
                reason = f"class has fewer than 3 {kind}"
            elif not _every_class_trains(codes, fold, folds):
                reason = "a class is missing from the training part of a fold"
            if reason:
                return MIEstimate.undefined(reason, n=n, signature=self.signature, ceiling=ceiling)
        warn_if_small(pieces)
        views = views_of(rows, output, self.views)
        return _Prepared(
            views=[(x, codes if y is None else y) for x, y in views],
            classes=0 if labels is None else len(labels.classes),
            groups=instances,
            fold=fold,
            folds=folds,
            ceiling=ceiling,
        )

    def _nothing(self, n: int, reason: str, ceiling: float | None, groups: IntArray | None) -> MIEstimate:
        return self._make(np.zeros(n), 0.0, 0.0, reason, ceiling, groups)

    def _result(self, unit: _Prepared, value: float, local: FloatArray) -> MIEstimate:
        reason = ""
        nats = value if unit.ceiling is None else min(value, unit.ceiling)
        if nats < value:
            reason = f"raw value {value:.4f} above H(Y)"
        if self.bound == "infonce" and unit.ceiling is None:
            ceiling = _log_rows(unit.fold, unit.folds, unit.groups)
            if value > ceiling - 1:
                reason = f"near its ceiling log B = {ceiling:.2f}"
        return self._make(local, nats, cluster_standard_error(local, unit.groups), reason, unit.ceiling, unit.groups)

    def _make(
        self,
        local: FloatArray,
        nats: float,
        standard_error: float,
        reason: str,
        ceiling: float | None,
        groups: IntArray | None,
    ) -> MIEstimate:
        return MIEstimate(
            nats=nats,
            lower_bound=nats if self.bound in LOWER_BOUNDS else None,
            local=local,
            standard_error=standard_error,
            n=len(local),
            ceiling=ceiling,
            status="ok",
            reason=reason,
            signature=self.signature,
            groups=groups,
        )


def _log_rows(fold: IntArray, folds: int, groups: IntArray | None) -> float:
    """Most that InfoNCE can read: log of the rows among which it chooses, with groups the mean over rows."""
    parts = np.bincount(fold, minlength=folds)
    if groups is None:
        smallest = int(parts.min())
        return math.log(smallest / math.ceil(smallest / COMPARED))
    total = 0.0
    for k, rows in enumerate(parts.tolist()):
        inside = groups[fold == k]
        blocks = math.ceil(rows / COMPARED)
        # All of a row's product samples in its block, over the weight of its own y among them.
        surplus = own_surplus(inside) / blocks
        apart = (rows - 1) / blocks - surplus
        total += float(np.log((apart + 1 + surplus) / (1 + surplus)).sum())
    return total / len(fold)


def _every_class_trains(codes: IntArray, fold: IntArray, folds: int) -> bool:
    """Whether the training rows of every critic, all folds but two neighbours, hold every class."""
    table = np.bincount(fold * (codes.max() + 1) + codes, minlength=folds * (codes.max() + 1)).reshape(folds, -1)
    return bool((table.sum(axis=0) - table - np.roll(table, -1, axis=0) > 0).all())
