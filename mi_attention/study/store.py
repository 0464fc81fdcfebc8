"""Finished cells on disk: one file a cell, named by the cell's key, there whole or not at all.

Beside the cells lie summaries of groups of them (the seeds of one combination): what the tables of a study are put
together from. A summary is named by the hash of everything it was made from, and can always be made again.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from numpy.typing import NDArray

from mi_attention.report.atomic import atomic_path
from mi_attention.study.packed import Packed, pack, read_packed, unpack

__all__ = ["CellStore", "StoredCell"]

_CELL, _FAILED, _SUMMARY = ".cell", ".failed", ".summary"
# Of a killed process: no cell is under way for longer than its last second when its file is written.
_STALE_SECONDS = 3600.0
_OFFSETS = re.compile(rb'"data_offsets":\[\d+,(\d+)\]')


@dataclass(frozen=True, eq=False)
class StoredCell:
    """What one cell left.

    Attributes:
        key: The cell's key.
        status: ``"ok"`` or ``"failed"``.
        metadata: Configuration, versions, hash of the weights, seconds; of a failed cell its ``error`` too.
        content: Its tables, packed.
    """

    key: str
    status: Literal["ok", "failed"]
    metadata: dict[str, Any]
    content: Packed

    @property
    def tables(self) -> list[str]:
        """Names of its tables."""
        return list(self.content.layout)

    def table(self, name: str) -> pd.DataFrame:
        """One table, with the columns it was stored with."""
        return self.content.table(name)

    def column(self, table: str, name: str) -> NDArray[Any]:
        """One column of numbers, without a copy."""
        return self.content.column(table, name)


class CellStore:
    """A folder of cells. Several processes, or several machines on one file system, may write to it at once."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Name the folder; it is made when the first cell is written."""
        self.directory = Path(directory)

    def _path(self, key: str, ending: str = _CELL) -> Path:
        return self.directory / f"{key}{ending}"

    def _names(self) -> set[str]:
        return {entry.name for entry in os.scandir(self.directory)} if self.directory.exists() else set()

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Which of the keys have a finished cell; failed ones do not count and are run again."""
        stored = self._names()
        return {key for key in keys if f"{key}{_CELL}" in stored and _is_whole(self._path(key))}

    def failed(self, keys: Iterable[str]) -> set[str]:
        """Which of the keys have a record of their failure."""
        stored = self._names()
        return {key for key in keys if f"{key}{_FAILED}" in stored}

    def count(self) -> int:
        """Finished cells, of whatever study."""
        return sum(name.endswith(_CELL) for name in self._names())

    def has(self, key: str) -> bool:
        """Whether the cell is finished."""
        return self._path(key).exists() and _is_whole(self._path(key))

    def attempted(self, keys: Iterable[str]) -> int:
        """How many of the keys are finished or have failed: for progress."""
        stored = self._names()
        return sum(f"{key}{_CELL}" in stored or f"{key}{_FAILED}" in stored for key in keys)

    def prepare(self, keys: Iterable[str]) -> None:
        """Before cells are tried again: forget their earlier failures, and what killed processes left half-written."""
        stored = self._names()
        for key in keys:
            if f"{key}{_FAILED}" in stored:
                self._path(key, _FAILED).unlink(missing_ok=True)
        for name in stored:
            if name.endswith(".partial"):
                self._remove_stale(self.directory / name)

    @staticmethod
    def _remove_stale(path: Path) -> None:
        # Another run on the same store may have removed or finished it in between.
        try:
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()
        except FileNotFoundError:
            pass

    def write(self, key: str, tables: Mapping[str, pd.DataFrame], metadata: Mapping[str, Any], signature: str) -> None:
        """Store a finished cell.

        Raises:
            OSError: if it cannot be written whole; then nothing of it is left.
        """
        self._write(self._path(key), pack(tables, {**metadata, "signature": signature, "status": "ok"}))
        self._path(key, _FAILED).unlink(missing_ok=True)

    def write_failure(self, key: str, error: str, trace: str, metadata: Mapping[str, Any]) -> None:
        """Store why a cell failed."""
        facts = {**metadata, "status": "failed", "error": error, "trace": trace}
        self._write(self._path(key, _FAILED), pack({}, facts))

    def read(self, key: str) -> StoredCell | None:
        """The stored cell, or the record of its failure; None where there is neither.

        Raises:
            ValueError: if the file is damaged.
        """
        for path in (self._path(key), self._path(key, _FAILED)):
            try:
                content = unpack(path.read_bytes())
            except FileNotFoundError:
                continue
            except (ValueError, OSError) as error:
                raise ValueError(f"{path} is damaged ({error}); delete it and run the study again") from error
            return StoredCell(key, content.metadata["status"], content.metadata, content)
        return None

    def write_summary(self, digest: str, content: bytes) -> None:
        """Store the summary of a group, packed, under the hash of what it was made from."""
        self._write(self._path(digest, _SUMMARY), content)

    def read_summary(self, digest: str, leave: Collection[str]) -> Packed | None:
        """The summary without its long tables, None where there is none or it is damaged: it can be made again."""
        try:
            return read_packed(self._path(digest, _SUMMARY), leave=leave)
        except (FileNotFoundError, ValueError):
            return None

    def _write(self, path: Path, content: bytes) -> None:
        with atomic_path(path) as temporary:
            temporary.write_bytes(content)


def _is_whole(path: Path) -> bool:
    """Whether the file is as long as its header says: a cut one is no finished cell."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        header = file.read(min(length, size))
    # The header is padded with spaces; the last offset of the last array is the end of the file.
    if size < 8 + length or len(header) < length:
        return False
    ends = _OFFSETS.findall(header)
    return bool(ends) and 8 + length + max(int(end) for end in ends) == size
