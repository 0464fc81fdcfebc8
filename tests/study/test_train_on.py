"""Trained on one data set, analysed on another that has a test split only."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mi_attention import cli
from mi_attention.study.cell import load_data
from mi_attention.study.config import DataConfig, StudyConfig, load_study
from mi_attention.study.run import load_plan, plan_study
from mi_attention.study.store import CellStore
from mi_attention.study.tables import collect

CELL = """
seeds = [0]
[model]
encoder = "mlp"
score = "additive"
units = 4
[training]
epochs = 8
learning_rate = 0.05
[analysis]
splits = "test"
alignments = ["instance"]
null_draws = 19
estimator_options = { members = ["linear"], folds = 4 }
"""


def write(path, splits, words, seed):
    """Texts of which one word gives the class away; the other words differ between the two files."""
    rng = np.random.default_rng(seed)
    rows = []
    for split, count in splits.items():
        for _ in range(count):
            label = int(rng.integers(2))
            text = [*rng.choice(words, size=4), ("bad", "good")[label]]
            rng.shuffle(text)
            rows.append({"text": " ".join(text), "label": label, "split": split})
    path.write_text("\n".join(json.dumps(row) for row in rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")
    write(folder / "reviews.jsonl", {"train": 160, "dev": 60, "test": 60}, ["a", "b", "c"], 0)
    write(folder / "human.jsonl", {"test": 80}, ["a", "b", "unseen"], 1)
    (folder / "s.toml").write_text(
        'name = "s"\n' + CELL + '[[data]]\npath = "human.jsonl"\ntrain_on = { path = "reviews.jsonl", title = "r" }\n'
    )
    return folder


def test_texts_are_encoded_with_the_vocabulary_they_were_trained_with(folder):
    study = load_study(folder / "s.toml")
    trained_on, analysed = load_data(study.data[0].train_on), load_data(study.data[0])
    assert analysed.vocabulary == trained_on.vocabulary
    assert analysed.train is None
    tokens, ids = analysed.test.tokens, analysed.test.token_ids
    assert {int(i) for token, i in zip(tokens, ids, strict=True) if token == "unseen"} == {analysed.vocabulary.UNKNOWN}
    assert {int(i) for token, i in zip(tokens, ids, strict=True) if token == "good"} == {
        trained_on.vocabulary.index["good"]
    }


def test_a_model_trained_elsewhere_is_analysed_here(folder):
    assert cli.main(["study", str(folder / "s.toml"), "--output", str(folder / "out"), "--workers", "1"]) == 0
    study, plan = load_plan(folder / "out")
    cell = plan.cells[0]
    assert cell.data_name == "human"
    assert cell.training_fingerprint != cell.fingerprint
    stored = CellStore(folder / "out" / "cells").read(cell.key)
    positions = stored.table("positions")
    assert positions["instance"].nunique() == 80
    scores = stored.table("training").set_index("measure")["estimate"]
    labels = load_data(study.data[0]).test.label
    majority = np.bincount(load_data(study.data[0].train_on).train.label).argmax()
    assert scores["test_majority"] == (labels == majority).mean()
    assert scores["test_accuracy"] > 0.9
    # Nothing of this machine's folders is published.
    manifest = (folder / "out" / "manifest.json").read_text()
    assert str(folder) not in manifest
    assert json.loads(manifest)["trained_on"] == {"human": cell.training_fingerprint}
    found = collect(plan.cells, CellStore(folder / "out" / "cells"))
    assert set(found.agreement["data"]) == {"human"}


def test_the_key_depends_on_what_was_trained_on(folder):
    study = load_study(folder / "s.toml")
    write(folder / "others.jsonl", {"train": 160, "dev": 60}, ["a", "b", "c"], 5)
    other = {**study.data[0].model_dump(), "train_on": {"path": str(folder / "others.jsonl")}, "title": "t"}
    both = StudyConfig.model_validate(study.model_dump() | {"data": [study.data[0].model_dump(), other]})
    keys = {cell.key for cell in plan_study(both, folder / "none").cells}
    assert len(keys) == 2


def test_what_cannot_be_is_refused(folder):
    with pytest.raises(ValueError, match="cannot itself have a train_on"):
        DataConfig.model_validate({"name": "a", "train_on": {"name": "b", "train_on": {"name": "c"}}})
    rows = [{"text": "a", "label": label, "split": "test"} for label in ("x", "y", "z")]
    (folder / "three.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    source = {"path": str(folder / "three.jsonl"), "train_on": {"path": str(folder / "reviews.jsonl")}}
    with pytest.raises(ValueError, match="label 'x' of row 0 is not in classes"):
        load_data(DataConfig.model_validate(source))
    vectors = {"name": "digits", "train_on": {"path": str(folder / "reviews.jsonl")}}
    with pytest.raises(ValueError, match="has no option 'vocabulary'"):
        load_data(DataConfig.model_validate(vectors))
    alone = StudyConfig.model_validate({"name": "s", "data": [{"path": str(folder / "human.jsonl")}]})
    with pytest.raises(ValueError, match=r"train_on = \{"):
        plan_study(alone, folder / "none")
