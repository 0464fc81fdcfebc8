"""Factorial questions: a linear model on instance values, its coefficients over seeds crossed with instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy import stats

from mi_attention.interface import FloatArray
from mi_attention.statistics.crossed import crossed_interval
from mi_attention.statistics.rounding import merge_rounding
from mi_attention.statistics.table import Facts, result_table

__all__ = ["FEWEST_SEEDS", "factorial_model"]

# With fewer, t leans on seed effects being normal, which so few cannot show.
FEWEST_SEEDS = 10


def factorial_model(
    frame: pd.DataFrame,
    *,
    value: str,
    factors: Sequence[str],
    run: str,
    seed: str,
    instance: str,
    level: float = 0.95,
    **facts: Unpack[Facts],
) -> pd.DataFrame:
    """Ordinary least squares of a value on all factors and their interactions, clustered by seed and instance.

    Text factors are categories against the first level in sorted order; with interactions a main effect is the
    effect at the first levels of the other factors. Numeric factors enter as they are (give log temperature).

    Runs of one seed share split and data order, so seeds are the clusters, not runs; and with all interactions a
    coefficient rests on two or four combinations, so that clusters of runs over the whole design would count many
    that say nothing of it. Written as the mean over seeds and instances of its influence values, (X'X)⁻¹ x e summed
    within each seed and instance, a coefficient has the interval of ``crossed_interval``. Where every run has every
    instance these values are those of the model fitted to each seed and instance alone: the coefficient of two
    levels is the crossed row of their contrast.

    Args:
        frame: One measured value a row; rows with NaN in ``value`` are left out and counted.
        value: Column of the values (taus).
        factors: Columns, all interactions between them are in the model.
        run: Column that tells runs apart (a seed *and* cell each).
        seed: Column of the seeds. Seeds without rows in every combination of factors are left out and counted.
        instance: Column that tells instances apart, the same names in all runs.
        level: Coverage of the intervals.
        **facts: Further entries.

    Returns:
        One row a coefficient: estimate, t interval and p for new seeds and new instances; the columns of
        ``RESULT_COLUMNS`` and ``n_runs``. With fewer than 10 seeds ``reason`` says that contrasts of seed means are
        primary, whose sign flips do without normal seed effects. An instance undefined in some runs stays in the
        others: where that depends on the factor, its coefficient is not one on the same instances.

    Raises:
        ValueError: for missing columns, a factor with one level, NaN in a factor, fewer than two complete seeds or
            two instances, or combinations of factors without any row.

    Source: A. C. Cameron, J. B. Gelbach, D. L. Miller, Robust inference with multiway clustering, Journal of
    Business & Economic Statistics 29 (2011), 238-249, with the residual part and the degrees of freedom of
    ``crossed_interval``.
    """
    names = list(factors)
    missing = [name for name in (value, run, seed, instance, *names) if name not in frame.columns]
    if missing or not names:
        raise ValueError(f"columns {missing} are not in frame; factors are {names}, at least one is needed")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage between 0 and 1, such as .95")
    kept = frame[frame[value].notna()]
    if kept[names].isna().to_numpy().any():
        raise ValueError(f"a factor of {names} holds missing values; drop those rows or name them")
    constant = [name for name in names if kept[name].nunique() < 2]
    if constant:
        raise ValueError(f"factors {constant} have a single level; leave them out")
    every = kept[seed].nunique()
    kept = _complete_seeds(kept, names, seed)
    (seed_code, seeds), (instance_code, instances) = (pd.factorize(kept[name]) for name in (seed, instance))
    if min(len(seeds), len(instances)) < 2:
        raise ValueError(
            f"{len(seeds)} of {every} seeds have rows in every combination of {names}, of {len(instances)} instances; "
            "at least two of both are needed: take the same seeds in all cells, or leave out the level that they lack"
        )
    # Own names in the formula, so that no column name is ever read as an expression.
    data = pd.DataFrame({"y": kept[value].to_numpy(dtype=np.float64)})
    terms = []
    for i, name in enumerate(names):
        numeric = pd.api.types.is_numeric_dtype(kept[name]) and not pd.api.types.is_bool_dtype(kept[name])
        data[f"f{i}"] = kept[name].to_numpy(dtype=np.float64) if numeric else kept[name].astype(str).to_numpy()
        terms.append(f"f{i}" if numeric else f"C(f{i})")
    model = smf.ols("y ~ " + " * ".join(terms), data)
    if np.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        raise ValueError(f"not every combination of {names} has rows; leave a factor out or fit the complete part")
    fitted = model.fit()
    weights: FloatArray = np.asarray(model.exog @ fitted.normalized_cov_params)
    influence = weights * np.asarray(fitted.resid)[:, None]
    shape = (len(seeds), len(instances))
    reasons = [
        f"{every - len(seeds)} of {every} seeds lack a combination and are left out" if len(seeds) < every else "",
        f"{len(seeds)} seeds: contrasts of seed means are primary" if len(seeds) < FEWEST_SEEDS else "",
    ]
    rows: list[dict[str, Any]] = []
    for i, term in enumerate(model.exog_names):
        sums = np.zeros(shape)
        np.add.at(sums, (seed_code, instance_code), influence[:, i])
        # Influences that are rounding beside what they were computed from are 0: nothing varies then.
        scale = float(np.abs(data["y"]).max() * np.abs(weights[:, i]).max())
        found = crossed_interval(fitted.params.iloc[i] + sums.size * merge_rounding(sums, scale=scale), level)
        p = float("nan")
        if not found.reason:
            t = abs(found.estimate) / found.standard_error
            p = float(2 * stats.t.sf(t, found.degrees_of_freedom))
        rows.append(
            {
                "quantity": _named(term, names),
                "estimate": float(fitted.params.iloc[i]),
                "ci_low": found.ci_low,
                "ci_high": found.ci_high,
                "level": level,
                "interval": "t, seeds crossed with instances",
                "n_seeds": len(seeds),
                "n_runs": kept[run].nunique(),
                "n_instances": len(instances),
                "test": "coefficient, clustered by seed and instance",
                "p": p,
                "degenerate_share": 1 - len(kept) / len(frame),
                "reason": "; ".join(reason for reason in (found.reason, *reasons) if reason),
            }
        )
    return result_table(rows, facts, extra={"n_runs": "Int64"})


def _complete_seeds(frame: pd.DataFrame, names: list[str], seed: str) -> pd.DataFrame:
    """The rows of seeds that have some in every combination of factors that any seed has."""
    combination = frame.groupby(names, sort=False, observed=True).ngroup()
    count = combination.groupby(frame[seed]).transform("nunique")
    return frame[count == combination.nunique()]


def _named(term: str, names: Sequence[str]) -> str:
    """The coefficient's name with the caller's column names: ``f0`` → name, ``C(f0)[T.x]`` → name[x]."""
    parts = []
    for part in term.split(":") if term != "Intercept" else []:
        for i, name in enumerate(names):
            if part == f"f{i}":
                parts.append(name)
            elif part.startswith(f"C(f{i})[T."):
                parts.append(f"{name}[{part[len(f'C(f{i})[T.') : -1]}]")
    return ":".join(parts) or "intercept"
