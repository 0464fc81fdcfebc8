"""The interval over seeds, and what so few seeds can show at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mi_attention.statistics.rounding import has_spread
from mi_attention.statistics.table import Tabular

__all__ = ["SeedInterval", "seed_interval", "smallest_sign_flip_p", "t_bounds"]


@dataclass(frozen=True)
class SeedInterval(Tabular):
    """A t interval around the mean of one number a seed.

    Attributes:
        estimate: Mean over the defined seeds, NaN if there are none.
        ci_low: Lower end, NaN where ``reason`` is not empty.
        ci_high: Upper end, NaN where ``reason`` is not empty.
        level: Nominal coverage.
        standard_error: Standard error of the mean, NaN for fewer than two seeds.
        degrees_of_freedom: Seeds − 1.
        n_seeds: Seeds with a defined value.
        n_left_out: Seeds whose value is undefined.
        smallest_p: The smallest two-sided sign-flip p that so many seeds can reach.
        reason: Empty, or why there is no interval.
    """

    estimate: float
    ci_low: float
    ci_high: float
    level: float
    standard_error: float
    degrees_of_freedom: float
    n_seeds: int
    n_left_out: int
    smallest_p: float
    reason: str

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``: the mean over seeds."""
        return {
            "quantity": "mean over seeds",
            "estimate": self.estimate,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "level": self.level,
            "interval": "t, seeds on the instances given",
            "n_seeds": self.n_seeds,
            "smallest_p": self.smallest_p,
            "degenerate_share": self.n_left_out / max(self.n_seeds + self.n_left_out, 1),
            "reason": self.reason,
        }


def seed_interval(values: ArrayLike, level: float = 0.95) -> SeedInterval:
    """Student's t interval over seeds, for one number a run.

    It covers what varies between the runs given: data, split and everything else they share is held
    fixed. Assumes that run values are roughly normal; with fewer than five it is wide, as it should be.

    Args:
        values: ``(S,)``, one number a seed; NaN marks an undefined run, which is left out and counted.
        level: Coverage in (0, 1).

    Returns:
        The interval; without one, and with the reason, for fewer than two seeds and for seeds that all
        agree up to rounding (no spread to judge by).

    Raises:
        ValueError: if ``values`` is not a vector, holds an infinity, or ``level`` is not in (0, 1).
    """
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ValueError(f"values must be (S,), got shape {column.shape}; use crossed_interval for (S, N)")
    if np.isinf(column).any():
        raise ValueError(f"values[{int(np.flatnonzero(np.isinf(column))[0])}] is infinite; mark undefined runs by NaN")
    kept = column[~np.isnan(column)]
    n, nan = kept.size, float("nan")
    estimate = float(kept.mean()) if n else nan
    standard_error = float(kept.std(ddof=1) / np.sqrt(n)) if n > 1 else nan
    reason = ""
    if n == 0:
        reason = "no seed with a defined value"
    elif n == 1:
        reason = "one seed: no spread between seeds"
    elif not has_spread(kept):
        reason, standard_error = "no spread between seeds: all values are equal", 0.0
    low, high = (nan, nan) if reason else t_bounds(estimate, standard_error, n - 1, level)
    return SeedInterval(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        level=_checked_level(level),
        standard_error=standard_error,
        degrees_of_freedom=float(max(n - 1, 0)),
        n_seeds=n,
        n_left_out=column.size - n,
        smallest_p=smallest_sign_flip_p(n) if n else nan,
        reason=reason,
    )


def smallest_sign_flip_p(n_seeds: int) -> float:
    """The smallest two-sided exact sign-flip (and Wilcoxon) p of ``n_seeds`` differences, 2^(1 − S).

    Five seeds reach .0625, six .031, eight .0078: with five no such test can reach .05.

    Args:
        n_seeds: S, at least 1.

    Returns:
        The p in (0, 1].

    Raises:
        ValueError: if ``n_seeds`` is below 1.
    """
    if n_seeds < 1:
        raise ValueError(f"n_seeds is {n_seeds}; it must be at least 1")
    return float(2.0 ** (1 - n_seeds))


def t_bounds(estimate: float, standard_error: float, degrees_of_freedom: float, level: float) -> tuple[float, float]:
    """Ends of estimate ± t · standard error.

    Args:
        estimate: The centre.
        standard_error: Its standard error.
        degrees_of_freedom: Of the t distribution, positive, not necessarily whole.
        level: Coverage in (0, 1).

    Returns:
        Lower and upper end.

    Raises:
        ValueError: if ``level`` is not in (0, 1).
    """
    half = float(stats.t.ppf(0.5 + _checked_level(level) / 2, degrees_of_freedom)) * standard_error
    return estimate - half, estimate + half


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage between 0 and 1, such as .95")
    return float(level)
