"""What a planned study could find: power and the smallest difference it detects, before it is run.

Differences of two cells, by seed s and instance i, are δ + seed effect + instance effect + residual. A paired
contrast of seed means sees new seeds on the instances given: the instance effect is part of what it compares,
not of its error. The crossed interval generalises to new instances and pays for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize, stats

from mi_attention.interface import FloatArray
from mi_attention.statistics.crossed import crossed_interval
from mi_attention.statistics.families import seeds_needed
from mi_attention.statistics.seeds import smallest_sign_flip_p

__all__ = ["POWER_COLUMNS", "DifferenceSpread", "difference_spread", "power_table", "sign_flip_power"]

POWER_COLUMNS = {
    "test": "string",
    "n_seeds": "Int64",
    "n_instances": "Int64",
    "family_size": "Int64",
    "alpha": "float64",
    "difference": "float64",
    "power": "float64",
    "power_error": "float64",
    "target_power": "float64",
    "detectable_difference": "float64",
    "smallest_p": "float64",
    "seeds_needed": "Int64",
    "reason": "string",
}

# Sign patterns: all of them up to 2^11 (12 seeds), so many drawn ones above.
_PATTERNS = 2**11
# Studies times patterns held at once: 32 MB.
_BLOCK_SUMS = 2**22


@dataclass(frozen=True)
class DifferenceSpread:
    """Standard deviations of the differences of two cells, from a pilot.

    Attributes:
        seeds: Of the seeds' true mean differences.
        instances: Of the instances' true mean differences, common to all seeds.
        residual: Of what is left in one seed and instance.
        n_seeds: Seeds of the pilot; with few, ``seeds`` is a rough guess (at five, within a factor of .6 to 2.9).
        n_instances: Instances of the pilot.
    """

    seeds: float
    instances: float
    residual: float
    n_seeds: int
    n_instances: int


def difference_spread(differences: ArrayLike) -> DifferenceSpread:
    """Variance components of a pilot's differences, for ``power_table``.

    Args:
        differences: ``(S, N)``, S ≥ 2, one difference a seed and instance; undefined ones as in ``crossed_interval``.

    Returns:
        The three deviations; a component whose estimate is negative is 0.

    Raises:
        ValueError: if there are fewer than two complete seeds and instances, or no spread.
    """
    found = crossed_interval(differences)
    if found.reason or found.n_seeds < 2:
        raise ValueError(
            f"differences show no spread over seeds: {found.reason or 'fewer than two seeds'}; run a pilot"
        )
    s, n = found.n_seeds, found.n_instances
    return DifferenceSpread(
        seeds=math.sqrt(max(0.0, s * (found.seed_part - found.residual_part))),
        instances=math.sqrt(max(0.0, n * (found.instance_part - found.residual_part))),
        residual=math.sqrt(found.residual_part * s * n),
        n_seeds=s,
        n_instances=n,
    )


def sign_flip_power(
    effect_size: float, n_seeds: int, *, alpha: float = 0.05, rng: np.random.Generator | int, n_studies: int = 4000
) -> float:
    """Chance that the two-sided sign-flip test rejects for normal differences with mean ``effect_size`` deviations.

    Args:
        effect_size: d_z, mean / standard deviation of the seeds' differences.
        n_seeds: S, at least 1. Up to 12 the test is exact, above it takes 2,047 drawn patterns.
        alpha: Level of this one test; alpha / k for the first step of Holm over k contrasts.
        rng: Generator or seed. The same seed simulates the same studies for every effect and alpha.
        n_studies: Simulated studies.

    Returns:
        The power, with a simulation error of at most .5 / √n_studies; 0 where 2^(1 − S) exceeds ``alpha``.

    Raises:
        ValueError: for ``n_seeds`` or ``n_studies`` below 1 or ``alpha`` outside (0, 1).
    """
    if n_studies < 1:
        raise ValueError(f"n_studies is {n_studies}; it must be at least 1")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1")
    if smallest_sign_flip_p(n_seeds) > alpha * (1 + 1e-12):
        return 0.0
    return float((_p_values(n_seeds, rng, n_studies)(effect_size) <= alpha * (1 + 1e-12)).mean())


def power_table(
    seeds: Sequence[int],
    *,
    difference: float,
    seed_spread: float,
    instances: int = 1,
    instance_spread: float = 0.0,
    residual_spread: float = 0.0,
    family_size: int = 1,
    alpha: float = 0.05,
    target_power: float = 0.8,
    rng: np.random.Generator | int = 0,
    n_studies: int = 4000,
) -> pd.DataFrame:
    """Power and minimum detectable difference of a planned comparison, one row a test and number of seeds.

    Args:
        seeds: Numbers of seeds to consider, each at least 2.
        difference: The difference that would matter, in the unit of the measure.
        seed_spread: Standard deviation of the seeds' true differences (``difference_spread`` of a pilot).
        instances: N of one run.
        instance_spread: Standard deviation of the instances' common differences.
        residual_spread: Standard deviation of what is left.
        family_size: Contrasts in the family; every row is for one of them at alpha / family_size, Holm's first
            step, which is its power when the others show nothing and a lower bound otherwise.
        alpha: Family-wise error rate.
        target_power: Power at which the detectable difference is given.
        rng: Seed (or generator) of the simulation.
        n_studies: Simulated studies.

    Returns:
        ``POWER_COLUMNS``. Tests: ``sign flip of seed means`` (simulated, ``power_error`` its standard error),
        ``t of seed means`` (exact) and ``t, seeds crossed with instances`` (noncentral t at the expected standard
        error and degrees of freedom). ``detectable_difference`` is NaN, and ``reason`` says so, where the test can
        never reject; ``seeds_needed`` is with how many seeds a sign flip can.

    Raises:
        ValueError: for negative or not finite spreads, ``difference`` not positive, all spreads 0, fewer than two
            seeds, ``instances`` or ``family_size`` below 1, ``alpha`` or ``target_power`` outside (0, 1).
    """
    spreads = {"seed_spread": seed_spread, "instance_spread": instance_spread, "residual_spread": residual_spread}
    for name, value in spreads.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} is {value}; give a standard deviation ≥ 0")
    if seed_spread == residual_spread == 0:
        raise ValueError("seed_spread and residual_spread are both 0; without spread between seeds nothing is to plan")
    if not (math.isfinite(difference) and difference > 0):
        raise ValueError(f"difference is {difference}; give the size that would matter, positive")
    if instances < 1 or not seeds or min(seeds) < 2:
        raise ValueError(
            f"instances is {instances} and seeds {list(seeds)}; at least 1 instance and 2 seeds are needed"
        )
    if not (0 < alpha < 1 and alpha < target_power < 1):
        raise ValueError(f"alpha is {alpha} and target_power {target_power}; both in (0, 1), the second larger")
    needed, each = seeds_needed(family_size, alpha), alpha / family_size
    seed = int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else rng
    rows = []
    for count in seeds:
        deviation = math.sqrt(seed_spread**2 + residual_spread**2 / instances)
        p_values, smallest = _p_values(count, seed, n_studies), smallest_sign_flip_p(count)
        can = smallest <= each * (1 + 1e-12)

        def flip(delta: float, *, p: Callable[[float], FloatArray] = p_values, unit: float = deviation) -> float:
            return float((p(delta / unit) <= each * (1 + 1e-12)).mean())

        def student(delta: float, *, error: float = deviation / math.sqrt(count), freedom: float = count - 1) -> float:
            return _t_power(delta, error, freedom, each)

        error, freedom = _crossed_error(count, instances, seed_spread, instance_spread, residual_spread)

        def crossed(delta: float, *, error: float = error, freedom: float = freedom) -> float:
            return _t_power(delta, error, freedom, each)

        tests: list[tuple[str, Callable[[float], float], bool]] = [
            ("sign flip of seed means", flip, can),
            ("t of seed means", student, True),
        ]
        if instances > 1:
            tests.append(("t, seeds crossed with instances", crossed, True))
        for name, power, possible in tests:
            simulated = name.startswith("sign")
            found = power(difference) if possible else 0.0
            rows.append(
                {
                    "test": name,
                    "n_seeds": count,
                    "n_instances": instances,
                    "family_size": family_size,
                    "alpha": alpha,
                    "difference": difference,
                    "power": found,
                    "power_error": math.sqrt(found * (1 - found) / n_studies) if simulated else 0.0,
                    "target_power": target_power,
                    "detectable_difference": _detectable(power, target_power, deviation) if possible else float("nan"),
                    "smallest_p": smallest if simulated else float("nan"),
                    "seeds_needed": needed,
                    "reason": ""
                    if possible
                    else f"{count} seeds cannot reject in a family of {family_size}: it needs {needed}",
                }
            )
    columns = {name: [row[name] for row in rows] for name in POWER_COLUMNS}
    return pd.DataFrame(columns).astype(POWER_COLUMNS)


def _p_values(n_seeds: int, rng: np.random.Generator | int, n_studies: int) -> Callable[[float], FloatArray]:
    """Sign-flip p of simulated studies as a function of their effect size; the noise is drawn once."""
    generator = np.random.default_rng(rng)
    noise = generator.standard_normal((n_studies, n_seeds))
    if 2 ** (n_seeds - 1) <= _PATTERNS:
        # The first sign stays fixed: a pattern and its opposite have the same absolute sum.
        bits = (np.arange(2 ** (n_seeds - 1))[:, None] >> np.arange(n_seeds - 1)) & 1
        signs = np.concatenate([np.ones((len(bits), 1)), 1 - 2.0 * bits], axis=1)
    else:
        drawn = generator.integers(0, 2, (_PATTERNS - 1, n_seeds)) * 2.0 - 1.0
        signs = np.concatenate([np.ones((1, n_seeds)), drawn])
    step = max(1, _BLOCK_SUMS // len(signs))
    lean = signs.sum(axis=1)

    def p_values(effect_size: float) -> FloatArray:
        p = np.empty(n_studies)
        for start in range(0, n_studies, step):
            block = noise[start : start + step]
            sums = np.abs(block @ signs.T + effect_size * lean)
            seen = np.abs(block.sum(axis=1) + effect_size * n_seeds)
            p[start : start + step] = (sums >= (seen * (1 - 1e-12))[:, None]).mean(axis=1)
        return p

    return p_values


def _t_power(difference: float, error: float, freedom: float, alpha: float) -> float:
    """Two-sided power of a t test, by the noncentral F: the noncentral t has no stable far tail."""
    critical = float(stats.t.isf(alpha / 2, freedom))
    return float(stats.ncf.sf(critical**2, 1, freedom, (difference / error) ** 2))


def _crossed_error(
    seeds: int, instances: int, seed_spread: float, instance_spread: float, residual_spread: float
) -> tuple[float, float]:
    """Expected standard error and Satterthwaite's degrees of freedom of ``crossed_interval``."""
    own = residual_spread**2 / (seeds * instances)
    a, b = seed_spread**2 / seeds + own, instance_spread**2 / instances + own
    squared = max(a + b - own, a, b)
    if instances < 2:
        return math.sqrt(squared), float(seeds - 1)
    cells = (seeds - 1) * (instances - 1)
    return math.sqrt(squared), squared**2 / (a**2 / (seeds - 1) + b**2 / (instances - 1) + own**2 / cells)


def _detectable(power: Callable[[float], float], target: float, unit: float) -> float:
    """The difference at which the power reaches the target."""
    high = unit
    while power(high) < target:
        high *= 2
        if high > 1e6 * unit:
            return float("nan")
    return float(optimize.brentq(lambda delta: power(delta) - target, 0.0, high, xtol=1e-4 * unit))
