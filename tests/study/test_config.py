"""Study files: what is right is read, what is wrong is named with the nearest right thing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mi_attention.study.config import Named, StudyConfig, load_study

GOOD = """
name = "s"
seeds = [3, 1]

[[data]]
path = "texts/sst2.jsonl"
max_length = 30

[[data]]
name = "digits"

[model]
encoder = "mlp"
score = ["additive", { name = "deep", depth = 3 }, { name = "scaled_dot", query = "mean" }]
normalizer = ["softmax", { name = "entmax", alpha = 1.5 }]
temperature = [0.5, 1]

[training]
freeze = "attention"

[analysis]
output = "probability"
ranks = 4
estimator_options = { members = ["linear"], folds = 5 }
"""


def write(tmp_path, text):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return file


def test_a_whole_file(tmp_path):
    study = load_study(write(tmp_path, GOOD))
    assert study.seeds == (3, 1)
    assert study.model.encoder == ("mlp",)
    assert study.model.score[1].name == "deep"
    assert study.model.score[1].options == {"depth": 3}
    assert str(study.model.score[1]) == "deep(depth=3)"
    assert study.model.temperature == (0.5, 1.0)
    assert study.training.freeze == ("attention",)
    assert study.analysis.ranks == 4
    assert study.analysis.estimator_options == {"members": ("linear",), "folds": 5}
    # Paths are relative to the file, not to where the command is run.
    assert study.data[0].path == str(tmp_path / "texts" / "sst2.jsonl")
    assert study.data[0].options == {"max_length": 30}
    assert StudyConfig.model_validate(study.model_dump(mode="json")) == study


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ranks = 4", "rnaks = 4"), r"unknown key 'analysis\.rnaks'; did you mean 'ranks'\?"),
        (("[training]", "[trainings]"), r"unknown key 'trainings'; did you mean 'training'\?"),
        (("temperature =", "temprature ="), r"did you mean 'temperature'\?"),
        (("ranks = 4", "zzz = 4"), r"unknown key 'analysis\.zzz'; known keys are"),
        (("seeds = [3, 1]", "seeds = [1, 1]"), "seeds must be different"),
        (("seeds = [3, 1]", "seeds = []"), "seeds: must not be empty"),
        (("seeds = [3, 1]", "seeds = 3"), r"write \[3\] for one"),
        (('name = "s"', 'name = "../s"'), "must begin with a letter or digit"),
        (("ranks = 4", 'ranks = "many"'), r"analysis\.ranks: .*got 'many'"),
        (("ranks = 4", "ranks = 1"), r"analysis\.ranks"),
        (('name = "digits"', 'title = "digits"'), "exactly one of them"),
        (('name = "s"', "name = "), "is not TOML"),
        (('freeze = "attention"', 'freeze = "atention"'), "freeze"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        load_study(write(tmp_path, GOOD.replace(*change)))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        load_study(tmp_path / "nothing.toml")


def test_reading_a_study_does_not_load_torch(tmp_path):
    code = f"import sys; from mi_attention.study.config import load_study; load_study({str(write(tmp_path, GOOD))!r}); "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_with_options_read_from_strings_and_tables():
    assert Named.model_validate("additive") == Named(name="additive")
    assert Named.model_validate({"name": "deep", "depth": 3}).options == {"depth": 3}
