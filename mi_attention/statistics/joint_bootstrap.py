"""Intervals over seeds for statistics of whole runs whose error comes from instances that all runs share.

One number a run (the tau between its MI profile and its mean attention) hides that all runs were measured on
the same instances: an interval over those numbers alone forgets the error that other instances would have
moved all of them by together. The bootstrap over instances, with the same resampled instances for all runs,
shows it, and the variances are put together as those of a table of seeds crossed with instances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mi_attention.interface import FloatArray
from mi_attention.measures import kendall_tau_b
from mi_attention.statistics.bootstrap import bootstrap_means
from mi_attention.statistics.crossed import CrossedInterval
from mi_attention.statistics.reliability import shrink_profile
from mi_attention.statistics.seeds import t_bounds

__all__ = ["joint_bootstrap_interval", "position_interval"]


def joint_bootstrap_interval(
    estimates: ArrayLike, resampled: ArrayLike, *, n_instances: int, level: float = 0.95
) -> CrossedInterval:
    """The interval over seeds of a statistic of runs measured on common instances, their error included.

    SE² = A + B − D, at least max(A, B): A = variance of the estimates / S holds the spread of runs and the
    part of their error that is their own; B, the variance over resamples of the mean over runs, holds the error
    the runs share and again their own; D, what runs of one resample differ by, is their own and would be counted
    twice. Degrees of freedom by Satterthwaite, N − 1 for B, but the interval is never narrower than with A
    alone and its S − 1. With one run only B exists and ``scope`` says so.

    Args:
        estimates: ``(S,)`` the statistic of each run; NaN leaves a run out.
        resampled: ``(S, R)`` the statistic of each run in R resamples of the instances, resample r with the same
            instances in all runs (``bootstrap_means`` with one seed and one N gives ``resampled`` so); resamples
            with NaN in a kept run are left out.
        n_instances: N.
        level: Coverage in (0, 1).

    Returns:
        The interval for the expected statistic at this N over new runs and new instances; for a tau of a noisy
        profile that is below the tau of the true one (see ``tau_ceiling``).

    Raises:
        ValueError: for shapes that disagree, infinite values, fewer than 2 instances, or ``level`` not in (0, 1).

    Source: A. B. Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1 (2007), 386-411, section 3, for
    the crossed variance; F. E. Satterthwaite, Biometrics Bulletin 2 (1946), 110-114.
    """
    values, draws = np.asarray(estimates, dtype=np.float64), np.asarray(resampled, dtype=np.float64)
    if values.ndim != 1 or draws.ndim != 2 or len(draws) != len(values):
        raise ValueError(f"estimates {values.shape} must be (S,) and resampled {draws.shape} (S, R)")
    if np.isinf(values).any() or np.isinf(draws).any():
        raise ValueError("estimates or resampled holds an infinity; mark undefined values by NaN")
    if n_instances < 2:
        raise ValueError(f"n_instances is {n_instances}; a bootstrap over instances needs at least two")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage between 0 and 1, such as .95")
    kept = ~np.isnan(values)
    values, draws = values[kept], draws[kept]
    complete = draws[:, ~np.isnan(draws).any(axis=0)]
    seeds, nan = len(values), float("nan")
    seed_part = shared_part = own_part = standard_error = freedom = nan
    reason = ""
    if seeds == 0:
        reason = "no seed with a defined value"
    elif complete.shape[1] < max(2, 0.95 * draws.shape[1]):
        reason = "the statistic is undefined in more than 5 % of resamples"
    else:
        shared_part = float(complete.mean(axis=0).var(ddof=1))
        squared, freedom = shared_part, float(n_instances - 1)
        if seeds > 1:
            seed_part = float(values.var(ddof=1) / seeds)
            own = complete - complete.mean(axis=0)
            own_part = float((own - own.mean(axis=1, keepdims=True)).var(axis=1).sum() / (seeds - 1) / seeds)
            squared = max(seed_part + shared_part - own_part, seed_part, shared_part)
            freedom = _freedom(squared, seed_part, shared_part, own_part, seeds, n_instances, level)
        standard_error = float(np.sqrt(squared))
        if standard_error == 0:
            reason, freedom = "no spread: neither seeds nor resamples differ", nan
    estimate = float(values.mean()) if seeds else nan
    low, high = (nan, nan) if reason else t_bounds(estimate, standard_error, freedom, level)
    return CrossedInterval(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        level=level,
        standard_error=standard_error,
        degrees_of_freedom=freedom,
        seed_part=seed_part,
        instance_part=shared_part,
        residual_part=own_part,
        profile_part=0.0,
        scope="instances of one run" if seeds == 1 else "seeds crossed with instances",
        n_seeds=seeds,
        n_instances=n_instances,
        n_seeds_left_out=int((~kept).sum()),
        n_instances_left_out=0,
        mean_all_defined=estimate,
        reason=reason,
    )


def position_interval(
    local: ArrayLike,
    attention: ArrayLike,
    *,
    rng: np.random.Generator | int,
    n_resamples: int = 1000,
    level: float = 0.95,
) -> CrossedInterval:
    """Mean over seeds of tau-b between MI profile and mean attention (E1), error of both included.

    Args:
        local: ``(S, U, N)`` pointwise information, whose mean over instances is the profile of a run; NaN where an
            instance has no such unit.
        attention: ``(S, U, N)`` attention of the same instances.
        rng: Seed of the resamples, or a generator that draws one; all runs share them.
        n_resamples: Resamples, at least 100.
        level: Coverage in (0, 1).

    Returns:
        As ``joint_bootstrap_interval``; runs with a constant profile or mean attention are left out and counted.

    Raises:
        ValueError: for shapes that disagree or infinite values.
    """
    informed, attended = np.asarray(local, dtype=np.float64), np.asarray(attention, dtype=np.float64)
    if informed.ndim != 3 or informed.shape != attended.shape:
        raise ValueError(f"local {informed.shape} and attention {attended.shape} must both be (S, U, N)")
    seed = int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else rng
    found = [
        bootstrap_means(
            _tau, shrink_profile(run), shrink_profile(weights), rng=seed, n_resamples=n_resamples, level=level
        )
        for run, weights in zip(informed, attended, strict=True)
    ]
    return joint_bootstrap_interval(
        [interval.estimate for interval in found],
        np.array([interval.resampled for interval in found]).reshape(len(found), n_resamples),
        n_instances=informed.shape[2],
        level=level,
    )


def _tau(profiles: FloatArray, attention: FloatArray) -> FloatArray:
    return kendall_tau_b(attention, profiles).values


def _freedom(
    squared: float, seed_part: float, shared_part: float, own_part: float, seeds: int, instances: int, level: float
) -> float:
    own_freedom = (seeds - 1) * (instances - 1)
    spread = seed_part**2 / (seeds - 1) + shared_part**2 / (instances - 1) + own_part**2 / own_freedom
    freedom = squared**2 / spread if squared > 0 else 1.0
    # A further, better known error must not narrow the interval that the seeds alone give.
    alone = stats.t.ppf(0.5 + level / 2, seeds - 1) * np.sqrt(seed_part)
    return freedom if stats.t.ppf(0.5 + level / 2, freedom) * np.sqrt(squared) >= alone else float(seeds - 1)
