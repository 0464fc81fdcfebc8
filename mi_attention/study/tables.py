"""From stored cells to the tables of a study: runs over seeds become estimates with intervals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.agreement.pointwise import partner_note
from mi_attention.interface import FloatArray
from mi_attention.statistics import AttentionOrder, crossed_interval, partner_null, seed_interval, shift_null
from mi_attention.study.grid import CELL_COLUMNS, Cell
from mi_attention.study.store import CellStore, StoredCell

__all__ = ["StudyTables", "collect"]

GROUP_COLUMNS = tuple(name for name in CELL_COLUMNS if name != "seed")
ROW_KEY = ("estimand", "measure", "order", "output", "state")

# Which column of a cell's positions holds the order of a pointwise row: (is it the output asked for?, output, state).
_MAIN, _LABEL, _EMBEDDING = "informativeness", "informativeness_label", "informativeness_embedding"


@dataclass(frozen=True, eq=False)
class StudyTables:
    """The tables of a study; every one is tidy.

    Attributes:
        agreement: One agreement of one group of seeds a row.
        profile: Information of every unit, one row a unit, output and seed.
        concentration: Concentration of attention, one measure a row.
        training: Accuracy and the like.
        runs: One row a cell: status, seconds, error.
        notes: What was left out or is arbitrary: in how many cells, and how many cases (``count`` of ``total``) in
            each, mean over those cells.
        output: Name of the output asked for.
    """

    agreement: pd.DataFrame
    profile: pd.DataFrame
    concentration: pd.DataFrame
    training: pd.DataFrame
    runs: pd.DataFrame
    notes: pd.DataFrame
    output: str


def collect(cells: Sequence[Cell], store: CellStore, *, confidence: float = 0.95, null_draws: int = 999) -> StudyTables:
    """Gather what the store has of the cells.

    Args:
        cells: Cells of the study; those not yet run are shown as missing.
        store: The store.
        confidence: Coverage of the intervals.
        null_draws: Partner maps of the joint null over seeds.

    Returns:
        The tables; those without any finished cell are empty.

    Raises:
        ValueError: if a stored file is damaged.
    """
    groups: dict[tuple[Any, ...], list[tuple[Cell, StoredCell]]] = {}
    runs = []
    output = "prediction"
    for cell in cells:
        stored = store.read(cell.key)
        row: dict[str, Any] = {**cell.labels, "status": "missing", "seconds": np.nan, "error": "", "key": cell.key}
        if stored is not None:
            row |= {"status": stored.status, "seconds": stored.metadata.get("seconds", np.nan)}
            if stored.status == "failed":
                row["error"] = str(stored.rows["error"].iloc[0])
            else:
                output = stored.metadata["output"]
                key = tuple(cell.labels[name] for name in GROUP_COLUMNS)
                groups.setdefault(key, []).append((cell, stored))
        runs.append(row)
    parts: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("agreement", "profile", "concentration", "training", "notes")
    }
    for key, members in groups.items():
        labels = dict(zip(GROUP_COLUMNS, key, strict=True))
        for name, frame in _group_tables(members, output, confidence, null_draws).items():
            parts[name].append(frame.assign(**{k: v for k, v in labels.items() if k not in frame.columns}))
    frames = {name: _stack(frames) for name, frames in parts.items()}
    if len(frames["notes"]):
        notes = frames["notes"].groupby(["data", "note"], sort=False)
        frames["notes"] = notes.agg(
            cells=("count", "size"), count=("count", "mean"), total=("total", "mean")
        ).reset_index()
    return StudyTables(**frames, runs=pd.DataFrame(runs), output=output)


def _stack(frames: list[pd.DataFrame]) -> pd.DataFrame:
    if not frames:
        return pd.DataFrame()
    columns = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    # Frames in which a column is absent would otherwise change its type.
    whole = pd.concat([frame.reindex(columns=columns) for frame in frames if len(frame)] or frames, ignore_index=True)
    first = [name for name in (*CELL_COLUMNS, *ROW_KEY) if name in columns]
    return whole[[*first, *(name for name in columns if name not in first)]]


def _group_tables(
    members: list[tuple[Cell, StoredCell]], output: str, confidence: float, null_draws: int
) -> dict[str, pd.DataFrame]:
    """Tables of the seeds of one group."""
    members = sorted(members, key=lambda member: member[0].training.seed)
    seeds = [cell.training.seed for cell, _ in members]
    stored = [found for _, found in members]
    instances = _instance_tables(stored)
    agreement = _summarise(_tagged(stored, seeds, "agreement"), instances, confidence, _profile_variances(stored))
    concentration = _tagged(stored, seeds, "concentration").assign(
        estimand="concentration", order="attention", output="", state=""
    )
    concentration = _summarise(concentration, instances, confidence)
    training = _tagged(stored, seeds, "training").assign(estimand="training", order="", output="", state="")
    training = _summarise(training, {}, confidence)
    profile = _tagged(stored, seeds, "profile")
    nulls = _joint_nulls(stored, profile, output, null_draws)
    for name in ("null", "null_mean", "p", "smallest_p"):
        agreement[name] = [
            nulls.get(tuple(row), {}).get(name, "" if name == "null" else np.nan)
            for row in agreement[list(ROW_KEY)].itertuples(index=False, name=None)
        ]
    dropped = ["estimand", "order", "output", "state", "null_mean", "p", "smallest_p", "reliability", "ceiling", "null"]
    return {
        "agreement": agreement,
        "profile": profile,
        "concentration": concentration.drop(columns=dropped, errors="ignore"),
        "training": training[["measure", "estimate", "ci_low", "ci_high", "interval", "n_seeds", "reason"]],
        "notes": _tagged(stored, seeds, "notes"),
    }


def _tagged(stored: list[StoredCell], seeds: list[int], table: str) -> pd.DataFrame:
    return _stack([found.table(table).assign(seed=seed) for found, seed in zip(stored, seeds, strict=True)])


def _instance_tables(stored: list[StoredCell]) -> dict[tuple[Any, ...], FloatArray]:
    """Row key → ``(S, N)`` values, instances in the same order in every seed."""
    tables: dict[tuple[Any, ...], list[FloatArray]] = {}
    for found in stored:
        frame = found.table("instances")
        if not len(frame):
            continue
        keys = [frame[name].fillna("") if name in frame else "" for name in ROW_KEY]
        frame = frame.assign(**dict(zip(ROW_KEY, keys, strict=True)))
        for key, part in frame.groupby(list(ROW_KEY), sort=False):
            tables.setdefault(key, []).append(part.sort_values("instance")["value"].to_numpy(dtype=np.float64))
    return {
        key: np.stack(values)
        for key, values in tables.items()
        if len(values) == len(stored) and len({len(v) for v in values}) == 1
    }


def _summarise(
    frame: pd.DataFrame,
    instances: dict[tuple[Any, ...], FloatArray],
    confidence: float,
    profile_variances: dict[tuple[Any, ...], float] | None = None,
) -> pd.DataFrame:
    """One row a key: over seeds crossed with instances where values by instance exist, else over seeds."""
    variances = profile_variances or {}
    if not len(frame):
        return pd.DataFrame(columns=[*ROW_KEY, "estimate", "null", "null_mean", "p", "smallest_p"])
    frame = frame.assign(**{name: frame[name].fillna("") if name in frame else "" for name in ROW_KEY})
    rows = []
    for key, part in frame.groupby(list(ROW_KEY), sort=False):
        row: dict[str, Any] = dict(zip(ROW_KEY, key, strict=True))
        if key in instances:
            row |= _crossed(instances[key], confidence, variances.get(key, 0.0))
            if key[0] == "instance" and not variances.get(key, 0.0) > 0:
                row["interval"] += " (MI error not included)"
        else:
            row |= _over_seeds(part, confidence)
        reasons = [text for text in part.get("reason", pd.Series(dtype=object)).dropna().unique() if text]
        row["reason"] = "; ".join([row["reason"], *reasons] if row["reason"] else reasons)
        if "undefined_share" in part and "undefined_share" not in row:
            row["undefined_share"] = float(part["undefined_share"].mean())
        for name in ("reliability", "ceiling"):
            if name in part:
                row[name] = _mean(part[name])
        row["unit"] = _one(part, "unit")
        row["signature"] = _over_all_seeds(_one(part, "signature"), part["seed"])
        rows.append(row)
    return pd.DataFrame(rows)


def _profile_variances(stored: list[StoredCell]) -> dict[tuple[Any, ...], float]:
    """Variance of the grand mean from the error of the shared profiles; runs share their resampled instances."""
    frames = [found.table("profile_error") for found in stored]
    if any(not len(frame) for frame in frames):
        return {}
    draws = pd.concat(frames).groupby(["output", "state", "draw"], sort=False)["value"].agg(["mean", "size"])
    whole = draws[draws["size"] == len(stored)]["mean"].groupby(["output", "state"], sort=False).var(ddof=1)
    return {
        ("instance", "kendall_tau_b", "mutual information", str(output), str(state)): float(variance)
        for (output, state), variance in zip(whole.index, whole, strict=True)
    }


def _crossed(values: FloatArray, confidence: float, profile_variance: float) -> dict[str, Any]:
    found = crossed_interval(values, level=confidence, profile_variance=profile_variance)
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "interval": found.scope,
        "n_seeds": found.n_seeds,
        "n_instances": found.n_instances,
        "undefined_share": found.n_instances_left_out / values.shape[1],
        "mean_all_defined": found.mean_all_defined,
        "reason": found.reason,
    }


def _over_seeds(part: pd.DataFrame, confidence: float) -> dict[str, Any]:
    estimates = part["estimate"].to_numpy(dtype=np.float64) if "estimate" in part else np.full(len(part), np.nan)
    shared = {"n_instances": _mean(part["n_instances"]) if "n_instances" in part else np.nan}
    if len(part) == 1 and "ci_low" in part and np.isfinite(estimates[0]):
        single = part.iloc[0]
        own = {name: single[name] for name in ("ci_low", "ci_high")}
        interval = single.get("interval")
        return {"estimate": estimates[0], **own, "interval": interval, "n_seeds": 1, "reason": "", **shared}
    found = seed_interval(estimates, level=confidence)
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "interval": "seeds" if not found.reason else "",
        "n_seeds": found.n_seeds,
        "reason": found.reason,
        **shared,
    }


def _joint_nulls(
    stored: list[StoredCell], profile: pd.DataFrame, output: str, draws: int
) -> dict[tuple[str, ...], dict[str, Any]]:
    """Nulls over all seeds of the group at once: one partner map, one shift."""
    nulls: dict[tuple[str, ...], dict[str, Any]] = {}
    positions = [found.table("positions") for found in stored]
    for column, name, state in (
        (_MAIN, output, "hidden"),
        (_LABEL, "label", "hidden"),
        (_EMBEDDING, output, "embedding"),
    ):
        having = [frame for frame in positions if column in frame]
        if having and len({len(frame) for frame in having}) == 1:
            lengths = having[0].groupby("instance", sort=True).size().to_numpy()
            found = partner_null(
                np.stack([frame[column].to_numpy(dtype=np.float64) for frame in having]),
                np.stack([frame["attention"].to_numpy(dtype=np.float64) for frame in having]),
                np.concatenate([[0], np.cumsum(lengths)]),
                rng=0,
                n_resamples=draws,
            )
            key = ("pointwise", "kendall_tau_b", "informativeness", name, state)
            what = "attention of another instance of the same length, one map for all seeds" + partner_note(found)
            nulls[key] = _null_values(what + _of_seeds(len(having), len(stored)), found)
    if "alignment" not in profile:
        return nulls
    orders = [_order(found.table("attention_order")) for found in stored]
    aligned = profile[profile["alignment"] == "position"]
    for group, part in aligned.groupby(["output", "state"], sort=False):
        name, state = (str(value) for value in group)
        nats = part.pivot(index="seed", columns="unit_index", values="nats").to_numpy(dtype=np.float64)
        attention = part.pivot(index="seed", columns="unit_index", values="attention").to_numpy(dtype=np.float64)
        kept = ~np.isnan(nats).all(axis=1)
        nats, attention = nats[kept], attention[kept]
        known = ~np.isnan(nats).any(axis=0)
        if known.sum() < 2:
            continue
        what = "circular shifts of the profile, one shift for all seeds" + _of_seeds(int(kept.sum()), len(stored))
        measured = ("kendall_tau_b", "mutual information", name, state)
        nulls["position", *measured] = _null_values(what, shift_null(nats[:, known], attention[:, known]))
        usable = [order for order, has in zip(orders, kept, strict=True) if order is not None and has]
        if known.all() and len(usable) == len(nats) and name in (output, "label"):
            nulls["instance", *measured] = _null_values(what, shift_null(nats, usable))
    return nulls


def _of_seeds(kept: int, total: int) -> str:
    return "" if kept == total else f" ({kept} of {total} seeds)"


def _null_values(what: str, found: Any) -> dict[str, Any]:
    return {"null": what, "null_mean": found.null_mean, "p": found.p, "smallest_p": found.smallest_p}


def _order(frame: pd.DataFrame) -> AttentionOrder | None:
    if not len(frame):
        return None
    pairs = frame.sort_values("pair")["value"].to_numpy(dtype=np.float64)
    positions = round((1 + np.sqrt(1 + 8 * len(pairs))) / 2)
    return AttentionOrder(
        pairs=pairs,
        profile=np.full(positions, np.nan),
        n_instances=int(frame["n_instances"].iloc[0]),
        n_undefined=int(frame["n_undefined"].iloc[0]),
    )


def _mean(values: Iterable[float]) -> float:
    column = np.asarray(list(values), dtype=np.float64)
    column = column[~np.isnan(column)]
    return float(column.mean()) if len(column) else float("nan")


def _one(part: pd.DataFrame, name: str) -> str:
    return str(part[name].dropna().iloc[0]) if name in part and part[name].notna().any() else ""


def _over_all_seeds(signature: str, seeds: pd.Series[int]) -> str:
    listed = ",".join(str(seed) for seed in sorted(seeds.unique()))
    return re.sub(r"seed([:=])\d+", rf"seeds\g<1>{listed}", signature)
