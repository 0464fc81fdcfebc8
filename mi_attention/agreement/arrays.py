"""From plain arrays to the tables of a paper, without a record in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from mi_attention.agreement.compare import compare
from mi_attention.agreement.comparison import Comparison
from mi_attention.agreement.notes import Note
from mi_attention.agreement.outputs import Output
from mi_attention.agreement.sparse_outputs import Reduction, reduce_sparse_output
from mi_attention.interface import AttentionRecord

__all__ = ["compare_arrays"]

# Arguments of ``AttentionRecord.from_arrays`` that are passed on as they are.
_COLUMNS = ("tokens", "lengths", "offsets", "segment", "query", "rationale", "embedding", "sink", "empty")


def compare_arrays(
    hidden: ArrayLike | Sequence[ArrayLike],
    attention: ArrayLike | Sequence[ArrayLike],
    output: Any = None,
    mask: ArrayLike | None = None,
    *,
    label: ArrayLike | None = None,
    logits: bool = False,
    head: Any = None,
    about: Output | None = None,
    reduction: Reduction = "top class",
    classes: int = 32,
    meta: Mapping[str, Any] | None = None,
    **options: Any,
) -> Comparison:
    """Compare the order of attention with the order of information, from arrays.

    Three lines from arrays to LaTeX::

        from mi_attention.agreement import compare_arrays
        comparison = compare_arrays(hidden, attention, output, mask)
        comparison.to_latex("table.tex")

    Args:
        hidden: ``(N, T, H)`` padded, a sequence of ``N`` arrays ``(T_i, H)``, or packed ``(M, H)`` with ``offsets`` or
            ``lengths``.
        attention: Weights in the layout of ``hidden``, summing to 1 within an instance.
        output: What the model said: ``(N, C)`` probabilities, or logits with ``logits=True``; ``(N,)`` probabilities of
            class 1 of two, or integers, the predicted classes; a SciPy sparse ``(N, C)`` of probabilities, reduced as
            ``reduce_sparse_output`` says. None asks about the gold labels alone.
        mask: ``(N, T)``, True where a position is real.
        label: ``(N,)`` gold classes.
        logits: ``output`` holds logits.
        head: The linear decoder, as in ``AttentionRecord.from_arrays``.
        about: What the information is about, the ``output`` argument of ``compare``: ``"class"``, ``"label"``,
            ``"probability"``, ``"probability:K"`` or the number of a class.
        reduction: Of a sparse output.
        classes: Classes that a sparse output keeps.
        meta: Facts of the record.
        **options: ``tokens``, ``lengths``, ``offsets``, ``segment``, ``query``, ``rationale``, ``embedding``, ``sink``,
            ``empty`` of ``AttentionRecord.from_arrays``, and all other arguments of ``compare``.

    Returns:
        The tables.

    Raises:
        ValueError: for arrays that do not fit together, naming the argument and the remedy.
    """
    columns = {name: options.pop(name) for name in _COLUMNS if name in options}
    notes: list[Note] = []
    target: Output = "class"
    if output is None:
        if label is None:
            raise ValueError("neither output nor label is given; information is about one of them")
        if about not in (None, "label"):
            raise ValueError(f"about is {about!r}, but no output is given; give output=, or about='label'")
        if head is not None:
            raise ValueError("head needs output, to be checked against; leave head out or give output=")
        output, target = np.asarray(label), "label"
        notes.append(Note("no output of a model is given: everything is about the gold labels"))
    elif sparse.issparse(output):
        if logits:
            raise ValueError("output is sparse and logits=True: absent logits would be 0; apply softmax first")
        if head is not None or "decode" in options:
            raise ValueError(
                "a sparse output is reduced to few classes, which head or decode do not give; leave it out"
            )
        reduced = reduce_sparse_output(output, label, reduction=reduction, classes=classes)
        output, label, target = reduced.output, reduced.label, reduced.about
        what = f"{len(reduced.classes)} classes and all others" if len(reduced.classes) else "the own class"
        notes.append(Note(f"the sparse output was reduced to {what} ({reduction})"))
    record = AttentionRecord.from_arrays(
        hidden, attention, output, mask, label=label, logits=logits, head=head, meta=meta, **columns
    )
    found = compare(record, target if about is None else about, **options)
    return replace(found, notes=(*notes, *found.notes))
