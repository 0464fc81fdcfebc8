"""Cross-fitting of the probe: out-of-fold and in-sample log probabilities of prepared units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.labels import ClassLabels
from mi_attention.estimators.members import MEMBERS, PartFits, TrainingUnit
from mi_attention.estimators.moments import Parts, moments_of_parts
from mi_attention.estimators.rows import StandardisedRows
from mi_attention.estimators.stack import nested_coefficients, smoothed_log_probabilities
from mi_attention.interface import IntArray

__all__ = ["CrossFit", "Prepared", "batches", "cross_fit"]

# The stack is fitted in this many nested folds, unions of the outer ones.
NESTED_FOLDS = 5

# Float64 numbers of covariance held at once for a batch of units: 128 MiB.
BATCH_NUMBERS = 2**24


@dataclass(frozen=True, eq=False)
class Prepared:
    """A unit that can be estimated.

    Attributes:
        rows: Standardised states.
        labels: Classes of the rows.
        groups: ``(n,)`` numbered from 0, or None.
        parts: Its folds and halves.
        independent: Number of groups, or of rows without groups.
    """

    rows: StandardisedRows
    labels: ClassLabels
    groups: IntArray | None
    parts: Parts
    independent: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """What units of one batch share: d, C and folds."""
        return self.rows.width, len(self.labels.classes), self.parts.folds


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What cross-fitting gives.

    Attributes:
        log_probabilities: ``(C, n)`` out of fold.
        held_out: ``(n,)`` log q(y|x) − log p(y) out of fold.
        in_sample: Mean of the same over the training rows of every fold's fit.
        held_out_half: Mean out of fold for the split in two.
        in_sample_half: In sample for the split in two.
        coefficients: ``(m,)`` stack coefficients, mean of the nested folds.
    """

    log_probabilities: NDArray[np.float64]
    held_out: NDArray[np.float64]
    in_sample: float
    held_out_half: float
    in_sample_half: float
    coefficients: NDArray[np.float64]


def batches(units: Sequence[Prepared]) -> Iterator[list[int]]:
    """Indices of units that are solved together: same d, C and folds, and small enough in memory."""
    by_shape: dict[tuple[int, int, int], list[int]] = {}
    for index, unit in enumerate(units):
        by_shape.setdefault(unit.shape, []).append(index)
    for (width, _, folds), members in by_shape.items():
        size = max(1, BATCH_NUMBERS // ((folds + 2) * width * width * 4))
        for start in range(0, len(members), size):
            yield members[start : start + size]


def cross_fit(units: Sequence[Prepared], members: Sequence[str]) -> list[CrossFit]:
    """Fit all members on all parts of all units in one batched solve, then score each unit.

    Args:
        units: Prepared units of one shape.
        members: Names in ``MEMBERS``.
    """
    training = [
        TrainingUnit(
            rows=unit.rows,
            codes=unit.labels.codes,
            n_classes=len(unit.labels.classes),
            parts=unit.parts,
            moments=moments_of_parts(unit.rows, unit.labels.codes, len(unit.labels.classes), unit.parts),
        )
        for unit in units
    ]
    fitted = [MEMBERS[name].fit(training) for name in members]
    return [_score(unit, [fits[i] for fits in fitted]) for i, unit in enumerate(units)]


def _score(unit: Prepared, fits: Sequence[PartFits]) -> CrossFit:
    parts, codes = unit.parts, unit.labels.codes
    log_prior = np.log(unit.labels.prior)
    smoothing = 1.0 / unit.independent
    nested = min(NESTED_FOLDS, parts.folds)
    owner = parts.fold % nested
    by_fold, by_half = _out_of_fold_evidence(unit, fits)
    rows = np.arange(len(codes))

    def stacked(evidence: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        coefficients = nested_coefficients(evidence, log_prior, codes, owner, nested)
        scores = (coefficients[owner].T[:, None, :] * evidence).sum(axis=0)
        return smoothed_log_probabilities(scores, log_prior, smoothing), coefficients.mean(axis=0)

    log_probabilities, coefficients = stacked(by_fold)
    log_probabilities_half, coefficients_half = stacked(by_half)
    in_sample, in_sample_half = _in_sample(unit, fits, coefficients, coefficients_half, log_prior, smoothing)
    return CrossFit(
        log_probabilities=log_probabilities,
        held_out=log_probabilities[codes, rows] - log_prior[codes],
        in_sample=in_sample,
        held_out_half=float((log_probabilities_half[codes, rows] - log_prior[codes]).mean()),
        in_sample_half=in_sample_half,
        coefficients=coefficients,
    )


def _out_of_fold_evidence(unit: Prepared, fits: Sequence[PartFits]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Evidence ``(m, C, n)`` of each row from the fit that did not see it: by fold, and by half."""
    parts = unit.parts
    shape = (len(fits), len(unit.labels.classes), unit.rows.n)
    by_fold, by_half = np.empty(shape), np.empty(shape)
    for start, stop, block in unit.rows.blocks():
        for target, assignment, first, count in (
            (by_fold, parts.fold, 0, parts.folds),
            (by_half, parts.half, parts.folds, 2),
        ):
            for index in range(count):
                chosen = np.flatnonzero(assignment[start:stop] == index)
                piece = block[chosen]
                for member, fit in enumerate(fits):
                    target[member][:, start + chosen] = fit.evidence(piece, [first + index])[0]
    return by_fold, by_half


def _in_sample(
    unit: Prepared,
    fits: Sequence[PartFits],
    coefficients: NDArray[np.float64],
    coefficients_half: NDArray[np.float64],
    log_prior: NDArray[np.float64],
    smoothing: float,
) -> tuple[float, float]:
    """Mean log ratio over all pairs of a fit and one of its training rows: for the folds, and for the halves."""
    parts, codes, folds = unit.parts, unit.labels.codes, unit.parts.folds
    weights = np.stack([coefficients] * folds + [coefficients_half] * 2)
    total = np.zeros(parts.count)
    held = np.zeros(parts.count)
    for start, stop, block in unit.rows.blocks(width=4 * parts.count * len(log_prior)):
        label = codes[start:stop]
        scores = sum(
            weights[:, member, None, None] * fit.evidence(block, range(parts.count)) for member, fit in enumerate(fits)
        )
        ratio = smoothed_log_probabilities(np.asarray(scores), log_prior, smoothing)
        own = ratio[:, label, np.arange(stop - start)] - log_prior[label]
        trained = parts.training(start, stop)
        total += np.where(trained, own, 0.0).sum(axis=1)
        held += trained.sum(axis=1)
    return float(total[:folds].sum() / held[:folds].sum()), float(total[folds:].sum() / held[folds:].sum())
