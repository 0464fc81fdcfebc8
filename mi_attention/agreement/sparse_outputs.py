"""Wide sparse outputs (thousands of classes, few of them probable) as outputs of few classes.

Mutual information with tens of thousands of classes cannot be estimated from a few thousand instances, and a dense
table of them does not fit in memory. Two reductions keep what can be asked; both read the stored entries only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from mi_attention.interface import FloatArray, IntArray
from mi_attention.interface.validation import SUM_TOLERANCE, first_true

__all__ = ["ReducedOutput", "Reduction", "reduce_sparse_output"]

Reduction: TypeAlias = Literal["top class", "own class"]


@dataclass(frozen=True, eq=False)
class ReducedOutput:
    """A sparse output made dense.

    Attributes:
        output: ``(N, K)`` probabilities, one-hot for ``"top class"``.
        label: ``(N,)`` gold classes by their new numbers, None where there are none.
        classes: ``(K',)`` the old numbers of the classes kept, by their new numbers; one more new class stands for all
            others. Empty for ``"own class"``.
        about: The output to compare with: ``"class"`` or ``"probability"``.
    """

    output: FloatArray
    label: IntArray | None
    classes: IntArray
    about: Literal["class", "probability"]


def reduce_sparse_output(
    output: Any, label: ArrayLike | None = None, *, reduction: Reduction = "top class", classes: int = 32
) -> ReducedOutput:
    """Reduce a sparse table of probabilities.

    ``"top class"``: the class predicted, the ``classes`` most often predicted ones kept and all others put together;
    information about it is a lower bound of that about the class predicted. ``"own class"``: the probability of each
    instance's own class, its gold class where labels are given, else its top class; compared as a binned probability,
    it asks what a state says of how sure the model is, whatever of.

    Memory is O(stored entries + N · classes), whatever the width.

    Args:
        output: ``(N, C)`` SciPy sparse array or matrix of probabilities. Entries that are not stored are 0; a row may
            sum to less than 1 where only its top entries were kept.
        label: ``(N,)`` gold classes in [0, C).
        reduction: Which.
        classes: Classes kept by ``"top class"``, at least 2.

    Returns:
        The output of few classes.

    Raises:
        ValueError: for entries that are no probabilities (logits, whose absent entries would be 0 and not −∞), rows
            without a positive entry, labels out of range, or an unknown reduction.
    """
    given: Any = output
    if not sparse.issparse(given):
        raise ValueError(
            f"output is a {type(output).__name__}; give a SciPy sparse array, or a dense one to compare_arrays"
        )
    # A copy: putting the entries in order must not change what the caller holds.
    table: Any = sparse.csr_array(output, copy=True)
    table.sum_duplicates()
    n, width = table.shape
    if classes < 2:
        raise ValueError(f"classes is {classes}; an output has at least 2")
    values = np.asarray(table.data, dtype=np.float64)
    lengths = np.diff(table.indptr)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            "output holds negative or undefined entries; a sparse output must hold probabilities: apply softmax first "
            "(an absent entry of sparse logits would be 0, not −∞) and keep the largest"
        )
    if (lengths == 0).any():
        raise ValueError(f"row {first_true(lengths == 0)} of output has no entry; leave that instance out")
    total, top = np.add.reduceat(values, table.indptr[:-1]), np.maximum.reduceat(values, table.indptr[:-1])
    if (total > 1 + SUM_TOLERANCE).any():
        row = first_true(total > 1 + SUM_TOLERANCE)
        raise ValueError(f"row {row} of output sums to {total[row]:.4f}, more than 1; these are no probabilities")
    if (top <= 0).any():
        raise ValueError(f"row {first_true(top <= 0)} of output has no positive entry; leave that instance out")
    gold = None if label is None else _labels(label, n, width)
    # The first of equally probable classes: entries of a row are in the order of their columns.
    owner = np.repeat(np.arange(n), lengths)
    best = np.flatnonzero(values == top[owner])
    _, firsts = np.unique(owner[best], return_index=True)
    predicted = np.asarray(table.indices[best[firsts]], dtype=np.int64)
    if reduction == "own class":
        own = predicted if gold is None else gold
        hit = table.indices == own[owner]
        probability = np.minimum(np.bincount(owner[hit], weights=values[hit], minlength=n), 1.0)
        # Which class is an instance's own is not a class of this output.
        return ReducedOutput(
            np.stack([1 - probability, probability], axis=1), None, np.empty(0, np.int64), "probability"
        )
    if reduction != "top class":
        raise ValueError(f"reduction is {reduction!r}; use 'top class' or 'own class'")
    kinds, counts = np.unique(predicted, return_counts=True)
    kept = np.sort(kinds[np.argsort(-counts, kind="stable")][:classes])
    coded = _renumber(predicted, kept)
    dense = np.zeros((n, len(kept) + 1))
    dense[np.arange(n), coded] = 1.0
    return ReducedOutput(dense, None if gold is None else _renumber(gold, kept), kept, "class")


def _labels(label: ArrayLike, n: int, width: int) -> IntArray:
    gold = np.asarray(label)
    if gold.shape != (n,) or not np.issubdtype(gold.dtype, np.integer):
        raise ValueError(f"label must be ({n},) integers, got {gold.dtype} of shape {gold.shape}")
    if ((gold < 0) | (gold >= width)).any():
        row = first_true((gold < 0) | (gold >= width))
        raise ValueError(f"label of instance {row} is {gold[row]}, outside the {width} classes of output")
    return gold.astype(np.int64)


def _renumber(classes: IntArray, kept: IntArray) -> IntArray:
    """New numbers of classes: their place among those kept, the last number for all others."""
    place = np.minimum(np.searchsorted(kept, classes), len(kept) - 1)
    return np.asarray(np.where(kept[place] == classes, place, len(kept)))
