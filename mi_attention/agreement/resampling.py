"""The error of an agreement that is one number a run: from instances resampled, the profile estimated anew in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mi_attention.agreement.rows import Rows
from mi_attention.interface import FloatArray
from mi_attention.statistics import bootstrap_means, joint_bootstrap_interval, shrink_profile

__all__ = ["ERROR_DRAWS", "ERROR_SEED", "RUN_DRAWS", "RunDraws", "add_excess", "interval_of_run", "resample_run"]

# Of the resamples that stand for the error of a profile; the same in all runs, outputs and measures, so that runs on
# the same instances share them draw by draw and differences keep their pairing.
ERROR_SEED = 20_220_101
# Kept for the interval over several runs; that of one run is made of more.
ERROR_DRAWS = 200
RUN_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class RunDraws:
    """An agreement of a whole run and its bootstrap draws.

    Attributes:
        estimate: The agreement, NaN where it is undefined.
        resampled: ``(R,)`` its draws, empty where it is undefined.
        reason: Why it is undefined.
    """

    estimate: float
    resampled: FloatArray
    reason: str = ""

    @property
    def kept(self) -> FloatArray:
        """The draws that are stored with the run."""
        return self.resampled[:ERROR_DRAWS]


def resample_run(
    statistic: Callable[..., FloatArray], estimate: float, *columns: FloatArray, draws: int = RUN_DRAWS
) -> RunDraws:
    """Draw an agreement of means over instances, as it would come out on other instances.

    Every column is shrunk first (``shrink_profile``): resampled as it is, it would carry its error twice, and the
    spread of the draws would come out 5 to 15 % too small.

    Args:
        statistic: See ``bootstrap_means``; of orders alone, which shrinking keeps.
        estimate: The agreement on all instances.
        *columns: Each ``(U, N)``, at least two units.
        draws: Resamples.

    Returns:
        The draws; their spread is that of the estimate, their mean and percentiles are not.
    """
    shrunk = [shrink_profile(column) for column in columns]
    return RunDraws(estimate, bootstrap_means(statistic, *shrunk, rng=ERROR_SEED, n_resamples=draws).resampled)


def interval_of_run(found: RunDraws, n: int, level: float, *, widest: float = 1.0) -> dict[str, Any]:
    """The interval of one run over instances, as entries of its row: t with the standard error of the draws.

    For the expected tau of profiles of 5 units it covers .92 to 1.00 of a nominal .95, where percentiles cover as
    little as .13 (an order that is nearly certain); for 20 units see ``tests/statistics/CALIBRATION.md``.

    Args:
        found: Estimate and draws.
        n: Instances.
        level: Coverage in (0, 1).
        widest: Largest value the agreement can have.

    Returns:
        ``ci_low``, ``ci_high`` and ``interval``, or the ``reason`` why there is none.
    """
    if n < 2 or not found.resampled.size:
        return {"reason": found.reason or "no interval: fewer than two instances"}
    made = joint_bootstrap_interval([found.estimate], found.resampled[None, :], n_instances=n, level=level)
    if made.reason:
        return {"reason": made.reason}
    low, high = max(made.ci_low, -widest), min(made.ci_high, widest)
    how = "t, standard error by bootstrap over instances, MI error included"
    return {"ci_low": low, "ci_high": high, "interval": how}


def add_excess(rows: Rows, estimand: str, main: str, first: RunDraws, second: RunDraws, n: int, units: int) -> None:
    """Add what the mechanical baseline leaves of a tau: the paired difference, in the same resamples of both.

    Args:
        rows: Where to.
        estimand: Of both.
        main: Name of the output asked for.
        first: Its tau.
        second: That of the permuted attention.
        n: Instances.
        units: Units of both profiles.
    """
    values: dict[str, Any] = {"estimate": first.estimate - second.estimate}
    name = f"{main} minus permuted attention"
    if np.isnan(values["estimate"]):
        values["reason"] = "one of the two orders is undefined"
    elif first.resampled.size and second.resampled.size:
        paired = RunDraws(values["estimate"], first.resampled - second.resampled)
        values |= interval_of_run(paired, n, rows.level, widest=2.0)
        rows.add_resamples(estimand, "mutual information", name, "hidden", paired.kept)
    rows.add(estimand, "kendall_tau_b", "mutual information", name, "hidden", n_instances=n, n_units=units, **values)
