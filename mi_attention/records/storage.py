"""Saving records and opening them memory-mapped: safetensors for the arrays, JSON for the facts.

Nothing that is opened can run code. Columns are written and read in blocks, so a record may be larger
than memory at both ends.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import BLOCK_NUMBERS, AttentionRecord, LinearHead

__all__ = ["open_record", "open_safetensors", "save_record", "write_safetensors"]

FORMAT = "mi_attention record 1"

# The names of the safetensors format (https://github.com/huggingface/safetensors, README) that NumPy has.
_NAMES: dict[str, str] = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
_TYPES = {name: np.dtype(dtype).newbyteorder("<") for dtype, name in _NAMES.items()}
# The format's own limit: a longer header is a damaged or hostile file.
_LONGEST_HEADER = 100_000_000

_COLUMNS = (
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
    "sink",
)


def save_record(record: AttentionRecord, directory: str | os.PathLike[str]) -> Path:
    """Write a record as ``record.safetensors`` and ``record.json`` in a new directory.

    The directory appears complete or not at all: everything is written beside it and renamed.

    Args:
        record: The record; its columns may be memory-mapped and larger than memory.
        directory: Where to; must not exist yet, or hold an earlier record, which is replaced.

    Returns:
        The directory.

    Raises:
        FileExistsError: if the directory exists and holds anything other than a record.
        TypeError: if ``meta`` holds something JSON cannot.
    """
    target = Path(directory)
    if target.exists() and any(entry.name not in ("record.safetensors", "record.json") for entry in target.iterdir()):
        raise FileExistsError(f"{target} exists and holds other files; choose a new directory")
    arrays = {name: getattr(record, name) for name in _COLUMNS if getattr(record, name) is not None}
    if record.head is not None:
        arrays["head_weight"], arrays["head_bias"] = record.head.weight, record.head.bias
    facts = {"format": FORMAT, "meta": dict(record.meta), "vocabulary": list(record.vocabulary)}
    try:
        text = json.dumps(facts, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"meta must hold only what JSON can (finite numbers, strings, lists, dicts): {error}"
        ) from error
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        write_safetensors(scratch / "record.safetensors", arrays)
        (scratch / "record.json").write_text(text, encoding="utf-8")
        if target.exists():
            shutil.rmtree(target)
        scratch.chmod(0o755)
        scratch.rename(target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return target


def open_record(directory: str | os.PathLike[str], *, memory_map: bool = True) -> AttentionRecord:
    """Open a saved record; its columns are read from disk only where they are used.

    Args:
        directory: What ``save_record`` wrote.
        memory_map: False reads everything into memory at once.

    Returns:
        The record, validated again in blocks: a file changed by hand is refused.

    Raises:
        FileNotFoundError: if there is no record.
        ValueError: if the files are damaged, of another format, or the record does not validate.
    """
    source = Path(directory)
    facts_file = source / "record.json"
    if not facts_file.exists():
        raise FileNotFoundError(f"{source} holds no record (record.json is missing); save one with save_record")
    try:
        facts = json.loads(facts_file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{facts_file} is not JSON: {error}") from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"{facts_file} is not of the format {FORMAT!r}")
    arrays = open_safetensors(source / "record.safetensors", memory_map=memory_map)
    head = None
    if "head_weight" in arrays:
        head = LinearHead(weight=arrays.pop("head_weight"), bias=arrays.pop("head_bias"))
    unknown = set(arrays) - set(_COLUMNS)
    missing = {"hidden", "attention", "offsets", "output"} - set(arrays)
    if unknown or missing:
        raise ValueError(f"{source} has unknown columns {sorted(unknown)} and lacks {sorted(missing)}")
    return AttentionRecord(**arrays, head=head, vocabulary=tuple(facts["vocabulary"]), meta=facts["meta"])


def write_safetensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays in the safetensors format, each in blocks of rows.

    Args:
        path: The file.
        arrays: Name → array of a NumPy type the format knows; may be memory-mapped.

    Raises:
        ValueError: for a type the format does not know.
    """
    header: dict[str, Any] = {}
    start = 0
    for name, array in arrays.items():
        kind = _NAMES.get(array.dtype.name)
        if kind is None:
            raise ValueError(
                f"{name} has dtype {array.dtype}, which safetensors cannot hold; use one of {sorted(_NAMES)}"
            )
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, start + array.nbytes]}
        start += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    # The data starts at a multiple of 8 bytes, so that every column can be mapped aligned.
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in arrays.values():
            _write_blocks(file, array)
        file.flush()
        os.fsync(file.fileno())


def _write_blocks(file: BinaryIO, array: NDArray[Any]) -> None:
    little = array.dtype.newbyteorder("<")
    if array.ndim == 0:
        file.write(np.ascontiguousarray(array, dtype=little).tobytes())
        return
    step = max(1, BLOCK_NUMBERS // max(1, array[:1].size))
    for start in range(0, array.shape[0], step):
        block = np.ascontiguousarray(array[start : start + step], dtype=little)
        file.write(block.data)


def open_safetensors(path: Path, *, memory_map: bool = True) -> dict[str, NDArray[Any]]:
    """Map the arrays of a safetensors file read-only.

    Written here because the library's NumPy reader copies every tensor into memory.

    Args:
        path: The file.
        memory_map: False copies into memory.

    Returns:
        Name → read-only array.

    Raises:
        ValueError: if the header does not describe the file.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise ValueError(f"{path} is not a safetensors file or is cut short")
        try:
            header = json.loads(file.read(length).decode("utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} has a damaged safetensors header: {error}") from error
    return {
        name: _open_array(path, name, entry, 8 + length, size, memory_map) for name, entry in _entries(path, header)
    }


def _entries(path: Path, header: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(header, dict):
        raise ValueError(f"{path} has a damaged safetensors header: not an object")
    for name, entry in header.items():
        if name != "__metadata__":
            if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
                raise ValueError(f"{path}: the entry of {name!r} is damaged")
            yield name, entry


def _open_array(path: Path, name: str, entry: dict[str, Any], data: int, size: int, memory_map: bool) -> NDArray[Any]:
    dtype = _TYPES.get(entry["dtype"])
    if dtype is None:
        raise ValueError(f"{path}: {name!r} has type {entry['dtype']}, which NumPy does not have; convert it first")
    shape = tuple(int(side) for side in entry["shape"])
    start, stop = (int(bound) for bound in entry["data_offsets"])
    count = int(np.prod(shape, dtype=np.int64))
    if start < 0 or min(shape, default=0) < 0 or stop - start != count * dtype.itemsize or data + stop > size:
        raise ValueError(f"{path}: {name!r} does not fit in the file (cut short or damaged)")
    if count == 0:
        return np.zeros(shape, dtype=dtype)
    if memory_map:
        return np.memmap(path, dtype=dtype, mode="r", offset=data + start, shape=shape)
    with path.open("rb") as file:
        file.seek(data + start)
        array = np.fromfile(file, dtype=dtype, count=count).reshape(shape)
    array.flags.writeable = False
    return array
