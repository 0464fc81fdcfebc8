"""Claims settled on estimates made by hand: every number below can be checked with a pencil."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mi_attention.study.answers import AS_CLAIMED, CONFIRMATORY, REVERSED, answer, apart, verdict_of
from mi_attention.study.claims import Claim
from mi_attention.study.runs import Runs, _with_true_ceiling

ROW = {"estimand": "pointwise", "measure": "kendall_tau_b", "order": "informativeness", "output": "label"}
SEEDS = tuple(range(8))
# Mean 0, so that the mean of value + WAVE is the value; its spread is that of the differences between seeds.
WAVE = np.array([0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015])


def runs_of(values: dict[tuple[str, str, str], Any], *, variant: str = "", study: str = "core", **row: str) -> Runs:
    """Runs with ``(data, encoder, score)`` → estimates of the eight seeds."""
    rows = []
    for (data, encoder, score), estimates in values.items():
        for seed, estimate in zip(SEEDS, np.broadcast_to(np.asarray(estimates, dtype=float), (8,)), strict=True):
            labels = {"data": data, "encoder": encoder, "score": score, "normalizer": "softmax"}
            labels |= {"temperature": 1.0, "freeze": "none", "seed": seed, "variant": variant, "study": study}
            kind = {**ROW, "state": "hidden", **row}
            rows.append(labels | kind | {"estimate": estimate, "unit": "tau", "main": "prediction"})
    frame = pd.DataFrame(rows)
    pooled = frame.drop(columns=["seed", "estimate"]).drop_duplicates()
    facts = {"reliability": 0.6, "ceiling": 0.8, "n_instances": 100.0, "undefined_share": 0.0, "signature": "a|seed=0"}
    return Runs(frame, pooled.assign(estimate=0.0, **facts), SEEDS)


def joined(*parts: Runs) -> Runs:
    return Runs(
        pd.concat([part.estimates for part in parts], ignore_index=True),
        pd.concat([part.agreement for part in parts], ignore_index=True),
        SEEDS,
    )


def claim_of(**changes: Any) -> Claim:
    facts = {"claim": "a claim", "studies": ("core",), "row": {**ROW, "state": "hidden"}}
    facts |= {"direction": "greater", "matters": 0.05}
    return Claim.model_validate(facts | changes)


SCORES = {"factor": "score", "contrasts": (("additive", "deep"),)}


def test_a_contrast_is_the_mean_of_paired_differences_with_the_interval_of_t() -> None:
    runs = runs_of({("a", "mlp", "additive"): 0.3 + WAVE, ("a", "mlp", "deep"): 0.2})
    row = answer(claim_of(**SCORES), runs).iloc[0]
    half = 2.3646242515927844 * WAVE.std(ddof=1) / np.sqrt(8)
    assert row["contrast"] == "additive − deep"
    assert row[["estimate", "ci_low", "ci_high"]].tolist() == pytest.approx([0.1, 0.1 - half, 0.1 + half])
    # All eight differences are positive: 2 of 2^8 sign patterns reach them.
    assert row["p"] == pytest.approx(2 / 256)
    assert (row["verdict"], row["reliability"], row["ceiling"], row["n_instances"]) == ("supported", 0.6, 0.8, 100)
    assert (row["finding"], row["degenerate_share"], row["signature"]) == (AS_CLAIMED, 0.0, "a|seed=0")


def test_pairing_is_by_seed_whatever_the_order_of_rows() -> None:
    runs = runs_of({("a", "mlp", "additive"): 0.3 + 5 * WAVE, ("a", "mlp", "deep"): 0.2 + 5 * WAVE + WAVE})
    shuffled = Runs(runs.estimates.sample(frac=1, random_state=1), runs.agreement, SEEDS)
    first, second = (answer(claim_of(**SCORES), each) for each in (runs, shuffled))
    pd.testing.assert_frame_equal(first, second)
    assert first.loc[0, "ci_high"] - first.loc[0, "ci_low"] < 0.03


def test_means_over_data_and_encoders_and_the_same_by_each_of_them_beside() -> None:
    levels = {"a": 0.4, "b": 0.1}
    values = {(d, e, "additive"): levels[d] + WAVE for d, e in itertools.product(levels, ("mlp", "cnn"))}
    values |= {(d, e, "deep"): 0.05 for d, e in itertools.product(levels, ("mlp", "cnn"))}
    table = answer(claim_of(**SCORES, average=("data", "encoder")), runs_of(values))
    parts = ["by data set (exploratory)"] * 2 + ["by encoder (exploratory)"] * 2
    assert table["part"].tolist() == [CONFIRMATORY, *parts]
    assert table["estimate"].tolist() == pytest.approx([0.2, 0.35, 0.05, 0.2, 0.2])
    assert table["combinations"].tolist() == ["4 of 4", *["2 of 2"] * 4]
    assert table["n_data"].tolist() == [2, 1, 1, 2, 2]
    assert table.loc[1:, ["p_adjusted", "p_against_adjusted"]].isna().all(axis=None)
    assert table.loc[1:, "verdict"].tolist() == [""] * 4
    assert apart(table) == {part: {AS_CLAIMED: 2, REVERSED: 0, "parts": 2} for part in parts}
    # 100 instances of each data set, however many combinations of it are averaged.
    assert table.loc[0, "n_instances"] == 200


def test_a_combination_undefined_in_one_seed_leaves_both_sides_in_all_seeds() -> None:
    hole = np.where(np.arange(8) == 3, np.nan, 0.9)
    values = {("a", "mlp", "additive"): 0.3 + WAVE, ("a", "mlp", "deep"): 0.2}
    values |= {("b", "mlp", "additive"): hole, ("b", "mlp", "deep"): 0.0}
    row = answer(claim_of(**SCORES, average=("data",)), runs_of(values)).iloc[0]
    assert row["estimate"] == pytest.approx(0.1)
    assert (row["combinations"], row["n_seeds"]) == ("1 of 2", 8)
    assert "undefined in 1 of 2 combinations" in row["reason"]


def test_holm_over_the_contrasts_of_the_claim() -> None:
    noise = np.array([1, -1, 1, 1, -1, 1, 1, -1]) * 0.1
    values = {("a", "mlp", "additive"): 0.3 + WAVE, ("a", "mlp", "deep"): 0.2, ("a", "mlp", "dot"): 0.3 + noise}
    table = answer(claim_of(factor="score", contrasts=(("additive", "deep"), ("additive", "dot"))), runs_of(values))
    assert table.loc[0, "p_adjusted"] == pytest.approx(2 * table.loc[0, "p"])
    assert table.loc[1, "p_adjusted"] == pytest.approx(table.loc[1, "p"])
    assert verdict_of(table) == "undecided"


def test_a_family_too_large_for_its_seeds_is_undecided_and_says_so() -> None:
    values = {("a", "mlp", "additive"): 0.9 + WAVE} | {("a", "mlp", f"s{k}"): 0.0 for k in range(7)}
    claim = claim_of(factor="score", contrasts=tuple(("additive", f"s{k}") for k in range(7)))
    table = answer(claim, runs_of(values))
    assert set(table["verdict"]) == {"undecided"}
    assert table["reason"].str.contains("could never reject").all()


@pytest.mark.parametrize(
    ("level", "direction", "verdict"),
    [
        (0.3, "greater", "supported"),
        # The interval ends below .05, the least that would matter.
        (0.02, "greater", "contradicted"),
        (-0.3, "greater", "contradicted"),
        (-0.3, "less", "supported"),
        (0.3, "less", "contradicted"),
        (0.3, "different", "supported"),
        (0.0, "different", "contradicted"),
        (0.0, "equivalent", "supported"),
        (0.3, "equivalent", "contradicted"),
        (0.05, "equivalent", "undecided"),
    ],
)
def test_verdicts(level: float, direction: str, verdict: str) -> None:
    spread = WAVE if level != 0.02 else 2 * WAVE
    runs = runs_of({("a", "mlp", "additive"): 0.2 + level + spread, ("a", "mlp", "deep"): 0.2})
    table = answer(claim_of(**SCORES, direction=direction), runs)
    assert table.loc[0, "verdict"] == verdict == verdict_of(table)
    finding = {"supported": AS_CLAIMED, "undecided": ""}.get(verdict)
    if finding is None:
        small, apart_ = "no difference that matters", "differs by more than matters"
        finding = apart_ if direction == "equivalent" else small if abs(level) < 0.1 else REVERSED
    assert table.loc[0, "finding"] == finding


def test_parts_that_say_the_opposite_make_it_an_average() -> None:
    values = {("a", "mlp", "additive"): 0.5 + WAVE, ("a", "mlp", "deep"): 0.1, ("a", "cnn", "deep"): 0.3}
    runs = runs_of(values | {("a", "cnn", "additive"): 0.2 + WAVE})
    claim = claim_of(**SCORES, average=("data", "encoder"))
    table = answer(claim, runs)
    # One data set: nothing to take apart there.
    assert table["contrast"].tolist() == ["additive − deep", "additive − deep (mlp)", "additive − deep (cnn)"]
    assert table["finding"].tolist() == [AS_CLAIMED, AS_CLAIMED, REVERSED]
    assert verdict_of(table) == "supported on average"
    turned = answer(claim.model_copy(update={"direction": "less"}), runs)
    assert turned["finding"].tolist() == [REVERSED, REVERSED, AS_CLAIMED]
    assert verdict_of(turned) == "contradicted on average"


@pytest.mark.parametrize(("second", "verdict"), [(0.2 - 0.02, "undecided"), (0.2 - 0.2, "supported")])
def test_a_difference_on_the_side_claimed_contradicts_nothing_however_small(second: float, verdict: str) -> None:
    # Its interval lies above 0 and below what would matter, but one seed goes the other way.
    wave = np.array([-0.002, 0.03, 0.02, 0.02, 0.02, 0.025, 0.025, 0.022]) - 0.02
    runs = runs_of({("a", "mlp", "additive"): 0.2 + wave, ("a", "mlp", "deep"): second, ("a", "mlp", "dot"): 0.2})
    claim = claim_of(factor="score", contrasts=(("additive", "deep"), *(("additive", f"s{k}") for k in range(4))))
    row = answer(claim, runs).iloc[0]
    assert row["ci_low"] > 0
    assert row["verdict"] == verdict
    assert (row["p_adjusted"] > 0.05) == (verdict == "undecided")


def test_what_contradicts_is_corrected_too() -> None:
    # Alone the interval of the difference, −.012 to .0485, would exclude .05; beside three others it does not.
    spread = np.array([0.05, -0.05, 0.04, -0.04, 0.03, -0.03, 0.02, -0.02])
    scale = 0.0302 / (2.3646242515927844 * spread.std(ddof=1) / np.sqrt(8))
    values = {("a", "mlp", "additive"): 0.21825 + scale * spread, ("a", "mlp", "deep"): 0.2}
    alone = answer(claim_of(**SCORES), runs_of(values)).iloc[0]
    assert alone["ci_high"] == pytest.approx(0.04845, abs=1e-4)
    assert (alone["verdict"], alone["finding"]) == ("contradicted", "no difference that matters")
    assert alone["p_against"] < 0.05
    # P of a difference of .05 or more, twice the tail of t with seven degrees of freedom.
    error = 0.0302 / 2.3646242515927844
    assert alone["p_against"] == pytest.approx(2 * stats.t.cdf((0.01825 - 0.05) / error, 7))
    beside = tuple(("additive", f"s{k}") for k in range(3))
    family = answer(claim_of(factor="score", contrasts=(("additive", "deep"), *beside)), runs_of(values)).iloc[0]
    assert family["p_against_adjusted"] == pytest.approx(4 * alone["p_against"])
    assert family["verdict"] == "undecided"


def test_a_wide_interval_is_undecided() -> None:
    runs = runs_of({("a", "mlp", "additive"): 0.22 + 20 * WAVE, ("a", "mlp", "deep"): 0.2})
    assert verdict_of(answer(claim_of(**SCORES), runs)) == "undecided"


def test_minus_subtracts_another_row_of_the_same_cells_first() -> None:
    own = runs_of({("a", "mlp", "additive"): 0.5 + WAVE, ("a", "mlp", "deep"): 0.4})
    mechanical = runs_of({("a", "mlp", "additive"): 0.3, ("a", "mlp", "deep"): 0.1}, output="permuted attention")
    runs = joined(own, mechanical)
    minus = {"output": "permuted attention"}
    assert answer(claim_of(minus=minus), runs)["estimate"].tolist() == pytest.approx([0.2, 0.3])
    assert answer(claim_of(**SCORES, minus=minus), runs).loc[0, "estimate"] == pytest.approx(-0.1)


def test_an_estimate_is_shown_itself_and_judged_against_its_reference() -> None:
    runs = runs_of({("a", "mlp", "additive"): 0.6 + WAVE})
    row = answer(claim_of(reference=0.5), runs).iloc[0]
    assert row["estimate"] == pytest.approx(0.6)
    assert row["ci_low"] > 0.58
    assert row["verdict"] == "supported"
    near = answer(claim_of(reference=0.6, direction="equivalent", matters=0.02), runs).iloc[0]
    assert near["estimate"] == pytest.approx(0.6)
    assert near["verdict"] == "supported"


def test_a_slope_is_per_unit_of_the_natural_logarithm() -> None:
    parts = [
        runs_of({("a", "mlp", "additive"): 0.8 - 0.1 * np.log(units) + WAVE}, variant=str(units), study="capacity")
        for units in (16, 2, 8)
    ]
    claim = claim_of(studies=("capacity",), along="variant", direction="less", matters=0.02)
    slope = answer(claim, joined(*parts)).iloc[0]
    assert slope["estimate"] == pytest.approx(-0.1)
    assert slope["quantity"] == "slope on log level (Theil-Sen)"
    assert slope["ceiling_slope"] == pytest.approx(0.0, abs=1e-12)
    # The wave of a seed is the same at all levels: slopes have no spread to judge by.
    assert (slope["reason"], slope["verdict"]) == ("no spread between seeds: all values are equal", "undecided")


def test_a_slope_along_words_is_refused() -> None:
    parts = [runs_of({("a", "mlp", "additive"): 0.5}, variant=name, study="capacity") for name in ("small", "large")]
    with pytest.raises(ValueError, match="needs levels that are numbers, got 'small'"):
        answer(claim_of(studies=("capacity",), along="variant"), joined(*parts))


def test_controls_are_the_same_contrast_on_other_rows() -> None:
    own = runs_of({("a", "mlp", "additive"): 0.5 + WAVE, ("a", "mlp", "deep"): 0.4})
    main = runs_of({("a", "mlp", "additive"): 0.9, ("a", "mlp", "deep"): 0.2}, output="prediction")
    controls = {"prediction": {"output": "main"}, "absent": {"order": "random"}}
    row = answer(claim_of(**SCORES, controls=controls), joined(own, main)).iloc[0]
    assert row["control_prediction"] == pytest.approx(0.7)
    assert np.isnan(row["control_absent"])


def test_the_interval_of_a_control_stands_beside_it() -> None:
    own = runs_of({("a", "mlp", "additive"): 0.5 + WAVE, ("a", "mlp", "deep"): 0.4})
    other = runs_of({("a", "mlp", "additive"): 0.9 + WAVE, ("a", "mlp", "deep"): 0.2}, measure="gini")
    row = answer(claim_of(**SCORES, controls={"Gini": {"measure": "gini"}}), joined(own, other)).iloc[0]
    half = 2.3646242515927844 * WAVE.std(ddof=1) / np.sqrt(8)
    found = row[["control_Gini", "control_Gini_low", "control_Gini_high"]].tolist()
    assert found == pytest.approx([0.7, 0.7 - half, 0.7 + half])


def test_two_factors_may_move_at_once() -> None:
    parts = []
    for normalizer, temperature, level in (("softmax", 1.0, 0.2), ("softmax", 0.5, 0.3), ("gumbel_softmax", 0.5, 0.5)):
        part = runs_of({("a", "mlp", "additive"): level + WAVE * temperature})
        frames = [
            frame.assign(normalizer=normalizer, temperature=temperature) for frame in (part.estimates, part.agreement)
        ]
        parts.append(Runs(*frames, SEEDS))
    pairs = (("gumbel_softmax at 0.5", "softmax at 1"), ("softmax at 0.5", "softmax at 1"))
    table = answer(claim_of(factor="normalizer at temperature", contrasts=pairs), joined(*parts))
    assert table["estimate"].tolist() == pytest.approx([0.3, 0.1])
    assert set(table["normalizer"]) == set(table["temperature"]) == {"contrasted"}
    with pytest.raises(ValueError, match="'temperature' cannot stand in where or average"):
        claim_of(factor="normalizer at temperature", contrasts=pairs, where={"temperature": (0.5,)})


def test_sides_without_room_below_the_ceiling_say_so() -> None:
    runs = runs_of({("a", "mlp", "additive"): 0.8 + WAVE, ("a", "mlp", "deep"): 0.79})
    assert "all sides are at their ceiling" in answer(claim_of(**SCORES), runs).loc[0, "reason"]
    apart_ = runs_of({("a", "mlp", "additive"): 0.8 + WAVE, ("a", "mlp", "deep"): 0.3})
    assert "ceiling" not in answer(claim_of(**SCORES), apart_).loc[0, "reason"]


def test_a_tied_truth_leaves_less_than_1_to_weights_without_ties() -> None:
    labels = {"data": "a", "encoder": "mlp", "score": "additive", "normalizer": "softmax", "temperature": 1.0}
    labels["freeze"] = "none"
    truth = [0.5, 0.5, 0.2, 0.0]
    profile = pd.DataFrame(
        labels | {"alignment": "position", "unit_index": u, "seed": seed, "truth": value}
        for seed in (0, 1)
        for u, value in enumerate(truth)
    )
    rows = [("true information", np.nan), ("mutual information", 0.7), ("true information", 0.6)]
    agreement = pd.DataFrame(labels | {"order": o, "measure": "kendall_tau_b", "ceiling": c} for o, c in rows)
    found = _with_true_ceiling(agreement, profile)["ceiling"]
    # What a strict order along the truth reaches, by another hand.
    assert found.iloc[0] == pytest.approx(stats.kendalltau(truth, [4, 3, 2, 1]).statistic)
    assert found.iloc[1:].tolist() == [0.7, 0.6]


def test_sides_that_leave_out_other_instances_say_so() -> None:
    runs = runs_of({("a", "mlp", "additive"): 0.3 + WAVE, ("a", "mlp", "deep"): 0.2})
    shares = runs.agreement["score"].map({"additive": 0.125, "deep": 0.0})
    row = answer(claim_of(**SCORES), Runs(runs.estimates, runs.agreement.assign(undefined_share=shares), SEEDS)).iloc[0]
    assert "instances without an order: 12.5%, 0.0% by side" in row["reason"]
    assert row["degenerate_share"] == 0.125


def test_a_declared_pair_without_runs_stays_and_is_undecided() -> None:
    runs = runs_of({("a", "mlp", "additive"): 0.5 + WAVE, ("a", "mlp", "deep"): 0.2})
    claim = claim_of(factor="score", contrasts=(("additive", "deep"), ("additive", "gone")))
    table = answer(claim, runs)
    assert table["contrast"].tolist() == ["additive − deep", "additive − gone"]
    assert table["verdict"].tolist() == ["supported", "undecided"]
    assert table.loc[1, "reason"] == "no run has these levels"
    # It still counts in the correction.
    assert table.loc[0, "p_adjusted"] == pytest.approx(2 * table.loc[0, "p"])
    assert verdict_of(table) == "undecided"


def test_rows_that_no_run_has_are_undefined_with_the_reason() -> None:
    row = answer(
        claim_of(**SCORES, row=ROW | {"order": "typo"}), runs_of({("a", "mlp", s): 0.1 for s in ("additive", "deep")})
    )
    assert np.isnan(row.loc[0, "estimate"])
    assert "no run has such rows" in row.loc[0, "reason"]


def test_only_the_studies_of_a_claim_are_read_and_the_first_wins() -> None:
    core = runs_of({("a", "mlp", "additive"): 0.5 + WAVE})
    same = runs_of({("a", "mlp", "additive"): 0.1}, study="other")
    more = runs_of({("b", "mlp", "additive"): 0.9}, study="other")
    runs = joined(core, same, more)
    assert answer(claim_of(), runs)["estimate"].tolist() == pytest.approx([0.5])
    both = answer(claim_of(studies=("core", "other"), average=("data",)), runs)
    assert both.loc[both["part"] == CONFIRMATORY, "estimate"].tolist() == pytest.approx([0.7])


def test_where_keeps_levels() -> None:
    runs = runs_of({("a", "mlp", "additive"): 0.1, ("a", "cnn", "additive"): 0.5, ("b", "mlp", "additive"): 0.9})
    assert answer(claim_of(where={"encoder": ("mlp",), "data": ("b",)}), runs)["estimate"].tolist() == [0.9]


def test_a_supported_difference_may_be_too_small_to_matter() -> None:
    tiny, large = (
        runs_of({("a", "mlp", "additive"): 0.2 + d + WAVE / 10, ("a", "mlp", "deep"): 0.2}) for d in (0.01, 0.2)
    )
    found = [answer(claim_of(**SCORES), runs).iloc[0] for runs in (tiny, large)]
    assert [(row["verdict"], row["size"]) for row in found] == [("supported", "too small to matter"), ("supported", "")]
