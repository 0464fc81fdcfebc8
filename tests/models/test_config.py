"""Configurations are plain, closed, frozen, and complain early."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from pydantic import ValidationError

from mi_attention import models
from mi_attention.models.config import ClassifierConfig, TrainingConfig


def test_json_round_trip() -> None:
    config = ClassifierConfig(score="deep", score_options={"depth": 3}, normalizer="entmax", temperature=0.5)
    assert ClassifierConfig.model_validate_json(config.model_dump_json()) == config
    training = TrainingConfig(seed=3, freeze="attention")
    assert TrainingConfig.model_validate(json.loads(json.dumps(training.model_dump(mode="json")))) == training
    assert TrainingConfig.model_validate_json(TrainingConfig(clip_norm=1.0).model_dump_json()).clip_norm == 1.0


@pytest.mark.parametrize("kind", [ClassifierConfig, TrainingConfig])
def test_every_field_is_described_and_none_can_be_set(kind) -> None:
    for name, field in kind.model_fields.items():
        assert field.description, name
        with pytest.raises(ValidationError):
            setattr(kind(), name, None)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (ClassifierConfig, {"encoders": "mlp"}, "Extra inputs"),
        (ClassifierConfig, {"encoder": "bilstn"}, "did you mean 'bilstm'"),
        (ClassifierConfig, {"score": "aditive"}, "did you mean 'additive'"),
        (ClassifierConfig, {"normalizer": "softmx"}, "did you mean 'softmax'"),
        (ClassifierConfig, {"score_options": {"depth": 2}}, "has no option 'depth'"),
        (ClassifierConfig, {"score": "deep", "score_options": {"depth": 1}}, "depth is 1"),
        (ClassifierConfig, {"normalizer": "entmax", "normalizer_options": {"alpa": 2}}, "did you mean 'alpha'"),
        (ClassifierConfig, {"temperature": 0}, "greater than 0"),
        (ClassifierConfig, {"temperature": float("nan")}, "temperature"),
        (ClassifierConfig, {"temperature": float("inf")}, "finite"),
        (ClassifierConfig, {"units": 0}, "greater than or equal to 1"),
        (ClassifierConfig, {"query": "first"}, "learned"),
        (TrainingConfig, {"epochs": 0}, "greater than or equal to 1"),
        (TrainingConfig, {"learning_rate": -1.0}, "greater than 0"),
        (TrainingConfig, {"freeze": "decoder"}, "all_but_attention"),
        (TrainingConfig, {"clip_norm": float("nan")}, "clip_norm"),
        (TrainingConfig, {"seed": -1}, "greater than or equal to 0"),
        (TrainingConfig, {"device": "gpu"}, "device is 'gpu'"),
    ],
)
def test_bad_values_are_named(kind, fields, message) -> None:
    with pytest.raises(ValidationError, match=message):
        kind(**fields)


def test_making_a_configuration_draws_nothing() -> None:
    before = torch.get_rng_state()
    ClassifierConfig(score="deep")
    assert torch.equal(torch.get_rng_state(), before)


def test_names_of_the_room_load_on_demand() -> None:
    for name in models.__all__:
        assert getattr(models, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = models.nothing
    code = "import sys, mi_attention.models.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
