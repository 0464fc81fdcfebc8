"""Small tables packed into one file that opens in a fraction of a millisecond: a study has ten thousand of them.

The file is a safetensors file (https://huggingface.co/docs/safetensors): numbers of one table and type are one
array ``(columns, rows)``, strings are numbers of a list of distinct strings that stands in the header. Nothing in
it can run code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["Packed", "TableLayout", "pack", "read_packed", "stack_tables", "unpack"]

# Kinds of strings, by the size of the numbers that stand for them.
TEXT: dict[str, type[np.signedinteger[Any]]] = {"text8": np.int8, "text16": np.int16, "text32": np.int32}
# What one call reads of a file: more than the summary of a group of seeds without its long tables.
_FIRST_READ = 65_536
# Before the name of a table, the key of its layout in the header.
_LAYOUT = "layout."
_DTYPES = {"I8": "<i1", "I16": "<i2", "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "BOOL": "?"}


@dataclass(frozen=True, eq=False, slots=True)
class TableLayout:
    """Where the columns of a packed table are.

    Attributes:
        rows: Number of rows.
        columns: (name, kind, row of the kind's array); one object for all tables that agree in it.
        levels: Distinct strings of each column, None for numbers; one object for all columns that agree in them.
    """

    rows: int
    columns: tuple[tuple[str, str, int], ...]
    levels: tuple[tuple[str, ...] | None, ...]


@dataclass(frozen=True, eq=False)
class Packed:
    """Tables as they lie in a file.

    Attributes:
        metadata: JSON-able facts.
        layout: Table → its rows and columns.
        arrays: ``table.kind`` → ``(columns, rows)``; ``text8`` and the like hold numbers of
            distinct strings, −1 where missing.
        source: The file, where some of its tables were left there; see ``whole``.
    """

    metadata: dict[str, Any]
    layout: Mapping[str, TableLayout]
    arrays: dict[str, NDArray[Any]]
    source: Path | None = None

    def whole(self) -> Packed:
        """With all tables of the file.

        Raises:
            FileNotFoundError: if the file is gone.
            ValueError: if it is damaged.
        """
        return self if self.source is None else unpack(self.source.read_bytes())

    def emptied(self) -> Packed:
        """Without the tables that can be read again."""
        return self if self.source is None else replace(self, layout={}, arrays={})

    def column(self, table: str, name: str) -> NDArray[Any]:
        """One column of numbers, without a copy.

        Raises:
            KeyError: if there is no such column of numbers.
        """
        for known, kind, row in self.layout[table].columns:
            if known == name and kind not in TEXT:
                column: NDArray[Any] = self.arrays[f"{table}.{kind}"][row]
                return column
        raise KeyError(f"table {table!r} has no column of numbers {name!r}")

    def chosen(self, table: str, values: Mapping[str, str]) -> NDArray[np.bool_]:
        """The rows of a table whose columns of strings have these values.

        Raises:
            KeyError: if there is no such column of strings.
        """
        layout = self.layout[table]
        known = {name: at for at, (name, kind, _) in enumerate(layout.columns) if kind in TEXT}
        rows = np.ones(layout.rows, dtype=bool)
        for name, value in values.items():
            _, kind, row = layout.columns[known[name]]
            levels = layout.levels[known[name]] or ()
            if value not in levels:
                return np.zeros(layout.rows, dtype=bool)
            rows &= self.arrays[f"{table}.{kind}"][row] == levels.index(value)
        return rows

    def table(self, name: str) -> pd.DataFrame:
        """One table as it was packed; an unknown name is a table without rows and columns."""
        return stack_tables([self], name)


def pack(tables: Mapping[str, pd.DataFrame], metadata: Mapping[str, Any], *, last: Collection[str] = ()) -> bytes:
    """Pack tables.

    Args:
        tables: Name → frame with unique string columns of numbers, truth values or strings (missing ones as NaN or
            None). Indices are dropped.
        metadata: JSON-able facts.
        last: Tables to put at the end, which readers may leave there.

    Returns:
        The content of the file.

    Raises:
        ValueError: if a column mixes types, or ``metadata`` is no JSON.
    """
    arrays: dict[str, NDArray[Any]] = {}
    layout: dict[str, str] = {}
    for table, frame in tables.items():
        kinds: dict[str, list[NDArray[Any]]] = {}
        columns = []
        for name in frame.columns:
            kind, values, levels = _encode(table, str(name), frame[name])
            kinds.setdefault(kind, []).append(values)
            columns.append((str(name), kind, len(kinds[kind]) - 1, levels))
        layout[f"{_LAYOUT}{table}"] = json.dumps({"rows": len(frame), "columns": columns}, ensure_ascii=False)
        arrays |= {f"{table}.{kind}": np.stack(parts) for kind, parts in kinds.items()}
    # Wide numbers first, so that all of them lie at multiples of their size.
    order = sorted(arrays, key=lambda name: (name.rpartition(".")[0] in last, -arrays[name].itemsize))
    try:
        facts = {
            "facts": json.dumps(dict(metadata), sort_keys=True, allow_nan=False, ensure_ascii=False, default=_plain),
            **layout,
        }
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must be JSON-able and free of NaN: {error}") from error
    return _assembled({name: arrays[name] for name in order}, facts)


def _assembled(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, str]) -> bytes:
    """A safetensors file with the arrays in the order given, which the library's own writer does not keep."""
    header: dict[str, Any] = {"__metadata__": facts}
    names, end = {np.dtype(code): name for name, code in _DTYPES.items()}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": names[array.dtype], "shape": array.shape, "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays.values())])


