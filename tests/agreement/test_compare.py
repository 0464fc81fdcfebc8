"""compare: finds what is there, does not find what is not, and says what does not exist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mi_attention import AttentionRecord, compare
from mi_attention.agreement import AGREEMENT_COLUMNS
from mi_attention.estimators import Ross
from tests.agreement.synthetic import QUICK, evidence_record, make_record


def row(comparison, estimand, order, output, *, state="hidden", measure="kendall_tau_b"):
    table = comparison.table
    found = table[
        (table["estimand"] == estimand)
        & (table["measure"] == measure)
        & (table["order"] == order)
        & (table["output"] == output)
        & (table["state"] == state)
    ]
    assert len(found) == 1, f"{len(found)} rows for {estimand}, {measure}, {order}, {output}, {state}"
    return found.iloc[0]


@pytest.fixture(scope="module")
def null():
    return compare(make_record(n=1500, hidden_size=4, positions=8, spread=1.0), estimator=QUICK)


@pytest.fixture(scope="module")
def evidence():
    return compare(evidence_record(), alignments=("instance",))


def test_attention_equal_to_the_evidence_agrees_perfectly_with_informativeness_and_not_with_support(evidence):
    # Informativeness is monotone in |x| up to the probe's error; support is large for evidence *for* the class only.
    assert row(evidence, "pointwise", "informativeness", "prediction").estimate > 0.9
    assert row(evidence, "pointwise", "informativeness", "label").estimate > 0.9
    support = row(evidence, "pointwise", "support", "prediction").estimate
    assert 0.05 < support < 0.5
    assert row(evidence, "pointwise", "informativeness", "prediction").p == pytest.approx(1 / 1000)
    assert row(evidence, "pointwise", "informativeness", "prediction").reliability > 0.85


def test_random_states_and_attention_agree_only_as_far_as_arithmetic_makes_them(null):
    profile = null.profile
    ranks = profile[(profile["alignment"] == "rank") & (profile["state"] == "hidden")]
    main = ranks[ranks["output"] == "prediction"].nats.to_numpy()
    mechanical = ranks[ranks["output"] == "permuted attention"].nats.to_numpy()
    # The prediction is a function of the attended states: information falls with attention rank although nothing
    # was learned, and the mechanical baseline falls as much.
    assert main[0] > main[4] + 0.05
    assert np.abs(main - mechanical).max() < 0.05
    excess = row(null, "rank", "mutual information", "prediction minus permuted attention", measure="first_rank")
    assert abs(excess.estimate) < 0.05
    assert row(null, "rank", "mutual information", "prediction").estimate > 0.5


def test_nothing_is_found_about_a_random_label(null):
    assert abs(row(null, "rank", "mutual information", "label", measure="first_rank").estimate) < 0.01
    assert row(null, "position", "mutual information", "label").p > 0.01
    for order in ("position index", "random"):
        found = row(null, "pointwise", order, "", state="")
        # 1500 instances of 8 positions: standard error of the mean tau about .28/sqrt(1500) = .007.
        assert abs(found.estimate) < 0.03
        assert found.ci_low < found.estimate < found.ci_high
    # Pointwise agreement with the prediction has no mechanical part inside an instance: q(y|h) knows no weights.
    assert abs(row(null, "pointwise", "informativeness", "prediction").estimate) < 0.03


def test_every_row_has_the_documented_columns_and_no_unexplained_gap(null):
    table = null.table
    assert tuple(table.columns) == AGREEMENT_COLUMNS
    missing = table["estimate"].isna()
    assert (table.loc[missing, "reason"].str.len() > 0).all()
    assert not table.duplicated(["estimand", "measure", "order", "output", "state"]).any()
    profile = null.profile
    assert (profile.loc[profile["nats"].isna(), "reason"].str.len() > 0).all()
    assert (profile["nats"] <= profile["ceiling"] + 1e-12).all()
    assert set(null.concentration["measure"]) >= {"normalized_skew", "normalized_entropy", "gini", "effective_support"}


def test_the_same_seed_gives_the_same_tables():
    record = make_record(n=200, ragged=True)
    first, second = (
        compare(record, seed=3, null_draws=49, alignments=("instance", "rank"), estimator=QUICK) for _ in range(2)
    )
    pd.testing.assert_frame_equal(first.table, second.table)
    pd.testing.assert_frame_equal(first.near_ties, second.near_ties)
    pd.testing.assert_frame_equal(first.erasure_curves, second.erasure_curves)


def test_uniform_attention_is_undefined_and_counted_never_zero():
    record = make_record(n=200)
    flat = make_record(n=200, attention=np.full(record.n_rows, 1 / 8), output=np.tile([0.6, 0.4], (200, 1)), head=None)
    found = compare(flat, "label", alignments=("instance", "rank", "position"), estimator=QUICK)
    pointwise = row(found, "pointwise", "informativeness", "label")
    assert np.isnan(pointwise.estimate)
    assert pointwise.undefined == 200
    assert "constant attention" in pointwise.reason
    assert "ranks are arbitrary" in row(found, "rank", "mutual information", "label").reason
    assert np.isnan(row(found, "position", "mutual information", "label").estimate)
    skew = found.concentration.set_index("measure").loc["normalized_skew"]
    assert skew.undefined == 200
    assert found.concentration.set_index("measure").loc["normalized_entropy"].estimate == pytest.approx(1)


def test_a_single_predicted_class_is_undefined_with_its_reason():
    record = make_record(n=200)
    output = np.tile([0.9, 0.1], (200, 1))
    found = compare(make_record(n=200, output=output, head=None), estimator=QUICK)
    assert np.isnan(row(found, "pointwise", "informativeness", "prediction").estimate)
    assert "single class" in row(found, "pointwise", "informativeness", "prediction").reason
    assert not np.isnan(row(found, "pointwise", "informativeness", "label").estimate) or (
        "constant" in row(found, "pointwise", "informativeness", "label").reason
    )
    assert record.n_instances == 200


def test_instances_of_one_token_are_undefined_and_counted():
    record = make_record(n=300, positions=5, ragged=True)
    lengths = np.asarray(record.lengths).copy()
    short = record.select(np.arange(300))
    assert (lengths >= 2).all()
    single = AttentionRecord.from_arrays(
        np.concatenate([short.hidden, np.ones((20, 6))]),
        np.concatenate([short.attention, np.ones(20)]),
        np.concatenate([short.output, np.tile([0.3, 0.7], (20, 1))]),
        lengths=np.concatenate([lengths, np.ones(20, dtype=int)]),
    )
    found = row(
        compare(single, alignments=("instance",), estimator=QUICK), "pointwise", "informativeness", "prediction"
    )
    assert found.undefined == 20
    assert "fewer than two positions: 20" in found.reason


def test_without_head_label_or_embedding_the_missing_controls_are_named():
    rng = np.random.default_rng(0)
    record = make_record(n=300, head=None, label=None, embedding=None, tokens=None, output=rng.uniform(0.1, 0.9, 300))
    found = compare(record, estimator=QUICK)
    notes = " ".join(str(note) for note in found.notes)
    for what in ("no gold labels", "no prediction under other attention", "no input embeddings"):
        assert what in notes
    assert "not linear in the context" in row(found, "pointwise", "head evidence", "", state="").reason


@pytest.mark.parametrize("output", ["class", "label", "probability", 1])
def test_every_output_gives_a_whole_comparison(output, tmp_path):
    record = make_record(n=250, ragged=True)
    found = compare(record, output, alignments=("position", "rank", "instance"), estimator=QUICK)
    assert row(found, "pointwise", "informativeness", found.output).n_instances > 200
    path = found.to_latex(tmp_path / "table.tex")
    text = path.read_text()
    assert r"\toprule" in text
    assert "seed" in text
    written = found.plot(tmp_path / "figure")
    assert [file.suffix for file in written] == [".pdf", ".svg", ".png"]
    assert [file.name for file in found.plot(tmp_path / "other.png")] == ["other.png"]


def test_more_classes_than_two():
    found = compare(make_record(n=400, classes=4), alignments=("instance", "rank"), estimator=QUICK)
    assert row(found, "pointwise", "informativeness", "uniform prediction").n_instances == 400


def test_the_known_truth_is_compared_with():
    # Position t of 6 carries the label with strength t; attention is the strength itself.
    rng = np.random.default_rng(0)
    n, positions = 800, 6
    label = rng.integers(2, size=n)
    strength = np.linspace(0, 2, positions)
    hidden = rng.standard_normal((n, positions, 3))
    hidden[:, :, 0] += np.where(label == 1, 1, -1)[:, None] * strength / 2
    attention = np.tile((strength + 0.1) / (strength + 0.1).sum(), (n, 1))
    record = AttentionRecord.from_arrays(hidden, attention, label, label=label)
    found = compare(record, "label", alignments=("position",), truth=strength, estimator=QUICK)
    assert row(found, "position", "true information", "label", state="input").estimate == pytest.approx(1)
    assert row(found, "recovery", "true information", "label").estimate > 0.8
    assert row(found, "position", "mutual information", "label").estimate > 0.8
    assert row(found, "position", "mutual information", "label").reliability > 0.6


def test_the_truth_of_positions_is_not_given_to_bins():
    record = make_record(n=200)
    found = compare(record, alignments=("position",), bins=4, truth=np.arange(8.0), estimator=QUICK)
    assert found.profile["truth"].isna().all()
    assert any("binned" in str(note) for note in found.notes)


def test_few_instances_are_undefined_everywhere_and_crash_nothing():
    found = compare(make_record(n=30), truth=np.arange(8.0))
    assert found.profile["nats"].isna().all()
    assert (found.profile["reason"] == "fewer than 50 instances").all()
    missing = found.table["estimate"].isna()
    assert (found.table.loc[missing, "reason"].str.len() > 0).all()


@pytest.mark.parametrize("positives", [3, 6, 12, 20])
def test_rare_outputs_give_reasons_not_crashes(positives):
    for seed in range(4):
        record = make_record(
            n=300, head=None, embedding=None, output=(np.arange(300) < positives).astype(int), seed=seed
        )
        found = compare(record, alignments=("instance",), seed=seed, null_draws=19, estimator=QUICK)
        missing = found.table["estimate"].isna()
        assert (found.table.loc[missing, "reason"].str.len() > 0).all()


def test_confidence_and_the_ceiling_reach_the_first_rank():
    record = make_record(n=300)
    narrow, wide = (compare(record, alignments=("rank",), confidence=level, estimator=QUICK) for level in (0.5, 0.95))
    ends = [row(c, "rank", "mutual information", "prediction", measure="first_rank") for c in (narrow, wide)]
    assert ends[0].ci_high - ends[0].ci_low < 0.5 * (ends[1].ci_high - ends[1].ci_low)
    share = row(wide, "rank", "mutual information", "prediction", measure="first_rank_share")
    assert share.ci_high <= 1


def test_undefined_ranks_have_the_units_of_defined_ones():
    units = []
    for attention in ({}, {"attention": np.full(300 * 8, 1 / 8)}):
        table = compare(make_record(n=300, **attention), alignments=("rank",), estimator=QUICK).table
        own = table[(table.estimand == "rank") & (table.order == "mutual information")]
        assert own.estimate.isna().all() == bool(attention)
        units.append(dict(zip(own.measure, own.unit, strict=True)))
    assert units[0] == units[1]


@pytest.mark.filterwarnings("ignore::mi_attention.estimators.HighDimensionWarning")
def test_each_row_is_signed_by_the_estimator_that_made_it():
    record = make_record(n=300)
    found = compare(record, estimator=Ross(k=4), alignments=("instance", "rank"))
    assert row(found, "pointwise", "informativeness", "prediction").signature.startswith("probe")
    assert row(found, "rank", "mutual information", "prediction").signature.startswith("ross")
    few = compare(record, estimator=replace(QUICK, folds=3), alignments=("instance",))
    many = compare(record, estimator=QUICK, alignments=("instance",))
    first, second = (row(c, "pointwise", "informativeness", "prediction") for c in (few, many))
    assert "folds=3" in first.signature
    assert first.estimate != second.estimate


@pytest.mark.parametrize("output", ["class", "label", 1, "probability"])
def test_reliability_stands_beside_whatever_output_is_asked_for(output):
    found = compare(make_record(n=300), output, alignments=("position", "instance"), estimator=QUICK)
    assert not np.isnan(row(found, "position", "mutual information", found.output).reliability)
    assert not np.isnan(row(found, "pointwise", "informativeness", found.output).reliability)


def test_excluded_instances_are_noted():
    record = AttentionRecord.from_arrays(
        np.ones((3, 2, 2)),
        np.array([[0.4, 0.6], [0, 0], [0.4, 0.6]]),
        [0.2, 0.4, 0.6],
        np.array([[1, 1], [0, 0], [1, 1]]),
        empty="exclude",
    )
    found = compare(record, alignments=("instance",))
    assert "1 of 3: instances excluded: no positions" in [str(note) for note in found.notes]


def test_bad_alignments_are_refused():
    with pytest.raises(ValueError, match="alignments must be some of"):
        compare(make_record(n=20), alignments=("sentence",))
