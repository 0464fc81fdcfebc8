"""Everything a paper prints of one paired contrast, as rows: differences, intervals, tests, effect sizes."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize, stats

from mi_attention.interface import FloatArray
from mi_attention.statistics.crossed import crossed_interval
from mi_attention.statistics.paired import paired_contrast
from mi_attention.statistics.rounding import has_spread, merge_rounding, paired_differences
from mi_attention.statistics.seeds import smallest_sign_flip_p
from mi_attention.statistics.table import Facts, result_table

__all__ = ["bca_interval", "complete_pairs", "contrast_table", "effect_size_interval", "run_means"]

# At five seeds even the widened interval covers .91.
FEWEST_FOR_BCA = 8
# Beyond it the noncentral t of scipy 1.17 is wrong without a word; its limit is right to 1e-6 there.
LARGEST_NONCENTRAL = 1e4


def contrast_table(
    first: ArrayLike,
    second: ArrayLike,
    *,
    level: float = 0.95,
    rng: np.random.Generator | int = 0,
    **facts: Unpack[Facts],
) -> pd.DataFrame:
    """First minus second, paired by seed; the first row is the confirmatory one, the others stand beside it.

    Rows, in this order, by ``quantity``:

    - ``mean difference``: t interval over seeds and sign-flip p. Both are about new seeds on *these*
      instances: where cells differ in how they meet instances, they call that difference real, as it is here.
    - ``mean difference (new instances too)``, only for ``(S, N)`` values: interval and p by t for seeds crossed
      with instances. A claim beyond the instances measured rests on this row.
    - ``mean difference (BCa)``: BCa interval over seeds, widened for few of them and none below eight,
      with Wilcoxon's p as a check.
    - ``difference in concordance probability``: half of the first, only where ``effect_unit`` is ``"tau"``.
    - ``d_z``: mean / standard deviation of the differences, exact interval for normal ones.
    - ``probability of superiority``: chance that a random run of the first exceeds one of the second, ties half.

    Args:
        first: ``(S,)`` one number a seed, or ``(S, N)`` one a seed and instance; NaN where undefined.
        second: The same seeds (and instances) in the same order.
        level: Coverage of the intervals in (0, 1).
        rng: Generator or seed of the bootstrap.
        **facts: Entries for all rows: ``effect_unit`` of the values, ``n_data``, ``family``, ``reliability``,
            ``ceiling``, ``signature``. Effect sizes keep their own units.

    Returns:
        The rows, in ``RESULT_COLUMNS``.

    Raises:
        ValueError: if shapes differ, a value is infinite, or ``level`` is not in (0, 1).
    """
    left: FloatArray = np.asarray(first, dtype=np.float64)
    right: FloatArray = np.asarray(second, dtype=np.float64)
    if left.shape != right.shape or left.ndim not in (1, 2):
        raise ValueError(f"first {left.shape} and second {right.shape} must both be (S,) or (S, N), paired by seed")
    generator = np.random.default_rng(rng)
    unit = facts.get("effect_unit")
    crossed: list[dict[str, Any]] = []
    known: dict[str, Any] = {}
    if left.ndim == 2:
        values = left.size
        left, right = complete_pairs(left, right)
        differences = paired_differences(left, right)
        crossed = [_crossed_row(differences, level)]
        kept = int((~np.isnan(differences)).sum())
        known = {"n_instances": left.shape[1], "degenerate_share": 1 - kept / max(values, 1)}
        left, right = run_means(left, right)
    found = paired_contrast(left, right, level)
    pairs = ~np.isnan(left - right)
    left, right = left[pairs], right[pairs]
    differences = paired_differences(left, right)
    base = {"n_seeds": found.n_seeds, "reason": found.reason, "effect_unit": unit, **known}
    primary = found.row() | {"effect_unit": unit} | known
    low, high, reason = bca_interval(differences, level=level, rng=generator)
    rows: list[dict[str, Any]] = [
        primary,
        *({**row, "effect_unit": unit, **known} for row in crossed),
        {
            **base,
            "quantity": "mean difference (BCa)",
            "estimate": found.estimate,
            "ci_low": low,
            "ci_high": high,
            "level": level,
            "interval": "BCa widened for few seeds (covers .90 to .95 of .95), seeds on the instances given",
            "test": "Wilcoxon signed rank, two-sided (check)",
            "p": _wilcoxon(differences, generator),
            "smallest_p": smallest_sign_flip_p(found.n_seeds) if found.n_seeds else float("nan"),
            "reason": reason,
        },
    ]
    if unit == "tau":
        halves = {name: primary[name] / 2 for name in ("estimate", "ci_low", "ci_high")}
        half = {**base, **halves, "quantity": "difference in concordance probability", "effect_unit": "probability"}
        rows.append({**half, "level": level, "interval": primary["interval"]})
    d_low, d_high = effect_size_interval(found.effect_size, found.n_seeds, level)
    rows.append(
        {
            **base,
            "quantity": "d_z",
            "estimate": found.effect_size,
            "ci_low": d_low,
            "ci_high": d_high,
            "level": level,
            "interval": "noncentral t, seeds on the instances given",
            "effect_unit": "standard deviations of the differences",
        }
    )
    quantity = "probability of superiority"
    rows.append({**base, "quantity": quantity, "estimate": _superiority(left, right), "effect_unit": "probability"})
    shared = facts.copy()
    shared.pop("effect_unit", None)
    return result_table(rows, shared)


def bca_interval(
    differences: ArrayLike, *, level: float = 0.95, rng: np.random.Generator | int, n_resamples: int = 9999
) -> tuple[float, float, str]:
    """BCa interval of a mean of few values, its level raised as Student's t is wider than the normal.

    The plain BCa interval covers about .89 of a nominal .95 at eight seeds. Taken at the level at which a normal
    quantile times √((n − 1)/n) equals that of t with n − 1 degrees of freedom it covers .95 of normal, .92 of
    heavy-tailed (t with 4 degrees of freedom) and .90 of exponential values at eight seeds; below, it is refused.

    Args:
        differences: ``(S,)`` finite.
        level: Coverage in (0, 1).
        rng: Generator or seed.
        n_resamples: Bootstrap resamples.

    Returns:
        Both ends and why there are none: fewer than eight values, or no spread.

    Source: B. Efron, Journal of the American Statistical Association 82 (1987), 171-185; T. Hesterberg, What
    teachers should know about the bootstrap, The American Statistician 69 (2015), 371-386, section 5.3.
    """
    values = np.asarray(differences, dtype=np.float64)
    nan = float("nan")
    if values.size < FEWEST_FOR_BCA:
        return nan, nan, f"fewer than {FEWEST_FOR_BCA} seeds: BCa covers too little"
    if not has_spread(values):
        return nan, nan, "no spread between seeds: all values are equal"
    quantile = stats.t.ppf(0.5 + level / 2, values.size - 1) * math.sqrt(values.size / (values.size - 1))
    widened = float(1 - 2 * stats.norm.sf(quantile))
    generator = np.random.default_rng(rng)
    found = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=widened,
        n_resamples=n_resamples,
        method="BCa",
        rng=generator,
    ).confidence_interval
    return float(found.low), float(found.high), ""


def complete_pairs(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The instances that are defined on both sides in every seed that has any.

    Args:
        left: ``(S, N)``, NaN where undefined.
        right: The same seeds and instances.

    Returns:
        Both sides, with those columns alone.
    """
    defined = ~np.isnan(left) & ~np.isnan(right)
    seeds = defined.any(axis=1)
    kept = defined[seeds].all(axis=0) if seeds.any() else np.zeros(left.shape[1], dtype=bool)
    return left[:, kept], right[:, kept]


