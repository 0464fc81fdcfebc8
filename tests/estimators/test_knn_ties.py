"""Rims that hold several rows: expected digamma terms against enumeration, and no bias at independence."""

import itertools

import numpy as np
import pytest
from scipy.special import digamma

from mi_attention.estimators import KSG, Ross
from mi_attention.estimators.joint_neighbours import Sides, joint_values
from mi_attention.estimators.neighbours import chebyshev, rescale
from mi_attention.estimators.rectangles import _by_block, _by_tree, rectangle_local
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


# --- rectangles -------------------------------------------------------------------------------------------------------

EIGHTS = np.repeat(np.arange(60), 8)


def relu(values):
    return np.maximum(values, 0.0)


def tenths(values):
    return np.round(values, 1)


def zeros(share):
    """Puts 0 for the share of the values that a fixed draw says."""
    return lambda values: np.where(np.random.default_rng(9).random(len(values)) < share, 0.0, values)


# What becomes of x, of y.
TIES = {
    "relu": (relu, None),
    "both relu": (relu, relu),
    "zeros": (None, zeros(0.3)),
    "few zeros": (zeros(0.08), None),
    "classes": (None, np.sign),
    "tenths": (tenths, None),
    "both tenths": (tenths, tenths),
    "halves": (lambda values: np.round(2 * values) / 2, None),
    "ranks": (lambda values: np.argsort(np.argsort(values)).astype(float), None),
    "two columns": (lambda values: np.stack([relu(values), relu(values[::-1])], axis=1), None),
}


def tied_pair(name, rho, seed, n):
    x, noise = np.random.default_rng(seed).standard_normal((2, n))
    sides = x, rho * x + np.sqrt(1 - rho**2) * noise
    return tuple(change(side) if change else side for change, side in zip(TIES[name], sides, strict=True))


def difference(name, rho, k, groups=None, draws=4, n=480):
    """Algorithm 2 less algorithm 1, of the same draws."""
    data = [tied_pair(name, rho, seed, n) for seed in range(draws)]
    return np.mean([KSG(k=k, algorithm=2).estimate(*d, groups).nats - KSG(k=k).estimate(*d, groups).nats for d in data])


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("name", TIES)
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_rectangles_read_with_ties_what_cubes_read(name, rho, k):
    # What is left is chance, and the difference of the algorithms without ties. Counting whole rims, and 1/k for sides
    # without length, reads up to 1 (k = 1), .3 (k = 3) and .1 (k = 10) too little.
    assert abs(difference(name, rho, k)) < {1: 0.045, 3: 0.03, 10: 0.015}[k]


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("name", ["relu", "zeros", "few zeros", "classes", "tenths", "two columns"])
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_rectangles_of_groups_read_with_ties_what_cubes_read(name, rho, k):
    # An atom that counts for no row reads up to 6 nats at independence.
    assert abs(difference(name, rho, k, EIGHTS, draws=2)) < 0.05


@pytest.mark.parametrize("k", [1, 3, 10])
def test_a_side_without_length_has_all_its_rows_inside(k):
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], [70, 130])
    x = rng.standard_normal(200) + y
    apart = chebyshev(x[:, None], x[:, None])
    np.fill_diagonal(apart, np.inf)
    reach = np.sort(np.where(y[:, None] == y, apart, np.inf), axis=1)[:, k - 1]
    expected = digamma(k) + digamma(200) - digamma((apart <= reach[:, None]).sum(axis=1)) - digamma(70 + 60 * y)
    # Classes are 2.1 standard deviations apart, so that no row has a neighbour of the other one.
    np.testing.assert_allclose(KSG(k=k, algorithm=2).estimate(x, y).local, expected, atol=1e-10)


def test_rectangles_are_the_mean_over_random_orders_of_their_rims():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(50)
    x = np.maximum(np.round(rng.standard_normal(50), 1), -0.3)
    sides = rescale(x[:, None]), rescale(y[:, None])
    several = joint_values(Sides(*sides), 3).tied
    orders = [
        rectangle_local(sides[0] + 1e-6 * np.random.default_rng(seed).standard_normal((50, 1)), sides[1], 3)[0]
        for seed in range(600)
    ]
    found, tied = rectangle_local(*sides, 3)
    # The error of 600 orders, and of two moments of a rank; whole rims read .1 to .8 less.
    np.testing.assert_allclose(found[~several], np.mean(orders, axis=0)[~several], atol=0.06)
    assert tied[~several].mean() > 0.9


@pytest.mark.parametrize("name", TIES)
@pytest.mark.parametrize("k", [1, 3])
def test_trees_and_blocks_find_the_same_rectangles(name, k):
    x, y = (rescale(side.reshape(300, -1)) for side in tied_pair(name, 0.5, 0, 300))
    alone = ~joint_values(Sides(x, y), k).tied
    assert alone.any()
    for tree, block in zip(_by_tree(x, y, k), _by_block(x, y, k), strict=True):
        for counts in ("inside", "rim", "own"):
            np.testing.assert_array_equal(getattr(tree, counts)[alone], getattr(block, counts)[alone])


@pytest.mark.parametrize("groups", [None, EIGHTS], ids=["rows", "groups"])
def test_the_reason_counts_rims_of_rectangles(groups):
    x, y = np.random.default_rng(0).standard_normal((2, 480))
    ksg = KSG(algorithm=2)
    assert ksg.estimate(x, y, groups).reason == ""
    assert ksg.estimate(zeros(0.03)(x), y, groups).reason == ""
    for tied in (relu(x), tenths(x)):
        reason = ksg.estimate(tied, y, groups).reason
        assert reason.startswith("ties in ")
        assert int(reason.split()[2].rstrip("%")) > 35
