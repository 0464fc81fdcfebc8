"""The causal check beside the taus: rows and curves of erasing in each order, against erasing in that of attention."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from mi_attention.agreement.controls import Decoder, head_evidence
from mi_attention.agreement.erasure import SHARES, ErasureCurves, ErasureOrder, erase
from mi_attention.agreement.pointwise import Pointwise
from mi_attention.agreement.profiles import Profile
from mi_attention.agreement.rows import Rows, difference
from mi_attention.interface import AttentionRecord, FloatArray, Measured

__all__ = ["ERASURE_CURVE_COLUMNS", "OrderKey", "add_erasure", "curve_frame", "erasure_orders"]

ERASURE_CURVE_COLUMNS = (
    "quantity",
    "order",
    "output",
    "state",
    "share",
    "estimate",
    "ci_low",
    "ci_high",
    "n_instances",
    "undefined",
    "reason",
)
# Random orders averaged over.
RANDOM_ORDERS = 5


class OrderKey(NamedTuple):
    """How the tables name an order of erasure."""

    order: str
    output: str
    state: str


PERMUTED = "permuted attention"


def erasure_orders(
    record: AttentionRecord,
    decoder: Decoder,
    pointwise: Pointwise,
    profiles: list[Profile],
    main: str,
    *,
    permuted: FloatArray,
    truth: FloatArray | None,
    seed: int,
) -> dict[OrderKey, ErasureOrder]:
    """The orders that a record allows.

    Attention, random orders, a_t·|w·h_t| of a linear head, pointwise informativeness about the output, the label and
    of the embeddings, the profile by position and by rank of the output and the label, the true information where it
    is known; and attention and random orders once more under permuted weights, since attention leads a random order
    by arithmetic alone.

    Args:
        record: The record.
        decoder: For the evidence of its linear head.
        pointwise: Pointwise information.
        profiles: Profiles of all alignments; positions and ranks are used.
        main: Name of the output asked for.
        permuted: ``(M,)`` the permuted weights.
        truth: ``(U,)`` the true information of positions.
        seed: Seed of the random orders.

    Returns:
        Name → order, attention first.
    """
    attention = np.asarray(record.attention, dtype=np.float64)
    chance = np.random.default_rng([seed, 9]).random((RANDOM_ORDERS, record.n_rows))
    orders: dict[OrderKey, ErasureOrder] = {}

    def add(order: str, output: str, state: str, scores: FloatArray, weights: FloatArray, missing: str = "") -> None:
        orders[OrderKey(order, output, state)] = ErasureOrder(order, scores, weights, missing)

    for output, weights in (("", attention), (PERMUTED, permuted)):
        add("attention", output, "", weights, weights)
        add("random", output, "", chance, weights)
    if decoder.head is not None:
        evidence = head_evidence(record, decoder.head) * attention
        add("attended head evidence", "", "", evidence, attention)
    for name, output, state in ((main, main, "hidden"), ("label", "label", "hidden"), ("embedding", main, "embedding")):
        order = pointwise.order(name)
        if order is not None:
            add("informativeness", output, state, order, attention)
    for profile in profiles:
        if profile.state != "hidden" or profile.output not in (main, "label") or np.isnan(profile.nats).any():
            continue
        if profile.alignment.kind == "position":
            short, scores = "too short for the panel of positions", _by_unit(record, profile, profile.nats)
            add("mutual information", profile.output, "hidden", scores, attention, short)
            if truth is not None and profile.output == "label":
                scores = _by_unit(record, profile, np.asarray(truth, dtype=np.float64))
                add("true information", "label", "input", scores, attention, short)
        elif profile.alignment.kind == "rank":
            short, scores = "too short for the panel of ranks", _by_rank(record, profile)
            add("mutual information by rank", profile.output, "hidden", scores, attention, short)
    return orders


def _by_unit(record: AttentionRecord, profile: Profile, values: FloatArray) -> FloatArray:
    scores = np.full(record.n_rows, np.nan)
    for value, rows in zip(values, profile.alignment.rows, strict=True):
        scores[rows] = value
    return scores


def _by_rank(record: AttentionRecord, profile: Profile) -> FloatArray:
    """Ranks 1 … K by their information, the positions behind them by attention."""
    scores = _by_unit(record, profile, stats.rankdata(profile.nats))
    behind = np.isnan(scores)
    inside = np.logical_or.reduceat(~behind, record.offsets[:-1])
    behind &= np.repeat(inside, record.lengths)
    # Attention is at most 1, and the place of a rank at least 1.
    scores[behind] = np.asarray(profile.attention, dtype=np.float64)[behind] - 1
    return scores


def add_erasure(
    rows: Rows, record: AttentionRecord, decoder: Decoder, orders: dict[OrderKey, ErasureOrder], *, seed: int
) -> pd.DataFrame:
    """Add areas, their paired differences from the area of attention, and what never flips.

    The difference of a random order under permuted weights is what attention leads by from arithmetic alone.

    Args:
        rows: Where to.
        record: The record.
        decoder: How predictions are made; without one every order is a row that says why.
        orders: Name → order.
        seed: Of the order among ties.

    Returns:
        The curves, with ``ERASURE_CURVE_COLUMNS``.
    """
    usable = decoder.usable
    if usable is None:
        reason = f"no prediction after erasing: {decoder.source}; give head= to the record, or decode="
        for key in orders:
            rows.add("erasure", "area", key.order, key.output, key.state, estimate=np.nan, unit="TVD", reason=reason)
        return pd.DataFrame(columns=list(ERASURE_CURVE_COLUMNS))
    found = erase(record, orders, usable, seed=seed)
    for key, curves in found.items():
        if key.order == "attention":
            rows.add_measured("erasure", "area", *key, curves.area, unit="TVD")
        else:
            _add_mean(rows, "area", key, curves.area, "TVD")
        _add_mean(rows, "never_flips", key, curves.never, "share")
        _add_median(rows, key, curves)
        if key.order != "attention":
            own = found[OrderKey("attention", PERMUTED if key.output == PERMUTED else "", "")]
            gap = difference(curves.area, own.area)
            rows.add_measured("erasure", "area", f"{key.order} minus attention", *key[1:], gap, unit="TVD")
    return curve_frame(found, rows.level)


def _add_mean(rows: Rows, measure: str, key: OrderKey, found: Measured, unit: str) -> None:
    """A mean over instances whose values are not kept: they are the values of attention plus those of the difference.

    ``never_flips`` is a share, of the instances that never change class, however much is erased.
    """
    defined, n = int(found.defined.sum()), len(found.values)
    low, high = _t_interval(found.values[:, None], rows.level)
    counts = found.undefined_counts()
    reasons = [f"{reason}: {count}" for reason, count in sorted(counts.items(), key=lambda item: -item[1])]
    values: dict[str, Any] = {}
    if np.isfinite(low[0]):
        values = {"ci_low": float(low[0]), "ci_high": float(high[0]), "interval": "instances of one run"}
    elif defined:
        reasons.append("no spread: all values are equal")
    rows.add(
        "erasure",
        measure,
        key.order,
        key.output,
        key.state,
        estimate=found.mean(),
        n_instances=defined,
        undefined=n - defined,
        undefined_share=1 - defined / n,
        reason="; ".join(reasons),
        unit=unit,
        **values,
    )


def _add_median(rows: Rows, key: OrderKey, curves: ErasureCurves) -> None:
    """Share erased by which half of the instances have changed class; those that never do count among all."""
    median, n = curves.median_flip(), len(curves.never.values)
    defined = int(curves.never.defined.sum())
    reason = next(iter(curves.never.undefined_counts()), "") if not defined else ""
    if np.isinf(median):
        median, reason = float("nan"), "fewer than half of the instances ever change class"
    rows.add(
        "erasure",
        "median_flip",
        key.order,
        key.output,
        key.state,
        estimate=median,
        n_instances=defined,
        undefined=n - defined,
        undefined_share=1 - defined / n,
        reason=reason,
        unit="share",
    )


def curve_frame(found: dict[OrderKey, ErasureCurves], level: float) -> pd.DataFrame:
    """Curves over the share of positions erased, means over instances with t intervals over them.

    Args:
        found: Name → curves.
        level: Coverage.

    Returns:
        ``ERASURE_CURVE_COLUMNS``; ``quantity`` is ``"change"`` (total variation distance) or ``"flipped"`` (share of
        instances whose class has changed).
    """
    frames = []
    for key, curves in found.items():
        undefined = int((~curves.area.defined).sum())
        reason = "" if curves.area.defined.any() else next(iter(curves.area.undefined_counts()), "")
        for quantity, table in (("change", curves.change), ("flipped", curves.flipped)):
            kept = table[curves.area.defined]
            low, high = _t_interval(kept, level)
            columns: dict[str, Any] = {
                "quantity": quantity,
                "order": key.order,
                "output": key.output,
                "state": key.state,
                "share": SHARES,
                "estimate": kept.mean(axis=0) if len(kept) else np.nan,
                "ci_low": low,
                "ci_high": high,
                "n_instances": float(len(kept)),
                "undefined": float(undefined),
                "reason": reason,
            }
            frames.append(pd.DataFrame(columns))
    if not frames:
        return pd.DataFrame(columns=list(ERASURE_CURVE_COLUMNS))
    return pd.concat(frames, ignore_index=True)[list(ERASURE_CURVE_COLUMNS)]


def _t_interval(table: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The t interval of every column's mean over rows, NaN left out; none where fewer than two rows or no spread."""
    kept = table[~np.isnan(table).any(axis=1)]
    nothing = np.full(table.shape[1], np.nan)
    if len(kept) < 2:
        return nothing, nothing
    error = kept.std(axis=0, ddof=1) / np.sqrt(len(kept))
    half = np.where(error > 0, stats.t.ppf(0.5 + level / 2, len(kept) - 1) * error, np.nan)
    return kept.mean(axis=0) - half, kept.mean(axis=0) + half
