"""What the analysis of a cell consists of: how often the estimator is fitted, on how many rows of what width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mi_attention.agreement.reliability import COPIED_NUMBERS
from mi_attention.data import Dataset, Sequences
from mi_attention.interface import IntArray
from mi_attention.study.grid import Cell

__all__ = ["Fits", "fits_of", "hidden_size", "input_size", "lengths_of"]

# As in ``align_positions`` and ``align_tokens``.
_MOST_BINS, _MOST_TOKENS, _FEWEST_WITH_TOKEN = 10, 20, 100


@dataclass(frozen=True)
class Fits:
    """So many estimates of one kind.

    Attributes:
        count: How many.
        rows: Of each.
        width: Numbers a row.
        pointwise: Whether they are pooled over positions, by the probe alone.
        instances: Over how many instances; None: a row of each.
    """

    count: int
    rows: float
    width: int
    pointwise: bool = False
    instances: float | None = None

    @property
    def independent(self) -> float:
        """Independent rows of each."""
        return self.rows if self.instances is None else self.instances


def fits_of(cell: Cell, analysed: Dataset) -> list[Fits]:
    """The estimates of a cell, those of control models and refitted nulls included.

    Args:
        cell: The cell.
        analysed: The data its record is made of.

    Returns:
        Every estimate that ``compare`` will make of a model with a linear head, those of its extras included; where an
        output has a single class, or too few of one, there will be fewer.
    """
    analysis, hidden, inputs = cell.analysis, hidden_size(cell), input_size(cell, analysed)
    # The output asked for, the gold label, and the predictions under uniform and under permuted attention.
    versions = 1 if analysis.output == "label" else 4
    found: list[Fits] = []
    for width, outputs in ((hidden, versions), (inputs, 1)):
        for kind, rows in _units(cell, analysed):
            if kind == "instance":
                found += _pointwise(outputs, rows, width, lengths_of(cell, analysed))
            else:
                # The baseline by rank is ranked by its own attention: the same number of units.
                found.append(Fits(outputs, rows, width))
    found += _extras(cell, analysed, versions)
    for _ in analysis.controls:
        for kind, rows in _units(cell, analysed):
            if kind == "instance":
                found += _pointwise(1, rows, hidden, lengths_of(cell, analysed))
            elif kind == "position":
                found.append(Fits(1, rows, hidden))
    if analysis.refitted_nulls:
        found += [Fits(analysis.refitted_nulls + 1, rows, hidden) for kind, rows in _positions(cell, analysed) if kind]
    return found


def _extras(cell: Cell, analysed: Dataset, versions: int) -> list[Fits]:
    """The estimates of the further estimands; those of pairs of states and contexts have twice the width."""
    analysis, hidden = cell.analysis, hidden_size(cell)
    lengths = lengths_of(cell, analysed)
    found = []
    if "preservation" in analysis.extras:
        found.append(Fits(versions, len(lengths), hidden, pointwise=True))
    if "contextualisation" in analysis.extras and analysis.output != "label":
        # The embeddings about the label; those about the output asked for have a profile.
        found += [Fits(1, rows, input_size(cell, analysed)) for _, rows in _positions(cell, analysed)]
    panel = float((lengths >= analysis.ranks).sum())
    if "redundancy" in analysis.extras and panel:
        found += [Fits(analysis.ranks, panel, width, pointwise=True) for width in (2 * hidden, hidden)]
    return found


def hidden_size(cell: Cell) -> int:
    """Numbers a state."""
    return cell.classifier.units * (2 if cell.classifier.encoder == "bilstm" else 1)


def input_size(cell: Cell, analysed: Dataset) -> int:
    """Numbers an input vector."""
    known = 100 if analysed.pretrained is None else analysed.pretrained.shape[1]
    return cell.classifier.embedding_size or known


def lengths_of(cell: Cell, analysed: Dataset) -> IntArray:
    """``(N,)`` positions of the instances analysed."""
    return np.concatenate([np.diff(split.offsets) for split in _splits(cell, analysed)])


def _splits(cell: Cell, analysed: Dataset) -> list[Sequences]:
    return [analysed.splits[name] for name in cell.analysis.splits if name in analysed.splits]


def _pointwise(outputs: int, rows: float, width: int, lengths: IntArray) -> list[Fits]:
    """The pooled estimate of each output, and the three probes of its halves."""
    most = max(60.0, 3 * COPIED_NUMBERS / (width * max(1.0, float(lengths.mean()))))
    share = min(1.0, most / len(lengths)) / 3
    number = float(len(lengths))
    return [
        Fits(outputs, rows, width, pointwise=True, instances=number),
        Fits(3 * outputs, share * rows, width, pointwise=True, instances=share * number),
    ]


def _units(cell: Cell, analysed: Dataset) -> Iterator[tuple[str, float]]:
    """(alignment, rows) of every unit of a version of the output."""
    lengths = lengths_of(cell, analysed)
    for alignment in cell.analysis.alignments:
        if alignment == "instance":
            yield alignment, float(lengths.sum())
        elif alignment == "position":
            yield from _positions(cell, analysed)
        elif alignment == "rank":
            panel = float((lengths >= cell.analysis.ranks).sum())
            for _ in range(cell.analysis.ranks if panel else 0):
                yield alignment, panel
        else:
            for rows in _tokens(_splits(cell, analysed)):
                yield alignment, rows


def _positions(cell: Cell, analysed: Dataset) -> Iterator[tuple[str, float]]:
    lengths = lengths_of(cell, analysed)
    if cell.analysis.bins is None and (lengths == lengths[0]).all():
        for _ in range(int(lengths[0])):
            yield "position", float(len(lengths))
        return
    bins = cell.analysis.bins or int(np.clip(np.quantile(lengths, 0.1, method="lower"), 2, _MOST_BINS))
    for _ in range(bins):
        yield "position", float(lengths[lengths >= bins].sum()) / bins


def _tokens(splits: list[Sequences]) -> Iterator[float]:
    """Rows of the token types that occur in the most instances; one alone has no order and is left out."""
    kept = [split for split in splits if split.token_ids is not None]
    if not kept:
        return
    ids = np.concatenate([np.asarray(split.token_ids) for split in kept])
    owner = np.repeat(np.arange(sum(map(len, kept))), np.concatenate([np.diff(split.offsets) for split in kept]))
    pairs = np.unique(np.stack([ids, owner]), axis=1)[0]
    instances, rows = np.bincount(pairs), np.bincount(ids)
    frequent = np.flatnonzero(instances >= _FEWEST_WITH_TOKEN)
    if len(frequent) > 1:
        for token in frequent[np.argsort(-instances[frequent], kind="stable")][:_MOST_TOKENS]:
            yield float(rows[token])
