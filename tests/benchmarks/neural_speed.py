"""Many neural critics trained together against one after another, at equal estimates.

Run it with one thread, ``OMP_NUM_THREADS=1 python tests/benchmarks/neural_speed.py [--units 10] [--steps 300]``. The
other way is the same code, optimiser and stop in a loop: critic by critic (one fold of one unit, as a script trains
MINE for each position) or unit by unit (all folds of a unit together, as ``estimate`` does). So the ratio is that of
batching alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.neural import Neural
from mi_attention.estimators.neural.held_out import judge
from mi_attention.estimators.neural.options import COMPARED, CriticOptions
from mi_attention.estimators.neural.parts import CriticBatch, Sample
from mi_attention.estimators.neural.training import train_critics

__all__ = ["BatchingTimes", "critics_together", "positions", "units_together"]


@dataclass(frozen=True)
class BatchingTimes:
    """Times in seconds and the agreement of both ways.

    Attributes:
        together: All in one batch.
        apart: One after another.
        difference: Mean absolute difference of the values in nats.
        standard_error: Mean standard error of a value in nats.
    """

    together: float
    apart: float
    difference: float
    standard_error: float

    @property
    def ratio(self) -> float:
        """How many times faster together."""
        return self.apart / self.together


def positions(units: int, rows: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States ``(U, n, d)`` float32 whose two classes differ from not at all to much, and classes ``(n,)``."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(rows) % 2)
    x = rng.standard_normal((units, rows, width)).astype(np.float32)
    x[:, :, 0] += np.linspace(0.0, 2.5, units, dtype=np.float32)[:, None] * y
    return x, y


def critics_together(options: CriticOptions, units: int, rows: int, width: int) -> BatchingTimes:
    """``units`` · ``folds`` critics in one batch against each of them alone."""
    x, y = positions(units, rows, width)
    fold = stratified_folds(y, None, options.folds, np.random.default_rng([options.seed, 0]))
    samples = [Sample(states, y, 2, None, fold, options.folds) for states in x]

    def values(batch: CriticBatch) -> tuple[np.ndarray, np.ndarray]:
        parameters, gain = train_critics(options, batch)
        local, _ = judge(options, batch, parameters, torch.arange(len(batch)), batch.test, COMPARED)
        local[gain == 0] = 0.0
        valid = batch.test.valid
        rows_of = [terms[keep] for terms, keep in zip(local, valid, strict=True)]
        return (
            np.array([float(terms.mean()) for terms in rows_of]),
            np.array([float(terms.std() / len(terms) ** 0.5) for terms in rows_of]),
        )

    (together, errors), batched = _timed(lambda: values(CriticBatch(options, samples)))
    owners = CriticBatch(options, samples).owner
    alone, looped = _timed(lambda: [values(_only(options, samples[unit], k))[0][0] for unit, k in owners])
    return BatchingTimes(batched, looped, float(np.abs(together - np.array(alone)).mean()), float(errors.mean()))


def units_together(estimator: Neural, units: int, rows: int, width: int) -> BatchingTimes:
    """``estimate_many`` of some units against a loop of ``estimate``."""
    x, y = positions(units, rows, width)
    together, batched = _timed(lambda: estimator.estimate_many(x, y))
    alone, looped = _timed(lambda: [estimator.estimate(states, y) for states in x])
    difference = np.mean([abs(a.nats - b.nats) for a, b in zip(together, alone, strict=True)])
    return BatchingTimes(
        batched, looped, float(difference), float(np.mean([estimate.standard_error for estimate in together]))
    )


def _only(options: CriticOptions, sample: Sample, fold: int) -> CriticBatch:
    """A batch of the one critic that judges this fold."""
    return CriticBatch(options, [sample], only=fold)


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=300, help="most steps of a critic")
    parser.add_argument("--repeats", type=int, default=3, help="the median ratio is printed")
    options = parser.parse_args()
    # The first step loads parts of torch that no later one does.
    Neural(bound="mine", steps=1).estimate(*(part[0] if part.ndim == 3 else part for part in positions(1, 60, 2)))
    neural = Neural(bound="mine", steps=options.steps)
    print(f"{options.units} units of {options.rows} rows, {neural.signature}")
    for width in (2, 16, 64, 128):
        for name, measure in (("critic by critic", critics_together), ("unit by unit", units_together)):
            times = [measure(neural, options.units, options.rows, width) for _ in range(options.repeats)]
            ratio = float(np.median([one.ratio for one in times]))
            print(
                f"d = {width:3}: together {min(t.together for t in times):6.2f} s, {ratio:4.1f} x as fast as {name}, "
                f"mean difference {times[0].difference:.0e} nats of standard error {times[0].standard_error:.0e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
