"""AttentionRecord: layouts agree, bad input is named, columns are read-only."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.interface import AttentionRecord, LinearHead, Measured, Unit


def arrays(lengths, hidden_size=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    hidden = [rng.standard_normal((t, hidden_size)) for t in lengths]
    attention = [rng.dirichlet(np.ones(t)) for t in lengths]
    output = rng.dirichlet(np.ones(classes), size=len(lengths))
    return hidden, attention, output


def pad(parts, width):
    out = np.zeros((len(parts), width, *parts[0].shape[1:]))
    for i, part in enumerate(parts):
        out[i, : len(part)] = part
    return out


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.integers(0, 3), st.integers(0, 10_000))
def test_padded_ragged_and_packed_layouts_give_the_same_record(lengths, extra, seed):
    hidden, attention, output = arrays(lengths, seed=seed)
    width = max(lengths) + extra
    mask = np.arange(width)[None, :] < np.array(lengths)[:, None]
    tokens = [[f"w{i}.{t}" for t in range(length)] for i, length in enumerate(lengths)]
    padded_tokens = [row + ["<pad>"] * (width - len(row)) for row in tokens]
    made = [
        AttentionRecord.from_arrays(pad(hidden, width), pad(attention, width), output, mask, padded_tokens),
        AttentionRecord.from_arrays(pad(hidden, width), pad(attention, width), output, tokens=tokens, lengths=lengths),
        AttentionRecord.from_arrays(hidden, attention, output, tokens=tokens),
        AttentionRecord.from_arrays(
            np.concatenate(hidden), np.concatenate(attention), output, None, tokens, lengths=lengths
        ),
        AttentionRecord.from_arrays(
            torch.tensor(pad(hidden, width)),
            torch.tensor(pad(attention, width)),
            torch.tensor(output),
            torch.tensor(mask),
            tokens,
        ),
    ]
    for record in made:
        np.testing.assert_array_equal(record.hidden, np.concatenate(hidden))
        np.testing.assert_array_equal(record.attention, np.concatenate(attention))
        np.testing.assert_array_equal(record.lengths, lengths)
        assert [record.tokens(i) for i in range(len(lengths))] == tokens
    back = made[0].padded()
    np.testing.assert_array_equal(back["hidden"], pad(hidden, max(lengths)))
    np.testing.assert_array_equal(back["mask"], mask[:, : max(lengths)])


def test_left_padding_is_read_from_the_mask():
    hidden = np.arange(12.0).reshape(2, 3, 2)
    mask = np.array([[0, 1, 1], [1, 1, 1]])
    attention = np.array([[0, 0.25, 0.75], [0.2, 0.3, 0.5]])
    record = AttentionRecord.from_arrays(hidden, attention, np.array([0.1, 0.9]), mask)
    np.testing.assert_array_equal(record.instance(0).hidden, hidden[0, 1:])
    np.testing.assert_array_equal(record.attention, [0.25, 0.75, 0.2, 0.3, 0.5])
    np.testing.assert_allclose(record.output, [[0.9, 0.1], [0.1, 0.9]])


def test_positions_instances_and_selection():
    hidden, attention, output = arrays([2, 3, 1])
    record = AttentionRecord.from_arrays(hidden, attention, output, label=[0, 1, 1])
    states, present = record.position(1)
    np.testing.assert_array_equal(present, [0, 1])
    np.testing.assert_array_equal(states, [hidden[0][1], hidden[1][1]])
    chosen = record.select([2, 0])
    np.testing.assert_array_equal(chosen.hidden, np.concatenate([hidden[2], hidden[0]]))
    np.testing.assert_array_equal(chosen.label, [1, 0])
    np.testing.assert_array_equal(record.select(np.array([True, False, True])).lengths, [2, 1])
    np.testing.assert_array_equal(record.row_position, [0, 1, 0, 1, 2, 0])
    np.testing.assert_array_equal(record.row_instance, [0, 0, 1, 1, 1, 2])
    with pytest.raises(IndexError, match="instance 3"):
        record.instance(3)
    with pytest.raises(IndexError, match="negative"):
        record.position(-1)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.integers(1, 30))
def test_blocks_cover_every_instance_once_and_never_split_one(lengths, rows):
    hidden, attention, output = arrays(lengths)
    record = AttentionRecord.from_arrays(hidden, attention, output)
    instances, covered = [], []
    for instance_block, row_block in record.blocks(rows):
        instances += list(range(instance_block.start, instance_block.stop))
        covered += list(range(row_block.start, row_block.stop))
        assert row_block.start == record.offsets[instance_block.start]
        assert row_block.stop - row_block.start <= rows or instance_block.stop - instance_block.start == 1
    assert instances == list(range(len(lengths)))
    assert covered == list(range(sum(lengths)))


def test_columns_are_read_only_and_the_callers_arrays_are_not_touched():
    hidden, attention, output = arrays([2, 2])
    packed = np.concatenate(hidden)
    record = AttentionRecord.from_arrays(packed, np.concatenate(attention), output, lengths=[2, 2])
    with pytest.raises(ValueError, match="read-only"):
        record.hidden[0, 0] = 1.0
    packed[0, 0] = packed[0, 0]
    assert packed.flags.writeable


def bad_inputs():
    hidden = np.zeros((2, 3, 2))
    attention = np.full((2, 3), 1 / 3)
    output = np.array([[0.5, 0.5], [0.1, 0.9]])
    mask = np.array([[1, 1, 1], [1, 1, 0]])
    negative = attention.copy()
    negative[1] = [-0.5, 0.5, 1.0]
    unnormalised = attention * np.array([[1.0], [0.9]])
    with_nan = hidden.copy()
    with_nan[1, 2, 0] = np.nan
    return {
        "negative weight": (
            (hidden, negative, output),
            {},
            r"attention is negative \(-0.5\) at instance 1, position 0",
        ),
        "unnormalised": ((hidden, unnormalised, output), {}, "attention of instance 1 sums to 0.9000, not 1"),
        "weight on padding": ((hidden, attention, output, mask), {}, "instance 1 puts 0.3333 on masked positions"),
        "NaN state": ((with_nan, attention, output), {}, "hidden is NaN or infinite at instance 1, position 2"),
        "empty instance": (
            (hidden, attention, output, np.array([[1, 1, 1], [0, 0, 0]])),
            {},
            "instance 1 has no positions",
        ),
        "attention shape": ((hidden, attention[:, :2], output), {}, r"attention must be \(2, 3\)"),
        "output count": ((hidden, attention, output[:1]), {}, "there are 2 instances"),
        "logits passed as probabilities": ((hidden, attention, output * 3), {}, "pass logits=True"),
        "mask shape": ((hidden, attention, output, mask[:, :2]), {}, r"mask must be \(2, 3\)"),
        "additive mask": ((hidden, attention, output, mask * -1e9), {}, "not an additive mask"),
        "token count": ((hidden, attention, output, None, [["a"], ["b"]]), {}, "tokens of instance 0 has 1 tokens"),
        "label outside": ((hidden, attention, output), {"label": [0, 5]}, "label of instance 1 is 5"),
        "label fraction": ((hidden, attention, output), {"label": [0.5, 1]}, "label must hold class numbers"),
        "sink outside": ((hidden, attention, output), {"sink": [0.0, 2.0]}, r"sink must lie in \[0, 1\]"),
        "head shape": ((hidden, attention, output), {"head": (np.zeros((2, 5)), np.zeros(2))}, "head weight has shape"),
        "rationale outside": (
            (hidden, attention, output),
            {"rationale": attention * 9},
            r"rationale must lie in \[0, 1\]",
        ),
        "packed without lengths": ((hidden[0], attention[0], output), {}, "needs offsets"),
        "flat hidden": ((np.zeros(3), attention, output), {}, r"got shape \(3,\)"),
        "complex": ((hidden + 1j, attention, output), {}, "real numbers"),
    }


@pytest.mark.parametrize("case", bad_inputs())
def test_bad_input_is_named(case):
    arguments, options, message = bad_inputs()[case]
    with pytest.raises(ValueError, match=message):
        AttentionRecord.from_arrays(*arguments, **options)


def test_a_fully_masked_instance_can_be_excluded_and_is_counted():
    hidden, attention, output = np.ones((3, 2, 2)), np.full((3, 2), 0.5), np.array([0.2, 0.4, 0.6])
    mask = np.array([[1, 1], [0, 0], [1, 1]])
    record = AttentionRecord.from_arrays(
        hidden, attention * mask, output, mask, [["a", "b"], [], ["c", "d"]], label=[0, 1, 1], empty="exclude"
    )
    assert record.n_instances == 2
    assert record.meta["excluded"] == {"no positions": 1}
    np.testing.assert_array_equal(record.label, [0, 1])
    np.testing.assert_allclose(record.output[:, 1], [0.2, 0.6])
    assert record.tokens(1) == ["c", "d"]


def test_sink_mass_completes_attention():
    hidden, output = np.ones((1, 2, 2)), np.array([0.2])
    record = AttentionRecord.from_arrays(hidden, np.array([[0.1, 0.3]]), output, sink=[0.6])
    assert record.sink is not None
    with pytest.raises(ValueError, match=r"with sink 0\.5000"):
        AttentionRecord.from_arrays(hidden, np.array([[0.1, 0.3]]), output, sink=[0.5])


def test_outputs_of_every_form():
    hidden, attention = np.ones((2, 1, 2)), np.ones((2, 1))
    forms = [
        (np.array([[0.8, 0.2], [0.1, 0.9]]), False),
        (np.array([0.2, 0.9]), False),
        (np.log(np.array([[0.8, 0.2], [0.1, 0.9]])) + 5, True),
        (np.log(np.array([0.25, 9.0])), True),
        (np.log(np.array([[0.25], [9.0]])), True),
    ]
    for output, logits in forms:
        record = AttentionRecord.from_arrays(hidden, attention, output, logits=logits)
        np.testing.assert_allclose(record.output, [[0.8, 0.2], [0.1, 0.9]], atol=1e-12)
    predicted = AttentionRecord.from_arrays(hidden, attention, np.array([2, 0]))
    np.testing.assert_array_equal(predicted.output, [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(predicted.prediction, [2, 0])


def test_a_single_logit_head_becomes_two_rows():
    record = AttentionRecord.from_arrays(
        np.ones((1, 1, 2)), np.ones((1, 1)), np.array([0.5]), head=(np.array([1.0, 2.0]), 0.5)
    )
    assert record.head is not None
    np.testing.assert_allclose(record.head.logits(np.array([[3.0, 4.0]])), [[0.0, 11.5]])


def test_small_types_check_themselves():
    with pytest.raises(ValueError, match=r"x\[:, None\]"):
        Unit(x=np.zeros(3), y=np.zeros(3))
    with pytest.raises(ValueError, match="y must be"):
        Unit(x=np.zeros((3, 1)), y=np.zeros(2))
    with pytest.raises(ValueError, match="groups must be"):
        Unit(x=np.zeros((3, 1)), y=np.zeros(3), groups=np.zeros(2, dtype=int))
    with pytest.raises(ValueError, match="NaN exactly where"):
        Measured(np.array([1.0, np.nan]), ("", ""))
    with pytest.raises(ValueError, match="two rows"):
        LinearHead(np.zeros(3), np.zeros(1))
    measured = Measured(np.array([1.0, np.nan, 0.0]), ("", "constant attention", ""))
    assert measured.mean() == 0.5
    assert measured.undefined_counts() == {"constant attention": 1}
