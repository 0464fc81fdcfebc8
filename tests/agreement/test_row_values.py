"""Every row of a comparison is computed from what its labels say: each is computed here again, by itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from mi_attention.agreement import (
    align_positions,
    align_ranks,
    align_tokens,
    compare,
    estimate_profiles,
    find_decoder,
    head_evidence,
    permute_attention,
    pointwise_ceiling,
    pointwise_halves,
    probabilities_under,
    profile_reliability,
    uniform_attention,
)
from mi_attention.measures import concentration, kendall_tau_b, somers_d, tie_share, top_k_excess, weighted_tau
from mi_attention.statistics import attention_order, crossed_interval, partner_null, shift_null
from tests.agreement.synthetic import QUICK, make_record, softmax

SEED, DRAWS, BINS, MAIN, PERMUTED = 3, 99, 6, "prediction", "permuted attention"
OUTPUTS = (MAIN, "label", "uniform prediction", PERMUTED)
EXCESS = f"{MAIN} minus {PERMUTED}"
# Profiles: output and state, as the tables name them.
PROFILES = (*((output, "hidden") for output in OUTPUTS), (MAIN, "embedding"))
MEASURES = ("weighted_tau", "somers_d", *(f"top_{k}_above_chance" for k in ("1", "3", "5", "tenth")))
CONTROLS = ("head evidence", "attended head evidence", "position index", "token frequency", "random", "rationale")
POINTWISE = (
    *(("kendall_tau_b", order, output, "hidden") for order in ("informativeness", "support") for output in OUTPUTS),
    *((measure, "informativeness", output, "hidden") for measure in MEASURES for output in (MAIN, PERMUTED)),
    ("kendall_tau_b", "informativeness", EXCESS, "hidden"),
    ("kendall_tau_b", "informativeness", MAIN, "embedding"),
    *(("kendall_tau_b", order, "", "") for order in CONTROLS),
)


def make_tied_record(classes):
    """Attention that leans to large states and has exact ties, so that no two measures and orders coincide."""
    base = make_record(n=300, ragged=True, positions=24, classes=classes, seed=5)
    rng = np.random.default_rng(6)
    hidden, lengths, starts = np.asarray(base.hidden), base.lengths, base.offsets[:-1]
    # Steps of a quarter make ties; later positions get more.
    logits = np.round(4 * (0.8 * hidden[:, 0] + 0.05 * base.row_position + rng.standard_normal(base.n_rows))) / 4
    attention = np.exp(logits)
    attention /= np.repeat(np.add.reduceat(attention, starts), lengths)
    context = np.add.reduceat(hidden * attention[:, None], starts, axis=0)
    mean = np.add.reduceat(hidden, starts, axis=0) / lengths[:, None]
    noisy = base.head.logits(mean) + rng.gumbel(size=(300, classes))
    words = rng.choice(6, size=base.n_rows, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    tokens = [[f"w{word}" for word in words[start:stop]] for start, stop in pairwise(base.offsets)]
    made = make_record(
        n=300,
        ragged=True,
        positions=24,
        classes=classes,
        seed=5,
        attention=attention,
        output=softmax(base.head.logits(context)),
        tokens=tokens,
        rationale=(rng.random(base.n_rows) < 0.4).astype(float),
    )
    return replace(made, label=noisy.argmax(axis=1))


@pytest.fixture(scope="module", params=[2, 3])
def case(request):
    """A record, its comparison, and all that the tests compute anew from the record alone."""
    record = make_tied_record(request.param)
    permuted = permute_attention(record, SEED)
    head = find_decoder(record).head
    outputs = {
        MAIN: record.output.argmax(axis=1),
        "label": record.label,
        "uniform prediction": probabilities_under(record, head, uniform_attention(record)).argmax(axis=1),
        PERMUTED: probabilities_under(record, head, permuted).argmax(axis=1),
    }
    for name, y in outputs.items():
        assert np.bincount(y, minlength=request.param).min() >= 10, f"classes of {name} would be merged"
    attention = np.asarray(record.attention)
    return SimpleNamespace(
        record=record,
        found=compare(record, seed=SEED, null_draws=DRAWS, bins=BINS, estimator=QUICK),
        outputs=outputs,
        attention={name: permuted if name == PERMUTED else attention for name in OUTPUTS},
        head=head,
        pooled={
            (name, state): QUICK.estimate(
                record.hidden if state == "hidden" else record.embedding,
                outputs[name][record.row_instance],
                record.row_instance,
            )
            for name, state in PROFILES
        },
    )


def the_row(frame, **labels):
    chosen = np.logical_and.reduce([frame[name] == value for name, value in labels.items()])
    assert chosen.sum() == 1, f"{chosen.sum()} rows of {labels}"
    return frame[chosen].iloc[0]


def the_agreement(case, estimand, order, output, state="hidden", measure="kendall_tau_b"):
    return the_row(case.found.table, estimand=estimand, measure=measure, order=order, output=output, state=state)


def pointwise_values(case, measure, order, output, state):
    """``(N,)`` what the row is the mean of."""
    record, offsets = case.record, case.record.offsets
    if output == EXCESS:
        first, second = (pointwise_values(case, measure, order, name, state) for name in (MAIN, PERMUTED))
        return first - second
    attention = case.attention[output or MAIN]
    if order in CONTROLS:
        counts = dict.fromkeys(record.vocabulary, 0)
        words = [word for i in range(record.n_instances) for word in record.tokens(i)]
        for word in words:
            counts[word] += 1
        evidence = head_evidence(record, case.head)
        values = {
            "head evidence": evidence,
            "attended head evidence": evidence * attention,
            "position index": record.row_position.astype(float),
            "token frequency": np.array([counts[word] for word in words], dtype=float),
            "random": np.random.default_rng([SEED, 1]).random(record.n_rows),
            "rationale": np.asarray(record.rationale),
        }[order]
    else:
        estimate = case.pooled[output, state]
        values = estimate.informativeness if order == "informativeness" else estimate.local
    measures = {
        "kendall_tau_b": kendall_tau_b,
        "weighted_tau": weighted_tau,
        "somers_d": somers_d,
        "top_1_above_chance": lambda *columns: top_k_excess(*columns, k=1),
        "top_3_above_chance": lambda *columns: top_k_excess(*columns, k=3),
        "top_5_above_chance": lambda *columns: top_k_excess(*columns, k=5),
        "top_tenth_above_chance": lambda *columns: top_k_excess(*columns, fraction=0.1),
    }
    return measures[measure](attention, values, offsets).values


@pytest.mark.parametrize(("measure", "order", "output", "state"), POINTWISE)
def test_a_pointwise_row_is_the_mean_over_instances_of_what_it_names(case, measure, order, output, state):
    values = pointwise_values(case, measure, order, output, state)
    row = the_agreement(case, "pointwise", order, output, state, measure)
    assert row.estimate == pytest.approx(np.nanmean(values), abs=1e-9)
    interval = crossed_interval(values[None, :])
    assert (row.ci_low, row.ci_high) == pytest.approx((interval.ci_low, interval.ci_high), abs=1e-9)
    undefined = np.isnan(values).sum()
    assert (row.undefined, row.n_instances, row.undefined_share) == (undefined, 300 - undefined, undefined / 300)
    frame = case.found.instances
    chosen = (frame["estimand"] == "pointwise") & (frame["measure"] == measure) & (frame["order"] == order)
    chosen &= (frame["output"] == output) & (frame["state"] == state)
    stored = frame[chosen].sort_values("instance")["value"].to_numpy()
    np.testing.assert_allclose(stored, values, atol=1e-9)


def test_no_two_pointwise_rows_are_equal_so_that_an_exchange_would_show(case):
    table = case.found.table
    rows = table[table["estimand"] == "pointwise"]
    assert len(rows) == len(POINTWISE)
    assert np.diff(np.sort(rows["estimate"].to_numpy(dtype=float))).min() > 1e-6


@pytest.mark.parametrize(("output", "state"), [(MAIN, "hidden"), ("label", "hidden"), (MAIN, "embedding")])
def test_partner_nulls_are_of_their_own_information(case, output, state):
    row = the_agreement(case, "pointwise", "informativeness", output, state)
    null = partner_null(
        case.pooled[output, state].informativeness,
        case.attention[MAIN],
        case.record.offsets,
        rng=SEED,
        n_resamples=DRAWS,
    )
    assert row.null_mean == pytest.approx(null.null_mean, abs=1e-9)
    assert (row.p, row.smallest_p) == (null.p, 1 / 100)
    assert "attention of another instance" in row["null"]


def test_only_the_rows_that_have_a_null_or_a_reliability_show_one(case):
    table = case.found.table
    pointwise = table[table["estimand"] == "pointwise"]
    with_null = {(MAIN, "hidden"), ("label", "hidden"), (MAIN, "embedding")}
    informed = pointwise[pointwise["p"].notna()]
    assert set(zip(informed["output"], informed["state"], strict=True)) == with_null
    assert set(informed["order"]) == {"informativeness"}
    assert set(informed["measure"]) == {"kendall_tau_b"}
    assert informed["null_mean"].nunique() == 3
    assert set(pointwise.loc[pointwise["reliability"].isna(), "order"]) == {*CONTROLS, "informativeness"}
    lacking = pointwise[pointwise["reliability"].isna() & (pointwise["order"] == "informativeness")]
    # The difference of two agreements has no order of its own.
    assert set(lacking["output"]) == {EXCESS}


@pytest.mark.parametrize(("output", "state"), PROFILES)
def test_reliability_is_that_of_the_rows_own_output(case, output, state):
    halves = pointwise_halves(case.record, case.outputs[output], QUICK, seed=SEED, state=state)
    for order in ("informativeness",) if state == "embedding" else ("informativeness", "support"):
        expected = halves.tau(order).mean()
        row = the_agreement(case, "pointwise", order, output, state)
        assert row.reliability == pytest.approx(expected, abs=1e-9)
        assert row.ceiling == pytest.approx(pointwise_ceiling(expected, folds=QUICK.folds), nan_ok=True)


def test_positions_hold_the_pointwise_information_of_each_output(case):
    frame, record = case.found.positions, case.record
    np.testing.assert_array_equal(frame["instance"], record.row_instance)
    np.testing.assert_array_equal(frame["position"], record.row_position)
    np.testing.assert_allclose(frame["attention"], record.attention, rtol=1e-6)
    for column, key in (
        ("informativeness", (MAIN, "hidden")),
        ("informativeness_label", ("label", "hidden")),
        ("informativeness_embedding", (MAIN, "embedding")),
    ):
        np.testing.assert_allclose(frame[column], case.pooled[key].informativeness, atol=1e-9)


def relative_attention_by_bin(record, attention, bins):
    """``(bins, N)`` mean of a·T over the positions of a bin, one instance at a time; NaN off the panel."""
    out = np.full((bins, record.n_instances), np.nan)
    for i, (start, stop) in enumerate(pairwise(record.offsets)):
        length = stop - start
        if length < bins:
            continue
        bin_of = [int(t * bins / length + 1e-9) for t in range(length)]
        for b in range(bins):
            out[b, i] = np.mean([attention[start + t] * length for t in range(length) if bin_of[t] == b])
    return out


def profile_part(case, alignment, output, state):
    frame = case.found.profile
    chosen = (frame["alignment"] == alignment) & (frame["output"] == output) & (frame["state"] == state)
    return frame[chosen].sort_values("unit_index")


@pytest.mark.parametrize("kind", ["position", "token", "rank"])
@pytest.mark.parametrize(("output", "state"), PROFILES)
def test_profiles_are_estimated_from_their_own_units_output_and_state(case, kind, output, state):
    record = case.record
    make = {
        "position": lambda: align_positions(record, bins=BINS),
        "token": lambda: align_tokens(record),
        "rank": lambda: align_ranks(record, case.attention[output], ranks=5, seed=SEED),
    }
    alignment = make[kind]()
    (own,) = estimate_profiles(record, alignment, {output: case.outputs[output]}, QUICK, state=state)
    part = profile_part(case, kind, output, state)
    assert tuple(part["unit"]) == alignment.names
    np.testing.assert_allclose(part["nats"], own.nats, atol=1e-9)
    np.testing.assert_allclose(part["lower_bound"], own.signed, atol=1e-9)
    by_instance = alignment.attention_by_instance(record, case.attention[output])
    np.testing.assert_allclose(part["attention"], np.nanmean(by_instance, axis=1), atol=1e-9)


@pytest.mark.parametrize(("output", "state"), PROFILES)
def test_attention_by_position_is_relative_to_uniform_attention_and_of_its_own_version(case, output, state):
    expected = relative_attention_by_bin(case.record, case.attention[output], BINS)
    part = profile_part(case, "position", output, state)
    np.testing.assert_allclose(part["attention"], np.nanmean(expected, axis=1), atol=1e-9)


@pytest.mark.parametrize("kind", ["position", "token"])
@pytest.mark.parametrize(("output", "state"), PROFILES)
def test_rows_of_mean_attention_are_of_their_own_profile(case, kind, output, state):
    part = profile_part(case, kind, output, state)
    attention = part["attention"].to_numpy()
    tau = stats.kendalltau(attention, part["nats"]).statistic
    row = the_agreement(case, kind, "mutual information", output, state)
    assert row.estimate == pytest.approx(tau, abs=1e-9)
    held_out = stats.kendalltau(attention, part["lower_bound"]).statistic
    assert the_agreement(case, kind, "held-out mutual information", output, state).estimate == pytest.approx(
        held_out, abs=1e-9
    )
    if kind == "position":
        null = shift_null(part["nats"], attention)
        assert (row.null_mean, row.p, row.smallest_p) == pytest.approx((null.null_mean, null.p, null.smallest_p))
    else:
        assert np.isnan(row.p)


@pytest.mark.parametrize("kind", ["position", "token"])
def test_further_measures_of_mean_attention_are_of_the_prediction(case, kind):
    part = profile_part(case, kind, MAIN, "hidden")
    attention, nats = part["attention"].to_numpy(), part["nats"].to_numpy()
    for measure, of in (("weighted_tau", weighted_tau), ("somers_d", somers_d)):
        row = the_agreement(case, kind, "mutual information", MAIN, measure=measure)
        assert row.estimate == pytest.approx(of(attention, nats).values[0], abs=1e-9)
    table = case.found.table
    further = table[(table["estimand"] == kind) & table["measure"].isin(["weighted_tau", "somers_d"])]
    assert set(further["output"]) == {MAIN, PERMUTED}


@pytest.mark.parametrize("output", [MAIN, "label"])
def test_profile_reliability_is_of_the_rows_own_output(case, output):
    record = case.record
    (own,) = estimate_profiles(record, align_positions(record, bins=BINS), {output: case.outputs[output]}, QUICK)
    expected = profile_reliability(record, own, seed=SEED)
    row = the_agreement(case, "position", "mutual information", output)
    assert (row.reliability, row.ceiling) == pytest.approx(
        (expected.split_half, expected.ceiling), abs=1e-9, nan_ok=True
    )


def inside_values(case, output, state):
    """``(N,)`` tau-b of the profile and the attention of each instance, from scipy, NaN off the panel."""
    nats = profile_part(case, "position", output, state)["nats"].to_numpy()
    by_instance = relative_attention_by_bin(case.record, case.attention[output], len(nats))
    values = np.full(case.record.n_instances, np.nan)
    for i, column in enumerate(by_instance.T):
        # kendalltau of a constant is NaN, which is what undefined means here.
        if not np.isnan(column).any() and np.ptp(column) > 1e-12:
            values[i] = stats.kendalltau(column, nats).statistic
    return values


@pytest.mark.parametrize(("output", "state"), PROFILES)
def test_instance_rows_compare_their_profile_with_the_attention_of_each_instance(case, output, state):
    values = inside_values(case, output, state)
    row = the_agreement(case, "instance", "mutual information", output, state)
    assert row.estimate == pytest.approx(np.nanmean(values), abs=1e-9)
    undefined = np.isnan(values).sum()
    assert (row.undefined, row.n_instances) == (undefined, 300 - undefined)


def test_the_instance_row_of_the_excess_is_a_paired_difference(case):
    values = inside_values(case, MAIN, "hidden") - inside_values(case, PERMUTED, "hidden")
    row = the_agreement(case, "instance", "mutual information", EXCESS)
    assert row.estimate == pytest.approx(np.nanmean(values), abs=1e-9)


@pytest.mark.parametrize(("output", "state"), [(MAIN, "hidden"), ("label", "hidden"), (MAIN, "embedding")])
def test_instance_nulls_shift_their_own_profile(case, output, state):
    nats = profile_part(case, "position", output, state)["nats"].to_numpy()
    by_instance = align_positions(case.record, bins=BINS).attention_by_instance(case.record, case.attention[MAIN])
    complete = by_instance[:, ~np.isnan(by_instance).any(axis=0)].T
    null = shift_null(nats, [attention_order(complete)])
    row = the_agreement(case, "instance", "mutual information", output, state)
    assert (row.null_mean, row.p, row.smallest_p) == pytest.approx((null.null_mean, null.p, null.smallest_p))


@pytest.mark.parametrize(("output", "state"), PROFILES)
def test_rank_rows_come_from_the_profile_by_rank(case, output, state):
    part = profile_part(case, "rank", output, state)
    nats = part["nats"].to_numpy()
    assert len(nats) == 5
    tau = stats.kendalltau([-1, -2, -3, -4, -5], nats).statistic
    panel = int((case.record.lengths >= 5).sum())
    expected = {"kendall_tau_b": tau, "first_rank": nats[0]}
    # The ceiling is H(Y) over the panel.
    shares = np.bincount(case.outputs[output][case.record.lengths >= 5]) / panel
    expected["first_rank_share"] = nats[0] / -(shares * np.log(shares)).sum()
    for measure, value in expected.items():
        row = the_agreement(case, "rank", "mutual information", output, state, measure)
        assert row.estimate == pytest.approx(value, abs=1e-9)
        assert (row.n_instances, row.undefined) == (panel, 300 - panel)


def test_the_first_rank_excess_is_prediction_minus_permuted(case):
    first, second = (profile_part(case, "rank", name, "hidden")["nats"].iloc[0] for name in (MAIN, PERMUTED))
    row = the_agreement(case, "rank", "mutual information", EXCESS, measure="first_rank")
    assert row.estimate == pytest.approx(first - second, abs=1e-9)


@pytest.mark.parametrize("kind", ["position", "rank"])
def test_no_two_profiles_are_equal_so_that_an_exchange_would_show(case, kind):
    columns = [profile_part(case, kind, output, state)["nats"].to_numpy() for output, state in PROFILES]
    for i, left in enumerate(columns):
        for right in columns[:i]:
            assert np.abs(left - right).max() > 1e-4
    table = case.found.table
    chosen = (table["estimand"] == "instance") | (table["measure"] == "first_rank")
    chosen &= table["order"] == "mutual information"
    values = np.sort(table.loc[chosen, "estimate"].to_numpy(dtype=float))
    assert len(values) == 12
    assert np.diff(values).min() > 1e-6


def test_concentration_rows_are_of_the_records_own_attention(case):
    attention, offsets = case.record.attention, case.record.offsets
    expected = concentration(attention, offsets) | {"tied_pair_share": tie_share(attention, offsets)}
    frame = case.found.concentration
    assert set(frame["measure"]) == set(expected)
    for name, measured in expected.items():
        row = the_row(frame, measure=name)
        assert row.estimate == pytest.approx(measured.mean(), abs=1e-9)
        interval = crossed_interval(measured.values[None, :])
        assert (row.ci_low, row.ci_high) == pytest.approx((interval.ci_low, interval.ci_high), abs=1e-9, nan_ok=True)
