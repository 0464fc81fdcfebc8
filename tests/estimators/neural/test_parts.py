"""Which rows train, stop and judge a critic, which pairs it compares, and where every bound starts."""

import numpy as np
import pytest
import torch

from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.neural import CriticOptions
from mi_attention.estimators.neural.critics import initial_parameters, score
from mi_attention.estimators.neural.held_out import judge, judge_both_sides
from mi_attention.estimators.neural.losses import EXCLUDED, infonce, mine, nwj, smile
from mi_attention.estimators.neural.options import COMPARED
from mi_attention.estimators.neural.pairing import own_surplus
from mi_attention.estimators.neural.parts import CriticBatch, Sample

BOUNDS = {"mine": mine, "nwj": nwj, "infonce": infonce, "smile": smile}


def sample(n, classes, grouped, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3)).astype(np.float32)
    y = rng.integers(0, classes, n) if classes else rng.standard_normal((n, 1)).astype(np.float32)
    groups = np.arange(n) // 3 if grouped else None
    codes = y if classes else np.zeros(n, dtype=np.int64)
    return Sample(x, y, classes, groups, stratified_folds(codes, groups, 4, rng), 4)


def uneven_sample(classes, seed=0):
    """Groups of 1 to 30 rows, their y as likely to go with their size as not."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(16), [30, 1, 1, 2, 9, 5, 3, 3, 14, 1, 20, 2, 6, 1, 8, 4]))
    x = rng.standard_normal((len(groups), 3)).astype(np.float32)
    y = groups % classes if classes else (groups + rng.standard_normal(len(groups)))[:, None].astype(np.float32)
    codes = y if classes else np.zeros(len(groups), dtype=np.int64)
    return Sample(x, y, classes, groups, stratified_folds(codes, groups, 4, rng), 4)


def pair_table(groups, own):
    """How often each pair of rows counts, written out from the definition; ``own`` of a row in a group of its own."""
    return np.where(groups[:, None] != groups, 1.0, 0.0) + np.diag(np.bincount(groups)[groups] - 1 + own)


def random_parameters(options, batch, seed=0):
    rng = np.random.default_rng(seed)
    made = initial_parameters(batch.critic, batch.width_x, batch.width_y, options.hidden, rng)
    return {
        name: torch.from_numpy(rng.standard_normal((len(batch), *value.shape)).astype(np.float32) * 0.3)
        for name, value in made.items()
    }


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("grouped", [False, True])
def test_every_row_is_judged_once_by_a_critic_that_has_not_seen_its_group(classes, grouped):
    samples = [sample(61, classes, grouped), sample(60, classes, grouped, seed=1)]
    batch = CriticBatch(CriticOptions(), samples)
    assert len(batch) == 8
    judged = batch.test.rows[batch.test.valid]
    assert sorted(judged.tolist()) == list(range(121))
    for m, (unit, _) in enumerate(batch.owner):
        parts = [set(part.rows[m][part.valid[m]].tolist()) for part in (batch.train, batch.validation, batch.test)]
        assert set.union(*parts) == set(range(batch.start[unit], batch.start[unit + 1]))
        assert sum(map(len, parts)) == len(samples[unit].x)
        groups = [{int(batch.group[row]) for row in part} for part in parts]
        assert sum(map(len, groups)) == len(set.union(*groups))
        assert batch.n_train[m] == len(parts[0])


def test_pairs_of_one_group_are_no_product_samples_and_a_row_stands_for_its_group():
    places = torch.tensor([[0, 1, 2, 0]])
    for grouped in (False, True):
        batch = CriticBatch(CriticOptions(), [sample(60, 0, grouped)])
        rows = batch.train.rows[0, places[0]]
        for contrastive in (False, True):
            inputs = batch.training_inputs(torch.tensor([0]), places, contrastive)
            for i in range(4):
                for j in range(4):
                    apart = rows[i] // 3 != rows[j] // 3 if grouped else rows[i] != rows[j]
                    # Without groups a batch is checked for repeated rows only where it could hold some.
                    apart = apart or (not grouped and {i, j} == {0, 3})
                    expected = 0.0 if apart or (contrastive and i == j) else EXCLUDED
                    if grouped and i == j:
                        # The two others of its group, as far as they are in a batch of 4.
                        expected = np.log(contrastive + 2 * 4 / batch.n_train[0])
                    assert inputs.log_counts[0, i, j] == pytest.approx(expected)
            torch.testing.assert_close(inputs.totals.float(), inputs.log_counts.exp().sum(dim=-1))


def test_a_row_drawn_twice_is_not_compared_with_itself():
    batch = CriticBatch(CriticOptions(), [sample(24, 0, False)])
    places = torch.arange(20)[None] % batch.n_train[0]
    inputs = batch.training_inputs(torch.tensor([0]), places, False)
    assert inputs.log_counts[0, 0, batch.n_train[0]] == EXCLUDED
    assert inputs.log_counts[0, 0, 1] == 0


def test_classes_count_the_other_groups_of_the_part_and_the_row_itself_for_its_own():
    one = sample(60, 3, True)
    batch = CriticBatch(CriticOptions(), [one])
    for part in (batch.train, batch.test):
        rows = part.rows[1][part.valid[1]].numpy()
        for i, row in enumerate(rows):
            others = np.r_[rows[rows // 3 != row // 3], [row] * 3]
            np.testing.assert_array_equal(part.counts[1, i], np.bincount(one.y[others], minlength=3))


@pytest.mark.parametrize("side", ["x", "y"])
def test_rows_are_standardised_by_the_training_rows(side):
    one = sample(200, 0, False)
    batch = CriticBatch(CriticOptions(), [one])
    inputs = batch.pair_inputs(
        torch.tensor([2]),
        batch.train.rows[[2]],
        batch.train.rows[[2]],
        torch.arange(batch.n_train[2]),
        batch.train.valid[[2]],
        False,
    )
    values = getattr(inputs, side)[0].double()
    torch.testing.assert_close(values.mean(dim=0), torch.zeros(values.shape[1], dtype=torch.float64), atol=1e-5, rtol=0)
    spread = values.std(dim=0, correction=0)
    torch.testing.assert_close(spread, torch.ones_like(spread), atol=1e-4, rtol=0)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("classes", [0, 3])
def test_a_constant_critic_has_no_information(bound, classes):
    options = CriticOptions(bound=bound, hidden=8)
    batch = CriticBatch(options, [sample(60, classes, True)])
    made = initial_parameters(batch.critic, batch.width_x, batch.width_y, 8, np.random.default_rng(0))
    parameters = {name: torch.from_numpy(np.stack([value] * len(batch))) for name, value in made.items()}
    local, criterion = judge(options, batch, parameters, torch.arange(len(batch)), batch.test, COMPARED)
    torch.testing.assert_close(criterion, torch.zeros_like(criterion), atol=1e-12, rtol=0)
    means = torch.stack([terms[keep].mean() for terms, keep in zip(local, batch.test.valid, strict=True)])
    torch.testing.assert_close(means, torch.zeros_like(means), atol=1e-12, rtol=0)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("critic", ["separable", "bilinear", "concatenated"])
def test_a_judged_part_is_its_score_matrix(bound, critic):
    options = CriticOptions(bound=bound, critic=critic, hidden=8, clip=0.5)
    batch = CriticBatch(options, [sample(60, 0, False), sample(48, 0, False, seed=1)])
    parameters = random_parameters(options, batch)
    local, criterion = judge(options, batch, parameters, torch.arange(len(batch)), batch.test, COMPARED)
    for m in range(len(batch)):
        keep = batch.test.valid[m]
        rows = batch.test.rows[m][keep][None]
        own = torch.arange(rows.shape[1])
        inputs = batch.pair_inputs(torch.tensor([m]), rows, rows, own, torch.ones_like(rows, dtype=torch.bool), False)
        weights = {name: value[[m]] for name, value in parameters.items()}
        matrix = score(critic, weights, inputs.x, inputs.y)[0].double() + (1.0 if bound == "nwj" else 0.0)
        pairs = batch.group[rows[0]][:, None] != batch.group[rows[0]][None]
        extra = {"clip": 0.5} if bound == "smile" else {}
        expected = BOUNDS[bound](matrix, pairs, **extra)
        torch.testing.assert_close(local[m][keep].mean(), expected, atol=1e-6, rtol=0)
        if bound != "smile":
            torch.testing.assert_close(criterion[m], expected, atol=1e-6, rtol=0)


def test_large_parts_are_dealt_to_blocks():
    options = CriticOptions(bound="mine", hidden=8)
    batch = CriticBatch(options, [sample(240, 0, False)])
    parameters, every = random_parameters(options, batch), torch.arange(len(batch))
    whole = judge(options, batch, parameters, every, batch.test, 60)[1]
    blocks = judge(options, batch, parameters, every, batch.test, 20)[1]
    # 60 rows in 3 blocks of 20: the same joint samples, a third of the pairs.
    assert not torch.equal(whole, blocks)
    torch.testing.assert_close(whole, blocks, atol=0.2, rtol=0)
    rows = batch.test.rows[0]
    per_block = []
    for start in range(3):
        chosen = rows[start::3][None]
        inputs = batch.pair_inputs(every[:1], chosen, chosen, torch.arange(20), torch.ones_like(chosen).bool(), False)
        weights = {name: value[:1] for name, value in parameters.items()}
        per_block.append(score("separable", weights, inputs.x, inputs.y)[0].double())
    joint = torch.stack([matrix.diagonal().mean() for matrix in per_block]).mean()
    off = ~torch.eye(20, dtype=torch.bool)
    partition = torch.cat([matrix[off] for matrix in per_block]).exp().mean().log()
    torch.testing.assert_close(blocks[0], joint - partition, atol=1e-6, rtol=0)
    local = judge(options, batch, parameters, every, batch.test, 20)[0][0]
    for start, matrix in enumerate(per_block):
        ratio = (matrix - partition).exp() * off
        expected = matrix.diagonal() - partition + 2 - (ratio.sum(dim=0) + ratio.sum(dim=1)) / 19
        torch.testing.assert_close(local[start::3], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("sizes", [[5, 5, 5], [100, 1, 1, 1], [7, 3, 2, 9, 1], [4, 4, 1]])
def test_pairs_are_weighted_so_that_rows_count_alike(sizes):
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    table = np.where(groups[:, None] != groups, 1.0, 0.0) + np.diag(own_surplus(groups))
    np.testing.assert_array_equal(table, pair_table(groups, 0.0))
    np.testing.assert_array_equal(table.sum(axis=0), len(groups) - 1)
    np.testing.assert_array_equal(table.sum(axis=1), len(groups) - 1)


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("contrastive", [False, True])
def test_the_output_of_product_samples_is_distributed_as_that_of_the_rows(classes, contrastive):
    batch = CriticBatch(CriticOptions(), [uneven_sample(classes)])
    for part in (batch.train, batch.validation, batch.test):
        rows = part.rows[1][part.valid[1]][None]
        if classes:
            counts = part.counts[1][part.valid[1]]
            share = torch.bincount(batch.y[rows[0]], minlength=classes).double() / rows.shape[1]
            torch.testing.assert_close(counts.sum(dim=0) / counts.sum(), share)
            torch.testing.assert_close(counts.sum(dim=1), counts.sum(dim=1)[:1].expand(len(counts)))
            continue
        own, every = torch.arange(rows.shape[1]), torch.ones_like(rows, dtype=torch.bool)
        surplus = part.surplus[[1]][:, part.valid[1]]
        inputs = batch.pair_inputs(torch.tensor([1]), rows, rows, own, every, contrastive, surplus)
        table = inputs.log_counts[0].double().exp()
        for total in (table.sum(dim=0), table.sum(dim=1), inputs.totals[0].double()):
            torch.testing.assert_close(total, table.sum(dim=1)[:1].expand(len(total)), rtol=1e-5, atol=0)


def test_batches_count_the_rest_of_a_group_in_proportion():
    one = uneven_sample(0)
    options = CriticOptions(batch=24)
    batch = CriticBatch(options, [one])
    rng = np.random.default_rng(0)
    margin, drawn = np.zeros((2, batch.n_train[0]))
    for _ in range(2000):
        places = torch.from_numpy(rng.permutation(batch.n_train[0])[: options.batch])
        inputs = batch.training_inputs(torch.tensor([0]), places[None], False)
        margin[places] += inputs.log_counts[0].exp().sum(dim=0).numpy()
        drawn[places] += 1
    groups = one.groups[batch.train.rows[0].numpy()[: batch.n_train[0]]]
    by_group = np.bincount(groups, weights=margin / drawn, minlength=16)[np.unique(groups)]
    by_group /= np.bincount(groups)[np.unique(groups)]
    np.testing.assert_allclose(by_group, by_group.mean(), rtol=0.1)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("uneven", [False, True])
def test_terms_hold_the_part_of_a_row_as_x_and_as_y(bound, classes, uneven):
    options = CriticOptions(bound=bound, hidden=8, clip=0.5)
    one = uneven_sample(classes) if uneven else sample(61, classes, False)
    batch = CriticBatch(options, [one, sample(48, classes, False, seed=1)])
    parameters = random_parameters(options, batch)
    every = torch.arange(len(batch))
    local = judge(options, batch, parameters, every, batch.test, COMPARED)[0]
    terms = judge_both_sides(options, batch, parameters, every, batch.test, COMPARED, shares=False)[0]
    for m in range(4):
        keep = batch.test.valid[m]
        rows = batch.test.rows[m][keep]
        groups = batch.group[rows].numpy()
        own = 1.0 if classes or bound == "infonce" else 0.0
        table = torch.from_numpy(pair_table(np.unique(groups, return_inverse=True)[1], own))
        weights = {name: value[[m]] for name, value in parameters.items()}
        y = torch.eye(classes)[batch.y[rows]] if classes else None
        if y is None:
            y = ((batch.y[rows] - batch.centre_y[m]) / batch.scale_y[m]).clamp(-10, 10)
        matrix = score(batch.critic, weights, batch.states(every[[m]], rows[None]), y[None])[0].double()
        matrix = matrix + (1.0 if bound == "nwj" else 0.0)
        product = (matrix.clamp(-0.5, 0.5) if bound == "smile" else matrix).exp() * table
        if bound == "infonce":
            expected = matrix.diagonal() - (product.sum(dim=1) / table.sum(dim=1)).log()
        else:
            as_x, as_y = (product.sum(dim=side) / table.sum(dim=1).mean() for side in (1, 0))
            z = as_x.mean()
            linear = as_x + as_y - z
            expected = matrix.diagonal() - (linear / np.e if bound == "nwj" else z.log() + linear / z - 1)
        torch.testing.assert_close(local[m][keep], expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(terms[m][keep].mean(), expected.mean(), atol=1e-6, rtol=1e-6)
