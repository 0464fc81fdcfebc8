"""Running: the same numbers from any number of workers, only what is missing, failures kept and shown."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from mi_attention import cli
from mi_attention.report import read_table
from mi_attention.study.config import StudyConfig
from mi_attention.study.run import load_plan, plan_study, run_study
from mi_attention.study.store import CellStore
from mi_attention.study.tables import collect

TINY = """
name = "tiny"
seeds = [0, 1]

[[data]]
name = "planted/keywords"
n = [200, 60, 120]

[model]
encoder = ["mlp"]
score = ["additive", "scaled_dot"]
units = 8

[training]
epochs = 2

[analysis]
alignments = ["position", "rank", "instance"]
null_draws = 99
estimator_options = { members = ["linear"], folds = 4 }
"""
# Where it matters how a run ends, and not what its cells hold.
QUICK = TINY.replace('["position", "rank", "instance"]', '"instance"').replace("null_draws = 99", "null_draws = 19")


@pytest.fixture
def without_figures(monkeypatch):
    """A figure takes as long as a cell; those of a run that was stopped are drawn in ``test_faults.py``."""
    monkeypatch.setattr("mi_attention.study.outputs.drawings_of", lambda *_: [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def finished(folder):
    """The tiny study, run by the command line; the same numbers from two workers: ``test_faults.py``."""
    file = folder / "tiny.toml"
    file.write_text(TINY)
    assert cli.main(["study", str(file), "--output", str(folder / "out"), "--workers", "1"]) == 0
    return folder / "out"


def tables_of(directory):
    study, plan = load_plan(directory)
    return study, plan, collect(plan.cells, CellStore(directory / "cells"))


def test_everything_an_author_needs_is_written(finished):
    for name in ("agreement", "profile", "concentration", "training", "summary"):
        frame, metadata = read_table(finished / f"{name}.parquet")
        assert len(frame) > 0
        assert "seeds=0,1" in metadata["signature"]
        assert (finished / f"{name}.csv").exists()
    assert r"\toprule" in (finished / "summary.tex").read_text()
    page = (finished / "report.md").read_text()
    assert "planted/keywords" in page
    assert "not faithfulness" in page
    for figure in ("rank-planted-keywords", "position-planted-keywords", "agreement-planted-keywords", "concentration"):
        for ending in (".pdf", ".svg", ".png"):
            assert (finished / "figures" / (figure + ending)).stat().st_size > 1000
    manifest = json.loads((finished / "manifest.json").read_text())
    assert manifest["cells"]["ok"] == 4
    assert set(manifest["versions"]) >= {"torch", "numpy", "mi-attention", "python"}
    assert "planted/keywords" in manifest["data"]


def test_a_second_run_does_only_what_is_missing(finished):
    study, plan, _ = tables_of(finished)
    store = CellStore(finished / "cells")
    path = finished / "cells" / f"{plan.cells[2].key}.cell"
    before = {file.name: file.stat().st_mtime_ns for file in (finished / "cells").glob("*.cell")}
    assert plan_study(study, finished).missing == ()
    kept = store.read(plan.cells[2].key)
    path.unlink()
    again = plan_study(study, finished, workers=1)
    assert [cell.key for cell in again.missing] == [plan.cells[2].key]
    assert run_study(again, finished).done == 4
    after = {file.name: file.stat().st_mtime_ns for file in (finished / "cells").glob("*.cell")}
    assert {name for name in before if before[name] != after[name]} == {path.name}
    for name in ("agreement", "profile", "instances", "positions"):
        pd.testing.assert_frame_equal(store.read(plan.cells[2].key).table(name), kept.table(name))


def test_the_report_is_made_again_from_cells_alone(finished, capsys):
    (finished / "summary.csv").unlink()
    assert cli.main(["report", str(finished)]) == 0
    assert (finished / "summary.csv").exists()
    assert "tau-b" in capsys.readouterr().out


def test_the_oracle_rows_exist_where_the_truth_is_known(finished):
    _, _, tables = tables_of(finished)
    found = tables.agreement[tables.agreement["order"] == "true information"]
    assert set(found["estimand"]) >= {"position", "recovery"}
    truth = tables.profile.dropna(subset="truth")
    assert set(truth["output"]) == {"label"}
    assert set(truth["alignment"]) == {"position"}


def test_a_failed_cell_is_recorded_shown_and_tried_again(folder, capsys, monkeypatch):
    # Four texts cannot be trained on: the split has one class, so every cell of that data fails; digits do not.
    rows = [{"text": "a b c", "label": "x", "split": s} for s in ("train", "dev", "test")]
    rows.append({"text": "b c d", "label": "y", "split": "test"})
    (folder / "bad.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "failing.toml").write_text(
        QUICK.replace('name = "planted/keywords"\nn = [200, 60, 120]', 'path = "bad.jsonl"').replace(
            'score = ["additive", "scaled_dot"]', 'score = ["additive"]'
        )
        + '\n[[data]]\nname = "planted/keyword"\nn = [200, 60, 120]\n'
    )
    monkeypatch.setattr("mi_attention.study.cell.train", _failing_on("bad"))
    output = folder / "failing"
    assert cli.main(["study", str(folder / "failing.toml"), "--output", str(output), "--workers", "1"]) == 1
    shown = capsys.readouterr()
    assert "failed: bad" in shown.err
    assert "no luck" in shown.err
    runs = pd.read_csv(output / "runs.csv")
    assert runs["status"].value_counts().to_dict() == {"failed": 2, "ok": 2}
    assert runs.loc[runs["status"] == "failed", "error"].str.contains("no luck").all()
    assert "## Failed cells" in (output / "report.md").read_text()
    study, _ = load_plan(output)
    assert len(plan_study(study, output).missing) == 2


def _failing_on(name):
    from mi_attention.models import train

    def run(dataset, *arguments):
        if name in dataset.name:
            raise RuntimeError("no luck")
        return train(dataset, *arguments)

    return run


def test_interrupting_leaves_finished_cells_and_tables(folder, monkeypatch, without_figures):
    (folder / "stopped.toml").write_text(QUICK.replace('name = "tiny"', 'name = "stopped"'))
    calls = []

    def stop_at_the_third(cell, store, group):
        calls.append(cell)
        if len(calls) == 3:
            raise KeyboardInterrupt
        from mi_attention.study.cell import run_cell

        return run_cell(cell, store, group)

    monkeypatch.setattr("mi_attention.study.run.run_cell", stop_at_the_third)
    output = folder / "stopped"
    assert cli.main(["study", str(folder / "stopped.toml"), "--output", str(output), "--workers", "1"]) == 130
    assert (pd.read_csv(output / "runs.csv")["status"] == "ok").sum() == 2
    assert len(pd.read_csv(output / "summary.csv")) >= 1


def test_data_without_a_training_split_are_refused_with_the_remedy(tmp_path):
    rows = [{"text": "a b", "label": label, "split": "test"} for label in (0, 1)]
    (tmp_path / "only.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    study = StudyConfig.model_validate({"name": "s", "data": [{"path": str(tmp_path / "only.jsonl")}]})
    with pytest.raises(ValueError, match=r"no train split.*train the model on another data set"):
        plan_study(study, tmp_path / "out")


def test_two_sources_of_one_name_are_refused(tmp_path):
    study = StudyConfig.model_validate({"name": "s", "data": [{"name": "digits"}, {"name": "digits"}]})
    with pytest.raises(ValueError, match="give one of them a title"):
        plan_study(study, tmp_path)
