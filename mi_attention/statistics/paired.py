"""Paired contrasts over seeds, and families of them.

Confirmatory comparisons of two cells (attention types, encoders, temperatures) are made on per-seed
differences of run means: same seed, split and data order on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray
from mi_attention.statistics.families import adjusted_p, require_power
from mi_attention.statistics.rounding import paired_differences
from mi_attention.statistics.seeds import seed_interval, smallest_sign_flip_p
from mi_attention.statistics.table import Tabular

__all__ = [
    "HOLM_COLUMNS",
    "PairedContrast",
    "SignFlip",
    "holm_family",
    "paired_contrast",
    "sign_flip",
    "sign_flip_p",
]

# 2^23 sums of 8 bytes; more seeds than this are sampled, not enumerated.
MOST_SEEDS_ENUMERATED = 24
# p is then known to within .0014 at .05 (two standard errors).
SIGN_PATTERNS_SAMPLED = 99_999

HOLM_COLUMNS = (
    "family",
    "contrast",
    "estimate",
    "ci_low",
    "ci_high",
    "level",
    "effect_size",
    "n_seeds",
    "n_left_out",
    "test",
    "p",
    "p_adjusted",
    "rejected",
    "alpha",
    "smallest_p",
    "reason",
)


@dataclass(frozen=True)
class PairedContrast(Tabular):
    """First minus second, paired by seed.

    Attributes:
        estimate: Mean difference, in the unit of the values.
        ci_low: Lower end of the t interval, NaN where ``reason`` is not empty.
        ci_high: Upper end, NaN where ``reason`` is not empty.
        level: Nominal coverage.
        standard_error: Standard error of the mean difference.
        effect_size: d_z, mean difference / standard deviation of the differences; NaN without spread.
        p: Two-sided sign-flip p of the mean difference; NaN only without any pair.
        smallest_p: The smallest p so many pairs, or so many sampled sign patterns, can reach.
        n_seeds: Pairs used.
        n_left_out: Seeds where either value is undefined.
        test: How p was made.
        reason: Empty, or why there is no interval.
    """

    estimate: float
    ci_low: float
    ci_high: float
    level: float
    standard_error: float
    effect_size: float
    p: float
    smallest_p: float
    n_seeds: int
    n_left_out: int
    test: str
    reason: str

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``: the mean difference."""
        return {
            "quantity": "mean difference",
            "estimate": self.estimate,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "level": self.level,
            "interval": "t, seeds on the instances given",
            "n_seeds": self.n_seeds,
            "test": self.test,
            "p": self.p,
            "smallest_p": self.smallest_p,
            "degenerate_share": self.n_left_out / max(self.n_seeds + self.n_left_out, 1),
            "reason": self.reason,
        }


