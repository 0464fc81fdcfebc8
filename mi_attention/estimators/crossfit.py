"""Cross-fitting of the probe: out-of-fold and in-sample log probabilities of prepared units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.axes import PrincipalRows
from mi_attention.estimators.labels import ClassLabels
from mi_attention.estimators.members import LinearFits, TrainingUnit, evidence_of_all, fit_members
from mi_attention.estimators.moments import Parts, moments_of_parts
from mi_attention.estimators.reading import Held, Reading, curved_reading, fit_curved, linear_reading
from mi_attention.estimators.rows import StandardisedRows
from mi_attention.estimators.stack import own_log_ratios, smoothed_log_probabilities
from mi_attention.estimators.subspace import RANK, Subspaces, align_to, fit_subspaces, is_whole
from mi_attention.interface import IntArray

__all__ = ["NESTED_FOLDS", "CrossFit", "Prepared", "cross_fit"]

# What stands on the members is fitted in at most so many nests, unions of folds. With five the curved models learn from
# features of fits on .6 of the rows and read those of fits on .9: four classes of mixed kinds then lose .06 of tau.
NESTED_FOLDS = 10

# More rows than this teach the few dozen coefficients of the curved models nothing, and their features need memory.
FITTING_ROWS = 2**15

# Evidence of all parts of up to so many numbers (16 MiB) is kept; more is computed again when it is needed again.
KEPT_EVIDENCE = 2**21


@dataclass(frozen=True, eq=False)
class Prepared:
    """A unit that can be estimated.

    Attributes:
        rows: Standardised states; along their principal axes where curved models need them.
        labels: Classes of the rows.
        groups: ``(n,)`` numbered from 0, or None.
        parts: Its folds and halves.
        independent: Number of groups, or of rows without groups.
    """

    rows: StandardisedRows | PrincipalRows
    labels: ClassLabels
    groups: IntArray | None
    parts: Parts
    independent: int


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What cross-fitting gives.

    Attributes:
        log_probabilities: ``(C, n)`` out of fold.
        held_out: ``(n,)`` log q(y|x) − log p(y) out of fold.
        in_sample: Mean of the same over the training rows of every fold's fit.
        held_out_half: Mean out of fold for the split in two.
        in_sample_half: In sample for the split in two.
        reading: What stands on the members' evidence, mean of the nested folds.
        reference: ``(k, r)`` the projection to which all subspaces are turned, None for a linear reader.
    """

    log_probabilities: NDArray[np.float64]
    held_out: NDArray[np.float64]
    in_sample: float
    held_out_half: float
    in_sample_half: float
    reading: Reading
    reference: NDArray[np.float64] | None


def cross_fit(unit: Prepared, members: Sequence[str], *stacks: tuple[str, ...]) -> list[CrossFit]:
    """Fit all members on all parts of a unit, then score it with each of several stacks.

    Args:
        unit: Prepared.
        members: Linear members, names in ``MEMBERS``.
        stacks: Models on top of them, names in ``reading.CURVED``; an empty one reads linearly.
    """
    fits = _fit_members(unit, members)
    return [_score(unit, fits, curved) for curved in stacks]


def _fit_members(unit: Prepared, members: Sequence[str]) -> list[LinearFits]:
    training = TrainingUnit(
        rows=unit.rows,
        codes=unit.labels.codes,
        n_classes=len(unit.labels.classes),
        parts=unit.parts,
        moments=moments_of_parts(unit.rows, unit.labels.codes, len(unit.labels.classes), unit.parts),
    )
    return fit_members(training, members)


