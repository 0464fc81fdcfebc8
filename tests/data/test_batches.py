import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.data import Sequences, pad, plan_batches

LENGTHS = st.lists(st.integers(1, 40), min_size=0, max_size=200)


@settings(max_examples=150, deadline=None)
@given(LENGTHS, st.none() | st.integers(1, 20), st.none() | st.integers(1, 100), st.none() | st.integers(0, 5))
def test_every_index_once_and_within_the_limits(lengths, batch_size, token_budget, seed):
    if batch_size is None and token_budget is None:
        batch_size = 7
    generator = None if seed is None else np.random.default_rng(seed)
    plan = plan_batches(lengths, batch_size=batch_size, token_budget=token_budget, generator=generator)
    assert sorted(index for batch in plan for index in batch.tolist()) == list(range(len(lengths)))
    for batch in plan:
        assert len(batch) >= 1
        if batch_size is not None:
            assert len(batch) <= batch_size
        if token_budget is not None and len(batch) > 1:
            assert len(batch) * max(lengths[i] for i in batch) <= token_budget


def test_same_generator_state_same_plan_and_next_epoch_differs():
    lengths = np.random.default_rng(0).integers(1, 50, size=500)
    generator = np.random.default_rng(1)
    first, second = (plan_batches(lengths, batch_size=16, generator=generator) for _ in range(2))
    again = plan_batches(lengths, batch_size=16, generator=np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert any(len(a) != len(b) or not np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("seed", [None, 0])
def test_buckets_save_padding(seed):
    lengths = np.random.default_rng(0).integers(1, 200, size=3000)
    generator = None if seed is None else np.random.default_rng(seed)
    plan = plan_batches(lengths, batch_size=32, generator=generator)
    padded = sum(len(batch) * lengths[batch].max() for batch in plan)
    # Unsorted batches of 32 would be about twice as large as their content.
    assert padded < 1.1 * lengths.sum()


def test_budget_smaller_than_a_sequence_keeps_it_alone():
    plan = plan_batches([5, 100, 3], token_budget=10)
    assert [batch.tolist() for batch in plan] == [[2, 0], [1]]


@pytest.mark.parametrize(
    ("lengths", "options", "message"),
    [
        ([1, 2], {}, "batch_size, token_budget"),
        ([1, 2], {"batch_size": 0}, "batch_size"),
        ([1, 2], {"token_budget": 0}, "token_budget"),
        ([1, 0], {"batch_size": 1}, "lengths"),
        ([1.5], {"batch_size": 1}, "lengths"),
    ],
)
def test_plan_refuses(lengths, options, message):
    with pytest.raises(ValueError, match=message):
        plan_batches(lengths, **options)


def packed(lengths, kind):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = int(offsets[-1])
    tokens = {"token_ids": np.arange(2, rows + 2, dtype=np.int32), "segment": np.ones(rows, dtype=np.int8)}
    vectors = {"vectors": np.arange(1, rows * 3 + 1, dtype=np.float32).reshape(rows, 3)}
    return Sequences(
        offsets=offsets,
        label=np.arange(len(lengths)),
        rationale=np.full(rows, 0.5, dtype=np.float32),
        **(tokens if kind == "tokens" else vectors),
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.sampled_from(["tokens", "vectors"]), st.data())
def test_padding_and_unpadding_gives_the_sequences_back(lengths, kind, data):
    sequences = packed(lengths, kind)
    indices = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=12))
    batch = pad(sequences, indices)
    taken = sequences.take(indices)
    column = batch.token_ids if kind == "tokens" else batch.vectors
    source = taken.token_ids if kind == "tokens" else taken.vectors
    assert batch.mask.sum(axis=1).tolist() == [lengths[i] for i in indices]
    assert batch.mask.shape == (len(indices), max(lengths[i] for i in indices))
    assert np.array_equal(column[batch.mask], source)
    assert (column[~batch.mask] == 0).all()
    assert (batch.rationale[~batch.mask] == 0).all()
    # Real positions come first: padding is on the right.
    assert (np.diff(batch.mask.astype(int), axis=1) <= 0).all()
    assert np.array_equal(batch.label, taken.label)


def test_pad_types_and_absent_columns():
    tokens, vectors = pad(packed([2, 1], "tokens"), [0, 1]), pad(packed([2, 1], "vectors"), [1])
    assert tokens.token_ids.dtype == np.int64
    assert tokens.segment.tolist() == [[1, 1], [1, 0]]
    assert tokens.vectors is None
    assert vectors.token_ids is None
    assert vectors.segment is None
    assert vectors.vectors.shape == (1, 1, 3)


@pytest.mark.parametrize("indices", [[], [2], [-1], [[0]]])
def test_pad_refuses(indices):
    with pytest.raises(ValueError, match="indices"):
        pad(packed([2, 1], "tokens"), indices)
