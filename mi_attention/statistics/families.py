"""Families of tests declared before looking: Holm for contrasts, false discovery rate for many positions."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy import stats

from mi_attention.interface import FloatArray

__all__ = ["Correction", "adjust_family", "require_power", "seeds_needed"]

Correction: TypeAlias = Literal["holm", "fdr_bh", "fdr_by"]
CORRECTIONS: tuple[Correction, ...] = ("holm", "fdr_bh", "fdr_by")


def seeds_needed(size: int, alpha: float = 0.05) -> int:
    """Seeds with which an exact sign flip (smallest p 2^(1 − S)) can reject in a family of ``size`` under Holm.

    One contrast needs 6, six need 8, seven need 9 at alpha .05.

    Args:
        size: Contrasts in the family, at least 1.
        alpha: Family-wise error rate in (0, 1).

    Returns:
        The smallest S with size · 2^(1 − S) ≤ alpha.

    Raises:
        ValueError: for a ``size`` below 1 or an ``alpha`` outside (0, 1).
    """
    if size < 1:
        raise ValueError(f"size is {size}; a family has at least one contrast")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1")
    return math.ceil(1 + math.log2(size / alpha) - 1e-12)


def require_power(size: int, n_seeds: int, *, family: str, alpha: float = 0.05) -> None:
    """Refuse a family of sign-flip contrasts that could never reject anything under Holm.

    Args:
        size: Contrasts in the family.
        n_seeds: S of the contrast with the fewest seeds.
        family: Its name, for the message.
        alpha: Family-wise error rate.

    Raises:
        ValueError: if ``size`` exceeds alpha · 2^(S − 1), with the number of seeds the family needs.
    """
    needed = seeds_needed(size, alpha)
    if n_seeds < needed:
        most = math.floor(alpha * 2.0 ** (n_seeds - 1) * (1 + 1e-12)) if n_seeds > 0 else 0
        raise ValueError(
            f"family {family!r} of {size} contrasts could never reject at alpha {alpha} with {n_seeds} seeds "
            f"(its smallest p is 2^(1 − {n_seeds})); it needs {needed} seeds, or at most {most} contrasts"
        )


def adjust_family(
    table: pd.DataFrame, family: str, *, method: Correction = "holm", alpha: float = 0.05
) -> pd.DataFrame:
    """Correct the p values of a table for their number; all rows are one family.

    Holm controls the chance of any false rejection, whatever the dependence; ``"fdr_bh"`` (Benjamini and
    Hochberg) the expected share of false ones among the rejected, for independent or positively dependent tests
    such as one position each; ``"fdr_by"`` (Benjamini and Yekutieli) the same under any dependence.

    Args:
        table: Rows of ``RESULT_COLUMNS``. Rows whose p is NaN (undefined) stay NaN and are no member.
        family: Name of the family, put into the rows.
        method: The correction.
        alpha: Error rate, used only to refuse a family that could never reject.

    Returns:
        A copy with ``p_adjusted`` and ``family`` filled.

    Raises:
        ValueError: for an unknown method, no defined p, p outside [0, 1], or a family whose ``smallest_p`` says
            that it could never reject.

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70; Y. Benjamini, Y. Hochberg, Journal of the
    Royal Statistical Society B 57 (1995), 289-300; Y. Benjamini, D. Yekutieli, Annals of Statistics 29 (2001),
    1165-1188.
    """
    if method not in CORRECTIONS:
        raise ValueError(f"method is {method!r}; it must be one of {CORRECTIONS}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1")
    p = table["p"].to_numpy(dtype=np.float64)
    members = ~np.isnan(p)
    if not members.any():
        raise ValueError(f"family {family!r} has no defined p; leave it out")
    if (p[members] < 0).any() or (p[members] > 1).any():
        raise ValueError(f"family {family!r} holds a p outside [0, 1]")
    smallest = table["smallest_p"].to_numpy(dtype=np.float64)[members]
    size = int(members.sum())
    best = np.where(np.isnan(smallest), 0.0, smallest)
    # The best case is every member at its smallest p; what then is not rejected never is.
    if adjusted_p(best, method).min() > alpha * (1 + 1e-9):
        needed = f"; sign flips need {seeds_needed(size, alpha)} seeds" if method == "holm" else ""
        raise ValueError(
            f"family {family!r} of {size} tests could never reject at alpha {alpha} by {method}: its smallest p is "
            f"{best.min():.3g}{needed}; take more seeds or transforms, or fewer tests"
        )
    adjusted = np.full(len(p), np.nan)
    adjusted[members] = adjusted_p(p[members], method)
    return table.assign(p_adjusted=adjusted, family=pd.array([family] * len(table), dtype="string"))


def adjusted_p(p: FloatArray, method: Correction) -> FloatArray:
    """Adjusted p values ``(k,)`` of the members of a family, in their order."""
    if method != "holm":
        return np.asarray(stats.false_discovery_control(p, method="bh" if method == "fdr_bh" else "by"))
    # Not by statsmodels, whose multipletests collects garbage at every call (up to a second each).
    order = np.argsort(p)
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return adjusted
