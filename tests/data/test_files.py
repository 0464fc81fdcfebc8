import csv
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.data import load_file, read_rows

ROWS = [
    {"text": "a good film", "label": "pos", "split": "train", "rationale": [0, 1, 0]},
    {"text": 'a "bad", bad\nfilm', "label": "neg", "split": "train", "rationale": [0, 1, 0.5]},
    {"text": "naïve été 𝛼", "label": "pos", "split": "test", "rationale": [0, 0, 0]},
]


def write(folder, suffix, rows):
    path = folder / f"set{suffix}"
    if suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    elif suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], delimiter="," if suffix == ".csv" else "\t")
            writer.writeheader()
            for row in rows:
                writer.writerow({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()})
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_every_format_gives_the_same_data(tmp_path, suffix):
    data = load_file(write(tmp_path, suffix, ROWS), dev_fraction=0)
    reference = load_file(write(tmp_path, ".jsonl", ROWS), dev_fraction=0)
    assert data.fingerprint == reference.fingerprint
    assert data.classes == ("neg", "pos")
    assert data.train.label.tolist() == [1, 0]
    assert data.train.tokens == ("a", "good", "film", "a", '"bad",', "bad\nfilm")
    assert data.test.tokens == ("naïve", "été", "𝛼")
    assert data.train.rationale.tolist() == [0, 1, 0, 0, 1, 0.5]
    assert data.provenance["source"] == f"set{suffix}"
    assert len(data.provenance["sha256"]) == 64
    assert data.name == "set"
    json.dumps(data.provenance)


def test_integers_of_csv_are_numbers_and_na_is_a_text(tmp_path):
    rows = [{"text": "NA", "label": 0}, {"text": "null", "label": 10}, {"text": "nan", "label": 9}]
    data = load_file(write(tmp_path, ".csv", rows), fractions=(1, 0, 0), dev_fraction=0)
    assert data.classes == ("0", "9", "10")
    assert data.train.tokens == ("NA", "null", "nan")
    assert data.dropped == {}


def test_parquet_nulls_are_missing(tmp_path):
    frame = pd.DataFrame({"text": ["a", None, "c", "d"], "label": pd.array([0, 1, None, 1], dtype="Int64")})
    frame.to_parquet(tmp_path / "x.parquet")
    data = load_file(tmp_path / "x.parquet", fractions=(1, 0, 0), dev_fraction=0)
    assert data.dropped == {"no text": 1, "no label": 1}
    assert data.train.tokens == ("a", "d")


def test_parquet_folder_name_is_no_column(tmp_path):
    folder = tmp_path / "split=test"
    folder.mkdir()
    pd.DataFrame({"text": ["a", "b"], "label": [0, 1]}).to_parquet(folder / "x.parquet")
    assert [set(row) for row in read_rows(folder / "x.parquet")] == [{"text", "label"}] * 2


def test_byte_order_mark_and_blank_lines(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a", "label": 0}\r\n\r\n{"text": "b", "label": 1}')
    assert [row["text"] for row in read_rows(path)] == ["a", "b"]
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbftext,label\r\na,0\r\n\r\nb,1\r\n")
    assert [row["text"] for row in read_rows(path)] == ["a", "b"]


def test_long_fields_are_read_whole_and_the_global_limit_is_put_back(tmp_path):
    before = csv.field_size_limit()
    long = "word " * 60_000 + "end"
    path = write(tmp_path, ".csv", [{"text": long, "label": 0}, {"text": "b", "label": 1}])
    data = load_file(path, fractions=(1, 0, 0), dev_fraction=0)
    assert data.train.lengths.tolist() == [60_001, 1]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", b'{"text": "a", "label": 0}\n{"text": ', "x.jsonl, line 2: not a JSON object"),
        ("x.jsonl", b"[1]\n", "x.jsonl, line 1: not a JSON object but list"),
        ("x.jsonl", b'{"text": "\xff", "label": 0}', "not UTF-8"),
        ("x.csv", b"text,label\na,0,1\n", "x.csv, line 2: 3 fields, but the header has 2"),
        ("x.csv", b"text,label\na\n", "line 2: 1 fields"),
        ("x.csv", b"text,text\na,b\n", "names a column twice"),
        ("x.csv", b"", "no rows"),
        ("x.jsonl", b"", "no rows"),
        ("x.csv", b"txt,label\na,0\n", r"no column 'text' \(did you mean 'txt'\?\)"),
        ("x.parquet", b"nonsense", "not a Parquet file"),
        ("x.txt", b"a", "must end in one of .jsonl"),
    ],
)
def test_malformed_files_are_named_with_the_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_file(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*absent\.csv"):
        load_file(tmp_path / "absent.csv")


# Carriage returns are left out: the csv module writes them back as they are, but tables may not keep them.
FIELDS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"), min_size=1, max_size=12)


@settings(max_examples=40, deadline=None)
@given(st.lists(FIELDS.filter(lambda text: text.strip(" ") != ""), min_size=2, max_size=8))
def test_any_text_survives_every_format(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("texts")
    rows = [{"text": text, "label": i % 2} for i, text in enumerate(texts)]
    read = {
        s: [row["text"] for row in read_rows(write(folder, s, rows))] for s in (".jsonl", ".csv", ".tsv", ".parquet")
    }
    for suffix, found in read.items():
        assert found == texts, suffix


def test_labels_of_csv_and_jsonl_agree(tmp_path):
    rows = [{"text": "a", "label": -1}, {"text": "b", "label": 3}, {"text": "c", "label": 5}]
    tables = [load_file(write(tmp_path, s, rows), fractions=(1, 0, 0), dev_fraction=0) for s in (".csv", ".jsonl")]
    assert tables[0].dropped == tables[1].dropped == {"no label": 1}
    assert np.array_equal(tables[0].train.label, tables[1].train.label)
