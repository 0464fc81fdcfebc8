"""What a state tells beyond the others: known where the states are made for it."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention import AttentionRecord, compare
from mi_attention.estimators import Probe
from tests.agreement.synthetic import QUICK


def redundancy(record, *, ranks=2, estimator=QUICK):
    """(measure, held out) → row."""
    found = compare(record, "label", estimator=estimator, ranks=ranks, alignments=("rank",), extras=("redundancy",))
    rows = found.table[found.table["estimand"] == "redundancy"]
    assert (rows["output"] == "label").all()
    return {(row.measure, row.order.startswith("held-out")): row for _, row in rows.iterrows()}


def unique(record, **options):
    return redundancy(record, **options)["unique_information", False]


def with_attention(hidden, label, weights=None, **changes):
    n, positions = hidden.shape[:2]
    falling = np.arange(positions, 0, -1.0) if weights is None else np.asarray(weights, dtype=np.float64)
    attention = np.tile(falling / falling.sum(), (n, 1))
    output = np.full((n, int(label.max()) + 1), 1 / (label.max() + 1))
    return AttentionRecord.from_arrays(hidden, attention, output, label=label, **changes)


def bits(n=1200, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.permutation(np.arange(n) % classes)


def test_identical_states_are_redundant():
    rng, label = bits()
    one = rng.standard_normal((1200, 1, 3)) + np.array([1.5, 0, 0]) * label[:, None, None]
    found = unique(with_attention(np.repeat(one, 4, axis=1), label), ranks=3)
    assert found.estimate == pytest.approx(0, abs=1e-3)


def test_a_state_that_alone_knows_the_label_has_all_its_information_to_itself():
    rng, label = bits()
    hidden = rng.standard_normal((1200, 3, 2))
    hidden[:, 0, 0] = 8 * label + 0.5 * rng.standard_normal(1200)
    found = redundancy(with_attention(hidden, label))
    assert found["unique_information_rank_1", False].estimate == pytest.approx(np.log(2), abs=0.02)
    # The others' information is nothing, and the first, which is in their context, knows all.
    assert found["unique_information_rank_2", False].estimate == pytest.approx(0, abs=0.02)
    assert found["unique_information", False].estimate == pytest.approx(np.log(2) / 2, abs=0.02)
    assert found["unique_share", False].estimate == pytest.approx(0.5, abs=0.03)


def test_two_bits_in_two_states_are_one_bit_each():
    rng, label = bits(n=1600, classes=4)
    hidden = 0.3 * rng.standard_normal((1600, 2, 2))
    hidden[:, 0, 0] += 4 * (label % 2)
    hidden[:, 1, 1] += 4 * (label // 2)
    found = redundancy(with_attention(hidden, label))
    for rank in (1, 2):
        assert found[f"unique_information_rank_{rank}", False].estimate == pytest.approx(np.log(2), abs=0.03)


def test_a_further_sample_of_a_gaussian_signal_tells_what_the_chain_rule_says():
    """h_t = ±1 + noise in two positions: I(h_1; Y | h_2) = I(h_1, h_2; Y) − I(h_2; Y), by numerical integration."""

    def information(separation):
        x = np.linspace(-12, 12, 40001)
        densities = [np.exp(-((x - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (-separation / 2, separation / 2)]
        mixture = (densities[0] + densities[1]) / 2
        return float(sum(d * np.log(np.maximum(d, 1e-300) / mixture) / 2 for d in densities).sum() * (x[1] - x[0]))

    rng, label = bits(n=4000, seed=3)
    hidden = (2 * label - 1)[:, None, None] * 0.8 + rng.standard_normal((4000, 2, 1))
    truth = information(1.6 * np.sqrt(2)) - information(1.6)
    found = redundancy(with_attention(hidden, label))
    level, held_out = found["unique_information", False], found["unique_information", True]
    assert truth > 0.1
    assert level.ci_low < truth < level.ci_high
    assert level.estimate == pytest.approx(truth, abs=0.02)
    assert held_out.estimate == pytest.approx(truth, abs=0.02)


def test_a_parity_of_two_states_is_seen_by_the_default_probe_and_not_by_a_linear_one():
    rng = np.random.default_rng(5)
    signs = rng.choice([-1.0, 1.0], size=(1000, 2))
    label = (signs.prod(axis=1) > 0).astype(int)
    hidden = signs[:, :, None] + 0.2 * rng.standard_normal((1000, 2, 1))
    record = with_attention(hidden, label)
    assert abs(unique(record).estimate) < 0.02
    assert unique(record, estimator=Probe(folds=5)).estimate > 0.5


def test_positions_beyond_the_mask_do_not_count_and_instances_of_one_token_are_left_out():
    rng, label = bits(n=300)
    lengths = np.where(np.arange(300) < 40, 1, 3)
    states = [rng.standard_normal((length, 2)) + label[i] for i, length in enumerate(lengths)]
    weights = [np.arange(length, 0, -1.0) / np.arange(length, 0, -1.0).sum() for length in lengths]
    output = np.full((300, 2), 0.5)
    ragged = AttentionRecord.from_arrays(states, weights, output, label=label)
    padded = np.zeros((300, 4, 2))
    attention, mask = np.zeros((300, 4)), np.zeros((300, 4))
    for i, length in enumerate(lengths):
        padded[i, :length], attention[i, :length], mask[i, :length] = states[i], weights[i], 1
    padded[mask == 0] = 9.0
    found = unique(ragged)
    assert found.n_instances == 260
    assert found.undefined == 40
    assert unique(AttentionRecord.from_arrays(padded, attention, output, mask, label=label)).estimate == found.estimate


def test_the_order_of_positions_is_nothing_to_it():
    rng, label = bits(n=300, seed=7)
    hidden = rng.standard_normal((300, 4, 2)) + label[:, None, None]
    order = np.array([2, 0, 3, 1])
    weights = np.array([0.4, 0.1, 0.2, 0.3])
    first = unique(with_attention(hidden, label, weights))
    assert unique(with_attention(hidden[:, order], label, weights[order])).estimate == pytest.approx(
        first.estimate, abs=1e-9
    )


def test_where_there_is_none_the_reason_is_named():
    rng, label = bits(n=120)
    hidden = rng.standard_normal((120, 3, 2))
    reasons = {
        "all attention": with_attention(hidden, label, [1.0, 0.0, 0.0]),
        "constant attention": with_attention(hidden, label, [1.0, 1.0, 1.0]),
        "a single class": AttentionRecord.from_arrays(
            hidden, np.tile([0.5, 0.3, 0.2], (120, 1)), np.full((120, 2), 0.5), label=np.zeros(120, dtype=int)
        ),
    }
    told = {name: unique(record) for name, record in reasons.items()}
    assert told["all attention"].reason.startswith("fewer than 50 instances with 2 positions and attention on more")
    assert told["constant attention"].reason == "constant attention: its ranks are arbitrary"
    assert told["a single class"].reason == "a single class"
    for row in told.values():
        assert np.isnan(row.estimate)
        assert row.undefined == 120
    unlabelled = AttentionRecord.from_arrays(hidden, np.tile([0.5, 0.3, 0.2], (120, 1)), np.full((120, 2), 0.5))
    table = compare(unlabelled, estimator=QUICK, ranks=2, alignments=("rank",), extras=("redundancy",)).table
    found = table[table["estimand"] == "redundancy"]
    assert set(found["reason"]) == {"no gold labels"}
    assert set(found["measure"]) >= {"unique_information", "unique_share", "unique_information_rank_2"}
