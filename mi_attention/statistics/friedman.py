"""Do several cells differ over blocks, and how well do the blocks agree: Friedman's test and Kendall's W."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from mi_attention.interface import FloatArray
from mi_attention.statistics.permutation import permutation_p
from mi_attention.statistics.rounding import merge_rounding
from mi_attention.statistics.table import Facts, result_table

__all__ = ["friedman"]

_BLOCK_VALUES = 2**21


def friedman(
    values: ArrayLike,
    *,
    rng: np.random.Generator | int,
    n_resamples: int = 9999,
    alpha: float = 0.05,
    **facts: Unpack[Facts],
) -> pd.DataFrame:
    """Kendall's W of the blocks over the cells, with Friedman's test by permutation within blocks.

    W is the share of agreement, 1 where all blocks order the cells the same way and about 1/blocks where they
    do not. As a test: blocks are data sets, values run means averaged over seeds. As a measure of agreement:
    blocks are estimators, cells positions (below W = .7 conclusions must hold for every estimator). The p is by
    permutation, since blocks are few and the χ² approximation then is poor; follow a small one by paired
    contrasts, not by comparing mean ranks, which depend on the other cells in the table.

    Args:
        values: ``(blocks, cells)``, at least 2 × 3. Blocks with a NaN are left out and counted.
        rng: Generator or seed.
        n_resamples: Permutations.
        alpha: Only for ``reason``, which says when so few blocks and cells could not reach it.
        **facts: Further entries; ``n_data`` is the number of blocks unless given.

    Returns:
        One row: W (``effect_unit`` "W"), no interval, p.

    Raises:
        ValueError: for a wrong shape, infinite values or ``n_resamples`` below 1.

    Source: M. Friedman, Journal of the American Statistical Association 32 (1937), 675-701; M. G. Kendall,
    B. B. Smith, Annals of Mathematical Statistics 10 (1939), 275-287.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 3:
        raise ValueError(f"values has shape {table.shape}; give (blocks, cells) with at least three cells")
    if np.isinf(table).any():
        raise ValueError("values holds an infinity; mark undefined cells by NaN")
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}; it must be at least 1")
    kept = table[~np.isnan(table).any(axis=1)]
    # Only the order within a block counts; ranks of what rounding alone tells apart are no order.
    for row in kept:
        row[:] = merge_rounding(row, scale=float(np.abs(row).max()))
    blocks, cells = kept.shape
    w = p = smallest = float("nan")
    reason = ""
    if blocks < 2:
        reason = "fewer than two complete blocks"
    elif (np.ptp(kept, axis=1) == 0).all():
        reason = "no block orders the cells"
    else:
        w = float(stats.friedmanchisquare(*kept.T).statistic) / (blocks * (cells - 1))
        ranks = stats.rankdata(kept, axis=1)
        null = _null(ranks, np.random.default_rng(rng), n_resamples)
        p = permutation_p(_spread(ranks), null, "greater")
        # All blocks agreeing is one of (cells!)^(blocks − 1) patterns.
        exact = float(np.exp(-(blocks - 1) * np.sum(np.log(np.arange(2, cells + 1)))))
        smallest = max(1 / (1 + n_resamples), exact)
        if smallest > alpha:
            reason = f"{blocks} blocks of {cells} cells cannot reach p {alpha:g}"
    row = {
        "quantity": "Kendall's W",
        "estimate": w,
        "n_data": blocks,
        "test": "Friedman, permutation within blocks",
        "p": p,
        "smallest_p": smallest,
        "effect_unit": "W",
        "degenerate_share": 1 - blocks / len(table) if len(table) else float("nan"),
        "reason": reason,
    }
    return result_table([row], facts)


def _spread(ranks: FloatArray) -> float:
    return float(((ranks.sum(axis=-2) - ranks.sum(axis=-2).mean()) ** 2).sum())


def _null(ranks: FloatArray, generator: np.random.Generator, n_resamples: int) -> FloatArray:
    """The spread of rank sums, a monotone function of W, under permutations within blocks."""
    null = np.empty(n_resamples)
    step = max(1, _BLOCK_VALUES // ranks.size)
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        sums = generator.permuted(np.broadcast_to(ranks, (stop - start, *ranks.shape)), axis=2).sum(axis=1)
        null[start:stop] = ((sums - sums.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    # Spreads equal up to rounding count as equal.
    return np.round(null, 9)
