"""The cross-fitted probe: I(x; class) as H(Y) minus the held-out cross-entropy of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from mi_attention.estimators.axes import PrincipalRows, are_few, leading_rows, leading_widths, principal_rows
from mi_attention.estimators.crossfit import NESTED_FOLDS, CrossFit, Prepared, cross_fit
from mi_attention.estimators.fitted import FittedProbe
from mi_attention.estimators.folds import groups_per_class, rare_class, stratified_folds
from mi_attention.estimators.labels import ClassLabels, as_classes
from mi_attention.estimators.levels import corrected_level
from mi_attention.estimators.members import DISCRIMINANTS, MEMBERS, TrainingUnit, fit_members
from mi_attention.estimators.moments import Parts, moments_of_parts
from mi_attention.estimators.reading import CURVED
from mi_attention.estimators.rows import StandardisedRows, standardise
from mi_attention.estimators.samples import (
    FEW_ROWS,
    FEWEST_ROWS,
    as_groups,
    as_states,
    as_units,
    check_finite,
    cluster_standard_error,
    count_independent,
    naming,
    warn_if_small,
)
from mi_attention.estimators.subspace import Subspaces, align_to, fit_subspaces, is_whole
from mi_attention.estimators.threads import in_threads
from mi_attention.interface import FloatArray, IntArray, MIEstimate, Unit

__all__ = ["Probe"]

SINGLE_CLASS = "a single class"
CONSTANT_STATE = "constant state"
UNCOVERED_CLASS = "a class is missing from the training part of a fold"

# Chance of taking any further reading where none is better: 2 standard errors, for one reading of many rows.
CHANCE = 0.0228


@dataclass(frozen=True, eq=False)
class _Output:
    """Labels of a unit and what follows from them.

    Attributes:
        labels: Classes of the rows.
        groups: ``(n,)`` numbered from 0, or None.
        independent: Number of groups, or of rows without groups.
        parts: Folds and halves; None where there can be none.
        obstacle: Why nothing can be estimated, or an empty string.
    """

    labels: ClassLabels
    groups: IntArray | None
    independent: int
    parts: Parts | None
    obstacle: str


@dataclass(frozen=True)
class Probe:
    """Cross-fitted classifier bound on I(x; y) for classes y and states x of any dimension.

    Linear discriminants with four degrees of shrinkage are fitted on the training part of every fold, and their
    out-of-fold scores are stacked log-linearly with coefficients from nested folds. All folds come from one pass over
    the rows (additive moments). Curved members (``"gaussian"``, ``"polynomial"``) read the leading linear scores and
    the coordinates of a subspace in which classes differ (``subspace``, ``reading``), and join a last stack; all
    members then read rows along their principal axes with tails cut at 3.5 standard deviations.

    In fewer than 16 rows (groups) a column all is read again along the axes that stand out, if there are such
    (correlated states). In fewer than 8 the linear members come first, alone, and all members read along all axes, .6
    and half of them, those of largest variance (``axes.leading_widths``). The best of the further readings whose
    held-out gain over the first is beyond chance (2.3 % for all of them together) takes its place.

    What the fields of the result mean:

    - ``lower_bound``: H(Y) minus the out-of-fold cross-entropy, in nats; signed, uncapped, the mean of ``local``. A
      lower bound of I(x; y) in expectation: information *usable* by these members (Xu et al. 2020). H(Y) and the
      prior in q are both the class shares of all rows, so that the mean of ``local`` is it exactly and no information
      reads about 0.
    - ``nats``: the bias-corrected level, an estimate and not a bound; never above H(Y); equal to ``lower_bound``
      where that is not positive, so it can be slightly negative. See ``levels.corrected_level``;
      ``level_standard_error`` gives its error.
    - ``local``: support, log q(y|x) − log p(y). ``informativeness``: KL(q(·|x) ‖ p).
    - ``standard_error``: of ``lower_bound``, from sums by group.

    ``Probe(members=("linear", "smooth", "sharp", "plain"))`` is a linear reader, blind to dependence without a linear
    trace: an XOR-like state reads 0. The polynomial serves up to 10 classes; curved members are left out where there
    are fewer than three folds, and learn from 32,768 rows drawn at random where there are more.

    Edge cases: one class only is undefined with ceiling 0 (``"a single class"``), since one class among these rows
    does not show that there is only one; a class in fewer than two groups is undefined, and so are fewer than 10
    independent rows, where noise can separate the classes; a constant state is exactly 0, with ``reason`` ``"constant
    state"`` as its flag and ``status`` ``"ok"``.

    The folds depend on ``seed`` and the order of rows, on nothing else: not on label names, dtypes or the batch.

    Attributes:
        folds: Folds of the held-out value, at least 2; fewer where there are fewer groups.
        seed: Of the fold assignment.
        members: Names to stack: at least one of ``members.MEMBERS`` (``"linear"``, ``"smooth"``, ``"sharp"``,
            ``"plain"``, ``"ridge"``), and any of ``reading.CURVED``.

    References:
        Xu et al. (2020), A theory of usable information; Ethayarajh et al. (2022), equation 4 (pointwise).
    """

    folds: int = 10
    seed: int = 0
    members: tuple[str, ...] = (*DISCRIMINANTS, *CURVED)

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}")
        known = (*MEMBERS, *CURVED)
        if any(name not in known for name in self.members) or len(set(self.members)) < len(self.members):
            raise ValueError(f"members must be different names out of {known}, got {self.members}")
        if not self._linear:
            raise ValueError(f"members must hold at least one linear one of {tuple(MEMBERS)}, got {self.members}")

    @property
    def _linear(self) -> tuple[str, ...]:
        return tuple(name for name in self.members if name in MEMBERS)

    @property
    def _curved(self) -> tuple[str, ...]:
        return tuple(name for name in self.members if name in CURVED)

    @property
    def signature(self) -> str:
        """Name, members, folds and seed."""
        return f"probe|members={'+'.join(self.members)}|folds={self.folds}|seed={self.seed}"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats.

        Args:
            x: ``(n, d)`` or ``(n,)`` states; may be memory-mapped and larger than memory. Never written.
            y: ``(n,)`` classes: integers, strings, booleans, categoricals.
            groups: ``(n,)`` instance of each row where rows are not independent; folds and errors go by it.

        Raises:
            ValueError: NaN or infinity (the row is named), shapes that do not match, a continuous y.
        """
        states = as_states(x)
        return self._estimate(states, self._output(y, groups, len(states)))

    @overload
    def estimate_many(self, units: Sequence[Unit]) -> list[MIEstimate]: ...

    @overload
    def estimate_many(self, units: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> list[MIEstimate]: ...

    def estimate_many(self, units: Any, y: Any = None, groups: Any = None) -> list[MIEstimate]:
        """Estimate many units: the same values as one call of ``estimate`` a unit, on as many threads as BLAS has.

        A unit's values do not depend on the number of threads. ``OMP_NUM_THREADS`` or ``threadpoolctl`` set it.

        Args:
            units: A sequence of ``Unit`` (sizes may differ), or states ``(U, n, d)`` with one ``y``.
            y: ``(n,)`` classes, with states ``(U, n, d)``.
            groups: ``(n,)``, with states ``(U, n, d)``.

        Raises:
            ValueError: what ``estimate`` refuses, with the unit named.
        """
        listed = as_units(units, y, groups)
        outputs: dict[tuple[int, int], _Output] = {}
        for index, unit in enumerate(listed):
            key = id(unit.y), id(unit.groups)
            if key not in outputs:
                with naming(index, unit):
                    outputs[key] = self._output(unit.y, unit.groups, len(unit.x))

        def one(numbered: tuple[int, Unit]) -> MIEstimate:
            index, unit = numbered
            with naming(index, unit):
                return self._estimate(as_states(unit.x), outputs[id(unit.y), id(unit.groups)])

        return in_threads(one, list(enumerate(listed)))

    def cross_fitted_probabilities(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
        """Out-of-fold q(class | x) ``(n, C)``: each row from a fit that saw neither it nor its group.

        Column j belongs to ``numpy.unique(y)[j]``. A constant state gives the class shares.

        Raises:
            ValueError: where the estimate is undefined, with the reason.
        """
        states = as_states(x)
        prepared = self._prepare(states, self._output(y, groups, len(states)))
        if isinstance(prepared, MIEstimate):
            if prepared.status == "ok":
                labels = as_classes(y, prepared.n)
                return np.tile(labels.prior, (prepared.n, 1))
            raise ValueError(f"no cross-fitted probabilities: {prepared.reason}")
        return np.exp(self._crossed(prepared)[1].log_probabilities).T

    def fit(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> FittedProbe:
        """Fit on all rows, to be evaluated on others (``FittedProbe.support`` on fresh rows is held out).

        Stack coefficients come from cross-fitting inside these rows.

        Raises:
            ValueError: bad input, or an undefined estimate (a single class, a class in fewer than two groups).
        """
        states = as_states(x)
        prepared = self._prepare(states, self._output(y, groups, len(states)))
        if isinstance(prepared, MIEstimate):
            if prepared.status != "ok":
                raise ValueError(f"no probe can be fitted: {prepared.reason}")
            return self._prior_only(states, as_classes(y, prepared.n))
        prepared, crossed = self._crossed(prepared)
        rows, labels = prepared.rows, prepared.labels
        source = rows.rows if isinstance(rows, PrincipalRows) else rows
        whole = TrainingUnit(
            rows=rows,
            codes=labels.codes,
            n_classes=len(labels.classes),
            parts=None,
            moments=moments_of_parts(rows, labels.codes, len(labels.classes), None),
        )
        return FittedProbe(
            classes=labels.classes,
            log_prior=np.log(labels.prior),
            centre=source.centre,
            scale=source.scale,
            fits=tuple(fit_members(whole, self._linear)),
            reading=crossed.reading,
            axes=rows.axes if isinstance(rows, PrincipalRows) else None,
            subspace=_whole_subspace(rows, labels.codes, crossed.reference),
            smoothing=1.0 / prepared.independent,
        )

    def _prior_only(self, states: FloatArray, labels: ClassLabels) -> FittedProbe:
        width = states.shape[1]
        return FittedProbe(
            classes=labels.classes,
            log_prior=np.log(labels.prior),
            centre=np.zeros(width),
            scale=np.ones(width),
            fits=(),
            reading=None,
            axes=None,
            subspace=None,
            smoothing=0.0,
        )

    def _estimate(self, states: FloatArray, output: _Output) -> MIEstimate:
        prepared = self._prepare(states, output)
        if isinstance(prepared, MIEstimate):
            return prepared
        return self._result(*self._crossed(prepared))

    def _crossed(self, prepared: Prepared) -> tuple[Prepared, CrossFit]:
        """The unit cross-fitted: in few rows linearly, unless a curved reading is better beyond chance."""
        rows = prepared.rows
        if not isinstance(rows, PrincipalRows):
            return prepared, cross_fit(prepared, self._linear, ())[0]
        widths = leading_widths(rows, prepared.independent)
        if are_few(rows, prepared.independent):
            plain, whole = cross_fit(prepared, self._linear, (), self._curved)
            others = [(prepared, whole)]
        else:
            plain = cross_fit(prepared, self._linear, self._curved)[0]
            others = []
        for width in widths:
            narrow = replace(prepared, rows=leading_rows(rows, width))
            others.append((narrow, cross_fit(narrow, self._linear, self._curved)[0]))
        best = prepared, plain
        least = float(student.isf(CHANCE / max(len(others), 1), prepared.independent - 1))
        for other in others:
            gain = other[1].held_out - plain.held_out
            sure = gain.mean() > least * cluster_standard_error(gain, prepared.groups)
            if sure and other[1].held_out.mean() > best[1].held_out.mean():
                best = other
        return best

    def _output(self, y: Any, groups: Any, n: int) -> _Output:
        """What is known of the labels alone, the same for all units that share them."""
        labels = as_classes(y, n)
        instances = as_groups(groups, n)
        independent = count_independent(n, instances)
        if len(labels.classes) < 2:
            return _Output(labels, instances, independent, None, SINGLE_CLASS)
        if independent < FEWEST_ROWS:
            return _Output(labels, instances, independent, None, FEW_ROWS)
        if int(groups_per_class(labels.codes, instances).min()) < 2:
            return _Output(labels, instances, independent, None, rare_class(instances))
        folds = min(self.folds, independent)
        parts = Parts(
            fold=stratified_folds(labels.codes, instances, folds, np.random.default_rng([self.seed, 0])),
            half=stratified_folds(labels.codes, instances, 2, np.random.default_rng([self.seed, 1])),
            folds=folds,
            nests=min(NESTED_FOLDS, folds) if self._curved else 0,
        )
        obstacle = "" if _covered(labels, parts) else UNCOVERED_CLASS
        return _Output(labels, instances, independent, parts, obstacle)

    def _prepare(self, states: FloatArray, output: _Output) -> Prepared | MIEstimate:
        """A unit ready for cross-fitting, or the estimate where there is nothing to fit."""
        n, labels = len(states), output.labels
        if len(labels.classes) < 2:
            check_finite(states)
            return MIEstimate.undefined(SINGLE_CLASS, n=n, signature=self.signature, ceiling=0.0)
        rows = standardise(states)
        if rows.constant:
            return self._nothing(n, labels, output.groups)
        if output.parts is None or output.obstacle:
            return MIEstimate.undefined(output.obstacle, n=n, signature=self.signature, ceiling=labels.entropy)
        warn_if_small(output.independent)
        read = principal_rows(rows) if self._curved else rows
        return Prepared(
            rows=read, labels=labels, groups=output.groups, parts=output.parts, independent=output.independent
        )

    def _nothing(self, n: int, labels: ClassLabels, groups: IntArray | None) -> MIEstimate:
        return MIEstimate(
            nats=0.0,
            lower_bound=0.0,
            local=np.zeros(n),
            standard_error=0.0,
            n=n,
            ceiling=labels.entropy,
            status="ok",
            reason=CONSTANT_STATE,
            signature=self.signature,
            informativeness=np.zeros(n),
            groups=groups,
        )

    def _result(self, unit: Prepared, fitted: CrossFit) -> MIEstimate:
        log_prior = np.log(unit.labels.prior)[:, None]
        logs = fitted.log_probabilities
        held_out = float(fitted.held_out.mean())
        standard_error = cluster_standard_error(fitted.held_out, unit.groups)
        return MIEstimate(
            nats=corrected_level(
                held_out=held_out,
                in_sample=fitted.in_sample,
                held_out_half=fitted.held_out_half,
                in_sample_half=fitted.in_sample_half,
                folds=unit.parts.folds,
                standard_error=standard_error,
                ceiling=unit.labels.entropy,
            ),
            lower_bound=held_out,
            local=fitted.held_out,
            standard_error=standard_error,
            n=unit.rows.n,
            ceiling=unit.labels.entropy,
            status="ok",
            reason="",
            signature=self.signature,
            informativeness=(np.exp(logs) * (logs - log_prior)).sum(axis=0),
            groups=unit.groups,
        )


def _whole_subspace(
    rows: StandardisedRows | PrincipalRows, codes: IntArray, reference: NDArray[np.float64] | None
) -> Subspaces | None:
    """The subspace of all rows, turned towards that of the first fold; None for a linear reader."""
    if reference is None or not isinstance(rows, PrincipalRows):
        return None
    found = fit_subspaces(rows, codes, None)
    if is_whole(rows):
        return found
    turned = align_to(reference, rows.axes.spread, found.projection[0])
    return Subspaces(centre=found.centre, projection=turned[None])


def _covered(labels: ClassLabels, parts: Parts) -> bool:
    """Whether every training part has rows of every class."""
    classes = len(labels.classes)
    for assignment, count in ((parts.fold, parts.folds), (parts.half, 2)):
        held = np.bincount(assignment * classes + labels.codes, minlength=count * classes).reshape(count, classes)
        if not (held.sum(axis=0) - held > 0).all():
            return False
    return True
