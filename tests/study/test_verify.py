"""Verification: an untouched study is the same to the bit, and a changed number is found and shown."""

from __future__ import annotations

import json
import shutil

import pytest

from mi_attention import cli
from mi_attention.report import read_table, write_table
from mi_attention.study.packed import pack, unpack
from mi_attention.study.run import plan_study, save_plan
from mi_attention.study.verify import verify_study


@pytest.fixture
def study_folder(undisturbed, smallest, tmp_path):
    shutil.copytree(undisturbed[0], tmp_path / "study")
    folder = tmp_path / "study"
    save_plan(smallest, plan_study(smallest, folder, workers=1), folder)
    return folder


def change(path, table, column, row, new):
    """Change one number of a stored cell."""
    found = unpack(path.read_bytes())
    tables = {name: found.table(name) for name in found.layout}
    old = tables[table].loc[row, column]
    tables[table].loc[row, column] = new(old)
    path.write_bytes(pack(tables, found.metadata))
    return old


def test_an_untouched_cell_is_the_same_to_the_bit(study_folder, capsys):
    before = sorted(path.name for path in study_folder.rglob("*"))
    assert cli.main(["verify", str(study_folder)]) == 0
    shown = capsys.readouterr()
    assert "The same to the bit" in shown.out
    assert "1 cells" in shown.out
    assert "again" in shown.err
    # It runs elsewhere: nothing of the study is touched.
    assert sorted(path.name for path in study_folder.rglob("*")) == before


def test_a_changed_number_is_found_and_shown(study_folder, capsys):
    for path in (study_folder / "cells").glob("*.cell"):
        change(path, "instances", "value", 5, lambda old: old + 1e-9)
    assert cli.main(["verify", str(study_folder), "--seed", "1"]) == 1
    shown = capsys.readouterr().out
    assert "Not the same to the bit: 1 of" in shown
    assert "instances" in shown
    assert "value stored" in shown
    # Within a stated tolerance it passes; a difference beyond it does not.
    assert verify_study(study_folder, tolerance=1e-6, seed=1).same
    for path in (study_folder / "cells").glob("*.cell"):
        change(path, "profile", "nats", 0, lambda old: old + 0.1)
    found = verify_study(study_folder, tolerance=1e-6, seed=1)
    assert [text for text in found.differences if "nats" in text]


def test_published_tables_alone_are_verified(study_folder, undisturbed, smallest, capsys):
    tables = undisturbed[1]
    shutil.rmtree(study_folder / "cells")
    (study_folder / "study.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"study\.json is missing"):
        verify_study(study_folder)
    manifest = {"study": smallest.model_dump(mode="json", exclude={"backend"})}
    (study_folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="neither cells nor the tables"):
        verify_study(study_folder)
    for name in ("runs", "seeds", "profile"):
        write_table(getattr(tables, name), study_folder / name, "s")
    assert cli.main(["verify", str(study_folder)]) == 0
    assert "The same to the bit" in capsys.readouterr().out
    frame, _ = read_table(study_folder / "seeds.parquet")
    rows = frame["measure"] == "dev_accuracy"
    write_table(frame.assign(estimate=frame["estimate"].where(~rows, 0.123)), study_folder / "seeds", "s")
    found = verify_study(study_folder)
    assert len(found.differences) == 1
    assert "dev_accuracy" in found.differences[0]
    assert "0.123" in found.differences[0]


def test_cells_are_chosen_by_the_seed(study_folder, monkeypatch):
    ran = []

    def record(cell, store):
        ran.append(str(cell))
        raise ValueError("enough")

    monkeypatch.setattr("mi_attention.study.verify.run_cell", record)
    for seed in (0, 1, 2, 3, 0):
        with pytest.raises(ValueError, match="enough"):
            verify_study(study_folder, seed=seed)
    assert ran[0] == ran[4]
    assert len(set(ran)) > 1


@pytest.mark.parametrize("arguments", [{"cells": 0}, {"tolerance": -1.0}, {"seed": -1}])
def test_arguments_out_of_range_are_named(study_folder, arguments):
    with pytest.raises(ValueError, match="give at least"):
        verify_study(study_folder, **arguments)


def test_a_folder_without_a_finished_cell_is_said_to_be_one(study_folder):
    for path in (study_folder / "cells").glob("*.cell"):
        path.unlink()
    with pytest.raises(ValueError, match="no finished cell"):
        verify_study(study_folder)
