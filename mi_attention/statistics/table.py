"""The one table every statistical result is printed from: fixed columns, fixed types, absent entries missing.

| column | type | what |
|---|---|---|
| quantity | string | what the estimate is of, in words |
| estimate | float64 | its value, in ``effect_unit``; NaN where undefined |
| ci_low, ci_high | float64 | ends of the interval; NaN where there is none, ``reason`` says why |
| level | float64 | nominal coverage of the interval |
| interval | string | how the interval was made and what it generalises to |
| n_seeds, n_instances, n_data | Int64 | what the estimate was made of; <NA> where that does not apply |
| test | string | how p was made, <NA> where nothing was tested |
| p | float64 | raw p in (0, 1] |
| p_adjusted | float64 | p after the correction of its family |
| smallest_p | float64 | the smallest p this test could have given |
| family | string | family of the correction, <NA> outside any |
| effect_unit | string | unit of the estimate and its interval: tau, nats, share, ... |
| reliability | float64 | split-half reliability of the profile |
| ceiling | float64 | the tau that attention in perfect order would reach |
| degenerate_share | float64 | share of values left out as undefined, in [0, 1] |
| signature | string | how the numbers under it were estimated |
| reason | string | empty, or what is missing and why |

Procedures with more to say (bins, grids) put columns of their own behind these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypedDict, Unpack, cast

import pandas as pd

__all__ = ["RESULT_COLUMNS", "Facts", "Tabular", "result_table"]

RESULT_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "quantity": "string",
        "estimate": "float64",
        "ci_low": "float64",
        "ci_high": "float64",
        "level": "float64",
        "interval": "string",
        "n_seeds": "Int64",
        "n_instances": "Int64",
        "n_data": "Int64",
        "test": "string",
        "p": "float64",
        "p_adjusted": "float64",
        "smallest_p": "float64",
        "family": "string",
        "effect_unit": "string",
        "reliability": "float64",
        "ceiling": "float64",
        "degenerate_share": "float64",
        "signature": "string",
        "reason": "string",
    }
)
_MISSING: Mapping[str, Any] = MappingProxyType({"float64": float("nan"), "Int64": pd.NA, "string": pd.NA})


class Facts(TypedDict, total=False):
    """Entries of a row, by column, that replace what the procedure would have put there (``level`` it is given)."""

    quantity: str
    estimate: float
    ci_low: float
    ci_high: float
    interval: str
    n_seeds: int
    n_instances: int
    n_data: int
    test: str
    p: float
    p_adjusted: float
    smallest_p: float
    family: str
    effect_unit: str
    reliability: float
    ceiling: float
    degenerate_share: float
    signature: str
    reason: str


def result_table(
    rows: Iterable[Mapping[str, Any]], facts: Facts | None = None, *, extra: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Build the table: every column there, in order and of its type, whatever the rows hold.

    Args:
        rows: One mapping a row, column → value; absent columns become NaN or <NA>, an absent reason "".
        facts: Entries put over those of every row: what the caller knows and the procedure does not.
        extra: Further columns of this table and their pandas types, put behind the fixed ones.

    Returns:
        ``(rows, RESULT_COLUMNS + extra)``; of the same types when there are no rows.

    Raises:
        ValueError: for a column that is neither fixed nor in ``extra``.
    """
    columns = {**RESULT_COLUMNS, **(extra or {})}
    made = [{**row, **cast(Mapping[str, Any], facts or {})} for row in rows]
    unknown = sorted({name for row in made for name in row} - set(columns))
    if unknown:
        raise ValueError(f"unknown columns {unknown}; the columns are {list(columns)}")
    return pd.DataFrame(
        {
            name: pd.array(
                [row.get(name, "" if name == "reason" else _MISSING.get(kind, pd.NA)) for row in made],
                dtype=cast(Any, kind),
            )
            for name, kind in columns.items()
        }
    )


class Tabular:
    """A result that makes one row of the table."""

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``."""
        raise NotImplementedError

    def table(self, **facts: Unpack[Facts]) -> pd.DataFrame:
        """One row of ``RESULT_COLUMNS``; ``facts`` replace what the result says of itself.

        Args:
            **facts: Entries by column: what only the caller knows (``ceiling``, ``signature``), or the p of a null
                beside the interval of an estimate.

        Returns:
            The row.
        """
        return result_table([self.row()], facts)
