"""Tidy tables on disk: Parquet with the signature of how they were made, and CSV beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_list_like

from mi_attention.report.atomic import atomic_path, with_ending

__all__ = ["read_table", "write_table"]

FORMATS = ("parquet", "csv")
METADATA_KEY = b"mi_attention"
# An empty string and a missing value must stay apart, and "NA" or "null" may be words of a vocabulary.
CSV_MISSING = "NaN"


def write_table(
    frame: pd.DataFrame,
    path: str | Path,
    signature: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    formats: Sequence[str] | None = None,
) -> list[Path]:
    """Write a tidy frame, each file atomically and all of them serialised before the first is replaced.

    Args:
        frame: One measurement a row, scalar cells, unique string column names. An unnamed integer index
            (what filtering leaves) is dropped; any other index is refused, since it would be lost.
        path: A stem (``results/profile``), to which ``.parquet`` and ``.csv`` are appended, or a file name
            with one of these endings, which writes that file alone.
        signature: How the numbers were made; kept in the Parquet file's schema metadata.
        metadata: JSON-able facts (config, versions), kept beside the signature. CSV carries neither.
        formats: Which of ``"parquet"`` and ``"csv"``; by default both for a stem.

    Returns:
        The paths written, in the order of ``formats``.

    Raises:
        ValueError: if a cell holds an array, list or dict; column names are not unique strings; the index
            carries information; a column mixes types; metadata is no JSON; or a format is unknown.
    """
    tidy = _checked(frame)
    targets = _targets(Path(path), formats)
    if not isinstance(signature, str) or not signature.strip():
        raise ValueError(f"signature must say how the table was made, got {signature!r}")
    with ExitStack() as stack:
        for ending, target in targets.items():
            temporary = stack.enter_context(atomic_path(target))
            if ending == "parquet":
                pq.write_table(_arrow(tidy, signature, metadata or {}), temporary)
            else:
                tidy.to_csv(temporary, index=False, na_rep=CSV_MISSING, lineterminator="\n", encoding="utf-8")
    return list(targets.values())


def read_table(path: str | Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read what ``write_table`` wrote.

    Args:
        path: A ``.parquet`` or ``.csv`` file, or the stem of a Parquet file.

    Returns:
        The frame, and its metadata: the facts given to ``write_table`` with ``"signature"`` among them.
        The metadata of a CSV file, which can carry none, is empty; there the word ``NaN`` in a column of
        strings reads as missing (Parquet is exact).

    Raises:
        ValueError: if the ending is unknown or the Parquet file was not written by ``write_table``.
        FileNotFoundError: if there is no such file.
    """
    source = Path(path)
    if source.suffix == ".csv":
        frame = pd.read_csv(source, keep_default_na=False, na_values=[CSV_MISSING])
        return frame, {}
    if source.suffix != ".parquet":
        source = with_ending(source, "parquet")
    table = pq.read_table(source)
    stored = (table.schema.metadata or {}).get(METADATA_KEY)
    if stored is None:
        raise ValueError(f"path {source} has no signature; it was not written by write_table, read it with pandas")
    metadata: dict[str, Any] = json.loads(stored)
    return table.to_pandas(), metadata


def _targets(path: Path, formats: Sequence[str] | None) -> dict[str, Path]:
    named = path.suffix.removeprefix(".")
    if named in FORMATS:
        if formats is not None and tuple(formats) != (named,):
            raise ValueError(f"path {path} names its format, but formats is {tuple(formats)}; leave one of them out")
        return {named: path}
    wanted = FORMATS if formats is None else tuple(formats)
    unknown = [name for name in wanted if name not in FORMATS]
    if unknown or not wanted:
        raise ValueError(f"formats must be some of {FORMATS}, got {wanted}")
    return {name: with_ending(path, name) for name in wanted}


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    names = list(frame.columns)
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"column names must be non-empty strings, got {names}; flatten a column hierarchy first")
    if len(set(names)) != len(names):
        raise ValueError(f"column names must be unique, got {sorted({n for n in names if names.count(n) > 1})} twice")
    index = frame.index
    if isinstance(index, pd.MultiIndex) or index.name is not None or not pd.api.types.is_integer_dtype(index.dtype):
        raise ValueError(f"frame has index {index.names}, which would be lost; call reset_index() first")
    for name in names:
        column = frame[name]
        if column.dtype != object:
            continue
        for row, cell in enumerate(column):
            if is_list_like(cell) or isinstance(cell, np.ndarray):
                raise ValueError(
                    f"column {name!r}, row {row} holds a {type(cell).__name__}; cells must be scalars: "
                    "give each value a row or a column of its own"
                )
    return frame.reset_index(drop=True)


def _arrow(frame: pd.DataFrame, signature: str, metadata: Mapping[str, Any]) -> pa.Table:
    if "signature" in metadata and metadata["signature"] != signature:
        raise ValueError(f"metadata names signature {metadata['signature']!r}, the argument is {signature!r}; drop one")
    try:
        facts = json.dumps({**metadata, "signature": signature}, sort_keys=True, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must be JSON-able and free of NaN: {error}") from error
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"a column mixes types, give it one: {error}") from error
    return table.replace_schema_metadata({**(table.schema.metadata or {}), METADATA_KEY: facts.encode()})


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")
