"""From the scores of a critic to what it is trained and judged by."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from mi_attention.estimators.neural.losses import (
    jensen_shannon,
    mine_surrogate,
    pointwise,
    row_log_means,
    row_log_sums,
    row_softplus_sums,
)
from mi_attention.estimators.neural.options import CriticOptions
from mi_attention.estimators.neural.parts import Inputs

__all__ = ["RowTerms", "local_and_criterion", "product_scores", "row_terms", "training_objective"]


class RowTerms(NamedTuple):
    """Rows of some critics, each array ``(A, B)``.

    Attributes:
        joint: T_ii.
        log_sums: Log of the sum of exp T over a row's product samples, T clipped for SMILE.
        totals: Product samples of a row, ``(A, B or 1)``.
        softplus_sums: Sum of softplus T over them for SMILE, else empty.
    """

    joint: Tensor
    log_sums: Tensor
    totals: Tensor
    softplus_sums: Tensor


def row_terms(options: CriticOptions, scores: Tensor, inputs: Inputs) -> RowTerms:
    """What of the scores all bounds are made of.

    Args:
        options: The bound and its clip.
        scores: ``(A, B, K)`` of the critic; the bound's own T but for a constant.
        inputs: What was scored.
    """
    product = product_scores(options, scores)
    smile = options.bound == "smile"
    joint = (scores if smile else product).gather(2, inputs.own[:, :, None])[:, :, 0]
    penalties = row_softplus_sums(scores, inputs.log_counts) if smile else joint[:, :0]
    return RowTerms(joint, row_log_sums(product, inputs.log_counts), inputs.totals, penalties)


def product_scores(options: CriticOptions, scores: Tensor) -> Tensor:
    """The bound's own T on product samples, of the shape of ``scores``."""
    if options.bound == "smile":
        return scores.clamp(-options.clip, options.clip)
    # A critic that starts at 0 is then at the best constant of every bound, whose value is 0.
    return scores + 1 if options.bound == "nwj" else scores


def training_objective(options: CriticOptions, terms: RowTerms, rows: Tensor, log_average: Tensor | None) -> Tensor:
    """``(A,)`` what a step increases.

    Args:
        options: The bound.
        terms: Of a batch.
        rows: ``(A, B)`` log means of its rows.
        log_average: ``(A,)`` for MINE, else None.
    """
    if options.bound == "smile":
        return jensen_shannon(terms.joint, terms.softplus_sums, terms.totals)
    if log_average is not None:
        return mine_surrogate(terms.joint, rows, log_average)
    return pointwise(options.bound, terms.joint, rows).mean(dim=-1)


def local_and_criterion(options: CriticOptions, terms: RowTerms, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Terms ``(A, B)`` whose mean over valid rows is the bound, and what early stopping maximises ``(A,)``.

    The criterion is the bound itself; for SMILE, whose value is biased upwards where its critic is wrong, it is the
    Jensen-Shannon objective. Both are 0 for the constant critic.
    """
    rows = row_log_means(options.bound, terms.log_sums, terms.totals, valid)
    local = pointwise(options.bound, terms.joint, rows, valid)
    if options.bound == "smile":
        return local, jensen_shannon(terms.joint, terms.softplus_sums, terms.totals, valid)
    return local, local.where(valid, local.new_zeros(())).sum(dim=-1) / valid.sum(dim=-1)
