"""The truth of the benchmark designs is the truth, and the draws are what they say."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from tests.benchmarks.designs import (
    BALANCES,
    DESIGNS,
    TOP_SHARE,
    VARIANTS,
    Mixture,
    class_shares,
    draw,
    information,
    mixture,
    truth_of,
    warp,
)

KINDS = ("lin", "xor", "scale", "mix3")
UNEVEN = np.array([0.8, 0.2])


def monte_carlo(signal: Mixture, prior: np.ndarray, n: int = 200_000) -> tuple[float, float]:
    """Mean and standard error of log f_y/f with densities of scipy, component by component."""
    rng = np.random.default_rng(3)
    classes, components, width = signal.means.shape
    y = rng.choice(classes, n, p=prior)
    x = signal.means[y, rng.integers(components, size=n)] + signal.scales[y, None] * rng.standard_normal((n, width))
    logs = np.stack(
        [
            np.mean([multivariate_normal.pdf(x, m, signal.scales[c] ** 2 * np.eye(width)) for m in means], axis=0)
            for c, means in enumerate(signal.means)
        ]
    )
    ratio = np.log(logs[y, np.arange(n)]) - np.log(prior @ logs)
    return float(ratio.mean()), float(ratio.std() / np.sqrt(n))


@pytest.mark.parametrize("prior", [np.array([0.5, 0.5]), UNEVEN], ids=["balanced", "uneven"])
@pytest.mark.parametrize("distance", [0.5, 2.0, 4.0])
def test_information_of_two_gaussians_on_a_line_is_the_integral(distance, prior):
    signal = Mixture(distance * np.array([[[-0.5]], [[0.5]]]), np.ones(2))

    def integrand(x: float) -> float:
        logs = norm.logpdf(x, distance * np.array([-0.5, 0.5]))
        return float((prior * np.exp(logs)) @ (logs - logsumexp(logs, b=prior)))

    assert information(signal, prior) == pytest.approx(quad(integrand, -12, 12, limit=200)[0], abs=2e-5)


@pytest.mark.parametrize("prior", [np.array([0.5, 0.5]), UNEVEN], ids=["balanced", "uneven"])
def test_information_of_two_spreads_in_a_plane_is_the_integral_over_the_radius(prior):
    signal = Mixture(np.zeros((2, 1, 2)), np.array([1.0, 3.0]))

    def integrand(r: float) -> float:
        logs = -0.5 * (r / signal.scales) ** 2 - 2 * np.log(signal.scales)
        return float((prior * r * np.exp(logs)) @ (logs - logsumexp(logs, b=prior)))

    assert information(signal, prior) == pytest.approx(quad(integrand, 0, 40, limit=200)[0], abs=5e-5)


def test_far_components_carry_all_of_the_entropy_and_equal_classes_none():
    far = Mixture(np.array([[[40.0, 0.0], [-40.0, 0.0]], [[0.0, 40.0], [0.0, -40.0]]]), np.ones(2))
    assert information(far, UNEVEN) == pytest.approx(-(UNEVEN * np.log(UNEVEN)).sum(), abs=1e-9)
    assert information(Mixture(np.ones((3, 1, 2)), np.ones(3)), np.full(3, 1 / 3)) == pytest.approx(0, abs=1e-12)


def test_a_direction_without_signal_adds_nothing():
    line = np.array([[[-0.7], [0.4]], [[0.2], [1.5]]])
    plane = np.concatenate([line, np.full((2, 2, 1), 3.0)], axis=2)
    flat, wide = (information(Mixture(means, np.ones(2)), UNEVEN) for means in (line, plane))
    assert wide == pytest.approx(flat, abs=1e-9)


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_quadrature_agrees_with_monte_carlo_and_hits_the_target(kind, classes, balance):
    prior = class_shares(classes, balance)
    target = -0.4 * float((prior * np.log(prior)).sum())
    truth = truth_of(kind, 11, classes, balance, target)
    value, error = monte_carlo(mixture(kind, 11, classes, balance, target), prior)
    assert abs(value - truth) < 4 * error
    assert truth == pytest.approx(target, abs=1e-3)


@pytest.mark.parametrize("kind", ["xor", "mix3"])
def test_twice_the_nodes_change_the_truth_of_the_strongest_position_by_less_than_a_ten_thousandth(kind):
    prior = class_shares(2, "80/20")
    signal = mixture(kind, 19, 2, "80/20", -TOP_SHARE * float((prior * np.log(prior)).sum()))
    assert information(signal, prior, nodes=96) == pytest.approx(information(signal, prior), abs=1e-4)


@pytest.mark.parametrize("kind", ["xor", "scale"])
def test_kinds_without_mean_difference_have_none(kind):
    signal = mixture(kind, 5, 4, "balanced", 0.5)
    assert np.abs(signal.means.mean(axis=1)).max() < 1e-12


@pytest.mark.parametrize("design", DESIGNS)
def test_truths_are_spread_evenly_from_zero_and_rows_carry_them(design):
    made = draw(design, d=32, n=1000, seed=2)
    top = 0.0 if design == "independent" else TOP_SHARE * np.log(2)
    assert made.truth == pytest.approx(np.linspace(0, top, 20), abs=1e-3)
    assert made.entropy == pytest.approx(np.log(2))
    assert made.x.shape == (20, 1000, 32)
    assert made.x.dtype == np.float32
    assert np.isfinite(made.x).all()
    # The rows' own mean log ratio scatters round the truth with a standard deviation below 1 nat a row.
    assert np.abs(made.oracle - made.truth).max() < 5 / np.sqrt(1000)
    assert set(made.kinds) == set(DESIGNS[design])


@pytest.mark.parametrize("balance", BALANCES)
def test_classes_have_exactly_their_shares(balance):
    made = draw("lin", d=32, n=1000, classes=4, balance=balance)
    np.testing.assert_allclose(np.bincount(made.y), 1000 * class_shares(4, balance), atol=1)


def test_a_seed_gives_one_draw_and_another_seed_another():
    first, again, other = (draw("all4", d=32, n=200, seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first.x, again.x)
    assert (first.y != other.y).any()


def test_the_rotated_states_hold_the_information_of_the_signal():
    # Gaussian classes with one covariance: I(x; y) is a function of the Mahalanobis distance of the means.
    made = draw("lin", d=32, n=20_000, seed=1)
    states, y = made.x[19].astype(np.float64), made.y
    means = np.stack([states[y == c].mean(axis=0) for c in range(2)])
    within = np.cov(states - means[y], rowvar=False)
    distance = np.sqrt((means[1] - means[0]) @ np.linalg.solve(within, means[1] - means[0]))
    on_a_line = Mixture(distance * np.array([[[-0.5]], [[0.5]]]), np.ones(2))
    assert information(on_a_line, np.full(2, 0.5)) == pytest.approx(made.truth[19], abs=0.02)


def test_nuisance_has_very_different_scales_and_is_independent_of_the_class():
    made = draw("xor", d=64, n=4000, seed=3)
    states = made.x[19].astype(np.float64)
    spread = np.sqrt(np.linalg.eigvalsh(np.cov(states, rowvar=False)))
    assert spread[-1] / spread[0] > 100
    difference = states[made.y == 1].mean(axis=0) - states[made.y == 0].mean(axis=0)
    # Chi-square of 64 degrees of freedom when no mean differs.
    assert 1000 * difference @ np.linalg.solve(np.cov(states, rowvar=False), difference) < 64 + 5 * np.sqrt(128)


def test_copies_are_noise_free():
    made = draw("mixed:copies", d=40, n=500)
    spread = np.linalg.svd(made.x[10] - made.x[10].mean(axis=0), compute_uv=False)
    assert (spread > 1e-4 * spread[0]).sum() == 40 - 8


def test_heavy_nuisance_has_heavy_tails_and_lowrank_twenty_factors():
    def kurtosis(states: np.ndarray) -> float:
        centred = states - states.mean(axis=0)
        return float(((centred**4).mean(axis=0) / (centred**2).mean(axis=0) ** 2).max())

    assert kurtosis(draw("heavy", d=32, n=2000).x[0]) > 6 > kurtosis(draw("mixed", d=32, n=2000).x[0])
    spread = np.linalg.eigvalsh(np.cov(draw("lowrank", d=64, n=2000).x[3], rowvar=False))
    assert spread[-20:].sum() / spread.sum() > 0.99


def test_the_warp_is_invertible_and_nonlinear():
    plain = np.linspace(-60, 60, 1001)
    warped = warp(plain)
    assert (np.diff(warped) > 0).all()
    assert np.abs(warped - np.polyval(np.polyfit(plain, warped, 1), plain)).max() > 1


def test_grouped_rows_share_label_and_state_but_keep_the_truth():
    made = draw("lin:grouped", d=32, n=20_000, seed=6)
    assert made.groups is not None
    np.testing.assert_array_equal(np.bincount(made.groups), 5)
    assert all(len(set(made.y[made.groups == g])) == 1 for g in range(50))
    # Within a class, half of the variance lies between instances.
    states = made.x[0, :, 0].astype(np.float64).reshape(-1, 5)
    pair = np.corrcoef(states[:, 0], states[:, 1])[0, 1]
    assert pair == pytest.approx(0.5, abs=0.06)
    assert made.truth == pytest.approx(draw("lin", d=32, n=20).truth)
    assert np.abs(made.oracle - made.truth).max() < 0.05


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_design_takes_every_variant(variant):
    for design in DESIGNS:
        assert np.isfinite(draw(f"{design}:{variant}", d=32, n=60).x).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"design": "linear"}, "design must be"),
        ({"design": "lin:twice"}, "design must be"),
        ({"design": "lin", "d": 8}, "d must be at least 32"),
        ({"design": "lin", "classes": 5}, "classes 2 to 4"),
        ({"design": "lin", "balance": "90/10"}, "balance must be"),
    ],
)
def test_wrong_requests_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        draw(**given)


def test_log_densities_are_those_of_scipy_up_to_the_constant():
    signal = Mixture(np.array([[[0.0, 1.0], [2.0, 0.0]], [[1.0, 1.0], [-3.0, 0.5]]]), np.array([1.0, 2.5]))
    x = np.random.default_rng(0).standard_normal((7, 2)) * 3
    for c in range(2):
        parts = [multivariate_normal.logpdf(x, m, signal.scales[c] ** 2 * np.eye(2)) for m in signal.means[c]]
        expected = logsumexp(parts, axis=0) - np.log(2) + np.log(2 * np.pi)
        np.testing.assert_allclose(signal.log_densities(x)[:, c], expected, atol=1e-10)
