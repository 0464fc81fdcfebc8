"""Factorial questions: a linear model on instance values with errors clustered by run and by instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from mi_attention.statistics.seeds import t_bounds
from mi_attention.statistics.table import Facts, result_table

__all__ = ["FEWEST_RUNS", "factorial_model"]

# Below this many runs the clustered standard errors are known to be too small.
FEWEST_RUNS = 10


def factorial_model(
    frame: pd.DataFrame,
    *,
    value: str,
    factors: Sequence[str],
    run: str,
    instance: str,
    level: float = 0.95,
    **facts: Unpack[Facts],
) -> pd.DataFrame:
    """Ordinary least squares of a value on all factors and their interactions, two-way clustered errors.

    Text factors are categories against the first level in sorted order; with interactions a main effect is the
    effect at the first levels of the other factors. Numeric factors enter as they are (give log temperature).

    Args:
        frame: One measured value a row; rows with NaN in ``value`` are left out and counted.
        value: Column of the values (taus).
        factors: Columns, all interactions between them are in the model.
        run: Column that tells runs apart (a seed *and* cell each).
        instance: Column that tells instances apart.
        level: Coverage of the intervals.
        **facts: Further entries.

    Returns:
        One row a coefficient: estimate, t interval and p with the degrees of freedom of the fewer of both kinds
        of clusters, less one; the variance is at least that clustered by runs or by instances alone. With fewer
        than 10 runs ``reason`` says that contrasts of seed means are primary (6 runs reject 8 % of true nulls).

    Raises:
        ValueError: for missing columns, a factor with one level, NaN in a factor, fewer than two runs or
            instances, or combinations of factors without any row.

    Source: A. C. Cameron, J. B. Gelbach, D. L. Miller, Robust inference with multiway clustering, Journal of
    Business & Economic Statistics 29 (2011), 238-249.
    """
    names = list(factors)
    missing = [name for name in (value, run, instance, *names) if name not in frame.columns]
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
    clusters = np.column_stack([pd.factorize(kept[name])[0] for name in (run, instance)])
    runs, instances = (int(column.max()) + 1 for column in clusters.T)
    if min(runs, instances) < 2:
        raise ValueError(f"{runs} runs and {instances} instances; at least two of both are needed")
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
    two_way, by_run, by_instance = cov_cluster_2groups(fitted, clusters)
    # The two-way variance is a difference and can fall below either, or below 0.
    variances = np.max([np.diag(matrix) for matrix in (two_way, by_run, by_instance)], axis=0)
    estimates, freedom = np.asarray(fitted.params), float(min(runs, instances) - 1)
    caveat = f"{runs} runs: clustered errors are too small, contrasts of seed means are primary"
    rows: list[dict[str, Any]] = []
    for i, term in enumerate(model.exog_names):
        error = float(np.sqrt(variances[i]))
        low, high = t_bounds(float(estimates[i]), error, freedom, level)
        rows.append(
            {
                "quantity": _named(term, names),
                "estimate": float(estimates[i]),
                "ci_low": low,
                "ci_high": high,
                "level": level,
                "interval": "t, clustered by run and instance",
                "n_seeds": runs,
                "n_instances": instances,
                "test": "coefficient, clustered by run and instance",
                "p": float(2 * stats.t.sf(abs(estimates[i]) / error, freedom)) if error > 0 else float("nan"),
                "degenerate_share": 1 - len(kept) / len(frame),
                "reason": caveat if runs < FEWEST_RUNS else "",
            }
        )
    return result_table(rows, facts)


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