def _score(unit: Prepared, fits: Sequence[LinearFits], curved: tuple[str, ...]) -> CrossFit:
    parts, codes = unit.parts, unit.labels.codes
    log_prior = np.log(unit.labels.prior)
    smoothing = 1.0 / unit.independent
    # Pairs of nests need a third to learn from.
    bends = bool(curved) and isinstance(unit.rows, PrincipalRows) and parts.nests > 2
    subspaces = _subspaces(unit.rows, codes, parts) if bends and isinstance(unit.rows, PrincipalRows) else None
    views = _Views(unit, fits, subspaces)
    nests = parts.nests if bends else min(NESTED_FOLDS, parts.folds)
    owner = parts.fold % nests
    test, test_half = views.held_out(parts.fold), views.held_out(parts.folds + parts.half)
    if subspaces is not None:
        searched = isinstance(unit.rows, PrincipalRows) and not is_whole(unit.rows)
        chosen = _fitting_rows(len(codes))
        training = views.without_nests(chosen)
        models = fit_curved(test, training, curved, log_prior, codes[chosen], owner[chosen], with_scores=searched)
        scores, reading = curved_reading(test, models, log_prior, codes, owner)
        scores_half, reading_half = curved_reading(test_half, models, log_prior, codes, owner)
    else:
        scores, reading = linear_reading(test.evidence, log_prior, codes, owner, nests)
        scores_half, reading_half = linear_reading(test_half.evidence, log_prior, codes, owner, nests)
    log_probabilities = smoothed_log_probabilities(scores, log_prior, smoothing)
    in_sample, in_sample_half = _in_sample(views, reading, reading_half, log_prior, smoothing)
    rows = np.arange(len(codes))
    return CrossFit(
        log_probabilities=log_probabilities,
        held_out=log_probabilities[codes, rows] - log_prior[codes],
        in_sample=in_sample,
        held_out_half=float(own_log_ratios(scores_half, log_prior, codes, smoothing).mean()),
        in_sample_half=in_sample_half,
        reading=reading,
        reference=None if subspaces is None else subspaces.projection[0],
    )


def _fitting_rows(n: int) -> IntArray:
    """Rows from which the curved models learn their few coefficients: all, or so many drawn at random."""
    if n <= FITTING_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(n).choice(n, FITTING_ROWS, replace=False))


def _subspaces(rows: PrincipalRows, codes: IntArray, parts: Parts) -> Subspaces:
    """One subspace for each part, all turned towards the first, so that their coordinates mean the same.

    The first saw the rows of other folds; what the turn tells of their labels is too little to be seen (lower bounds at
    independence were .0007 ± .0005 nats in 600 rows of 64 columns, .0000 ± .0002 in 2000 of 128).
    """
    found = fit_subspaces(rows, codes, parts)
    reference = found.projection[0]
    if is_whole(rows):
        return found
    turned = [align_to(reference, rows.axes.spread, other) for other in found.projection[1:]]
    return Subspaces(centre=found.centre, projection=np.stack([reference, *turned]))


def _without_nest(parts: Parts) -> list[IntArray]:
    """For each nest, the part in which to look up a row of another nest, so that neither nest was seen (−1: none)."""
    result: list[IntArray] = [np.full(len(parts.fold), -1, dtype=np.int64) for _ in range(parts.nests)]
    for index, (one, other) in enumerate(parts.pairs):
        result[one][parts.nest == other] = parts.main + index
        result[other][parts.nest == one] = parts.main + index
    return result


