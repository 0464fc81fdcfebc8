"""Claims of "no difference": the difference lies inside a margin fixed before looking."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from mi_attention.statistics.crossed import crossed_interval
from mi_attention.statistics.seeds import seed_interval
from mi_attention.statistics.table import Facts, result_table

__all__ = ["equivalence"]


def equivalence(
    differences: ArrayLike, margin: float, *, alpha: float = 0.05, profile_variance: float = 0.0, **facts: Unpack[Facts]
) -> pd.DataFrame:
    """Two one-sided t tests of |mean difference| < ``margin``, and the 1 − 2 alpha interval that shows them.

    The difference is called equivalent where p ≤ alpha, which is where the whole interval lies strictly inside
    ±margin. A large p is no evidence of a difference.

    Args:
        differences: ``(S, N)``, one difference a seed and instance: the claim covers new seeds and new instances;
            or ``(S,)``, differences of seed means: new seeds on these instances. NaN where undefined.
        margin: Largest difference that does not matter, positive, in the unit of the differences; declared
            beforehand (.05 for a tau, which is a concordance probability of .025).
        alpha: Level of each one-sided test in (0, .5).
        profile_variance: As in ``crossed_interval``, for ``(S, N)``.
        **facts: Further entries.

    Returns:
        One row: the mean difference, its 1 − 2 alpha interval (90 % by default) and the larger one-sided p; no
        p, and the reason, where there is no interval.

    Raises:
        ValueError: for a margin that is not positive and finite, an ``alpha`` outside (0, .5), and what the
            intervals refuse.

    Source: D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach, Journal of
    Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680.
    """
    if not (np.isfinite(margin) and margin > 0):
        raise ValueError(f"margin is {margin}; give a positive number, fixed before looking at the data")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and .5")
    values = np.asarray(differences, dtype=np.float64)
    level = 1 - 2 * alpha
    interval = (
        crossed_interval(values, level, profile_variance=profile_variance)
        if values.ndim == 2
        else seed_interval(values, level)
    )
    p = float("nan")
    if not interval.reason:
        nearer = (margin - abs(interval.estimate)) / interval.standard_error
        p = float(stats.t.sf(nearer, interval.degrees_of_freedom))
    row = interval.row()
    return result_table(
        [{**row, "quantity": "mean difference", "test": f"equivalence within ±{margin:g}: two one-sided t", "p": p}],
        facts,
    )
