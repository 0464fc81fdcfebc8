"""How high scores rank marked positions: values by hand, the same from scikit-learn, and where there are none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from mi_attention.measures import evidence_auc, evidence_precision


@pytest.fixture
def instances():
    """Scores with many ties; every instance has both kinds of positions."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(2, 12, size=200)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    marks = (rng.random(offsets[-1]) < 0.4).astype(float)
    marks[offsets[:-1]], marks[offsets[1:] - 1] = 1.0, 0.0
    return rng.integers(0, 5, size=offsets[-1]).astype(float), marks, offsets


def slices(offsets):
    return [slice(a, b) for a, b in pairwise(offsets)]


@pytest.mark.parametrize(
    ("score", "evidence", "area", "precision"),
    [
        ([3, 2, 1], [1, 0, 0], 1.0, 1.0),
        ([3, 2, 1], [0, 0, 1], 0.0, 1 / 3),
        ([7, 7, 7, 7], [1, 0, 0, 0], 0.5, 0.25),
        ([3, 2, 1], [1, 0, 1], 0.5, (1 + 2 / 3) / 2),
        # Pairs (3, 2), (3, 1) right, (2, 2) a tie, (2, 1) right; precision at 3 is 1, at the tie 2/3.
        ([3, 2, 2, 1], [1, 1, 0, 0], 3.5 / 4, (1 + 2 / 3) / 2),
    ],
)
def test_by_hand(score, evidence, area, precision):
    assert evidence_auc(score, evidence).values[0] == pytest.approx(area)
    assert evidence_precision(score, evidence).values[0] == pytest.approx(precision)


def test_equal_to_scikit_learn_instance_by_instance(instances):
    score, marks, offsets = instances
    for ours, theirs in ((evidence_auc, roc_auc_score), (evidence_precision, average_precision_score)):
        expected = [theirs(marks[rows], score[rows]) for rows in slices(offsets)]
        np.testing.assert_allclose(ours(score, marks, offsets).values, expected, atol=1e-12)


def test_batch_equals_single_and_only_the_order_counts(instances):
    score, marks, offsets = instances
    before = score.copy(), marks.copy()
    for measure in (evidence_auc, evidence_precision):
        found = measure(score, marks, offsets).values
        np.testing.assert_allclose([measure(score[s], marks[s]).values[0] for s in slices(offsets)], found)
        np.testing.assert_array_equal(measure(np.exp(score / 3) - 2, marks, offsets).values, found)
    area = evidence_auc(score, marks, offsets).values
    np.testing.assert_allclose(evidence_auc(-score, marks, offsets).values, 1 - area)
    np.testing.assert_allclose(evidence_auc(score, 1 - marks, offsets).values, 1 - area)
    np.testing.assert_array_equal(score, before[0])
    np.testing.assert_array_equal(marks, before[1])


def test_instances_of_one_kind_of_position_are_undefined_and_named():
    for measure in (evidence_auc, evidence_precision):
        found = measure([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 1, 0, 0, 1, 0], [0, 2, 4, 6])
        assert found.reasons == ("every position is evidence", "no position is evidence", "")


def test_evidence_that_is_neither_is_refused():
    with pytest.raises(ValueError, match=r"evidence is 0.5 at row 1; threshold it"):
        evidence_auc([1.0, 2.0], [0.0, 0.5])
