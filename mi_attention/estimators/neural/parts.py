"""Units and folds as one batch of critics: which rows train, stop and judge each, and what they look like to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mi_attention.estimators.neural.losses import EXCLUDED
from mi_attention.estimators.neural.options import CriticOptions
from mi_attention.estimators.neural.pairing import own_surplus
from mi_attention.interface import IntArray

__all__ = ["CriticBatch", "Inputs", "Part", "Sample"]

# Entries of standardised rows are cut here: a column that hardly varies in the training rows, or an outlier, must not
# send exp T to infinity. Any function of x and y is a critic, this one too.
FAR = 10.0

# Spread of a column of unit scale in float32 that is rounding: in these training rows it does not vary.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Sample:
    """One unit ready for its critics.

    Attributes:
        x: ``(n, d)`` float32, of about unit scale.
        y: ``(n,)`` int64 classes or ``(n, dy)`` float32 values of about unit scale.
        classes: Number of classes, 0 for a continuous output.
        groups: ``(n,)`` instance of each row, None when rows are independent.
        fold: ``(n,)`` in ``[0, folds)``.
        folds: Number of folds.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float32] | IntArray
    classes: int
    groups: IntArray | None
    fold: IntArray
    folds: int


class Part(NamedTuple):
    """Rows of one role for every critic, padded to a common length.

    Attributes:
        rows: ``(M, V)`` row numbers in the concatenation of all units.
        valid: ``(M, V)``, False where a row only fills up.
        counts: With classes ``(M, V or 1, C)`` float64, how often the rows of each class count among a row's product
            samples, the row itself counted; one row where there are no groups. Else None.
        surplus: ``(M, V)`` float64 of ``own_surplus``; None where every row is a group of its own.
    """

    rows: Tensor
    valid: Tensor
    counts: Tensor | None
    surplus: Tensor | None


class Inputs(NamedTuple):
    """What a critic is asked: rows x, columns y, which column is a row's own, and which pairs are product samples.

    Attributes:
        x: ``(A, B, d)``.
        y: ``(A, K, dy)``, with classes one row a class.
        own: ``(A, B)`` column of each row's own y.
        log_counts: ``(A or 1, B or 1, K)`` as in ``losses``.
        totals: ``(A or 1, B or 1)`` product samples of each row.
    """

    x: Tensor
    y: Tensor
    own: Tensor
    log_counts: Tensor
    totals: Tensor


