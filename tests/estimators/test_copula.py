import numpy as np
import pytest

from mi_attention.estimators.calibration import calibrate, shuffled_partners
from mi_attention.estimators.canonical import cross_fit_canonical
from mi_attention.estimators.copula import Copula
from mi_attention.estimators.elliptical import student_excess
from mi_attention.estimators.parts import neighbour_bias, within_parts
from mi_attention.estimators.scores import normal_scores
from tests.benchmarks.designs import in_spectrum


def gaussians(n, correlations, dims, rng):
    x, y = rng.standard_normal((n, dims[0])), rng.standard_normal((n, dims[1]))
    for i, rho in enumerate(correlations):
        y[:, i] = rho * x[:, i] + np.sqrt(1 - rho**2) * y[:, i]
    return x, y, float(-0.5 * np.log1p(-np.square(correlations)).sum())


@pytest.mark.parametrize(("n", "correlations", "dims"), [(800, [0.7], (1, 1)), (1500, [0.5, 0.6], (12, 4))])
def test_gaussians_under_any_margins(n, correlations, dims):
    x, y, truth = gaussians(n, correlations, dims, np.random.default_rng(0))
    found = Copula().estimate(x, y)
    assert abs(found.nats - truth) < 3 * found.standard_error
    assert found.local.mean() == pytest.approx(found.nats, abs=1e-12)
    bent = Copula().estimate(np.sinh(3 * x), y**3)
    assert bent.nats == pytest.approx(found.nats, abs=1e-12)
    assert bent.signature == found.signature


def test_students_excess_is_the_integral():
    # dof 1, 1 × 1: .2242 nats (Czyż et al. 2023, table of tasks); nothing for a Gaussian.
    assert student_excess(1.0, 1, 1) == pytest.approx(0.22417142752923613, abs=1e-12)
    assert student_excess(np.inf, 3, 2) == 0.0
    assert student_excess(1e7, 3, 2) == pytest.approx(0.0, abs=1e-5)


def test_a_shared_scale_is_information():
    rng = np.random.default_rng(1)
    scale = np.sqrt(2.5 / rng.chisquare(2.5, (1500, 1)))
    found = Copula().estimate(rng.standard_normal((1500, 3)) * scale, rng.standard_normal((1500, 2)) * scale)
    assert "student" in found.signature
    assert found.nats == pytest.approx(student_excess(2.5, 3, 2), abs=0.05)


@pytest.mark.parametrize("dims", [(3, 3), (15, 15)])
def test_scales_of_their_own_are_not(dims):
    # A t copula fits each block well, and its closed form would read .1 and .6 nats of information.
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1500, dims[0])) * rng.chisquare(2, (1500, 1))
    y = rng.standard_normal((1500, dims[1])) * rng.chisquare(1, (1500, 1))
    assert abs(Copula().estimate(x, y).nats) < 0.02


def test_neighbours_take_over_where_no_copula_fits():
    rng = np.random.default_rng(3)
    latent, y, truth = gaussians(2000, [0.8], (1, 1), rng)
    circle = np.hstack([np.cos(0.7 * latent), np.sin(0.7 * latent)])
    found = Copula().estimate(circle, y)
    assert abs(found.nats - truth) < 0.07
    # Turned by its own length: no linear trace, seen through nonlinear features.
    x, y, truth = gaussians(2000, [0.8, 0.8], (4, 4), rng)
    angle = 0.6 * np.square(x).sum(axis=1)
    turned = x.copy()
    turned[:, 0] = np.cos(angle) * x[:, 0] - np.sin(angle) * x[:, 1]
    turned[:, 1] = np.sin(angle) * x[:, 0] + np.cos(angle) * x[:, 1]
    readings = {r.name: r.nats for r in Copula().readings(turned, y)}
    found = Copula().estimate(turned, y)
    assert found.signature.endswith(("kernel(2)", "kernel(3)"))
    assert found.nats > next(iter(readings.values())) + 0.2
    assert found.nats < truth + 0.05


@pytest.mark.parametrize(("n", "dims", "turned"), [(800, (40, 1), False), (800, (20, 2), False), (800, (1, 30), True)])
def test_a_direction_of_small_variance_is_read_from_raw_columns(n, dims, turned):
    # Ranks are off by 1/√n, which hides the last direction of a spectrum from e^2.5 to e^-2.5.
    rng = np.random.default_rng(7)
    a, b, truth = gaussians(n, [0.7], (max(dims), min(dims)), rng)
    a = in_spectrum(a, rng)
    x, y = (b, a) if turned else (a, b)
    found = Copula().estimate(x, y)
    assert found.signature.endswith("raw y" if turned else "raw x")
    assert abs(found.nats - truth) < 3 * found.standard_error
    assert Copula().readings(normal_scores(x), normal_scores(y))[0].nats < 0.6 * truth


def test_heavy_tails_of_raw_columns_are_not_taken_for_dependence():
    values = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_cauchy((200, 6)) @ rng.standard_normal((6, 6)), rng.standard_t(2, (200, 3))
        values.append(Copula().estimate(x, y))
    assert not any("raw" in found.signature for found in values)
    assert abs(np.mean([found.nats for found in values])) < 0.02