def paired_contrast(first: ArrayLike, second: ArrayLike, level: float = 0.95) -> PairedContrast:
    """Compare two cells by their run means, seed by seed.

    Args:
        first: ``(S,)`` one number a seed; NaN marks an undefined run.
        second: ``(S,)`` the same seeds in the same order.
        level: Coverage of the t interval in (0, 1).

    Returns:
        Mean of first − second with its t interval and sign-flip p, exact up to 24 pairs and of 99,999 sampled
        patterns (always the same ones) above; ``test`` says which. Differences equal up to rounding (1e-12 of the
        values) are equal: no interval and no effect size, with the reason.

    Raises:
        ValueError: if shapes differ, a value is infinite, or ``level`` is not in (0, 1).
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise ValueError(f"first {left.shape} and second {right.shape} must both be (S,), paired by seed")
    if np.isinf(left).any() or np.isinf(right).any():
        raise ValueError("first or second holds an infinity; mark undefined runs by NaN")
    differences = paired_differences(left, right)
    interval = seed_interval(differences, level)
    kept = differences[~np.isnan(differences)]
    deviation = interval.standard_error * math.sqrt(interval.n_seeds)
    flip = sign_flip(kept)
    return PairedContrast(
        estimate=interval.estimate,
        ci_low=interval.ci_low,
        ci_high=interval.ci_high,
        level=interval.level,
        standard_error=interval.standard_error,
        effect_size=interval.estimate / deviation if deviation > 0 else float("nan"),
        p=flip.p,
        smallest_p=flip.smallest_p,
        n_seeds=interval.n_seeds,
        n_left_out=interval.n_left_out,
        test=f"{flip.name} of the mean difference, two-sided",
        reason=interval.reason,
    )


@dataclass(frozen=True)
class SignFlip:
    """The sign-flip test as a table tells it.

    Attributes:
        p: Two-sided; NaN only without any difference.
        smallest_p: The smallest p it could have given; NaN where p is.
        name: ``"exact sign flip"`` or ``"sampled sign flip"``.
    """

    p: float
    smallest_p: float
    name: str


def sign_flip(differences: ArrayLike) -> SignFlip:
    """The sign-flip test of as many differences as there are: exact up to 24, sampled above.

    Args:
        differences: ``(S,)`` finite; may be empty.

    Returns:
        The test. The 99,999 patterns sampled are drawn with seed 0, so that the same differences have the same p.

    Raises:
        ValueError: if ``differences`` is not a vector or not finite.
    """
    column = np.asarray(differences, dtype=np.float64)
    name = "exact sign flip" if column.size <= MOST_SEEDS_ENUMERATED else "sampled sign flip"
    if column.size == 0:
        return SignFlip(p=float("nan"), smallest_p=float("nan"), name=name)
    p = sign_flip_p(column, rng=0, n_resamples=SIGN_PATTERNS_SAMPLED)
    smallest = smallest_sign_flip_p(column.size)
    if column.size > MOST_SEEDS_ENUMERATED:
        smallest = max(smallest, 1 / (1 + SIGN_PATTERNS_SAMPLED))
    return SignFlip(p=p, smallest_p=smallest, name=name)


def sign_flip_p(
    differences: ArrayLike, *, rng: np.random.Generator | int | None = None, n_resamples: int = SIGN_PATTERNS_SAMPLED
) -> float:
    """Two-sided sign-flip p of the mean of paired differences.

    The share of all 2^S sign patterns whose mean is at least as far from 0 as the one seen. Exact when the
    differences are symmetric about 0 under the null hypothesis; no other assumption.

    Args:
        differences: ``(S,)`` finite.
        rng: Needed for more than 24 differences, whose patterns are sampled instead of enumerated.
        n_resamples: Patterns sampled then; p = (1 + #)/(1 + n_resamples).

    Returns:
        The p in (0, 1]; 1 where all differences are 0.

    Raises:
        ValueError: if ``differences`` is empty, not a vector or not finite, or too long without ``rng``.
    """
    column = np.asarray(differences, dtype=np.float64)
    if column.ndim != 1 or column.size == 0 or not np.isfinite(column).all():
        raise ValueError(f"differences must be (S,) finite with S ≥ 1, got shape {column.shape}")
    # Patterns that tie with the one seen must count whatever order they were summed in.
    threshold = abs(column.sum()) - 1e-12 * np.abs(column).sum()
    if column.size <= MOST_SEEDS_ENUMERATED:
        # A pattern and its opposite have the same absolute sum, so the first sign stays fixed.
        sums: FloatArray = column[:1].copy()
        for value in column[1:]:
            sums = np.concatenate([sums + value, sums - value])
        return float((np.abs(sums) >= threshold).mean())
    if rng is None:
        raise ValueError(f"{column.size} differences have too many sign patterns to enumerate; give rng to sample them")
    generator, count, left = np.random.default_rng(rng), 0, n_resamples
    while left:
        block = min(left, 10_000)
        signs = generator.integers(0, 2, (block, column.size)) * 2.0 - 1.0
        count += int((np.abs(signs @ column) >= threshold).sum())
        left -= block
    return (1 + count) / (1 + n_resamples)


def holm_family(contrasts: Mapping[str, PairedContrast], *, family: str, alpha: float = 0.05) -> pd.DataFrame:
    """Holm's correction over a family of contrasts declared before looking.

    A family of k contrasts over S seeds can reject nothing when even its smallest p, times k, exceeds
    ``alpha``; such a family is refused instead of being reported as "not significant".

    Args:
        contrasts: Name → contrast, at least one.
        family: Name of the family, for the table.
        alpha: Family-wise error rate in (0, 1).

    Returns:
        One row a contrast in the order given, columns ``HOLM_COLUMNS``: ``p`` raw, ``p_adjusted`` by Holm,
        ``rejected`` at ``alpha``, the others as in ``PairedContrast``.

    Raises:
        ValueError: if the family is empty or could never reject, with the number of seeds it needs.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979), 65-70.
    """
    if not contrasts:
        raise ValueError("contrasts is empty; a family has at least one contrast")
    seeds = min(contrast.n_seeds for contrast in contrasts.values())
    require_power(len(contrasts), seeds, family=family, alpha=alpha)
    adjusted = adjusted_p(np.array([contrast.p for contrast in contrasts.values()]), "holm")
    rows = [
        {
            "family": family,
            "contrast": name,
            "estimate": contrast.estimate,
            "ci_low": contrast.ci_low,
            "ci_high": contrast.ci_high,
            "level": contrast.level,
            "effect_size": contrast.effect_size,
            "n_seeds": contrast.n_seeds,
            "n_left_out": contrast.n_left_out,
            "test": contrast.test,
            "p": contrast.p,
            "p_adjusted": float(p_adjusted),
            "rejected": bool(p_adjusted <= alpha),
            "alpha": alpha,
            "smallest_p": contrast.smallest_p,
            "reason": contrast.reason,
        }
        for (name, contrast), p_adjusted in zip(contrasts.items(), adjusted, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(HOLM_COLUMNS))
