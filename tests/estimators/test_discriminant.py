import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from mi_attention.estimators import Probe
from mi_attention.estimators.discriminant import discriminant, oracle_approximating_shrinkage
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.members import DISCRIMINANTS, MEMBERS, TrainingUnit, fit_members
from mi_attention.estimators.moments import Parts, moments_of_parts
from mi_attention.estimators.rows import standardise

RNG = np.random.default_rng(0)


def data(n=400, width=6, classes=3):
    codes = np.arange(n) % classes
    x = (
        RNG.standard_normal((n, width)) @ RNG.standard_normal((width, width))
        + RNG.standard_normal((classes, width))[codes]
    )
    return x, codes


@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.7])
def test_scores_are_those_of_scikit_learn(shrinkage, monkeypatch):
    monkeypatch.setattr("mi_attention.estimators.discriminant.FLOOR", 0.0)
    x, codes = data()
    rows = standardise(x)
    moments = moments_of_parts(rows, codes, 3, None)
    weight, bias = discriminant(moments.counts, moments.sums, moments.scatter, shrinkage=shrinkage)
    ours = rows.kept @ weight[0].T + bias[0] + np.log(np.bincount(codes) / len(codes))
    reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(rows.kept, codes)
    theirs = reference.decision_function(rows.kept)
    # Scores count up to a constant per row.
    np.testing.assert_allclose(ours - ours[:, :1], theirs - theirs[:, :1], atol=1e-8)


def test_moments_of_parts_are_those_of_their_training_rows(monkeypatch):
    x, codes = data(n=151)
    parts = Parts(fold=stratified_folds(codes, None, 5, RNG), half=stratified_folds(codes, None, 2, RNG), folds=5)
    rows = standardise(x)
    whole = moments_of_parts(rows, codes, 3, parts)
    monkeypatch.setattr("mi_attention.estimators.samples.BLOCK_NUMBERS", 100)
    pieces = moments_of_parts(rows, codes, 3, parts)
    trained = parts.training(0, 151)
    assert trained.shape == (7, 151)
    for part in range(7):
        z, label = rows.kept[trained[part]], codes[trained[part]]
        for found in (whole, pieces):
            np.testing.assert_allclose(found.scatter[part], z.T @ z, atol=1e-9)
            np.testing.assert_array_equal(found.counts[part], np.bincount(label, minlength=3))
            np.testing.assert_allclose(found.sums[part], [z[label == c].sum(axis=0) for c in range(3)], atol=1e-9)


def test_shrinkage_by_hand():
    # S = diag(3, 1), n = 10, d = 2: tr S² = 10, (tr S)² = 16; (0 · 10 + 16) / ((10 + 1 - 1)(10 - 8)) = 0.8
    assert oracle_approximating_shrinkage(np.diag([3.0, 1.0]), np.array(10.0)) == pytest.approx(0.8)
    assert oracle_approximating_shrinkage(np.eye(3), np.array(10.0)) == 1.0
    assert oracle_approximating_shrinkage(np.zeros((3, 3)), np.array(10.0)) == 1.0


def test_share_of_the_oracle_shrinkage():
    x, codes = data(n=60)
    rows = standardise(x)
    moments = moments_of_parts(rows, codes, 3, None)
    within = np.cov(np.vstack([rows.kept[codes == c] - rows.kept[codes == c].mean(axis=0) for c in range(3)]).T, ddof=0)
    oracle = float(oracle_approximating_shrinkage(within, np.array(57.0)))
    assert 0.01 < oracle < 1
    found = discriminant(moments.counts, moments.sums, moments.scatter, shrinkage=None, share=0.1)
    expected = discriminant(moments.counts, moments.sums, moments.scatter, shrinkage=0.1 * oracle)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-8)


def test_less_than_the_oracle_shrinkage_where_small_directions_tell_classes_apart():
    # One direction of standard deviation 1/20 moves by twice that with the class: .34 nats. The oracle weight
    # minimises the error of the whole covariance, which large directions make up, and hides this one.
    rng = np.random.default_rng(4)
    found = []
    for _ in range(4):
        y = np.arange(300) % 2
        x = rng.standard_normal((300, 60)) * np.exp(np.linspace(-3, 2, 60))
        x[:, 0] += 2 * np.exp(-3) * y
        x = x @ np.linalg.qr(rng.standard_normal((60, 60)))[0]
        stacks = ("linear", "smooth"), DISCRIMINANTS
        found.append([Probe(members=members).estimate(x, y).nats for members in stacks])
    without, found_all = np.mean(found, axis=0)
    assert found_all == pytest.approx(0.336, abs=0.05)
    assert without < 0.05


def test_shrinkage_comes_near_the_oracle():
    # The oracle weight minimises |(1 - r) S + r mu I - truth|² for this very sample.
    truth = np.diag(np.exp(np.linspace(-1, 1, 40)))
    ratios = []
    for _ in range(20):
        z = RNG.standard_normal((60, 40)) * np.sqrt(np.diag(truth))
        sample = z.T @ z / 60
        target = np.trace(sample) / 40 * np.eye(40)
        oracle = np.sum((sample - truth) * (sample - target)) / np.sum((sample - target) ** 2)
        ratios.append(float(oracle_approximating_shrinkage(sample, np.array(60.0))) / oracle)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)


def test_classes_without_any_spread_give_finite_scores():
    x = np.repeat([[0.0], [1.0]], 20, axis=0)
    moments = moments_of_parts(standardise(x), np.repeat([0, 1], 20), 2, None)
    weight, bias = discriminant(moments.counts, moments.sums, moments.scatter, shrinkage=None)
    assert np.isfinite(weight).all()
    assert np.isfinite(bias).all()


def test_members_fitted_together_are_those_fitted_alone():
    x, codes = data(n=90, width=8)
    parts = Parts(fold=stratified_folds(codes, None, 5, RNG), half=stratified_folds(codes, None, 2, RNG), folds=5)
    rows = standardise(x)
    unit = TrainingUnit(rows, codes, 3, parts, moments_of_parts(rows, codes, 3, parts))
    names = ("smooth", "ridge", "plain", "linear")
    for found, name in zip(fit_members(unit, names), names, strict=True):
        alone = MEMBERS[name].fit(unit)
        np.testing.assert_array_equal(found.weight, alone.weight)
        np.testing.assert_array_equal(found.bias, alone.bias)