@dataclass(frozen=True, eq=False)
class _Views:
    """What the fits on all parts say of the rows: of those held out, and of those trained on."""

    unit: Prepared
    fits: Sequence[LinearFits]
    subspaces: Subspaces | None
    kept: list[tuple[int, int, NDArray[np.float64], NDArray[np.float64] | None]] = field(default_factory=list)

    def blocks(self) -> Iterator[tuple[int, int, NDArray[np.float64], NDArray[np.float64] | None]]:
        """Start, stop, evidence ``(m, P, C, b)`` and coordinates ``(P, b, r)`` of folds and halves, block by block."""
        if self.kept:
            yield from self.kept
            return
        rows, main = self.unit.rows, slice(0, self.unit.parts.main)
        numbers = self.unit.parts.main * (len(self.fits) * len(self.unit.labels.classes) + RANK)
        for start, stop, block in rows.blocks(4 * numbers):
            evidence, coordinates = self._of(block, main)
            if numbers * rows.n <= KEPT_EVIDENCE:
                self.kept.append((start, stop, evidence, coordinates))
            yield start, stop, evidence, coordinates

    def held_out(self, part_of: IntArray) -> Held:
        """Every row as the part of a fold or half sees it; without coordinates for a linear reader."""
        n = self.unit.rows.n
        result = self._empty(n)
        for start, stop, evidence, coordinates in self.blocks():
            _look_up(
                result, np.arange(start, stop), evidence, coordinates, part_of[start:stop], np.arange(stop - start)
            )
        return result

    def without_nests(self, chosen: IntArray) -> list[Held]:
        """For each nest, the chosen rows (ascending) as fits see them that saw neither their nest nor this one."""
        parts = self.unit.parts
        pairs = slice(parts.main, parts.count)
        wanted = [part_of[chosen] - parts.main for part_of in _without_nest(parts)]
        result = [self._empty(len(chosen)) for _ in wanted]
        for start, stop, block in self.unit.rows.blocks(4 * parts.count * (len(self.fits) + RANK)):
            first, last = np.searchsorted(chosen, [start, stop])
            evidence, coordinates = self._of(block[chosen[first:last] - start], pairs)
            for held, part_of in zip(result, wanted, strict=True):
                rows = np.flatnonzero(part_of[first:last] >= 0)
                _look_up(held, first + rows, evidence, coordinates, part_of[first + rows], rows)
        return result

    def _of(self, block: NDArray[np.float64], parts: slice) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        fits = [LinearFits(fit.weight[parts], fit.bias[parts]) for fit in self.fits]
        evidence = evidence_of_all(fits, block)
        if self.subspaces is None:
            return evidence, None
        found = Subspaces(self.subspaces.centre[parts], self.subspaces.projection[parts])
        return evidence, found.coordinates_of_all(block)

    def _empty(self, n: int) -> Held:
        rank = 0 if self.subspaces is None else self.subspaces.projection.shape[2]
        return Held(np.zeros((len(self.fits), len(self.unit.labels.classes), n)), np.zeros((n, rank)))


def _look_up(
    target: Held,
    at: IntArray,
    evidence: NDArray[np.float64],
    coordinates: NDArray[np.float64] | None,
    part_of: IntArray,
    rows: IntArray,
) -> None:
    """Write what the part of each row says of it to places of a result."""
    target.evidence[:, :, at] = np.moveaxis(evidence[:, part_of, :, rows], 0, 2)
    if coordinates is not None:
        target.coordinates[at] = coordinates[part_of, rows]


def _in_sample(
    views: _Views, reading: Reading, reading_half: Reading, log_prior: NDArray[np.float64], smoothing: float
) -> tuple[float, float]:
    """Mean log ratio over all pairs of a fit and one of its training rows: for the folds, and for the halves."""
    parts, codes = views.unit.parts, views.unit.labels.codes
    folds = parts.folds
    total = np.zeros(parts.main)
    held = np.zeros(parts.main)
    for start, stop, of_parts, coordinates in views.blocks():
        scores = np.empty((parts.main, *of_parts.shape[2:]))
        if coordinates is None:
            scores[:folds] = reading.scores(of_parts[:, :folds], None)
            scores[folds:] = reading_half.scores(of_parts[:, folds : parts.main], None)
        else:
            for part in range(parts.main):
                used = reading if part < folds else reading_half
                scores[part] = used.scores(of_parts[:, part], coordinates[part])
        trained = parts.training(start, stop)[: parts.main]
        total += np.einsum("pn,pn->p", own_log_ratios(scores, log_prior, codes[start:stop], smoothing), trained)
        held += trained.sum(axis=1)
    return float(total[:folds].sum() / held[:folds].sum()), float(total[folds:].sum() / held[folds:].sum())
