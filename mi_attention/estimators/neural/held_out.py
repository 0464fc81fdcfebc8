"""What critics say of rows they were not trained on, block by block, summed in float64."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mi_attention.estimators.neural.critics import Parameters, score
from mi_attention.estimators.neural.losses import output_shares, row_log_means
from mi_attention.estimators.neural.objective import RowTerms, local_and_criterion, product_scores, row_terms
from mi_attention.estimators.neural.options import CriticOptions
from mi_attention.estimators.neural.parts import CriticBatch, Inputs, Part

__all__ = ["judge", "judge_both_sides"]

# Numbers of one hidden layer worked on at a time: 16 MiB, small against memory and large against call overhead.
HIDDEN_NUMBERS = 2**22


def judge(
    options: CriticOptions, batch: CriticBatch, parameters: Parameters, active: Tensor, part: Part, most: int
) -> tuple[Tensor, Tensor]:
    """Judge a part of the rows of some critics; arguments as in ``judge_both_sides``.

    Returns:
        ``(A, V)`` float64 local terms in nats, meaningless where the part only fills up, and ``(A,)`` the criterion.
    """
    terms, shares, criterion = judge_both_sides(options, batch, parameters, active, part, most)
    return terms + shares, criterion


@torch.no_grad()
def judge_both_sides(
    options: CriticOptions,
    batch: CriticBatch,
    parameters: Parameters,
    active: Tensor,
    part: Part,
    most: int,
    shares: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Judge a part of the rows of some critics, what rows contribute as x and as y apart.

    Args:
        options: Bound and critic.
        batch: All critics.
        parameters: Of the active critics, leading axis A.
        active: ``(A,)`` critics.
        part: Of all critics.
        most: With a continuous output, rows that are compared with each other: more are dealt to blocks. With classes
            every row is compared with all rows of the part, whatever their number.
        shares: Whether the second result is wanted; else it is 0.

    Returns:
        ``(A, V)`` float64 terms of ``pointwise`` in nats, whose mean is the bound, ``(A, V)`` what ``output_shares``
        adds to them, both meaningless where the part only fills up, and ``(A,)`` the criterion.
    """
    rows, valid = part.rows[active], part.valid[active]
    shares = shares and options.bound != "infonce"
    local = torch.zeros(rows.shape, dtype=torch.float64)
    as_output = torch.zeros_like(local)
    criterion = torch.zeros(len(active), dtype=torch.float64)
    # The deal follows from a critic's own number of rows, never from its neighbours' in the batch.
    counts = valid.sum(dim=1)
    blocks = torch.ones_like(counts) if batch.classes else (counts + most - 1) // most
    for number in sorted(set(blocks.tolist())):
        members = (blocks == number).nonzero()[:, 0]
        terms = [torch.zeros((len(members), rows.shape[1]), dtype=torch.float64) for _ in range(4)]
        # With classes the scores of every row, else the log sums of every column.
        kept_scores = torch.zeros((*terms[0].shape, batch.classes if shares else 0), dtype=torch.float64)
        column_sums = torch.full_like(terms[0], -torch.inf)
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
                    inputs = _inputs(options, batch, active[some], rows[some], valid[some], columns, here, part)
                    scores = score(batch.critic, weights, inputs.x, inputs.y).double()
                    for kept, new in zip(terms, row_terms(options, scores, inputs), strict=True):
                        if new.numel():
                            kept[first : first + chunk, here] = new.double()
                    if shares and batch.classes:
                        kept_scores[first : first + chunk, here] = product_scores(options, scores)
                    elif shares:
                        product = product_scores(options, scores) + inputs.log_counts
                        product = product.masked_fill(~valid[some][:, here, None], -torch.inf)
                        so_far = column_sums[first : first + chunk, columns]
                        column_sums[first : first + chunk, columns] = torch.logaddexp(so_far, product.logsumexp(dim=1))
        found = RowTerms(*terms)
        local[members], criterion[members] = local_and_criterion(options, found, valid[members])
        if shares:
            if batch.classes:
                column_sums = _class_column_sums(batch, kept_scores, active[members], part)
            means = row_log_means(options.bound, column_sums, found.totals, valid[members])
            as_output[members] = output_shares(options.bound, means, valid[members])
    return local, as_output, criterion


def _inputs(
    options: CriticOptions,
    batch: CriticBatch,
    active: Tensor,
    rows: Tensor,
    valid: Tensor,
    columns: Tensor,
    here: Tensor,
    part: Part,
) -> Inputs:
    """The rows ``here``, to be compared with those of ``columns``."""
    if part.counts is not None:
        counts = part.counts[active]
        return batch.class_inputs(active, rows[:, here], counts[:, here] if counts.shape[1] > 1 else counts)
    own, contrastive = torch.searchsorted(columns, here), options.bound == "infonce"
    surplus = None
    if part.surplus is not None:
        # A block holds the rows of every group in proportion.
        share = valid[:, columns].sum(dim=1, keepdim=True) / valid.sum(dim=1, keepdim=True)
        surplus = share * part.surplus[active][:, here]
    return batch.pair_inputs(active, rows[:, here], rows[:, columns], own, valid[:, columns], contrastive, surplus)


def _class_column_sums(batch: CriticBatch, scores: Tensor, active: Tensor, part: Part) -> Tensor:
    """``(A, V)`` log sums of exp T over the rows with which each row's class is a product sample.

    Args:
        batch: All critics.
        scores: ``(A, V, C)`` product scores of every row of the part.
        active: ``(A,)`` critics.
        part: Of all critics.
    """
    rows, valid = part.rows[active], part.valid[active]
    own = batch.y[rows][:, :, None]
    scores = scores.masked_fill(~valid[:, :, None], -torch.inf)
    highest = scores.amax(dim=1, keepdim=True)
    scaled = (scores - highest).exp()
    peak = highest.expand_as(scores).gather(2, own)[:, :, 0]
    if not batch.grouped:
        return scaled.sum(dim=1, keepdim=True).expand_as(scaled).gather(2, own)[:, :, 0].log() + peak
    itself = torch.ones_like(peak) if part.surplus is None else 1 + part.surplus[active]
    sums = _outside_of_group(scaled, batch.group[rows], own) + itself * scaled.gather(2, own)[:, :, 0]
    return sums.log() + peak


def _outside_of_group(values: Tensor, group: Tensor, own: Tensor) -> Tensor:
    """``(A, V)`` sums of each row's class over the rows of other groups; ``values (A, V, C)``, ``own (A, V, 1)``."""
    keys = torch.arange(len(group))[:, None] * (group.max() + 1) + group
    names, inverse = np.unique(keys.flatten().numpy(), return_inverse=True)
    place = torch.from_numpy(inverse)
    by_group = values.new_zeros((len(names), values.shape[2])).index_add(0, place, values.flatten(0, 1))
    inside = by_group[place].view_as(values)
    return (values.sum(dim=1, keepdim=True) - inside).clamp(min=0.0).gather(2, own)[:, :, 0]
