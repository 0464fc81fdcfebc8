"""What a study says of its cost before it starts: from sizes, then from finished cells."""

from __future__ import annotations

import shutil

import pytest

from mi_attention import cli
from mi_attention.study.cell import load_data, run_cell
from mi_attention.study.config import DataConfig
from mi_attention.study.cost import estimate_memory, estimate_seconds
from mi_attention.study.packed import pack, unpack
from mi_attention.study.run import plan_study, probe_plan
from mi_attention.study.store import CellStore


def test_an_estimate_grows_with_the_data_and_the_model(smallest):
    cell = plan_study(smallest, "nowhere", workers=1).cells[0]
    data = load_data(smallest.data[0])
    more = load_data(DataConfig.model_validate({"name": "planted/keyword", "n": [2000, 60, 600]}))
    wide = cell.model_copy(
        update={"classifier": cell.classifier.model_copy(update={"units": 512, "encoder": "bilstm"})}
    )
    assert estimate_seconds(cell, data, data) < estimate_seconds(cell, more, more) < estimate_seconds(wide, more, more)
    assert estimate_memory(cell, data) < estimate_memory(wide, data) < estimate_memory(wide, more)


def test_finished_cells_replace_the_guess(smallest, undisturbed, tmp_path):
    fresh = plan_study(smallest, tmp_path, workers=1)
    assert fresh.cost.measured == 0
    shutil.copytree(undisturbed[0] / "cells", tmp_path / "cells")
    # Two of six cells are left, and what they are told to have taken is what the rest is expected to take.
    for cell in fresh.cells[2:]:
        (tmp_path / "cells" / f"{cell.key}.cell").unlink()
    for cell in fresh.cells[:2]:
        path = tmp_path / "cells" / f"{cell.key}.cell"
        found = unpack(path.read_bytes())
        facts = found.metadata | {"seconds": 70.0, "peak_memory": 3 * 2**30}
        path.write_bytes(pack({name: found.table(name) for name in found.layout}, facts))
    plan = plan_study(smallest, tmp_path, workers=1)
    assert plan.cost.measured == 2
    assert plan.cost.cell_seconds == pytest.approx(70.0)
    assert plan.cost.seconds > 4 * 70.0
    assert plan.cost.memory == 3 * 2**30
    two = plan_study(smallest, tmp_path, workers=2)
    assert two.cost.seconds - plan.cost.seconds == pytest.approx(-2 * 70.0, abs=1e-6)


def test_a_probe_runs_one_cell_of_every_kind(smallest):
    two = smallest.model_copy(update={"model": smallest.model.model_copy(update={"encoder": ("mlp", "bilstm")})})
    probe = probe_plan(plan_study(two, "nowhere", workers=1))
    assert [cell.classifier.encoder for cell in probe.missing] == ["mlp", "bilstm"]
    assert len(probe.cells) == 12


def test_the_cost_is_said_before_anything_runs(smallest_toml, tmp_path, capsys):
    (tmp_path / "s.toml").write_text(smallest_toml)
    assert cli.main(["study", str(tmp_path / "s.toml"), "--output", str(tmp_path / "out"), "--dry-run"]) == 0
    shown = capsys.readouterr().err
    assert "Running 6 cells of about" in shown
    assert "the largest needs 0.5 GB (from their sizes; --probe measures)" in shown
    assert not (tmp_path / "out").exists()


def test_a_cell_says_what_it_took(undisturbed, smallest, tmp_path):
    cell = plan_study(smallest, undisturbed[0], workers=1).cells[0]
    stored = CellStore(undisturbed[0] / "cells").read(cell.key)
    assert stored.metadata["seconds"] > 0
    assert 50e6 < stored.metadata["peak_memory"] < 50e9
    assert set(stored.metadata["hardware"]) >= {"processor", "cores", "memory", "threads", "libraries"}
    assert stored.metadata["hardware"]["threads"] == 1
    assert len(stored.metadata["record"]["weights"]) == 64
    other = cell.model_copy(update={"key": "0" * 32})
    with pytest.raises(ValueError, match="other package versions"):
        run_cell(other, CellStore(tmp_path))
