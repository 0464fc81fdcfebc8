"""The shape of the cloud of states of an instance, beside what they know."""

from __future__ import annotations

from mi_attention.agreement.rows import Rows, undefined_measure
from mi_attention.interface import AttentionRecord
from mi_attention.measures import conicity

__all__ = ["add_geometry"]


def add_geometry(rows: Rows, record: AttentionRecord) -> None:
    """Add the conicity of the hidden states and of the input embeddings.

    States of high conicity are nearly parallel: weights over them hardly change the context, whatever their order
    (Mohankumar et al. 2020).

    Args:
        rows: Where to.
        record: The record; without embeddings their row is undefined.
    """
    for state, column in (("hidden", record.hidden), ("embedding", record.embedding)):
        if column is None:
            found = undefined_measure(record.n_instances, "no input embeddings")
        else:
            found = conicity(column, record.offsets)
        rows.add_measured("geometry", "conicity", "", "", state, found, unit="cosine")
