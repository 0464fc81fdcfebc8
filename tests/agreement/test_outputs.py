"""What the output is, and what recomputed probabilities make of it."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention.agreement import make_target
from mi_attention.agreement.outputs import merge_rare_classes
from mi_attention.interface import AttentionRecord


def record(output, label=None):
    output = np.asarray(output, dtype=float)
    return AttentionRecord.from_arrays(np.zeros((len(output), 1, 1)), np.ones((len(output), 1)), output, label=label)


THREE = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.4, 0.35, 0.25]]


def test_the_predicted_class_is_the_default_and_applies_to_other_probabilities():
    target = make_target(record(THREE))
    np.testing.assert_array_equal(target.values, [0, 1, 2, 0])
    assert target.name == "prediction"
    np.testing.assert_array_equal(target.of(np.array([[0.1, 0.1, 0.8]])), [2])


def test_the_label_does_not_depend_on_probabilities():
    target = make_target(record(THREE, label=[2, 1, 0, 0]), "label")
    np.testing.assert_array_equal(target.values, [2, 1, 0, 0])
    assert target.of is None


def test_one_class_against_the_rest():
    target = make_target(record(THREE), 0)
    np.testing.assert_array_equal(target.values, [1, 0, 0, 1])
    assert target.name == "class 0 against the rest"


def test_a_probability_is_binned_at_its_own_quantiles_and_recomputed_ones_use_the_same_edges():
    # Probabilities .1 .2 ... .8 in 4 bins: quartiles at .275, .45, .625.
    probability = np.arange(1, 9) / 10
    target = make_target(record(np.stack([1 - probability, probability], axis=1)), "probability")
    np.testing.assert_array_equal(target.values, [0, 0, 1, 1, 2, 2, 3, 3])
    other = np.array([[0.9, 0.1], [0.5, 0.5], [0.01, 0.99]])
    np.testing.assert_array_equal(target.of(other), [0, 2, 3])
    by_class = make_target(record(THREE), "probability:2", bins=2)
    np.testing.assert_array_equal(by_class.values, [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("labels", 'use "class", "label"'),
        ("label", "needs gold labels"),
        (7, "classes 0 to 2"),
        ("probability", "ambiguous with 3 classes"),
        ("probability:9", "classes 0 to 2"),
        ("probability:x", "probability:x"),
        (True, 'use "class"'),
    ],
)
def test_bad_outputs_are_named(output, message):
    with pytest.raises(ValueError, match=message):
        make_target(record(THREE), output)


def test_rare_classes_are_put_together_and_counted():
    # Counts 20, 15, 6, 5: the two rare ones make one class of 11.
    y = np.repeat([0, 1, 2, 3], [20, 15, 6, 5])
    merged, rare = merge_rare_classes(y)
    assert rare == 11
    np.testing.assert_array_equal(np.unique(merged, return_counts=True)[1], [20, 15, 11])
    # Counts 20, 15, 3: a class of 3 alone joins the smallest frequent one.
    merged, rare = merge_rare_classes(np.repeat([0, 1, 2], [20, 15, 3]))
    assert rare == 3
    np.testing.assert_array_equal(np.unique(merged, return_counts=True)[1], [20, 18])


@pytest.mark.parametrize("counts", [[20, 15], [30], [20, 3], [4, 5]])
def test_nothing_is_merged_where_too_little_would_be_left(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    merged, rare = merge_rare_classes(y)
    assert rare == 0
    np.testing.assert_array_equal(merged, y)
