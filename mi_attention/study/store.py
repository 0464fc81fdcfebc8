"""Finished cells on disk: one Parquet file a cell, named by the cell's key, there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from mi_attention.report.frames import read_table, write_table

__all__ = ["CellStore", "StoredCell"]

_FAILED = ".failed.parquet"


@dataclass(frozen=True, eq=False)
class StoredCell:
    """What one cell left.

    Attributes:
        key: The cell's key.
        status: ``"ok"`` or ``"failed"``.
        rows: Measurements of all tables of the cell, told apart by the column ``table``; for a failed
            cell one row with its ``error``.
        metadata: Configuration, versions, seconds.
    """

    key: str
    status: Literal["ok", "failed"]
    rows: pd.DataFrame
    metadata: dict[str, Any]

    def table(self, name: str) -> pd.DataFrame:
        """The rows of one table, with the columns it was stored with."""
        columns = self.metadata["columns"].get(name, [])
        return self.rows[self.rows["table"] == name].reindex(columns=columns).reset_index(drop=True)


class CellStore:
    """A folder of cells. Several processes, or several machines on one file system, may write to it at once."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Name the folder; it is made when the first cell is written."""
        self.directory = Path(directory)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}.parquet"

    def _names(self) -> set[str]:
        return {entry.name for entry in os.scandir(self.directory)} if self.directory.exists() else set()

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Which of the keys have a finished cell; failed and damaged ones do not count and are run again."""
        stored = self._names()
        return {key for key in keys if f"{key}.parquet" in stored and _is_whole(self._path(key))}

    def attempted(self, keys: Iterable[str]) -> int:
        """How many of the keys are finished or have failed: for progress."""
        stored = self._names()
        return sum(f"{key}.parquet" in stored or f"{key}{_FAILED}" in stored for key in keys)

    def forget_failures(self, keys: Iterable[str]) -> None:
        """Remove the records of earlier failures, before the cells are tried again."""
        for key in keys:
            (self.directory / f"{key}{_FAILED}").unlink(missing_ok=True)

    def write(self, key: str, tables: Mapping[str, pd.DataFrame], metadata: Mapping[str, Any], signature: str) -> None:
        """Store a finished cell: its tables one below the other, with the column ``table`` in front."""
        columns = {name: [str(column) for column in frame.columns] for name, frame in tables.items()}
        parts = [frame.assign(table=name) for name, frame in tables.items() if len(frame)]
        rows = pd.concat(parts, ignore_index=True)
        rows = rows[["table", *(name for name in rows.columns if name != "table")]]
        write_table(rows, self._path(key), signature, metadata={**metadata, "columns": columns, "status": "ok"})

    def write_failure(self, key: str, error: str, trace: str, metadata: Mapping[str, Any]) -> None:
        """Store why a cell failed."""
        rows = pd.DataFrame({"table": ["error"], "error": [error], "trace": [trace]})
        write_table(rows, self.directory / f"{key}{_FAILED}", "failed cell", metadata={**metadata, "status": "failed"})

    def read(self, key: str) -> StoredCell | None:
        """The stored cell, None where there is none.

        Raises:
            ValueError: if the file is damaged.
        """
        for path in (self._path(key), self.directory / f"{key}{_FAILED}"):
            if path.exists():
                try:
                    rows, metadata = read_table(path)
                except (pa.ArrowInvalid, OSError) as error:
                    raise ValueError(f"{path} is damaged ({error}); delete it and run the study again") from error
                return StoredCell(key, metadata["status"], rows, metadata)
        return None


def _is_whole(path: Path) -> bool:
    """Whether a Parquet file ends as one does: a cut one is no finished cell."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < 12:
            return False
        file.seek(-4, os.SEEK_END)
        return file.read(4) == b"PAR1"
