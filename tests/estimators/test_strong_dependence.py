"""Dependence near and beyond what the ranks of the rows can show, too few rows, ties and extreme scales."""

import numpy as np
import pytest

from mi_attention.estimators.copula import Copula
from mi_attention.estimators.elliptical import gaussian_information
from mi_attention.estimators.gaussian import Gaussian
from mi_attention.estimators.scores import agreeing_ranks, normal_scores, rank_resolution, untied, varying_columns


def on_a_grid(n, noise, seed, last=None):
    """x = 0 … n − 1 and y = x plus normal noise; I is at most H(x) = log n."""
    x = np.arange(float(n))
    if last is not None:
        x[-1] = last
    return x, x + noise * np.random.default_rng(seed).standard_normal(n)


@pytest.mark.parametrize("seed", range(5))
def test_a_noisy_grid_stays_below_its_entropy(seed):
    # I = 3.89 nats by quadrature; a t copula of .7 degrees of freedom read 9 to 24.
    found = Copula().estimate(*on_a_grid(100, 0.5, seed))
    assert found.nats == pytest.approx(3.89, abs=0.2)
    assert found.nats < np.log(100)
    assert "ranks of x and y largely agree" in found.reason
    assert found.local.mean() == pytest.approx(found.nats, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "noise", "truth", "seed"), [(300, 0.3, 5.46, 0), (300, 0.3, 5.46, 2), (1000, 0.3, 6.66, 0)]
)
def test_a_scatter_that_collapses_on_equal_ranks_is_no_error(n, noise, truth, seed):
    found = Copula().estimate(*on_a_grid(n, noise, seed))
    assert truth - 0.5 < found.nats < np.log(n)
    assert found.reason


@pytest.mark.parametrize("n", [100, 300])
def test_a_correlation_beyond_the_ranks_is_held_to_them_and_flagged(n):
    # I = 5.41 nats, which 100 ranks cannot show: 3.8 to 26 were read.
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(n)
        found = Copula().estimate(x, 0.99999 * x + np.sqrt(1 - 0.99999**2) * rng.standard_normal(n))
        assert rank_resolution(n) - 0.3 < found.nats < np.log(n)
        assert found.reason


def test_uniform_x_with_little_noise():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=300)
        found = Copula().estimate(x, x + 0.001 * rng.standard_normal(300))
        assert 4.5 < found.nats < np.log(300)


def test_ranks_that_coincide_are_not_said_to_be_determined():
    x, y = on_a_grid(101, 0.3, 0, last=1000.0)
    assert (x.argsort() == y.argsort()).all()
    for estimator in (Copula(), Gaussian(scores="ranks")):
        found = estimator.estimate(x, y)
        assert found.status == "undefined"
        assert "determines" not in found.reason
        assert "coincide in all 101 rows" in found.reason
        assert estimator.estimate(x.astype(int), y).reason == found.reason
        assert "determines" in estimator.estimate(x, 2 * x + 1).reason
    # Two swaps at an end leave a correlation of 2.9 nats where all other ranks agree.
    swapped = Copula().estimate(*on_a_grid(101, 0.3, 3, last=1000.0))
    assert 3.7 < swapped.nats < np.log(101)
    assert swapped.reason


def test_ranks_hold_the_gaussian_too_and_values_do_not():
    x = np.random.default_rng(0).standard_normal(1000)
    order = np.argsort(x)
    y = x.copy()
    y[order[500]], y[order[501]] = x[order[501]], x[order[500]]
    held = Gaussian(scores="ranks").estimate(x, y)
    assert held.nats == pytest.approx(rank_resolution(1000), abs=0.01)
    assert held.lower_bound < rank_resolution(1000) + 0.01
    assert held.reason
    rng = np.random.default_rng(1)
    raw = Gaussian().estimate(x, x + 1e-4 * rng.standard_normal(1000))
    assert raw.nats == pytest.approx(-np.log(1e-4), abs=0.15)
    assert raw.reason == ""


def test_strong_dependence_by_instances():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(60), 4)
    x = rng.standard_normal(60)[groups]
    x = x + 0.1 * rng.standard_normal(240)
    found = Copula().estimate(x, x + 1e-4 * rng.standard_normal(240), groups)
    assert 2.5 < found.nats < np.log(240)
    assert found.reason


