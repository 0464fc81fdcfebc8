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
from mi_attention.agreement.reliability import PointwiseHalves, pointwise_ceiling, pointwise_halves
from mi_attention.agreement.rows import Rows, difference, undefined_measure
from mi_attention.agreement.versions import Version
from mi_attention.estimators import Probe
from mi_attention.interface import AttentionRecord, FloatArray, IntArray, Measured, MIEstimate
from mi_attention.measures import kendall_tau_b, somers_d, top_k_excess, weighted_tau
from mi_attention.statistics import PartnerNull, partner_null

__all__ = ["Pointwise", "add_informativeness", "add_pointwise", "partner_note"]


@dataclass(frozen=True, eq=False)
class Pointwise:
    """Pointwise information of a record, by version of the output (``"embedding"``: of the inputs about the first).

    Attributes:
        estimates: The pooled estimates; their ``informativeness`` and ``local`` (support) are the pointwise values.
        halves: The same twice over, for the error of orders.
    """

    estimates: dict[str, MIEstimate]
    halves: dict[str, PointwiseHalves]

    def order(self, name: str) -> FloatArray | None:
        """``(M,)`` informativeness, None where there is none."""
        found = self.estimates.get(name)
        return None if found is None else _information(found, "informativeness")


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
) -> Pointwise:
    """Add the pointwise rows of a record: the agreement, its controls, nulls, reliability and ceiling.

    Args:
        rows: Where to.
        record: The record.
        versions: Output name → output and attention; the first is the one asked for.
        decoder: For the order of the linear head.
        probe: The shared probe.
        null_draws: Partner maps of the null.
        seed: Seed of the random ranking, of the halves and of the null.
        minimum: With fewer instances there is no estimate.

    Returns:
        What the rows are made of.
    """
    main = next(iter(versions))
    found = Pointwise({}, {})
    orders: dict[str, Measured] = {}
    for name, version in versions.items():
        tested = null_draws if name in (main, "label") else 0
        orders[name] = add_informativeness(
            rows, record, name, version, probe, found, seed=seed, minimum=minimum, null_draws=tested
        )
        if name in (main, "permuted attention"):
            _add_further_measures(rows, record, version.attention, found, name)
        order = found.order(name)
        if name in (main, "label") and order is not None:
            index = record.row_position.astype(np.float64)
            tau = kendall_tau_b(index, order, record.offsets, names=("position index", "informativeness"))
            rows.add_measured("control", "kendall_tau_b", "informativeness and position index", name, "hidden", tau)
    if "permuted attention" in orders:
        excess = difference(orders[main], orders["permuted attention"])
        name = f"{main} minus permuted attention"
        rows.add_measured("pointwise", "kendall_tau_b", "informativeness", name, "hidden", excess)
    if record.embedding is not None:
        version = Version(versions[main].y, np.asarray(record.attention))
        add_informativeness(
            rows,
            record,
            main,
            version,
            probe,
            found,
            seed=seed,
            minimum=minimum,
            null_draws=null_draws,
            state="embedding",
        )
    _add_controls(rows, record, decoder, seed)
    return found


def add_informativeness(
    rows: Rows,
    record: AttentionRecord,
    name: str,
    version: Version,
    probe: Probe,
    found: Pointwise,
    *,
    seed: int,
    minimum: int,
    null_draws: int = 0,
    state: str = "hidden",
) -> Measured:
    """Add the rows of one output: the agreement of its informativeness (and support) with attention, and their error.

    Args:
        rows: Where to.
        record: The record whose states are read.
        name: Name of the output.
        version: The output, and the attention it is compared with.
        probe: The shared probe.
        found: Where the estimate and its halves are put.
        seed: Seed of the halves and of the null.
        minimum: With fewer instances there is no estimate.
        null_draws: Partner maps of the null; 0 for none.
        state: ``"hidden"`` or ``"embedding"``.

    Returns:
        The agreement of every instance with its informativeness.
    """
    estimate = _estimate(record, version.y, probe, minimum, state=state)
    halves = pointwise_halves(record, version.y, probe, seed=seed, state=state)
    key = name if state == "hidden" else state
    found.estimates[key], found.halves[key] = estimate, halves
    orders: dict[str, Measured] = {}
    for order in ("informativeness", "support"):
        if order == "support" and state == "embedding":
            continue
        information = _information(estimate, "informativeness" if order == "informativeness" else "local")
        orders[order] = _tau(record, version.attention, information, estimate, order)
        values: dict[str, Any] = {}
        if information is not None:
            reliability = halves.tau(order).mean()
            values |= {"reliability": reliability, "ceiling": pointwise_ceiling(reliability, folds=probe.folds)}
            if order == "informativeness" and null_draws:
                values |= _null(record, version.attention, information, null_draws, seed)
        rows.add_measured("pointwise", "kendall_tau_b", order, name, state, orders[order], **values)
    return orders["informativeness"]


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
    rows: Rows, record: AttentionRecord, attention: FloatArray, found: Pointwise, output: str
) -> None:
    order, reliability = found.order(output), found.halves[output].tau().mean()
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
        reason = found.estimates[output].reason
        value = undefined_measure(record.n_instances, reason) if order is None else of(order)
        unit = "share of k" if measure.startswith("top") else "tau"
        values: dict[str, Any] = {} if order is None else {"reliability": reliability}
        rows.add_measured("pointwise", measure, "informativeness", output, "hidden", value, unit=unit, **values)


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
