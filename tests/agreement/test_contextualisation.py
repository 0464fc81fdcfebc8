"""States against their own input embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention import AttentionRecord, compare
from tests.agreement.synthetic import QUICK, make_record


def gaps(record, output="class", **options):
    """(measure, output, held out) → row."""
    options = {"estimator": QUICK, "alignments": ("position",)} | options
    table = compare(record, output, extras=("contextualisation",), **options).table
    rows = table[table["estimand"] == "contextualisation"]
    assert (rows["state"] == "hidden minus embedding").all()
    return {(row.measure, row.output, row.order.startswith("held-out")): row for _, row in rows.iterrows()}


@pytest.fixture(scope="module")
def planted():
    """The label is in every state and in the input of position 0 alone."""
    rng = np.random.default_rng(1)
    label = rng.permutation(np.arange(600) % 2)
    embedding = rng.standard_normal((600, 3, 2))
    embedding[:, 0, 0] = 10 * label + rng.standard_normal(600)
    hidden = rng.standard_normal((600, 3, 2)) + 10 * label[:, None, None]
    output = np.where(label[:, None] == [0, 1], 0.9, 0.1)
    return AttentionRecord.from_arrays(hidden, np.full((600, 3), 1 / 3), output, label=label, embedding=embedding)


def test_two_positions_of_three_learn_the_label_from_their_context(planted):
    found = gaps(planted)
    for output in ("label", "prediction"):
        assert found["embedding_gap", output, False].estimate == pytest.approx(2 / 3 * np.log(2), abs=0.02)
        assert found["embedding_gap_share", output, False].estimate == pytest.approx(2 / 3, abs=0.03)
        assert found["embedding_gap_share", output, True].estimate == pytest.approx(2 / 3, abs=0.03)
        assert found["embedding_gap", output, False].n_units == 3


@pytest.mark.parametrize("ragged", [False, True])
def test_states_that_are_their_embeddings_have_a_gap_of_exactly_zero(ragged):
    record = make_record(n=200, positions=5, ragged=ragged)
    record = make_record(n=200, positions=5, ragged=ragged, embedding=np.asarray(record.hidden))
    for row in gaps(record, bins=2 if ragged else None).values():
        assert row.estimate == 0
        assert row.reason == "no spread over instances"


def test_the_gap_is_the_mean_difference_of_the_two_profiles_with_a_paired_error(planted):
    found = compare(planted, estimator=QUICK, alignments=("position",), extras=("contextualisation",))
    profile = found.profile[found.profile["output"] == "prediction"].pivot(
        index="unit_index", columns="state", values="nats"
    )
    row = gaps(planted)["embedding_gap", "prediction", False]
    assert row.estimate == pytest.approx((profile["hidden"] - profile["embedding"]).mean(), abs=1e-12)
    # Half the states copied from the embeddings: those units add no error.
    hidden = np.asarray(planted.hidden).reshape(600, 3, 2).copy()
    hidden[:, :2] = np.asarray(planted.embedding).reshape(600, 3, 2)[:, :2]
    copied = AttentionRecord.from_arrays(
        hidden,
        np.full((600, 3), 1 / 3),
        planted.output,
        label=planted.label,
        embedding=np.asarray(planted.embedding).reshape(600, 3, 2),
    )
    narrow = gaps(copied)["embedding_gap", "prediction", False]
    assert narrow.estimate == pytest.approx(np.log(2) / 3, abs=0.02)
    assert narrow.ci_high - narrow.ci_low < row.ci_high - row.ci_low


def test_without_embeddings_or_with_one_class_there_is_none(planted):
    bare = gaps(make_record(n=120, positions=3, embedding=None))
    assert {row.reason for row in bare.values()} == {"no input embeddings"}
    assert np.isnan([row.estimate for row in bare.values()]).all()
    one = make_record(n=120, positions=3, output=np.tile([0.9, 0.1], (120, 1)), head=None)
    found = gaps(one)
    assert found["embedding_gap", "prediction", False].reason == "a single class"
    assert np.isnan(found["embedding_gap", "prediction", False].estimate)
    assert np.isfinite(found["embedding_gap", "label", False].estimate)
