"""Agreement inside an instance (E3): the order of pointwise information against the order of attention.

A probe shared by all positions and cross-fitted by instance says how far each single state moves the
belief about the output. Its order belongs to one instance, as the order of the attention weights does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mi_attention.agreement.controls import Decoder, head_evidence, token_frequency
from mi_attention.agreement.reliability import pointwise_reliability
from mi_attention.agreement.rows import Rows, difference, undefined_measure
from mi_attention.estimators import Probe
from mi_attention.interface import AttentionRecord, FloatArray, IntArray, Measured, MIEstimate
from mi_attention.measures import kendall_tau_b, somers_d, top_k_excess, weighted_tau
from mi_attention.statistics import PartnerNull, partner_null

__all__ = ["Version", "add_pointwise", "partner_note"]


@dataclass(frozen=True, eq=False)
class Version:
    """One output under one attention.

    Attributes:
        y: ``(N,)`` the output of each instance.
        attention: ``(M,)`` the weights its information is compared with.
    """

    y: IntArray
    attention: FloatArray


def add_pointwise(
    rows: Rows,
    record: AttentionRecord,
    versions: Mapping[str, Version],
    decoder: Decoder,
    probe: Probe,
    *,
    null_draws: int,
    seed: int,
    minimum: int = 50,
) -> dict[str, MIEstimate]:
    """Add the pointwise rows of a record: the agreement, its controls, nulls and reliability.

    Args:
        rows: Where to.
        record: The record.
        versions: Output name → output and attention; the first is the one asked for.
        decoder: For the order of the linear head.
        probe: The shared probe.
        null_draws: Partner maps of the null.
        seed: Seed of the random ranking and of the null.
        minimum: With fewer instances there is no estimate.

    Returns:
        The pooled estimate of each version, and of ``"embedding"`` where the record has one; their
        ``informativeness`` and ``local`` (support) are the pointwise values.
    """
    main = next(iter(versions))
    estimates: dict[str, MIEstimate] = {}
    orders: dict[str, Measured] = {}
    for name, version in versions.items():
        found = _estimate(record, version.y, probe, minimum)
        estimates[name] = found
        informativeness = _information(found, "informativeness")
        orders[name] = _tau(record, version.attention, informativeness, found, "informativeness")
        values: dict[str, Any] = {}
        if name in (main, "label") and informativeness is not None:
            values = _null(record, version.attention, informativeness, null_draws, seed)
            repeated = pointwise_reliability(record, version.y, probe, seed=seed)
            values["reliability"] = repeated.mean()
        rows.add_measured("pointwise", "kendall_tau_b", "informativeness", name, "hidden", orders[name], **values)
        support = _tau(record, version.attention, _information(found, "local"), found, "support")
        rows.add_measured("pointwise", "kendall_tau_b", "support", name, "hidden", support)
        if name == main:
            _add_further_measures(rows, record, version.attention, informativeness, found, name)
    if "permuted attention" in orders:
        excess = difference(orders[main], orders["permuted attention"])
        name = f"{main} minus permuted attention"
        rows.add_measured("pointwise", "kendall_tau_b", "informativeness", name, "hidden", excess)
    if record.embedding is not None:
        found = _estimate(record, versions[main].y, probe, minimum, state="embedding")
        estimates["embedding"] = found
        informativeness = _information(found, "informativeness")
        tau = _tau(record, record.attention, informativeness, found, "informativeness")
        values = {} if informativeness is None else _null(record, record.attention, informativeness, null_draws, seed)
        rows.add_measured("pointwise", "kendall_tau_b", "informativeness", main, "embedding", tau, **values)
    _add_controls(rows, record, decoder, seed)
    return estimates


def _estimate(record: AttentionRecord, y: IntArray, probe: Probe, minimum: int, *, state: str = "hidden") -> MIEstimate:
    if record.n_instances < minimum:
        reason = f"fewer than {minimum} instances"
        return MIEstimate.undefined(reason, n=record.n_rows, signature=probe.signature)
    owner = record.row_instance
    column = record.hidden if state == "hidden" or record.embedding is None else record.embedding
    return probe.estimate(column, y[owner], owner)


def _information(found: MIEstimate, name: str) -> FloatArray | None:
    return getattr(found, name) if found.status == "ok" else None


def _tau(
    record: AttentionRecord, attention: FloatArray, order: FloatArray | None, found: MIEstimate, name: str
) -> Measured:
    if order is None:
        return undefined_measure(record.n_instances, found.reason or f"the estimator gives no {name}")
    return kendall_tau_b(attention, order, record.offsets, names=("attention", name))


def partner_note(found: PartnerNull) -> str:
    """What the reader of a partner null must know: why there is none, or whom it leaves out."""
    if found.reason:
        return f" ({found.reason})"
    return f" ({found.n_without_partner} instances are alone with their length)" if found.n_without_partner else ""


def _null(record: AttentionRecord, attention: FloatArray, order: FloatArray, draws: int, seed: int) -> dict[str, Any]:
    found = partner_null(order, attention, record.offsets, rng=seed, n_resamples=draws)
    return {
        "null": "attention of another instance of the same length" + partner_note(found),
        "null_mean": found.null_mean,
        "p": found.p,
        "smallest_p": found.smallest_p,
    }


def _add_further_measures(
    rows: Rows,
    record: AttentionRecord,
    attention: FloatArray,
    order: FloatArray | None,
    found: MIEstimate,
    output: str,
) -> None:
    names = ("attention", "informativeness")
    offsets = record.offsets
    measures: dict[str, Callable[[FloatArray], Measured]] = {
        "weighted_tau": lambda values: weighted_tau(attention, values, offsets, names=names),
        "somers_d": lambda values: somers_d(attention, values, offsets, names=names),
        "top_1_above_chance": lambda values: top_k_excess(attention, values, offsets, k=1, names=names),
        "top_3_above_chance": lambda values: top_k_excess(attention, values, offsets, k=3, names=names),
        "top_5_above_chance": lambda values: top_k_excess(attention, values, offsets, k=5, names=names),
        "top_tenth_above_chance": lambda values: top_k_excess(attention, values, offsets, fraction=0.1, names=names),
    }
    for measure, of in measures.items():
        value = undefined_measure(record.n_instances, found.reason) if order is None else of(order)
        unit = "share of k" if measure.startswith("top") else "tau"
        rows.add_measured("pointwise", measure, "informativeness", output, "hidden", value, unit=unit)


def _add_controls(rows: Rows, record: AttentionRecord, decoder: Decoder, seed: int) -> None:
    """Orders that need no information estimate, each against the same attention."""
    attention = np.asarray(record.attention)
    orders: dict[str, FloatArray | str | None] = {
        "position index": record.row_position.astype(np.float64),
        "token frequency": token_frequency(record),
        "random": np.random.default_rng([seed, 1]).random(record.n_rows),
        "rationale": record.rationale,
    }
    if decoder.head is None:
        orders["head evidence"] = orders["attended head evidence"] = decoder.source
    else:
        evidence = head_evidence(record, decoder.head)
        orders["head evidence"] = evidence
        orders["attended head evidence"] = evidence * attention
    for name, order in orders.items():
        if order is None:
            continue
        if isinstance(order, str):
            found = undefined_measure(record.n_instances, order)
        else:
            found = kendall_tau_b(attention, order, record.offsets, names=("attention", name))
        rows.add_measured("pointwise", "kendall_tau_b", name, "", "", found)
