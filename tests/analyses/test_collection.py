"""Several studies in one folder: data where the reader has them, variants, and cells that are shared."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mi_attention.study.collection import (
    DATA_VARIABLE,
    finished_cells,
    load_collection,
    plan_collection,
    run_collection,
)

STUDY = """
name = "NAME"
seeds = [0, 1]

[[data]]
name = "planted/keyword"
title = "planted"
n = [60, 40, 40]

[[data]]
path = "set/set.jsonl"

[model]
encoder = ["mlp"]
score = ["additive"]
units = 4

[training]
epochs = 1

[analysis]
alignments = ["instance"]
null_draws = 19
estimator_options = { members = ["linear"], folds = 4 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "grid"
    made.mkdir()
    for name in ("core", "more"):
        (made / f"{name}.toml").write_text(STUDY.replace("NAME", name), encoding="utf-8")
    (made / "grid.toml").write_text('[variants.more]\n"model.units" = [4, 2]\n', encoding="utf-8")
    return made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        {"text": f"word{i % 2} other{i % 7} filler{i}", "label": i % 2, "split": split}
        for i, split in enumerate(["train"] * 60 + ["dev"] * 30 + ["test"] * 30)
    ]
    (tmp_path / "data" / "set").mkdir(parents=True)
    (tmp_path / "data" / "set" / "set.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path / "data"


def test_files_of_data_are_the_readers_own(folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    without = load_collection(folder)
    assert without.missing == ("core: set/set.jsonl", "more: set/set.jsonl")
    assert [len(member.study.data) for member in without.members] == [1, 1, 1]
    whole = load_collection(folder, data)
    assert whole.missing == ()
    assert whole.members[0].study.data[1].path == str(data / "set" / "set.jsonl")
    monkeypatch.setenv(DATA_VARIABLE, str(data))
    assert load_collection(folder) == whole
    # A folder that lacks the file is as good as none.
    (data / "set" / "set.jsonl").unlink()
    assert load_collection(folder) == without


def test_variants_are_studies_of_their_own(folder: Path) -> None:
    members = load_collection(folder).members
    assert [(member.study.name, member.source, member.variant) for member in members] == [
        ("core", "core", ""),
        ("more-4", "more", "4"),
        ("more-2", "more", "2"),
    ]
    assert [member.study.model.units for member in members] == [4, 4, 2]
    assert members[1].study.training == members[0].study.training


def test_a_study_without_any_data_is_left_out(folder: Path) -> None:
    text = STUDY.replace("NAME", "files").split("[[data]]")
    (folder / "files.toml").write_text("[[data]]".join([text[0], text[2]]), encoding="utf-8")
    found = load_collection(folder)
    assert "files" not in [member.source for member in found.members]
    assert found.of(["files"]).missing == ("files: set/set.jsonl",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[variants.gone]\na = [1]", "has variants of 'gone'"),
        ('[variants.more]\n"model.units" = []', "must name one setting"),
        ('[variants.more]\n"model.units" = 4', "must name one setting"),
        ('[variants.more]\n"model.size" = [4]', "model.size"),
        ("[other]\na = 1", "unknown key 'other'"),
        ("[variants", "not TOML"),
    ],
)
def test_wrong_variants_are_refused(folder: Path, text: str, message: str) -> None:
    (folder / "grid.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_collection(folder)


def test_names_that_are_not_there_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no study is called 'cores'; there are core, more"):
        load_collection(folder).of(["cores"])
    with pytest.raises(FileNotFoundError, match="no folder"):
        load_collection(tmp_path / "nowhere")


def test_cells_that_two_studies_share_are_run_once(folder: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plans = plan_collection(load_collection(folder), runs, workers=1)
    said: list[str] = []
    results = run_collection(plans, runs, say=said.append)
    assert {name: result.done for name, result in results.items()} == {"core": 2, "more-4": 2, "more-2": 2}
    assert said == ["core: 2 of 2 cells to run", "more-2: 2 of 2 cells to run"]
    assert len(list((runs / "cells").glob("*.cell"))) == 4
    # Where each study is looked at by itself it finds its cells.
    assert os.path.samefile(runs / "more-4" / "cells", runs / "cells")
    again = plan_collection(load_collection(folder), runs, workers=1)
    assert not any(plan.missing for plan in again.values())


def test_finished_cells_are_counted_by_study_file(folder: Path, tmp_path: Path) -> None:
    collection, runs = load_collection(folder), tmp_path / "runs"
    assert finished_cells(collection, runs) == {"core": 0, "more": 0}
    core = collection.of(["core"])
    run_collection(plan_collection(core, runs, workers=1), runs)
    # A variant of the other shares these cells, but was never planned.
    assert finished_cells(collection, runs) == {"core": 2, "more": 0}
    plan_collection(collection, runs, workers=1)
    assert finished_cells(collection, runs) == {"core": 2, "more": 2}
