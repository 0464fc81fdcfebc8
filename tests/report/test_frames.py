import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mi_attention.report import read_table, write_table
from mi_attention.report.atomic import atomic_path

FRAME = pd.DataFrame(
    {
        "unit": ["NA", "null", 'a,"b"\n', "", "=1+1", "é 東"],
        "nats": [0.1, np.nan, -1e-300, np.inf, 1 / 3, 0.0],
        "n": [1, 2, 3, 4, 5, 2**53 + 1],
        "kept": [True, False, True, True, False, True],
    }
)


def test_round_trip_of_parquet_with_signature_and_metadata(tmp_path):
    paths = write_table(
        FRAME, tmp_path / "deep" / "mlp_temperature0.5", "probe:linear|seed:0", metadata={"seeds": [0, 1]}
    )
    assert [path.name for path in paths] == ["mlp_temperature0.5.parquet", "mlp_temperature0.5.csv"]
    frame, metadata = read_table(paths[0])
    pd.testing.assert_frame_equal(frame, FRAME)
    assert metadata == {"signature": "probe:linear|seed:0", "seeds": [0, 1]}
    again, _ = read_table(tmp_path / "deep" / "mlp_temperature0.5")
    pd.testing.assert_frame_equal(again, FRAME)


def test_csv_keeps_words_that_look_missing_and_every_bit_of_a_float(tmp_path):
    (path,) = write_table(FRAME, tmp_path / "x.csv", "s")
    frame, metadata = read_table(path)
    pd.testing.assert_frame_equal(frame, FRAME, check_exact=True)
    assert metadata == {}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(st.floats(width=64), min_size=1, max_size=5),
    word=st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(lambda w: w != "NaN"),
)
def test_both_formats_round_trip_any_number_and_word(tmp_path, values, word):
    frame = pd.DataFrame({"value": values, "word": [word] * len(values)})
    parquet, csv = write_table(frame, tmp_path / "any", "s")
    pd.testing.assert_frame_equal(read_table(parquet)[0], frame, check_exact=True)
    if "\r" not in word and "\0" not in word:
        read = read_table(csv)[0]
        np.testing.assert_array_equal(read["value"].to_numpy(dtype=float), frame["value"].to_numpy())


def test_same_input_same_bytes(tmp_path):
    first = [p.read_bytes() for p in write_table(FRAME, tmp_path / "a", "s", metadata={"b": 1, "a": 2})]
    second = [p.read_bytes() for p in write_table(FRAME, tmp_path / "b", "s", metadata={"a": 2, "b": 1})]
    assert first == second


@pytest.mark.parametrize("cell", [np.zeros(2), [1, 2], {"a": 1}, (1,), {1}])
def test_array_cells_are_refused_by_name_and_row(tmp_path, cell):
    frame = pd.DataFrame({"fine": [1, 2], "bad": pd.Series([None, cell], dtype=object)})
    with pytest.raises(ValueError, match=r"column 'bad', row 1 holds"):
        write_table(frame, tmp_path / "x", "s")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1]}, index=["x"]), "reset_index"),
        (pd.DataFrame({"a": [1]}, index=pd.Index([3], name="seed")), "reset_index"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "unique"),
        (pd.DataFrame([[1, 2]]), "non-empty strings"),
        (pd.DataFrame({"a": pd.Series([1, "x"], dtype=object)}), "mixes types"),
    ],
)
def test_frames_that_are_not_tidy_are_refused(tmp_path, frame, message):
    with pytest.raises(ValueError, match=message):
        write_table(frame, tmp_path / "x", "s")
    assert list(tmp_path.iterdir()) == []


def test_filtered_frames_are_accepted(tmp_path):
    (path,) = write_table(FRAME[FRAME["kept"]], tmp_path / "x.parquet", "s")
    assert list(read_table(path)[0].index) == [0, 1, 2, 3]


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match="signature"):
        write_table(FRAME, tmp_path / "x", " ")
    with pytest.raises(ValueError, match="formats must be"):
        write_table(FRAME, tmp_path / "x", "s", formats=("xlsx",))
    with pytest.raises(ValueError, match="names its format"):
        write_table(FRAME, tmp_path / "x.csv", "s", formats=("parquet",))
    with pytest.raises(ValueError, match="JSON-able and free of NaN"):
        write_table(FRAME, tmp_path / "x", "s", metadata={"accuracy": float("nan")})
    with pytest.raises(ValueError, match="names signature"):
        write_table(FRAME, tmp_path / "x", "s", metadata={"signature": "other"})
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.parquet")
    FRAME.to_parquet(tmp_path / "foreign.parquet")
    with pytest.raises(ValueError, match="not written by write_table"):
        read_table(tmp_path / "foreign.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["foreign.parquet"]


def test_failure_of_one_format_leaves_both_old_files(tmp_path, monkeypatch):
    old = write_table(FRAME, tmp_path / "x", "old")
    before = [path.read_bytes() for path in old]

    def full_disk(self, path, **options):
        Path(path).write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_table(FRAME.head(2), tmp_path / "x", "new")
    assert [path.read_bytes() for path in old] == before
    assert sorted(os.listdir(tmp_path)) == ["x.csv", "x.parquet"]


def test_atomic_path_refuses_a_folder_and_survives_an_interrupt(tmp_path):
    with pytest.raises(ValueError, match="is a folder"), atomic_path(tmp_path):
        pass
    with pytest.raises(KeyboardInterrupt), atomic_path(tmp_path / "x") as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_parquet_is_readable_without_the_package(tmp_path):
    (path,) = write_table(FRAME, tmp_path / "x.parquet", "s")
    assert pq.read_schema(path).names == list(FRAME.columns)
    pd.testing.assert_frame_equal(pd.read_parquet(path), FRAME)
