"""Runs of one cell, on the same instances, become estimates with intervals over seeds and joint nulls.

The unit of evidence is the run: seeds are crossed with instances where a quantity has values by instance, joined
by the bootstrap draws that they share where it is a tau of a whole run, and stand alone otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.agreement.comparison import Comparison
from mi_attention.agreement.near_ties import pool_near_ties
from mi_attention.agreement.pointwise import partner_note
from mi_attention.interface import FloatArray, IntArray
from mi_attention.statistics import (
    AttentionOrder,
    PartnerNull,
    ShiftNull,
    crossed_interval,
    joint_bootstrap_interval,
    partner_null,
    seed_interval,
    shift_null,
)

__all__ = ["ROW_KEY", "join_signatures", "pool_agreement", "pool_concentration", "pool_curves", "pool_near_ties"]

ROW_KEY = ("estimand", "measure", "order", "output", "state")
Key = tuple[str, ...]
# Shares of H(Y) of which nothing is subtracted.
_OF_ENTROPY = ("attended_share", "uniform_share", "context_share")


def pool_agreement(
    runs: Sequence[Comparison], offsets: IntArray, *, confidence: float, null_draws: int, seed: int
) -> pd.DataFrame:
    """The agreement of all runs of one cell: one row a quantity.

    Args:
        runs: The comparisons, one a seed, of the same instances in the same order.
        offsets: ``(N + 1,)`` of those instances.
        confidence: Coverage of the intervals.
        null_draws: Partner maps of the joint null.
        seed: Of the joint null.

    Returns:
        ``ROW_KEY``, estimate, interval, ``n_seeds``, ``n_instances``, ``undefined_share``, the joint null and its p,
        reliability and ceiling (means over seeds), unit, reason, signature.
    """
    table = pd.concat([run.table.assign(run=s) for s, run in enumerate(runs)], ignore_index=True)
    by_instance = _by_instance(runs)
    variances = _profile_variances(runs, by_instance)
    draws = _draws(runs)
    nulls = _joint_nulls(runs, offsets, null_draws, seed)
    rows = []
    for key, part in table.groupby(list(ROW_KEY), sort=False):
        name = tuple(str(label) for label in key)
        estimates = _by_run(part, len(runs))
        if name in by_instance:
            row = _crossed(by_instance[name], confidence, variances.get(name))
            if name[0] == "instance" and name[2] != "true information" and name not in variances:
                row["interval"] += " (MI error not included)" if row["interval"] else ""
        elif name in draws and len(runs) > 1:
            row = _joint(estimates, draws[name], int(part["n_instances"].max()), confidence)
            row["undefined_share"] = float(part["undefined_share"].mean())
        else:
            row = _over_seeds(part, estimates, confidence)
        rows.append(dict(zip(ROW_KEY, name, strict=True)) | row | nulls.get(name, {}) | _told(part, row["reason"]))
    columns = [*ROW_KEY, "estimate", "ci_low", "ci_high", "interval", "n_seeds", "n_instances", "undefined_share"]
    columns += ["null", "null_mean", "p", "smallest_p", "reliability", "ceiling", "unit", "reason", "signature"]
    frame = pd.DataFrame(rows).reindex(columns=columns)
    frame["null"] = frame["null"].astype("str").fillna("") if nulls else ""
    # Few seeds give wide t intervals, but a tau cannot leave [−1, 1] nor a difference of two [−2, 2].
    widest = 1.0 + (frame["order"].str.contains(" minus ") | frame["output"].str.contains(" minus "))
    is_tau = frame["unit"] == "tau"
    frame["ci_low"] = frame["ci_low"].where(~is_tau, np.maximum(frame["ci_low"], -widest))
    frame["ci_high"] = frame["ci_high"].where(~is_tau, np.minimum(frame["ci_high"], widest))
    # Nor can what is held of H(Y) exceed it; the estimates themselves are capped.
    is_held = frame["measure"].isin(_OF_ENTROPY) & (widest == 1.0)
    frame["ci_high"] = frame["ci_high"].where(~is_held, np.minimum(frame["ci_high"], 1.0))
    return frame


def pool_concentration(runs: Sequence[Comparison], *, confidence: float) -> pd.DataFrame:
    """Concentration of attention over seeds crossed with instances, one measure a row."""
    by_instance = _by_instance(runs)
    table = pd.concat([run.concentration for run in runs], ignore_index=True)
    rows = []
    for measure, part in table.groupby("measure", sort=False):
        values = by_instance["concentration", str(measure), "attention", "", ""]
        rows.append({"measure": measure} | _crossed(values, confidence, None) | _told(part, ""))
    frame = pd.DataFrame(rows)
    return frame.drop(columns=["reliability", "ceiling"], errors="ignore")


def pool_curves(runs: Sequence[Comparison], *, confidence: float) -> pd.DataFrame:
    """Curves of erasure: means over seeds with t intervals over them (one seed: its own, over instances)."""
    keys = ["quantity", "order", "output", "state", "share"]
    table = pd.concat([run.erasure_curves for run in runs], ignore_index=True)
    if len(runs) == 1 or not len(table):
        return table.assign(n_seeds=1.0)
    rows = []
    for key, part in table.groupby(keys, sort=False):
        found = seed_interval(part["estimate"].to_numpy(dtype=np.float64), confidence)
        reason = found.reason or next((text for text in part["reason"] if text), "")
        # All runs start at no change at all.
        if key[-1] == 0 and found.estimate == 0:
            reason = ""
        values = {"estimate": found.estimate, "ci_low": found.ci_low, "ci_high": found.ci_high}
        counts = {"n_seeds": float(found.n_seeds), "n_instances": float(part["n_instances"].mean())}
        rows.append(dict(zip(keys, key, strict=True)) | values | counts | {"reason": reason})
    return pd.DataFrame(rows)


def _by_instance(runs: Sequence[Comparison]) -> dict[Key, FloatArray]:
    """Key → ``(S, N)``, for quantities that every run has by instance."""
    tables: dict[Key, list[FloatArray]] = {}
    for run in runs:
        for key, part in run.instances.groupby(list(ROW_KEY), sort=False):
            name = tuple(str(label) for label in key)
            tables.setdefault(name, []).append(part.sort_values("instance")["value"].to_numpy(dtype=np.float64))
    return {key: np.stack(values) for key, values in tables.items() if len(values) == len(runs)}


def _profile_variances(runs: Sequence[Comparison], by_instance: Mapping[Key, FloatArray]) -> dict[Key, float]:
    """Variance of the grand mean from the error of the shared profiles; runs share their resampled instances.

    Only where every run that the grand mean is made of has its draws.
    """
    keys = ["output", "state"]
    having = [run.profile_error for run in runs if len(run.profile_error)]
    if not having:
        return {}
    means = pd.concat(having).groupby([*keys, "draw"], sort=False)["value"]
    found: dict[Key, float] = {}
    for (output, state), part in means.agg(["mean", "size"]).reset_index().groupby(keys, sort=False):
        name = ("instance", "kendall_tau_b", "mutual information", str(output), str(state))
        used = int((~np.isnan(by_instance[name])).any(axis=1).sum()) if name in by_instance else 0
        if (part["size"] == used).all():
            found[name] = float(part["mean"].var(ddof=1))
    return found


def _draws(runs: Sequence[Comparison]) -> dict[Key, FloatArray]:
    """Key → ``(S, R)`` bootstrap draws of each run, with the same instances in draw r of every run.

    A run without draws, because it has no such order, has NaN.
    """
    tables: dict[Key, dict[int, FloatArray]] = {}
    for place, run in enumerate(runs):
        for key, part in run.resamples.groupby(list(ROW_KEY), sort=False):
            name = tuple(str(label) for label in key)
            tables.setdefault(name, {})[place] = part.sort_values("draw")["value"].to_numpy(dtype=np.float64)
    stacked = {}
    for name, values in tables.items():
        absent = np.full(len(next(iter(values.values()))), np.nan)
        stacked[name] = np.stack([values.get(place, absent) for place in range(len(runs))])
    return stacked


def _by_run(part: pd.DataFrame, runs: int) -> FloatArray:
    estimates = np.full(runs, np.nan)
    estimates[part["run"].to_numpy()] = part["estimate"].to_numpy(dtype=np.float64)
    return estimates


def _crossed(values: FloatArray, confidence: float, profile_variance: float | None) -> dict[str, Any]:
    found = crossed_interval(values, level=confidence, profile_variance=profile_variance or 0.0)
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "interval": found.scope + (", error of the profile included" if profile_variance else ""),
        "n_seeds": found.n_seeds,
        "n_instances": found.n_instances,
        "undefined_share": found.n_instances_left_out / values.shape[1],
        "reason": found.reason,
    }


def _joint(estimates: FloatArray, draws: FloatArray, n: int, confidence: float) -> dict[str, Any]:
    found = joint_bootstrap_interval(estimates, draws, n_instances=n, level=confidence)
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "interval": f"{found.scope}, MI error included",
        "n_seeds": found.n_seeds,
        "n_instances": n,
        "reason": found.reason,
    }


def _over_seeds(part: pd.DataFrame, estimates: FloatArray, confidence: float) -> dict[str, Any]:
    shared = {"n_instances": float(part["n_instances"].mean()), "undefined_share": part["undefined_share"].mean()}
    if len(estimates) == 1:
        own = part.iloc[0]
        return (
            {name: own[name] for name in ("estimate", "ci_low", "ci_high", "interval")}
            | shared
            | {
                "n_seeds": 1 if np.isfinite(estimates[0]) else 0,
                "reason": "",
            }
        )
    found = seed_interval(estimates, confidence)
    return shared | {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "interval": "" if found.reason else "seeds, on the instances given",
        "n_seeds": found.n_seeds,
        "reason": found.reason,
    }


def _told(part: pd.DataFrame, reason: str) -> dict[str, Any]:
    """What runs say of themselves: means of what qualifies an estimate, and their reasons."""
    reasons = [reason, *part["reason"]]
    told: dict[str, Any] = {"reason": "; ".join(dict.fromkeys(text for text in reasons if text))}
    for name in ("reliability", "ceiling"):
        if name in part:
            told[name] = float(part[name].mean())
    return told | {"unit": part["unit"].iloc[0], "signature": join_signatures(part["signature"])}


def join_signatures(signatures: Iterable[str]) -> str:
    """One signature of several runs: what they share, with all of their seeds in the place of one."""
    rows = [signature.split("|") for signature in dict.fromkeys(signatures)]
    joined = []
    for parts in zip(*rows, strict=len({len(row) for row in rows}) == 1):
        kinds = list(dict.fromkeys(parts))
        seeds = [re.fullmatch(r"seed([:=])(\d+)", part) for part in kinds]
        if len(kinds) > 1 and all(seeds):
            numbers = sorted(int(found[2]) for found in seeds if found)
            joined.append(f"seeds{kinds[0][4]}" + ",".join(map(str, numbers)))
        else:
            joined.append("/".join(kinds))
    return "|".join(joined)


def _joint_nulls(
    runs: Sequence[Comparison], offsets: IntArray, null_draws: int, seed: int
) -> dict[Key, dict[str, Any]]:
    """One partner map and one shift for all seeds: runs on one data set share instances and profiles."""
    nulls: dict[Key, dict[str, Any]] = {}
    output = runs[0].output
    wanted = (("informativeness", output, "hidden"), ("informativeness_label", "label", "hidden"))
    for column, name, state in (*wanted, ("informativeness_embedding", output, "embedding")):
        having = [run.positions for run in runs if column in run.positions]
        if having:
            columns = [
                np.stack([frame[kind].to_numpy(dtype=np.float64) for frame in having]) for kind in (column, "attention")
            ]
            found = partner_null(columns[0], columns[1], offsets, rng=seed, n_resamples=null_draws)
            what = "attention of another instance of the same length, one map for all seeds" + partner_note(found)
            nulls["pointwise", "kendall_tau_b", "informativeness", name, state] = _values(
                what + _of(len(having), len(runs)), found
            )
    aligned = [run.profile[run.profile["alignment"] == "position"] for run in runs if len(run.profile)]
    known = {key for frame in aligned for key in zip(frame["output"], frame["state"], strict=True)}
    for name, state in sorted(known):
        parts = [frame[(frame["output"] == name) & (frame["state"] == state)] for frame in aligned]
        nats, attention = (
            np.stack([part.sort_values("unit_index")[kind].to_numpy(dtype=np.float64) for part in parts])
            for kind in ("nats", "attention")
        )
        kept = ~np.isnan(nats).all(axis=1)
        units = ~np.isnan(nats[kept]).any(axis=0)
        if units.sum() < 2 or not kept.any():
            continue
        what = "circular shifts of the profile, one shift for all seeds" + _of(int(kept.sum()), len(runs))
        measured = ("kendall_tau_b", "mutual information", str(name), str(state))
        nulls["position", *measured] = _values(what, shift_null(nats[kept][:, units], attention[kept][:, units]))
        orders = [order for run, has in zip(runs, kept, strict=True) if has and (order := _order(run)) is not None]
        if units.all() and len(orders) == int(kept.sum()) and name in (output, "label"):
            nulls["instance", *measured] = _values(what, shift_null(nats[kept], orders))
    return nulls


def _of(kept: int, total: int) -> str:
    return "" if kept == total else f" ({kept} of {total} seeds)"


def _values(what: str, found: PartnerNull | ShiftNull) -> dict[str, Any]:
    return {"null": what, "null_mean": found.null_mean, "p": found.p, "smallest_p": found.smallest_p}


def _order(run: Comparison) -> AttentionOrder | None:
    frame = run.attention_order.sort_values("pair")
    if not len(frame):
        return None
    pairs = frame["value"].to_numpy(dtype=np.float64)
    positions = round((1 + np.sqrt(1 + 8 * len(pairs))) / 2)
    return AttentionOrder(
        pairs=pairs,
        profile=np.full(positions, np.nan),
        n_instances=int(frame["n_instances"].iloc[0]),
        n_undefined=int(frame["n_undefined"].iloc[0]),
    )
