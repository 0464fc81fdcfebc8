"""Rows that share an instance: what reads 0 with groups and does not without."""

import numpy as np
import pytest

from mi_attention.estimators import KSG, Probe, Ross

# Neighbours in many columns are tried on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::mi_attention.estimators.HighDimensionWarning")


def contextual(instances, rows, width, shift, rng, share=1.0):
    """Rows of an instance share a vector; the label belongs to the instance.

    Each row alone is N(±shift, 1) along the first axis in units of its standard deviation, so its information
    about the label is that of two unit Gaussians 2·shift apart.
    """
    y = rng.permutation(np.arange(instances) % 2)
    groups = np.repeat(np.arange(instances), rows)
    x = rng.standard_normal((instances * rows, width))
    x += np.sqrt(share) * np.repeat(rng.standard_normal((instances, width)), rows, axis=0)
    x /= np.sqrt(1 + share)
    x[:, 0] += shift * (2 * y[groups] - 1)
    return x, y[groups], groups


def test_random_labels_of_instances_read_nothing_with_groups_only():
    rng = np.random.default_rng(0)
    for _ in range(3):
        x, y, groups = contextual(200, 20, 64, 0.0, rng)
        grouped, by_row = Probe().estimate(x, y, groups), Probe().estimate(x, y)
        assert abs(grouped.nats) <= 0.01
        assert abs(grouped.lower_bound) <= 3 * grouped.standard_error + 1e-3
        assert by_row.lower_bound > 0.03
        assert by_row.lower_bound > 10 * by_row.standard_error


@pytest.mark.parametrize("shift", [0.5, 1.0])
def test_grouped_level_is_near_the_truth(shift, line_information):
    truth = line_information(np.array([-shift, shift]), np.array([0.5, 0.5]))
    values = [Probe().estimate(*contextual(400, 10, 64, shift, np.random.default_rng(seed))) for seed in range(4)]
    assert np.mean([estimate.nats for estimate in values]) == pytest.approx(truth, abs=0.03)
    assert np.mean([estimate.lower_bound for estimate in values]) < truth


def test_standard_error_goes_by_group():
    rng = np.random.default_rng(0)
    x, y, _ = contextual(300, 1, 4, 0.5, rng, share=0.0)
    once = Probe().estimate(x, y)
    copies = Probe().estimate(np.repeat(x, 10, axis=0), np.repeat(y, 10), np.repeat(np.arange(300), 10))
    # Ten copies of a row are one row: the same value and error, not an error √10 smaller.
    assert copies.standard_error == pytest.approx(once.standard_error, rel=0.1)
    assert copies.lower_bound == pytest.approx(once.lower_bound, abs=once.standard_error)


def test_names_of_groups_do_not_matter():
    x, y, groups = contextual(60, 5, 8, 0.5, np.random.default_rng(0))
    plain = Probe().estimate(x, y, groups)
    for renamed in (100 - groups, [f"text {g}" for g in groups]):
        assert Probe().estimate(x, y, renamed).nats == pytest.approx(plain.nats, abs=1e-12)


@pytest.mark.parametrize("width", [1, 2, 12])
def test_pooled_ross_reads_the_instances_without_groups(width):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(100) % 2)
    groups = np.repeat(np.arange(100), 8)
    # Rows of one instance nearly coincide, so that the nearest rows of a row are its own instance's.
    x = np.repeat(rng.standard_normal((100, width)), 8, axis=0) + 1e-3 * rng.standard_normal((800, width))
    assert Ross().estimate(x, y[groups]).nats > 0.5
    # k of more than twice a group's rows, since near copies come as one neighbour
    grouped = Ross(k=20).estimate(x, y[groups], groups)
    assert abs(grouped.nats) < 3 * grouped.standard_error + 0.02


def test_pooled_ksg_reads_the_instances_without_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 8)
    x = rng.standard_normal(100)[groups] + 1e-3 * rng.standard_normal(800)
    y = rng.standard_normal(100)[groups] + 1e-3 * rng.standard_normal(800)
    for algorithm in (1, 2):
        assert KSG(algorithm=algorithm).estimate(x, y).nats > 1
        grouped = KSG(algorithm=algorithm).estimate(x, y, groups)
        assert abs(grouped.nats) < 3 * grouped.standard_error + 0.05


@pytest.mark.parametrize("estimator", [Ross(), KSG(), KSG(algorithm=2)])
def test_groups_of_one_row_change_nothing(estimator):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    x = rng.standard_normal((200, 2)) + y[:, None]
    plain, grouped = estimator.estimate(x, y), estimator.estimate(x, y, np.arange(200))
    np.testing.assert_allclose(grouped.local, plain.local, atol=1e-12)
