"""Many rows of one measure as one sentence: where it was lowest and where highest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.report.numbers import format_interval, format_setting
from mi_attention.report.sentences import MEASURES, ORDERS, counted, erased_name, sentence

__all__ = ["range_sentence"]

_COUNTS = ("n_seeds", "n_instances", "data")


def range_sentence(frame: pd.DataFrame, labels: Sequence[str], digits: int = 2) -> str:
    """The lowest and the highest estimate of a measure over the rows of a frame, each with its own interval.

    It describes: the extremes of many estimates lie further out than the truth does, and no test stands behind the
    choice. Equal extremes go to the first row. One row reads as ``sentence`` has it. Rows of ``erasure`` are areas
    under curves of erasure less that of attention's order.

    Args:
        frame: Rows of one ``estimand``, ``measure`` and ``order`` with ``estimate``, ``ci_low``, ``ci_high``; of
            ``n_seeds``, ``n_instances`` and ``data`` those are said that all rows share.
        labels: Columns that tell the rows apart, in the order of their names.
        digits: Decimals of estimates.

    Returns:
        The sentence, with its full stop.

    Raises:
        ValueError: if the frame has no rows, mixes measures, or lacks a column.
    """
    needed = ("estimand", "measure", "order", "estimate", "ci_low", "ci_high", *labels)
    missing = [name for name in needed if name not in frame.columns]
    if missing or frame.empty:
        raise ValueError(f"a range needs rows with the columns {list(needed)}, it lacks {missing or 'rows'}")
    kinds = frame[["estimand", "measure", "order"]].drop_duplicates()
    if len(kinds) > 1:
        raise ValueError(f"a range is of one measure, got {kinds.to_dict('records')}; select one first")
    kind = kinds.iloc[0]
    erased = kind["estimand"] == "erasure"
    if len(frame) == 1:
        return sentence(frame, "erasure" if erased else "agreement", digits)
    shared = {name: _shared(frame, name) for name in _COUNTS}
    if erased:
        subject = f"the area under the curve of erasing in {erased_name(kind['order'])} less that of attention's own"
    else:
        subject = f"{MEASURES.get(kind['measure'], kind['measure'].replace('_', ' '))} between attention and "
        subject += ORDERS.get((kind["estimand"], kind["order"]), kind["order"].replace("_", " "))
    defined = frame[frame["estimate"].notna()]
    text: str = counted(shared["n_seeds"], shared["n_instances"], None, shared["data"]) + subject
    if defined.empty:
        text += f" is undefined in all {len(frame)} rows."
    else:
        estimates = defined["estimate"].to_numpy(dtype=np.float64)
        places = (int(estimates.argmin()), int(estimates.argmax()))
        low, high = (_of(defined.iloc[place], labels, digits) for place in places)
        text += f" was lowest at {low} and highest at {high}" if len(defined) > 1 else f" was {low}"
        lost = len(frame) - len(defined)
        text += f"; it is undefined in {lost} of {len(frame)} rows." if lost else "."
    return f"{text[0].upper()}{text[1:]}"


def _shared(frame: pd.DataFrame, name: str) -> Any:
    """The value that all rows have, None where they differ or the column is absent."""
    values: list[Any] = list(frame[name].unique()) if name in frame else []
    return values[0] if len(values) == 1 else None


def _of(row: pd.Series[Any], labels: Sequence[str], digits: int) -> str:
    interval = format_interval(row["estimate"], row["ci_low"], row["ci_high"], digits)
    return f"{interval} ({', '.join(_name(row[label], label) for label in labels)})"


def _name(value: Any, label: str) -> str:
    return f"{label} {format_setting(value)}" if isinstance(value, int | float) else str(value)
