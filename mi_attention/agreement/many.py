"""Several records of the same instances, seeds of one or more cells, to the tables of a study."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from mi_attention.agreement.compare import compare
from mi_attention.agreement.comparison import Comparison
from mi_attention.agreement.headline import Headlined, headline_rows
from mi_attention.agreement.notes import Note
from mi_attention.agreement.outputs import Output
from mi_attention.agreement.pages import many_page
from mi_attention.agreement.pooling import (
    ROW_KEY,
    join_signatures,
    pool_agreement,
    pool_concentration,
    pool_curves,
    pool_near_ties,
)
from mi_attention.interface import AttentionRecord, FloatArray
from mi_attention.report import write_html
from mi_attention.statistics import adjust_family, contrast_table

__all__ = ["ManyComparison", "compare_many"]

_LABELS = ("data", "encoder", "score", "normalizer", "temperature")


@dataclass(frozen=True, eq=False)
class ManyComparison(Headlined):
    """What ``compare_many`` found, as tidy tables with the column ``cell``.

    Attributes:
        table: One agreement of one cell a row, over its seeds.
        seeds: The estimate of every run, one row a quantity and seed.
        profile: Information of every unit, one row a unit, output and seed.
        concentration: Concentration of attention, one measure a row.
        erasure_curves: Change of the prediction by the share of positions erased.
        near_ties: Concordance of pairs of positions by both gaps.
        contrasts: Paired contrasts between cells, Holm over the first row of each; empty where none were asked for.
        notes: What was left out or could not be computed, in any run.
        signature: How all of this was made.
        output: The output asked for, as the tables name it.
        comparisons: The single runs, in the order of the records.
    """

    table: pd.DataFrame
    seeds: pd.DataFrame
    profile: pd.DataFrame
    concentration: pd.DataFrame
    erasure_curves: pd.DataFrame
    near_ties: pd.DataFrame
    contrasts: pd.DataFrame
    notes: tuple[Note, ...]
    signature: str
    output: str
    comparisons: tuple[Comparison, ...]

    _scope: ClassVar[str] = "over seeds"

    def headline(self) -> pd.DataFrame:
        """The rows a paper would print: tau-b of every cell, order, output and state."""
        rows = headline_rows(self.table)
        columns = ["cell", "estimand", "order", "output", "state", "estimate", "ci_low", "ci_high", "null_mean", "p"]
        columns += ["reliability", "ceiling", "n_seeds", "n_instances", "undefined_share", "reason"]
        return rows[columns].reset_index(drop=True)

    def to_html(
        self, path: str | os.PathLike[str], record: AttentionRecord | None = None, *, title: str | None = None
    ) -> Path:
        """Write everything as one HTML page: contrasts, tables, methods with references, notes.

        Args:
            path: The ``.html`` file; it needs no other file and no network.
            record: The first of the records compared, if it has tokens: its texts are then there to browse.
            title: Name of the page; by default the data and the model.

        Returns:
            The path.

        Raises:
            ValueError: if the record has no tokens, or is not the first that was compared.
        """
        return write_html(many_page(self, record, title), Path(path))


def compare_many(
    records: Sequence[AttentionRecord],
    output: Output = "class",
    *,
    cells: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    contrasts: Sequence[tuple[str, str]] = (),
    on: Mapping[str, str] | None = None,
    family: str = "contrasts",
    confidence: float = 0.95,
    null_draws: int = 999,
    **options: Any,
) -> ManyComparison:
    """Compare several records of the same instances: seeds of one cell, or of several cells.

    Intervals are over seeds crossed with instances, nulls move all seeds of a cell together, and contrasts are
    paired by seed: the same tables as those of a study.

    Args:
        records: Records, all of the same instances in the same order.
        output: What the information is about; see ``make_target``.
        cells: ``(R,)`` the cell of each record. By default from ``meta`` (data, encoder, score, normaliser,
            temperature, as far as they differ), or one cell.
        seeds: ``(R,)`` the seed of each record. By default ``meta["seed"]`` where all have it, else the order within
            the cell.
        contrasts: Pairs of cells, first minus second, corrected together by Holm's method.
        on: The row the contrasts are about, of ``estimand``, ``measure``, ``order``, ``output``, ``state``; by
            default the pointwise agreement with the informativeness about the output.
        family: Name of the family of the contrasts.
        confidence: Coverage of the intervals.
        null_draws: Partner maps of the nulls.
        **options: Further arguments of ``compare``, the same for all records.

    Returns:
        The tables.

    Raises:
        ValueError: for records of different instances, a seed that a cell has twice, or an unknown cell, each
            naming the remedy.
    """
    records = list(records)
    _check_records(records)
    if "seed" in options or "models" in options:
        raise ValueError("compare_many takes seeds= (one a record) and no seed= or models=; call compare for those")
    names = _cells(records, cells)
    numbers = _seeds(records, names, seeds)
    unknown = sorted({cell for pair in contrasts for cell in pair} - set(names))
    if unknown:
        raise ValueError(f"contrasts name the cell {unknown[0]!r}; the cells are {', '.join(dict.fromkeys(names))}")
    runs = [
        compare(record, output, seed=seed, confidence=confidence, null_draws=null_draws, **options)
        for record, seed in zip(records, numbers, strict=True)
    ]
    parts: dict[str, list[pd.DataFrame]] = {}
    for cell in dict.fromkeys(names):
        order = sorted((number, place) for place, number in enumerate(numbers) if names[place] == cell)
        own = [runs[place] for _, place in order]
        tables = {
            "table": pool_agreement(own, records[0].offsets, confidence=confidence, null_draws=null_draws, seed=0),
            "concentration": pool_concentration(own, confidence=confidence),
            "erasure_curves": pool_curves(own, confidence=confidence),
            "near_ties": pool_near_ties([run.near_ties for run in own], confidence),
            "seeds": _stack(
                [(run.table[[*ROW_KEY, "estimate", "unit"]], seed) for (seed, _), run in zip(order, own, strict=True)]
            ),
            "profile": _stack([(run.profile, seed) for (seed, _), run in zip(order, own, strict=True)]),
        }
        for name, frame in tables.items():
            frame.insert(0, "cell", cell)
            parts.setdefault(name, []).append(frame)
    frames = {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}
    found = ManyComparison(
        **frames,
        contrasts=pd.DataFrame(),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        signature=join_signatures(run.signature for run in runs),
        output=runs[0].output,
        comparisons=tuple(runs),
    )
    return _with_contrasts(found, names, numbers, contrasts, dict(on or {}), family, confidence)


def _check_records(records: Sequence[AttentionRecord]) -> None:
    if not records:
        raise ValueError("records is empty; give at least one AttentionRecord")
    for place, record in enumerate(records):
        if not isinstance(record, AttentionRecord):
            raise TypeError(f"records[{place}] is a {type(record).__name__}; make it with AttentionRecord.from_arrays")
        first = records[0]
        same = np.array_equal(record.offsets, first.offsets)
        same &= record.label is None or first.label is None or np.array_equal(record.label, first.label)
        if same and record.token_ids is not None and first.token_ids is not None:
            words = [np.asarray(one.vocabulary, dtype=object)[one.token_ids] for one in (record, first)]
            same = bool((words[0] == words[1]).all())
        if not same:
            raise ValueError(
                f"records[{place}] is of other instances than records[0]; give records of the same instances in the "
                "same order, or compare the data sets one by one"
            )


def _cells(records: Sequence[AttentionRecord], cells: Sequence[str] | None) -> list[str]:
    if cells is not None:
        if len(cells) != len(records):
            raise ValueError(f"cells has {len(cells)} names for {len(records)} records; give one a record")
        return [str(cell) for cell in cells]
    facts = [{name: str(record.meta.get(name, "")) for name in _LABELS} for record in records]
    varying = [name for name in _LABELS if len({fact[name] for fact in facts}) > 1] or ["data"]
    return [", ".join(filter(None, (fact[name] for name in varying))) or "record" for fact in facts]


def _seeds(records: Sequence[AttentionRecord], cells: Sequence[str], seeds: Sequence[int] | None) -> list[int]:
    if seeds is not None:
        if len(seeds) != len(records):
            raise ValueError(f"seeds has {len(seeds)} numbers for {len(records)} records; give one a record")
        numbers = [int(seed) for seed in seeds]
    elif all(isinstance(record.meta.get("seed"), int) for record in records):
        numbers = [int(record.meta["seed"]) for record in records]
    else:
        numbers = [list(cells[:place]).count(cell) for place, cell in enumerate(cells)]
    pairs = list(zip(cells, numbers, strict=True))
    twice = next((pair for pair in pairs if pairs.count(pair) > 1), None)
    if twice is not None:
        raise ValueError(f"cell {twice[0]!r} has seed {twice[1]} twice; say cells= or seeds= so that they differ")
    return numbers


def _stack(frames: Sequence[tuple[pd.DataFrame, int]]) -> pd.DataFrame:
    return pd.concat([frame.assign(seed=seed) for frame, seed in frames], ignore_index=True)


def _with_contrasts(
    found: ManyComparison,
    cells: Sequence[str],
    seeds: Sequence[int],
    contrasts: Sequence[tuple[str, str]],
    on: dict[str, str],
    family: str,
    confidence: float,
) -> ManyComparison:
    if not contrasts:
        return found
    unknown = sorted(set(on) - set(ROW_KEY))
    if unknown:
        raise ValueError(f"on has {unknown[0]!r}; it names a row by {', '.join(ROW_KEY)}")
    default = dict(zip(ROW_KEY, ("pointwise", "kendall_tau_b", "informativeness", found.output, "hidden"), strict=True))
    key = default | on
    frames: list[pd.DataFrame] = []
    heads: list[int] = []
    for first, second in contrasts:
        sides = _sides(found, cells, seeds, (first, second), key)
        unit = _unit(found.seeds, key)
        rows = contrast_table(*sides, level=confidence, rng=0, effect_unit=unit, signature=found.signature)
        heads.append(sum(len(frame) for frame in frames))
        frames.append(rows.assign(contrast=f"{first} − {second}", **key))
    table = pd.concat(frames, ignore_index=True)
    table["family"] = family
    table["p_adjusted"] = np.nan
    primary = table.loc[heads]
    defined = primary["p"].notna()
    # An undefined contrast stays a member that is never rejected: leaving it out would correct the others for less.
    members = primary.assign(p=primary["p"].fillna(1.0), smallest_p=primary["smallest_p"].where(defined, 1.0))
    try:
        table.loc[heads, "p_adjusted"] = adjust_family(members, family)["p_adjusted"].where(defined)
    except ValueError as error:
        # Too few seeds for any of them to be rejected: the p stand uncorrected, and say so.
        table.loc[heads, "reason"] = [f"{reason}; {error}".removeprefix("; ") for reason in primary["reason"]]
    columns = ["contrast", *ROW_KEY, *(name for name in table if name not in ("contrast", *ROW_KEY))]
    return ManyComparison(**{**vars(found), "contrasts": table[columns]})


def _sides(
    found: ManyComparison, cells: Sequence[str], seeds: Sequence[int], pair: tuple[str, str], key: dict[str, str]
) -> list[FloatArray]:
    """Both sides over their common seeds: ``(S, N)`` where the row has values by instance, else ``(S,)``."""
    common = sorted(
        {s for c, s in zip(cells, seeds, strict=True) if c == pair[0]}
        & {s for c, s in zip(cells, seeds, strict=True) if c == pair[1]}
    )
    if not common:
        raise ValueError(f"cells {pair[0]!r} and {pair[1]!r} have no seed in common; contrasts are paired by seed")
    place = {(c, s): run for c, s, run in zip(cells, seeds, found.comparisons, strict=True)}
    sides = []
    for cell in pair:
        runs = [place[cell, seed] for seed in common]
        values = [_row(run.instances, key).sort_values("instance")["value"].to_numpy(dtype=float) for run in runs]
        if all(len(value) for value in values):
            sides.append(np.stack(values))
            continue
        rows = [_row(run.table, key)["estimate"].to_numpy(dtype=float) for run in runs]
        if not all(len(row) for row in rows):
            raise ValueError(f"no row {key} in cell {cell!r}; see the table of compare for the rows there are")
        sides.append(np.array([row[0] for row in rows]))
    return sides


def _row(frame: pd.DataFrame, key: dict[str, str]) -> pd.DataFrame:
    return frame[np.logical_and.reduce([frame[name] == value for name, value in key.items()])]


def _unit(frame: pd.DataFrame, key: dict[str, str]) -> str:
    rows = _row(frame, key)
    return str(rows["unit"].iloc[0]) if len(rows) else ""
