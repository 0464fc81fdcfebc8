"""Saving and opening records: nothing lost, nothing copied, nothing executed."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.numpy

from mi_attention.interface import AttentionRecord
from mi_attention.records.storage import open_record, open_safetensors, save_record, write_safetensors


def make_record(**changes):
    rng = np.random.default_rng(0)
    lengths = [3, 1, 4]
    arguments = {
        "hidden": [rng.standard_normal((t, 5)).astype(np.float32) for t in lengths],
        "attention": [rng.dirichlet(np.ones(t)) for t in lengths],
        "output": rng.dirichlet(np.ones(3), size=3),
        "tokens": [[f"token {t}" for t in range(length)] for length in lengths],
        "label": [0, 1, 2],
        "rationale": [np.ones(t) for t in lengths],
        "embedding": [rng.standard_normal((t, 2)) for t in lengths],
        "query": rng.standard_normal((3, 5)),
        "segment": [np.zeros(t, dtype=int) for t in lengths],
        "head": (rng.standard_normal((3, 5)), np.zeros(3)),
        "meta": {"data": "tiny", "seed": 3, "text": "ümlaut"},
    }
    return AttentionRecord.from_arrays(**{**arguments, **changes})


COLUMNS = (
    "hidden",
    "attention",
    "offsets",
    "output",
    "label",
    "token_ids",
    "segment",
    "query",
    "rationale",
    "embedding",
)


@pytest.mark.parametrize("memory_map", [True, False])
def test_round_trip(tmp_path, memory_map):
    record = make_record()
    opened = open_record(save_record(record, tmp_path / "run"), memory_map=memory_map)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(opened, name), getattr(record, name))
        assert getattr(opened, name).dtype == getattr(record, name).dtype
        assert not getattr(opened, name).flags.writeable
    np.testing.assert_array_equal(opened.head.weight, record.head.weight)
    assert opened.meta == record.meta
    assert opened.vocabulary == record.vocabulary
    assert isinstance(opened.hidden.base, np.memmap) or isinstance(opened.hidden, np.memmap) or not memory_map


def test_the_file_is_what_the_safetensors_library_reads(tmp_path):
    record = make_record()
    save_record(record, tmp_path / "run")
    theirs = safetensors.numpy.load_file(tmp_path / "run" / "record.safetensors")
    for name in COLUMNS:
        np.testing.assert_array_equal(theirs[name], getattr(record, name))
    rng = np.random.default_rng(1)
    arrays = {"a": rng.standard_normal((4, 3)), "b": np.arange(5, dtype=np.int8), "c": np.zeros((0, 2))}
    safetensors.numpy.save_file(arrays, tmp_path / "theirs.safetensors", metadata={"note": "x"})
    for name, array in open_safetensors(tmp_path / "theirs.safetensors").items():
        np.testing.assert_array_equal(array, arrays[name])


def test_saving_again_replaces_a_record_but_never_other_files(tmp_path):
    save_record(make_record(), tmp_path / "run")
    save_record(make_record(meta={"seed": 4}), tmp_path / "run")
    assert open_record(tmp_path / "run").meta == {"seed": 4}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("precious")
    with pytest.raises(FileExistsError, match="holds other files"):
        save_record(make_record(), tmp_path / "other")


def test_a_failed_save_leaves_nothing_behind(tmp_path):
    with pytest.raises(TypeError, match="meta must hold"):
        save_record(make_record(meta={"model": object()}), tmp_path / "run")
    with pytest.raises(TypeError, match="meta must hold"):
        save_record(make_record(meta={"accuracy": float("nan")}), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_are_refused_by_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"record\.json is missing"):
        open_record(tmp_path)
    directory = save_record(make_record(), tmp_path / "run")
    arrays = directory / "record.safetensors"
    whole = arrays.read_bytes()
    arrays.write_bytes(whole[:-8])
    with pytest.raises(ValueError, match="does not fit in the file"):
        open_record(directory)
    arrays.write_bytes(b"\x80\x04")
    with pytest.raises(ValueError, match="cut short"):
        open_record(directory)
    arrays.write_bytes((5).to_bytes(8, "little") + b"hello" + whole)
    with pytest.raises(ValueError, match="damaged safetensors header"):
        open_record(directory)
    arrays.write_bytes(whole)
    (directory / "record.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        open_record(directory)
    (directory / "record.json").write_text(json.dumps({"format": "something else"}))
    with pytest.raises(ValueError, match="is not of the format"):
        open_record(directory)


def test_unsupported_types_are_named(tmp_path):
    with pytest.raises(ValueError, match="complex128"):
        write_safetensors(tmp_path / "x", {"x": np.zeros(2, dtype=complex)})
    (tmp_path / "y").write_bytes(
        (62).to_bytes(8, "little") + b'{"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}       ' + b"\0\0"
    )
    with pytest.raises(ValueError, match="BF16"):
        open_safetensors(tmp_path / "y")
