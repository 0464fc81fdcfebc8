"""What part of an agreement between information and attention is arithmetic, and what else explains it.

The output is a function of the attended states, so information with the prediction falls with attention
rank even where states are random and attention is random. These controls are printed beside every tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mi_attention.agreement.erasure import Decode, checked_probabilities
from mi_attention.interface import AttentionRecord, FloatArray, IntArray, LinearHead

__all__ = [
    "Decoder",
    "context_vectors",
    "find_decoder",
    "head_evidence",
    "median_split",
    "permute_attention",
    "probabilities_under",
    "token_frequency",
    "uniform_attention",
]

# A head that misses the recorded probabilities by more than this is not the decoder of this record
# (dropout, a LayerNorm between, a Gumbel sample): what it recomputes would be another model's output.
_TOLERANCE = 0.01


@dataclass(frozen=True, eq=False)
class Decoder:
    """What the controls recompute predictions with.

    Attributes:
        head: The linear decoder, None where there is none to be had.
        source: ``"given"``, ``"recovered from the outputs"``, or why there is none.
        decode: The decoder given as a function, where there is one.
    """

    head: LinearHead | None
    source: str
    decode: Decode | None = None

    @property
    def usable(self) -> LinearHead | Decode | None:
        """What predictions are recomputed with, None where that cannot be done."""
        return self.head if self.decode is None else self.decode


def find_decoder(record: AttentionRecord, decode: Decode | None = None) -> Decoder:
    """A decoder given as a function, or the record's linear head, both checked; or a head recovered from the outputs.

    A recovered head solves logit differences = W·context + b by least squares, and is taken only where it
    reproduces every recorded probability to 0.001.

    Args:
        record: The record.
        decode: From float64 contexts ``(n, H)`` to probabilities ``(n, C)``.

    Returns:
        The decoder, or the reason why there is none.

    Raises:
        ValueError: if ``decode`` does not return ``(n, C)`` probabilities.
    """
    if decode is not None:
        gap = _gap(record, decode)
        if gap <= _TOLERANCE:
            # The evidence of single states is still the linear head's, where the record has one that fits.
            linear = record.head is not None and _gap(record, record.head) <= _TOLERANCE
            return Decoder(record.head if linear else None, "given", decode)
        return Decoder(None, f"decode misses the recorded output by up to {gap:.3f}: something lies between")
    if record.head is not None:
        gap = _gap(record, record.head)
        if gap <= _TOLERANCE:
            return Decoder(record.head, "given")
        return Decoder(None, f"the head given misses the recorded output by up to {gap:.3f}: something lies between")
    if record.output.min() <= 0:
        return Decoder(None, "no head given, and hard outputs do not determine one")
    n, hidden_size = record.n_instances, record.hidden.shape[1]
    if n < 2 * (hidden_size + 1):
        return Decoder(None, f"no head given, and {n} instances do not determine one in {hidden_size} dimensions")
    design = np.concatenate([context_vectors(record, record.attention), np.ones((n, 1))], axis=1)
    log_odds = np.log(np.asarray(record.output, dtype=np.float64))
    log_odds -= log_odds.mean(axis=1, keepdims=True)
    solution, _, rank, _ = np.linalg.lstsq(design, log_odds, rcond=None)
    if rank < design.shape[1] and not _spans_states(design, record):
        return Decoder(None, "no head given, and the contexts do not determine one where attention does not look")
    head = LinearHead(weight=solution[:-1].T.copy(), bias=solution[-1].copy())
    gap = _gap(record, head)
    if gap <= _TOLERANCE / 10:
        return Decoder(head, "recovered from the outputs")
    return Decoder(None, f"no head given, and the output is not linear in the context (misses by {gap:.3f})")


def _gap(record: AttentionRecord, head: LinearHead | Decode) -> float:
    """How far a head misses the recorded output.

    Hard outputs are compared as classes. Probabilities are compared as they are and, where none is so near 0 that its
    logarithm is rounding, as log-odds too (scaled down, a gap of 1 counting as .1): a head ten times too large
    reproduces saturated probabilities.
    """
    found, recorded = probabilities_under(record, head, record.attention), np.asarray(record.output, dtype=np.float64)
    if (recorded.max(axis=1) == 1).all():
        return float((found.argmax(axis=1) != recorded.argmax(axis=1)).mean())
    gap = float(np.abs(found - recorded).max())
    clear = (recorded > 1e-5).all(axis=1) & (found > 0).all(axis=1)
    if clear.any():
        odds = [np.log(p[clear]) - np.log(p[clear]).mean(axis=1, keepdims=True) for p in (found, recorded)]
        gap = max(gap, 0.1 * float((np.abs(odds[0] - odds[1]) / (1 + np.abs(odds[1]))).max()))
    return gap


def _spans_states(design: FloatArray, record: AttentionRecord) -> bool:
    """Whether every state (of a sample) lies in the span of the contexts."""
    _, spectrum, basis = np.linalg.svd(design, full_matrices=False)
    basis = basis[spectrum > spectrum[0] * 1e-10]
    rows = np.linspace(0, record.n_rows - 1, min(record.n_rows, 2000)).astype(np.int64)
    states = np.concatenate([np.asarray(record.hidden[rows], dtype=np.float64), np.ones((len(rows), 1))], axis=1)
    outside = states - (states @ basis.T) @ basis
    return bool(np.abs(outside).max() <= 1e-6 * np.abs(states).max())


def context_vectors(record: AttentionRecord, attention: FloatArray) -> FloatArray:
    """``(N, H)`` float64 sums of an instance's states weighted by ``attention (M,)``, in blocks."""
    out = np.empty((record.n_instances, record.hidden.shape[1]))
    for instances, rows in record.blocks():
        weighted = np.asarray(record.hidden[rows], dtype=np.float64) * np.asarray(attention[rows])[:, None]
        starts = record.offsets[instances.start : instances.stop] - record.offsets[instances.start]
        out[instances] = np.add.reduceat(weighted, starts, axis=0)
    return out


