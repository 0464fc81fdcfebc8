"""The cross-fitted probe: I(x; class) as H(Y) minus the held-out cross-entropy of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.estimators.crossfit import BATCH_NUMBERS, CrossFit, Prepared, batches, cross_fit
from mi_attention.estimators.fitted import FittedProbe
from mi_attention.estimators.folds import groups_per_class, stratified_folds
from mi_attention.estimators.labels import ClassLabels, as_classes
from mi_attention.estimators.levels import corrected_level
from mi_attention.estimators.members import MEMBERS, TrainingUnit
from mi_attention.estimators.moments import Parts, moments_of_parts
from mi_attention.estimators.rows import standardise
from mi_attention.estimators.samples import (
    as_groups,
    as_states,
    as_units,
    check_finite,
    cluster_standard_error,
    count_independent,
    warn_if_small,
)
from mi_attention.interface import FloatArray, IntArray, MIEstimate, Unit

__all__ = ["Probe"]

SINGLE_CLASS = "a single class"
CONSTANT_STATE = "constant state"
RARE_CLASS = "class has fewer than 2 groups"
RARE_CLASS_ROWS = "class has fewer than 2 rows"
UNCOVERED_CLASS = "a class is missing from the training part of a fold"


@dataclass(frozen=True)
class Probe:
    """Cross-fitted classifier bound on I(x; y) for classes y and states x of any dimension.

    Linear discriminants with two degrees of shrinkage are fitted on the training part of every fold, and their
    out-of-fold scores are stacked log-linearly with coefficients from nested folds. All folds come from one pass over
    the rows (additive moments) and one batched solve.

    What the fields of the result mean:

    - ``lower_bound``: H(Y) minus the out-of-fold cross-entropy, in nats; signed, uncapped, the mean of ``local``. A
      lower bound of I(x; y) in expectation: *usable* information of a linear reader (Xu et al. 2020). H(Y) and the
      prior in q are both the class shares of all rows, so that the mean of ``local`` is it exactly and no information
      reads about 0.
    - ``nats``: the bias-corrected level, an estimate and not a bound; never above H(Y); equal to ``lower_bound``
      where that is not positive, so it can be slightly negative. See ``levels.corrected_level``;
      ``level_standard_error`` gives its error.
    - ``local``: support, log q(y|x) − log p(y). ``informativeness``: KL(q(·|x) ‖ p).
    - ``standard_error``: of ``lower_bound``, from sums by group.

    The linear probe is blind to dependence without a linear trace: an XOR-like state reads 0.

    Edge cases: one class only is undefined with ceiling 0 (``"a single class"``), since one class among these rows
    does not show that there is only one; a class in fewer than two groups is undefined; a constant state is exactly
    0, with ``reason`` ``"constant state"`` as its flag and ``status`` ``"ok"``.

    The folds depend on ``seed`` and the order of rows, on nothing else: not on label names, dtypes or the batch.

    Attributes:
        folds: Folds of the held-out value, at least 2; fewer where there are fewer groups.
        seed: Of the fold assignment.
        members: Names of classifier families to stack, from ``members.MEMBERS``.

    References:
        Xu et al. (2020), A theory of usable information; Ethayarajh et al. (2022), equation 4 (pointwise).
    """

    folds: int = 10
    seed: int = 0
    members: tuple[str, ...] = ("linear", "smooth")

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}")
        unknown = [name for name in self.members if name not in MEMBERS]
        if unknown or not self.members:
            raise ValueError(f"members must be a non-empty choice of {sorted(MEMBERS)}, got {self.members}")

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
        return self._estimate_batch([(x, y, groups)])[0]

    @overload
    def estimate_many(self, units: Sequence[Unit]) -> list[MIEstimate]: ...

    @overload
    def estimate_many(self, units: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> list[MIEstimate]: ...

    def estimate_many(self, units: Any, y: Any = None, groups: Any = None) -> list[MIEstimate]:
        """Estimate many units, solved together: the same values as one call of ``estimate`` a unit.

        Args:
            units: A sequence of ``Unit`` (sizes may differ), or states ``(U, n, d)`` with one ``y``.
            y: ``(n,)`` classes, with states ``(U, n, d)``.
            groups: ``(n,)``, with states ``(U, n, d)``.
        """
        listed = as_units(units, y, groups)
        by_width: dict[int, list[int]] = {}
        for index, unit in enumerate(listed):
            by_width.setdefault(unit.x.shape[1], []).append(index)
        results: dict[int, MIEstimate] = {}
        for width, members in by_width.items():
            size = max(1, BATCH_NUMBERS // (4 * (self.folds + 2) * width * width))
            for start in range(0, len(members), size):
                chunk = members[start : start + size]
                found = self._estimate_batch([(listed[i].x, listed[i].y, listed[i].groups) for i in chunk])
                results.update(zip(chunk, found, strict=True))
        return [results[index] for index in range(len(listed))]

    def cross_fitted_probabilities(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
        """Out-of-fold q(class | x) ``(n, C)``: each row from a fit that saw neither it nor its group.

        Column j belongs to ``numpy.unique(y)[j]``. A constant state gives the class shares.

        Raises:
            ValueError: where the estimate is undefined, with the reason.
        """
        prepared = self._prepare(x, y, groups)
        if isinstance(prepared, MIEstimate):
            if prepared.status == "ok":
                labels = as_classes(y, prepared.n)
                return np.tile(labels.prior, (prepared.n, 1))
            raise ValueError(f"no cross-fitted probabilities: {prepared.reason}")
        return np.exp(cross_fit([prepared], self.members)[0].log_probabilities).T

    def fit(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> FittedProbe:
        """Fit on all rows, to be evaluated on others (``FittedProbe.support`` on fresh rows is held out).

        Stack coefficients come from cross-fitting inside these rows.

        Raises:
            ValueError: bad input, or an undefined estimate (a single class, a class in fewer than two groups).
        """
        prepared = self._prepare(x, y, groups)
        if isinstance(prepared, MIEstimate):
            if prepared.status != "ok":
                raise ValueError(f"no probe can be fitted: {prepared.reason}")
            return self._prior_only(as_states(x), as_classes(y, prepared.n))
        rows, labels = prepared.rows, prepared.labels
        coefficients = cross_fit([prepared], self.members)[0].coefficients
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
            centre=rows.centre,
            scale=rows.scale,
            fits=tuple(MEMBERS[name].fit([whole])[0] for name in self.members),
            coefficients=coefficients,
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
            coefficients=np.zeros(0),
            smoothing=0.0,
        )

    def _estimate_batch(self, inputs: Sequence[tuple[Any, Any, Any]]) -> list[MIEstimate]:
        prepared = [self._prepare(*given) for given in inputs]
        results: dict[int, MIEstimate] = {}
        ready: list[Prepared] = []
        place: list[int] = []
        for index, unit in enumerate(prepared):
            if isinstance(unit, MIEstimate):
                results[index] = unit
            else:
                ready.append(unit)
                place.append(index)
        for chunk in batches(ready):
            for i, fitted in zip(chunk, cross_fit([ready[i] for i in chunk], self.members), strict=True):
                results[place[i]] = self._result(ready[i], fitted)
        return [results[index] for index in range(len(inputs))]

    def _prepare(self, x: Any, y: Any, groups: Any) -> Prepared | MIEstimate:
        """A unit ready for cross-fitting, or the estimate where there is nothing to fit."""
        states = as_states(x)
        n = len(states)
        labels = as_classes(y, n)
        instances = as_groups(groups, n)
        independent = count_independent(n, instances)
        if len(labels.classes) < 2:
            check_finite(states)
            return MIEstimate.undefined(SINGLE_CLASS, n=n, signature=self.signature, ceiling=0.0)
        rows = standardise(states)
        if rows.constant:
            return self._nothing(n, labels, instances)
        if int(groups_per_class(labels.codes, instances).min()) < 2:
            reason = RARE_CLASS_ROWS if instances is None else RARE_CLASS
            return MIEstimate.undefined(reason, n=n, signature=self.signature, ceiling=labels.entropy)
        folds = min(self.folds, independent)
        parts = Parts(
            fold=stratified_folds(labels.codes, instances, folds, np.random.default_rng([self.seed, 0])),
            half=stratified_folds(labels.codes, instances, 2, np.random.default_rng([self.seed, 1])),
            folds=folds,
        )
        if not _covered(labels, parts):
            return MIEstimate.undefined(UNCOVERED_CLASS, n=n, signature=self.signature, ceiling=labels.entropy)
        warn_if_small(independent)
        return Prepared(rows=rows, labels=labels, groups=instances, parts=parts, independent=independent)

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


def _covered(labels: ClassLabels, parts: Parts) -> bool:
    """Whether every training part has rows of every class."""
    classes = len(labels.classes)
    for assignment, count in ((parts.fold, parts.folds), (parts.half, 2)):
        held = np.bincount(assignment * classes + labels.codes, minlength=count * classes).reshape(count, classes)
        if not (held.sum(axis=0) - held > 0).all():
            return False
    return True
