"""What a study says of its cost before it starts: from sizes, then from finished cells."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace

import numpy as np
import pytest

from mi_attention import cli
from mi_attention.agreement.extras import EXTRAS
from mi_attention.estimators import Probe
from mi_attention.estimators.members import DISCRIMINANTS
from mi_attention.study.cell import load_data, run_cell
from mi_attention.study.config import DataConfig, StudyConfig
from mi_attention.study.cost import CURVED, LINEAR, _slowness, estimate_memory, estimate_seconds
from mi_attention.study.packed import pack, unpack
from mi_attention.study.run import plan_study, probe_plan
from mi_attention.study.store import CellStore
from mi_attention.study.work import Fits, fits_of


def test_an_estimate_grows_with_the_data_and_the_model(smallest):
    cell = plan_study(smallest, "nowhere", workers=1).cells[0]
    data = load_data(smallest.data[0])
    more = load_data(DataConfig.model_validate({"name": "planted/keyword", "n": [2000, 60, 600]}))
    wide = cell.model_copy(
        update={"classifier": cell.classifier.model_copy(update={"units": 512, "encoder": "bilstm"})}
    )
    assert estimate_seconds(cell, data, data) < estimate_seconds(cell, more, more) < estimate_seconds(wide, more, more)
    assert estimate_memory(cell, data) < estimate_memory(wide, data) < estimate_memory(wide, more)


def count_fits(monkeypatch):
    """Every estimate and fit of a probe that is not part of another: (rows, width)."""
    made = []
    depth = [0]

    def counted(name):
        inner = getattr(Probe, name)

        def wrapped(self, x, *others, **options):
            if not depth[0]:
                made.append(np.shape(x))
            depth[0] += 1
            try:
                return inner(self, x, *others, **options)
            finally:
                depth[0] -= 1

        monkeypatch.setattr(Probe, name, wrapped)

    for name in ("_estimate", "fit"):
        counted(name)
    return made


@pytest.mark.parametrize(
    ("data", "changes"),
    [
        ({"name": "planted/keyword", "n": [100, 60, 60]}, {}),
        ({"name": "planted/keywords", "n": [500, 60, 120]}, {"alignments": ["position", "token", "instance"]}),
        ({"name": "planted/keywords", "n": [100, 300, 300]}, {"alignments": ["token"]}),
        ({"name": "planted/keywords", "n": [100, 60, 60]}, {"alignments": ["position", "rank"], "refitted_nulls": 2}),
        ({"name": "planted/keyword", "n": [100, 60, 60]}, {"controls": ["untrained", "shuffled"], "output": "label"}),
        ({"name": "planted/keyword", "n": [100, 60, 60]}, {"alignments": ["position", "instance"], "extras": EXTRAS}),
        ({"name": "planted/keyword", "n": [100, 60, 60]}, {"alignments": ["position"], "extras": ["redundancy"]}),
        (
            {"name": "planted/keyword", "n": [100, 60, 60]},
            {"alignments": ["position"], "extras": ["preservation", "contextualisation"], "output": "label"},
        ),
    ],
)
def test_every_estimate_of_a_cell_is_counted_beforehand(smallest, data, changes, monkeypatch, tmp_path):
    content = smallest.model_dump(exclude={"data", "analysis"}) | {"seeds": [0], "data": [data]}
    # So long that the model says both classes.
    content["training"] = {"epochs": 6, "learning_rate": 0.05}
    content["analysis"] = smallest.analysis.model_dump(exclude_unset=True) | changes
    study = StudyConfig.model_validate(content)
    cell = plan_study(study, tmp_path, workers=1).cells[0]
    source = load_data(study.data[0])
    expected = fits_of(cell, source)
    made = count_fits(monkeypatch)
    assert run_cell(cell, CellStore(tmp_path)) == "ok"
    assert sum(fits.count for fits in expected) == len(made)
    assert sum(fits.count * fits.rows for fits in expected) == pytest.approx(sum(rows for rows, _ in made), rel=0.02)
    numbers = sum(fits.count * fits.rows * fits.width for fits in expected)
    assert numbers == pytest.approx(sum(rows * width for rows, width in made), rel=0.02)


def test_the_probe_and_the_classes_are_in_the_price(smallest):
    linear = plan_study(smallest, "nowhere", workers=1).cells[0]
    curved = linear.model_copy(update={"analysis": linear.analysis.model_copy(update={"estimator_options": {}})})
    other = linear.model_copy(
        update={"analysis": linear.analysis.model_copy(update={"estimator": "ksg", "estimator_options": {}})}
    )
    source = load_data(smallest.data[0])
    more = replace(source, classes=("a", "b", "c", "d"))
    seconds = estimate_seconds(linear, source, source)
    four = {"members": list(DISCRIMINANTS)}
    further = linear.model_copy(update={"analysis": linear.analysis.model_copy(update={"estimator_options": four})})
    assert seconds < estimate_seconds(further, source, source) < 1.35 * seconds
    assert estimate_seconds(curved, source, source) > 1.5 * seconds
    # Whatever estimates the profiles, the pointwise information is the default probe's.
    assert estimate_seconds(other, source, source) > 1.5 * seconds
    assert estimate_seconds(curved, more, more) > estimate_seconds(curved, source, source)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "model", "analysis"),
    [
        (
            {"name": "planted/keywords", "n": 1500},
            {"encoder": "mlp", "units": 32},
            {"estimator_options": {"members": ["linear", "smooth"]}},
        ),
        (
            {"name": "planted/keywords", "n": [600, 100, 300]},
            {"encoder": "bilstm", "units": 64},
            {"alignments": ["rank", "instance"]},
        ),
        ({"name": "digits"}, {"encoder": "bilstm", "units": 32}, {"alignments": ["instance", "position"]}),
    ],
    ids=["linear probe, mlp", "default probe, bilstm", "default probe, ten classes"],
)
def test_predicted_seconds_are_right_to_a_factor_of_two(data, model, analysis, tmp_path):
    """Purpose: that the prices are those of the code as it is; longer than a unit test, and a matter of the machine."""
    content = {"name": "cost", "seeds": [0], "data": [data], "model": model | {"score": "additive"}}
    study = StudyConfig.model_validate(content | {"training": {"epochs": 3}, "analysis": analysis})
    cell = plan_study(study, tmp_path, workers=1).cells[0]
    source = load_data(study.data[0])
    _slowness.cache_clear()
    predicted = estimate_seconds(cell, source, source)
    start = time.process_time()
    assert run_cell(cell, CellStore(tmp_path)) == "ok"
    assert 0.5 < predicted / (time.process_time() - start) < 2


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


def test_few_rows_that_are_read_more_than_once_cost_more():
    fewest, fewer, few, many = (Fits(10, rows, 100) for rows in (799, 800, 1599, 1600))
    assert CURVED.seconds(few, 2) > 1.4 * CURVED.seconds(many, 2)
    assert CURVED.seconds(fewest, 2) > 1.4 * CURVED.seconds(fewer, 2)
    # What counts is the number of instances where rows share them.
    pooled = Fits(10, 1600, 100, pointwise=True, instances=200)
    assert CURVED.seconds(pooled, 2) > 2 * CURVED.seconds(many, 2)
    assert LINEAR.seconds(fewest, 2) < LINEAR.seconds(fewer, 2) < LINEAR.seconds(few, 2) < LINEAR.seconds(many, 2)


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