def test_the_resolution_is_where_half_of_the_ranks_agree():
    rng = np.random.default_rng(4)
    spread = np.exp(-rank_resolution(2000))
    x = rng.standard_normal(2000)
    y = np.sqrt(1 - spread**2) * x + spread * rng.standard_normal(2000)
    scores = normal_scores(x[:, None]), normal_scores(y[:, None])
    assert agreeing_ranks(*scores) == pytest.approx(0.5, abs=0.1)
    assert agreeing_ranks(scores[0], -scores[1]) == pytest.approx(agreeing_ranks(*scores), abs=1e-12)
    assert agreeing_ranks(scores[0], normal_scores(rng.standard_normal((2000, 3)))) < 0.01


@pytest.mark.parametrize("n", [4, 6, 9])
@pytest.mark.parametrize("estimator", [Copula(), Gaussian(), Gaussian(scores="ranks")])
def test_too_few_rows_are_undefined(estimator, n):
    # Held-out values of 2 to 11 nats below 0 had status ok.
    rng = np.random.default_rng(5)
    found = estimator.estimate(rng.standard_normal((n, 3)), rng.standard_normal(n))
    assert found.status == "undefined"
    assert found.reason == "fewer than 10 independent rows"


def test_columns_of_two_values_share_no_scale_with_an_independent_output():
    # The likelihood of tied scores preferred 2 degrees of freedom, whose shared scale read .16 nats.
    values = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values.append(Copula().estimate(rng.standard_normal((60, 5)) > 0, rng.standard_normal(60)).nats)
    assert abs(np.mean(values)) < 0.04


def test_ties_are_broken_and_nothing_else():
    rng = np.random.default_rng(6)
    scores = normal_scores(rng.standard_normal((50, 3)))
    assert untied(scores, rng) is scores
    tied = normal_scores(np.round(rng.standard_normal((400, 2)), 1))
    loose = untied(tied, np.random.default_rng(0))
    assert (loose == untied(tied, np.random.default_rng(0))).all()
    assert all(len(np.unique(column)) == 400 for column in loose.T)
    for before, after in zip(tied.T, loose.T, strict=True):
        assert (np.diff(before[np.argsort(after)]) >= 0).all()


@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-200, 1e-310])
def test_units_at_the_ends_of_the_floating_range(scale):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((120, 2))
    y = x[:, 0] + rng.standard_normal(120)
    for estimator in (Copula(), Gaussian()):
        plain, scaled = estimator.estimate(x, y), estimator.estimate(x * scale, y)
        assert scaled.nats == pytest.approx(plain.nats, abs=1e-9)
        assert scaled.reason == ""
        assert estimator.estimate(x, y * scale).nats == pytest.approx(plain.nats, abs=1e-9)
    assert (varying_columns(x * 2.0**40) == varying_columns(x)).all()


def test_a_pair_counts_for_no_more_than_it_may():
    rng = np.random.default_rng(8)
    x = rng.standard_normal((300, 2))
    y = x + 1e-3 * rng.standard_normal((300, 2))
    plain = gaussian_information(x, y, corrected=False)
    assert plain > 12
    assert gaussian_information(x, y, corrected=False, most=5.0) == pytest.approx(10.0)
    assert gaussian_information(x, y, corrected=False, most=20.0) == plain


def test_a_fold_that_holds_all_the_noise():
    # One row off its line: the fit of the other folds left no variance, and −144,812 nats were held out.
    rng = np.random.default_rng(9)
    x = rng.standard_normal(160)
    y = x.copy()
    y[7] += 0.3
    found = Gaussian().estimate(x, y)
    assert found.status == "undefined"
    assert "without the rows of one fold" in found.reason
    ranks = Copula().estimate(x, y)
    assert 4 < ranks.nats < np.log(160)
    assert ranks.reason
    groups = np.repeat(np.arange(40), 4)
    y = x.copy()
    y[:4] += 0.5
    assert Gaussian().estimate(x, y, groups).status == "undefined"
    held = Gaussian(scores="ranks").estimate(x, y, groups)
    assert 1 < held.nats < rank_resolution(40)
    assert held.reason
    # Outliers are no such fold.
    assert Gaussian().estimate(x, x**9).status == "ok"
