"""A study with declared families: its report follows them, labels the rest, and shows what came late."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mi_attention import cli
from mi_attention.statistics import paired_contrast

STUDY = """
name = "declared"
seeds = [0, 1, 2, 3, 4, 5]
[[data]]
name = "planted/keyword"
n = [120, 50, 50]
[model]
encoder = "mlp"
score = ["additive", "scaled_dot"]
units = 4
[training]
epochs = 3
learning_rate = 0.05
[analysis]
alignments = "instance"
null_draws = 19
estimator_options = { members = ["linear"], folds = 4 }
claims = ["Additive attention follows information more closely."]
exploratory = "concentration"
[[analysis.families]]
name = "scores"
claim = "Additive is above scaled dot-product."
factor = "score"
contrasts = [["additive", "scaled_dot"]]
"""
LATE = """
[[analysis.families]]
name = "late"
factor = "score"
contrasts = [["additive", "scaled_dot"]]
estimand = "concentration"
test = "equivalence"
margin = 0.9
"""


@pytest.fixture(scope="module")
def without_figures():
    """Studies that write no figures: a figure takes as long as a cell, and what is tested looks at none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mi_attention.study.outputs.drawings_of", lambda *_: [])
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory, without_figures):
    folder = tmp_path_factory.mktemp("declared")
    (folder / "s.toml").write_text(STUDY)
    assert cli.main(["study", str(folder / "s.toml"), "--output", str(folder / "out"), "--workers", "1"]) == 0
    return folder


def test_the_report_follows_the_declaration_and_labels_the_rest(done):
    out = done / "out"
    found = pd.read_csv(out / "contrasts.csv")
    first = found.iloc[0]
    runs = pd.read_csv(out / "seeds.csv", keep_default_na=False)
    rows = runs[(runs["estimand"] == "pointwise") & (runs["measure"] == "kendall_tau_b") & (runs["state"] == "hidden")]
    rows = rows[(rows["order"] == "informativeness") & (rows["output"] == "prediction")]
    sides = [
        rows[rows["score"] == score].sort_values("seed")["estimate"].astype(float).to_numpy()
        for score in ("additive", "scaled_dot")
    ]
    expected = paired_contrast(*sides)
    assert np.isfinite(sides).all()
    assert len(sides[0]) == 6
    np.testing.assert_allclose(
        [first["estimate"], first["ci_low"], first["ci_high"], first["p"], first["p_adjusted"]],
        [expected.estimate, expected.ci_low, expected.ci_high, expected.p, expected.p],
    )
    assert first["status"] == "confirmatory"
    assert first["rejected"] == ("yes" if expected.p <= 0.05 else "no")
    page = (out / "report.md").read_text()
    declared, rest = page.split("Everything below is exploratory")
    assert "## What was declared" in declared
    assert "- Additive attention follows information more closely. (confirmatory)" in declared
    assert "- concentration (exploratory)" in declared
    assert "additive − scaled" in declared
    assert "## Does attention rank states" in rest
    assert r"\toprule" in (out / "contrasts.tex").read_text()
    for name in ("summary", "controls"):
        assert "exploratory: not part of a declared family" in (out / f"{name}.tex").read_text()
    manifest = json.loads((out / "manifest.json").read_text())
    assert [entry["status"] for entry in manifest["declared"]] == ["confirmatory"] * 2
    assert manifest["seeds"] == [0, 1, 2, 3, 4, 5]
    assert len(manifest["weights"]) == 12
    assert manifest["hardware"]["threads"] == 1
    assert manifest["data"]["planted/keyword"]


def test_a_family_added_later_is_exploratory_and_one_taken_back_is_named(done, capsys):
    out = done / "out"
    cells = {path.name: path.stat().st_mtime_ns for path in (out / "cells").glob("*.cell")}
    changed = STUDY.replace('claims = ["Additive attention follows information more closely."]\n', "") + LATE
    (done / "later.toml").write_text(changed)
    assert cli.main(["study", str(done / "later.toml"), "--output", str(out), "--workers", "1"]) == 0
    assert {path.name: path.stat().st_mtime_ns for path in (out / "cells").glob("*.cell")} == cells
    found = pd.read_csv(out / "contrasts.csv").drop_duplicates("family").set_index("family")
    assert found.loc["scores", "status"] == "confirmatory"
    assert found.loc["late", "status"] == "exploratory: declared when 12 cells were finished"
    assert found.loc["late", "test"].startswith("equivalence within ±0.9")
    page = (out / "report.md").read_text()
    assert "Declared earlier, and changed or withdrawn since: claim “Additive attention follows" in page
    capsys.readouterr()


def test_a_study_that_declares_nothing_says_nothing_of_it(done):
    plain = STUDY[: STUDY.index("claims =")]
    (done / "plain.toml").write_text(plain)
    assert cli.main(["study", str(done / "plain.toml"), "--output", str(done / "out"), "--workers", "1"]) == 0
    assert not (done / "out" / "contrasts.csv").exists()
    assert "exploratory" not in (done / "out" / "summary.tex").read_text()
    assert "exploratory" not in (done / "out" / "report.md").read_text()
