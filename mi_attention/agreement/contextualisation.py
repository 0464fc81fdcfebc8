"""What states know of the output beyond their own input: the encoder's part of the information."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mi_attention.agreement.influence import Linearised, LinearRow, entropy, information, unit_counts, weighted_mean
from mi_attention.agreement.preservation import ORDERS
from mi_attention.agreement.profiles import Profile
from mi_attention.interface import AttentionRecord, IntArray

__all__ = ["GAP_STATE", "embedding_gaps"]

GAP_STATE = "hidden minus embedding"


def embedding_gaps(
    record: AttentionRecord, pairs: Sequence[tuple[Profile, Profile | None]], outputs: dict[str, IntArray]
) -> list[LinearRow]:
    """Mean over units of I(h_t; Y) − I(e_t; Y), in nats and as a share of H(Y), paired by instance.

    Exactly 0 where the states are the embeddings. A state that has read the whole instance may hold everything there is
    to know of Y at every position, and then the order of the states says nothing of the words at their positions.

    What is compared is information that the estimator can read: a layer that reads its own word alone adds none, yet a
    narrower or more linear state is easier to learn from, so that the held-out gap of such a layer is a little above 0
    (.002 nats on SST-2, embeddings of 100 columns and states of 64).

    Args:
        record: The record.
        pairs: Profiles by position of the hidden states and of the embeddings about one output, of one alignment;
            None where there are no embeddings.
        outputs: Output name → ``(N,)``.

    Returns:
        ``embedding_gap`` and ``embedding_gap_share`` of each output, from the best values and the held-out ones;
        undefined where no unit has both estimates.
    """
    made = []
    for hidden, embedding in pairs:
        estimates = () if embedding is None else tuple(zip(hidden.estimates, embedding.estimates, strict=True))
        kept = [u for u, both in enumerate(estimates) if all(found.status == "ok" for found in both)]
        values = unit_counts(record, hidden.alignment, kept)
        for order, held_out in ORDERS.items():
            if held_out and any(found.lower_bound is None for u in kept for found in estimates[u]):
                continue
            gap: Linearised | str
            share: Linearised | str
            if kept and embedding is not None:
                gap, share = _gap(record, hidden, embedding, outputs[hidden.output], kept, held_out)
            else:
                reason = next((found.reason for both in estimates for found in both if found.status != "ok"), "")
                gap = share = reason or "no input embeddings"
            made.append(LinearRow("embedding_gap", order, hidden.output, GAP_STATE, gap, "nats", values))
            made.append(
                LinearRow("embedding_gap_share", order, hidden.output, GAP_STATE, share, "share of H(Y)", values)
            )
    return made


def _gap(
    record: AttentionRecord, hidden: Profile, embedding: Profile, y: IntArray, kept: Sequence[int], held_out: bool
) -> tuple[Linearised, Linearised]:
    n = record.n_instances
    gaps, shares = [], []
    for u in kept:
        owner = hidden.alignment.owners(record, u)
        first, second = (information(p.estimates[u], owner, n, held_out=held_out) for p in (hidden, embedding))
        gaps.append(first.minus(second))
        shares.append(gaps[-1].over(entropy(y[owner], owner, n)))
    equal = np.ones((len(kept), n))
    return weighted_mean(gaps, equal), weighted_mean(shares, equal)
