"""Control models and refitted nulls: on the seeds that ask for them, and of the right models and labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mi_attention.models import AttentionClassifier, train
from mi_attention.study.cell import load_data, run_cell
from mi_attention.study.config import StudyConfig
from mi_attention.study.controls import NULL_COLUMNS, control_models
from mi_attention.study.grid import cells_of
from mi_attention.study.run import plan_study
from mi_attention.study.store import CellStore

OUTPUTS = (
    "prediction of an untrained model",
    "prediction of a model trained under uniform attention",
    "label, model trained on shuffled labels",
)


def study(**analysis):
    facts = {"alignments": ["position", "instance"], "null_draws": 19, "estimator_options": {"members": ["linear"]}}
    return StudyConfig.model_validate(
        {
            "name": "s",
            "seeds": [4, 1, 2],
            "data": [{"name": "planted/keyword", "n": [100, 60, 60], "length": 4, "position": 1}],
            "model": {"encoder": "mlp", "score": "additive", "units": 4},
            "training": {"epochs": 2, "learning_rate": 0.05},
            "analysis": facts | analysis,
        }
    )


def keys(config):
    return {cell.training.seed: cell.key for cell in cells_of(config, {0: ("d", "abc", "")})}


def test_only_the_seeds_that_ask_for_it_are_other_cells():
    plain = keys(study())
    first = keys(study(controls=["untrained"], refitted_nulls=19))
    assert {seed for seed in plain if plain[seed] != first[seed]} == {4}
    others = keys(study(controls="uniform", control_seeds=[1, 2], refitted_nulls=19, null_seeds=[2]))
    assert {seed for seed in plain if plain[seed] != others[seed]} == {1, 2}
    with pytest.raises(ValueError, match="control_seeds has 7, which is none of the seeds"):
        study(controls="uniform", control_seeds=[7])


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("controls")
    config = study(controls=["untrained", "uniform", "shuffled"], refitted_nulls=19)
    cells = plan_study(config, folder, workers=1).cells
    store = CellStore(folder / "cells")
    for cell in cells[:2]:
        assert run_cell(cell, store) == "ok"
    return config, cells, [store.read(cell.key) for cell in cells[:2]]


def test_rows_of_control_models_are_there_where_they_were_asked_for(done):
    for found, has in zip(done[2], (True, False), strict=True):
        rows = found.table("agreement")
        rows = rows[(rows["estimand"] == "pointwise") & (rows["measure"] == "kendall_tau_b")]
        known = rows.dropna(subset="estimate")
        assert set(OUTPUTS) <= set(known["output"]) if has else not set(OUTPUTS) & set(known["output"])
        assert ("refitted_nulls" in found.tables) is has


def test_refitted_nulls_have_one_row_a_position(done):
    frame = done[2][0].table("refitted_nulls")
    assert tuple(frame.columns) == NULL_COLUMNS
    assert frame["unit_index"].tolist() == [0, 1, 2, 3]
    profile = done[2][0].table("profile")
    chosen = (profile["alignment"] == "position") & (profile["output"] == "prediction") & (profile["state"] == "hidden")
    profile = profile[chosen].sort_values("unit_index")
    np.testing.assert_array_equal(frame["nats"], profile["nats"])
    np.testing.assert_array_equal(frame["observed"], profile["lower_bound"])
    assert (frame["draws"] == 19).all()
    # p is at most .05 exactly where the value exceeds the quantile.
    np.testing.assert_array_equal(frame["p"] <= 0.05, frame["observed"] > frame["null_95"])


def test_control_models_are_what_they_are_called(done):
    config, cells, _ = done
    longer = cells[0].training.model_copy(update={"epochs": 8})
    cell, source = cells[0].model_copy(update={"training": longer}), load_data(config.data[0])
    trained = train(source, cell.classifier, cell.training)
    models = control_models(cell, trained, source)
    initial = AttentionClassifier.from_dataset(source, cell.classifier, cell.training.seed).state_dict()
    untrained = models["untrained"].model
    assert not untrained.training
    assert all(torch.equal(untrained.state_dict()[name], value) for name, value in initial.items())
    assert models["uniform"].classifier_config.normalizer == "uniform"
    assert models["uniform"].classifier_config.units == cell.classifier.units
    # With shuffled labels nothing is left to learn: the planted rule is found with the true ones only.
    assert trained.test.accuracy > 0.85
    assert models["shuffled"].test.accuracy < 0.75
    uniform = cell.model_copy(update={"classifier": models["uniform"].classifier_config})
    assert "uniform" not in control_models(uniform, models["uniform"], source)


def test_shuffling_keeps_the_classes_of_each_split_and_leaves_the_data_alone(done, monkeypatch):
    config, cells, _ = done
    source = load_data(config.data[0])
    before = source.train.label.copy()
    seen = []

    def record(dataset, *arguments):
        seen.append(dataset)
        return train(dataset, *arguments)

    monkeypatch.setattr("mi_attention.study.controls.train", record)
    only = cells[0].model_copy(update={"analysis": cells[0].analysis.model_copy(update={"controls": ("shuffled",)})})
    control_models(only, train(source, only.classifier, only.training), source)
    shuffled = seen[0]
    for split in ("train", "dev"):
        old, new = (getattr(dataset, split).label for dataset in (source, shuffled))
        np.testing.assert_array_equal(np.bincount(old), np.bincount(new))
        assert (old != new).any()
    np.testing.assert_array_equal(source.train.label, before)
    np.testing.assert_array_equal(shuffled.test.label, source.test.label)
