"""Human evidence as a further ranking: do attention, informativeness and the head's evidence find the marked words?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mi_attention.agreement.controls import Decoder, head_evidence
from mi_attention.agreement.pointwise import Pointwise
from mi_attention.agreement.rows import Rows, difference, undefined_measure
from mi_attention.interface import AttentionRecord, FloatArray, Measured
from mi_attention.measures import evidence_auc, evidence_precision, kendall_tau_b

__all__ = ["EVIDENCE_THRESHOLD", "add_rationale"]

# Of soft evidence: marked by at least half of the annotators.
EVIDENCE_THRESHOLD = 0.5
_UNITS = {"auc": "probability", "average_precision": "precision", "kendall_tau_b": "tau"}


def add_rationale(
    rows: Rows, record: AttentionRecord, outputs: Sequence[str], decoder: Decoder, pointwise: Pointwise, *, seed: int
) -> None:
    """Add how well orders of an instance's positions find its human evidence, and attention minus informativeness.

    Orders: attention, pointwise informativeness about each output, |w·h| of a linear head, and a random one for the
    level of chance. Measures: ``auc`` and ``average_precision`` of evidence of at least ``EVIDENCE_THRESHOLD``; where
    evidence is soft also tau-b with it as it is. Instances whose positions are all evidence, or none, are undefined.

    Args:
        rows: Where to.
        record: The record; without human evidence every row is undefined.
        outputs: Names of the outputs whose informativeness is an order: the one asked for, and the label.
        decoder: For the order of the head.
        pointwise: The pointwise information.
        seed: Seed of the random order.
    """
    evidence = None if record.rationale is None else np.asarray(record.rationale, dtype=np.float64)
    head: FloatArray | str = decoder.source if decoder.head is None else head_evidence(record, decoder.head)
    alone: dict[str, FloatArray | str] = {
        "attention": np.asarray(record.attention, dtype=np.float64),
        "head evidence": head,
        "random": np.random.default_rng([seed, 1]).random(record.n_rows),
    }
    for measure, of in _measures(evidence, record).items():
        unit = _UNITS[measure]
        found = {name: of(order) for name, order in alone.items()}
        for name, value in found.items():
            rows.add_measured("rationale", measure, name, "", "", value, unit=unit)
        for output in outputs:
            order = pointwise.order(output)
            informed = of(_absent(pointwise, output) if order is None else order)
            rows.add_measured("rationale", measure, "informativeness", output, "hidden", informed, unit=unit)
            paired = difference(found["attention"], informed)
            rows.add_measured(
                "rationale", measure, "attention minus informativeness", output, "hidden", paired, unit=unit
            )


def _absent(pointwise: Pointwise, output: str) -> str:
    return pointwise.estimates[output].reason or "the estimator gives no informativeness"


def _measures(
    evidence: FloatArray | None, record: AttentionRecord
) -> dict[str, Callable[[FloatArray | str], Measured]]:
    """Measure → what it gives for an order, or for the reason why there is no order."""
    offsets, n = record.offsets, record.n_instances
    if evidence is None:
        absent = undefined_measure(n, "no human evidence")
        return {"auc": lambda order: absent, "average_precision": lambda order: absent}
    marks = (evidence >= EVIDENCE_THRESHOLD).astype(np.float64)

    def or_reason(of: Callable[[FloatArray], Measured]) -> Callable[[FloatArray | str], Measured]:
        return lambda order: undefined_measure(n, order) if isinstance(order, str) else of(order)

    found = {
        "auc": or_reason(lambda order: evidence_auc(order, marks, offsets)),
        "average_precision": or_reason(lambda order: evidence_precision(order, marks, offsets)),
    }
    if not np.isin(evidence, (0, 1)).all():
        names = ("order", "evidence")
        found["kendall_tau_b"] = or_reason(lambda order: kendall_tau_b(order, evidence, offsets, names=names))
    return found
