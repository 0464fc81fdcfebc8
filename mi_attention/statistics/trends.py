"""Does a quantity rise or fall with temperature: ordered tests, slopes with intervals, non-monotonicity."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from mi_attention.interface import FloatArray
from mi_attention.statistics.attention_order import attention_order
from mi_attention.statistics.crossed import CrossedInterval, crossed_interval
from mi_attention.statistics.paired import sign_flip
from mi_attention.statistics.permutation import permutation_p
from mi_attention.statistics.rounding import merge_rounding
from mi_attention.statistics.seeds import SeedInterval, seed_interval
from mi_attention.statistics.table import Facts, result_table

__all__ = ["curvature", "jonckheere", "page_trend", "theil_sen_slope"]


def page_trend(values: ArrayLike, *, rising: bool, level: float = 0.95, **facts: Unpack[Facts]) -> pd.DataFrame:
    """Page's test that run means rise (or fall) along the columns, with blocks of one seed each.

    The direction is fixed before looking: for "skew falls as temperature rises" give ``rising=False``. The null
    is that within a seed all columns are exchangeable. A small p says that the order holds on these instances,
    not how much changes: see ``theil_sen_slope``.

    Args:
        values: ``(S, K)`` run means, columns in rising order of temperature, K ≥ 3; seeds with a NaN are left out.
        rising: The direction asked for.
        level: Coverage of the t interval over seeds.
        **facts: Further entries.

    Returns:
        One row: the mean over seeds of Kendall's tau-b between values and column order (positive = rising), its t
        interval over seeds, and Page's one-sided p.

    Raises:
        ValueError: for a wrong shape or infinite values.

    Source: E. B. Page, Ordered hypotheses for multiple treatments, Journal of the American Statistical Association
    58 (1963), 216-230.
    """
    table = _sweep(values, 2, 3)
    kept = table[~np.isnan(table).any(axis=1)]
    columns = kept.shape[1]
    p, reason = float("nan"), ""
    taus: FloatArray = np.empty(0)
    if len(kept):
        taus = np.concatenate([attention_order(np.arange(columns)).mean_tau_b(row) for row in kept])
    if len(kept) < 2:
        reason = "fewer than two seeds with a value in every column"
    elif not np.isnan(taus).all():
        order = np.arange(1, columns + 1)
        p = float(stats.page_trend_test(kept, predicted_ranks=order if rising else order[::-1]).pvalue)
    interval = seed_interval(taus, level)
    row = interval.row() | {
        "quantity": "mean tau-b of value and temperature",
        "test": f"Page's trend, {'rising' if rising else 'falling'} (one-sided)",
        "p": p,
        "smallest_p": float("nan"),
        "effect_unit": "tau",
        "degenerate_share": 1 - interval.n_seeds / max(len(table), 1),
        "reason": reason or interval.reason,
    }
    return result_table([row], facts)


def jonckheere(
    temperature: ArrayLike,
    values: ArrayLike,
    *,
    rising: bool,
    rng: np.random.Generator | int,
    n_resamples: int = 9999,
    **facts: Unpack[Facts],
) -> pd.DataFrame:
    """Jonckheere-Terpstra test for runs that are independent between temperatures, by permutation.

    Its statistic is, ties aside, a linear function of Kendall's S between temperature and value, so tau-b and
    permutations of the values give the same order and the same p.

    Args:
        temperature: ``(R,)`` of each run.
        values: ``(R,)`` run means; runs with NaN are left out and counted.
        rising: The direction asked for, fixed before looking.
        rng: Generator or seed.
        n_resamples: Permutations.
        **facts: Further entries.

    Returns:
        One row: tau-b of value and temperature and its one-sided p, no interval.

    Raises:
        ValueError: for shapes that disagree, infinite values or ``n_resamples`` below 1.

    Source: A. R. Jonckheere, A distribution-free k-sample test against ordered alternatives, Biometrika 41 (1954),
    133-145.
    """
    at: FloatArray = np.asarray(temperature, dtype=np.float64)
    seen: FloatArray = np.asarray(values, dtype=np.float64)
    if at.ndim != 1 or at.shape != seen.shape:
        raise ValueError(f"temperature {at.shape} and values {seen.shape} must both be (R,)")
    if not np.isfinite(at).all() or np.isinf(seen).any():
        raise ValueError("temperature must be finite, and values finite or NaN for undefined runs")
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}; it must be at least 1")
    kept = ~np.isnan(seen)
    at, seen = at[kept], _merged(seen[kept])
    estimate = p = float("nan")
    reason = ""
    if np.unique(at).size < 2 or np.unique(seen).size < 2:
        reason = "fewer than two temperatures or values"
    else:
        order, sign = attention_order(at), 1.0 if rising else -1.0
        estimate = float(order.mean_tau_b(seen)[0])
        generator = np.random.default_rng(rng)
        null = np.concatenate(
            [
                order.mean_tau_b(generator.permuted(np.tile(seen, (min(500, n_resamples - start), 1)), axis=1))
                for start in range(0, n_resamples, 500)
            ]
        )
        p = permutation_p(sign * estimate, sign * null, "greater")
    row = {
        "quantity": "tau-b of value and temperature",
        "estimate": estimate,
        "n_seeds": at.size,
        "test": f"Jonckheere-Terpstra by permutation, {'rising' if rising else 'falling'} (one-sided)",
        "p": p,
        "smallest_p": 1 / (1 + n_resamples),
        "effect_unit": "tau",
        "degenerate_share": 1 - float(kept.mean()) if kept.size else float("nan"),
        "reason": reason,
    }
    return result_table([row], facts)


def theil_sen_slope(
    temperature: ArrayLike, values: ArrayLike, *, level: float = 0.95, **facts: Unpack[Facts]
) -> pd.DataFrame:
    """Change per unit of log temperature: the median slope over pairs of temperatures, mean over runs.

    Args:
        temperature: ``(K,)`` positive, at least two different ones.
        values: ``(S, K)`` run means: slope of each seed, t interval over seeds on these instances; or
            ``(S, K, N)`` by instance: slope of each seed and instance, and the interval for seeds crossed with
            instances (the mean of the instances' slopes, not the slope of their mean). NaN leaves a slope out.
        level: Coverage in (0, 1).
        **facts: Further entries; ``effect_unit`` should name the unit of the values.

    Returns:
        One row: the mean slope, its interval, and a p: the sign flip of the seeds' slopes for ``(S, K)``, exact up
        to 24 seeds and sampled above; t for seeds crossed with instances otherwise.

    Raises:
        ValueError: for shapes that disagree, temperatures that are not positive, or infinite values.

    Source: P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, Journal of the American
    Statistical Association 63 (1968), 1379-1389.
    """
    table = _sweep(values, (2, 3), 2)
    at = _log_temperature(temperature, table.shape[1], 2)
    slopes = _theil_sen(table, at)
    return result_table(_slope_rows([("slope on log temperature (Theil-Sen)", slopes)], level), facts)


def curvature(
    temperature: ArrayLike, values: ArrayLike, *, level: float = 0.95, **facts: Unpack[Facts]
) -> pd.DataFrame:
    """Is the course over log temperature curved, and does it turn?

    A quadratic is fitted to each run. A quadratic term says that the course is curved; a course that turns inside
    the range also has slopes of opposite sign at its two ends, and only that is called non-monotone: the larger
    of the two ends' p, 1 where the mean slopes have the same sign.

    Args:
        temperature: ``(K,)`` positive, at least three different ones.
        values: ``(S, K)`` or ``(S, K, N)`` as in ``theil_sen_slope``.
        level: Coverage in (0, 1).
        **facts: Further entries.

    Returns:
        Four rows: the quadratic term, the slopes at the lowest and highest temperature, each with interval and
        two-sided p (sign flip for ``(S, K)``, t for seeds crossed with instances otherwise), and the turning
        point in log temperature (of the mean curve, no interval) with the p of non-monotonicity.

    Raises:
        ValueError: as ``theil_sen_slope``.

    Source: J. T. Lind, H. Mehlum, With or without U? Oxford Bulletin of Economics and Statistics 72 (2010), 109-118.
    """
    table = _sweep(values, (2, 3), 3)
    at = _log_temperature(temperature, table.shape[1], 3)
    centre = at.mean()
    design = np.vander(at - centre, 3)
    # NaN spreads within its own run only, which is then left out.
    fit = np.linalg.pinv(design)
    # A level or a line has a quadratic term and a slope of rounding, which are 0.
    sizes = float(np.nanmax(np.abs(table), initial=0.0)) * np.abs(fit).sum(axis=1)
    terms = [
        merge_rounding(term, scale=float(size))
        for term, size in zip(np.einsum("ck,sk...->cs...", fit, table), sizes, strict=True)
    ]
    low, high = (
        merge_rounding(terms[1] + 2 * terms[0] * (end - centre), scale=float(sizes[1])) for end in (at.min(), at.max())
    )
    named = [
        ("quadratic term of log temperature", terms[0]),
        ("slope at the lowest temperature", low),
        ("slope at the highest temperature", high),
    ]
    rows = _slope_rows(named, level)
    quadratic, *ends = (float(row["estimate"]) for row in rows)
    p = [float(row["p"]) for row in rows[1:]]
    turns = ends[0] * ends[1] < 0
    rows.append(
        {
            "quantity": "turning point in log temperature",
            "estimate": float(at.min() - ends[0] / (2 * quadratic)) if turns else float("nan"),
            "n_seeds": rows[0]["n_seeds"],
            "n_instances": rows[0].get("n_instances", pd.NA),
            "test": "slopes of opposite sign at both ends (Lind and Mehlum), two-sided",
            "p": float("nan") if np.isnan(p).any() else max(p) if turns else 1.0,
            "reason": rows[0]["reason"] or ("" if turns else "no turning point inside the range"),
        }
    )
    made = result_table(rows, facts)
    made.loc[3, "effect_unit"] = "log temperature"
    return made


def _slope_rows(named: list[tuple[str, FloatArray]], level: float) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for quantity, slopes in named:
        interval: CrossedInterval | SeedInterval
        smallest = p = float("nan")
        if slopes.ndim == 2:
            interval = crossed_interval(slopes, level)
            if not interval.reason:
                t = abs(interval.estimate) / interval.standard_error
                p = float(2 * stats.t.sf(t, interval.degrees_of_freedom))
            test = "t, seeds crossed with instances, two-sided"
        else:
            interval = seed_interval(slopes, level)
            flip = sign_flip(slopes[~np.isnan(slopes)])
            p, smallest = flip.p, flip.smallest_p
            test = f"{flip.name} of the seeds' slopes, two-sided"
        row = interval.row()
        rows.append({**row, "quantity": quantity, "test": test, "p": p, "smallest_p": smallest})
    return rows


def _theil_sen(table: FloatArray, at: FloatArray) -> FloatArray:
    """Median slope over pairs of different temperatures, of all runs and instances at once; NaN spreads."""
    p, q = np.triu_indices(at.size, 1)
    p, q = p[at[p] != at[q]], q[at[p] != at[q]]
    steps = (at[q] - at[p]).reshape(-1, *[1] * (table.ndim - 2))
    return np.asarray(np.median((table[:, q] - table[:, p]) / steps, axis=1))


def _sweep(values: ArrayLike, dimensions: int | tuple[int, ...], columns: int) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    allowed = (dimensions,) if isinstance(dimensions, int) else dimensions
    if table.ndim not in allowed or table.shape[1] < columns:
        raise ValueError(f"values has shape {table.shape}; give (S, K) or (S, K, N) with at least {columns} columns")
    if np.isinf(table).any():
        raise ValueError("values holds an infinity; mark undefined runs by NaN")
    return _merged(table)


def _merged(values: FloatArray) -> FloatArray:
    """Values that rounding alone tells apart made equal: a trend of roundings is none."""
    return merge_rounding(values, scale=float(np.nanmax(np.abs(values), initial=0.0)))


def _log_temperature(temperature: ArrayLike, columns: int, least: int) -> FloatArray:
    at = np.asarray(temperature, dtype=np.float64)
    if at.shape != (columns,) or not np.isfinite(at).all() or (at <= 0).any() or np.unique(at).size < least:
        raise ValueError(
            f"temperature is {at.tolist()} but values have {columns} columns; give one positive temperature a column, "
            f"at least {least} different ones"
        )
    return np.asarray(np.log(at))
