"""The probe's conditional distribution on top of linear scores and subspace coordinates, fitted in nested folds.

First the linear members are stacked. Around that, models of a few features (the leading linear scores and the
coordinates of the subspace) say what a linear reader cannot: one Gaussian a class, and a quadratic logistic correction.
All are quadratic in the features, so that their average over nested folds is one quadratic function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.logistic import fit_logistic
from mi_attention.estimators.quadratic import gaussian_coefficients, monomials
from mi_attention.estimators.samples import row_blocks
from mi_attention.estimators.stack import fit_coefficients, nested_coefficients
from mi_attention.interface import BoolArray, FloatArray, IntArray

__all__ = ["CURVED", "CurvedModels", "Held", "Reading", "curved_reading", "fit_curved", "linear_reading"]

# Models that are not linear, by name.
CURVED = ("gaussian", "polynomial")
# Linear scores that enter them: the leading ones of the C − 1.
LINEAR_FEATURES = 3
# Coordinates of the subspace that the class Gaussians use, in turn.
RANKS = (1, 2, 4)
# Standard deviations at which features are cut.
FEATURE_LIMIT = 5.0
PENALTY = 1e-3
# Above this many classes the polynomial has thousands of coefficients; the class Gaussians stay.
POLYNOMIAL_CLASSES = 10


@dataclass(frozen=True, eq=False)
class Features:
    """The features of the curved models.

    Attributes:
        base: ``(m,)`` one over the spread of each linear member's scores. Stack coefficients would not do: they differ
            between nested folds, and a feature must have one scale in all of them.
        centre: ``(C,)`` mean of the centred linear scores.
        reduction: ``(C, k)`` their leading directions.
        scale: ``(K,)`` standard deviation of every feature.
    """

    base: NDArray[np.float64]
    centre: NDArray[np.float64]
    reduction: NDArray[np.float64]
    scale: NDArray[np.float64]

    @property
    def powers(self) -> int:
        """Number of monomials p."""
        width = len(self.scale)
        return 1 + width + width * (width + 1) // 2

    def of(self, evidence: NDArray[np.float64], coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """``(b, p)`` monomials of the features of rows with evidence ``(m, C, b)`` and coordinates ``(b, r)``."""
        features = self._raw(evidence, coordinates) / self.scale
        return monomials(np.clip(features, -FEATURE_LIMIT, FEATURE_LIMIT))

    def scaled_to(self, evidence: NDArray[np.float64], coordinates: NDArray[np.float64]) -> Features:
        """The same features with the spread they have in these rows: scores from fewer training rows are larger."""
        spread = self._raw(evidence, coordinates).std(axis=0)
        return replace(self, scale=np.where(spread > 0, spread, 1.0))

    def own_scale(self, evidence: NDArray[np.float64], coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """``of`` with the spread of these rows."""
        return self.scaled_to(evidence, coordinates).of(evidence, coordinates)

    def _raw(self, evidence: NDArray[np.float64], coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        linear = np.tensordot(self.base, evidence, axes=1)
        scores = ((linear - linear.mean(axis=0)).T - self.centre) @ self.reduction
        return np.hstack([scores, coordinates])


@dataclass(frozen=True, eq=False)
class Reading:
    """Scores from linear evidence and coordinates, averaged over nested folds.

    Attributes:
        weights: ``(m,)`` of the linear members.
        features: Of the curved models, or None where there are none.
        coefficients: ``(p, C)`` of the monomials.
        stack: ``(members,)`` final coefficients, linear members first.
    """

    weights: NDArray[np.float64]
    features: Features | None
    coefficients: NDArray[np.float64]
    stack: NDArray[np.float64]

    def scores(self, evidence: NDArray[np.float64], coordinates: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """``(C, b)`` log q(c|x)/p(c) up to a constant per row, of evidence ``(m, C, b)`` and coordinates ``(b, r)``."""
        result = np.tensordot(self.weights, evidence, axes=1)
        if self.features is not None and coordinates is not None:
            result = result + (self.features.of(evidence, coordinates) @ self.coefficients).T
        return np.asarray(result)


@dataclass(frozen=True, eq=False)
class Held:
    """What rows look like to fits that did not see them.

    Attributes:
        evidence: ``(m, C, n)`` of the linear members.
        coordinates: ``(n, r)`` of the subspace; ``(n, 0)`` for a linear reader.
    """

    evidence: NDArray[np.float64]
    coordinates: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CurvedModels:
    """Curved models of every nest, fitted on rows outside it with features from fits that saw none of it either.

    Features must come from such fits. Class means in a fold lean against those outside it, so that features of rows
    outside a nest from fits that saw the nest tell its labels, and a model of free sign learns to read them: .004 nats
    at independence with 300 rows of 32 columns.

    Attributes:
        features: Of the models.
        coefficients: ``(models, nests, p, C)``.
        with_linear: ``(models,)`` whether a model adds to the stack of the linear members.
    """

    features: Features
    coefficients: NDArray[np.float64]
    with_linear: BoolArray


def linear_reading(
    evidence: NDArray[np.float64], log_prior: FloatArray, codes: IntArray, owner: IntArray, nests: int
) -> tuple[NDArray[np.float64], Reading]:
    """Stack of linear members: scores of each row by coefficients of the nests outside its own, and the mean reading.

    Args:
        evidence: ``(m, C, n)`` out of fold.
        log_prior: ``(C,)``.
        codes: ``(n,)`` classes.
        owner: ``(n,)`` nest of each row.
        nests: Number of nests.
    """
    first = nested_coefficients(evidence, log_prior, codes, owner, nests)
    base = first.mean(axis=0)
    nothing = np.zeros((0, len(log_prior)))
    return _stacked(first, owner, evidence), Reading(weights=base, features=None, coefficients=nothing, stack=base)


def fit_curved(
    test: Held,
    training: Sequence[Held],
    curved: tuple[str, ...],
    log_prior: FloatArray,
    codes: IntArray,
    owner: IntArray,
    *,
    with_scores: bool,
) -> CurvedModels:
    """Fit the curved models of every nest.

    Args:
        test: Rows as the models will read them.
        training: For each nest, the rows as fits see them that saw neither the row nor the nest.
        curved: Names of ``CURVED``.
        log_prior: ``(C,)``.
        codes: ``(n',)`` classes of the training rows.
        owner: ``(n',)`` nest of each.
        with_scores: Whether linear scores are features too; not where the coordinates hold all there is.
    """
    classes = len(log_prior)
    features = _features(test, with_scores)
    width, on_scores = len(features.scale), features.reduction.shape[1]
    sets = _feature_sets(width, on_scores) if "gaussian" in curved else []
    polynomial = "polynomial" in curved and classes <= POLYNOMIAL_CLASSES
    found: list[list[NDArray[np.float64]]] = []
    start = None
    for nest, held in enumerate(training):
        rows = owner != nest
        label = codes[rows]
        seen = held.evidence[:, :, rows]
        powers = features.own_scale(seen, held.coordinates[rows])
        models = [gaussian_coefficients(powers, width, used, label, classes) for used in sets]
        if polynomial:
            base = fit_coefficients(seen, log_prior, label)
            offset = np.tensordot(base, seen, axes=1) + np.asarray(log_prior)[:, None]
            start = fit_logistic(powers, label, offset, PENALTY, start)
            models.append(start)
        found.append(models)
    coefficients = np.stack([np.stack(models) for models in found], axis=1)
    return CurvedModels(features, coefficients, np.arange(len(coefficients)) >= len(sets))


def curved_reading(
    held: Held, models: CurvedModels, log_prior: FloatArray, codes: IntArray, owner: IntArray
) -> tuple[NDArray[np.float64], Reading]:
    """Stack of linear members and curved models: scores of each row without its nest, and the mean reading.

    Args:
        held: Rows out of fold.
        models: Of every nest.
        log_prior: ``(C,)``.
        codes: ``(n,)`` classes.
        owner: ``(n,)`` nest of each row.
    """
    nests = models.coefficients.shape[1]
    first = nested_coefficients(held.evidence, log_prior, codes, owner, nests)
    linear, base = _stacked(first, owner, held.evidence), first.mean(axis=0)
    features = models.features.scaled_to(held.evidence, held.coordinates)
    candidates = np.empty((len(models.coefficients), *linear.shape))
    for start, stop in row_blocks(len(codes), features.powers):
        powers = features.of(held.evidence[:, :, start:stop], held.coordinates[start:stop])
        for nest in range(nests):
            rows = np.flatnonzero(owner[start:stop] == nest)
            candidates[:, :, start + rows] = np.swapaxes(powers[rows] @ models.coefficients[:, nest], 1, 2)
    candidates[models.with_linear] += linear
    members = np.concatenate([held.evidence, candidates])
    final = nested_coefficients(members, log_prior, codes, owner, nests)
    stack = final.mean(axis=0)
    own, extra = stack[: len(base)], stack[len(base) :]
    reading = Reading(
        weights=own + extra[models.with_linear].sum() * base,
        features=features,
        coefficients=np.tensordot(extra, models.coefficients.mean(axis=1), axes=1),
        stack=stack,
    )
    return _stacked(final, owner, members), reading


def _stacked(coefficients: NDArray[np.float64], owner: IntArray, members: NDArray[np.float64]) -> NDArray[np.float64]:
    """``(C, n)`` sum of members ``(m, C, n)`` with the coefficients ``(nests, m)`` of each row's nest."""
    return np.asarray((coefficients[owner].T[:, None, :] * members).sum(axis=0))


def _features(held: Held, with_scores: bool) -> Features:
    evidence = held.evidence
    spreads = (evidence - evidence.mean(axis=1, keepdims=True)).std(axis=(1, 2))
    base = 1.0 / np.where(spreads > 0, spreads, 1.0)
    linear = np.tensordot(base, evidence, axes=1)
    scores = (linear - linear.mean(axis=0)).T
    centre = scores.mean(axis=0)
    directions = np.linalg.svd(scores - centre, full_matrices=False)[2]
    reduction = directions[: min(len(linear) - 1, LINEAR_FEATURES) if with_scores else 0].T
    width = reduction.shape[1] + held.coordinates.shape[1]
    found = Features(base=base, centre=centre, reduction=reduction, scale=np.ones(width))
    return found.scaled_to(evidence, held.coordinates)


def _feature_sets(width: int, on_scores: int) -> list[list[int]]:
    """Features of each class Gaussian: the scores with the first coordinates, and all coordinates alone."""
    if on_scores == 0:
        return [list(range(width))]
    ranks = dict.fromkeys(min(rank, width - on_scores) for rank in RANKS)
    return [list(range(on_scores + rank)) for rank in ranks] + [list(range(on_scores, width))]
