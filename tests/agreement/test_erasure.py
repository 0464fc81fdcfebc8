"""Erasing in an order: by hand, against a direct computation, and where one order must win."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mi_attention import AttentionRecord, compare
from mi_attention.agreement import SHARES, ErasureOrder, erase, head_evidence
from mi_attention.interface import LinearHead
from tests.agreement.synthetic import QUICK, make_record, softmax


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, dtype=float)))


def one_dimensional(states, attention, **more):
    """Two classes, log-odds of class 1 equal to the context."""
    head = LinearHead(np.array([[0.0], [1.0]]), np.zeros(2))
    hidden = np.asarray(states, dtype=float)[:, :, None]
    context = (hidden[..., 0] * np.asarray(attention)).sum(axis=1)
    return AttentionRecord.from_arrays(hidden, attention, sigmoid(context), head=head, **more)


def test_three_positions_by_hand():
    record = one_dimensional([[3.0, 1.0, -2.0]], [[0.5, 0.3, 0.2]])
    orders = {
        "attention": ErasureOrder("attention", np.array([0.5, 0.3, 0.2]), record.attention),
        "last first": ErasureOrder("last first", np.array([1.0, 2.0, 3.0]), record.attention),
    }
    found = erase(record, orders, record.head)
    # All: 1.5 + .3 − .4 = 1.4. Without the first: (.3 − .4)/.5 = −.2, class 0. Without the second too: −2.
    full = sigmoid(1.4)
    steps = [full - sigmoid(-0.2), full - sigmoid(-2.0)]
    np.testing.assert_allclose(found["attention"].area.values, [np.mean(steps)], atol=1e-12)
    np.testing.assert_allclose(found["attention"].first_flip, [[1 / 3]])
    assert found["attention"].never.values[0] == 0
    # 6 of 20 steps of .05 erase less than a third.
    np.testing.assert_allclose(found["attention"].change[0], [0] * 7 + [steps[0]] * 7 + [steps[1]] * 6, atol=1e-12)
    # Without the last: 1.8/.8 = 2.25, then 3: never class 0.
    other = found["last first"]
    np.testing.assert_allclose(other.area.values, [np.mean([sigmoid(2.25) - full, sigmoid(3.0) - full])], atol=1e-12)
    assert other.never.values[0] == 1
    assert np.isinf(other.first_flip).all()
    assert np.isinf(other.median_flip())
    assert (other.flipped == 0).all()


def direct(record, scores, attention, decode):
    """Step by step and instance by instance: distances and classes after 0 … T − 1 erasures."""
    for i in range(record.n_instances):
        rows = record.rows(i)
        h, a = np.asarray(record.hidden[rows], dtype=float), np.asarray(attention[rows], dtype=float)
        order = np.argsort(-scores[rows], kind="stable")
        left, steps = a.copy(), []
        for k in range(len(a)):
            if k:
                left[order[k - 1]] = 0
            if left.sum() > 0:
                steps.append(decode(((left / left.sum() * a.sum()) @ h)[None])[0])
            else:
                steps.append(steps[-1])
        yield np.array(steps)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_curves_equal_a_direct_computation(sparse, classes):
    record = make_record(n=60, ragged=True, positions=9, classes=classes, seed=3)
    attention = np.asarray(record.attention).copy()
    if sparse:
        attention[attention < 0.08] = 0
    rng = np.random.default_rng(0)
    scores = rng.random(record.n_rows)
    order = {"some": ErasureOrder("some", scores, attention)}
    found = erase(record, order, record.head)["some"]

    def decode(context):
        return softmax(record.head.logits(context))

    by_function = erase(record, order, decode)["some"]
    for i, probabilities in enumerate(direct(record, scores, attention, decode)):
        length = len(probabilities)
        attended = (attention[record.rows(i)] > 0).sum()
        if length < 2 or attended < 2:
            assert found.area.reasons[i]
            assert np.isnan(found.change[i]).all()
            continue
        distance = np.abs(probabilities - probabilities[0]).sum(axis=1) / 2
        other = probabilities.argmax(axis=1) != probabilities[0].argmax()
        assert found.area.values[i] == pytest.approx(distance[1:].mean(), abs=1e-12)
        assert found.never.values[i] == (not other.any())
        flip = np.argmax(other) / length if other.any() else np.inf
        assert found.first_flip[0, i] == pytest.approx(flip)
        for share, change, flipped in zip(SHARES, found.change[i], found.flipped[i], strict=True):
            k = max(k for k in range(length) if k / length <= share + 1e-9)
            assert change == pytest.approx(distance[k], abs=1e-12)
            assert flipped == other[: k + 1].any()
    np.testing.assert_allclose(by_function.area.values, found.area.values, atol=1e-12)
    assert by_function.area.reasons == found.area.reasons


def test_what_remains_is_summed_exactly_however_small_it_is():
    # After the first two are erased, weights of 1e-14 and 3e-14 remain: 1.4 of the context, exactly.
    weights = [0.5, 0.5 - 4e-14, 1e-14, 3e-14]
    states = [100.0, -100.0, 2.0, 1.2]
    record = one_dimensional([states], [weights])
    contexts = []

    def decode(context):
        contexts.append(context)
        return np.stack([1 - sigmoid(context[:, 0]), sigmoid(context[:, 0])], axis=1)

    erase(record, {"a": ErasureOrder("a", np.array([4.0, 3.0, 2.0, 1.0]), record.attention)}, decode)
    left = [Fraction(w) for w in weights[2:]]
    exact = float(sum(w * Fraction(s) for w, s in zip(left, states[2:], strict=True)) / sum(left))
    assert contexts[0][2, 0] == pytest.approx(exact, rel=1e-12)
    assert contexts[0][3, 0] == pytest.approx(1.2, rel=1e-12)


def test_the_mass_of_a_sink_stays_where_it_was():
    record = one_dimensional([[2.0, 4.0]], [[0.25, 0.25]], sink=[0.5])
    contexts = []

    def decode(context):
        contexts.append(context)
        return np.tile([0.5, 0.5], (len(context), 1))

    erase(record, {"a": ErasureOrder("a", np.array([2.0, 1.0]), record.attention)}, decode)
    np.testing.assert_allclose(contexts[0][:, 0], [1.5, 0.5 * 4.0])


def test_undefined_instances_say_why_and_touch_no_other():
    record = one_dimensional(
        np.ones((4, 3)) * [[1.0, -1.0, 2.0]], [[0.5, 0.3, 0.2], [1, 0, 0], [0.4, 0.4, 0.2], [0.2, 0.3, 0.5]]
    )
    scores = np.array([1.0, 2, 3, 1, 2, 3, 5, 5, 5, 1, np.nan, 3])
    found = erase(record, {"x": ErasureOrder("thing", scores, record.attention, "not aligned")}, record.head)["x"]
    assert found.area.reasons[0] == ""
    assert "single position" in found.area.reasons[1]
    assert found.area.reasons[2:] == ("constant thing", "not aligned")
    assert np.isnan(found.first_flip[0, 1:]).all()
    single = AttentionRecord.from_arrays([np.ones((1, 1)), np.ones((2, 1))], [[1.0], [0.5, 0.5]], [0.4, 0.4])
    scores = np.array([1.0, 1, 2])
    reasons = erase(
        single, {"x": ErasureOrder("x", scores, single.attention)}, one_dimensional([[1, 2]], [[0.5, 0.5]]).head
    )
    assert reasons["x"].area.reasons == ("fewer than two positions", "")


def test_several_orders_are_averaged_and_ties_broken_by_the_seed_alone():
    record = make_record(n=40, positions=6)
    rng = np.random.default_rng(1)
    scores = rng.random((3, record.n_rows))
    single = [erase(record, {0: ErasureOrder("r", row, record.attention)}, record.head)[0] for row in scores]
    found = erase(record, {0: ErasureOrder("r", scores, record.attention)}, record.head)[0]
    np.testing.assert_allclose(found.area.values, np.mean([one.area.values for one in single], axis=0), atol=1e-12)
    np.testing.assert_allclose(found.never.values, np.mean([one.never.values for one in single], axis=0), atol=1e-12)
    tied = np.round(scores[0])
    before = tied.copy()
    areas = [
        erase(record, {0: ErasureOrder("r", tied, record.attention)}, record.head, seed=seed)[0].area.values
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(areas[0], areas[1])
    assert not np.array_equal(areas[0], areas[2])
    np.testing.assert_array_equal(tied, before)


def test_the_median_counts_those_that_never_flip_among_all():
    # Flips at 1/3, never, never: fewer than half ever flip; with two flips of three the median is the larger one.
    states = [[3.0, 1.0, -2.0], [1.0, 2.0, 3.0], [1.0, 1.0, 1.5]]
    record = one_dimensional(states, [[0.5, 0.3, 0.2]] * 3)
    scores = np.tile([3.0, 2.0, 1.0], 3)
    assert np.isinf(erase(record, {0: ErasureOrder("x", scores, record.attention)}, record.head)[0].median_flip())
    states[1] = [3.0, 3.0, -1.0]
    record = one_dimensional(states, [[0.5, 0.3, 0.2]] * 3)
    found = erase(record, {0: ErasureOrder("x", scores, record.attention)}, record.head)[0]
    np.testing.assert_allclose(found.first_flip, [[1 / 3, 2 / 3, np.inf]])
    assert found.median_flip() == pytest.approx(2 / 3)


def test_a_decoder_that_gives_no_probabilities_is_refused():
    record = make_record(n=10)
    order = {0: ErasureOrder("a", np.asarray(record.attention), record.attention)}
    with pytest.raises(ValueError, match="apply softmax"):
        erase(record, order, lambda context: context[:, :2] * 5)
    with pytest.raises(ValueError, match="return"):
        erase(record, order, lambda context: np.ones(len(context)))
    with pytest.raises(ValueError, match="scores of 'a'"):
        erase(record, {0: ErasureOrder("a", np.ones(3), record.attention)}, record.head)


def erasure_row(found, order, output, state="hidden", measure="area"):
    table = found.table
    chosen = (table["estimand"] == "erasure") & (table["measure"] == measure) & (table["order"] == order)
    chosen &= (table["output"] == output) & (table["state"] == state)
    assert chosen.sum() == 1, (order, output, state, measure)
    return table[chosen].iloc[0]


def planted(attended, beside, *, n=500, scale=8.0, seed=0):
    """One position of weight .6, five of .08; evidence of size ``attended`` there, ``beside`` at another."""
    rng = np.random.default_rng(seed)
    hidden = 0.05 * rng.standard_normal((n, 6, 3))
    top = rng.integers(6, size=n)
    other = (top + rng.integers(1, 6, size=n)) % 6
    rows = np.arange(n)
    hidden[rows, top, 0] += attended * rng.choice([-1, 1], size=n)
    hidden[rows, other, 0] += beside * rng.choice([-1, 1], size=n)
    attention = np.full((n, 6), 0.08)
    attention[rows, top] = 0.6
    head = LinearHead(np.array([[0.0, 0, 0], [scale, 0, 0]]), np.zeros(2))
    context = (hidden * attention[:, :, None]).sum(axis=1)
    return AttentionRecord.from_arrays(hidden, attention, softmax(head.logits(context)), head=head)


def test_the_order_of_information_wins_where_attention_looks_at_nothing():
    # The attended state is noise; the prediction rests on one state of small weight.
    found = compare(planted(0.0, 3.0), alignments=("instance",), null_draws=19, estimator=QUICK)
    gap = erasure_row(found, "informativeness minus attention", "prediction")
    assert gap.ci_low > 0.1
    assert erasure_row(found, "informativeness", "prediction").estimate > erasure_row(found, "random", "", "").estimate
    evidence = erasure_row(found, "attended head evidence", "", "")
    assert evidence.estimate == pytest.approx(erasure_row(found, "informativeness", "prediction").estimate, abs=0.02)


def test_the_order_of_attention_wins_where_the_strongest_evidence_is_not_attended():
    # The unattended state has the larger evidence, the attended one decides: .6 · 1 against .08 · 2.
    found = compare(planted(1.0, 2.0), alignments=("instance",), null_draws=19, estimator=QUICK)
    gap = erasure_row(found, "informativeness minus attention", "prediction")
    assert gap.ci_high < -0.1
    flips = [
        erasure_row(found, order, output, state, "median_flip").estimate
        for order, output, state in (("attention", "", ""), ("informativeness", "prediction", "hidden"))
    ]
    never = [
        erasure_row(found, order, output, state, "never_flips").estimate
        for order, output, state in (("attention", "", ""), ("informativeness", "prediction", "hidden"))
    ]
    assert np.isnan(flips).any() or flips[0] <= flips[1]
    assert never[0] <= never[1] + 0.05


def test_differences_are_paired_and_under_permuted_weights_attention_leads_by_arithmetic():
    record = make_record(n=300, ragged=True, positions=10, seed=4)
    found = compare(record, alignments=("instance", "position", "rank"), bins=4, null_draws=19, estimator=QUICK)
    values = found.instances[(found.instances["estimand"] == "erasure")]
    attention = np.asarray(record.attention, dtype=float)
    orders = {
        "attention": ErasureOrder("attention", attention, attention),
        "attended head evidence": ErasureOrder("e", head_evidence(record, record.head) * attention, attention),
    }
    direct = erase(record, orders, record.head)
    gap = direct["attended head evidence"].area.values - direct["attention"].area.values
    row = erasure_row(found, "attended head evidence minus attention", "", "")
    assert row.estimate == pytest.approx(np.nanmean(gap), abs=1e-9)
    stored = values[values["order"] == "attended head evidence minus attention"]["value"].to_numpy()
    np.testing.assert_allclose(stored, gap, atol=1e-9)
    # Nothing was learned: a random order is behind attention by the arithmetic of weights, as under permuted weights.
    lead = [erasure_row(found, "random minus attention", output, "") for output in ("", "permuted attention")]
    assert lead[0].ci_high < 0
    assert lead[1].ci_high < 0
    assert abs(lead[0].estimate - lead[1].estimate) < 0.03
    for order in ("mutual information", "mutual information by rank"):
        assert erasure_row(found, order, "label").n_instances > 100
    curves = found.erasure_curves
    assert not curves.duplicated(["quantity", "order", "output", "state", "share"]).any()
    end = curves[(curves["quantity"] == "change") & (curves["order"] == "attention") & (curves["output"] == "")]
    assert end.sort_values("share")["estimate"].iloc[0] == 0
    assert (end["ci_low"] <= end["estimate"]).sum() >= 15
    assert [path.suffix for path in found.plot("figure.png", "erasure")] == [".png"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_profiles_erase_by_position_and_by_rank():
    record = make_record(n=150, positions=6, seed=8)
    found = compare(record, alignments=("position", "rank"), ranks=4, null_draws=19, estimator=QUICK)
    attention = np.asarray(record.attention, dtype=float)
    nats = {
        kind: found.profile[
            (found.profile["alignment"] == kind)
            & (found.profile["output"] == "label")
            & (found.profile["state"] == "hidden")
        ]["nats"].to_numpy()
        for kind in ("position", "rank")
    }
    by_rank = np.empty(record.n_rows)
    for i in range(150):
        rows = record.rows(i)
        places = np.argsort(np.argsort(-attention[rows]))
        # The ranks asked for by their information, the two behind them in the order of attention.
        by_rank[rows] = np.where(places < 4, 10 + nats["rank"][np.minimum(places, 3)], attention[rows])
    orders = {
        "mutual information": ErasureOrder("a", np.tile(nats["position"], 150), attention),
        "mutual information by rank": ErasureOrder("b", by_rank, attention),
    }
    for name, curves in erase(record, orders, record.head).items():
        assert erasure_row(found, name, "label").estimate == pytest.approx(curves.area.mean(), abs=1e-9)


def test_without_a_decoder_the_check_is_absent_with_its_reason():
    rng = np.random.default_rng(0)
    record = make_record(n=150, head=None, output=rng.uniform(0.1, 0.9, 150))
    found = compare(record, alignments=("instance",), null_draws=19, estimator=QUICK)
    rows = found.table[found.table["estimand"] == "erasure"]
    assert len(rows) >= 3
    assert rows["estimate"].isna().all()
    assert rows["reason"].str.contains("give head= to the record, or decode=").all()
    assert not len(found.erasure_curves)


def test_a_decoder_given_as_a_function_makes_the_check_and_the_recomputed_controls():
    def decode(context):
        return softmax(np.stack([np.zeros(len(context)), 3 * np.sin(context[:, 0]) + context[:, 1]], axis=1))

    base = make_record(n=200, head=None)
    context = np.add.reduceat(base.hidden * base.attention[:, None], base.offsets[:-1], axis=0)
    record = make_record(n=200, head=None, output=decode(context))
    without = compare(record, alignments=("instance",), null_draws=19, estimator=QUICK)
    assert not (without.table["output"] == "uniform prediction").any()
    found = compare(record, alignments=("instance",), null_draws=19, estimator=QUICK, decode=decode)
    assert (found.table["output"] == "uniform prediction").any()
    assert erasure_row(found, "informativeness minus attention", "prediction").n_instances == 200
    assert "no linear head" in " ".join(found.absent()["reason"])
    wrong = compare(
        record, alignments=("instance",), null_draws=19, estimator=QUICK, decode=lambda c: softmax(c[:, :2])
    )
    assert "decode misses the recorded output" in " ".join(wrong.absent()["reason"])
