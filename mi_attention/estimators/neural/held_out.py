"""What critics say of rows they were not trained on, block by block, summed in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from mi_attention.estimators.neural.critics import Parameters, score
from mi_attention.estimators.neural.objective import RowTerms, local_and_criterion, row_terms
from mi_attention.estimators.neural.options import CriticOptions
from mi_attention.estimators.neural.parts import CriticBatch, Part

__all__ = ["judge"]

# Numbers of one hidden layer worked on at a time: 16 MiB, small against memory and large against call overhead.
HIDDEN_NUMBERS = 2**22


@torch.no_grad()
def judge(
    options: CriticOptions, batch: CriticBatch, parameters: Parameters, active: Tensor, part: Part, most: int
) -> tuple[Tensor, Tensor]:
    """Judge a part of the rows of some critics.

    Args:
        options: Bound and critic.
        batch: All critics.
        parameters: Of the active critics, leading axis A.
        active: ``(A,)`` critics.
        part: Of all critics.
        most: With a continuous output, rows that are compared with each other: more are dealt to blocks. With classes
            every row is compared with all rows of the part, whatever their number.

    Returns:
        ``(A, V)`` float64 local terms in nats, meaningless where the part only fills up, and ``(A,)`` the criterion.
    """
    rows, valid = part.rows[active], part.valid[active]
    local = torch.zeros(rows.shape, dtype=torch.float64)
    criterion = torch.zeros(len(active), dtype=torch.float64)
    # The deal follows from a critic's own number of rows, never from its neighbours' in the batch.
    counts = valid.sum(dim=1)
    blocks = torch.ones_like(counts) if batch.classes else (counts + most - 1) // most
    for number in sorted(set(blocks.tolist())):
        members = (blocks == number).nonzero()[:, 0]
        terms = [torch.zeros((len(members), rows.shape[1]), dtype=torch.float64) for _ in range(4)]
        for block in range(number):
            columns = torch.arange(block, rows.shape[1], number)
            wide = len(columns) if not batch.classes else batch.classes
            step = max(1, HIDDEN_NUMBERS // (wide * options.hidden))
            chunk = max(1, HIDDEN_NUMBERS // (min(step, len(columns)) * wide * options.hidden))
            for first in range(0, len(members), chunk):
                some = members[first : first + chunk]
                weights = {name: value[some] for name, value in parameters.items()}
                for start in range(0, len(columns), step):
                    here = columns[start : start + step]
                    found = _terms(options, batch, weights, active[some], rows[some], valid[some], columns, here, part)
                    for kept, new in zip(terms, found, strict=True):
                        if new.numel():
                            kept[first : first + chunk, here] = new.double()
        local[members], criterion[members] = local_and_criterion(options, RowTerms(*terms), valid[members])
    return local, criterion


def _terms(
    options: CriticOptions,
    batch: CriticBatch,
    weights: Parameters,
    active: Tensor,
    rows: Tensor,
    valid: Tensor,
    columns: Tensor,
    here: Tensor,
    part: Part,
) -> RowTerms:
    """Terms of the rows ``here``, compared with those of ``columns``."""
    if part.counts is not None:
        counts = part.counts[active]
        inputs = batch.class_inputs(active, rows[:, here], counts[:, here] if counts.shape[1] > 1 else counts)
    else:
        own, contrastive = torch.searchsorted(columns, here), options.bound == "infonce"
        inputs = batch.pair_inputs(active, rows[:, here], rows[:, columns], own, valid[:, columns], contrastive)
    return row_terms(options, score(batch.critic, weights, inputs.x, inputs.y).double(), inputs)
