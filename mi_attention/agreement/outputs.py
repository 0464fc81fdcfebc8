"""What the output Y is: the predicted class, the gold label, a binned probability, or one class against the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mi_attention.interface import AttentionRecord, FloatArray, IntArray

__all__ = ["Output", "Target", "make_target", "merge_rare_classes"]

Output: TypeAlias = str | int


@dataclass(frozen=True)
class Target:
    """How a model's probabilities become the discrete output whose information is asked for.

    Attributes:
        name: For tables: ``"prediction"``, ``"label"``, ``"class 2 against the rest"``,
            ``"probability of class 1"``.
        of: ``(N, C)`` probabilities → ``(N,)`` integers. Applied to the model's own probabilities and,
            unchanged (same bin edges), to those recomputed under other attention. None for the gold label,
            which no attention changes.
        values: ``(N,)`` the output of the record itself.
    """

    name: str
    of: Callable[[FloatArray], IntArray] | None
    values: IntArray


def make_target(record: AttentionRecord, output: Output = "class", *, bins: int = 4) -> Target:
    """Read what the caller means by the output.

    Args:
        record: The record.
        output: ``"class"`` the predicted class; ``"label"`` the gold label; ``"probability"`` the
            probability of class 1 of two, or ``"probability:K"`` that of class K, binned at quantiles
            (a state that determines a continuous output has unbounded information about it); an integer
            K: class K predicted, against the rest.
        bins: Number of quantile bins for a probability.

    Returns:
        The target.

    Raises:
        ValueError: for an unknown output, a missing label, or a class that does not exist.
    """
    if output == "class":
        return Target("prediction", _argmax, _argmax(record.output))
    if output == "label":
        if record.label is None:
            raise ValueError('output="label" needs gold labels; make the record with label=')
        return Target("label", None, np.asarray(record.label))
    if isinstance(output, int) and not isinstance(output, bool):
        chosen = _check_class(record, output)

        def against_rest(probabilities: FloatArray) -> IntArray:
            return np.asarray(_argmax(probabilities) == chosen, dtype=np.int64)

        return Target(f"class {chosen} against the rest", against_rest, against_rest(record.output))
    if isinstance(output, str) and output.split(":")[0] == "probability":
        return _binned(record, output, bins)
    raise ValueError(
        f'output is {output!r}; use "class", "label", "probability", "probability:K" or the number of a class'
    )


def _argmax(probabilities: FloatArray) -> IntArray:
    return np.asarray(np.argmax(probabilities, axis=1))


def _check_class(record: AttentionRecord, chosen: int) -> int:
    if not 0 <= chosen < record.n_classes:
        raise ValueError(f"output names class {chosen}, but the record has classes 0 to {record.n_classes - 1}")
    return chosen


def _binned(record: AttentionRecord, output: str, bins: int) -> Target:
    if bins < 2:
        raise ValueError(f"bins is {bins}; a binned probability needs at least 2")
    _, _, number = output.partition(":")
    if not number and record.n_classes != 2:
        raise ValueError(f'output="probability" is ambiguous with {record.n_classes} classes; use "probability:K"')
    try:
        chosen = _check_class(record, int(number) if number else 1)
    except ValueError as error:
        raise ValueError(f"output is {output!r}: {error}") from error
    edges = np.unique(np.quantile(record.output[:, chosen], np.linspace(0, 1, bins + 1)[1:-1]))

    def binned(probabilities: FloatArray) -> IntArray:
        return np.asarray(np.searchsorted(edges, probabilities[:, chosen], side="right"))

    return Target(f"probability of class {chosen}", binned, binned(record.output))


def merge_rare_classes(y: IntArray, *, minimum: int = 10) -> tuple[IntArray, int]:
    """Put classes too rare for cross-fitting together, so that one stray prediction does not undo an estimate.

    The merged output is a function of the output, so its information is a lower bound of that of the output,
    and misses at most what the rare instances carry.

    Args:
        y: ``(N,)`` classes.
        minimum: A class of fewer instances is rare.

    Returns:
        ``(N,)`` classes in which the rare ones are one class (joined to the smallest frequent one where they are
        still fewer than ``minimum`` together), and how many instances are in it. Unchanged where fewer than two
        classes would be left, and where none is rare.
    """
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rare = counts < minimum
    merged = int(counts[rare].sum())
    frequent = np.flatnonzero(~rare)
    together = merged >= minimum
    if not rare.any() or (rare.sum() == 1 and together) or len(frequent) + together < 2:
        return y, 0
    home = int(np.flatnonzero(rare)[0]) if together else int(frequent[np.argmin(counts[frequent])])
    target = np.arange(len(classes))
    target[rare] = home
    return np.asarray(classes[target[codes]]), merged
