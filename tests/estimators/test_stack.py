import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from mi_attention.estimators import Probe, stack
from mi_attention.estimators.stack import (
    COEFFICIENT_FLOOR,
    COEFFICIENT_LIMIT,
    fit_coefficients,
    nested_coefficients,
    own_log_ratios,
    smoothed_log_probabilities,
)

RNG = np.random.default_rng(0)


def problem(members, classes, n=300, strength=1.0):
    codes = RNG.integers(0, classes, n)
    evidence = RNG.standard_normal((members, classes, n)) * 2
    evidence[:, codes, np.arange(n)] += strength * RNG.random((members, 1))
    return evidence, np.log(np.bincount(codes) / n), codes


@pytest.mark.parametrize("members", [1, 2, 3, 6])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("strength", [-1.0, 0.0, 1.0, 4.0])
@pytest.mark.parametrize("alike", [False, True])
def test_coefficients_are_those_of_a_general_optimiser(members, classes, strength, alike):
    evidence, log_prior, codes = problem(members, classes, strength=strength)
    if alike:  # as discriminants of two shrinkages are
        evidence = evidence[:1] * np.linspace(1, 0.3, members)[:, None, None] + 0.05 * evidence

    def loss(a):
        logs = log_softmax(np.tensordot(a, evidence, 1) + log_prior[:, None], axis=0)
        return -logs[codes, np.arange(len(codes))].mean()

    bounds = [(COEFFICIENT_FLOOR if m == 0 else 0.0, COEFFICIENT_LIMIT) for m in range(members)]
    reference = minimize(
        loss, np.full(members, 0.5), bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-8}
    )
    found = fit_coefficients(evidence, log_prior, codes)
    assert loss(found) <= reference.fun + 1e-7
    if not alike:
        np.testing.assert_allclose(found, reference.x, atol=2e-3)


@pytest.mark.parametrize(("rows", "width"), [(400, 16), (1000, 64)])
def test_members_with_all_but_the_same_scores_are_no_trouble(rows, width, monkeypatch):
    # Discriminants of many rows: rounding decides between them, and the search within the box went round in circles,
    # 20,000 times and more, and ended anywhere (-.03 of .11 nats).
    solved = []
    held_steps = stack._held_steps
    monkeypatch.setattr(stack, "_held_steps", lambda *given: solved.append(1) or held_steps(*given))
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 2
    x = rng.standard_normal((rows, width))
    x[:, 0] += y
    assert Probe().estimate(x, y).nats == pytest.approx(0.114, abs=0.05)
    assert len(solved) < 1000


def test_evidence_that_misleads_keeps_the_floor():
    evidence, log_prior, codes = problem(2, 2, strength=-5.0)
    np.testing.assert_allclose(fit_coefficients(evidence, log_prior, codes), [COEFFICIENT_FLOOR, 0.0])


def test_identical_members_share_the_weight():
    evidence, log_prior, codes = problem(1, 2)
    single = fit_coefficients(evidence, log_prior, codes)
    double = fit_coefficients(np.concatenate([evidence, evidence]), log_prior, codes)
    assert double.sum() == pytest.approx(single[0], abs=1e-4)


def test_nested_coefficients_do_not_see_their_fold():
    evidence, log_prior, codes = problem(2, 3)
    fold = np.arange(300) % 5
    before = nested_coefficients(evidence, log_prior, codes, fold, 5)
    evidence[:, :, fold == 2] *= -3
    after = nested_coefficients(evidence, log_prior, codes, fold, 5)
    np.testing.assert_allclose(before[2], after[2], atol=1e-6)
    assert np.abs(before[0] - after[0]).max() > 1e-3


def test_smoothed_probabilities_sum_to_one_and_bound_the_loss():
    log_prior = np.log([0.2, 0.8])
    scores = np.array([[1e4, 0.0, -1e4], [0.0, 0.0, 0.0]])
    logs = smoothed_log_probabilities(scores, log_prior, 0.01)
    np.testing.assert_allclose(np.exp(logs).sum(axis=0), 1.0)
    np.testing.assert_allclose(logs[:, 1], log_prior, atol=1e-12)
    assert logs.min() >= np.log(0.01 * 0.2) - 1e-9


def test_own_ratios_are_those_of_the_probabilities():
    evidence, log_prior, codes = problem(2, 3)
    logs = smoothed_log_probabilities(evidence, log_prior, 0.01)
    expected = logs[:, codes, np.arange(300)] - log_prior[codes]
    np.testing.assert_allclose(own_log_ratios(evidence, log_prior, codes, 0.01), expected, atol=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch):
    evidence, log_prior, codes = problem(3, 4)
    fold = np.arange(300) % 5
    whole = nested_coefficients(evidence, log_prior, codes, fold, 5)
    monkeypatch.setattr("mi_attention.estimators.stack.BLOCK_NUMBERS", 300)
    np.testing.assert_allclose(nested_coefficients(evidence, log_prior, codes, fold, 5), whole, atol=1e-9)


def test_scores_of_any_size_have_coefficients():
    """Of two opposite scores of 1e8 nothing would be left of a fixed ridge, and no system could be solved."""
    score = np.zeros((2, 2, 8))
    score[:, 1] = 1e8 * np.array([1.0, -1.0])[:, None] * np.where(np.arange(8) % 2, 1.0, -1.0)
    found = fit_coefficients(score, np.log([0.5, 0.5]), np.arange(8) % 2)
    assert (found >= 0).all()
    assert found[0] > found[1]
