"""Groups whose rows have nothing in common: few and large ones, ties, and the same value as without groups."""

import numpy as np
import pytest

from mi_attention.estimators import KSG, Ross
from mi_attention.estimators.conditional import ConditionalMixture
from mi_attention.estimators.mixture import Mixture

DRAWS = 8
FEW, MANY = np.repeat(np.arange(20), 60), np.repeat(np.arange(100), 8)
UNEVEN = np.repeat(np.arange(60), np.resize([1, 2, 5, 12, 30], 60))


def unrounded(values):
    return values


def relu(values):
    return np.maximum(values, 0.0)


def both_ways(estimator, make, groups):
    """Means with and without groups, of the same draws."""
    values = []
    for seed in range(DRAWS):
        given = make(np.random.default_rng(seed), len(groups))
        values.append([estimator.estimate(*given, groups).nats, estimator.estimate(*given).nats])
    return np.mean(values, axis=0)


def gaussians(rng, n, rho=0.6):
    x, noise = rng.standard_normal((2, n))
    return x, rho * x + np.sqrt(1 - rho**2) * noise


@pytest.mark.parametrize("groups", [FEW, MANY, UNEVEN], ids=["few", "many", "uneven"])
@pytest.mark.parametrize("estimator", [KSG(), KSG(k=1), KSG(algorithm=2), Mixture()], ids=lambda e: e.signature)
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_rows_that_groups_say_nothing_of_count_as_rows(estimator, groups, rho):
    grouped, plain = both_ways(estimator, lambda rng, n: gaussians(rng, n, rho), groups)
    assert grouped == pytest.approx(plain, abs=0.015 if estimator != KSG(algorithm=2) else 0.035)


@pytest.mark.parametrize("groups", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("change", [np.round, relu, lambda v: np.round(v / 0.2) * 0.2], ids=["whole", "relu", "fifths"])
def test_ties_within_groups_and_between_them_are_ties_alike(groups, change):
    def one_side(rng, n):
        x, y = gaussians(rng, n)
        return change(x), y

    def two_sides(rng, n):
        # Two more values than an integer name may have keep the sides numbers.
        x, y = gaussians(rng, n)
        return change(np.stack([x, rng.standard_normal(n)], axis=1)), y

    for make in (one_side, two_sides):
        grouped, plain = both_ways(Mixture(), make, groups)
        assert grouped == pytest.approx(plain, abs=0.02)


@pytest.mark.parametrize("change", [unrounded, np.round, relu], ids=["exact", "whole", "relu"])
@pytest.mark.parametrize("k", [1, 3])
def test_ross_reads_the_same_with_groups_of_unrelated_rows(change, k):
    def make(rng, n):
        label = rng.integers(0, 2, n)
        return change(rng.standard_normal(n) + 1.4 * label), label

    for groups in (FEW, MANY):
        grouped, plain = both_ways(Ross(k=k), make, groups)
        assert grouped == pytest.approx(plain, abs=0.04 if k == 1 else 0.02)


@pytest.mark.parametrize("change", [np.round, relu], ids=["whole", "relu"])
def test_ross_of_a_label_by_group_and_tied_states(change):
    truth, values = [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        label = (rng.permutation(100) % 2)[MANY]
        x = change(rng.standard_normal(len(MANY)) + 1.4 * label)
        values.append(Ross().estimate(x, label, MANY).nats)
        truth.append(Ross().estimate(x, label).nats)
    # The rows are independent given the label, so that a label of its own for each row says as much.
    assert np.mean(values) == pytest.approx(np.mean(truth), abs=0.025)


@pytest.mark.parametrize("groups", [FEW, MANY], ids=["few", "many"])
def test_conditional_information_of_labels_that_vary_inside_groups(groups):
    def exclusive_or(rng, n):
        x, z = rng.integers(0, 2, (2, n))
        return x, x ^ z, z

    def names(rng, n):
        x, y = gaussians(rng, n, 0.9)
        return np.array(list("abc"))[np.digitize(x, [-0.5, 0.5])], y > 0, np.array(["u", "v"])[rng.integers(0, 2, n)]

    for make in (exclusive_or, names):
        grouped, plain = both_ways(ConditionalMixture(), make, groups)
        assert grouped == pytest.approx(plain, abs=0.01)


@pytest.mark.parametrize("change", [unrounded, np.round, relu], ids=["exact", "whole", "relu"])
def test_rows_that_share_all_they_have_read_nothing_at_independence(change):
    # Label and nearly all of the state go by group: without groups this reads over .3 nats.
    grouped, plain = [], []
    for seed in range(2 * DRAWS):
        rng = np.random.default_rng(seed)
        x = change(0.95 * rng.standard_normal(100)[MANY] + 0.3 * rng.standard_normal(len(MANY)))
        y = rng.standard_normal(100)[MANY]
        grouped.append(Mixture().estimate(x, y, MANY).nats)
        plain.append(Mixture().estimate(x, y).nats)
    assert np.mean(plain) > 0.3
    assert abs(np.mean(grouped)) < 0.05


def test_near_copies_in_groups_of_unequal_sizes_read_nothing_at_independence():
    values = []
    for seed in range(2 * DRAWS):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((2, 60))[:, UNEVEN] + 1e-3 * rng.standard_normal((2, len(UNEVEN)))
        values.append(KSG().estimate(x, y, UNEVEN).nats)
    # Taking each ball's own groups for the mean group reads -.2.
    assert abs(np.mean(values)) < 0.1


@pytest.mark.parametrize("algorithm", [1, 2])
def test_a_continuous_output_of_few_groups_reads_nothing_of_unrelated_rows(algorithm):
    values = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal(len(FEW)), rng.standard_normal(20)[FEW]
        values.append(KSG(algorithm=algorithm).estimate(x, y, FEW).nats)
    assert abs(np.mean(values)) < 0.02


def test_exact_copies_in_groups_are_one_row_for_conditions_too():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(80)
    x, y = np.round(z + rng.standard_normal(80), 1), rng.integers(0, 3, 80)
    copies = (np.repeat(side, 7) for side in (x, y, z, np.arange(80)))
    once = ConditionalMixture().estimate(x, y, z).nats
    assert ConditionalMixture().estimate(*copies).nats == pytest.approx(once, abs=1e-9)
