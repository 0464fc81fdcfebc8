"""Confidence intervals of one estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t

from mi_attention.estimators.levels import level_standard_error
from mi_attention.estimators.samples import count_independent
from mi_attention.interface import MIEstimate

__all__ = ["Interval", "interval"]


@dataclass(frozen=True)
class Interval:
    """Bounds in nats.

    Attributes:
        low: Lower end; may be below 0, where the estimate is.
        high: Upper end, at least 0 since no information is negative; may exceed H(Y), which is itself an estimate.
        level: Nominal coverage.
        standard_error: What the width comes from.
        reason: Why there is none (``low`` and ``high`` are NaN), or empty.
    """

    low: float
    high: float
    level: float
    standard_error: float
    reason: str


def interval(estimate: MIEstimate, level: float = 0.95, *, of: Literal["nats", "lower_bound"] = "nats") -> Interval:
    """Student t interval of an estimate; its degrees of freedom are the independent rows (or groups) less one.

    - ``of="nats"``: around the best value. For an estimator with a bound its error is ``level_standard_error``, which
      counts a share of the bias correction as uncertain and knows nothing of what the reader misses: see the failure
      modes in ``mi_attention.estimators`` for where it covers and where it does not. For others the error of the mean
      of ``local``, which knows nothing of bias: nearest neighbours above about 5 columns do not cover, nor do values
      of ``Copula`` and ``Gaussian`` whose ``reason`` says that the ranks cannot show more. Neighbours in few columns
      share rows and cover .81 to .95 of their mean: ``subsample_interval`` covers.
    - ``of="lower_bound"``: around the held-out value. It covers what this reader can use after training on these many
      rows, not I(x; y).

    Args:
        estimate: Any estimate.
        level: Nominal coverage in (0, 1).
        of: Which value.

    Raises:
        ValueError: a level outside (0, 1), or ``of="lower_bound"`` of an estimate that has none.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1, for example 0.95")
    if of not in ("nats", "lower_bound"):
        raise ValueError(f"of is {of!r}; it must be 'nats' or 'lower_bound'")
    nan = float("nan")
    if estimate.status != "ok":
        return Interval(nan, nan, level, nan, estimate.reason)
    if of == "lower_bound" and estimate.lower_bound is None:
        raise ValueError(f"{estimate.signature} has no lower bound; use of='nats'")
    bounded = estimate.lower_bound is not None
    centre = estimate.nats if of == "nats" or estimate.lower_bound is None else estimate.lower_bound
    error = level_standard_error(estimate) if of == "nats" and bounded else estimate.standard_error
    if np.isnan(error):
        return Interval(nan, nan, level, nan, "the estimator gives no standard error")
    pieces = count_independent(estimate.n, estimate.groups)
    width = float(t.ppf(0.5 + level / 2, pieces - 1)) * error
    return Interval(centre - width, max(centre + width, 0.0), level, error, "")
