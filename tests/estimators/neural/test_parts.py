"""Which rows train, stop and judge a critic, which pairs it compares, and where every bound starts."""

import numpy as np
import pytest
import torch

from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.neural import CriticOptions
from mi_attention.estimators.neural.critics import initial_parameters, score
from mi_attention.estimators.neural.held_out import judge
from mi_attention.estimators.neural.losses import EXCLUDED, infonce, mine, nwj, smile
from mi_attention.estimators.neural.options import COMPARED
from mi_attention.estimators.neural.parts import CriticBatch, Sample

BOUNDS = {"mine": mine, "nwj": nwj, "infonce": infonce, "smile": smile}


def sample(n, classes, grouped, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3)).astype(np.float32)
    y = rng.integers(0, classes, n) if classes else rng.standard_normal((n, 1)).astype(np.float32)
    groups = np.arange(n) // 3 if grouped else None
    codes = y if classes else np.zeros(n, dtype=np.int64)
    return Sample(x, y, classes, groups, stratified_folds(codes, groups, 4, rng), 4)


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


def test_pairs_of_one_group_and_a_row_with_itself_are_no_product_samples():
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
                    assert inputs.log_counts[0, i, j] == expected
            torch.testing.assert_close(inputs.totals, (inputs.log_counts == 0).sum(dim=-1))


def test_a_row_drawn_twice_is_not_compared_with_itself():
    batch = CriticBatch(CriticOptions(), [sample(24, 0, False)])
    places = torch.arange(20)[None] % batch.n_train[0]
    inputs = batch.training_inputs(torch.tensor([0]), places, False)
    assert inputs.log_counts[0, 0, batch.n_train[0]] == EXCLUDED
    assert inputs.log_counts[0, 0, 1] == 0


def test_classes_count_the_other_groups_of_the_part_and_the_row_itself():
    one = sample(60, 3, True)
    batch = CriticBatch(CriticOptions(), [one])
    for part in (batch.train, batch.test):
        rows = part.rows[1][part.valid[1]].numpy()
        for i, row in enumerate(rows):
            others = rows[(rows // 3 != row // 3) | (rows == row)]
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
    batch = CriticBatch(options, [sample(61, classes, True)])
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
    batch = CriticBatch(options, [sample(61, 0, True), sample(48, 0, True, seed=1)])
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
