"""One script from its claims to its results, on a grid of seconds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mi_attention.report import read_table
from mi_attention.study.claim_figures import claims_figure
from mi_attention.study.factorial import factorial_table
from mi_attention.study.settle import Found, settle
from mi_attention.study.story import write_story

STUDY = """
name = "core"
seeds = [0, 1, 2]

[[data]]
name = "planted/keywords"
title = "planted"
n = [200, 60, 140]
length = 6

[[data]]
path = "set/set.jsonl"

[model]
encoder = ["ENCODER"]
score = ["additive", "scaled_dot"]
units = 4

[training]
epochs = 2
learning_rate = 2e-2

[analysis]
alignments = ["position", "instance"]
extras = ["preservation"]
minimum = 10
null_draws = 19
estimator_options = { members = ["linear"], folds = 4 }
"""
CLAIMS = """
[rows.tau]
estimand = "pointwise"
measure = "kendall_tau_b"
order = "informativeness"
output = "label"
state = "hidden"

[rows.ties]
estimand = "near ties, pointwise"
measure = "concordance"
order = "attention gap 0 to 0.05"
output = "label"
state = "all pairs"

[small]
title = "Small"
question = "Is it?"
doubt = "If it were not."

[[small.claims]]
claim = "Additive attention follows information more than scaled dot-product attention"
studies = ["core"]
row = "tau"
factor = "score"
contrasts = [["additive", "scaled_dot"]]
average = ["data"]
direction = "greater"
matters = 0.05
controls = { random = { order = "random", output = "", state = "" }, prediction = { output = "main" } }

[[small.claims]]
claim = "Near ties are at chance"
studies = ["core"]
row = "ties"
reference = 0.5
direction = "equivalent"
matters = 0.05

