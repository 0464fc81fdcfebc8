"""Packed tables: what goes in comes out, of one file or stacked from many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load

from mi_attention.study.packed import pack, read_packed, stack_tables, unpack

TABLE = pd.DataFrame(
    {
        "name": ["a", None, "", "a"],
        "whole": np.array([1, -2, 3, 2**62], dtype=np.int64),
        "small": np.array([1, 2, 3, 4], dtype=np.int32),
        "real": [0.1, np.nan, -np.inf, 1e-320],
        "single": np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32),
        "true": [True, False, True, True],
    }
)


def test_a_table_comes_back_to_the_bit():
    found = unpack(pack({"t": TABLE, "empty": TABLE.iloc[:0]}, {"seconds": 1.5, "word": "–"}))
    pd.testing.assert_frame_equal(found.table("t"), TABLE.astype({"name": "str"}), check_exact=True)
    assert list(found.table("empty").columns) == list(TABLE.columns)
    assert found.metadata == {"seconds": 1.5, "word": "–"}
    assert found.column("t", "whole")[3] == 2**62
    with pytest.raises(KeyError, match="no column of numbers 'name'"):
        found.column("t", "name")
    assert len(found.table("unknown")) == 0


@pytest.mark.parametrize("count", [127, 128, 40_000])
def test_many_distinct_strings(count):
    frame = pd.DataFrame({"s": [f"s{i}" for i in range(count)]})
    pd.testing.assert_frame_equal(unpack(pack({"t": frame}, {})).table("t"), frame.astype("str"))


def test_any_safetensors_reader_opens_it():
    arrays = load(pack({"t": TABLE}, {}))
    assert arrays["t.F64"][0, 0] == 0.1
    assert arrays["t.text8"].tolist() == [[0, -1, 1, 0]]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.floats(allow_nan=True), st.one_of(st.none(), st.text(max_size=3))), max_size=4),
        min_size=1,
        max_size=4,
    )
)
def test_stacking_is_concatenation(files):
    frames = [
        pd.DataFrame({"x": [x for x, _ in rows], "s": [s for _, s in rows]}).astype({"x": "float64", "s": "str"})
        for rows in files
    ]
    parts = [unpack(pack({"t": frame}, {})) for frame in frames]
    expected = pd.concat(frames, ignore_index=True)
    expected["file"] = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
    expected["label"] = pd.array([f"f{i}" for i in expected["file"]], dtype="str")
    labels = {"file": list(range(len(frames))), "label": [f"f{i}" for i in range(len(frames))]}
    found = stack_tables(parts, "t", labels)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_a_column_that_a_file_lacks_is_missing_there():
    parts = [unpack(pack({"t": frame}, {})) for frame in (TABLE, TABLE[["name"]], TABLE[["whole"]])]
    found = stack_tables(parts, "t")
    assert found["whole"].isna().tolist() == [False] * 4 + [True] * 4 + [False] * 4
    assert found["name"].isna().sum() == 2 + 4
    # A column without any value in one file does not change what it is in the others.
    nothing = pd.DataFrame({"name": [np.nan]})
    assert stack_tables([parts[0], unpack(pack({"t": nothing}, {}))], "t")["name"].isna().tolist()[-1]


def test_tables_left_in_the_file_are_there_when_they_are_asked_for(tmp_path):
    path = tmp_path / "f"
    long = pd.DataFrame({"x": np.arange(30_000.0), "s": [f"s{i % 300}" for i in range(30_000)]})
    path.write_bytes(pack({"long": long, "t": TABLE, "more": TABLE}, {"a": 1}, last=("long",)))
    found = read_packed(path, leave=("long", "absent"))
    assert list(found.layout) == ["t", "more"]
    assert not any(name.startswith("long.") for name in found.arrays)
    pd.testing.assert_frame_equal(found.table("t"), TABLE.astype({"name": "str"}), check_exact=True)
    for again in (found.whole(), found.emptied().whole(), read_packed(path), unpack(path.read_bytes())):
        assert again.metadata == {"a": 1}
        pd.testing.assert_frame_equal(again.table("long"), long.astype({"s": "str"}), check_exact=True)
        pd.testing.assert_frame_equal(again.table("more"), found.table("more"), check_exact=True)
    assert list(found.emptied().layout) == []
    # Of what was left, nothing is read: but a file that is cut there is damaged all the same.
    content = path.read_bytes()
    for cut in (content[:-1], content[:100], content + b"x", b""):
        path.write_bytes(cut)
        with pytest.raises(ValueError, match="no packed tables"):
            read_packed(path, leave=("long",))
    with pytest.raises(FileNotFoundError):
        read_packed(tmp_path / "nothing")


@pytest.mark.parametrize("rows", [3, 70_000])
def test_a_header_or_a_table_longer_than_the_first_read(tmp_path, rows):
    frame = pd.DataFrame(
        {"x": np.arange(float(rows)), "s": [f"a long string with the number {i}" for i in range(rows)]}
    )
    path = tmp_path / "f"
    path.write_bytes(pack({"t": frame, "end": TABLE}, {}, last=("end",)))
    pd.testing.assert_frame_equal(read_packed(path, leave=("end",)).table("t"), frame.astype({"s": "str"}))


def test_files_that_differ_in_columns_strings_and_rows_are_stacked_in_order():
    rng = np.random.default_rng(0)
    frames = []
    for i in range(40):
        rows = int(rng.integers(0, 4))
        frame = pd.DataFrame(
            {"s": [f"s{v}" for v in rng.integers(0, 5, rows)], "x": rng.random(rows), "n": range(rows)}
        )
        frames.append(frame[["x", "n", "s"]] if i % 3 else frame.drop(columns="n"))
    expected = pd.concat(frames, ignore_index=True)[["s", "x", "n"]].astype({"s": "str", "n": float})
    found = stack_tables([unpack(pack({"t": frame}, {})) for frame in frames], "t")
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_a_file_of_another_version_is_named_so():
    content = pack({"t": TABLE}, {})
    with pytest.raises(ValueError, match="another version"):
        unpack(content.replace(b'"layout.t"', b'"Layout.t"'))


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(ValueError, match="'x' of table 't' mixes types"):
        pack({"t": pd.DataFrame({"x": ["a", 1]})}, {})
    with pytest.raises(ValueError, match="free of NaN"):
        pack({}, {"seconds": float("nan")})
    parts = [unpack(pack({"t": frame}, {})) for frame in (TABLE[["name"]], TABLE[["whole"]].set_axis(["name"], axis=1))]
    with pytest.raises(ValueError, match="strings in one cell and numbers in another"):
        stack_tables(parts, "t")


@pytest.mark.parametrize("cut", [0, 5, 60, -1])
def test_a_cut_file_is_named_so(cut):
    content = pack({"t": TABLE}, {})
    with pytest.raises(ValueError, match="no packed tables"):
        unpack(content[:cut])
    with pytest.raises(ValueError, match="no packed tables"):
        unpack(content + b"x")
