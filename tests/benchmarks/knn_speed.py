"""Speed of the nearest-neighbour estimators against their peers and their matrix products, in one process.

Run it with one thread, ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.knn_speed [--quick]``.
Each comparison interleaves its contestants and takes the best of a few rounds, so that other load on the machine hits
all alike; it prints ratios. ``--cpu`` measures processor time instead of wall time, for a machine that is busy.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
import warnings
from collections.abc import Callable

import ennemi
import npeet_plus
import numpy as np
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from mi_attention.estimators import KSG, Ross
from mi_attention.estimators.class_neighbours import balls_by_block
from mi_attention.estimators.neighbours import rescale
from mi_attention.estimators.product_neighbours import balls_by_product

Clock = Callable[[], float]


def interleaved(
    contestants: dict[str, Callable[[], object]], rounds: int, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Best seconds of each contestant over rounds in which all take their turn."""
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(rounds):
        for name, call in contestants.items():
            begin = clock()
            call()
            best[name] = min(best[name], clock() - begin)
    return best


def hidden_units(units: int, rows: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Float32 states ``(U, n, d)`` of two classes and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(rows) % 2)
    x = rng.standard_normal((units, rows, width), dtype=np.float32)
    x[:, :, 0] += y
    return x, y


def ross_against_products(
    units: int = 50,
    rows: int = 5000,
    width: int = 128,
    rounds: int = 3,
    slow_units: int = 1,
    clock: Clock = time.perf_counter,
) -> dict[str, float]:
    """Ratios of Ross on all units to its matrix products (float32 general, symmetric, float64) and of micd to Ross.

    The float32 product of states with a copy of them is what Ross itself computes; ``x @ x.T`` of one array takes
    numpy's symmetric routine, which does half the arithmetic.
    """
    x, y = hidden_units(units, rows, width)
    copies = x.copy()
    double, double_copy = x[0].astype(np.float64), x[0].astype(np.float64)

    def products() -> None:
        for states, copy in zip(x, copies, strict=True):
            states @ copy.T

    def symmetric() -> None:
        for states in x:
            states @ states.T

    best = interleaved(
        {
            "ross": lambda: Ross().estimate_many(x, y),
            "products": products,
            "symmetric": symmetric,
            "double": lambda: double @ double_copy.T,
        },
        rounds,
        clock,
    )
    slow = interleaved(
        {"micd": lambda: [npeet_plus.micd(double, y[:, None], k=3, base=np.e) for _ in range(slow_units)]}, 1, clock
    )
    return {
        "ross / float32 products": best["ross"] / best["products"],
        "ross / float32 symmetric products": best["ross"] / best["symmetric"],
        "ross / float64 products": best["ross"] / (units * best["double"]),
        "npeet micd / ross": slow["micd"] / slow_units / (best["ross"] / units),
    }


def float32_agreement(rows: int = 5000, width: int = 128) -> int:
    """Rows whose counts differ between the float32 product (with its float64 repairs) and float64 throughout."""
    x, y = hidden_units(1, rows, width)
    states = rescale(x[0])
    one, other = balls_by_product(states, y, 3), balls_by_block(states, y, 3)
    return int((one.every[1] != other.every[1]).sum())


def ross_on_a_line(rows: int = 100_000, rounds: int = 3, clock: Clock = time.perf_counter) -> dict[str, float]:
    """Times of scikit-learn, ennemi and npeet-plus over Ross's, one column and two classes."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(rows) % 2)
    x = rng.standard_normal(rows) + y
    return _over(
        {
            "ross": lambda: Ross().estimate(x, y),
            "scikit-learn": lambda: mutual_info_classif(x[:, None], y, n_neighbors=3),
            "ennemi": lambda: ennemi.estimate_mi(y, x, k=3, discrete_y=True),
            "npeet-plus": lambda: npeet_plus.micd(x[:, None], y[:, None], k=3),
        },
        "ross",
        rounds,
        clock,
    )


def ksg_on_a_line(rows: int = 100_000, rounds: int = 3, clock: Clock = time.perf_counter) -> dict[str, float]:
    """Times of scikit-learn, ennemi and npeet-plus over KSG's, one column each."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(rows)
    y = 0.8 * x + 0.6 * rng.standard_normal(rows)
    return _over(
        {
            "ksg": lambda: KSG().estimate(x, y),
            "scikit-learn": lambda: mutual_info_regression(x[:, None], y, n_neighbors=3),
            "ennemi": lambda: ennemi.estimate_mi(y, x, k=3),
            "npeet-plus": lambda: npeet_plus.mi(x[:, None], y[:, None], k=3),
        },
        "ksg",
        rounds,
        clock,
    )


