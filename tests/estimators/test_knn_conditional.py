"""Conditional information by neighbours, against closed forms, tables and NPEET."""

import numpy as np
import pytest
from npeet_plus import cmi as npeet_cmi

from mi_attention.estimators.conditional import ConditionalMixture
from mi_attention.estimators.mixture import Mixture
from mi_attention.estimators.neighbours import rescale

DRAWS = 8


def mean(make):
    return np.mean([ConditionalMixture().estimate(*make(np.random.default_rng(seed))).nats for seed in range(DRAWS)])


@pytest.mark.parametrize("width", [1, 2])
def test_without_ties_it_is_npeet(width):
    rng = np.random.default_rng(0)
    z = rng.standard_normal((400, width))
    x, y = z[:, :1] + rng.standard_normal((2, 400, 1))
    theirs = npeet_cmi(rescale(x), rescale(y), rescale(z), k=3, base=np.e)
    assert ConditionalMixture().estimate(x, y, z).nats == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_gaussians_given_their_common_cause(rho):
    # x and y are z plus noises of correlation rho: I(x; y | z) = −½ log(1 − rho²), though I(x; y) is larger.
    def make(rng):
        z, a, b = rng.standard_normal((3, 1200))
        return z + a, z + rho * a + np.sqrt(1 - rho**2) * b, z

    assert mean(make) == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.04)
    x, y, _ = make(np.random.default_rng(0))
    assert Mixture().estimate(x, y).nats > 0.1


def test_exclusive_or_is_seen_only_with_the_condition():
    def make(rng):
        x, z = rng.integers(0, 2, (2, 500))
        return x, x ^ z, z

    assert mean(make) == pytest.approx(np.log(2), abs=0.01)
    x, y, _ = make(np.random.default_rng(0))
    assert abs(Mixture().estimate(x, y).nats) < 0.02


@pytest.mark.parametrize("kind", ["numbers", "strings"])
def test_a_class_given_a_class(kind):
    # Within each class of z, y has a mean difference of its own: the mean of two informations on a line.
    def make(rng):
        z, y = rng.integers(0, 2, (2, 1500))
        x = rng.standard_normal(1500) + 2.0 * y * z
        return (x, y, z) if kind == "numbers" else (x, np.array(["a", "b"])[y], np.array(["u", "v"])[z])

    grid = np.linspace(-10, 12, 20001)
    one, other = np.exp(-((grid - 2) ** 2) / 2), np.exp(-(grid**2) / 2)
    middle = (one + other) / 2
    truth = 0.25 * np.trapezoid(one * np.log(one / middle) + other * np.log(other / middle), grid) / np.sqrt(2 * np.pi)
    assert mean(make) == pytest.approx(truth, abs=0.025)


@pytest.mark.parametrize("step", [0.05, 0.2])
def test_rounding_does_not_move_the_mean(step):
    def make(rng, step):
        z, a, b = rng.standard_normal((3, 600))
        x, y = z + a, z + 0.7 * a + np.sqrt(0.51) * b
        return tuple(np.round(side / step) * step for side in (x, y, z)) if step else (x, y, z)

    kept, rounded = (mean(lambda rng, s=s: make(rng, s)) for s in (0, step))
    assert rounded == pytest.approx(kept, abs=0.06)


@pytest.mark.parametrize("step", [0.2, 0.5])
def test_a_rounded_condition_alone_has_rims_on_every_side(step):
    def make(rng):
        z, a, b = rng.standard_normal((3, 400))
        return z + a, z + b, np.round(z / step) * step

    # What rounding z leaves open of the common cause is small; a wrong share of the rim reads over .05.
    assert mean(make) == pytest.approx(0, abs=0.03)


def test_a_condition_that_says_it_all_leaves_nothing():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 300)
    y = z + 3 * rng.integers(0, 2, 300)
    assert ConditionalMixture().estimate(z, y, z).nats == pytest.approx(0, abs=1e-12)


def test_a_constant_condition_leaves_the_unconditional_value():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 200))
    estimate = ConditionalMixture().estimate(x, y, np.ones(200))
    assert estimate.nats == pytest.approx(Mixture().estimate(x, y).nats, abs=1e-12)
    assert estimate.reason == "constant condition: the unconditional value"


def test_a_constant_condition_leaves_what_mixture_makes_of_the_two_sides():
    # A table with groups, which is read by Discrete; and grades that would be names beside a third column.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    x = rng.integers(0, 4, 40)[groups]
    y = np.where(rng.random(40)[groups] < 0.6, x, rng.integers(0, 4, 40)[groups])
    grades = np.round(rng.standard_normal(200)) + 0.5
    for given in ((x, y, groups), (grades, rng.standard_normal(200) + grades, None)):
        for constant in (np.zeros(200), np.full(200, "a")):
            estimate = ConditionalMixture().estimate(given[0], given[1], constant, given[2])
            mixture = Mixture().estimate(*given)
            np.testing.assert_array_equal(estimate.local, mixture.local)
            assert (estimate.nats, estimate.standard_error) == (mixture.nats, mixture.standard_error)
            assert estimate.reason == "constant condition: the unconditional value"
            assert estimate.signature == ConditionalMixture().signature
    nothing = ConditionalMixture().estimate(x, np.ones(200), np.zeros(200))
    assert (nothing.nats, nothing.reason) == (0.0, "constant output")


def test_x_and_y_change_places_and_local_values_average():
    rng = np.random.default_rng(0)
    z = np.round(rng.standard_normal((150, 2)), 1)
    x, y = np.round(z[:, 0] + rng.standard_normal(150), 1), rng.integers(0, 3, 150)
    for groups in (None, np.arange(150) // 3):
        one, other = ConditionalMixture().estimate(x, y, z, groups), ConditionalMixture().estimate(y, x, z, groups)
        assert one.nats == pytest.approx(other.nats, abs=1e-10)
        assert one.local.mean() == one.nats


def test_blocks_and_trees_agree():
    rng = np.random.default_rng(0)
    z = np.round(rng.standard_normal(200), 1)
    x, y = np.round(z + rng.standard_normal((2, 200)), 1)
    tree = ConditionalMixture().estimate(x, y, z)
    blocks = ConditionalMixture().estimate(x, y, z, np.arange(200))
    np.testing.assert_allclose(tree.local, blocks.local, atol=1e-12)


def test_bad_input_is_named():
    x = np.arange(30.0)
    with pytest.raises(ValueError, match=r"z must be \(30,\)"):
        ConditionalMixture().estimate(x, x, x[:4])
    with pytest.raises(ValueError, match="z is nan at row 2"):
        ConditionalMixture().estimate(x, x, np.where(x == 2, np.nan, x))
    with pytest.raises(ValueError, match="k must"):
        ConditionalMixture(k=0)
    assert ConditionalMixture().estimate(x, np.ones(30), x).reason == "constant output"
