import numpy as np
import pytest
from scipy import stats

from mi_attention.measures import kendall_tau_b
from mi_attention.statistics import profile_covariance, split_half, tau_ceiling


def local_values(
    rng: np.random.Generator, profile: np.ndarray, n: int, noise_to_signal: float, shared: float = 0.0
) -> np.ndarray:
    """(U, N) around a profile of unit variance; the error of its mean has the variance given."""
    deviation = np.sqrt(noise_to_signal * n)
    common, own = rng.standard_normal((1, n)), rng.standard_normal((profile.size, n))
    return profile[:, None] + deviation * (np.sqrt(shared) * common + np.sqrt(1 - shared) * own)


def test_split_half_equals_a_direct_loop() -> None:
    rng = np.random.default_rng(0)
    local = local_values(rng, rng.standard_normal(10), 41, 0.2)
    found = split_half(local, rng=1, n_splits=400)
    taus = []
    for _ in range(400):
        order = rng.permutation(41)
        taus.append(stats.kendalltau(local[:, order[:20]].mean(axis=1), local[:, order[20:]].mean(axis=1)).statistic)
    assert found.tau == pytest.approx(np.mean(taus), abs=5 * np.std(taus) / 20)
    assert found == split_half(local, rng=1, n_splits=400)


def test_missing_values_are_left_out_of_means_not_read_as_zero() -> None:
    rng = np.random.default_rng(2)
    profile = 10 + np.arange(8.0)
    local = profile[:, None] + 0.01 * rng.standard_normal((8, 60))
    local[rng.random((8, 60)) < 0.4] = np.nan
    # Zeros in place of NaN would order units by their share of missing values.
    assert split_half(local, rng=0).tau == 1.0
    assert tau_ceiling(local, rng=0).tau > 0.99


def test_a_unit_seen_once_leaves_splits_undefined() -> None:
    local = np.random.default_rng(3).standard_normal((4, 20))
    local[2, 1:] = np.nan
    found = split_half(local, rng=0, n_splits=30)
    assert (found.n_undefined, found.reason) == (30, "no split with an order in both halves")
    assert tau_ceiling(local, rng=0).reason == "a unit with fewer than two instances"


def test_covariance_without_missing_values_is_the_sample_covariance_over_n() -> None:
    local = np.random.default_rng(4).standard_normal((5, 30)) + 100
    np.testing.assert_allclose(profile_covariance(local), np.cov(local) / 30, atol=1e-13)


def test_covariance_with_missing_values_by_hand() -> None:
    # Common instances 0, 1, 2: p = 1, 2, 3, q = 2, 4, 9: means 2, 5, covariance ((−1)(−3) + 0 + 4)/2 = 3.5.
    # n_pq = 3, n_p = 4, n_q = 3: 3 · 3.5 / 12. Diagonal of p: var(1, 2, 3, 10) / 4 = (9+4+1+36)/3/4.
    local = np.array([[1, 2, 3, 10], [2, 4, 9, np.nan]])
    found = profile_covariance(local)
    assert found[0, 1] == found[1, 0] == pytest.approx(3 * 3.5 / 12)
    assert found[0, 0] == pytest.approx(50 / 12)
    assert found[1, 1] == pytest.approx(np.var([2, 4, 9], ddof=1) / 3)


def test_covariance_with_missing_values_predicts_the_spread_of_profiles() -> None:
    rng = np.random.default_rng(5)
    missing = rng.random((3, 40)) < 0.3
    root = np.array([[1.0, 0, 0], [0.8, 0.6, 0], [0.5, 0.5, 0.7]])
    profiles, predicted = [], []
    for _ in range(1000):
        local = root @ rng.standard_normal((3, 40))
        local[missing] = np.nan
        profiles.append(np.nanmean(local, axis=1))
        predicted.append(profile_covariance(local))
    np.testing.assert_allclose(np.mean(predicted, axis=0), np.cov(np.transpose(profiles)), atol=0.005)


@pytest.mark.parametrize(("noise_to_signal", "shared"), [(0.25, 0.0), (1.0, 0.0), (0.5, 0.6)])
def test_ceiling_is_what_attention_in_true_order_reaches(noise_to_signal: float, shared: float) -> None:
    rng = np.random.default_rng(6)
    ceilings, reached, halves = [], [], []
    for _ in range(120):
        profile = rng.standard_normal(20)
        local = local_values(rng, profile, 80, noise_to_signal, shared)
        found = tau_ceiling(local, rng=rng, n_draws=50)
        if not found.reason:
            ceilings.append(found.tau)
            reached.append(kendall_tau_b(local.mean(axis=1), profile).values[0])
            halves.append(split_half(local, rng=rng, n_splits=10).tau)
    assert len(ceilings) >= 100
    assert np.mean(ceilings) == pytest.approx(np.mean(reached), abs=0.04)
    if noise_to_signal == 1.0:
        # Gaussian: tau = (2/π) asin(ρ), ρ² = 1/2 gives .50; halves with ρ = 1/3 give .216.
        assert np.mean(reached) == pytest.approx(0.5, abs=0.04)
        assert np.mean(halves) == pytest.approx(2 / np.pi * np.arcsin(1 / 3), abs=0.04)


def test_a_profile_of_pure_noise_has_no_ceiling() -> None:
    rng = np.random.default_rng(7)
    found = [tau_ceiling(rng.standard_normal((12, 50)), rng=0, n_draws=10) for _ in range(40)]
    silent = [ceiling for ceiling in found if ceiling.reason]
    assert len(silent) >= 12
    assert all(np.isnan(ceiling.tau) for ceiling in silent)
    constant = tau_ceiling(np.ones((3, 10)), rng=0)
    assert constant.reason == "the profile varies no more than its error explains"
    assert split_half(np.ones((3, 10)), rng=0).reason == "no split with an order in both halves"


@pytest.mark.parametrize("function", [split_half, tau_ceiling])
@pytest.mark.parametrize("local", [np.ones(4), np.ones((1, 4)), np.array([[1.0, np.inf], [1.0, 2.0]])])
def test_bad_input(function: object, local: np.ndarray) -> None:
    with pytest.raises(ValueError, match="local"):
        function(local, rng=0)