@pytest.mark.parametrize("dims", [(1, 1), (2, 3), (40, 1)])
def test_nothing_reads_as_nothing(dims):
    rng = np.random.default_rng(4)
    values = []
    for _ in range(5):
        values.append(Copula().estimate(rng.standard_t(2, (400, dims[0])), rng.uniform(size=(400, dims[1]))).nats)
    assert abs(np.mean(values)) < 0.01
    assert max(np.abs(values)) < 0.06


@pytest.mark.parametrize(("n", "dims", "draws"), [(60, (4, 3), 6), (150, (60, 20), 5), (400, (128, 16), 3)])
def test_chance_in_many_columns_is_within_its_error(n, dims, draws):
    # Folds matched to maps of all rows gave 1.2 and .2 nats in the wide cases, with no error near it.
    rng = np.random.default_rng(14)
    found = [
        Copula().estimate(rng.standard_normal((n, dims[0])), rng.standard_normal((n, dims[1]))) for _ in range(draws)
    ]
    error = np.sqrt(np.mean([each.standard_error**2 for each in found]) / draws)
    assert abs(np.mean([each.nats for each in found])) < 3 * error + 0.01
    assert max(each.standard_error for each in found) < 0.15


def test_groups_are_respected():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(300), 5)
    x = rng.standard_normal((300, 4))[groups] + 0.05 * rng.standard_normal((1500, 4))
    y = rng.standard_normal((300, 2))[groups] + 0.05 * rng.standard_normal((1500, 2))
    grouped, alone = Copula().estimate(x, y, groups), Copula().estimate(x, y)
    assert abs(grouped.nats) < 0.05
    assert alone.nats > 0.3


def test_coordinates_come_from_other_rows():
    # With 100 columns and 300 rows directions fitted on the rows themselves correlate .7 by chance.
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((300, 100)), rng.standard_normal((300, 2))
    fold = np.arange(300) % 3
    pairs = cross_fit_canonical(x, y, fold, ridges=(1e-3,))
    assert abs(np.corrcoef(pairs.x[0, :, 0], pairs.y[0, :, 0])[0, 1]) < 0.2
    moved = x.copy()
    moved[fold == 0] = rng.standard_normal((100, 100))
    turned = cross_fit_canonical(moved, y, fold, ridges=(1e-3,), pairs=1)
    assert turned.x.shape == (1, 300, 1)


def test_the_reference_bias_makes_neighbours_right_on_gaussians():
    rng = np.random.default_rng(7)
    x, y, truth = gaussians(1500, [0.8, 0.6], (3, 3), rng)
    part = np.arange(1500) % 3
    value = within_parts(x, y, part, None, 5).mean()
    bias, error = neighbour_bias(x, y, value, part, 5, 0)
    assert value < truth - 0.08
    assert abs(value + bias - truth) < 0.06
    assert 0 < error < 0.03


def test_a_ratio_that_claims_too_much_is_found_out():
    rng = np.random.default_rng(8)
    fold = np.arange(3000) % 5
    x, y, _ = gaussians(3000, [0.6], (1, 1), rng)
    partners = shuffled_partners(fold, None, rng)
    assert (fold[np.maximum(partners, 0)] == fold)[partners >= 0].all()
    assert (partners != np.arange(3000)).all()

    def ratio(a, b):
        return -0.5 * np.log(0.64) - (0.36 * (a**2 + b**2) - 1.2 * a * b)[:, 0] / 1.28

    apart = np.stack([ratio(x, y[p]) for p in partners])
    true = calibrate(ratio(x, y), apart, partners >= 0, None)
    assert not true.overclaims
    assert true.ratio.mean() == pytest.approx(-0.5 * np.log(0.64), abs=0.05)
    assert calibrate(ratio(x, y) + 0.3, apart + 0.3, partners >= 0, None).overclaims
    useless = calibrate(rng.standard_normal(3000) + 0.5, rng.standard_normal((4, 3000)) + 0.5, partners >= 0, None)
    assert useless.overclaims
    assert abs(useless.ratio.mean()) < 0.01


def test_edges_are_named_and_seeds_repeat():
    rng = np.random.default_rng(9)
    x = rng.standard_normal((200, 2))
    y = x[:, 0] + rng.standard_normal(200)
    assert Copula().estimate(np.ones((200, 2)), y).reason == "constant state"
    assert Copula().estimate(x, np.ones(200)).reason == "constant output"
    assert "determines" in Copula().estimate(x, 3 * x[:, 0] + 1).reason
    assert Copula().estimate(x, y).nats == Copula().estimate(x, y).nats
    assert Copula().estimate(np.hstack([x, x]), y).status == "ok"
    rounded = Copula().estimate(np.maximum(x, 0), np.round(y, 1))
    assert np.isfinite(rounded.nats)
    wide = Copula().estimate(rng.standard_normal((100, 300)), rng.standard_normal(100))
    assert abs(wide.nats) < 0.05
    with pytest.raises(ValueError, match="use Probe"):
        Copula().estimate(x, np.arange(200) % 2)
    with pytest.raises(ValueError, match="parts must be at least 2"):
        Copula(parts=1)
