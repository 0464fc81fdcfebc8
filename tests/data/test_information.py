import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from mi_attention.data.information import (
    binary_gaussian_information,
    entropy,
    simplex_gaussian_information,
    table_information,
)


def test_entropy_by_hand():
    assert entropy([0.5, 0.5]) == pytest.approx(np.log(2), abs=1e-15)
    assert entropy([1.0, 0.0]) == 0.0
    # −.9 ln .9 − .1 ln .1
    assert entropy([0.9, 0.1]) == pytest.approx(0.3250829733914482, abs=1e-15)


def test_table_information_by_hand():
    # Binary symmetric channel with error .1 and a fair bit: ln 2 − H(.1).
    assert table_information([[0.45, 0.05], [0.05, 0.45]]) == pytest.approx(np.log(2) - 0.3250829733914482, abs=1e-15)
    assert table_information(np.outer([0.2, 0.8], [0.3, 0.3, 0.4])) == pytest.approx(0.0, abs=1e-16)


def test_table_information_refuses_what_is_no_distribution():
    with pytest.raises(ValueError, match="sum to 1"):
        table_information([[0.5, 0.6]])


@pytest.mark.parametrize("separation", [0.3, 1.0, 2.5, 6.0])
@pytest.mark.parametrize("balance", [(0.5, 0.5), (0.85, 0.15)])
def test_binary_gaussian_equals_adaptive_quadrature(separation, balance):
    low, high = balance

    def integrand(x, mean, share):
        mixture = low * norm.pdf(x, -separation / 2) + high * norm.pdf(x, separation / 2)
        return share * norm.pdf(x, mean) * np.log(norm.pdf(x, mean) / mixture)

    reach = separation / 2 + 12
    expected = sum(
        quad(integrand, -reach, reach, args=(mean, share), epsabs=1e-12, limit=300, points=[0.0, mean])[0]
        for mean, share in ((-separation / 2, low), (separation / 2, high))
    )
    assert binary_gaussian_information(separation, balance) == pytest.approx(expected, abs=1e-9)


def test_binary_gaussian_for_small_separation():
    # I ≈ p q δ² / 2: the second-order term of the Kullback-Leibler divergence from the mixture.
    assert binary_gaussian_information(1e-3, [0.8, 0.2]) == pytest.approx(0.8 * 0.2 * 1e-6 / 2, rel=1e-4)


@pytest.mark.parametrize("separation", [0.1, 1.0, 4.0, 9.0])
@pytest.mark.parametrize("balance", [(0.5, 0.5), (0.99, 0.01)])
def test_two_algorithms_agree_for_two_classes(separation, balance):
    simplex = simplex_gaussian_information(separation, balance)
    assert simplex == pytest.approx(binary_gaussian_information(separation, balance), abs=1e-10)


@pytest.mark.parametrize("balance", [(1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1)])
@pytest.mark.parametrize("separation", [0.7, 2.0, 3.5])
def test_three_classes_equal_gauss_hermite_in_the_plane(separation, balance):
    # An independent algorithm: 2-D product quadrature of ln p(x|c)/p(x) around each of three means.
    means = separation * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    product = np.outer(weights, weights).ravel()
    expected = 0.0
    for c, share in enumerate(balance):
        x = means[c] + grid
        log_density = -((x[:, None, :] - means) ** 2).sum(axis=2) / 2
        log_mixture = np.log((np.exp(log_density) * np.array(balance)).sum(axis=1))
        expected += share * product @ (log_density[:, c] - log_mixture)
    assert simplex_gaussian_information(separation, balance) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("balance", [(0.5, 0.5), (0.2, 0.3, 0.5), (0.1,) * 10])
def test_limits_and_monotony(balance):
    values = [simplex_gaussian_information(s, balance) for s in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 100.0)]
    assert values[0] == 0.0
    assert values[-1] == entropy(balance)
    assert values[-2] == pytest.approx(entropy(balance), abs=1e-9)
    assert (np.diff(values[:6]) > 0).all()


@pytest.mark.parametrize("function", [binary_gaussian_information, simplex_gaussian_information])
def test_gaussian_information_refuses(function):
    with pytest.raises(ValueError, match="separation"):
        function(-1.0, [0.5, 0.5])
    with pytest.raises(ValueError, match="separation"):
        function(float("nan"), [0.5, 0.5])
    with pytest.raises(ValueError, match="balance"):
        function(1.0, [0.5, 0.6])
    with pytest.raises(ValueError, match="balance"):
        function(1.0, [1.0])
