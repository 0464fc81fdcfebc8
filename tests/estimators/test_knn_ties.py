"""Rims that hold several rows: expected digamma terms against enumeration, and no bias at independence."""

import itertools

import numpy as np
import pytest
from scipy.special import digamma

from mi_attention.estimators import KSG, Ross
from mi_attention.estimators.ties import expected_digamma_of_rank, local_information

# Neighbours in many columns are tried on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::mi_attention.estimators.HighDimensionWarning")


def enumerated(before, wanted, own, every):
    """Mean of psi(before + place of the wanted-th own row) over all orders of the rim."""
    places = [sorted(places)[wanted - 1] + 1 for places in itertools.combinations(range(every), own)]
    return np.mean(digamma(before + np.array(places)))


@pytest.mark.parametrize(("own", "every"), [(1, 1), (1, 2), (1, 6), (2, 2), (2, 5), (3, 4), (3, 8)])
@pytest.mark.parametrize("before", [0, 1, 2, 10])
def test_mean_digamma_of_the_rank_is_that_of_all_orders(own, every, before):
    for wanted in range(1, own + 1):
        found = expected_digamma_of_rank(*(np.array([v]) for v in (before, wanted, own, every)))[0]
        exact = before == 0 or every == 1
        assert found == pytest.approx(enumerated(before, wanted, own, every), abs=1e-12 if exact else 0.06)


def test_one_row_on_the_rim_is_the_published_formula():
    # N = 10, k = 3: two rows inside the cube and the third on the rim of x only.
    (value,) = local_information(
        3,
        np.array([False]),
        (np.array([2]), np.array([3])),
        (np.array([4]), np.array([5])),
        (np.array([6]), np.array([6])),
        (np.array([9]), np.array([9])),
    )
    assert value == pytest.approx(digamma(3) + digamma(10) - digamma(5) - digamma(7), abs=1e-12)


def test_rows_that_coincide_are_a_cell_of_a_table():
    x, y = np.repeat([0, 1, 0, 1], [20, 10, 5, 15]), np.repeat([0, 0, 1, 1], [20, 10, 5, 15])
    cell, row, column = [20, 10, 5, 15], [25, 25, 25, 25], [30, 30, 20, 20]
    expected = digamma(cell) + digamma(50) - digamma(row) - digamma(column)
    for estimator in (KSG(), KSG(algorithm=2)):
        np.testing.assert_allclose(estimator.estimate(x, y).local, np.repeat(expected, cell), atol=1e-12)
    np.testing.assert_allclose(Ross().estimate(x, y).local, np.repeat(expected, cell), atol=1e-12)


@pytest.mark.parametrize("width", [1, 3, 6])
@pytest.mark.parametrize("digits", [0, 1])
@pytest.mark.parametrize("k", [1, 3])
def test_ross_is_unbiased_at_independence_whatever_the_states(width, digits, k):
    # Labels are a random permutation given the states, and the mean of psi(rank) is exact then.
    rng = np.random.default_rng(0)
    x = np.maximum(np.round(rng.standard_normal((60, width)), digits), -0.5)
    y = np.repeat([0, 1, 1], 20)
    values = np.array([Ross(k=k).estimate(x, rng.permutation(y)).nats for _ in range(150)])
    assert abs(values.mean()) < 3.5 * values.std() / np.sqrt(len(values)) + 0.003
