"""Bounds on score matrices: by hand, on the exact density ratio, and at their limits."""

import math

import numpy as np
import pytest
import torch

from mi_attention.estimators.neural.losses import (
    EXCLUDED,
    infonce,
    jensen_shannon,
    mine,
    mine_surrogate,
    moving_log_average,
    nwj,
    output_shares,
    pointwise,
    row_log_means,
    row_log_sums,
    row_softplus_sums,
    smile,
)

LOSSES = [mine, nwj, infonce, smile]
LOG2, LOG3 = math.log(2), math.log(3)
# exp T is 1 on the diagonal's zeros and 2, 3 elsewhere: joint mean LOG2 / 2, mean of exp T off the diagonal 2.
SMALL = torch.tensor([[LOG2, 0.0], [LOG3, 0.0]], dtype=torch.float64)


def gaussian_scores(rho: float, n: int, seed: int = 0) -> torch.Tensor:
    """The exact log density ratio of a Gaussian pair of correlation rho on n samples."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    y = rho * x + math.sqrt(1 - rho**2) * rng.standard_normal(n)
    quadratic = rho**2 * (x[:, None] ** 2 + y[None] ** 2) - 2 * rho * x[:, None] * y[None]
    return torch.from_numpy(-0.5 * math.log(1 - rho**2) - quadratic / (2 * (1 - rho**2)))


def test_two_rows_by_hand():
    # Off the diagonal exp T is 1 and 3, mean 2.
    assert mine(SMALL).item() == pytest.approx(LOG2 / 2 - math.log(2))
    assert nwj(SMALL).item() == pytest.approx(LOG2 / 2 - 2 / math.e)
    # Rows (2, 1) and (3, 1) of exp T: log 2/1.5 and log 1/2.
    assert infonce(SMALL).item() == pytest.approx((math.log(2 / 1.5) + math.log(1 / 2)) / 2)
    # Clipped at ±0.5, off the diagonal exp T is 1 and e^0.5.
    assert smile(SMALL, clip=0.5).item() == pytest.approx(LOG2 / 2 - math.log((1 + math.exp(0.5)) / 2))


def test_terms_of_rows_by_hand():
    # Z = 2 of exp T = 1 and 3: log ratios 0 and −log 2, shares 1/2 and 3/2 of Z.
    rows = torch.tensor([0.0, LOG3], dtype=torch.float64)
    joint = SMALL.diagonal()
    expected = torch.tensor([0.5, -LOG2 - 0.5], dtype=torch.float64)
    for bound in ("mine", "smile"):
        torch.testing.assert_close(pointwise(bound, joint, rows), expected)
    expected = torch.tensor([LOG2 - 1 / math.e, -3 / math.e], dtype=torch.float64)
    torch.testing.assert_close(pointwise("nwj", joint, rows), expected)


def test_terms_of_rows_as_outputs_by_hand():
    # Z = 2: y of row 0 is seen by row 1 with exp T = 3, y of row 1 by row 0 with 1.
    columns = torch.tensor([LOG3, 0.0], dtype=torch.float64)
    for bound in ("mine", "smile"):
        torch.testing.assert_close(output_shares(bound, columns), torch.tensor([-0.5, 0.5], dtype=torch.float64))
    expected = torch.tensor([-1 / math.e, 1 / math.e], dtype=torch.float64)
    torch.testing.assert_close(output_shares("nwj", columns), expected)
    assert not output_shares("infonce", columns).any()


@pytest.mark.parametrize("bound", ["mine", "nwj"])
def test_the_terms_spread_as_the_bound_does(bound):
    # What y adds to T_ii it takes nearly all from −log Z: terms without their part as y spread too far.
    values, errors, one_sided = [], [], []
    off = torch.zeros(60, 60, dtype=torch.float64).masked_fill(torch.eye(60, dtype=torch.bool), EXCLUDED)
    totals = torch.full((60,), 59.0, dtype=torch.float64)
    for seed in range(400):
        x, y = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, 60)))
        scores = 0.2 * x[:, None] + 0.6 * y[None] + (1.0 if bound == "nwj" else 0.0)
        rows, columns = (
            row_log_means(bound, row_log_sums(matrix, off), totals) for matrix in (scores, scores.transpose(0, 1))
        )
        terms = pointwise(bound, scores.diagonal(), rows)
        both = terms + output_shares(bound, columns)
        assert both.mean().item() == pytest.approx(terms.mean().item(), abs=1e-12)
        values.append(terms.mean().item())
        errors.append(both.var().item() / 60)
        one_sided.append(terms.var().item() / 60)
    spread = np.std(values)
    assert np.sqrt(np.mean(errors)) == pytest.approx(spread, rel=0.2)
    assert np.sqrt(np.mean(one_sided)) > 1.4 * spread


def test_pairs_of_one_group_leave_the_product():
    scores = torch.zeros(3, 3, dtype=torch.float64)
    scores[0, 1] = scores[1, 0] = 50.0  # rows 0 and 1 share a group
    scores[0, 2] = LOG3
    group = torch.tensor([0, 0, 1])
    pairs = group[:, None] != group[None]
    # Pairs (0,2) (1,2) (2,0) (2,1) remain: exp T = 3, 1, 1, 1.
    assert mine(scores, pairs).item() == pytest.approx(-math.log(1.5))
    assert nwj(scores, pairs).item() == pytest.approx(-1.5 / math.e)
    assert smile(scores, pairs).item() == pytest.approx(-math.log(1.5))
    # Row 0 chooses among itself and 2: mean of 1 and 3; the others read 0.
    assert infonce(scores, pairs).item() == pytest.approx(-math.log(2) / 3)


@pytest.mark.parametrize("loss", LOSSES)
def test_units_are_apart_and_input_is_left_alone(loss):
    scores = torch.randn(3, 2, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    before = scores.clone()
    values = loss(scores)
    assert values.shape == (3, 2)
    torch.testing.assert_close(values[2, 1], loss(scores[2, 1]))
    torch.testing.assert_close(scores, before, rtol=0, atol=0)
    order = torch.tensor([3, 1, 0, 6, 2, 5, 4])
    torch.testing.assert_close(loss(scores[..., order, :][..., order]), values)


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("loss", [mine, nwj])
def test_the_exact_density_ratio_gives_the_mutual_information(loss, rho):
    truth = -0.5 * math.log(1 - rho**2)
    shift = 1.0 if loss is nwj else 0.0
    errors = [
        abs(np.mean([loss(gaussian_scores(rho, n, seed) + shift).item() for seed in range(20)]) - truth)
        for n in (30, 1000)
    ]
    assert errors[1] < 0.012
    # 20 · 1000 rows average the noise of 20 · 30 away
    assert errors[1] < errors[0] + 0.005


def test_nwj_of_a_wrong_critic_is_below_the_truth():
    truth = -0.5 * math.log(1 - 0.36)
    for factor in (0.4, 1.6):
        values = [nwj(factor * gaussian_scores(0.6, 400, seed) + 1).item() for seed in range(20)]
        assert np.mean(values) < truth - 0.02


def test_infonce_is_below_log_b_and_below_the_truth():
    assert infonce(1000 * torch.eye(8, dtype=torch.float64)).item() == pytest.approx(math.log(8))
    for seed in range(5):
        scores = 30 * torch.randn(8, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        assert infonce(scores + 100 * torch.eye(8, dtype=torch.float64)).item() <= math.log(8) + 1e-12
    # A pair of 3.2 nats in batches of 4 reads less than log 4.
    truth = -0.5 * math.log(1 - 0.999**2)
    few = np.mean([infonce(gaussian_scores(0.999, 4, seed)).item() for seed in range(50)])
    many = infonce(gaussian_scores(0.999, 2000)).item()
    assert few < math.log(4) < many < truth + 0.05


def test_what_leaves_a_bound_unchanged():
    scores = gaussian_scores(0.6, 50)
    of_x = torch.arange(50, dtype=torch.float64)[:, None]
    torch.testing.assert_close(mine(scores + 7), mine(scores))
    torch.testing.assert_close(infonce(scores + of_x), infonce(scores))
    # NWJ at its best constant is MINE (Poole et al. 2019, equation 8)
    best = max(nwj(scores + c).item() for c in np.linspace(-1, 3, 401))
    assert best == pytest.approx(mine(scores).item(), abs=1e-4)
    assert smile(scores, clip=1e9).item() == pytest.approx(mine(scores).item())


@pytest.mark.parametrize("bound", ["mine", "nwj", "infonce"])
def test_classes_sum_the_whole_matrix_exactly(bound):
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.integers(0, 3, 40))
    by_class = torch.from_numpy(rng.standard_normal((40, 3)))
    counts = torch.bincount(y).double()
    rows = row_log_means(bound, row_log_sums(by_class, counts.log()), counts.sum()[None])
    joint = by_class[torch.arange(40), y]
    value = pointwise(bound, joint, rows).mean()
    matrix = by_class[:, y]
    whole = row_log_means(bound, torch.logsumexp(matrix, dim=-1), torch.tensor([40.0], dtype=torch.float64))
    torch.testing.assert_close(value, pointwise(bound, matrix.diagonal(), whole).mean())
    if bound == "infonce":
        torch.testing.assert_close(value, infonce(matrix))
    # With the row among its product samples no critic exceeds the entropy of the classes.
    sharp = 50 * torch.eye(3, dtype=torch.float64)[y] + (1.0 if bound == "nwj" else 0.0)
    entropy = -(counts / 40 * (counts / 40).log()).sum()
    for factor in (0.02, 0.1, 1.0):
        tried = factor * sharp
        rows = row_log_means(bound, row_log_sums(tried, counts.log()), counts.sum()[None])
        assert pointwise(bound, tried[torch.arange(40), y], rows).mean() <= entropy + 1e-12


@pytest.mark.parametrize("bound", ["mine", "nwj", "infonce", "smile"])
def test_filling_rows_change_nothing(bound):
    scores = gaussian_scores(0.5, 12)
    counts = torch.zeros(12, 12, dtype=torch.float64).masked_fill(torch.eye(12, dtype=torch.bool), EXCLUDED)
    rows = row_log_means(bound, row_log_sums(scores, counts), torch.full((12,), 11.0, dtype=torch.float64))
    plain = pointwise(bound, scores.diagonal(), rows)
    joint = torch.cat([scores.diagonal(), torch.tensor([9.0, -9.0], dtype=torch.float64)])
    sums = torch.cat([row_log_sums(scores, counts), torch.tensor([30.0, 1.0], dtype=torch.float64)])
    totals = torch.tensor([11.0] * 12 + [5.0, 3.0], dtype=torch.float64)
    valid = torch.arange(14) < 12
    filled = pointwise(bound, joint, row_log_means(bound, sums, totals, valid), valid)
    torch.testing.assert_close(filled[:12], plain)


def test_the_moving_average_takes_the_bias_from_the_gradient():
    # T = (1 + t)·normal on the product, 0 on the joint: gradients in t of −log E[exp T], from batches of 2.
    rng = np.random.default_rng(0)
    t = torch.zeros((), dtype=torch.float64, requires_grad=True)
    features = torch.from_numpy(rng.standard_normal((4000, 2)) * 1.5)
    population = (features.flatten() * features.flatten().exp()).mean() / features.flatten().exp().mean()
    gradients = {}
    for rate in (1.0, 0.01):
        average, found = None, []
        for batch in features:
            rows = (1 + t) * batch
            average = moving_log_average(average, rows, rate)
            surrogate = mine_surrogate(torch.zeros(2, dtype=torch.float64), rows, average)
            found.append(torch.autograd.grad(surrogate, t)[0].item())
        gradients[rate] = np.mean(found[200:])
    truth = -population.item()
    assert abs(gradients[0.01] - truth) < 0.4 * abs(gradients[1.0] - truth)


def test_the_plain_gradient_is_that_of_the_bound():
    scores = torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    counts = torch.zeros(6, 6, dtype=torch.float64).masked_fill(torch.eye(6, dtype=torch.bool), EXCLUDED)
    rows = row_log_means("mine", row_log_sums(scores, counts), torch.tensor([5.0], dtype=torch.float64))
    surrogate = mine_surrogate(scores.diagonal(), rows, moving_log_average(None, rows, 1.0))
    expected = torch.autograd.grad(mine(scores), scores)[0]
    torch.testing.assert_close(torch.autograd.grad(surrogate, scores)[0], expected)


def test_jensen_shannon_by_hand_and_at_its_best():
    counts = torch.zeros(2, 2, dtype=torch.float64).masked_fill(torch.eye(2, dtype=torch.bool), EXCLUDED)
    # softplus(log a) = log(1 + a): joint −log(1.5), −log 2; product log 2, log 4.
    value = jensen_shannon(SMALL.diagonal(), row_softplus_sums(SMALL, counts), torch.ones(2, dtype=torch.float64))
    assert value.item() == pytest.approx(2 * LOG2 - (math.log(1.5) + LOG2) / 2 - (LOG2 + math.log(4)) / 2)
    # At the log density ratio it is largest among its multiples.
    scores = gaussian_scores(0.8, 600)
    counts = torch.zeros(600, 600, dtype=torch.float64).masked_fill(torch.eye(600, dtype=torch.bool), EXCLUDED)
    totals = torch.full((600,), 599.0, dtype=torch.float64)
    values = {
        factor: jensen_shannon(factor * scores.diagonal(), row_softplus_sums(factor * scores, counts), totals).item()
        for factor in (0.0, 0.7, 1.0, 1.4)
    }
    assert values[0.0] == pytest.approx(0.0, abs=1e-12)
    assert max(values, key=values.get) == 1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_bad_matrices_are_named(loss):
    for bad in (torch.zeros(3), torch.zeros(2, 3), torch.zeros(1, 1)):
        with pytest.raises(ValueError, match=r"scores must be \(\.\.\., B, B\)"):
            loss(bad)
    if loss is not infonce:
        with pytest.raises(ValueError, match="no product samples"):
            loss(torch.zeros(3, 3), torch.zeros(3, 3, dtype=torch.bool))


@pytest.mark.parametrize("loss", LOSSES)
def test_large_scores_do_not_overflow(loss):
    scores = (300 * torch.randn(2, 9, 9, generator=torch.Generator().manual_seed(0))).requires_grad_()
    if loss is not nwj:
        assert torch.isfinite(loss(scores)).all()
        assert torch.isfinite(torch.autograd.grad(loss(scores).sum(), scores)[0]).all()
