"""Alignments: which rows make a unit."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention.agreement import align_positions, align_ranks, align_tokens
from mi_attention.interface import AttentionRecord
from tests.agreement.synthetic import make_record


def small():
    """Two instances: lengths 3 and 2; weights chosen so that ranks are 1,2,0 and 1,0."""
    return AttentionRecord.from_arrays(
        [np.arange(3.0)[:, None], np.arange(3.0, 5.0)[:, None]],
        [[0.2, 0.5, 0.3], [0.4, 0.6]],
        [0.2, 0.8],
        tokens=[["a", "b", "a"], ["b", "a"]],
    )


def test_ranks_by_hand():
    record = small()
    alignment = align_ranks(record, record.attention, ranks=2)
    np.testing.assert_array_equal(alignment.rows[0], [1, 4])
    np.testing.assert_array_equal(alignment.rows[1], [2, 3])
    third = align_ranks(record, record.attention, ranks=3)
    np.testing.assert_array_equal([rows.tolist() for rows in third.rows], [[1], [2], [0]])
    assert [str(note) for note in third.notes] == ["1 of 2: instances shorter than 3 positions, left out by rank"]


def test_tied_ranks_are_broken_at_random_not_by_position():
    record = make_record(n=2000, positions=4)
    flat = np.full(record.n_rows, 0.25)
    alignment = align_ranks(record, flat, ranks=2)
    first = record.row_position[alignment.rows[0]]
    # Each position is first in a quarter of 2000 instances; 5 standard errors are 97.
    assert np.abs(np.bincount(first, minlength=4) - 500).max() < 97
    assert str(alignment.notes[0]) == "2000 of 2000: instances with exact ties at these ranks, broken at random"
    again = align_ranks(record, flat, ranks=2)
    np.testing.assert_array_equal(alignment.rows[0], again.rows[0])


def test_positions_of_equal_lengths_are_positions():
    record = make_record(n=5, positions=3)
    alignment = align_positions(record)
    assert alignment.names == ("0", "1", "2")
    assert not alignment.repeated
    unit = alignment.unit(record, 1, np.arange(5))
    np.testing.assert_array_equal(unit.x, record.hidden[1::3])
    np.testing.assert_array_equal(unit.y, np.arange(5))
    assert unit.groups is None


def test_relative_positions_put_every_row_in_one_bin():
    record = make_record(n=50, positions=23, ragged=True)
    alignment = align_positions(record, bins=4)
    panel = np.flatnonzero(np.repeat(record.lengths >= 4, record.lengths))
    np.testing.assert_array_equal(np.sort(np.concatenate(alignment.rows)), panel)
    relative = record.row_position / np.repeat(record.lengths, record.lengths)
    assert len(alignment) == 4
    for b, rows in enumerate(alignment.rows):
        assert ((relative[rows] >= b / 4) & (relative[rows] < (b + 1) / 4)).all()
    unit = alignment.unit(record, 0, np.arange(50))
    np.testing.assert_array_equal(unit.groups, unit.y)
    assert {len(np.unique(alignment.owners(record, b))) for b in range(4)} == {int((record.lengths >= 4).sum())}
    with pytest.raises(ValueError, match="bins is 1"):
        align_positions(record, bins=1)


def test_token_types_by_hand():
    record = small()
    alignment = align_tokens(record, minimum=2)
    assert set(alignment.names) == {"a", "b"}
    rows = dict(zip(alignment.names, alignment.rows, strict=True))
    np.testing.assert_array_equal(rows["a"], [0, 2, 4])
    np.testing.assert_array_equal(rows["b"], [1, 3])
    # Mean attention of instance 0 on "a" is (.2 + .3)/2, of instance 1 it is .6.
    # in multiples of uniform attention .25 x 3 and .6 x 2.
    by_instance = alignment.attention_by_instance(record, record.attention)
    np.testing.assert_allclose(by_instance[alignment.names.index("a")], [0.75, 1.2])
    assert len(align_tokens(record, minimum=3)) == 0


def test_bins_are_filled_from_one_panel_and_compare_relative_attention():
    record = small()
    alignment = align_positions(record, bins=3)
    # Instance 1 has two positions and no place in three bins. Attention in multiples of uniform: 3 x (.2, .5, .3).
    by_instance = alignment.attention_by_instance(record, record.attention)
    np.testing.assert_allclose(by_instance, [[0.6, np.nan], [1.5, np.nan], [0.9, np.nan]])
    assert "1 of 2: instances shorter than 3 positions, left out by position" in [str(n) for n in alignment.notes]
    long = AttentionRecord.from_arrays(
        [np.zeros((4, 1)), np.zeros((2, 1))], [[0.1, 0.2, 0.3, 0.4], [0.25, 0.75]], [0.2, 0.8]
    )
    halves = align_positions(long, bins=2)
    np.testing.assert_allclose(halves.attention_by_instance(long, long.attention), [[0.6, 0.5], [1.4, 1.5]])


def test_uniform_attention_orders_no_bins_whatever_the_lengths():
    rng = np.random.default_rng(0)
    lengths = rng.integers(5, 40, size=200)
    record = AttentionRecord.from_arrays(
        rng.standard_normal((lengths.sum(), 2)).astype(np.float32),
        np.repeat(1 / lengths, lengths).astype(np.float32),
        rng.uniform(0.1, 0.9, 200),
        lengths=lengths,
    )
    alignment = align_positions(record)
    by_instance = alignment.attention_by_instance(record, record.attention)
    assert len(alignment) == 7
    assert set(np.unique(by_instance[~np.isnan(by_instance)])) == {1.0}


def test_ties_at_the_cut_are_seen_in_long_instances_beside_a_short_one():
    attention = [[0.4, 0.3, 0.15, 0.15], [0.5, 0.3, 0.2]]
    record = AttentionRecord.from_arrays([np.zeros((4, 1)), np.zeros((3, 1))], attention, [0.2, 0.8])
    notes = align_ranks(record, record.attention, ranks=3).notes
    assert [str(note) for note in notes] == ["1 of 2: instances with exact ties at these ranks, broken at random"]


def test_what_is_missing_is_said():
    record = make_record(n=5, positions=3, embedding=None, tokens=None)
    with pytest.raises(ValueError, match="no tokens"):
        align_tokens(record)
    with pytest.raises(ValueError, match="no embedding"):
        align_positions(record).unit(record, 0, np.arange(5), state="embedding")
    with pytest.raises(ValueError, match="no instance has 9 positions"):
        align_ranks(record, record.attention, ranks=9)
    with pytest.raises(ValueError, match="ranks is 1"):
        align_ranks(record, record.attention, ranks=1)
