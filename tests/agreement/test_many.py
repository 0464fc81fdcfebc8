"""Several runs of the same instances: every pooled number from what the single runs hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mi_attention.agreement import compare, compare_many
from mi_attention.agreement.pooling import join_signatures
from mi_attention.statistics import (
    contrast_table,
    crossed_interval,
    joint_bootstrap_interval,
    partner_null,
    seed_interval,
    shift_null,
)
from tests.agreement.synthetic import QUICK, make_record

OPTIONS = {"alignments": ("instance", "position"), "null_draws": 49, "estimator": QUICK}
SEEDS = (4, 2, 7)


def runs_of(cell):
    base = make_record(n=120, positions=5, hidden_size=3, seed=99)
    made = [make_record(n=120, positions=5, hidden_size=3, seed=10 * cell + seed) for seed in SEEDS]
    # The same texts, read by other models.
    return [replace(run, label=base.label, token_ids=base.token_ids, vocabulary=base.vocabulary) for run in made]


@pytest.fixture(scope="module")
def records():
    return [*runs_of(1), *runs_of(2)]


@pytest.fixture(scope="module")
def found(records):
    return compare_many(records, cells=["a"] * 3 + ["b"] * 3, seeds=SEEDS * 2, contrasts=[("a", "b")], **OPTIONS)


def row(frame, **labels):
    chosen = np.logical_and.reduce([frame[name] == value for name, value in labels.items()])
    assert chosen.sum() == 1, labels
    return frame[chosen].iloc[0]


def key(estimand, order, output="prediction", state="hidden", measure="kendall_tau_b"):
    return {"estimand": estimand, "measure": measure, "order": order, "output": output, "state": state}


def test_each_run_is_the_comparison_of_its_record_with_its_seed(records, found):
    single = compare(records[1], seed=2, **OPTIONS)
    pd.testing.assert_frame_equal(found.comparisons[1].table, single.table)
    own = found.seeds[(found.seeds["cell"] == "a") & (found.seeds["seed"] == 2)]
    np.testing.assert_allclose(own["estimate"], single.table["estimate"])


@pytest.mark.parametrize(
    ("estimand", "order", "output"),
    [
        ("pointwise", "informativeness", "prediction"),
        ("pointwise", "informativeness", "prediction minus permuted attention"),
        ("erasure", "informativeness minus attention", "prediction"),
    ],
)
def test_values_by_instance_are_crossed_with_seeds(found, estimand, order, output):
    labels = key(estimand, order, output, measure="area" if estimand == "erasure" else "kendall_tau_b")
    tables = [run.instances for run in found.comparisons[:3]]
    values = [
        t[np.logical_and.reduce([t[name] == value for name, value in labels.items()])]["value"].to_numpy()
        for t in tables
    ]
    # Ordered by seed: the order of rows does not matter to the interval.
    expected = crossed_interval(np.stack(values))
    made = row(found.table, cell="a", **labels)
    assert (made.estimate, made.ci_low, made.ci_high) == pytest.approx(
        (expected.estimate, expected.ci_low, expected.ci_high)
    )
    assert made.n_seeds == 3


def test_the_shared_profile_adds_its_error_once_for_all_seeds(found):
    draws = [run.profile_error for run in found.comparisons[:3]]
    mine = [d[(d["output"] == "label") & (d["state"] == "hidden")].sort_values("draw")["value"] for d in draws]
    variance = np.mean(mine, axis=0).var(ddof=1)
    labels = key("instance", "mutual information", "label")
    values = [
        run.instances[np.logical_and.reduce([run.instances[n] == v for n, v in labels.items()])]["value"].to_numpy()
        for run in found.comparisons[:3]
    ]
    expected = crossed_interval(np.stack(values), profile_variance=variance)
    made = row(found.table, cell="a", **labels)
    assert (made.ci_low, made.ci_high) == pytest.approx((expected.ci_low, expected.ci_high))
    assert "error of the profile included" in made.interval


def test_taus_of_whole_runs_are_joined_by_the_instances_they_share(found):
    labels = key("position", "mutual information", "label")
    estimates = [row(run.table, **labels).estimate for run in found.comparisons[3:]]
    draws = [
        run.resamples[np.logical_and.reduce([run.resamples[n] == v for n, v in labels.items()])]["value"].to_numpy()
        for run in found.comparisons[3:]
    ]
    expected = joint_bootstrap_interval(estimates, np.stack(draws), n_instances=120)
    made = row(found.table, cell="b", **labels)
    assert made.estimate == pytest.approx(np.mean(estimates))
    assert (made.ci_low, made.ci_high) == pytest.approx((max(expected.ci_low, -1), min(expected.ci_high, 1)))
    # Equal seeds of the resamples draw equal instances, whatever the seed of the run.
    assert not np.allclose(draws[0], draws[1])


def test_the_nulls_move_all_seeds_together(found, records):
    order = np.argsort(SEEDS)
    runs = [found.comparisons[place] for place in order]
    columns = [np.stack([run.positions[name].to_numpy() for run in runs]) for name in ("informativeness", "attention")]
    expected = partner_null(*columns, records[0].offsets, rng=0, n_resamples=49)
    made = row(found.table, cell="a", **key("pointwise", "informativeness"))
    assert (made.p, made.null_mean) == pytest.approx((expected.p, expected.null_mean))
    assert "one map for all seeds" in made["null"]
    nats, attention = [], []
    for run in runs:
        part = run.profile[(run.profile["output"] == "label") & (run.profile["alignment"] == "position")]
        nats.append(part["nats"].to_numpy())
        attention.append(part["attention"].to_numpy())
    shifted = shift_null(np.stack(nats), np.stack(attention))
    made = row(found.table, cell="a", **key("position", "mutual information", "label"))
    assert (made.p, made.smallest_p) == pytest.approx((shifted.p, shifted.smallest_p))


def test_what_has_no_values_by_instance_is_over_seeds(found):
    labels = key("erasure", "random", "", "", measure="never_flips")
    expected = seed_interval([row(run.table, **labels).estimate for run in found.comparisons[:3]])
    made = row(found.table, cell="a", **labels)
    assert (made.estimate, made.ci_low, made.ci_high) == pytest.approx(
        (expected.estimate, expected.ci_low, expected.ci_high)
    )


def test_contrasts_are_paired_by_seed_and_say_when_seeds_are_too_few(found):
    labels = key("pointwise", "informativeness")
    sides = []
    for runs in (found.comparisons[:3], found.comparisons[3:]):
        ordered = [runs[place] for place in np.argsort(SEEDS)]
        sides.append(
            np.stack(
                [
                    run.instances[np.logical_and.reduce([run.instances[n] == v for n, v in labels.items()])]["value"]
                    for run in ordered
                ]
            )
        )
    expected = contrast_table(*sides, effect_unit="tau")
    np.testing.assert_allclose(found.contrasts["estimate"], expected["estimate"])
    np.testing.assert_allclose(found.contrasts["p"].to_numpy(float), expected["p"].to_numpy(float))
    assert found.contrasts["p_adjusted"].isna().all()
    assert "could never reject" in found.contrasts["reason"].iloc[0]
    assert set(found.contrasts["contrast"]) == {"a − b"}


def test_tables_have_one_row_a_quantity_and_every_gap_a_reason(found, tmp_path):
    assert not found.table.duplicated(["cell", "estimand", "measure", "order", "output", "state"]).any()
    missing = found.table["estimate"].isna()
    assert (found.table.loc[missing, "reason"].str.len() > 0).all()
    taus = found.table[found.table["measure"] == "kendall_tau_b"]
    minus = taus["output"].str.contains(" minus ")
    for end, sign in (("ci_low", -1), ("ci_high", 1)):
        assert (sign * taus.loc[~minus, end].dropna() <= 1).all()
    # The probe of all runs has the seed 0; the analysis of each has its own.
    assert found.table["signature"].str.contains(r"seed=0\|.*seeds:2,4,7").all()
    assert set(found.near_ties["cell"]) == {"a", "b"}
    assert set(found.concentration["measure"]) >= {"gini", "normalized_skew"}
    assert found.erasure_curves["n_seeds"].max() == 3
    assert r"\toprule" in found.to_latex(tmp_path / "many.tex").read_text()


def test_one_record_gives_its_own_intervals(records):
    many = compare_many(records[:1], seeds=[4], **OPTIONS)
    single = compare(records[0], seed=4, **OPTIONS)
    both = many.table.merge(single.table, on=["estimand", "measure", "order", "output", "state"], suffixes=("", "_own"))
    assert len(both) == len(single.table)
    for name in ("estimate", "ci_low", "ci_high", "reliability", "ceiling"):
        np.testing.assert_allclose(both[name], both[f"{name}_own"].astype(float))


def test_cells_and_seeds_come_from_the_facts_of_the_records(records):
    told = [
        replace(record, meta={"score": score, "seed": seed, "data": "texts"})
        for record, score, seed in zip(records[:4], ("dot", "dot", "additive", "additive"), (0, 1, 0, 1), strict=True)
    ]
    many = compare_many(told, alignments=("instance",), null_draws=19, estimator=QUICK)
    assert list(dict.fromkeys(many.table["cell"])) == ["dot", "additive"]
    assert set(many.seeds["seed"]) == {0, 1}


def test_without_any_null_the_column_is_empty_text(records):
    many = compare_many(records[:2], alignments=("rank",), ranks=3, null_draws=19, estimator=QUICK)
    assert set(many.table["null"]) == {""}
    assert many.table["p"].isna().all()


def test_signatures_are_joined_by_what_differs():
    assert join_signatures(["probe|seed=0|n:5|seed:2", "probe|seed=0|n:5|seed:1"]) == "probe|seed=0|n:5|seeds:1,2"
    assert join_signatures(["probe|seed=2|seed:2", "probe|seed=1|seed:1"]) == "probe|seeds=1,2|seeds:1,2"
    assert join_signatures(["probe|n:5", "probe|n:6"]) == "probe|n:5/n:6"
    assert join_signatures(["ross"]) == "ross"


def test_records_that_cannot_be_pooled_are_refused_with_the_remedy(records):
    with pytest.raises(ValueError, match="is empty"):
        compare_many([])
    with pytest.raises(ValueError, match="of other instances"):
        compare_many([records[0], records[0].select(np.arange(100))])
    with pytest.raises(ValueError, match="of other instances"):
        compare_many([records[0], replace(records[1], label=1 - records[1].label)])
    with pytest.raises(ValueError, match="seed 3 twice"):
        compare_many(records[:2], seeds=[3, 3])
    with pytest.raises(ValueError, match="contrasts name the cell 'c'"):
        compare_many(records[:2], cells=["a", "b"], contrasts=[("a", "c")])
    with pytest.raises(ValueError, match="one a record"):
        compare_many(records[:2], cells=["a"])
    with pytest.raises(ValueError, match="no seed= or models="):
        compare_many(records[:2], seed=1)
    with pytest.raises(TypeError, match="records\\[0\\]"):
        compare_many([np.ones(3)])