def ksg_in_space(
    rows: int = 100_000, width: int = 3, rounds: int = 1, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Time of npeet-plus over KSG's, ``width`` columns on each side."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, width))
    y = 0.6 * x + 0.8 * rng.standard_normal((rows, width))
    contestants = {"ksg": lambda: KSG().estimate(x, y), "npeet-plus": lambda: npeet_plus.mi(x, y, k=3)}
    return _over(contestants, "ksg", rounds, clock)


def peak_memory(rows: int = 50_000, width: int = 128) -> dict[str, float]:
    """Peak MiB that Ross adds to its input, and what all distances of one float32 matrix would take."""
    x, y = hidden_units(1, rows, width)
    tracemalloc.start()
    Ross().estimate(x[0], y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "ross": peak / 2**20,
        "all distances": 4.0 * rows * rows / 2**20,
        "float64 states": 8 * rows * width / 2**20,
    }


def growth(
    sizes: tuple[int, ...], call: Callable[[int], Callable[[], object]], clock: Clock = time.perf_counter
) -> float:
    """Fitted exponent of the time with size."""
    taken = [interleaved({"call": call(size)}, 2, clock)["call"] for size in sizes]
    return float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])


def ross_growth(
    sizes: tuple[int, ...] = (2500, 5000, 10_000), width: int = 128, clock: Clock = time.perf_counter
) -> float:
    """Exponent of Ross's time with rows in high dimension: 2 is that of the product."""

    def make(rows: int) -> Callable[[], object]:
        x, y = hidden_units(1, rows, width)
        return lambda: Ross().estimate(x[0], y)

    return growth(sizes, make, clock)


def ksg_growth(
    sizes: tuple[int, ...] = (25_000, 50_000, 100_000), width: int = 1, clock: Clock = time.perf_counter
) -> float:
    """Exponent of KSG's time with rows, ``width`` columns on each side."""

    def make(rows: int) -> Callable[[], object]:
        x, y = np.random.default_rng(0).standard_normal((2, rows, width))
        return lambda: KSG().estimate(x, y)

    return growth(sizes, make, clock)


def _over(contestants: dict[str, Callable[[], object]], ours: str, rounds: int, clock: Clock) -> dict[str, float]:
    best = interleaved(contestants, rounds, clock)
    return {f"{name} / {ours}": taken / best[ours] for name, taken in best.items() if name != ours}


def main() -> None:
    """Print every comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer units, rows and rounds")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of wall time")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    many, rounds = (20_000, 2) if options.quick else (100_000, 3)
    print(f"load of the machine {os.getloadavg()[0]:.1f}, {'processor' if options.cpu else 'wall'} time")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = {
            "Ross, (5000, 128)": ross_against_products(5 if options.quick else 50, rounds=rounds, clock=clock),
            f"Ross, one column, n = {many}": ross_on_a_line(many, rounds, clock),
            f"KSG, 1 x 1, n = {many}": ksg_on_a_line(many, rounds, clock),
            f"KSG, 3 x 3, n = {many}": ksg_in_space(many, 3, 1, clock),
            "MiB": peak_memory(10_000 if options.quick else 50_000),
            "exponents": {"Ross with n": ross_growth(clock=clock), "KSG 1 x 1 with n": ksg_growth(clock=clock)},
        }
    for title, table in tables.items():
        print(title)
        for name, value in table.items():
            print(f"  {name:36}{value:10.2f}")
    print(f"rows of 5000 whose counts differ from float64: {float32_agreement()}")


if __name__ == "__main__":
    main()
