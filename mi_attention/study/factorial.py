"""The factorial question of a study on the values of single instances."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mi_attention.statistics import factorial_model
from mi_attention.study.grid import Cell
from mi_attention.study.store import CellStore

__all__ = ["factorial_table", "instance_values"]


def instance_values(cells: Sequence[Cell], store: CellStore, **row: str) -> pd.DataFrame:
    """The value of every instance in every finished cell.

    Args:
        cells: Cells.
        store: The store that has them.
        **row: Which rows of the table of instances: column → value, such as ``order="informativeness"``.

    Returns:
        Labels of the cell, ``instance``, ``value``; NaN where an instance has none.

    Raises:
        ValueError: if no finished cell has such rows.
    """
    parts = []
    finished = store.finished(cell.key for cell in cells)
    for cell in cells:
        found = store.read(cell.key) if cell.key in finished else None
        if found is None:
            continue
        frame = found.table("instances")
        for name, value in row.items():
            frame = frame[frame[name] == value]
        parts.append(frame[["instance", "value"]].assign(**cell.labels))
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    if whole.empty:
        raise ValueError(f"no finished cell has instance rows of {row}")
    return whole


def factorial_table(cells: Sequence[Cell], store: CellStore, factors: Sequence[str], **row: str) -> pd.DataFrame:
    """One ``factorial_model`` a data set: all factors and their interactions, clustered by seed and by instance.

    Args:
        cells: Cells of one study.
        store: The store.
        factors: Columns of the cells' labels.
        **row: Which rows; see ``instance_values``.

    Returns:
        The rows of ``factorial_model`` with ``data`` in front.
    """
    values = instance_values(cells, store, **row)
    parts = []
    for data, part in values.groupby("data", sort=False):
        run = (
            part[["encoder", "score", "normalizer", "temperature", "freeze", "seed"]].astype(str).agg(" ".join, axis=1)
        )
        table = factorial_model(
            part.assign(run=run),
            value="value",
            factors=list(factors),
            run="run",
            seed="seed",
            instance="instance",
            effect_unit="tau",
        )
        parts.append(table.assign(data=data))
    whole = pd.concat(parts, ignore_index=True)
    return whole[["data", *(name for name in whole if name != "data")]]
