"""Variational bounds of mutual information as pure functions of a matrix of scores, in nats.

A score matrix ``(..., B, B)`` holds T(x_i, y_j): its diagonal are samples of the joint distribution, all other entries
samples of the product of the marginals, unless ``pairs`` says that an entry is none (rows of one group are not
independent). Leading axes are units; every function reduces the last two axes and nothing else.

=========  =======================================  ==============================  =================================
bound      value                                    best critic T, up to            ceiling and spread
=========  =======================================  ==============================  =================================
MINE       mean T_ii − log mean_{i≠j} exp T_ij      log p(x,y)/p(x)p(y), + any      no ceiling; variance of order
                                                    constant                        exp(I)/B; its log is biased up
NWJ        mean T_ii − mean_{i≠j} exp(T_ij − 1)     1 + log p(x,y)/p(x)p(y)         no ceiling; variance of order
                                                                                    exp(I)/B, worst of all
InfoNCE    mean_i T_ii − log mean_j exp T_ij        log p(y|x)/p(y), + any c(x)     log B; small variance
SMILE      MINE with T clipped to ±clip in the      as MINE, found through the      no ceiling; clip trades variance
           second term                              Jensen-Shannon divergence       for bias, so no bound
=========  =======================================  ==============================  =================================

Everything is built from two things per row: the joint score T_ii and the log of the mean of exp T_ij over the row's
product samples (``row_log_means``). ``pointwise`` turns them into terms whose mean is the bound. Where y has few
classes the columns of the matrix repeat: ``log_counts`` then says how often each class occurs, and a ``(B, C)`` matrix
is the whole ``(B, B)`` one, summed exactly.

References:
    Donsker, Varadhan (1983); Nguyen, Wainwright, Jordan (2010), equation 25; Belghazi et al. (2018), Mutual information
    neural estimation, equations 10 and 12; van den Oord, Li, Vinyals (2018), equation 4; Poole et al. (2019), On
    variational bounds of mutual information; Song, Ermon (2020), Understanding the limitations of variational mutual
    information estimators, section 4; McAllester, Stratos (2020) on the variance of exp(I); Hoeffding (1948), A class
    of statistics with asymptotically normal distribution, on averages over pairs.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mi_attention.estimators.neural.options import Bound

__all__ = [
    "EXCLUDED",
    "infonce",
    "jensen_shannon",
    "mine",
    "mine_surrogate",
    "moving_log_average",
    "nwj",
    "output_shares",
    "pointwise",
    "row_log_means",
    "row_log_sums",
    "row_softplus_sums",
    "smile",
]

# Log count of a pair that is no product sample. Finite, because a row of −inf has no gradient.
EXCLUDED = -1e9


def mine(scores: Tensor, pairs: Tensor | None = None) -> Tensor:
    """Donsker-Varadhan value, the bound of MINE: a lower bound in the limit of many rows only.

    Args:
        scores: ``(..., B, B)``.
        pairs: ``(..., B, B)`` or ``(B, B)`` booleans, which entries are product samples; the diagonal never is.

    Returns:
        ``(...)`` nats.

    Raises:
        ValueError: a matrix that is not square, or without product samples.
    """
    return _off_diagonal("mine", scores, scores, pairs)


def nwj(scores: Tensor, pairs: Tensor | None = None) -> Tensor:
    """Nguyen-Wainwright-Jordan value: an unbiased lower bound for a critic that has not seen the rows. See ``mine``."""
    return _off_diagonal("nwj", scores, scores, pairs)


def smile(scores: Tensor, pairs: Tensor | None = None, clip: float = 5.0) -> Tensor:
    """Donsker-Varadhan value whose product samples are clipped to ±clip: no bound. See ``mine``.

    The gradient of this value is not what its critic is trained with: see ``jensen_shannon``.
    """
    return _off_diagonal("smile", scores, scores.clamp(-clip, clip), pairs)


def infonce(scores: Tensor, pairs: Tensor | None = None) -> Tensor:
    """InfoNCE: how well T picks y_i among all y_j of a row; a lower bound, and never above log B.

    With ``pairs`` the choice is among the row's product samples and y_i. See ``mine`` for the arguments.
    """
    allowed = _square(scores, pairs)
    allowed = allowed | _diagonal(allowed)
    rows = row_log_means("infonce", row_log_sums(scores, _log_counts(allowed, scores.dtype)), allowed.sum(dim=-1))
    return pointwise("infonce", scores.diagonal(dim1=-2, dim2=-1), rows).mean(dim=-1)


def row_log_sums(scores: Tensor, log_counts: Tensor) -> Tensor:
    """Log of each row's sum of exp T over its product samples.

    Args:
        scores: ``(..., B, K)``.
        log_counts: Broadcastable to ``scores``: log of how many product samples an entry stands for, ``EXCLUDED`` for
            none.

    Returns:
        ``(..., B)``, about ``EXCLUDED`` for a row without product samples.
    """
    return torch.logsumexp(scores + log_counts, dim=-1)


def row_log_means(bound: Bound, log_sums: Tensor, totals: Tensor, valid: Tensor | None = None) -> Tensor:
    """Log sums of rows as log means: per row for InfoNCE, else so that all product samples weigh the same.

    In the second case the mean over rows of the exponential of the result is the mean of exp T over product samples.

    Args:
        bound: Whose rows they are.
        log_sums: ``(..., B)`` from ``row_log_sums``.
        totals: Broadcastable to ``log_sums``: product samples of each row.
        valid: ``(..., B)`` booleans, False for rows that only fill up the array.
    """
    totals = totals.to(log_sums.dtype)
    if bound == "infonce":
        return log_sums - totals.log()
    if valid is None:
        return log_sums - totals.mean(dim=-1, keepdim=True).log()
    totals = torch.where(valid, totals, 0.0).sum(dim=-1, keepdim=True)
    return log_sums - (totals / valid.sum(dim=-1, keepdim=True)).log()


def pointwise(bound: Bound, joint: Tensor, rows: Tensor, valid: Tensor | None = None) -> Tensor:
    """Terms of the rows whose mean is the bound.

    T_ii − log Z + 1 − exp(r_i) / Z with the row's log mean r_i: the pointwise log ratio and the row's share in the
    error of the partition function Z, which has mean 0 for MINE and SMILE (Z = mean exp r_i) and belongs to the bound
    for NWJ (Z = e). For InfoNCE every row has its own Z and the share is 0. The row's share as y of other rows' product
    samples is in ``output_shares``.

    Args:
        bound: Which.
        joint: ``(..., B)`` T_ii.
        rows: ``(..., B)`` from ``row_log_means``.
        valid: ``(..., B)`` booleans, False for rows that only fill up the array; their terms mean nothing.

    Returns:
        ``(..., B)`` nats.
    """
    if bound == "infonce":
        return joint - rows
    if bound == "nwj":
        return joint - (rows - 1).exp()
    log_partition = _log_mean(rows, valid)
    return joint - log_partition + 1 - (rows - log_partition).exp()


def output_shares(bound: Bound, columns: Tensor, valid: Tensor | None = None) -> Tensor:
    """What to add to ``pointwise`` for a row's part as y in the error of the partition function; its mean is 0.

    The product mean Z over pairs depends on a row both as x_i and as y_j. Its Hájek projection is the sum over rows of
    a_i + b_i − Z, with a_i the mean of exp T over the product samples of x_i and b_i that over those of y_i (Hoeffding
    1948), so that terms with a_i alone are too even: their spread is not that of the bound.

    Args:
        bound: Which; 0 for InfoNCE, where every row has a Z of its own.
        columns: ``(..., B)`` from ``row_log_means`` of the transposed scores.
        valid: ``(..., B)`` booleans, False for rows that only fill up the array.

    Returns:
        ``(..., B)`` nats.
    """
    if bound == "infonce":
        return torch.zeros_like(columns)
    columns = columns if valid is None else columns.masked_fill(~valid, EXCLUDED)
    shift = 1.0 if bound == "nwj" else columns.amax(dim=-1, keepdim=True)
    scaled = (columns - shift).exp()
    count = columns.shape[-1] if valid is None else valid.sum(dim=-1, keepdim=True)
    partition = scaled.sum(dim=-1, keepdim=True) / count
    return partition - scaled if bound == "nwj" else 1 - scaled / partition


def mine_surrogate(joint: Tensor, rows: Tensor, log_average: Tensor) -> Tensor:
    """Something to maximise whose gradient is that of MINE with the batch's bias removed.

    The gradient of log E[exp T] is E[exp T ∇T] / E[exp T]; in a batch the ratio is biased because both share samples.
    Belghazi et al. (2018, equation 12) put a moving average in the denominator, ``log_average``.

    Args:
        joint: ``(..., B)``.
        rows: ``(..., B)`` from ``row_log_means``.
        log_average: ``(...)`` from ``moving_log_average``.

    Returns:
        ``(...)``; not a bound and of no use as a value.
    """
    return joint.mean(dim=-1) - (_log_mean(rows, None)[..., 0] - log_average.detach()).exp()


def moving_log_average(log_average: Tensor | None, rows: Tensor, rate: float) -> Tensor:
    """Log of the moving average of E[exp T] over batches; None starts it.

    Args:
        log_average: ``(...)`` so far.
        rows: ``(..., B)`` of this batch.
        rate: Weight of this batch in (0, 1]; 1 gives the plain, biased gradient.
    """
    now = _log_mean(rows.detach(), None)[..., 0]
    if log_average is None or rate == 1:
        return now
    return torch.logaddexp(log_average + math.log1p(-rate), now + math.log(rate))


def row_softplus_sums(scores: Tensor, log_counts: Tensor) -> Tensor:
    """``(..., B)`` sums of softplus T over the product samples of each row; arguments as in ``row_log_sums``."""
    return (log_counts.exp() * softplus(scores)).sum(dim=-1)


def jensen_shannon(joint: Tensor, softplus_sums: Tensor, totals: Tensor, valid: Tensor | None = None) -> Tensor:
    """2 log 2 + E_joint[−softplus(−T)] − E_product[softplus T]: what trains SMILE's critic, 0 at T = 0.

    At most twice the Jensen-Shannon divergence of joint and product, reached by the log density ratio.

    Args:
        joint: ``(..., B)`` T_ii.
        softplus_sums: ``(..., B)`` from ``row_softplus_sums``.
        totals: Broadcastable to ``joint``: product samples of each row.
        valid: ``(..., B)`` booleans, False for rows that only fill up the array.

    Returns:
        ``(...)`` nats.
    """
    weights = torch.ones_like(joint) if valid is None else valid.to(joint.dtype)
    product = (softplus_sums * weights).sum(dim=-1) / (totals * weights).sum(dim=-1)
    return 2 * math.log(2) - (softplus(-joint) * weights).sum(dim=-1) / weights.sum(dim=-1) - product


def _off_diagonal(bound: Bound, scores: Tensor, product: Tensor, pairs: Tensor | None) -> Tensor:
    allowed = _square(scores, pairs)
    if not bool(allowed.flatten(-2).any(dim=-1).all()):
        raise ValueError("a score matrix has no product samples: all its rows are of one group; give it more groups")
    rows = row_log_means(bound, row_log_sums(product, _log_counts(allowed, scores.dtype)), allowed.sum(dim=-1))
    return pointwise(bound, scores.diagonal(dim1=-2, dim2=-1), rows).mean(dim=-1)


def _square(scores: Tensor, pairs: Tensor | None) -> Tensor:
    if scores.ndim < 2 or scores.shape[-1] != scores.shape[-2] or scores.shape[-1] < 2:
        raise ValueError(f"scores must be (..., B, B) with B of at least 2, got shape {tuple(scores.shape)}")
    every = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
    return (every if pairs is None else pairs) & ~_diagonal(every)


def _diagonal(like: Tensor) -> Tensor:
    return torch.eye(like.shape[-1], dtype=torch.bool, device=like.device)


def _log_counts(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill(~allowed, EXCLUDED)


def _log_mean(rows: Tensor, valid: Tensor | None) -> Tensor:
    """Log of the mean of exp over rows, ``(..., 1)``."""
    if valid is None:
        return torch.logsumexp(rows, dim=-1, keepdim=True) - math.log(rows.shape[-1])
    filled = rows.masked_fill(~valid, EXCLUDED)
    return torch.logsumexp(filled, dim=-1, keepdim=True) - valid.sum(dim=-1, keepdim=True).log()
