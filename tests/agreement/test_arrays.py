"""From plain arrays: every way to say what the model said gives the tables of the record it stands for."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mi_attention.agreement import compare, compare_arrays, reduce_sparse_output
from tests.agreement.synthetic import QUICK, make_record

OPTIONS = {"alignments": ("instance",), "null_draws": 19, "estimator": QUICK}


@pytest.fixture(scope="module")
def record():
    return make_record(n=120, ragged=True, positions=5, embedding=None, tokens=None)


@pytest.fixture(scope="module")
def expected(record):
    return compare(record, **OPTIONS).table


def same(found, expected):
    pd.testing.assert_frame_equal(found.table, expected, atol=1e-9)


def test_padded_packed_and_ragged_arrays_give_the_table_of_the_record(record, expected):
    padded = record.padded()
    more = {"label": record.label, "head": record.head, **OPTIONS}
    arrays = padded["hidden"], padded["attention"]
    before = padded["hidden"].copy()
    same(compare_arrays(*arrays, record.output, padded["mask"], **more), expected)
    np.testing.assert_array_equal(padded["hidden"], before)
    packed = {"offsets": record.offsets}
    same(compare_arrays(record.hidden, record.attention, record.output, **packed, **more), expected)
    hidden, attention = ([column[record.rows(i)] for i in range(120)] for column in (record.hidden, record.attention))
    same(compare_arrays(hidden, attention, record.output, **more), expected)


def test_logits_and_the_probability_of_one_class_say_the_same(record, expected):
    more = {"label": record.label, "head": record.head, "offsets": record.offsets, **OPTIONS}
    logits = np.log(record.output) + 3
    same(compare_arrays(record.hidden, record.attention, logits, logits=True, **more), expected)
    same(compare_arrays(record.hidden, record.attention, record.output[:, 1], **more), expected)


def test_predicted_classes_alone_and_gold_labels_alone(record):
    packed = {"offsets": record.offsets, **OPTIONS}
    hard = compare_arrays(record.hidden, record.attention, record.prediction, **packed)
    soft = compare(make_record(n=120, ragged=True, positions=5, head=None, embedding=None, tokens=None), **OPTIONS)
    key = {"estimand": "pointwise", "order": "informativeness", "output": "prediction", "measure": "kendall_tau_b"}
    rows = [c.table[np.logical_and.reduce([c.table[k] == v for k, v in key.items()])].iloc[0] for c in (hard, soft)]
    assert rows[0].estimate == rows[1].estimate
    gold = compare_arrays(record.hidden, record.attention, label=record.label, **packed)
    about_label = compare(record, "label", **OPTIONS)
    for c in (gold, about_label):
        assert c.output == "label"
    key |= {"output": "label"}
    rows = [
        c.table[np.logical_and.reduce([c.table[k] == v for k, v in key.items()])].iloc[0] for c in (gold, about_label)
    ]
    assert rows[0].estimate == rows[1].estimate
    assert "gold labels" in str(gold.notes[0])


def test_three_lines_from_arrays_to_latex(record, tmp_path):
    comparison = compare_arrays(record.hidden, record.attention, record.output, offsets=record.offsets, **OPTIONS)
    path = comparison.to_latex(tmp_path / "table.tex")
    assert r"\bottomrule" in path.read_text()


def test_arguments_that_do_not_fit_are_refused_with_the_remedy(record):
    with pytest.raises(ValueError, match="neither output nor label"):
        compare_arrays(record.hidden, record.attention, offsets=record.offsets)
    with pytest.raises(ValueError, match="no output is given"):
        compare_arrays(record.hidden, record.attention, label=record.label, about="class", offsets=record.offsets)
    with pytest.raises(ValueError, match="hidden must be"):
        compare_arrays(np.ones(5), np.ones(5), np.ones(5))
    with pytest.raises(ValueError, match="attention"):
        compare_arrays(np.ones((3, 4, 2)), np.ones((3, 5)) / 5, [0, 1, 0])
    with pytest.raises(TypeError, match="compare_arrays"):
        compare(record.hidden)


def wide(n, width, stored, seed=0):
    """``n`` rows with ``stored`` probabilities among ``width`` classes, summing to .9."""
    rng = np.random.default_rng(seed)
    columns = np.stack([rng.choice(width, size=stored, replace=False) for _ in range(n)])
    values = rng.dirichlet(np.ones(stored), size=n) * 0.9
    return sparse.csr_array((values.ravel(), (np.repeat(np.arange(n), stored), columns.ravel())), shape=(n, width))


def test_a_sparse_output_is_its_top_class_over_the_most_frequent_ones():
    table = wide(300, 12, 4)
    predicted = table.toarray().argmax(axis=1)
    label = np.arange(300) % 12
    before = [table.data.copy(), table.indices.copy()]
    found = reduce_sparse_output(table, label, classes=3)
    counts = np.bincount(predicted, minlength=12)
    assert len(found.classes) == 3
    assert counts[found.classes].min() >= np.delete(counts, found.classes).max()
    place = {int(kind): number for number, kind in enumerate(found.classes)}
    np.testing.assert_array_equal(found.output.argmax(axis=1), [place.get(int(kind), 3) for kind in predicted])
    np.testing.assert_array_equal(found.label, [place.get(int(kind), 3) for kind in label])
    assert (found.output.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(table.data, before[0])
    np.testing.assert_array_equal(table.indices, before[1])
    for other in (table.tocsc(), table.tocoo(), sparse.csr_matrix(table)):
        np.testing.assert_array_equal(reduce_sparse_output(other, classes=3).output, found.output)


def test_the_own_class_is_the_gold_one_or_the_top_one():
    table = wide(50, 9, 3)
    dense = table.toarray()
    np.testing.assert_allclose(reduce_sparse_output(table, reduction="own class").output[:, 1], dense.max(axis=1))
    label = np.arange(50) % 9
    found = reduce_sparse_output(table, label, reduction="own class")
    np.testing.assert_allclose(found.output[:, 1], dense[np.arange(50), label])
    assert found.label is None
    assert found.about == "probability"


def test_entries_stored_twice_are_added_and_rows_out_of_order_sorted():
    table = sparse.csr_array(([0.3, 0.4, 0.2], [5, 1, 5], [0, 3]), shape=(1, 7))
    assert reduce_sparse_output(table, classes=2).classes.tolist() == [5]
    tied = sparse.csr_array(([0.4, 0.4], [6, 2], [0, 2]), shape=(1, 7))
    assert reduce_sparse_output(tied, classes=2).classes.tolist() == [2]


def test_a_sparse_comparison_is_that_of_the_predicted_class(record):
    rng = np.random.default_rng(1)
    wide_output = sparse.lil_array((120, 100_000))
    chosen = np.array([17, 99_999])[record.prediction]
    wide_output[np.arange(120), chosen] = 0.6
    wide_output[np.arange(120), rng.integers(100, 90_000, size=120)] = 0.1
    packed = {"offsets": record.offsets, **OPTIONS}
    found = compare_arrays(record.hidden, record.attention, wide_output, **packed)
    hard = compare_arrays(record.hidden, record.attention, record.prediction, **packed)
    first, second = (c.table[c.table["order"] == "informativeness"]["estimate"].to_numpy() for c in (found, hard))
    np.testing.assert_allclose(first, second)
    assert "reduced to 2 classes and all others" in str(found.notes[0])
    own = compare_arrays(record.hidden, record.attention, wide_output, reduction="own class", **packed)
    assert own.output == "probability of class 1"


def test_memory_follows_the_entries_not_the_width():
    table = wide(2000, 100_000, 10)
    tracemalloc.start()
    reduce_sparse_output(table, np.arange(2000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Dense it would be 1.6 GB; entries, their order and the kept classes are below 10 MB.
    assert peak < 10 * 2**20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t * -1, "apply softmax"),
        (lambda t: t * 5, "more than 1"),
        (lambda t: t.toarray(), "SciPy sparse"),
        (lambda t: sparse.csr_array((3, 4)), "has no entry"),
    ],
)
def test_what_is_no_sparse_table_of_probabilities_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        reduce_sparse_output(change(wide(3, 4, 2)))


def test_sparse_outputs_refuse_what_they_cannot_serve(record):
    table = wide(120, 50, 3)
    packed = {"offsets": record.offsets}
    with pytest.raises(ValueError, match="logits=True"):
        compare_arrays(record.hidden, record.attention, table, logits=True, **packed)
    with pytest.raises(ValueError, match="head or decode"):
        compare_arrays(record.hidden, record.attention, table, head=record.head, **packed)
    with pytest.raises(ValueError, match="outside the 50 classes"):
        reduce_sparse_output(table, np.full(120, 50))
    with pytest.raises(ValueError, match="at least 2"):
        reduce_sparse_output(table, classes=1)
    with pytest.raises(ValueError, match="'own class'"):
        reduce_sparse_output(table, reduction="mean")
