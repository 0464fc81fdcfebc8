"""Control models, rows of what is absent, units and ties, reliability and ceiling of every agreement."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mi_attention import AttentionRecord, compare
from mi_attention.agreement import median_split, pointwise_ceiling, pointwise_halves
from mi_attention.agreement.profiles import tied_units
from mi_attention.interface import MIEstimate
from mi_attention.measures import kendall_tau_b
from tests.agreement.synthetic import QUICK, evidence_record, make_record

UNTRAINED = "prediction of an untrained model"
UNIFORM = "prediction of a model trained under uniform attention"
SHUFFLED = "label, model trained on shuffled labels"


def row(comparison, estimand, order, output, state="hidden", measure="kendall_tau_b"):
    table = comparison.table
    chosen = (table["estimand"] == estimand) & (table["measure"] == measure) & (table["order"] == order)
    chosen &= (table["output"] == output) & (table["state"] == state)
    assert chosen.sum() == 1, (estimand, order, output, state)
    return table[chosen].iloc[0]


@pytest.fixture(scope="module")
def record():
    return make_record(n=240, positions=6)


@pytest.fixture(scope="module")
def controlled(record):
    models = {
        "untrained": make_record(n=240, positions=6, seed=21),
        "uniform": make_record(n=240, positions=6, seed=22),
        "shuffled": make_record(n=240, positions=6, seed=23),
    }
    options = {"alignments": ("instance", "position"), "null_draws": 19, "seed": 1, "estimator": QUICK}
    return models, compare(record, models=models, **options)


def test_each_control_model_compares_its_own_columns(record, controlled):
    models, found = controlled
    owner = record.row_instance
    wanted = {
        UNTRAINED: (models["untrained"].hidden, median_split(models["untrained"]), models["untrained"].attention),
        UNIFORM: (models["uniform"].hidden, models["uniform"].prediction, record.attention),
        SHUFFLED: (models["shuffled"].hidden, record.label, models["shuffled"].attention),
    }
    taus = {}
    for name, (hidden, y, attention) in wanted.items():
        information = QUICK.estimate(hidden, y[owner], owner).informativeness
        tau = kendall_tau_b(attention, information, record.offsets).mean()
        made = row(found, "pointwise", "informativeness", name)
        assert made.estimate == pytest.approx(tau, abs=1e-9)
        assert not np.isnan(made.reliability)
        profile = [QUICK.estimate(hidden[t::6], y).nats for t in range(6)]
        mean = np.asarray(attention).reshape(240, 6).mean(axis=0)
        position = row(found, "position", "mutual information", name)
        assert position.estimate == pytest.approx(stats.kendalltau(mean, profile).statistic, abs=1e-9)
        taus[name] = tau
        inside = [stats.kendalltau(a, profile).statistic for a in np.asarray(attention).reshape(240, 6)]
        assert row(found, "instance", "mutual information", name).estimate == pytest.approx(np.mean(inside), abs=1e-9)
    assert len(set(taus.values())) == 3
    assert set(found.absent()["order"]) == {"true information"}


def test_a_control_that_cannot_be_is_a_row_that_says_what_it_needs():
    bare = make_record(n=120, head=None, label=None, embedding=None, tokens=None, output=np.arange(120) % 2)
    found = compare(bare, alignments=("instance",), null_draws=19, estimator=QUICK)
    absent = found.absent().set_index("order")["reason"]
    assert set(absent.index) == {
        UNTRAINED,
        UNIFORM,
        SHUFFLED,
        "label",
        "token frequency",
        "input embedding",
        "evidence of the linear head",
        "mechanical baseline",
        "true information",
    }
    assert "models={'untrained': record}" in absent[UNTRAINED]
    assert "hard outputs" in absent["mechanical baseline"]
    about = (
        compare(make_record(n=120), "label", alignments=("instance",), null_draws=19, estimator=QUICK)
        .absent()
        .set_index("order")
    )
    assert "no attention changes" in about["reason"]["mechanical baseline"]
    # They are said in the printed table, not shown as agreements.
    shown = found.headline()
    assert shown.loc[shown["estimand"] == "control", "estimate"].notna().all()
    assert "absent: mechanical baseline" in str(found)


def test_control_models_of_other_instances_are_refused(record):
    with pytest.raises(ValueError, match="other instances"):
        compare(record, models={"untrained": make_record(n=100, positions=6)})
    with pytest.raises(ValueError, match="models has 'random'"):
        compare(record, models={"random": record})
    with pytest.raises(ValueError, match="needs the gold labels"):
        compare(make_record(n=240, positions=6, label=None), models={"shuffled": record})
    with pytest.raises(TypeError, match="untrained"):
        compare(record, models={"untrained": 3})


def test_a_median_split_has_two_halves_even_where_one_class_is_always_predicted():
    record = make_record(n=101, output=np.linspace(0.9, 0.99, 101), head=None)
    assert (record.prediction == 1).all()
    np.testing.assert_array_equal(median_split(record), np.arange(101) > 50)
    three = np.full((4, 3), 1 / 3)
    three[:, 2] = [0.1, 0.2, 0.3, 0.4]
    three[:, :2] = (1 - three[:, 2:]) / 2
    split = median_split(AttentionRecord.from_arrays(np.ones((4, 2, 1)), np.full((4, 2), 0.5), three))
    np.testing.assert_array_equal(split, [0, 0, 1, 1])


def test_information_against_the_position_index(record):
    found = compare(record, alignments=("instance", "position"), null_draws=19, estimator=QUICK, seed=1)
    owner = record.row_instance
    information = QUICK.estimate(record.hidden, record.prediction[owner], owner).informativeness
    tau = kendall_tau_b(record.row_position.astype(float), information, record.offsets).mean()
    made = row(found, "control", "informativeness and position index", "prediction")
    assert made.estimate == pytest.approx(tau, abs=1e-9)
    part = found.profile[(found.profile["output"] == "label") & (found.profile["alignment"] == "position")]
    made = row(found, "control", "mutual information and position index", "label")
    assert made.estimate == pytest.approx(stats.kendalltau(np.arange(6), part["nats"]).statistic)
    index = row(found, "position", "position index", "", "")
    assert index.estimate == pytest.approx(stats.kendalltau(part["attention"], np.arange(6)).statistic)
    chance = row(found, "position", "random", "", "")
    # 999 random orders of 6: mean 0, 95 % of them within .6.
    assert abs(chance.estimate) < 0.05
    assert chance.ci_high == pytest.approx(-chance.ci_low, abs=0.15)
    assert 0.45 < chance.ci_high < 0.9


def test_every_agreement_has_its_reliability_and_its_ceiling(record):
    found = compare(make_record(n=300, positions=6), null_draws=19, estimator=QUICK)
    table = found.table
    taus = table[(table["measure"] == "kendall_tau_b") & table["estimate"].notna()]
    informed = taus[
        taus["order"].isin(["informativeness", "support", "mutual information", "held-out mutual information"])
    ]
    informed = informed[~informed["output"].str.contains(" minus ")]
    assert set(informed["estimand"]) == {"pointwise", "position", "instance", "token", "rank"}
    assert informed["reliability"].notna().all(), informed[informed["reliability"].isna()]
    gaps = informed[informed["ceiling"].isna()]
    # A ceiling exists only where there is something to agree with.
    assert (gaps["reliability"] < 0.5).all()
    instance, position = (row(found, kind, "mutual information", "label") for kind in ("instance", "position"))
    assert instance.reliability == position.reliability


def test_the_mechanical_baseline_stands_beside_everything_about_the_prediction(record):
    table = compare(make_record(n=300, positions=6), null_draws=19, estimator=QUICK).table
    about = table[(table["output"] == "prediction") & (table["state"] == "hidden")]
    about = about[about["estimand"].isin(["pointwise", "position", "instance", "token", "rank"])]
    about = about[~about["order"].isin(["held-out mutual information"])]
    keys = set(zip(about["estimand"], about["measure"], about["order"], strict=True))
    baseline = table[table["output"] == "permuted attention"]
    beside = set(zip(baseline["estimand"], baseline["measure"], baseline["order"], strict=True))
    assert keys - beside == set()


def test_tables_by_position_count_their_units_and_ties():
    class Gated:
        """MI that is exactly 0 at half of the positions, with distinct held-out values."""

        signature = "gated"

        def estimate(self, x, y, groups=None):
            raise NotImplementedError

        def estimate_many(self, units):
            made = []
            for unit in units:
                t = int(unit.name) if unit.name.isdigit() else 0
                local = np.full(len(unit.y), 0.01 * t) + 0.001 * np.arange(len(unit.y)) / len(unit.y)
                made.append(
                    MIEstimate(
                        nats=max(0.0, (t - 2) / 10.0),
                        lower_bound=float(local.mean()),
                        local=local,
                        standard_error=0.01,
                        n=len(unit.y),
                        ceiling=0.69,
                        status="ok",
                        reason="",
                        signature="gated",
                    )
                )
            return made

    record = make_record(n=100, positions=6)
    found = compare(record, "label", estimator=Gated(), alignments=("position",), null_draws=19)
    nats, held = (
        row(found, "position", order, "label") for order in ("mutual information", "held-out mutual information")
    )
    assert (nats.n_units, nats.tied_units) == (6, 3)
    assert (held.n_units, held.tied_units) == (6, 0)
    part = found.profile[(found.profile["output"] == "label") & (found.profile["state"] == "hidden")]
    assert part["place"].tolist() == [5, 5, 5, 3, 2, 1]
    assert part["place_held_out"].tolist() == [6, 5, 4, 3, 2, 1]
    assert part["tied_units"].tolist() == [2, 2, 2, 0, 0, 0]
    assert nats.estimate == pytest.approx(stats.kendalltau(part["attention"], part["nats"]).statistic)
    assert held.estimate == pytest.approx(stats.kendalltau(part["attention"], part["lower_bound"]).statistic)
    inside = row(found, "instance", "held-out mutual information", "label")
    taus = [stats.kendalltau(a, np.arange(6)).statistic for a in np.asarray(record.attention).reshape(100, 6)]
    assert inside.estimate == pytest.approx(np.mean(taus))
    assert tied_units(np.array([0.0, 0.0, np.nan, np.nan, 1.0])) == 2


@pytest.mark.parametrize("noise", [0.3, 1.0, 2.0])
def test_the_pointwise_ceiling_is_the_tau_of_the_truth_with_a_noisy_order(noise):
    # Two readings with error variance e of a third of the instances; the order reported has 3/10 · 9/10⁻¹ of it.
    rng = np.random.default_rng(0)
    n, positions = 20_000, 10
    truth = rng.standard_normal((n, positions))
    readings = truth + noise * rng.standard_normal((2, n, positions))
    whole = truth + noise * np.sqrt((1 / 3) / (9 / 10)) * rng.standard_normal((n, positions))
    reliability = kendall_tau_b(readings[0], readings[1]).mean()
    assert pointwise_ceiling(reliability, folds=10) == pytest.approx(kendall_tau_b(truth, whole).mean(), abs=0.015)
    assert np.isnan(pointwise_ceiling(-0.1, folds=10))
    assert pointwise_ceiling(1.0, folds=10) == 1


def test_attention_in_the_true_order_reaches_the_ceiling():
    record = evidence_record()
    found = compare(record, alignments=("instance",), null_draws=19, estimator=QUICK)
    made = row(found, "pointwise", "informativeness", "prediction")
    assert made.ceiling == pytest.approx(made.estimate, abs=0.06)
    assert made.ceiling > made.reliability


def test_halves_are_read_by_probes_that_never_saw_the_instance():
    record = make_record(n=150, ragged=True, positions=5)
    halves = pointwise_halves(record, record.prediction, QUICK, seed=0)
    assert halves.informativeness.shape == (2, record.n_rows)
    tau = kendall_tau_b(*halves.informativeness, record.offsets).values
    np.testing.assert_array_equal(halves.tau().values, tau)
    # With random labels a probe that saw the instance would find its label again: support would be positive.
    shuffled = np.random.default_rng(0).permutation(record.prediction)
    assert pointwise_halves(record, shuffled, QUICK, seed=0).support.mean() < 0.01
    few = pointwise_halves(record.select(np.arange(40)), record.prediction[:40], QUICK, seed=0)
    assert "fewer than 60" in few.reason
    assert "fewer than 60" in few.tau().reasons[0]