def run_means(*sides: FloatArray) -> tuple[FloatArray, ...]:
    """``(S,)`` means of ``(S, N)`` sides over instances; NaN without any."""
    return tuple(np.asarray(side.mean(axis=1) if side.shape[1] else np.full(len(side), np.nan)) for side in sides)


def effect_size_interval(effect_size: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of d_z for normal differences, from the noncentral t distribution of √n d_z.

    Args:
        effect_size: d_z seen.
        n: Differences.
        level: Coverage in (0, 1).

    Returns:
        Both ends; NaN for an undefined d_z or fewer than two differences.
    """
    if n < 2 or not math.isfinite(effect_size):
        return float("nan"), float("nan")
    seen, freedom = math.sqrt(n) * effect_size, n - 1
    if abs(seen) > LARGEST_NONCENTRAL:
        # The normal part of t is nothing beside so large a shift: what is left is the error of the deviation.
        tails = (0.5 - level / 2, 0.5 + level / 2)
        low, high = sorted(effect_size * math.sqrt(stats.chi2.ppf(tail, freedom) / freedom) for tail in tails)
        return float(low), float(high)
    reach = abs(seen) + 10 + 10 * abs(seen) / math.sqrt(2 * freedom)

    def end(tail: float) -> float:
        return float(optimize.brentq(lambda shift: stats.nct.sf(seen, freedom, shift) - tail, -reach, reach))

    return end(0.5 - level / 2) / math.sqrt(n), end(0.5 + level / 2) / math.sqrt(n)


def _superiority(left: FloatArray, right: FloatArray) -> float:
    if not left.size:
        return float("nan")
    both = np.concatenate([left, right])
    first, second = np.split(merge_rounding(both, scale=float(np.abs(both).max())), 2)
    return float(stats.mannwhitneyu(first, second, method="asymptotic").statistic / left.size**2)


def _crossed_row(differences: FloatArray, level: float) -> dict[str, Any]:
    interval = crossed_interval(differences, level)
    row = interval.row()
    p = float("nan")
    if not interval.reason:
        p = float(2 * stats.t.sf(abs(interval.estimate) / interval.standard_error, interval.degrees_of_freedom))
    return {**row, "quantity": "mean difference (new instances too)", "test": "t, seeds crossed with instances", "p": p}


def _wilcoxon(differences: FloatArray, generator: np.random.Generator) -> float:
    if differences.size == 0 or not differences.any():
        return float("nan") if differences.size == 0 else 1.0
    size = np.abs(differences)
    if differences.size <= 50 and np.unique(size).size == size.size and (size > 0).all():
        return float(stats.wilcoxon(differences, method="exact").pvalue)
    if (size > 0).sum() < 2:
        # One difference that is not 0 has either sign with the same chance.
        return 1.0
    method = stats.PermutationMethod(n_resamples=9999, rng=generator)
    return float(stats.wilcoxon(differences[size > 0], method=method).pvalue)