class CriticBatch:
    """All critics of some units that share their widths: one critic a unit and fold.

    Critic m of fold k judges on fold k, stops by fold k + 1 (cyclically) and trains on the others.
    """

    def __init__(self, options: CriticOptions, samples: Sequence[Sample], only: int | None = None) -> None:
        """Lay out the critics; ``only`` leaves those of one fold."""
        self.samples = samples
        self.critic = options.critic_for(samples[0].classes)
        self.owner = [(unit, fold) for unit, sample in enumerate(samples) for fold in range(sample.folds)]
        self.owner = [(unit, fold) for unit, fold in self.owner if only in (None, fold)]
        self.classes = samples[0].classes
        self.start = np.cumsum([0, *(len(sample.x) for sample in samples)])
        self.x = torch.from_numpy(np.concatenate([sample.x for sample in samples]))
        self.y = torch.from_numpy(np.concatenate([sample.y for sample in samples]))
        # Without groups every row is its own: a row drawn twice is no product sample of itself.
        self.group = torch.from_numpy(
            np.concatenate([np.arange(len(s.x)) if s.groups is None else s.groups for s in samples])
        )
        self.grouped = any(sample.groups is not None for sample in samples)
        role = [(samples[u].fold - k) % samples[u].folds for u, k in self.owner]
        parts = [[np.flatnonzero(r > 1), np.flatnonzero(r == 1), np.flatnonzero(r == 0)] for r in role]
        self.train, self.validation, self.test = (self._part([part[i] for part in parts]) for i in range(3))
        self.n_train = [len(part[0]) for part in parts]
        self.centre_x, self.scale_x = self._standards([part[0] for part in parts], "x")
        if not self.classes:
            self.centre_y, self.scale_y = self._standards([part[0] for part in parts], "y")

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def width_x(self) -> int:
        """Columns of x."""
        return self.x.shape[1]

    @property
    def width_y(self) -> int:
        """Columns of y as a critic sees it: one a class, or those of a continuous output."""
        return self.classes or self.y.shape[1]

    def training_inputs(self, active: Tensor, places: Tensor, contrastive: bool) -> Inputs:
        """A batch of training rows of some critics.

        Args:
            active: ``(A,)`` critics.
            places: ``(A, B)`` places among the training rows of each.
            contrastive: Whether a row's own y counts among its product samples, as in InfoNCE.
        """
        rows = self.train.rows[active[:, None], places]
        if self.train.counts is not None:
            counts = self.train.counts[active[:, None], places] if self.grouped else self.train.counts[active]
            return self.class_inputs(active, rows, counts.float())
        own = torch.arange(rows.shape[1])
        if self.grouped or rows.shape[1] > min(self.n_train):
            surplus = None
            if self.train.surplus is not None:
                # The rest of a group is in a batch in proportion, so that margins are right over batches.
                share = rows.shape[1] / torch.tensor(self.n_train, dtype=torch.float64)[active, None]
                surplus = share * self.train.surplus[active[:, None], places]
            every = torch.ones_like(rows, dtype=torch.bool)
            inputs = self.pair_inputs(active, rows, rows, own, every, contrastive, surplus)
            return inputs if surplus is None else inputs._replace(log_counts=inputs.log_counts.float())
        # All rows differ and are independent: the same pairs for every critic and batch.
        return self._paired(active, rows, rows, own, ~torch.eye(len(own), dtype=torch.bool)[None], contrastive)

    def class_inputs(self, active: Tensor, rows: Tensor, counts: Tensor) -> Inputs:
        """Rows against all classes; ``rows (A, B)``, ``counts (A, B or 1, C)``."""
        one_hot = torch.eye(self.classes, dtype=torch.float32).expand(len(active), -1, -1)
        log_counts = counts.log().clamp(min=EXCLUDED)
        return Inputs(self.states(active, rows), one_hot, self.y[rows], log_counts, counts.sum(dim=-1))

    def pair_inputs(
        self,
        active: Tensor,
        rows: Tensor,
        columns: Tensor,
        own: Tensor,
        valid: Tensor,
        contrastive: bool,
        surplus: Tensor | None = None,
    ) -> Inputs:
        """Rows against the continuous y of other rows of the same critic; pairs of one group are no product samples.

        Args:
            active: ``(A,)`` critics.
            rows: ``(A, B)`` row numbers.
            columns: ``(A, K)`` row numbers.
            own: ``(B,)`` column of each row's own y.
            valid: ``(A, K)`` booleans, False for columns that only fill up.
            contrastive: Whether a row's own y counts among its product samples.
            surplus: ``(A, B)`` what is added to the weight of a row with its own y, or None.
        """
        allowed = (self.group[rows][:, :, None] != self.group[columns][:, None]) & valid[:, None]
        return self._paired(active, rows, columns, own, allowed, contrastive, surplus)

    def _paired(
        self,
        active: Tensor,
        rows: Tensor,
        columns: Tensor,
        own: Tensor,
        allowed: Tensor,
        contrastive: bool,
        surplus: Tensor | None = None,
    ) -> Inputs:
        if contrastive:
            allowed[:, torch.arange(len(own)), own] = True
        if surplus is None:
            log_counts = torch.zeros(allowed.shape, dtype=torch.float32).masked_fill_(~allowed, EXCLUDED)
            totals = allowed.sum(dim=-1)
        else:
            counts = allowed.double()
            counts[:, torch.arange(len(own)), own] += surplus
            log_counts, totals = counts.log().clamp_(min=EXCLUDED), counts.sum(dim=-1)
        y = (self.y[columns] - self.centre_y[active, None]) / self.scale_y[active, None]
        own = own.expand(len(active), -1)
        return Inputs(self.states(active, rows), y.clamp_(-FAR, FAR), own, log_counts, totals)

    def states(self, active: Tensor, rows: Tensor) -> Tensor:
        """``(A, B, d)`` states standardised by the training rows of each critic."""
        x = self.x.index_select(0, rows.flatten()).view(*rows.shape, -1)
        return x.sub_(self.centre_x[active, None]).div_(self.scale_x[active, None]).clamp_(-FAR, FAR)

    def _part(self, parts: Sequence[IntArray]) -> Part:
        longest = max(len(part) for part in parts)
        per_row = longest if self.grouped else 1
        rows = np.zeros((len(parts), longest), dtype=np.int64)
        valid = np.zeros((len(parts), longest), dtype=bool)
        counts = np.ones((len(parts), per_row, self.classes)) if self.classes else None
        surplus = np.zeros((len(parts), longest)) if self.grouped else None
        for m, (part, (unit, _)) in enumerate(zip(parts, self.owner, strict=True)):
            rows[m, : len(part)] = part + self.start[unit]
            # Filling repeats the first row, whose states and class exist.
            rows[m, len(part) :] = rows[m, 0]
            valid[m, : len(part)] = True
            groups = self.samples[unit].groups
            if surplus is not None and groups is not None:
                surplus[m, : len(part)] = own_surplus(groups[part])
            if counts is not None:
                counts[m, : min(len(part), per_row)] = _class_counts(self.samples[unit], part)[:per_row]
        if surplus is not None and not surplus.any():
            surplus = None
        return Part(
            torch.from_numpy(rows),
            torch.from_numpy(valid),
            None if counts is None else torch.from_numpy(counts),
            None if surplus is None else torch.from_numpy(surplus),
        )

    def _standards(self, parts: Sequence[IntArray], side: str) -> tuple[Tensor, Tensor]:
        width = getattr(self, side).shape[1]
        centre, scale = np.zeros((len(parts), width)), np.ones((len(parts), width))
        for m, (part, (unit, _)) in enumerate(zip(parts, self.owner, strict=True)):
            values = getattr(self.samples[unit], side)[part].astype(np.float64)
            spread = values.std(axis=0)
            centre[m], scale[m] = values.mean(axis=0), np.where(spread > ROUNDING, spread, 1.0)
        return torch.from_numpy(centre.astype(np.float32)), torch.from_numpy(scale.astype(np.float32))


def _class_counts(sample: Sample, part: IntArray) -> NDArray[np.float64]:
    """``(len(part), C)``: rows of each class outside of the row's group, and the row itself for all of its group."""
    codes = sample.y[part].astype(np.int64)
    total = np.bincount(codes, minlength=sample.classes).astype(np.float64)
    if sample.groups is None:
        return np.broadcast_to(total, (len(part), sample.classes))
    _, group = np.unique(sample.groups[part], return_inverse=True)
    table = np.bincount(group * sample.classes + codes, minlength=(group.max() + 1) * sample.classes)
    own = table.reshape(-1, sample.classes)[group]
    counts = total - own
    counts[np.arange(len(part)), codes] += 1 + own_surplus(group)
    return np.asarray(counts)
