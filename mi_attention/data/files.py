"""JSONL, CSV, TSV and Parquet files of texts with labels."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mi_attention.data.dataset import Dataset
from mi_attention.data.options import TextOptions
from mi_attention.data.rows import dataset_from_rows

__all__ = ["READERS", "load_file", "read_rows"]

# The csv module's limit for one field is a global of 131,072 signs; a long document is longer.
FIELD_LIMIT = 2**31 - 1


def load_file(path: str | Path, *, name: str | None = None, **options: Any) -> Dataset:
    """Read a file of texts and labels.

    Args:
        path: A ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file, UTF-8, with a header for CSV and TSV.
        name: Name of the data set; the file's name without suffix if None.
        **options: Fields of ``TextOptions``: columns, tokeniser, vocabulary, splits, lengths.

    Returns:
        The data set; what was left out is in ``dropped``, where it came from in ``provenance``.

    Raises:
        ValueError: if the suffix is unknown, the file is malformed (with the line), or an option is wrong.
        FileNotFoundError: if there is no such file.
    """
    path = Path(path)
    chosen = TextOptions.of(**options)
    rows = list(read_rows(path))
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    provenance = {"source": path.name, "sha256": digest}
    return dataset_from_rows(rows, name=name or path.stem, options=chosen, provenance=provenance)


def read_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """The rows of a file as dictionaries, in file order; blank lines are no rows.

    Raises:
        ValueError: if the suffix is unknown or the file is malformed.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"path {path.name!r} must end in one of {', '.join(READERS)}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        yield from reader(path)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name} is not UTF-8 ({error.reason} at byte {error.start}); convert it first"
        ) from error


def _read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    # newline="\n": a lone carriage return may stand inside a line, since JSON takes it as space.
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"{path.name}, line {number}: not a JSON object ({error.msg})") from None
            if not isinstance(row, dict):
                raise ValueError(f"{path.name}, line {number}: not a JSON object but {type(row).__name__}")
            yield row


def _read_csv(path: Path) -> Iterator[dict[str, Any]]:
    return _read_delimited(path, ",")


def _read_tsv(path: Path) -> Iterator[dict[str, Any]]:
    return _read_delimited(path, "\t")


def _read_delimited(path: Path, delimiter: str) -> Iterator[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    limit = csv.field_size_limit(FIELD_LIMIT)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, delimiter=delimiter)
            header = next(reader, [])
            if len(set(header)) < len(header):
                raise ValueError(f"{path.name}: the header names a column twice: {header}")
            for fields in reader:
                if not fields:
                    continue
                if len(fields) != len(header):
                    raise ValueError(
                        f"{path.name}, line {reader.line_num}: {len(fields)} fields, but the header has {len(header)}; "
                        "quote fields that hold the delimiter or line breaks"
                    )
                rows.append(dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise ValueError(f"{path.name}: malformed table ({error})") from error
    finally:
        csv.field_size_limit(limit)
    return iter(rows)


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    # ParquetFile and not read_table: the latter takes a folder named "key=value" for a column.
    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=4096):
                yield from batch.to_pylist()
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path.name} is not a Parquet file ({error})") from error


READERS: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    ".jsonl": _read_jsonl,
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".parquet": _read_parquet,
}
