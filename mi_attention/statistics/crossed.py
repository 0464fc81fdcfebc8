"""Intervals for seeds crossed with instances: every run measured on the same instances.

Seeds and instances both vary, and a value of the (seed, instance) table shares its run with its row and
its text with its column. An interval over seed means alone forgets that other texts would have been met
(it falls to .34 coverage where instances vary), a flat one over all values is several times too narrow.

Undefined values, one rule for both procedures: seeds without any defined value are left out; then
instances that are not defined in all remaining seeds are left out; both are counted, and the mean over
everything defined stands beside the estimate, to show what leaving out did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mi_attention.interface import FloatArray
from mi_attention.statistics.rounding import has_spread
from mi_attention.statistics.seeds import t_bounds
from mi_attention.statistics.table import Tabular

__all__ = ["CrossedBootstrap", "CrossedInterval", "CrossedScope", "crossed_bootstrap", "crossed_interval"]

CrossedScope = Literal["seeds crossed with instances", "instances of one run"]

# Multinomial weights of instances held at once: 32 MB.
_BLOCK_WEIGHTS = 2**22


@dataclass(frozen=True)
class CrossedInterval(Tabular):
    """A t interval around the grand mean of a (seed, instance) table.

    Attributes:
        estimate: Grand mean over the complete table that was kept.
        ci_low: Lower end, NaN where ``reason`` is not empty.
        ci_high: Upper end, NaN where ``reason`` is not empty.
        level: Nominal coverage.
        standard_error: √(max(A + B − D, A, B) + ``profile_part``).
        degrees_of_freedom: Satterthwaite's.
        seed_part: A, variance of seed means / S (NaN for one run).
        instance_part: B, variance of instance means / N.
        residual_part: D, residual variance / (S N) (NaN for one run).
        profile_part: The ``profile_variance`` given, 0 where none was.
        scope: What the interval generalises to. ``"instances of one run"`` says nothing about other seeds.
        n_seeds: Seeds kept.
        n_instances: Instances kept.
        n_seeds_left_out: Seeds without any defined value.
        n_instances_left_out: Instances undefined in at least one kept seed.
        mean_all_defined: Mean over kept seeds of each seed's mean over all its defined instances.
        reason: Empty, or why there is no interval.
    """

    estimate: float
    ci_low: float
    ci_high: float
    level: float
    standard_error: float
    degrees_of_freedom: float
    seed_part: float
    instance_part: float
    residual_part: float
    profile_part: float
    scope: CrossedScope
    n_seeds: int
    n_instances: int
    n_seeds_left_out: int
    n_instances_left_out: int
    mean_all_defined: float
    reason: str

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``: the grand mean."""
        return {
            "quantity": "mean",
            "estimate": self.estimate,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "level": self.level,
            "interval": f"t, {self.scope}" + (", error of the profile included" if self.profile_part > 0 else ""),
            "n_seeds": self.n_seeds,
            "n_instances": self.n_instances,
            "degenerate_share": _share(self.n_instances_left_out, self.n_instances),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class CrossedBootstrap(Tabular):
    """Percentile interval of the crossed bootstrap; at eight seeds it covers about 88 % where 95 are nominal.

    Attributes:
        estimate: Grand mean over the complete table that was kept.
        ci_low: Lower percentile, NaN where ``reason`` is not empty.
        ci_high: Upper percentile, NaN where ``reason`` is not empty.
        level: Nominal coverage.
        standard_error: Standard deviation over resamples.
        n_resamples: Resamples drawn.
        scope: As in ``CrossedInterval``.
        n_seeds: Seeds kept.
        n_instances: Instances kept.
        n_seeds_left_out: Seeds without any defined value.
        n_instances_left_out: Instances undefined in at least one kept seed.
        reason: Empty, or why there is no interval.
    """

    estimate: float
    ci_low: float
    ci_high: float
    level: float
    standard_error: float
    n_resamples: int
    scope: CrossedScope
    n_seeds: int
    n_instances: int
    n_seeds_left_out: int
    n_instances_left_out: int
    reason: str

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``: the grand mean, labelled with what the interval covers."""
        return {
            "quantity": "mean",
            "estimate": self.estimate,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "level": self.level,
            "interval": f"percentile bootstrap, {self.scope} (too narrow: covers about .88 of .95 at 8 seeds)",
            "n_seeds": self.n_seeds,
            "n_instances": self.n_instances,
            "degenerate_share": _share(self.n_instances_left_out, self.n_instances),
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False)
class _Complete:
    table: FloatArray
    scope: CrossedScope
    n_seeds_left_out: int
    n_instances_left_out: int
    mean_all_defined: float
    reason: str

    @property
    def estimate(self) -> float:
        return float(self.table.mean()) if self.table.size else float("nan")


def crossed_interval(values: ArrayLike, level: float = 0.95, *, profile_variance: float = 0.0) -> CrossedInterval:
    """The primary interval: t around the grand mean, for new seeds and new instances together.

    SE² = A + B − D, at least max(A, B), with A = Var(seed means)/S, B = Var(instance means)/N and
    D = Var(residual)/(S N); degrees of freedom SE⁴ / (A²/(S−1) + B²/(N−1) + D²/((S−1)(N−1))).
    With one seed only B exists, and the interval is over instances of that run; it says so in ``scope``.

    The table alone cannot show an error that all its values share, as when every seed's MI profile is
    estimated on the same instances. With that error as large as .3 to 1 times the profile's spread the interval
    of the table alone covers .65 to .93 instead of .95; with the bootstrap variance of the grand mean as
    ``profile_variance`` it covers what it says (CALIBRATION.md). To make it, with ``orders`` the ``attention_order``
    and ``locals_`` the ``(T, N)`` pointwise values of each run::

        def mean_tau(*profiles):
            return np.mean([order.mean_tau_b(m) for order, m in zip(orders, profiles)], axis=0)

        shrunk = [shrink_profile(local) for local in locals_]
        profile_variance = bootstrap_means(mean_tau, *shrunk, rng=0).standard_error ** 2

    Args:
        values: ``(S, N)``, one measured value (a tau, say) a seed and instance; NaN marks undefined ones,
            see the module's docstring. The same instances, in the same order, for all seeds.
        level: Coverage in (0, 1).
        profile_variance: Variance of the grand mean from the error of what all its values were computed
            from; its degrees of freedom are taken as N − 1, but the interval is never narrower than without it.
            0 where the values hold no such error.

    Returns:
        The interval; without one, and with the reason, where fewer than two complete instances remain
        or all values are equal. With two seeds it covers only .89 to .98 (see the tests): run more.

    Raises:
        ValueError: if ``values`` is not ``(S, N)``, holds an infinity, ``level`` is not in (0, 1), or
            ``profile_variance`` is negative or not finite.

    Source: F. E. Satterthwaite, An approximate distribution of estimates of variance components,
    Biometrics Bulletin 2 (1946), 110-114; A. B. Owen, The pigeonhole bootstrap, Annals of Applied
    Statistics 1 (2007), 386-411, section 3 for the crossed variance.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage between 0 and 1, such as .95")
    if not (np.isfinite(profile_variance) and profile_variance >= 0):
        raise ValueError(f"profile_variance is {profile_variance}; it must be finite and not negative")
    kept = _complete(values)
    seeds, instances = kept.table.shape
    nan = float("nan")
    seed_part = residual_part = instance_part = standard_error = freedom = nan
    reason = kept.reason
    if not reason:
        instance_part = float(kept.table.mean(axis=0).var(ddof=1) / instances)
        if seeds == 1:
            squared, freedom = instance_part, float(instances - 1)
        else:
            seed_means = kept.table.mean(axis=1)
            residual = kept.table - seed_means[:, None] - kept.table.mean(axis=0) + kept.table.mean()
            seed_part = float(seed_means.var(ddof=1) / seeds)
            cells = (seeds - 1) * (instances - 1)
            residual_part = float((residual**2).sum() / cells / (seeds * instances))
            squared = max(seed_part + instance_part - residual_part, seed_part, instance_part)
            spread = seed_part**2 / (seeds - 1) + instance_part**2 / (instances - 1) + residual_part**2 / cells
            freedom = squared**2 / spread if squared > 0 else 1.0
        total = squared + profile_variance
        if total > 0:
            combined = total**2 / (squared**2 / freedom + profile_variance**2 / (instances - 1))
            standard_error = float(np.sqrt(total))
            # A further error must not narrow the interval by the many degrees of freedom it is known with.
            narrower = stats.t.ppf(0.5 + level / 2, combined) * standard_error
            if squared == 0 or narrower >= stats.t.ppf(0.5 + level / 2, freedom) * np.sqrt(squared):
                freedom = combined
        else:
            freedom, reason = nan, "no spread: neither the means of seeds nor those of instances differ"
    low, high = (nan, nan) if reason else t_bounds(kept.estimate, standard_error, freedom, level)
    return CrossedInterval(
        estimate=kept.estimate,
        ci_low=low,
        ci_high=high,
        level=level,
        standard_error=standard_error,
        degrees_of_freedom=freedom,
        seed_part=seed_part,
        instance_part=instance_part,
        residual_part=residual_part,
        profile_part=profile_variance,
        scope=kept.scope,
        n_seeds=seeds,
        n_instances=instances,
        n_seeds_left_out=kept.n_seeds_left_out,
        n_instances_left_out=kept.n_instances_left_out,
        mean_all_defined=kept.mean_all_defined,
        reason=reason,
    )


def crossed_bootstrap(
    values: ArrayLike, level: float = 0.95, *, rng: np.random.Generator | int, n_resamples: int = 10_000
) -> CrossedBootstrap:
    """Percentile interval from resampling seeds and instances independently; stands beside the t interval.

    Args:
        values: ``(S, N)`` as in ``crossed_interval``.
        level: Coverage in (0, 1).
        rng: Generator, or a seed for one. Equal seeds draw equal instances for tables of equal shape, so
            that differences between cells keep their pairing.
        n_resamples: Resamples, at least 100.

    Returns:
        The interval; none, with the reason, where ``crossed_interval`` has none. Too narrow for few
        seeds: the t interval is the primary one.

    Raises:
        ValueError: if ``values`` is not ``(S, N)``, holds an infinity, ``level`` is not in (0, 1), or
            ``n_resamples`` is below 100.

    Source: A. B. Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1 (2007), 386-411.
    """
    if n_resamples < 100:
        raise ValueError(f"n_resamples is {n_resamples}; percentiles need at least 100")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage between 0 and 1, such as .95")
    kept = _complete(values)
    seeds, instances = kept.table.shape
    low = high = standard_error = float("nan")
    if not kept.reason:
        generator = np.random.default_rng(rng)
        seed_weights = generator.multinomial(seeds, np.full(seeds, 1 / seeds), size=n_resamples)
        means = np.empty(n_resamples)
        step = max(1, _BLOCK_WEIGHTS // instances)
        for start in range(0, n_resamples, step):
            block = slice(start, min(start + step, n_resamples))
            weights = generator.multinomial(instances, np.full(instances, 1 / instances), size=block.stop - block.start)
            means[block] = np.einsum("bn,bn->b", seed_weights[block] @ kept.table, weights) / (seeds * instances)
        low, high = (float(end) for end in np.quantile(means, [0.5 - level / 2, 0.5 + level / 2]))
        standard_error = float(means.std(ddof=1))
    return CrossedBootstrap(
        estimate=kept.estimate,
        ci_low=low,
        ci_high=high,
        level=level,
        standard_error=standard_error,
        n_resamples=n_resamples,
        scope=kept.scope,
        n_seeds=seeds,
        n_instances=instances,
        n_seeds_left_out=kept.n_seeds_left_out,
        n_instances_left_out=kept.n_instances_left_out,
        reason=kept.reason,
    )


def _complete(values: ArrayLike) -> _Complete:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"values must be (S, N), got shape {table.shape}; one run is values[None, :]")
    if np.isinf(table).any():
        place = tuple(int(index) for index in np.argwhere(np.isinf(table))[0])
        raise ValueError(f"values is infinite at {place}; mark undefined values by NaN")
    defined = ~np.isnan(table)
    seeds = defined.any(axis=1)
    instances = defined[seeds].all(axis=0) if seeds.any() else np.zeros(table.shape[1], dtype=bool)
    kept = table[seeds][:, instances]
    means = [float(row[~np.isnan(row)].mean()) for row in table[seeds]]
    reason = ""
    if not seeds.any():
        reason = "no defined value"
    elif kept.shape[1] < 2:
        reason = "fewer than two instances defined in all seeds"
    elif not has_spread(kept):
        reason = "no spread: all values are equal"
    return _Complete(
        table=kept,
        scope="instances of one run" if kept.shape[0] == 1 else "seeds crossed with instances",
        n_seeds_left_out=int((~seeds).sum()),
        n_instances_left_out=int((~instances).sum()),
        mean_all_defined=float(np.mean(means)) if means else float("nan"),
        reason=reason,
    )


def _share(left_out: int, kept: int) -> float:
    return left_out / max(left_out + kept, 1)