def probabilities_under(record: AttentionRecord, head: LinearHead | Decode, attention: FloatArray) -> FloatArray:
    """The model's output if the same states were weighed otherwise.

    Args:
        record: The record.
        head: Its decoder: linear, or a function from contexts to probabilities.
        attention: ``(M,)`` the other weights.

    Returns:
        ``(N, C)`` probabilities.

    Raises:
        ValueError: if a function does not return ``(N, C)`` probabilities.
    """
    contexts = context_vectors(record, attention)
    if not isinstance(head, LinearHead):
        found = checked_probabilities(head(contexts), len(contexts))
        if found.shape[1] != record.n_classes:
            raise ValueError(f"decode returned {found.shape[1]} classes, but the record has {record.n_classes}")
        return found
    logits = head.logits(contexts)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def uniform_attention(record: AttentionRecord) -> FloatArray:
    """``(M,)`` the same weight on every position of an instance (with the record's sink mass left out)."""
    mass = np.ones(record.n_instances) if record.sink is None else 1 - np.asarray(record.sink)
    return np.asarray(np.repeat(mass / record.lengths, record.lengths))


def permute_attention(record: AttentionRecord, seed: int) -> FloatArray:
    """``(M,)`` the weights shuffled within each instance: the mechanical baseline's attention."""
    random = np.random.default_rng(seed).random(record.n_rows)
    order = np.lexsort((random, record.row_instance))
    return np.asarray(record.attention)[order]


def head_evidence(record: AttentionRecord, head: LinearHead) -> FloatArray:
    """``(M,)`` |w·h_t|: how far the linear head moves each state towards or away from the predicted class.

    With C classes w is the predicted class's row minus the mean of all rows, so that a constant added to
    every class's logit changes nothing; with two classes it is half the log-odds direction.
    """
    centred = head.weight - head.weight.mean(axis=0)
    direction = centred[record.prediction]
    out = np.empty(record.n_rows)
    for instances, rows in record.blocks():
        lengths = record.lengths[instances]
        per_row = np.repeat(direction[instances], lengths, axis=0)
        out[rows] = np.abs(np.einsum("mh,mh->m", np.asarray(record.hidden[rows], dtype=np.float64), per_row))
    return out


def token_frequency(record: AttentionRecord) -> FloatArray | None:
    """``(M,)`` how often each position's token occurs in the record, None without tokens."""
    if record.token_ids is None:
        return None
    counts = np.bincount(record.token_ids, minlength=len(record.vocabulary))
    return np.asarray(counts[record.token_ids], dtype=np.float64)


def median_split(record: AttentionRecord) -> IntArray:
    """``(N,)`` whether an instance's logit is above the median: an output for models that always say one class.

    With C classes it is the centred log-probability of the class in which instances differ most.

    Args:
        record: The record.

    Returns:
        0 or 1; all 0 where the output is constant.
    """
    logs = np.log(np.maximum(np.asarray(record.output, dtype=np.float64), np.finfo(np.float64).tiny))
    logs -= logs.mean(axis=1, keepdims=True)
    chosen = logs[:, int(logs.var(axis=0).argmax())]
    return np.asarray(chosen > np.median(chosen), dtype=np.int64)
