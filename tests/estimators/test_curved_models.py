"""The parts of the probe that are not linear, each against an independent calculation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

from mi_attention.estimators import Probe
from mi_attention.estimators.axes import principal_rows
from mi_attention.estimators.crossfit import Prepared, _fit_members, _subspaces, _Views
from mi_attention.estimators.discriminant import oracle_approximating_shrinkage
from mi_attention.estimators.labels import as_classes
from mi_attention.estimators.logistic import fit_logistic
from mi_attention.estimators.members import DISCRIMINANTS
from mi_attention.estimators.moments import Parts
from mi_attention.estimators.quadratic import gaussian_coefficients, monomials
from mi_attention.estimators.rows import standardise
from mi_attention.estimators.subspace import _leading_eigenvectors, align_to, fit_subspaces


def logistic_data(classes):
    rng = np.random.default_rng(classes)
    codes = rng.integers(0, classes, 300)
    features = rng.standard_normal((300, 2)) * (1 + 0.5 * codes[:, None])
    return monomials(features), codes, 0.3 * rng.standard_normal((classes, 300))


@pytest.mark.parametrize("classes", [2, 4])
def test_logistic_correction_is_the_optimum_that_a_general_optimiser_finds(classes):
    powers, codes, offset = logistic_data(classes)

    def loss(flat):
        coefficients = np.hstack([np.zeros((6, 1)), flat.reshape(6, classes - 1)])
        logs = log_softmax(offset + (powers @ coefficients).T, axis=0)
        spread = coefficients - coefficients.mean(axis=1, keepdims=True)
        return -logs[codes, np.arange(300)].mean() + 0.5 * 0.1 * np.square(spread[1:]).sum()

    expected = minimize(loss, np.zeros(6 * (classes - 1)), method="BFGS", options={"gtol": 1e-7}).fun
    for start in (None, np.hstack([np.zeros((6, 1)), np.full((6, classes - 1), 0.05)])):
        found = fit_logistic(powers, codes, offset, 0.1, start)
        assert loss(found[:, 1:].ravel()) == pytest.approx(expected, abs=1e-6)


def test_logistic_correction_does_not_depend_on_which_class_is_first():
    powers, codes, offset = logistic_data(4)
    turned = fit_logistic(powers, 3 - codes, offset[::-1], 0.1)[:, ::-1]
    plain = fit_logistic(powers, codes, offset, 0.1)
    np.testing.assert_allclose(turned - turned[:, :1], plain, atol=2e-3)


def test_gaussian_coefficients_are_log_densities():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 4000)
    features = rng.standard_normal((4000, 3)) * np.where(codes, 2.0, 0.5)[:, None] + codes[:, None]
    found = monomials(features) @ gaussian_coefficients(monomials(features), 3, [0, 2], codes, 2)
    used = features[:, [0, 2]]
    classes = [used[codes == label] for label in (0, 1)]
    expected = [multivariate_normal(rows.mean(axis=0), np.cov(rows.T, bias=True)).logpdf(used) for rows in classes]
    np.testing.assert_allclose(found[:, 1] - found[:, 0], expected[1] - expected[0], atol=0.01)


def test_a_class_without_rows_says_nothing():
    features = np.random.default_rng(0).standard_normal((50, 2))
    found = monomials(features) @ gaussian_coefficients(monomials(features), 2, [0, 1], np.zeros(50, dtype=int), 2)
    np.testing.assert_allclose(found[:, 0], found[:, 1], atol=1e-9)


@pytest.mark.parametrize("kind", ["spread", "antipodal"])
def test_subspace_holds_the_direction_in_which_classes_differ(kind):
    rng = np.random.default_rng(0)
    codes = np.arange(2000) % 2
    states = rng.standard_normal((2000, 40)) * np.geomspace(0.1, 10, 40)
    direction = np.eye(40)[7] * states[:, 7].std()
    if kind == "spread":
        states[codes == 1, 7] *= 3
    else:
        states += 3 * np.where(codes, rng.choice([-1, 1], 2000), 0)[:, None] * direction
    rows = principal_rows(standardise(states))
    subspace = fit_subspaces(rows, codes, None)
    coordinates = subspace.coordinates(next(iter(rows.blocks()))[2], 0)
    truth = states[:, 7] - states[:, 7].mean()
    residual = truth - coordinates @ np.linalg.lstsq(coordinates, truth, rcond=None)[0]
    assert residual.var() < 0.15 * truth.var()
    # The strongest coordinate comes first.
    assert abs(np.corrcoef(coordinates[:, 0], truth)[0, 1]) > 0.9


def test_alignment_undoes_a_turn():
    rng = np.random.default_rng(0)
    projection = rng.standard_normal((10, 3))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    spread = np.linspace(1, 2, 10)
    np.testing.assert_allclose(align_to(projection, spread, projection @ turn), projection, atol=1e-9)


def test_tails_are_cut_and_the_bulk_is_not():
    rng = np.random.default_rng(0)
    states = rng.standard_normal((4000, 3)) @ np.diag([1.0, 2.0, 3.0])
    states[0] = 1e3
    rows = principal_rows(standardise(states))
    block = next(iter(rows.blocks()))[2] / rows.axes.spread
    assert np.abs(block).max() <= 3.5 + 1e-12
    assert (np.abs(block) < 3.4).mean() > 0.99


def test_labels_of_a_nest_do_not_reach_the_features_that_models_of_it_see():
    # The first fold: its fit is the frame of all others, so that the equality is exact.
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 2
    fold, half = rng.permutation(300) % 10, rng.permutation(300) % 2
    rows = principal_rows(standardise(rng.standard_normal((300, 20)) * np.where(codes, 1.6, 1.0)[:, None]))
    other = codes.copy()
    first = fold == 0
    other[first] = codes[first][::-1]
    assert (other != codes).sum() > 10
    seen = []
    for labels in (codes, other):
        parts = Parts(fold=fold, half=half, folds=10, nests=10)
        unit = Prepared(rows, as_classes(labels, 300), None, parts, 300)
        views = _Views(unit, _fit_members(unit, ("linear", "smooth")), _subspaces(rows, labels, parts))
        seen.append((views.held_out(parts.fold), *views.without_nests(np.arange(300))))
    (test, training, *_), (other_test, other_training, *_) = seen
    np.testing.assert_array_equal(test.evidence[:, :, first], other_test.evidence[:, :, first])
    np.testing.assert_array_equal(test.coordinates[first], other_test.coordinates[first])
    np.testing.assert_array_equal(training.evidence[:, :, ~first], other_training.evidence[:, :, ~first])
    np.testing.assert_array_equal(training.coordinates[~first], other_training.coordinates[~first])
    # As the folds' own fits see them, the labels do reach the other rows: learning from these would be the leak.
    assert np.abs(test.evidence - other_test.evidence)[:, :, ~first].max() > 0.1
    assert np.abs(test.coordinates - other_test.coordinates)[~first].max() > 0.1


def test_a_fitted_probe_reads_fresh_antipodal_rows(xor_states):
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    states = xor_states(np.tile(y, 3), 20, rng)
    fitted = Probe().fit(states[:2000], y)
    fresh = fitted.support(states[2000:], np.tile(y, 2))
    held_out = Probe().estimate(states[:2000], y)
    assert held_out.lower_bound > 0.3
    assert fresh.mean() == pytest.approx(held_out.lower_bound, abs=0.06)


def test_leading_eigenvectors_where_rounding_cannot_tell_the_largest_apart():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = np.concatenate([np.full(20, 1.0), np.full(40, 0.1)]) + 1e-8 * rng.standard_normal(60)
    energy = ((basis * values) @ basis.T).astype(np.float32)
    found = _leading_eigenvectors(energy, 4)
    assert found.shape == (60, 4)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-4)
    # Any four directions of the leading space will do.
    assert np.linalg.norm(basis[:, :20].T @ found, axis=0) == pytest.approx(np.ones(4), abs=1e-3)


def test_more_classes_than_the_polynomial_or_the_subspace_compares():
    rng = np.random.default_rng(0)
    y = np.arange(2400) % 12
    states = rng.standard_normal((2400, 12)) + 2 * np.eye(12)[y]
    linear = Probe(members=DISCRIMINANTS).estimate(states, y)
    found = Probe().estimate(states, y)
    assert found.status == "ok"
    assert found.lower_bound == pytest.approx(linear.lower_bound, abs=0.03)
    assert 0.5 < found.nats <= found.ceiling


def test_the_subspace_is_that_of_the_definition_for_classes_of_unequal_size():
    rng = np.random.default_rng(3)
    y = rng.choice(3, 3000, p=[0.2, 0.7, 0.1])
    x = rng.standard_normal((3000, 12))
    x[:, 0] *= 1 + 1.5 * (y == 0)
    x[:, 1] += 2.0 * rng.choice([-1, 1], 3000) * (y == 2)
    x[:, 2] += 0.8 * y
    rows = principal_rows(standardise(x))
    found = fit_subspaces(rows, y, None).projection[0]
    whole = np.concatenate([block for _, _, block in rows.blocks()]) / rows.axes.spread
    share = np.bincount(y) / len(y)
    means = np.stack([whole[y == c].mean(axis=0) for c in range(3)])
    spread = np.stack([np.cov(whole[y == c].T, bias=True) for c in range(3)])
    within = np.tensordot(share, spread, axes=1)
    rho = oracle_approximating_shrinkage(within[None], np.array([len(y) - 3.0]))[0]
    whiten = np.linalg.inv(np.linalg.cholesky((1 - rho) * within + (rho * np.trace(within) / 12 + 1e-6) * np.eye(12))).T
    difference = [np.sqrt(p) * whiten.T @ (s - within) @ whiten for p, s in zip(share, spread, strict=True)]
    shift = np.sqrt(2 * share)[:, None] * ((means - share @ means) @ whiten)
    basis = np.linalg.eigh(sum(d @ d for d in difference))[1][:, -4:]
    for _ in range(8):
        basis = np.linalg.svd(np.hstack([*(d @ basis for d in difference), shift.T]))[0][:, :4]
    wanted = whiten @ basis / rows.axes.spread[:, None]
    one, other = (np.linalg.qr(each)[0] for each in (found, wanted))
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-4)
