"""Is disagreement a matter of near ties? Pairs of positions of a record, by the gaps of attention and information.

The pairs of ``statistics.near_ties`` made from records: of mean attention and a profile (E1, one set a run), of the
attention of each instance and a profile (E2), and of attention and pointwise information (E3), where an instance
takes the place of a run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mi_attention.agreement.pointwise import Pointwise
from mi_attention.agreement.profiles import Profile
from mi_attention.agreement.reliability import PointwiseHalves
from mi_attention.agreement.versions import Version
from mi_attention.interface import AttentionRecord, FloatArray, IntArray
from mi_attention.measures.layout import buckets
from mi_attention.statistics import (
    PairGaps,
    clustered_ratio,
    concordance_by_gap,
    difference_error,
    pair_gaps,
    tau_above_gap,
)
from mi_attention.statistics.near_ties import CONCORDANCE, RESOLVED

__all__ = [
    "CONCORDANCE",
    "GAP_EDGES",
    "NEAR_TIE_COLUMNS",
    "NEAR_TIE_KEY",
    "instance_pairs",
    "near_tie_table",
    "pointwise_pairs",
    "pool_near_ties",
    "position_pairs",
]

# Gaps of attention relative to the largest weight, and of information in standard errors; fixed before any was seen.
GAP_EDGES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
NEAR_TIE_KEY = ("estimand", "output", "state", "quantity", "gap_low", "gap_high", "resolution_low", "resolution_high")
NEAR_TIE_COLUMNS = (
    *NEAR_TIE_KEY,
    "estimate",
    "ci_low",
    "ci_high",
    "interval",
    "n_instances",
    "n_pairs",
    "resolved_share",
    "degenerate_share",
    "reason",
)

# Pairs held at once, and positions of an instance that are enough to make pairs of.
_MOST_PAIRS = 2**19
_MOST_POSITIONS = 64


def position_pairs(record: AttentionRecord, profile: Profile) -> PairGaps | None:
    """E1: the pairs of one run; None where a unit has no estimate or there are fewer than two."""
    if np.isnan(profile.nats).any() or len(profile.nats) < 2:
        return None
    attention = profile.mean_attention(record)
    if not np.isfinite(attention).all() or attention.max() <= 0:
        return None
    return pair_gaps(profile.nats, attention, difference_error(profile.local(record))[None])


def instance_pairs(record: AttentionRecord, profile: Profile, *, seed: int) -> PairGaps | None:
    """E2: the pairs of each instance that has every unit (of a random sample of them, where there are many)."""
    if np.isnan(profile.nats).any() or len(profile.nats) < 2:
        return None
    by_instance = profile.alignment.attention_by_instance(record, profile.attention)
    complete = np.flatnonzero(~np.isnan(by_instance).any(axis=0) & (by_instance.max(axis=0, initial=0.0) > 0))
    if not complete.size:
        return None
    rng = np.random.default_rng([seed, 10])
    units = np.arange(len(by_instance))
    if len(units) > _MOST_POSITIONS:
        units = np.sort(rng.permutation(len(units))[:_MOST_POSITIONS])
    most = _MOST_PAIRS // (len(units) * (len(units) - 1) // 2)
    chosen = np.sort(rng.permutation(complete)[:most])
    attention = by_instance[np.ix_(units, chosen)].T
    kept = attention.max(axis=1) > 0
    attention = attention[kept]
    if not len(attention):
        return None
    nats = np.broadcast_to(profile.nats[units], attention.shape)
    error = difference_error(profile.local(record)[units])
    return pair_gaps(nats, attention, np.broadcast_to(error, (len(attention), error.size)))


def pointwise_pairs(attention: FloatArray, halves: PointwiseHalves, offsets: IntArray, *, seed: int) -> PairGaps | None:
    """E3: the pairs of each instance.

    Information is the mean of two readings that share no training instance, and the error of a gap the root mean
    square of half the difference of its two readings, over the pairs of the instance: what a pair's gap is known to.

    Args:
        attention: ``(M,)`` of the record.
        halves: Of the same record.
        offsets: ``(N + 1,)`` of the record.
        seed: Of the sample of instances, and of positions in long ones.

    Returns:
        One row an instance, ragged ones filled with pairs without a gap; None without readings.
    """
    if halves.reason:
        return None
    rng = np.random.default_rng([seed, 11])
    lengths = np.diff(halves.offsets)
    widest = int(min(lengths.max(), _MOST_POSITIONS))
    if widest < 2:
        return None
    most = _MOST_PAIRS // (widest * (widest - 1) // 2)
    chosen = rng.permutation(len(lengths))[:most]
    wanted = np.zeros(len(lengths), dtype=bool)
    wanted[chosen] = lengths[chosen] > 1
    count, pairs = int(wanted.sum()), widest * (widest - 1) // 2
    place = np.cumsum(wanted) - 1
    agreement, separated = np.zeros((count, pairs)), np.zeros((count, pairs), dtype=bool)
    gap, resolution = np.full((2, count, pairs), np.nan)
    for instances, rows in buckets(halves.offsets):
        kept = wanted[instances]
        if not kept.any():
            continue
        own, rows = instances[kept], rows[kept]
        weights = attention[offsets[halves.instances[own]][:, None] + np.arange(rows.shape[1])].astype(np.float64)
        if rows.shape[1] > widest:
            subset = np.argsort(rng.random(rows.shape), axis=1)[:, :widest]
            rows, weights = (np.take_along_axis(table, subset, axis=1) for table in (rows, weights))
        p, q = np.triu_indices(rows.shape[1], 1)
        gaps = halves.informativeness[:, rows[:, p]] - halves.informativeness[:, rows[:, q]]
        mean = gaps.mean(axis=0)
        error = np.sqrt(((gaps[0] - gaps[1]) ** 2 / 4).mean(axis=1, keepdims=True))
        top = weights.max(axis=1, keepdims=True)
        at = place[own][:, None], np.arange(p.size)
        agreement[at] = np.sign(mean) * np.sign(weights[:, p] - weights[:, q])
        separated[at] = mean != 0
        gap[at] = np.where(top > 0, np.abs(weights[:, p] - weights[:, q]) / np.where(top > 0, top, 1), np.nan)
        resolution[at] = np.where(error > 0, np.abs(mean) / np.where(error > 0, error, 1), np.nan)
    return PairGaps(agreement=agreement, gap=gap, resolution=resolution, separated=separated, kind="relative")


def near_tie_table(
    record: AttentionRecord,
    profiles: list[Profile],
    pointwise: Pointwise,
    versions: dict[str, Version],
    *,
    seed: int,
    level: float,
) -> pd.DataFrame:
    """Concordance by gap and taus above a gap, for the output asked for (the first version) with what qualifies it.

    These are the gold label and, where predictions can be recomputed, permuted attention: the mechanical baseline, in
    which the gaps are those of the permuted weights and the information is about the prediction made under them.

    Args:
        record: The record.
        profiles: All; those by position are used.
        pointwise: Pointwise information, twice over.
        versions: Output name → output and attention.
        seed: Of samples.
        level: Coverage.

    Returns:
        One row a quantity, bin and output. E1 has no interval for one run (one set of pairs, made from all instances);
        those of E2 and E3 are over instances and, for E2, without the error of the shared profile.
    """
    wanted = [name for name in versions if name in (next(iter(versions)), "label", "permuted attention")]
    frames = []
    for name in wanted:
        for profile in profiles:
            if (profile.alignment.kind, profile.output, profile.state) == ("position", name, "hidden"):
                found = {"position": position_pairs(record, profile)}
                found["instance"] = instance_pairs(record, profile, seed=seed)
                frames += [_tables(pairs, estimand, name, level) for estimand, pairs in found.items() if pairs]
        if name in pointwise.halves:
            weights = np.asarray(versions[name].attention)
            pairs = pointwise_pairs(weights, pointwise.halves[name], record.offsets, seed=seed)
            frames += [_tables(pairs, "pointwise", name, level)] if pairs else []
    if not frames:
        return pd.DataFrame(columns=list(NEAR_TIE_COLUMNS))
    table = pd.concat(frames, ignore_index=True)
    # The one set of pairs by position is no instance: it is made from all of them.
    table.loc[table["estimand"] == "position", "n_instances"] = float(record.n_instances)
    return table


def _tables(pairs: PairGaps, estimand: str, output: str, level: float) -> pd.DataFrame:
    """Both quantities of one set of pairs; the rows of the pairs are the clusters of the intervals."""
    found = [
        concordance_by_gap(pairs, GAP_EDGES, level=level, n_resamples=0),
        tau_above_gap(pairs, GAP_EDGES[:-1], level=level),
    ]
    if np.isfinite(pairs.resolution).any():
        resolutions = (0.0, RESOLVED, float("inf"))
        found.insert(0, concordance_by_gap(pairs, GAP_EDGES, resolution_edges=resolutions, level=level, n_resamples=0))
    frame = pd.concat(found, ignore_index=True).drop(columns="n_instances")
    frame = frame.rename(columns={"n_seeds": "n_instances"}).assign(estimand=estimand, output=output, state="hidden")[
        list(NEAR_TIE_COLUMNS)
    ]
    frame = frame.astype({"n_instances": "float64", "n_pairs": "float64", "quantity": "object", "reason": "object"})
    if estimand != "position":
        frame["reason"] = frame["reason"].str.replace("run", "instance")
    missing = " (MI error not included)" if estimand == "instance" else ""
    frame["interval"] = np.where(frame["ci_low"].notna(), f"instances of one run{missing}", "")
    return frame


def pool_near_ties(frames: Sequence[pd.DataFrame], level: float) -> pd.DataFrame:
    """The same over runs: each pair counts alike, and the interval is over the runs.

    Args:
        frames: ``near_tie_table`` of each run.
        level: Coverage.

    Returns:
        ``NEAR_TIE_COLUMNS`` with ``n_seeds``, the runs that have such a pair; ``n_instances`` is the mean over runs;
        tau-b, no ratio of counts, is the mean over runs weighted by pairs.
    """
    rows = []
    whole = pd.concat([frame for frame in frames if len(frame)] or list(frames[:1]), ignore_index=True)
    for key, part in whole.groupby(list(NEAR_TIE_KEY), sort=False, dropna=False):
        known = part[part["estimate"].notna() & (part["n_pairs"] > 0)]
        weights = known["n_pairs"].to_numpy(dtype=np.float64)
        within = (0.0 if key[NEAR_TIE_KEY.index("quantity")] == CONCORDANCE else -1.0, 1.0)
        ratio = clustered_ratio(
            known["estimate"].to_numpy(dtype=np.float64) * weights, weights, level=level, within=within
        )
        found = {
            "estimate": ratio.estimate,
            "ci_low": ratio.ci_low,
            "ci_high": ratio.ci_high,
            "reason": ratio.reason.replace("nothing to count", "no such pair").replace("run", "seed"),
        }
        resolved = known["resolved_share"].to_numpy(dtype=np.float64)
        both = ~np.isnan(resolved)
        shares = {"resolved_share": float(np.average(resolved[both], weights=weights[both])) if both.any() else np.nan}
        shares["degenerate_share"] = float(part["degenerate_share"].mean())
        counts = {"n_seeds": float(len(known)), "n_pairs": float(weights.sum())}
        instances = {"n_instances": _mean_instances(part)}
        interval = {"interval": "seeds, on the instances given" if np.isfinite(ratio.ci_low) else ""}
        rows.append(dict(zip(NEAR_TIE_KEY, key, strict=True)) | found | shares | counts | instances | interval)
    return pd.DataFrame(rows, columns=[*NEAR_TIE_COLUMNS, "n_seeds"])


def _mean_instances(part: pd.DataFrame) -> float:
    counts = part["n_instances"]
    # Earlier versions counted runs by position, 1 or 0: no number of instances, and none is known.
    earlier = (part["estimand"] == "position") & (counts <= 1)
    return float(counts[~earlier].mean()) if not earlier.all() else float("nan")
