"""The accuracy table says of made-up rows what can be read off them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mi_attention.estimators import Ross
from mi_attention.report import read_table, write_table
from tests.benchmarks.accuracy import Cell, detection, gather, judge, main, run_cell, summarise, with_earlier
from tests.benchmarks.accuracy_page import by_design, digest, limits_by_design, page
from tests.benchmarks.peers import ESTIMATORS

CELL = Cell("lin", 32, 60, 2, "balanced", 7)


def rows_with(errors: np.ndarray, *, estimator: str = "probe", standard_error: float = 0.01, **changed) -> pd.DataFrame:
    """Rows of draws ``(seeds, positions)`` whose ``nats`` miss the truth by these errors."""
    seeds, positions = errors.shape
    truth = np.linspace(0, 0.5, positions)
    frames = []
    for seed in range(seeds):
        nats = truth + errors[seed]
        frame = pd.DataFrame({"position": np.arange(positions), "kind": "lin", "truth": truth, "oracle": truth})
        frame = frame.assign(entropy=0.6, nats=nats, lower_bound=nats - 0.05, standard_error=standard_error)
        frame = frame.assign(low=nats - 0.02, high=nats + 0.02, seconds=0.1 * (seed + 1), estimator=estimator)
        given = {
            "design": "lin",
            "d": 128,
            "n": 2000,
            "classes": 2,
            "balance": "balanced",
            "seed": seed,
            "signature": "made up",
            **changed,
        }
        frames.append(frame.assign(**given))
    return pd.concat(frames, ignore_index=True)


def line_of(summary: pd.DataFrame, estimator: str = "probe", value: str = "nats") -> pd.Series:
    return summary[(summary.estimator == estimator) & (summary.value == value)].iloc[0]


def test_bias_spread_rmse_and_coverage_are_those_of_the_errors():
    summary = summarise(rows_with(np.array([[0.01] * 6, [0.03] * 6, [0.05] * 6])))
    line = line_of(summary)
    assert line.bias == pytest.approx(0.03)
    assert line.spread == pytest.approx(0.02)
    assert line.rmse == pytest.approx(0.03)
    assert line.rmse_worst == pytest.approx(0.05)
    assert line.coverage == pytest.approx(1 / 3)
    assert line.tau == pytest.approx(1)
    assert line.draws == 3
    assert line.seeds == "0 1 2"
    assert line.seconds == pytest.approx(0.2)
    held_out = line_of(summary, value="lower_bound")
    assert held_out.bias == pytest.approx(-0.02)
    assert np.isnan(held_out.coverage)
    oracle = line_of(summary, "oracle")
    assert oracle.rmse == 0
    assert oracle.tau == pytest.approx(1)


def test_at_independence_the_interval_of_the_bound_must_cover_nothing_too():
    rows = rows_with(np.zeros((1, 6)), standard_error=0.03).assign(truth=0.0, nats=0.0, lower_bound=-0.05)
    # 0 lies 1.67 standard errors above five of the bounds, and 2.67 above the sixth.
    rows.loc[rows.position == 5, "lower_bound"] = -0.08
    assert line_of(summarise(rows), value="lower_bound").coverage == pytest.approx(5 / 6)


def test_ties_lower_tau_and_are_counted_and_a_constant_orders_nothing():
    truth = np.linspace(0, 0.5, 6)
    tied = line_of(summarise(rows_with(np.where(truth < 0.25, -truth, 0.0)[None])))
    assert tied.ties == pytest.approx(0.5)
    # 3 of 15 pairs are tied on one side: 12 / sqrt(12 · 15).
    assert tied.tau == pytest.approx(12 / np.sqrt(12 * 15))
    constant = line_of(summarise(rows_with(-truth[None])))
    assert constant.tau == 0
    assert constant.ties == 1
    assert np.isnan(line_of(summarise(rows_with(np.zeros((1, 6)), design="lin").assign(truth=0.0))).tau)


def test_values_above_the_entropy_are_counted():
    errors = np.zeros((2, 6))
    errors[0, 5] = 0.2
    assert line_of(summarise(rows_with(errors))).above_entropy == pytest.approx(1 / 12)


def test_the_digest_is_a_mean_over_designs_with_information():
    rows = [rows_with(np.full((1, 6), error), design=design) for design, error in (("lin", 0.02), ("xor", -0.04))]
    rows += [rows_with(np.full((1, 6), 9.0), design=other) for other in ("independent", "lin:warped")]
    found = digest(summarise(pd.concat(rows)))
    line = found[found.estimator == "probe"].iloc[0]
    assert line.designs == 2
    assert line.bias == pytest.approx(-0.01)
    assert line.rmse == pytest.approx(0.03)
    assert line.coverage == pytest.approx(0.5)
    worse = rows_with(np.array([[0.0, -0.2, 0.0, 0.0, 0.0, 0.0]]), estimator="ross")
    order = digest(summarise(pd.concat([rows[0], worse]))).estimator.tolist()
    assert order.index("probe") < order.index("ross")


def test_the_page_has_a_column_a_design_and_tells_what_was_not_run_from_what_is_undefined():
    lin = rows_with(np.full((1, 6), 0.02), design="lin")
    ross = rows_with(np.full((1, 6), -0.04), design="xor", estimator="ross", standard_error=np.nan).assign(low=np.nan)
    warped = rows_with(np.zeros((1, 6)), design="lin:warped")
    rows = pd.concat([ross, warped, lin])
    summary = summarise(rows)
    wide = by_design(summary, variants=False).set_index("estimator")
    assert wide.columns.tolist() == ["d", "n", "classes", "balance", "lin", "xor"]
    assert wide.loc["probe", "lin"] == "1.000 / .020 / 1.00"
    assert wide.loc["ross", "xor"] == "1.000 / .040 / –"
    assert wide.loc["ross", "lin"] == wide.loc["probe", "xor"] == ""
    assert by_design(summary, variants=True).columns[-1] == "lin:warped"
    limits = limits_by_design(detection(rows))
    assert set(limits.estimator) == {"probe"}
    assert "xor" not in limits.columns
    text = page(summary, detection(rows), "accuracy")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Accuracy against known information",
        "## Means over designs",
        "## By design",
        "## Variants",
        "## Detection",
    ]
    assert "| 1.000 / .020 / 1.00 |" in text
    assert "## Variants" not in page(summary[~summary.design.str.contains(":")], detection(lin), "accuracy")


def test_detection_is_the_smallest_truth_from_which_on_half_the_draws_find_all():
    errors = np.zeros((2, 6))
    errors[:, 3] = -0.3  # missed by both draws, though smaller ones are found
    errors[0, 4] = -0.4  # found by one of two
    found = detection(rows_with(errors))
    assert found.limit.tolist() == pytest.approx([0.4])
    assert detection(rows_with(np.full((1, 6), -0.6))).limit.tolist() == [np.inf]
    assert detection(pd.concat([rows_with(errors), rows_with(errors, standard_error=np.nan)])).empty


def test_an_estimator_without_errors_has_no_false_findings_to_count():
    assert np.isnan(line_of(summarise(rows_with(np.zeros((2, 6)), standard_error=np.nan))).found_at_zero)
    # The held-out value at 0 is −0.05, then 0.05: half of the draws find something where there is nothing.
    errors = np.zeros((2, 6))
    errors[1, 0] = 0.1
    assert line_of(summarise(rows_with(errors))).found_at_zero == pytest.approx(0.5)


def test_the_verdict_passes_good_rows_and_fails_each_requirement_that_is_missed():
    def rows(**missed: np.ndarray) -> pd.DataFrame:
        designs = ("lin", "mixed", "heavy", "lowrank", "all4", "independent", "independent:grouped")
        frames = [
            rows_with(missed.get(design.replace(":", "_"), np.zeros((2, 6))), design=design, classes=classes)
            for design in designs
            for classes in (2, 4)
        ]
        return pd.concat(frames, ignore_index=True)

    def failed(made: pd.DataFrame) -> set[str]:
        return {what for what, _, _, passed in judge(made, summarise(made)) if not passed}

    assert failed(rows()) == set()
    assert failed(rows(independent_grouped=np.full((2, 6), 0.011))) == {"independent:grouped: |bias|"}
    assert failed(rows(heavy=np.full((2, 6), 0.05))) == {"heavy: RMSE", "heavy: coverage"}
    turned = np.zeros((2, 6))
    turned[:, 0], turned[:, 1] = 0.015, -0.1
    assert "mixed: tau" in failed(rows(mixed=turned))
    assert "all4, 4 classes: tau" in failed(rows(all4=turned))
    above = np.zeros((2, 6))
    above[0, 5] = 0.11
    assert "nats above H(Y), share" in failed(rows(all4=above))


def test_a_cell_is_run_once_and_kept(tmp_path):
    assert len(run_cell(CELL, ["probe-linear", "ross"], tmp_path)) == 2
    assert run_cell(CELL, ["probe-linear", "ross"], tmp_path) == []
    assert len(run_cell(CELL, ["probe-linear", "logistic"], tmp_path)) == 1
    rows = gather([CELL], ["probe-linear", "ross", "logistic"], tmp_path)
    assert rows.groupby("estimator").size().to_dict() == {"logistic": 20, "probe-linear": 20, "ross": 20}
    assert set(rows.seed) == {7}
    assert (rows.low < rows.nats).all()


def test_rows_of_other_hyper_parameters_are_not_mixed_in(tmp_path, monkeypatch):
    run_cell(CELL, ["ross"], tmp_path)
    monkeypatch.setitem(ESTIMATORS, "ross", lambda seed: Ross(k=3))
    other = replace(CELL, seed=8)
    run_cell(other, ["ross"], tmp_path)
    assert len(gather([other], ["ross"], tmp_path)) == 20
    with pytest.raises(ValueError, match="--redo ross"):
        gather([CELL, other], ["ross"], tmp_path)


def test_an_estimator_that_refuses_the_rows_is_left_out_and_said(tmp_path):
    grouped = Cell("lin:grouped", 32, 60, 2, "balanced", 7)
    (said,) = run_cell(grouped, ["npeet"], tmp_path)
    assert "left out" in said
    with pytest.raises(ValueError, match="no estimator gave a value"):
        gather([grouped], ["npeet"], tmp_path)


def test_earlier_lines_stay_unless_they_are_replaced_or_forgotten(tmp_path):
    keys = ["estimator", "design", "d", "n", "classes", "balance", "value"]
    first = summarise(pd.concat([rows_with(np.full((1, 6), 0.1), design=design) for design in ("lin", "xor")]))
    assert with_earlier(first, tmp_path / "table", keys, []) is first
    write_table(first, tmp_path / "table", "made up")
    new = summarise(rows_with(np.zeros((1, 6)), design="xor"))
    both = with_earlier(new, tmp_path / "table", keys, [])
    assert len(both) == len(first)
    mine = both[(both.estimator == "probe") & (both.value == "nats")].set_index("design")
    assert mine.bias.to_dict() == pytest.approx({"lin": 0.1, "xor": 0.0})
    left = with_earlier(new, tmp_path / "table", keys, ["probe"])
    assert set(left[left.estimator == "probe"].design) == {"xor"}
    assert set(left[left.estimator == "oracle"].design) == {"lin", "xor"}
    with pytest.raises(ValueError, match="--redo probe"):
        with_earlier(
            new.assign(signature=new.signature.where(new.estimator == "oracle", "another")),
            tmp_path / "table",
            keys,
            [],
        )


def test_a_second_run_adds_to_the_table_whether_or_not_the_rows_of_the_first_are_there(tmp_path):
    small = ["--output", str(tmp_path), "--sizes", "32,60", "--seeds", "1", "--classes", "2", "--balances", "balanced"]
    assert main([*small, "--designs", "lin", "--estimators", "ross"]) == 0
    for path in (tmp_path / "rows").iterdir():
        path.unlink()
    assert main([*small, "--designs", "xor", "--estimators", "ross", "probe-linear"]) == 0
    table = read_table(tmp_path / "accuracy")[0]
    told = set(zip(table.design, table.estimator, strict=True))
    assert told == {("lin", "ross"), ("xor", "ross"), ("xor", "probe-linear"), ("lin", "oracle"), ("xor", "oracle")}
