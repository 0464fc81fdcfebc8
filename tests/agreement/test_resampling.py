"""Intervals of agreements that are one number a run: the procedures the calibration suite confirms, and no others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mi_attention.agreement import compare
from mi_attention.agreement.pooling import pool_agreement
from mi_attention.agreement.resampling import ERROR_DRAWS, ERROR_SEED, RUN_DRAWS, RunDraws, add_excess, interval_of_run
from mi_attention.agreement.rows import Rows
from mi_attention.interface import AttentionRecord, MIEstimate
from mi_attention.measures import somers_d, weighted_tau
from mi_attention.statistics import (
    attention_order,
    bootstrap_means,
    crossed_interval,
    joint_bootstrap_interval,
    position_interval,
    shrink_profile,
)

N, POSITIONS = 80, 8
OPTIONS = {"alignments": ("position", "rank"), "null_draws": 19, "seed": 3}


@dataclass(frozen=True)
class Reads:
    """An estimator whose pointwise values are the first number of each state: the profile is known to the test."""

    signature: str = "reads"
    offset: float = 0.0

    def estimate(self, x, y, groups=None):
        local = np.asarray(x, dtype=np.float64)[:, 0]
        raw = float(local.mean())
        error = float(local.std(ddof=1) / np.sqrt(len(local)))
        return MIEstimate(raw + self.offset, raw, local, error, len(local), 0.7, "ok", "", self.signature)

    def estimate_many(self, units):
        return [self.estimate(unit.x, unit.y) for unit in units]


def record_of(seed, *, flat=False):
    fixed = np.random.default_rng(0)
    profile, wanted = fixed.standard_normal((2, POSITIONS))
    shared = fixed.standard_normal((N, POSITIONS))
    rng = np.random.default_rng(seed)
    local = profile + 0.3 * rng.standard_normal(POSITIONS) + 3 * (shared + rng.standard_normal((N, POSITIONS)))
    logits = 0.5 * wanted + 0.5 * profile + rng.standard_normal((N, POSITIONS))
    weights = np.full((N, POSITIONS), 1 / POSITIONS) if flat else np.exp(logits)
    weights = weights / weights.sum(axis=1, keepdims=True)
    hidden = np.stack([local, rng.standard_normal(local.shape)], axis=2)
    output = fixed.dirichlet((1, 1), size=N)
    return AttentionRecord.from_arrays(hidden, weights, output, label=fixed.integers(2, size=N))


RECORDS = [record_of(seed) for seed in (1, 2, 3)]
OFFSETS = RECORDS[0].offsets


def columns(records):
    local = np.stack([np.asarray(r.hidden)[:, 0].reshape(N, POSITIONS).T for r in records]).astype(np.float64)
    weights = np.stack([np.asarray(r.attention).reshape(N, POSITIONS).T for r in records]).astype(np.float64)
    return local, weights


@pytest.fixture(scope="module")
def runs():
    return [compare(record, estimator=Reads(), **OPTIONS) for record in RECORDS]


@pytest.fixture(scope="module")
def pooled(runs):
    return pool_agreement(runs, OFFSETS, confidence=0.95, null_draws=19, seed=0)


def row(frame, estimand, order="mutual information", output="label", measure="kendall_tau_b"):
    labels = {"estimand": estimand, "measure": measure, "order": order, "output": output, "state": "hidden"}
    chosen = np.logical_and.reduce([frame[name] == value for name, value in labels.items()])
    assert chosen.sum() == 1, labels
    return frame[chosen].iloc[0]


def ends(found):
    return pytest.approx((found.estimate, max(found.ci_low, -1), min(found.ci_high, 1)), abs=1e-12)


def test_one_run_has_the_calibrated_interval(runs):
    for record, run in zip(RECORDS, runs, strict=True):
        expected = position_interval(*columns([record]), rng=ERROR_SEED, n_resamples=RUN_DRAWS)
        made = row(run.table, "position")
        assert (made.estimate, made.ci_low, made.ci_high) == ends(expected)
        assert made.interval.startswith("t, standard error by bootstrap over instances")


@pytest.mark.parametrize("order", ["mutual information", "held-out mutual information"])
def test_several_runs_have_the_calibrated_interval(pooled, order):
    expected = position_interval(*columns(RECORDS), rng=ERROR_SEED, n_resamples=ERROR_DRAWS)
    made = row(pooled, "position", order)
    assert (made.estimate, made.ci_low, made.ci_high) == ends(expected)
    assert made.interval == "seeds crossed with instances, MI error included"
    assert made.n_seeds == 3


def test_unshrunk_profiles_would_give_another_interval(runs):
    # A control of the tests above: on these data leaving out the shrinkage shows.
    local, weights = columns(RECORDS[:1])
    expected = position_interval(local, weights, rng=ERROR_SEED, n_resamples=RUN_DRAWS)
    made = row(runs[0].table, "position")
    plain = bootstrap_means(
        lambda m, a: stats_tau(m, a), local[0], weights[0], rng=ERROR_SEED, n_resamples=RUN_DRAWS
    ).standard_error
    half = (made.ci_high - made.ci_low) / 2
    assert half == pytest.approx(stats.t.ppf(0.975, N - 1) * expected.standard_error)
    assert half > 1.02 * stats.t.ppf(0.975, N - 1) * plain


def stats_tau(profiles, weights):
    return np.array([stats.kendalltau(m, a).statistic for m, a in zip(profiles, weights, strict=True)])


@pytest.mark.parametrize(("measure", "of"), [("weighted_tau", weighted_tau), ("somers_d", somers_d)])
def test_further_measures_are_joined_too(runs, pooled, measure, of):
    local, weights = columns(RECORDS)
    found = [
        bootstrap_means(
            lambda m, a: of(a, m).values,
            shrink_profile(values),
            shrink_profile(attention),
            rng=ERROR_SEED,
            n_resamples=ERROR_DRAWS,
        )
        for values, attention in zip(local, weights, strict=True)
    ]
    expected = joint_bootstrap_interval([f.estimate for f in found], [f.resampled for f in found], n_instances=N)
    output = runs[0].output
    made = row(pooled, "position", output=output, measure=measure)
    assert (made.estimate, made.ci_low, made.ci_high) == ends(expected)
    single = row(runs[1].table, "position", output=output, measure=measure)
    assert single.ci_high - single.ci_low == pytest.approx(
        min(1, single.estimate + stats.t.ppf(0.975, N - 1) * found[1].standard_error)
        - max(-1, single.estimate - stats.t.ppf(0.975, N - 1) * found[1].standard_error)
    )


def test_the_error_of_instance_rows_is_of_shrunken_profiles(runs, pooled):
    local, weights = columns(RECORDS)
    orders = [attention_order(attention.T) for attention in weights]
    draws = [
        bootstrap_means(order.mean_tau_b, shrink_profile(values), rng=ERROR_SEED, n_resamples=ERROR_DRAWS).resampled
        for order, values in zip(orders, local, strict=True)
    ]
    for run, drawn in zip(runs, draws, strict=True):
        frame = run.profile_error
        kept = frame[(frame["output"] == "label") & (frame["state"] == "hidden")]
        np.testing.assert_allclose(kept["value"], drawn)
    tables = [run.instances for run in runs]
    values = np.stack(
        [
            t[(t["estimand"] == "instance") & (t["order"] == "mutual information") & (t["output"] == "label")]["value"]
            for t in tables
        ]
    )
    expected = crossed_interval(values, profile_variance=np.mean(draws, axis=0).var(ddof=1))
    made = row(pooled, "instance")
    assert (made.ci_low, made.ci_high) == pytest.approx((expected.ci_low, expected.ci_high))


def test_ranks_are_joined(runs, pooled):
    made = row(pooled, "rank")
    assert made.interval == "seeds crossed with instances, MI error included"
    single = row(runs[0].table, "rank")
    kept = runs[0].resamples
    draws = kept[(kept["estimand"] == "rank") & (kept["output"] == "label") & (kept["order"] == "mutual information")]
    assert len(draws) == ERROR_DRAWS
    # Of one side: the other is cut at 1 or -1.
    reach = max(single.ci_high - single.estimate, single.estimate - single.ci_low) / stats.t.ppf(0.975, N - 1)
    assert reach == pytest.approx(draws["value"].std(ddof=1), rel=0.15)


def test_the_excess_is_paired_draw_by_draw():
    rng = np.random.default_rng(0)
    shared = 0.1 * rng.standard_normal(RUN_DRAWS)
    first, second = (RunDraws(tau, shared + 0.01 * rng.standard_normal(RUN_DRAWS)) for tau in (0.6, 0.2))
    rows = Rows("signature", 0.95)
    add_excess(rows, "position", "prediction", first, second, N, POSITIONS)
    made = rows.agreement_frame().iloc[0]
    half = stats.t.ppf(0.975, N - 1) * (first.resampled - second.resampled).std(ddof=1)
    assert (made.estimate, made.ci_low, made.ci_high) == pytest.approx((0.4, 0.4 - half, 0.4 + half))
    kept = rows.resample_frame()
    assert set(kept["output"]) == {"prediction minus permuted attention"}
    np.testing.assert_array_equal(kept["value"], (first.resampled - second.resampled)[:ERROR_DRAWS])


def test_a_run_without_an_order_does_not_take_the_interval_from_the_others():
    records = [*RECORDS[:2], record_of(9, flat=True)]
    runs = [compare(record, estimator=Reads(), **OPTIONS) for record in records]
    found = pool_agreement(runs, OFFSETS, confidence=0.95, null_draws=19, seed=0)
    expected = position_interval(*columns(records), rng=ERROR_SEED, n_resamples=ERROR_DRAWS)
    assert (expected.n_seeds, expected.n_seeds_left_out) == (2, 1)
    made = row(found, "position")
    assert (made.estimate, made.ci_low, made.ci_high) == ends(expected)
    inside = row(found, "instance")
    assert inside.n_seeds == 2
    assert "error of the profile included" in inside.interval


def test_best_values_off_the_held_out_ones_have_the_interval_around_themselves():
    # An offset moves all units alike: neither order nor error changes.
    moved = compare(RECORDS[0], estimator=Reads(offset=2.0), **OPTIONS)
    plain = compare(RECORDS[0], estimator=Reads(), **OPTIONS)
    for order in ("mutual information", "held-out mutual information"):
        first, second = (row(found.table, "position", order) for found in (moved, plain))
        assert (first.ci_low, first.ci_high) == pytest.approx((second.ci_low, second.ci_high))


def test_what_has_no_interval_says_why():
    nan = float("nan")
    assert interval_of_run(RunDraws(nan, np.empty(0), "constant attention"), 9, 0.95) == {
        "reason": "constant attention"
    }
    assert "two instances" in interval_of_run(RunDraws(0.5, np.full(200, 0.5)), 1, 0.95)["reason"]
    assert "no spread" in interval_of_run(RunDraws(0.5, np.full(200, 0.5)), 9, 0.95)["reason"]
    wide = interval_of_run(RunDraws(0.9, np.random.default_rng(0).standard_normal(200)), 9, 0.95)
    assert (wide["ci_low"], wide["ci_high"]) == (-1.0, 1.0)
    wide = interval_of_run(RunDraws(0.9, np.random.default_rng(0).standard_normal(200)), 9, 0.95, widest=2.0)
    assert wide["ci_high"] == 2.0


def test_what_is_held_of_the_entropy_has_no_interval_above_it_and_differences_may(runs):
    named = {
        "attended_share": ("prediction", 0.97),
        "context_share": ("label", 0.9),
        "attended_excess": ("label", 0.97),
        "uniform_share": ("prediction minus permuted attention", 0.97),
    }
    several = []
    for run, shift in zip(runs, (-0.03, 0.03, 0.0), strict=True):
        labels = {"estimand": "preservation", "order": "mutual information", "state": "hidden", "unit": "share of H(Y)"}
        rows = [
            labels | {"measure": measure, "output": output, "estimate": value + shift, "reason": ""}
            for measure, (output, value) in named.items()
        ]
        frame = pd.DataFrame(rows).reindex(columns=run.table.columns)
        frame = frame.assign(n_instances=N, undefined_share=0.0, signature=run.signature)
        several.append(replace(run, table=frame))
    found = pool_agreement(several, OFFSETS, confidence=0.95, null_draws=19, seed=0).set_index("measure")
    half = stats.t.ppf(0.975, 2) * 0.03 / np.sqrt(3)
    assert found.loc["attended_share", "ci_high"] == 1.0
    assert found.loc["context_share", "ci_high"] == pytest.approx(0.9 + half)
    for free in ("attended_excess", "uniform_share"):
        assert found.loc[free, "ci_high"] == pytest.approx(0.97 + half)
