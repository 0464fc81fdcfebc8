"""Records whose truth is known."""

from __future__ import annotations

import numpy as np

from mi_attention.estimators import Probe
from mi_attention.interface import AttentionRecord, LinearHead

# Where what is tested is what is made of information, not how well it is estimated.
QUICK = Probe(members=("linear",))


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def make_record(
    *, n=400, positions=8, hidden_size=6, classes=2, spread=1.0, seed=0, ragged=False, label=True, **changes
):
    """Independent Gaussian states, attention that knows nothing of them, a random linear head."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, positions + 1, size=n) if ragged else np.full(n, positions)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    hidden = rng.standard_normal((offsets[-1], hidden_size))
    logits = spread * rng.standard_normal(offsets[-1])
    attention = np.exp(logits)
    attention /= np.repeat(np.add.reduceat(attention, offsets[:-1]), lengths)
    head = LinearHead(3 * rng.standard_normal((classes, hidden_size)), np.zeros(classes))
    context = np.add.reduceat(hidden * attention[:, None], offsets[:-1], axis=0)
    tokens = [[f"w{rng.integers(3)}" for _ in range(length)] for length in lengths]
    arguments = {
        "hidden": hidden,
        "attention": attention,
        "output": softmax(head.logits(context)),
        "tokens": tokens,
        "label": rng.integers(classes, size=n) if label else None,
        "embedding": hidden[:, :3],
        "head": head,
        "lengths": lengths,
    }
    return AttentionRecord.from_arrays(**{**arguments, **changes})


def evidence_record(*, n=600, positions=7, seed=0):
    """Attention exactly proportional to the log-odds that each state carries, in absolute value.

    x ~ N(0, 1) per position and logit = Σ_t x_t / 2, so p(y | x_t) depends on x_t through one monotone function of
    x_t, and its distance from the prior grows with |x_t|.
    """
    rng = np.random.default_rng(seed)
    states = rng.standard_normal((n, positions))
    attention = np.abs(states) / np.abs(states).sum(axis=1, keepdims=True)
    probability = 1 / (1 + np.exp(-2 * states.sum(axis=1)))
    hidden = np.stack([states, rng.standard_normal(states.shape)], axis=2)
    label = (rng.random(n) < probability).astype(int)
    return AttentionRecord.from_arrays(hidden, attention, probability, label=label)
