"""Pairs of positions by both gaps: by hand, against loops, and a rate of one half where nothing is related."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mi_attention import AttentionRecord, compare
from mi_attention.agreement import (
    NEAR_TIE_COLUMNS,
    PointwiseHalves,
    align_positions,
    estimate_profiles,
    instance_pairs,
    near_tie_table,
    pointwise_pairs,
    pool_near_ties,
    position_pairs,
)
from mi_attention.agreement.controls import permute_attention
from mi_attention.agreement.near_ties import _tables
from mi_attention.agreement.pointwise import Pointwise
from mi_attention.agreement.versions import Version
from mi_attention.statistics import difference_error
from mi_attention.statistics.near_ties import CONCORDANCE, SOMERS, TAU
from tests.agreement.synthetic import QUICK, make_record


def halves_of(first, second, lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    readings = np.stack([first, second])
    return PointwiseHalves(np.arange(len(lengths)), offsets, readings, readings)


def the(table, quantity, low, z_low=0.0, z_high=np.inf):
    chosen = (table["quantity"] == quantity) & (table["gap_low"] == low)
    chosen &= (table["resolution_low"] == z_low) & (table["resolution_high"] == z_high)
    assert chosen.sum() == 1
    return table[chosen].iloc[0]


def test_one_instance_of_three_positions_by_hand():
    # Weights .5 .3 .2: gaps over the largest .4 (01), .6 (02), .2 (12). Mean information 4 5 1: −1, 3, 4.
    halves = halves_of([3.0, 5.0, 1.0], [5.0, 5.0, 1.0], [3])
    pairs = pointwise_pairs(np.array([0.5, 0.3, 0.2]), halves, np.array([0, 3]), seed=0)
    np.testing.assert_allclose(pairs.gap, [[0.4, 0.6, 0.2]])
    np.testing.assert_allclose(pairs.agreement, [[-1, 1, 1]])
    # Readings of the gaps: −2 and 0, 2 and 4, 4 and 4; half their difference 1, 1, 0: error √(2/3).
    np.testing.assert_allclose(pairs.resolution, np.array([[1, 3, 4]]) / np.sqrt(2 / 3))
    table = _tables(pairs, "pointwise", "prediction", 0.95)
    assert the(table, CONCORDANCE, 0.2).estimate == 0
    assert the(table, CONCORDANCE, 0.2, 0.0, 2.0).n_pairs == 1
    assert the(table, CONCORDANCE, 0.5).estimate == 1
    assert the(table, CONCORDANCE, 0.1).estimate == 1
    assert the(table, SOMERS, 0.0).estimate == pytest.approx(1 / 3)
    assert the(table, SOMERS, 0.5).estimate == 1
    assert the(table, TAU, 0.0).estimate == pytest.approx(stats.kendalltau([0.5, 0.3, 0.2], [4, 5, 1]).statistic)
    assert "no spread" in the(table, SOMERS, 0.0).reason


def test_pairs_of_ragged_instances_equal_loops_over_them():
    record = make_record(n=120, ragged=True, positions=9, seed=2)
    rng = np.random.default_rng(0)
    readings = rng.standard_normal((2, record.n_rows))
    halves = PointwiseHalves(np.arange(120), record.offsets, readings, readings)
    attention = np.asarray(record.attention)
    table = _tables(pointwise_pairs(attention, halves, record.offsets, seed=0), "pointwise", "x", 0.95)
    mean = readings.mean(axis=0)
    for low, high in ((0.0, 0.05), (0.2, 0.5), (0.5, 1.0)):
        score = count = 0
        for i in range(120):
            rows = np.arange(record.offsets[i], record.offsets[i + 1])
            for at, p in enumerate(rows):
                for q in rows[at + 1 :]:
                    gap = abs(attention[p] - attention[q]) / attention[rows].max()
                    if low < gap <= high:
                        count += 1
                        score += (attention[p] - attention[q]) * (mean[p] - mean[q]) > 0
        row = the(table, CONCORDANCE, low)
        assert row.n_pairs == count
        assert row.estimate == pytest.approx(score / count)


def test_profiles_give_the_pairs_of_a_run_and_of_its_instances():
    record = make_record(n=200, positions=5)
    alignment = align_positions(record)
    (profile,) = estimate_profiles(record, alignment, {"label": record.label}, QUICK)
    run = position_pairs(record, profile)
    p, q = np.triu_indices(5, 1)
    mean = np.asarray(record.attention).reshape(200, 5).mean(axis=0)
    np.testing.assert_allclose(run.gap[0], np.abs(mean[p] - mean[q]) / mean.max())
    error = difference_error(profile.local(record))
    np.testing.assert_allclose(run.resolution[0], np.abs(profile.nats[p] - profile.nats[q]) / error)
    own = instance_pairs(record, profile, seed=0)
    weights = np.asarray(record.attention).reshape(200, 5)
    np.testing.assert_allclose(own.gap, np.abs(weights[:, p] - weights[:, q]) / weights.max(axis=1, keepdims=True))
    d = the(_tables(own, "instance", "label", 0.95), SOMERS, 0.0)
    taus = [stats.kendalltau(row, profile.nats).statistic for row in weights]
    # Equal lengths and no ties: the share over all pairs is the mean of the taus.
    assert d.estimate == pytest.approx(np.mean(taus))
    assert "MI error not included" in d.interval


def test_long_instances_are_sampled_and_stay_within_memory():
    rng = np.random.default_rng(0)
    lengths = np.array([400, 3, 1])
    readings = rng.standard_normal((2, 404))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    pairs = pointwise_pairs(rng.random(404), halves_of(*readings, lengths), offsets, seed=0)
    assert pairs.gap.shape == (2, 64 * 63 // 2)
    assert (~np.isnan(pairs.gap)).sum(axis=1).tolist() in ([2016, 3], [3, 2016])


def unrelated(rng, n=150, positions=6):
    attention = rng.dirichlet(np.full(positions, 0.5), size=n).ravel()
    truth = rng.exponential(size=n * positions) ** 2
    readings = truth + 0.3 * rng.standard_normal((2, n * positions))
    lengths = np.full(n, positions)
    return attention, halves_of(*readings, lengths), np.concatenate([[0], np.cumsum(lengths)])


def test_intervals_cover_one_half_where_attention_and_information_are_unrelated():
    # Every bin, the resolved and wide one included: there a mean of instances' own shares would be .44.
    rng = np.random.default_rng(7)
    covered: dict[tuple[float, float], list[bool]] = {}
    replicates = 150
    for _ in range(replicates):
        attention, halves, offsets = unrelated(rng)
        table = _tables(pointwise_pairs(attention, halves, offsets, seed=0), "pointwise", "x", 0.95)
        for row in table[table["quantity"] == CONCORDANCE].itertuples():
            covered.setdefault((row.gap_low, row.resolution_low, row.resolution_high), []).append(
                row.ci_low <= 0.5 <= row.ci_high
            )
    rates = {key: np.mean(found) for key, found in covered.items()}
    assert len(rates) == 15
    # Three standard errors of the simulation around the allowed .93 to .97.
    margin = 3 * np.sqrt(0.05 * 0.95 / replicates)
    assert all(0.93 - margin <= rate <= 0.97 + margin for rate in rates.values()), rates


def test_concordance_of_wide_gaps_only_is_found_there_only():
    rng = np.random.default_rng(0)
    n, positions = 400, 8
    attention = rng.dirichlet(np.ones(positions), size=n)
    wide = attention > 0.6 * attention.max(axis=1, keepdims=True)
    information = np.where(wide, 5.0, 0.0) + rng.standard_normal((n, positions))
    lengths = np.full(n, positions)
    readings = information.ravel() + 0.01 * rng.standard_normal((2, n * positions))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = _tables(
        pointwise_pairs(attention.ravel(), halves_of(*readings, lengths), offsets, seed=0), "pointwise", "x", 0.95
    )
    near, far = the(table, CONCORDANCE, 0.0), the(table, CONCORDANCE, 0.5)
    assert near.ci_high < 0.65
    assert far.ci_low > 0.85
    d = table[table["quantity"] == SOMERS].sort_values("gap_low")["estimate"].to_numpy()
    assert (np.diff(d) > 0).all()


def test_the_table_of_a_comparison_and_of_several_runs():
    record = make_record(n=200, positions=5)
    found = compare(record, alignments=("instance", "position"), null_draws=19, estimator=QUICK)
    ties = found.near_ties
    assert tuple(ties.columns) == (*NEAR_TIE_COLUMNS, "signature")
    assert set(ties["estimand"]) == {"position", "instance", "pointwise"}
    assert set(ties["output"]) == {"prediction", "label", "permuted attention"}
    by_position = ties["estimand"] == "position"
    # The one set of pairs by position comes from all instances, also where a bin has no pair.
    assert (ties.loc[by_position, "n_instances"] == 200).all()
    assert ties.loc[~by_position, "n_instances"].min() < 200
    missing = ties["estimate"].isna() | ties["ci_low"].isna()
    assert (ties.loc[missing, "reason"] != "").all()
    assert not ties.duplicated(
        ["estimand", "output", "quantity", "gap_low", "gap_high", "resolution_low", "resolution_high"]
    ).any()
    other = compare(
        make_record(n=200, positions=5, seed=1), alignments=("instance", "position"), null_draws=19, estimator=QUICK
    ).near_ties
    pooled = pool_near_ties([ties, other], 0.95)
    pick = [
        the(frame[(frame["estimand"] == "pointwise") & (frame["output"] == "label")], CONCORDANCE, 0.2)
        for frame in (ties, other, pooled)
    ]
    weights = [row.n_pairs for row in pick[:2]]
    assert pick[2].estimate == pytest.approx(np.average([row.estimate for row in pick[:2]], weights=weights))
    assert (pooled.loc[pooled["estimand"] == "position", "n_instances"] == 200).all()
    assert pick[2].n_seeds == 2
    assert pick[2].n_pairs == sum(weights)


def test_constant_attention_has_no_pairs():
    flat = AttentionRecord.from_arrays(
        np.random.default_rng(0).standard_normal((80, 4, 2)), np.full((80, 4), 0.25), np.arange(80) % 2
    )
    ties = compare(flat, alignments=("instance", "position"), null_draws=19, estimator=QUICK).near_ties
    rows = ties[ties["quantity"] == CONCORDANCE]
    assert rows["estimate"].isna().all()
    assert (rows["reason"] == "no such pair").all()


def test_the_mechanical_baseline_is_of_the_permuted_weights_and_changes_no_other_row():
    # Readings in the order of the attention itself: every pair concordant, and half of them with shuffled weights.
    record = make_record(n=400, positions=6)
    own, y = np.asarray(record.attention), np.asarray(record.label)
    permuted = permute_attention(record, 0)
    halves = halves_of(own, own + 1e-6 * np.random.default_rng(0).standard_normal(own.size), record.lengths)
    versions = {"prediction": Version(y, own), "permuted attention": Version(y, permuted)}
    pointwise = Pointwise({}, dict.fromkeys(versions, halves))
    both = near_tie_table(record, [], pointwise, versions, seed=0, level=0.95)
    alone = near_tie_table(record, [], pointwise, {"prediction": versions["prediction"]}, seed=0, level=0.95)
    main, baseline = (both[both["output"] == name].reset_index(drop=True) for name in versions)
    pd.testing.assert_frame_equal(main, alone, check_exact=True)
    assert the(main, CONCORDANCE, 0.2).estimate > 0.999
    for low in (0.1, 0.2, 0.5):
        row = the(baseline, CONCORDANCE, low)
        assert row.ci_low < 0.5 < row.ci_high < 0.6


def test_no_recomputed_prediction_no_mechanical_baseline():
    record = make_record(n=120, positions=4, head=None, output=np.arange(120) % 2)
    ties = compare(record, alignments=("instance", "position"), null_draws=19, estimator=QUICK).near_ties
    assert set(ties["output"]) == {"prediction", "label"}


def test_tables_of_earlier_versions_are_pooled_without_what_they_do_not_have():
    record = make_record(n=200, positions=5)
    ties = compare(record, alignments=("instance", "position"), null_draws=19, estimator=QUICK).near_ties
    # Before, position rows counted the run where instances are counted, and there was no mechanical baseline.
    earlier = ties[ties["output"] != "permuted attention"].copy()
    by_position = earlier["estimand"] == "position"
    earlier.loc[by_position, "n_instances"] = (earlier.loc[by_position, "n_pairs"] > 0).astype(float)
    pooled = pool_near_ties([earlier, earlier], 0.95)
    assert pooled.loc[pooled["estimand"] == "position", "n_instances"].isna().all()
    assert pooled.loc[pooled["estimand"] != "position", "n_instances"].notna().all()
    mixed = pool_near_ties([earlier, ties], 0.95)
    assert (mixed.loc[mixed["estimand"] == "position", "n_instances"] == 200).all()
    seeds = mixed[mixed["n_pairs"] > 0].groupby("output")["n_seeds"].max()
    assert seeds.to_dict() == {"prediction": 2, "label": 2, "permuted attention": 1}
