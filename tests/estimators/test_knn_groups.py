"""Neighbours where rows share instances: no bias from near copies, distant rows, or anything between."""

import numpy as np
import pytest

from mi_attention.estimators import KSG, Ross
from mi_attention.estimators.conditional import ConditionalMixture
from mi_attention.estimators.mixture import Mixture

DRAWS = 10
# Share of a row's variance that its instance has in common: unrelated rows, contextual states, near copies.
SHARES = [0.0, 0.5, 0.9, 0.99, 1 - 1e-6]


def instances(seed, share, width=2, shift=0.0, sizes=8, number=60):
    """Rows of ``number`` instances whose label goes by instance; each row alone is N(±shift, 1) on one axis."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(number) % 2)
    groups = np.repeat(np.arange(number), np.broadcast_to(sizes, number) if np.ndim(sizes) == 0 else sizes[label])
    x = np.sqrt(share) * rng.standard_normal((number, width))[groups]
    x += np.sqrt(1 - share) * rng.standard_normal((len(groups), width))
    x[:, 0] += shift * (2 * label[groups] - 1)
    return x, label[groups], groups


def mean(estimator, make, draws=DRAWS):
    values = np.array([estimator.estimate(*make(seed)).nats for seed in range(draws)])
    return values.mean(), values.std() / np.sqrt(draws)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("width", [1, 5])
def test_ross_reads_nothing_where_nothing_is(share, k, width):
    value, error = mean(Ross(k=k), lambda seed: instances(seed, share, width))
    assert abs(value) < 3.5 * error + 0.01


@pytest.mark.parametrize("share", SHARES)
def test_ross_reads_what_a_row_tells(share, line_information):
    truth = line_information(np.array([-0.7, 0.7]), np.array([0.5, 0.5]))
    value, error = mean(Ross(), lambda seed: instances(seed, share, 1, 0.7))
    assert value == pytest.approx(truth, abs=3.5 * error + 0.01)


@pytest.mark.parametrize("share", SHARES)
def test_instances_of_a_class_may_be_longer(share):
    # Rows of class 1 come 12 to an instance, of class 0 4: shares by group and by row differ.
    value, error = mean(Ross(), lambda seed: instances(seed, share, 2, 0.0, np.array([4, 12])))
    assert abs(value) < 3.5 * error + 0.02


@pytest.mark.parametrize("share", SHARES)
def test_labels_that_vary_within_an_instance(share):
    # A rare class in most instances: counting groups alone would read .4 nats.
    def make(seed):
        x, _, groups = instances(seed, share)
        return x, (np.random.default_rng(seed + 99).random(len(x)) < 0.1).astype(int), groups

    value, error = mean(Ross(), make)
    assert abs(value) < 3.5 * error + 0.015


def pairs(seed, share, rho, number=80, rows=6):
    """Both sides vary by row, with one share of the instance."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(number), rows)
    own = rng.standard_normal((len(groups), 2))
    both = np.sqrt(share) * rng.standard_normal((number, 2))[groups] + np.sqrt(1 - share) * own
    return both[:, 0], rho * both[:, 0] + np.sqrt(1 - rho**2) * both[:, 1], groups


@pytest.mark.parametrize("estimator", [KSG(), KSG(algorithm=2)], ids=lambda e: e.signature)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_ksg_of_two_sides_that_vary_by_row(estimator, share, rho):
    value, error = mean(estimator, lambda seed: pairs(seed, share, rho))
    assert value == pytest.approx(-0.5 * np.log(1 - rho**2), abs=3 * error + 0.06)


@pytest.mark.parametrize("share", SHARES)
def test_ksg_of_an_output_that_goes_by_instance(share):
    def make(seed):
        x, y, groups = pairs(seed, share, 0.8)
        return x, y[np.searchsorted(groups, groups)], groups

    rho = 0.8 * share
    value, error = mean(KSG(), make)
    assert value == pytest.approx(-0.5 * np.log(1 - rho**2), abs=3 * error + 0.05)


@pytest.mark.parametrize(
    "estimator", [Ross(), Ross(k=1), KSG(), KSG(algorithm=2), Mixture()], ids=lambda e: e.signature
)
def test_groups_of_one_row_change_nothing(estimator):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    x = np.round(rng.standard_normal((120, 2)) + y[:, None], 1)
    plain, grouped = estimator.estimate(x, y), estimator.estimate(x, y, np.arange(120))
    np.testing.assert_allclose(grouped.local, plain.local, atol=1e-12)


@pytest.mark.parametrize("estimator", [Ross(), KSG(), KSG(algorithm=2), Mixture()], ids=lambda e: e.signature)
def test_exact_copies_of_rows_are_one_row(estimator):
    # Ten copies of each row in its own group: the value and the error of the rows themselves.
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    x = rng.standard_normal((100, 2)) + y[:, None]
    if isinstance(estimator, KSG):
        y = x[:, 0] + rng.standard_normal(100)
    once = estimator.estimate(x, y)
    copies = estimator.estimate(np.repeat(x, 10, axis=0), np.repeat(y, 10), np.repeat(np.arange(100), 10))
    assert copies.nats == pytest.approx(once.nats, abs=1e-9)
    assert copies.standard_error == pytest.approx(once.standard_error, rel=1e-6)


def test_names_and_order_of_groups_do_not_matter():
    x, y, groups = instances(0, 0.9)
    order = np.random.default_rng(1).permutation(len(x))
    for estimator in (Ross(), Mixture()):
        plain = estimator.estimate(x, y, groups).nats
        assert estimator.estimate(x[order], y[order], [f"text {g}" for g in groups[order]]).nats == pytest.approx(
            plain, abs=1e-12
        )
    z = x[:, 1]
    conditional = ConditionalMixture().estimate(x[:, 0], y, z, groups).nats
    assert conditional == pytest.approx(
        ConditionalMixture().estimate(x[order, 0], y[order], z[order], -groups[order]).nats, abs=1e-12
    )


@pytest.mark.parametrize("share", SHARES)
def test_conditional_information_reads_nothing_where_nothing_is(share):
    def make(seed):
        x, y, groups = pairs(seed, share, 0.0, number=60)
        return x, y, np.random.default_rng(seed + 7).standard_normal(60)[groups], groups

    value, error = mean(ConditionalMixture(), make, 8)
    assert abs(value) < 3 * error + 0.08
