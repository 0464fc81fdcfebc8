"""Human evidence as a ranking, and the geometry of states, inside a comparison."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from mi_attention import AttentionRecord, compare
from mi_attention.measures import conicity, kendall_tau_b
from tests.agreement.synthetic import QUICK, make_record


def rows(record, estimand="rationale", **options):
    """(measure, order, output) → row."""
    options = {"estimator": QUICK, "alignments": ("instance",)} | options
    table = compare(record, extras=(estimand,), **options).table
    found = table[table["estimand"] == estimand]
    return {(row.measure, row.order, row.output or row.state): row for _, row in found.iterrows()}


def with_evidence(evidence, **changes):
    return make_record(n=len(evidence), positions=evidence.shape[1], rationale=evidence.reshape(-1), **changes)


def marks(n=200, positions=6, seed=0):
    rng = np.random.default_rng(seed)
    found = np.zeros((n, positions))
    found[np.arange(n), rng.integers(positions, size=n)] = 1
    return found


def test_attention_on_the_evidence_finds_it_elsewhere_misses_it_and_uniform_attention_does_neither():
    evidence = marks()
    for weights, expected in ((evidence * 10, 1.0), (-evidence * 10, 0.0), (evidence * 0, 0.5)):
        attention = np.exp(weights)
        record = with_evidence(evidence, attention=(attention / attention.sum(axis=1, keepdims=True)).reshape(-1))
        found = rows(record)
        area = found["auc", "attention", ""]
        assert area.estimate == expected
        assert area.undefined == 0
        # One marked position of six: precision 1 at the top, 1/6 at the bottom and for a constant order.
        assert found["average_precision", "attention", ""].estimate == pytest.approx(1.0 if expected == 1 else 1 / 6)


def test_informativeness_finds_planted_words_and_the_difference_is_paired():
    rng = np.random.default_rng(3)
    evidence = marks(n=500)
    label = rng.integers(2, size=500)
    hidden = 0.5 * rng.standard_normal((500, 6, 3))
    hidden[..., 0] += 4 * evidence * (2 * label[:, None] - 1)
    hidden[..., 1] += 4 * evidence
    record = AttentionRecord.from_arrays(
        hidden,
        rng.dirichlet(np.ones(6), size=500),
        np.where(label[:, None] == [0, 1], 0.9, 0.1),
        label=label,
        rationale=evidence,
    )
    found = rows(record)
    informed, attention = found["auc", "informativeness", "label"], found["auc", "attention", ""]
    assert informed.estimate > 0.95
    assert attention.estimate == pytest.approx(0.5, abs=0.06)
    paired = found["auc", "attention minus informativeness", "label"]
    assert paired.estimate == pytest.approx(attention.estimate - informed.estimate)
    assert paired.ci_high < 0
    assert found["auc", "random", ""].estimate == pytest.approx(0.5, abs=0.06)
    assert ("auc", "informativeness", "prediction") in found
    assert ("kendall_tau_b", "attention", "") not in found


def test_head_evidence_is_measured_where_there_is_a_head_and_says_why_not_elsewhere():
    evidence = marks(n=120)
    record = with_evidence(evidence)
    centred = record.head.weight - record.head.weight.mean(axis=0)
    order = np.abs((np.asarray(record.hidden) * np.repeat(centred[record.prediction], 6, axis=0)).sum(axis=1))
    expected = np.mean([roc_auc_score(evidence[i], order[record.rows(i)]) for i in range(120)])
    assert rows(record)["auc", "head evidence", ""].estimate == pytest.approx(expected)
    hard = with_evidence(evidence, head=None, output=np.eye(2)[np.arange(120) % 2])
    absent = rows(hard)["auc", "head evidence", ""]
    assert np.isnan(absent.estimate)
    assert absent.reason.startswith("no head given")


def test_soft_evidence_is_cut_at_half_and_measured_as_it_is_beside():
    rng = np.random.default_rng(6)
    soft = rng.integers(0, 5, size=(150, 6)) / 4
    found = rows(with_evidence(soft))
    hard = rows(with_evidence((soft >= 0.5).astype(float)))
    assert found["auc", "attention", ""].estimate == hard["auc", "attention", ""].estimate
    record = with_evidence(soft)
    expected = kendall_tau_b(record.attention, soft.reshape(-1), record.offsets)
    assert found["kendall_tau_b", "attention", ""].estimate == pytest.approx(expected.mean())
    assert ("kendall_tau_b", "attention", "") not in hard


def test_instances_of_one_kind_are_counted_and_a_record_without_evidence_says_so():
    evidence = marks(n=120)
    evidence[:30] = 0
    evidence[30:40] = 1
    row = rows(with_evidence(evidence))["auc", "attention", ""]
    assert row.n_instances == 80
    assert row.undefined == 40
    assert row.reason == "no position is evidence: 30; every position is evidence: 10"
    bare = rows(make_record(n=120, positions=4))
    assert {found.reason for found in bare.values()} == {"no human evidence: 120"}
    assert np.isnan([found.estimate for found in bare.values()]).all()


def test_geometry_is_the_mean_conicity_of_states_and_embeddings_with_its_interval():
    record = make_record(n=150, positions=5, ragged=True)
    found = rows(record, "geometry")
    for state in ("hidden", "embedding"):
        row = found["conicity", "", state]
        values = conicity(getattr(record, state), record.offsets).values
        assert row.estimate == pytest.approx(values.mean())
        half = 1.976 * values.std(ddof=1) / np.sqrt(150)
        assert row.ci_high - row.estimate == pytest.approx(half, rel=0.01)
    without = rows(make_record(n=150, positions=5, embedding=None), "geometry")["conicity", "", "embedding"]
    assert without.reason == "no input embeddings: 150"


def test_masked_positions_are_removed():
    record = make_record(n=120, positions=4)
    hidden, attention = np.asarray(record.hidden).reshape(120, 4, -1), np.asarray(record.attention).reshape(120, 4)
    evidence = marks(n=120, positions=4)
    mask = np.repeat([[1, 1, 1, 1, 0]], 120, axis=0)
    padded = AttentionRecord.from_arrays(
        np.concatenate([hidden, np.full((120, 1, hidden.shape[2]), 50.0)], axis=1),
        np.concatenate([attention, np.zeros((120, 1))], axis=1),
        record.output,
        mask,
        label=record.label,
        head=record.head,
        rationale=np.concatenate([evidence, np.ones((120, 1))], axis=1),
    )
    plain = AttentionRecord.from_arrays(
        hidden, attention, record.output, label=record.label, head=record.head, rationale=evidence
    )
    for estimand in ("rationale", "geometry"):
        first, second = rows(plain, estimand), rows(padded, estimand)
        np.testing.assert_array_equal([r.estimate for r in first.values()], [r.estimate for r in second.values()])
