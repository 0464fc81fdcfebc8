"""What the neural bounds read of Gaussian pairs, beside the truth, and of hidden-like states, by the form of the rows.

Run it with one thread, ``OMP_NUM_THREADS=1 python -m tests.benchmarks.neural_values``. Pairs have 2,000 rows: of one
column each, and of ten columns of which each goes with its own. It prints the mean over draws in nats, with the
standard deviation over draws where that is .05 or more. The states are those of ``tests/benchmarks/linear_probe.py``,
128 columns, three strengths; InfoNCE, beside the linear reader.
"""

from __future__ import annotations

import argparse
from typing import get_args

import numpy as np

from mi_attention.estimators import Probe
from mi_attention.estimators.members import DISCRIMINANTS
from mi_attention.estimators.neural import Neural
from mi_attention.estimators.neural.options import Bound
from mi_attention.interface import Unit
from tests.benchmarks.linear_probe import hidden_like

ROWS = 2000
SHOWN_SPREAD = 0.05
STRENGTHS = (0.4, 0.8, 1.4)
# Columns, correlation, and how many times as many draws as of the last ones.
PAIRS = ((1, 0.0, 2), (1, 0.5, 2), (1, 0.9, 2), (1, 0.99, 2), (10, 0.0, 1), (10, 0.3, 1), (10, 0.6, 1))


def pair(columns: int, rho: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """States and outputs ``(n, columns)``; every column of one is correlated with the same column of the other."""
    rng = np.random.default_rng([seed, columns])
    x = rng.standard_normal((ROWS, columns))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((ROWS, columns))


def values(columns: int, rho: float, draws: int) -> dict[str, np.ndarray]:
    """Nats of each draw, by bound."""
    made = [pair(columns, rho, seed) for seed in range(draws)]
    return {
        bound: np.array([Neural(bound=bound).estimate(x, y).nats for x, y in made])  # type: ignore[arg-type]
        for bound in get_args(Bound)
    }


def pairs(draws: int) -> None:
    """Print the table of pairs, over so many draws of ten columns and twice as many of one."""
    print(f"{'Gaussian pairs':<22}{'truth':>7}" + "".join(f"{bound:>16}" for bound in get_args(Bound)))
    for columns, rho, times in PAIRS:
        truth = -columns / 2 * np.log(1 - rho**2)
        cells = []
        for found in values(columns, rho, draws * times).values():
            spread = found.std(ddof=1) if len(found) > 1 else 0.0
            cells.append(f"{found.mean():.3f}" + (f" ± {spread:.2f}" if spread >= SHOWN_SPREAD else ""))
        name = f"{columns} column{'s' * (columns > 1)}, rho {rho:g}"
        print(f"{name:<22}{truth:7.3f}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def forms(draws: int) -> None:
    """Print the table of hidden-like states."""
    readers = {
        "columns": Neural(views=("columns",)),
        "axes": Neural(views=("axes",)),
        "both": Neural(),
        "linear reader": Probe(members=DISCRIMINANTS),
    }
    print(f"{'states':<12}{'N':>6}" + "".join(f"{name:>15}" for name in readers))
    for rows in (2000, 500):
        for design in ("gaussian", "relu", "spectrum"):
            made = [hidden_like(design, rows, 128, seed, own) for seed in range(draws) for own in STRENGTHS]
            units = [Unit(x.astype(np.float32), y) for x, y in made]
            cells = [np.mean([one.lower_bound for one in reader.estimate_many(units)]) for reader in readers.values()]
            print(f"{design:<12}{rows:6}" + "".join(f"{value:15.3f}" for value in cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2, help="of ten columns; twice as many of one; 1.5 as many states")
    draws = parser.parse_args().draws
    pairs(draws)
    forms(-(-3 * draws // 2))