[[small.claims]]
claim = "Accuracy is above one half"
studies = ["core"]
row = { estimand = "training", measure = "test_accuracy" }
reference = 0.5
direction = "greater"
matters = 0.01
"""


def write_inputs(folder: Path, *, encoder: str = "mlp") -> dict[str, Path]:
    (folder / "grid").mkdir(parents=True)
    (folder / "grid" / "core.toml").write_text(STUDY.replace("ENCODER", encoder), encoding="utf-8")
    (folder / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    return {"claims": folder / "claims.toml", "grid": folder / "grid", "runs": folder / "runs" / "grid"}


def effects(found: Found) -> pd.DataFrame:
    row = {"estimand": "pointwise", "measure": "kendall_tau_b", "order": "informativeness", "output": "label"}
    return factorial_table(found.cells("core"), found.store, ["score"], **row)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settle")


@pytest.fixture(scope="module")
def inputs(folder: Path) -> dict[str, Path]:
    return write_inputs(folder)


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def results(folder: Path, inputs: dict[str, Path], said: list[str]) -> Path:
    return settle(
        "small",
        **inputs,
        output=folder / "results",
        workers=1,
        figure=lambda found: claims_figure(found.answers),
        tables={"factorial": effects},
        say=said.append,
    )


def test_missing_data_are_said_and_keep_the_committed_results_untouched(
    folder: Path, results: Path, said: list[str]
) -> None:
    assert "left out, no such file: core: set/set.jsonl" in said
    assert results == folder / "runs" / "results" / "small"
    assert not (folder / "results").exists()
    table, _ = read_table(results / "table")
    assert set(table["status"]) == {"incomplete, without core: set/set.jsonl"}


def test_the_folder_is_whole(results: Path) -> None:
    names = {path.name for path in results.iterdir()}
    pairs = {f"{stem}.{ending}" for stem in ("table", "estimates", "factorial") for ending in ("csv", "parquet")}
    figures = {f"figure.{ending}" for ending in ("pdf", "svg", "png")}
    assert names == pairs | figures | {"table.tex", "claim.json", "manifest.json"}


def test_claims_and_table_say_the_same(results: Path, said: list[str]) -> None:
    table, _ = read_table(results / "table")
    page = json.loads((results / "claim.json").read_text(encoding="utf-8"))
    assert [claim["claim"] for claim in page["claims"]] == list(dict.fromkeys(table["claim"]))
    for claim in page["claims"]:
        rows = table[(table["claim"] == claim["claim"]) & (table["part"] == "claim")]
        assert len(rows) == len(claim["contrasts"])
        for (_, row), contrast in zip(rows.iterrows(), claim["contrasts"], strict=True):
            assert contrast["estimate"] == row["estimate"]
            assert contrast["verdict"] == row["verdict"]
            assert f"{row['estimate']:.3f}" in contrast["sentence"]
            assert any(contrast["sentence"] in text for text in said)
        assert any(text.strip().startswith(claim["verdict"].upper()) and claim["claim"] in text for text in said)


def test_numbers_are_those_of_the_runs(results: Path) -> None:
    table, _ = read_table(results / "table")
    estimates, _ = read_table(results / "estimates")
    tau = estimates[(estimates["order"] == "informativeness") & (estimates["output"] == "label")].set_index("score")
    first = table[table["contrast"] == "additive − scaled_dot"].iloc[0]
    # Pooled over seeds and instances, no instance undefined in some of the seeds only.
    expected = tau.loc["additive", "estimate"] - tau.loc["scaled_dot", "estimate"]
    assert first["estimate"] == pytest.approx(expected, abs=1e-9)
    assert first["reliability"] == pytest.approx(tau["reliability"].mean())
    assert first["n_instances"] == 200
    assert 0 < first["detection_limit"] < np.log(2)
    assert first["control_random"] == pytest.approx(0, abs=0.2)
    effect, _ = read_table(results / "factorial")
    # The coefficient is the difference of the levels, in alphabetical order.
    change = effect.loc[effect["quantity"] == "score[scaled_dot]", "estimate"].iloc[0]
    assert change == pytest.approx(-first["estimate"], abs=1e-6)


def test_a_second_run_trains_nothing_and_gives_the_same_bytes(
    folder: Path, inputs: dict[str, Path], results: Path
) -> None:
    before = {path.name: path.read_bytes() for path in results.iterdir()}
    said: list[str] = []
    figure = lambda found: claims_figure(found.answers)  # noqa: E731
    settle("small", **inputs, output=folder / "results", figure=figure, tables={"factorial": effects}, say=said.append)
    assert not [text for text in said if "cells to run" in text]
    assert {path.name: path.read_bytes() for path in results.iterdir()} == before


def test_the_manifest_says_what_was_run(results: Path) -> None:
    facts = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    assert facts["cells"] == 6 == len(facts["weights"]) == sum(facts["cell_commits"].values())
    made = facts["commit"]["commit"]
    assert set(facts["cell_commits"]) <= ({made, f"{made}, changed"} if made else {"not recorded"})
    assert list(facts["data"]) == ["planted"]
    assert facts["missing"] == ["core: set/set.jsonl"]
    assert facts["studies"]["core"]["seeds"] == [0, 1, 2]
    assert str(results) not in json.dumps(facts)


def test_a_grid_with_holes_settles_nothing(tmp_path: Path) -> None:
    # The CNN has four kernels: a width of 6 cannot be shared between them.
    inputs = write_inputs(tmp_path, encoder="cnn")
    grid = tmp_path / "grid" / "core.toml"
    grid.write_text(grid.read_text(encoding="utf-8").replace("units = 4", "units = 6"), encoding="utf-8")
    with pytest.raises(RuntimeError, match="6 cells failed, no claim is settled"):
        settle("small", **inputs, output=tmp_path, workers=1, figure=lambda found: claims_figure(found.answers))
    assert not (tmp_path / "small").exists()


def test_a_script_without_claims_is_refused(tmp_path: Path) -> None:
    inputs = write_inputs(tmp_path)
    with pytest.raises(ValueError, match="no script is called 'other'"):
        settle("other", **inputs, output=tmp_path, figure=lambda found: claims_figure(found.answers))


def test_the_page_takes_its_numbers_from_the_claims(results: Path, tmp_path: Path) -> None:
    page = write_story(
        results.parent, ("small", "none_yet"), before="# Words", after="## End", target=tmp_path / "README.md"
    ).read_text(encoding="utf-8")
    table, _ = read_table(results / "table")
    for _, row in table[table["part"] == "claim"].iterrows():
        line = next(line for line in page.splitlines() if row["claim"] in line)
        assert f"| {row['verdict']} |" in line.replace("  ", " ")
        assert f"{row['estimate']:.3f}" in line
    assert "![Small](small/figure.png)" in page
    assert "None yet" in page
    assert "Not settled yet" in page
    assert "Not simply confirmatory: claims 1, 2, 3: incomplete" in page
    assert page.startswith("# Words\n")
    assert page.endswith("## End\n")
