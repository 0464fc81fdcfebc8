"""The ridge member is scikit-learn's logistic regression."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mi_attention.estimators import Probe, class_entropy
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.moments import Parts, moments_of_parts
from mi_attention.estimators.ridge import ridge_logistic
from mi_attention.estimators.rows import standardise


def sample(classes, n=300, width=15, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, width)) @ rng.standard_normal((width, width))
    score = x[:, :1] / x[:, :1].std() + rng.standard_normal((n, 1))
    return x, (score > np.linspace(-0.8, 0.8, classes - 1)).sum(axis=1)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
def test_weights_of_every_part_are_those_of_scikit_learn(classes, penalty):
    x, y = sample(classes)
    rows = standardise(x)
    parts = Parts(
        fold=stratified_folds(y, None, 3, np.random.default_rng(0)),
        half=stratified_folds(y, None, 2, np.random.default_rng(1)),
        folds=3,
    )
    weight, bias = ridge_logistic(rows, y, moments_of_parts(rows, y, classes, parts), parts, penalty)
    for part, trained in enumerate(parts.training(0, len(y))):
        peer = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(rows.kept[trained], y[trained])
        ours = np.concatenate([weight[part], bias[part][:, None]], axis=1)
        theirs = np.concatenate([peer.coef_, peer.intercept_[:, None]], axis=1)
        # Only differences of classes mean anything, those of intercepts included.
        ours = ours[1:] - ours[:1]
        theirs = theirs if classes == 2 else theirs[1:] - theirs[:1]
        np.testing.assert_allclose(ours, theirs, atol=0.01 * np.abs(theirs).max())


def test_all_rows_as_one_part_and_rows_in_blocks(monkeypatch):
    x, y = sample(3)
    rows = standardise(x)
    whole = ridge_logistic(rows, y, moments_of_parts(rows, y, 3, None), None, 1.0)
    monkeypatch.setattr("mi_attention.estimators.samples.BLOCK_NUMBERS", 500)
    pieces = ridge_logistic(rows, y, moments_of_parts(rows, y, 3, None), None, 1.0)
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_separable_and_wide_data_have_an_optimum():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 100))
    y = (x[:, 0] > 0).astype(int)
    rows = standardise(x)
    weight, _ = ridge_logistic(rows, y, moments_of_parts(rows, y, 2, None), None, 1.0)
    peer = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(rows.kept, y)
    np.testing.assert_allclose(weight[0, 1], peer.coef_[0], atol=0.01)


def test_its_held_out_loss_is_no_worse_than_a_loop_of_scikit_learn():
    x, y = sample(2, n=1500, width=30, seed=3)
    fold = stratified_folds(y, None, 5, np.random.default_rng([0, 0]))
    loss = 0.0
    for index in range(5):
        train = fold != index
        scaled = (x - x[train].mean(axis=0)) / x[train].std(axis=0)
        logs = LogisticRegression(C=1.0).fit(scaled[train], y[train]).predict_log_proba(scaled[~train])
        loss -= logs[np.arange(len(logs)), y[~train]].sum() / len(y)
    found = class_entropy(y) - Probe(members=("ridge",), folds=5).estimate(x, y).lower_bound
    assert found == pytest.approx(loss, abs=2e-3)
    assert found < loss + 1e-3