def read_packed(path: Path, *, leave: Collection[str] = ()) -> Packed:
    """Read a file that ``pack`` made, without the tables that it has at its end.

    Args:
        path: The file.
        leave: Tables to leave in the file; ``whole`` reads them.

    Returns:
        The other tables.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is cut, damaged, or something else.
    """
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(_FIRST_READ)
        end = 8 + int.from_bytes(content[:8], "little")
        if len(content) < end <= size:
            content += file.read(end - len(content))
        header, end = _header(content, size, leave)
        if len(content) < end:
            content += file.read(end - len(content))
    return _packed(content[:end], header, leave, path)


def unpack(content: bytes) -> Packed:
    """Read what ``pack`` made.

    Args:
        content: All of the file.

    Returns:
        The tables; arrays are views of ``content``.

    Raises:
        ValueError: if it is cut, damaged, or something else.
    """
    header, _ = _header(content, len(content), ())
    return _packed(content, header, (), None)


def _header(content: bytes, size: int, leave: Collection[str]) -> tuple[dict[str, Any], int]:
    """The header, and where the last of the tables that are not left ends."""
    try:
        start = 8 + int.from_bytes(content[:8], "little")
        header: dict[str, Any] = json.loads(content[8:start])
        ends = {name: entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"}
        if start + max(ends.values(), default=0) != size:
            raise ValueError(f"it has {size} bytes instead of {start + max(ends.values(), default=0)}")
        kept = [end for name, end in ends.items() if name.rpartition(".")[0] not in leave]
        return header, start + max(kept, default=0)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no packed tables: {error}") from error


def _packed(content: bytes, header: dict[str, Any], leave: Collection[str], source: Path | None) -> Packed:
    start = 8 + int.from_bytes(content[:8], "little")
    try:
        facts = header.pop("__metadata__")
        arrays = {}
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            if name.rpartition(".")[0] not in leave:
                dtype = np.dtype(_DTYPES[entry["dtype"]])
                flat = np.frombuffer(content, dtype, (last - first) // dtype.itemsize, start + first)
                arrays[name] = flat.reshape(entry["shape"])
        names = [key.removeprefix(_LAYOUT) for key in facts if key.startswith(_LAYOUT)]
        if len(names) < len({name.rpartition(".")[0] for name in header}):
            raise ValueError("another version of mi-attention wrote it; run the study again with this one")
        layout = {table: _layout(facts[f"{_LAYOUT}{table}"]) for table in names if table not in leave}
        return Packed(json.loads(facts["facts"]), layout, arrays, source)
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
    rows = np.array([part.layout[table].rows for _, part in present], dtype=np.int64)
    total = int(rows.sum())
    found: dict[str, list[_Piece]] = {}
    for piece in _pieces([part for _, part in present], rows, table):
        if labels is None or piece.name not in labels:
            found.setdefault(piece.name, []).append(piece)
    columns: dict[str, Any] = {}
    for name, pieces in found.items():
        # A column without any value says nothing about its type where others have one.
        typed = [piece for piece in pieces if len(piece.values)] or pieces
        if len({piece.kind in TEXT for piece in typed}) > 1:
            typed = [piece for piece in typed if not _is_empty(piece.kind, piece.values)] or typed
        if all(piece.kind in TEXT for piece in typed):
            columns[name] = _text_column(typed, total)
        elif any(piece.kind in TEXT for piece in typed):
            raise ValueError(f"column {name!r} of table {table!r} holds strings in one cell and numbers in another")
        else:
            columns[name] = _number_column(typed, total)
    for name, values in (labels or {}).items():
        chosen = [values[place] for place, _ in present]
        columns[name] = _repeat(chosen, rows)
    order = [name for name in first if name in columns]
    columns = {name: columns[name] for name in (*order, *(name for name in columns if name not in order))}
    # The arrays are this frame's own: a copy would only cost time.
    return pd.DataFrame(columns, index=pd.RangeIndex(total), copy=False)


@lru_cache(maxsize=4096)
def _layout(text: str) -> TableLayout:
    """The layout of a table; those of ten thousand files of a study are few."""
    entry = json.loads(text)
    columns = tuple((name, kind, row) for name, kind, row, _ in entry["columns"])
    levels = tuple(None if strings is None else _same(tuple(strings)) for *_, strings in entry["columns"])
    return TableLayout(entry["rows"], _same(columns), levels)


@lru_cache(maxsize=65_536)
def _same(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """One object for all equal tuples, so that they are told apart by identity alone."""
    return value


@dataclass(frozen=True, eq=False, slots=True)
class _Piece:
    """One column of all files that have the same columns.

    Attributes:
        name: Of the column.
        kind: Of its values.
        place: Where its rows lie in the stacked table.
        values: Numbers, or numbers of strings.
        levels: Distinct strings of each file; of no meaning for numbers.
        rows: Rows of each file.
    """

    name: str
    kind: str
    place: slice | NDArray[np.int64]
    values: NDArray[Any]
    levels: list[tuple[str, ...] | None]
    rows: NDArray[np.int64]


def _pieces(parts: Sequence[Packed], rows: NDArray[np.int64], table: str) -> Iterator[_Piece]:
    """Files with the same columns at once, in order of first appearance."""
    alike: dict[int, list[int]] = {}
    for index, part in enumerate(parts):
        alike.setdefault(id(part.layout[table].columns), []).append(index)
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    for members in alike.values():
        chosen = [parts[index] for index in members]
        counts = rows[members]
        place: slice | NDArray[np.int64] = slice(None)
        if len(alike) > 1:
            shifts = starts[members] - np.concatenate([[0], np.cumsum(counts)[:-1]])
            place = np.arange(int(counts.sum())) + np.repeat(shifts, counts)
        columns = chosen[0].layout[table].columns
        names = {kind: f"{table}.{kind}" for _, kind, _ in columns}
        stacked = {kind: np.concatenate([part.arrays[name] for part in chosen], axis=1) for kind, name in names.items()}
        for at, (name, kind, row) in enumerate(columns):
            levels = [part.layout[table].levels[at] for part in chosen] if kind in TEXT else []
            yield _Piece(name, kind, place, stacked[kind][row], levels, counts)


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


def _text_column(pieces: Sequence[_Piece], total: int) -> Any:
    known: dict[str, int] = {}
    codes = np.full(total, -1, dtype=np.int32)
    for piece in pieces:
        # Each list of strings once, after the place where the code of a missing string, −1, leads.
        firsts: dict[int, int] = {}
        places: list[int] = []
        for levels in piece.levels:
            if id(levels) not in firsts:
                firsts[id(levels)] = len(places) + 1
                places += [-1, *(known.setdefault(level, len(known)) for level in levels or ())]
        shift: Any = 1
        if len(firsts) > 1:
            shift = np.repeat(np.array([firsts[id(levels)] for levels in piece.levels], dtype=np.int32), piece.rows)
        codes[piece.place] = np.array(places, dtype=np.int32)[piece.values + shift]
    return _strings(codes, list(known))


def _number_column(pieces: Sequence[_Piece], total: int) -> NDArray[Any]:
    whole = sum(len(piece.values) for piece in pieces) == total
    dtype = np.result_type(*(piece.values.dtype for piece in pieces)) if pieces else np.dtype(np.float64)
    if whole and len(pieces) == 1:
        return pieces[0].values
    out: NDArray[Any] = np.empty(total, dtype=dtype)
    if not whole:
        out = np.full(total, np.nan, dtype=dtype if dtype.kind == "f" else np.float64)
    for piece in pieces:
        out[piece.place] = piece.values
    return out


def _repeat(values: Sequence[Any], rows: NDArray[Any]) -> Any:
    if all(isinstance(value, str) for value in values):
        codes, levels = pd.factorize(np.array(values, dtype=object))
        return _strings(np.repeat(codes.astype(np.int32), rows), list(levels))
    return np.repeat(np.asarray(values), rows)


def _strings(codes: NDArray[np.int32], levels: Sequence[str]) -> Any:
    """Strings by their numbers, −1 where missing."""
    missing = codes < 0
    indices = pa.array(codes, mask=missing if missing.any() else None)
    return pd.array(pa.array(levels, type=pa.large_string()).take(indices), dtype="str")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")
