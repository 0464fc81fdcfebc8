"""Small tables packed into one file that opens in a fraction of a millisecond: a study has ten thousand of them.

The file is a safetensors file (https://huggingface.co/docs/safetensors): numbers of one table and type are one
array ``(columns, rows)``, strings are numbers of a list of distinct strings that stands in the header. Nothing in
it can run code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from safetensors.numpy import save

__all__ = ["Packed", "pack", "stack_tables", "unpack"]

# Kinds of strings, by the size of the numbers that stand for them.
TEXT: dict[str, type[np.signedinteger[Any]]] = {"text8": np.int8, "text16": np.int16, "text32": np.int32}
_DTYPES = {"I8": "<i1", "I16": "<i2", "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "BOOL": "?"}


@dataclass(frozen=True, eq=False)
class Packed:
    """Tables as they lie in a file.

    Attributes:
        metadata: JSON-able facts.
        layout: Table → its number of rows, and its columns as (name, kind, row of the kind's array, distinct strings).
        arrays: ``table.kind`` → ``(columns, rows)``; ``text8`` and the like hold numbers of
            distinct strings, −1 where missing.
    """

    metadata: dict[str, Any]
    layout: dict[str, dict[str, Any]]
    arrays: dict[str, NDArray[Any]]

    def column(self, table: str, name: str) -> NDArray[Any]:
        """One column of numbers, without a copy.

        Raises:
            KeyError: if there is no such column of numbers.
        """
        for known, kind, row, _ in self.layout[table]["columns"]:
            if known == name and kind not in TEXT:
                column: NDArray[Any] = self.arrays[f"{table}.{kind}"][row]
                return column
        raise KeyError(f"table {table!r} has no column of numbers {name!r}")

    def table(self, name: str) -> pd.DataFrame:
        """One table as it was packed; an unknown name is a table without rows and columns."""
        return stack_tables([self], name)


def pack(tables: Mapping[str, pd.DataFrame], metadata: Mapping[str, Any]) -> bytes:
    """Pack tables.

    Args:
        tables: Name → frame with unique string columns of numbers, truth values or strings (missing ones as NaN or
            None). Indices are dropped.
        metadata: JSON-able facts.

    Returns:
        The content of the file.

    Raises:
        ValueError: if a column mixes types, or ``metadata`` is no JSON.
    """
    arrays: dict[str, NDArray[Any]] = {}
    layout: dict[str, dict[str, Any]] = {}
    for table, frame in tables.items():
        kinds: dict[str, list[NDArray[Any]]] = {}
        columns = []
        for name in frame.columns:
            kind, values, levels = _encode(table, str(name), frame[name])
            kinds.setdefault(kind, []).append(values)
            columns.append((str(name), kind, len(kinds[kind]) - 1, levels))
        layout[table] = {"rows": len(frame), "columns": columns}
        arrays |= {f"{table}.{kind}": np.stack(parts) for kind, parts in kinds.items()}
    try:
        facts = {
            "facts": json.dumps(dict(metadata), sort_keys=True, allow_nan=False, ensure_ascii=False, default=_plain),
            "layout": json.dumps(layout, ensure_ascii=False),
        }
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must be JSON-able and free of NaN: {error}") from error
    return save(arrays, metadata=facts)


def unpack(content: bytes) -> Packed:
    """Read what ``pack`` made.

    Args:
        content: All of the file.

    Returns:
        The tables; arrays are views of ``content``.

    Raises:
        ValueError: if it is cut, damaged, or something else.
    """
    try:
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        facts = header.pop("__metadata__")
        start, end = 8 + length, 0
        arrays = {}
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            dtype = np.dtype(_DTYPES[entry["dtype"]])
            flat = np.frombuffer(content, dtype, (last - first) // dtype.itemsize, start + first)
            arrays[name] = flat.reshape(entry["shape"])
            end = max(end, last)
        if start + end != len(content):
            raise ValueError(f"it has {len(content)} bytes instead of {start + end}")
        return Packed(json.loads(facts["facts"]), json.loads(facts["layout"]), arrays)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no packed tables: {error}") from error


def stack_tables(
    parts: Sequence[Packed],
    table: str,
    labels: Mapping[str, Sequence[Any]] | None = None,
    *,
    first: Sequence[str] = (),
) -> pd.DataFrame:
    """One table of many files, one below the other; a column that a file lacks is missing in its rows.

    Args:
        parts: The files.
        table: Name of the table.
        labels: Column → one value a file, repeated for all of its rows; it replaces a packed column of that name.
        first: Columns that stand in front, where they exist, in this order.

    Returns:
        The frame: columns in order of first appearance, labels last; integers become floats where rows lack them.
    """
    present = [(place, part) for place, part in enumerate(parts) if table in part.layout]
    rows = np.array([part.layout[table]["rows"] for _, part in present], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    found: dict[str, list[tuple[int, str, NDArray[Any], Sequence[str] | None]]] = {}
    for index, (_, part) in enumerate(present):
        for name, kind, row, levels in part.layout[table]["columns"]:
            if labels is None or name not in labels:
                column = part.arrays[f"{table}.{kind}"][row]
                found.setdefault(name, []).append((index, kind, column, levels))
    columns: dict[str, Any] = {}
    for name, pieces in found.items():
        # A column without any value says nothing about its type where others have one.
        typed = [piece for piece in pieces if len(piece[2])] or pieces
        if len({kind in TEXT for _, kind, _, _ in typed}) > 1:
            typed = [piece for piece in typed if not _is_empty(piece[1], piece[2])] or typed
        if all(kind in TEXT for _, kind, _, _ in typed):
            columns[name] = _text_column([piece[:1] + piece[2:] for piece in typed], starts)
        elif any(kind in TEXT for _, kind, _, _ in typed):
            raise ValueError(f"column {name!r} of table {table!r} holds strings in one cell and numbers in another")
        else:
            numbers = [(index, column) for index, _, column, _ in typed]
            columns[name] = _number_column(numbers, starts)
    for name, values in (labels or {}).items():
        chosen = [values[place] for place, _ in present]
        columns[name] = _repeat(chosen, rows)
    order = [name for name in first if name in columns]
    columns = {name: columns[name] for name in (*order, *(name for name in columns if name not in order))}
    # The arrays are this frame's own: a copy would only cost time.
    return pd.DataFrame(columns, index=pd.RangeIndex(int(starts[-1])), copy=False)


def _encode(table: str, name: str, column: pd.Series[Any]) -> tuple[str, NDArray[Any], list[str] | None]:
    if pd.api.types.is_bool_dtype(column.dtype):
        return "BOOL", column.to_numpy(dtype=bool), None
    if pd.api.types.is_float_dtype(column.dtype) or pd.api.types.is_integer_dtype(column.dtype):
        values = column.to_numpy()
        kinds = {("f", 4): "F32", ("f", 8): "F64", ("i", 4): "I32", ("i", 8): "I64"}
        kind = kinds.get((values.dtype.kind, values.dtype.itemsize))
        return (kind, values, None) if kind else ("F64", values.astype(np.float64), None)
    codes, levels = pd.factorize(column, use_na_sentinel=True)
    if not all(isinstance(level, str) for level in levels):
        wrong = next(level for level in levels if not isinstance(level, str))
        raise ValueError(f"column {name!r} of table {table!r} mixes types ({type(wrong).__name__} among strings)")
    kind = next(name for name, dtype in TEXT.items() if len(levels) <= np.iinfo(dtype).max)
    return kind, codes.astype(TEXT[kind]), list(levels)


def _is_empty(kind: str, column: NDArray[Any]) -> bool:
    """Whether every entry is missing."""
    missing = column < 0 if kind in TEXT else np.isnan(column.astype(np.float64))
    return bool(missing.all())


def _text_column(pieces: Iterable[tuple[int, NDArray[Any], Sequence[str] | None]], starts: NDArray[Any]) -> Any:
    known: dict[str, int] = {}
    codes = np.full(int(starts[-1]), -1, dtype=np.int32)
    for index, local, levels in pieces:
        # The last entry is where the code of a missing string, −1, leads.
        places = np.array([*(known.setdefault(level, len(known)) for level in levels or ()), -1], dtype=np.int32)
        codes[starts[index] : starts[index + 1]] = places[local]
    indices = pa.array(codes, mask=codes < 0)
    strings = pa.array(list(known), type=pa.large_string())
    return pd.array(pa.DictionaryArray.from_arrays(indices, strings).dictionary_decode(), dtype="str")


def _number_column(pieces: Sequence[tuple[int, NDArray[Any]]], starts: NDArray[Any]) -> NDArray[Any]:
    whole = sum(len(column) for _, column in pieces) == int(starts[-1])
    dtype = np.result_type(*(column.dtype for _, column in pieces)) if pieces else np.dtype(np.float64)
    if whole:
        out: NDArray[Any] = np.empty(int(starts[-1]), dtype=dtype)
    else:
        out = np.full(int(starts[-1]), np.nan, dtype=dtype if dtype.kind == "f" else np.float64)
    for index, column in pieces:
        out[starts[index] : starts[index + 1]] = column
    return out


def _repeat(values: Sequence[Any], rows: NDArray[Any]) -> Any:
    if all(isinstance(value, str) for value in values):
        codes, levels = pd.factorize(np.array(values, dtype=object))
        indices = pa.array(np.repeat(codes, rows).astype(np.int32))
        strings = pa.array(list(levels), type=pa.large_string())
        return pd.array(pa.DictionaryArray.from_arrays(indices, strings).dictionary_decode(), dtype="str")
    return np.repeat(np.asarray(values), rows)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")
