"""Conicity: values by hand, what it does not depend on, and where there is none."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from mi_attention.measures import conicity


def by_definition(states):
    mean = states.mean(axis=0)
    return np.mean([row @ mean / np.linalg.norm(row) / np.linalg.norm(mean) for row in states])


@pytest.fixture
def packed():
    rng = np.random.default_rng(3)
    lengths = rng.integers(2, 9, size=30)
    return rng.standard_normal((lengths.sum(), 5)) + 0.4, np.concatenate([[0], np.cumsum(lengths)])


def test_by_hand():
    assert conicity([[1.0, 0.0], [0.0, 1.0]]).values[0] == pytest.approx(1 / np.sqrt(2))
    # Mean (1, ½): cosines 2/√5 and 2/√5 and, for (1, 1.5), (1 + .75)/(√3.25 · √1.25).
    assert conicity([[1.0, 0.0], [1.0, 0.0], [1.0, 1.5]]).values[0] == pytest.approx(
        (4 / np.sqrt(5) + 1.75 / np.sqrt(3.25 * 1.25)) / 3
    )


def test_parallel_states_have_one_and_orthogonal_ones_one_over_the_root_of_their_number():
    direction = np.random.default_rng(0).standard_normal(7)
    assert conicity(np.outer([0.1, 3.0, 20.0], direction)).values[0] == pytest.approx(1.0, abs=1e-12)
    for n in (2, 5, 16):
        assert conicity(np.eye(n)).values[0] == pytest.approx(n**-0.5)


def test_equal_to_its_definition_and_batch_equal_to_single(packed, monkeypatch):
    states, offsets = packed
    expected = [by_definition(states[a:b]) for a, b in pairwise(offsets)]
    np.testing.assert_allclose(conicity(states, offsets).values, expected, atol=1e-12)
    single = [conicity(states[a:b]).values[0] for a, b in pairwise(offsets)]
    np.testing.assert_allclose(conicity(states, offsets).values, single, atol=1e-15)
    monkeypatch.setattr(sys.modules["mi_attention.measures.conicity"], "_BLOCK_NUMBERS", 40)
    np.testing.assert_allclose(conicity(states, offsets).values, expected, atol=1e-12)
    rows = states[:24].reshape(6, 4, 5)
    np.testing.assert_allclose(conicity(rows).values, [by_definition(row) for row in rows], atol=1e-12)


def test_not_of_scale_rotation_or_order_and_the_input_is_left_alone(packed):
    states, offsets = packed
    before = states.copy()
    found = conicity(states, offsets).values
    np.testing.assert_allclose(conicity(states * 1e-200, offsets).values, found, atol=1e-12)
    np.testing.assert_allclose(conicity(states * 1e200, offsets).values, found, atol=1e-12)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    np.testing.assert_allclose(conicity(states @ turn, offsets).values, found, atol=1e-12)
    backwards = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in pairwise(offsets)])
    np.testing.assert_allclose(conicity(states[backwards], offsets).values, found, atol=1e-12)
    np.testing.assert_array_equal(states, before)


def test_a_state_without_a_direction_is_left_out_and_what_has_no_value_says_why():
    with_zero = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    assert conicity(with_zero).values[0] == pytest.approx(1 / np.sqrt(2))
    found = conicity(np.array([[1.0, 2.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [3.0, 1.0]]), [0, 1, 3, 5])
    few = "fewer than two states with a direction"
    assert found.reasons == (few, "states cancel", few)


@pytest.mark.parametrize(
    ("states", "offsets", "message"),
    [
        (np.ones(3), None, r"shape \(3,\)"),
        (np.ones((3, 2)), [0, 2], "rise strictly from 0 to 3"),
        (np.ones((3, 2)), [0, 0, 3], "rise strictly"),
        (np.array([[1.0, 1.0], [np.nan, 0.0]]), None, "row 1"),
        (np.ones((0, 2)), None, "empty"),
    ],
)
def test_bad_input_names_what_is_wrong(states, offsets, message):
    with pytest.raises(ValueError, match=message):
        conicity(states, offsets)
