import builtins
import json

import pytest

from mi_attention.data import load, load_hub


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def files(tmp_path):
    train = [{"sentence": f"good film {i}", "label": 1} for i in range(6)]
    train += [{"sentence": f"bad film {i}", "label": 0} for i in range(6)]
    return {
        "train": write(tmp_path / "train.jsonl", train),
        "validation": write(tmp_path / "dev.jsonl", [{"sentence": "a good one", "label": 1}]),
        "test": write(tmp_path / "test.jsonl", [{"sentence": "hidden", "label": -1}, {"sentence": "good", "label": 1}]),
    }


def test_splits_columns_and_unlabelled_rows(tmp_path):
    pytest.importorskip("datasets")
    data = load_hub("json", data_files=files(tmp_path), cache_dir=tmp_path / "cache", text="sentence")
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 12, "dev": 1, "test": 1}
    assert data.dropped == {"no label": 1}
    assert data.test.tokens == ("good",)
    assert data.provenance["name"] == "json"
    assert data.provenance["versions"]["datasets"]
    json.dumps(data.provenance)


def test_load_goes_through_the_same_door(tmp_path):
    pytest.importorskip("datasets")
    options = {"data_files": files(tmp_path), "cache_dir": tmp_path / "cache", "text": "sentence"}
    assert load("hub/json", **options).fingerprint == load_hub("json", **options).fingerprint


def test_split_column_of_a_single_split(tmp_path):
    pytest.importorskip("datasets")
    rows = [{"text": f"t {i}", "label": i % 2, "split": "train" if i < 8 else "test"} for i in range(12)]
    path = write(tmp_path / "all.jsonl", rows)
    data = load_hub("json", data_files=path, cache_dir=tmp_path / "cache", dev_fraction=0)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 8, "test": 4}


def test_unknown_splits_must_be_said(tmp_path):
    pytest.importorskip("datasets")
    paths = files(tmp_path)
    named = {"train": paths["train"], "unsupervised": paths["test"]}
    options = {"data_files": named, "cache_dir": tmp_path / "cache", "text": "sentence"}
    with pytest.raises(ValueError, match="unknown split 'unsupervised'"):
        load_hub("json", **options)
    data = load_hub("json", splits={"unsupervised": None}, **options)
    assert data.dropped == {"split 'unsupervised' left out": 2}


def test_class_names_come_from_the_features(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])})
    table = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, 1, -1]}, features=features)
    folder = tmp_path / "set"
    folder.mkdir()
    table.to_parquet(str(folder / "train.parquet"))
    data = load_hub(str(folder), cache_dir=tmp_path / "cache", dev_fraction=0)
    assert data.classes == ("neg", "pos")
    assert data.train.label.tolist() == [1, 1]
    assert data.dropped == {"no label": 1}


def test_missing_library_says_how_to_install_it(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "datasets":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'mi-attention\[transformers\]'"):
        load_hub("glue", "sst2")


def test_unknown_option_is_refused_before_anything_is_downloaded():
    pytest.importorskip("datasets")
    with pytest.raises(ValueError, match="did you mean 'tokenizer'"):
        load_hub("glue", "sst2", tokeniser="word")
