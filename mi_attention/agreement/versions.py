"""The output asked for, and what it is compared with: the gold label, and predictions under other attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mi_attention.agreement.controls import Decoder, probabilities_under, uniform_attention
from mi_attention.agreement.notes import Note
from mi_attention.agreement.outputs import Target, merge_rare_classes
from mi_attention.interface import AttentionRecord, FloatArray, IntArray

__all__ = ["Version", "make_versions"]


@dataclass(frozen=True, eq=False)
class Version:
    """One output under one attention.

    Attributes:
        y: ``(N,)`` the output of each instance.
        attention: ``(M,)`` the weights its information is compared with.
    """

    y: IntArray
    attention: FloatArray


def make_versions(
    record: AttentionRecord, target: Target, decoder: Decoder, permuted: FloatArray
) -> tuple[dict[str, Version], list[Note]]:
    """Every version of the output that the record allows, rare classes put together.

    Args:
        record: The record.
        target: The output asked for.
        decoder: How predictions are recomputed.
        permuted: ``(M,)`` the weights of the mechanical baseline.

    Returns:
        Name → version, the output asked for first, and what is missing or was decided.
    """
    own = np.asarray(record.attention)
    versions = {target.name: Version(target.values, own)}
    notes = []
    if record.label is None:
        notes.append(Note("no gold labels: the control with the label is missing (make the record with label=)"))
    elif target.name != "label":
        versions["label"] = Version(np.asarray(record.label), own)
    if target.of is not None and decoder.usable is not None:
        uniform = probabilities_under(record, decoder.usable, uniform_attention(record))
        versions["uniform prediction"] = Version(target.of(uniform), own)
        mechanical = probabilities_under(record, decoder.usable, permuted)
        versions["permuted attention"] = Version(target.of(mechanical), permuted)
    elif decoder.usable is None:
        notes.append(Note(f"no prediction under other attention: {decoder.source}"))
    if target.of is None:
        notes.append(Note("the output is the gold label, which no attention changes: no recomputed controls"))
    notes += _merge_rare(versions, target.name)
    if decoder.source.startswith("recovered"):
        notes.append(Note("the linear head was recovered from the outputs"))
    return versions, notes


def _merge_rare(versions: dict[str, Version], main: str) -> list[Note]:
    """Merge rare classes in place: those of the output asked for alike in every version recomputed from it."""
    notes = []
    shared, rare = merge_rare_classes(versions[main].y)
    homes = dict(zip(versions[main].y.tolist(), shared.tolist(), strict=True))
    for name, version in versions.items():
        y = version.y
        if rare and name != "label":
            y = np.array([homes.get(value, value) for value in y.tolist()], dtype=y.dtype)
        merged, count = merge_rare_classes(y)
        versions[name] = Version(merged, version.attention)
        count += rare if name == main else 0
        if count:
            text = f"instances of classes of the output ({name}) with fewer than 10, put together"
            notes.append(Note(text, count, len(y)))
    return notes
