"""Cells: every combination once, keys that depend on what changes numbers and on nothing else."""

from __future__ import annotations

import pytest

from mi_attention.study.config import StudyConfig
from mi_attention.study.grid import cells_of


def study(**changes):
    facts = {
        "name": "s",
        "seeds": [0, 1],
        "data": [{"name": "digits"}],
        "model": {"encoder": ["mlp", "bilstm"], "score": ["additive"], "temperature": [0.5, 1.0]},
    }
    return StudyConfig.model_validate(facts | changes)


SOURCES = {0: ("digits", "abc", "")}


def test_every_combination_once():
    cells = cells_of(study(), SOURCES)
    assert len(cells) == 2 * 2 * 2
    assert len({cell.key for cell in cells}) == 8
    assert len({tuple(cell.labels.items()) for cell in cells}) == 8


def test_uniform_attention_has_no_temperature():
    cells = cells_of(study(model={"encoder": ["mlp"], "normalizer": ["uniform"], "temperature": [0.5, 1.0]}), SOURCES)
    assert len(cells) == 2


def test_keys_depend_on_what_changes_numbers():
    first = cells_of(study(), SOURCES)[0]
    others = [
        cells_of(study(), {0: ("digits", "another content", "")})[0],
        cells_of(study(training={"epochs": 3}), SOURCES)[0],
        cells_of(study(analysis={"ranks": 4}), SOURCES)[0],
        cells_of(study(seeds=[5]), SOURCES)[0],
    ]
    assert len({first.key, *(cell.key for cell in others)}) == 5


def test_keys_do_not_depend_on_names_and_places():
    first = cells_of(study(), SOURCES)[0]
    renamed = cells_of(
        study(name="other", data=[{"path": "/elsewhere/digits.jsonl", "title": "x"}]), {0: ("x", "abc", "")}
    )[0]
    assert first.key == renamed.key


def test_a_query_belongs_to_its_score():
    model = {"encoder": ["mlp"], "score": [{"name": "scaled_dot", "query": "mean"}, "additive"]}
    cells = cells_of(study(model=model, seeds=[0]), SOURCES)
    assert [cell.classifier.query for cell in cells] == ["mean", "auto"]
    assert cells[0].score == "scaled_dot(query=mean)"


def test_an_impossible_model_is_named():
    with pytest.raises(ValueError, match=r"score 'addditive'.*additive"):
        cells_of(study(model={"encoder": ["mlp"], "score": ["addditive"]}), SOURCES)
    with pytest.raises(ValueError, match="temperature"):
        cells_of(study(model={"encoder": ["mlp"], "temperature": [0.0]}), SOURCES)
