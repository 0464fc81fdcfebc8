"""The 40 tasks of the benchmark "Beyond Normal" (Czyż et al. 2023) and simulators with truth that it does not hold.

Run it with ``OMP_NUM_THREADS=1 python tests/benchmarks/bmi.py [--tasks ../shared/data/bmi] [--fresh] [--output
STEM]``. It prints for each task the truth, the value of ``choose`` with the reading it chose, and its peers: KSG on
standardised columns and canonical correlations, both as they are mostly used. ``--fresh`` prints the same on other
dimensions, degrees of freedom, strengths, sizes and maps; of these only the independent vectors, with scales of their
own or wide for their rows, shaped the rule. ``--output`` writes the table as Parquet, CSV and Markdown (``STEM_fresh``
with ``--fresh``).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mi_attention.estimators.choose import choose
from mi_attention.estimators.elliptical import student_excess
from mi_attention.estimators.gaussian import Gaussian
from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.neighbours import HighDimensionWarning
from mi_attention.report import to_markdown, write_table

TASKS = Path(__file__).parents[3] / "shared" / "data" / "bmi"


@dataclass(frozen=True)
class Task:
    """Samples with their true mutual information in nats."""

    name: str
    x: np.ndarray
    y: np.ndarray
    truth: float
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table; nats."""

    task: str
    truth: float
    chosen: float
    standard_error: float
    reading: str
    ksg: float
    canonical: float
    seconds: float


def stored_tasks(folder: Path = TASKS) -> Iterator[Task]:
    """The stored samples, one task after another."""
    with np.load(folder / "samples.npz", allow_pickle=False) as samples:
        for task in json.loads((folder / "tasks.json").read_text(encoding="utf-8")):
            name = task["task"]
            yield Task(name, samples[f"{name}__x"], samples[f"{name}__y"], task["mi"])


def rows(tasks: Iterable[Task], peers: bool = True) -> Iterator[Row]:
    """Estimates of each task."""
    for task in tasks:
        start = time.process_time()
        estimate = choose(task.x, task.y, task.groups).estimator.estimate(task.x, task.y, task.groups)
        seconds = time.process_time() - start
        with warnings.catch_warnings():
            # What neighbours read in many columns is what is shown here.
            warnings.simplefilter("ignore", HighDimensionWarning)
            ksg = KSG(k=10).estimate(task.x, task.y, task.groups).nats if peers else np.nan
        yield Row(
            task=task.name,
            truth=task.truth,
            chosen=estimate.nats,
            standard_error=estimate.standard_error,
            reading=estimate.signature.split("|")[-1],
            ksg=ksg,
            canonical=Gaussian().estimate(task.x, task.y, task.groups).nats if peers else np.nan,
            seconds=seconds,
        )


def correlated(
    n: int, correlations: Iterable[float], dims: tuple[int, int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Gaussian x (n, dims[0]) and y (n, dims[1]) with these canonical correlations, mixed by random rotations."""
    x, y = rng.standard_normal((n, dims[0])), rng.standard_normal((n, dims[1]))
    for i, rho in enumerate(correlations):
        y[:, i] = rho * x[:, i] + np.sqrt(1 - rho**2) * y[:, i]
    return x, y, float(-0.5 * sum(np.log(1 - rho**2) for rho in correlations))


def rotation(width: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((width, width)))[0]


def fresh_tasks(seed: int = 0) -> Iterator[Task]:
    """Designs of our own: other dimensions, sizes, strengths, tails and maps than those of the stored tasks."""
    rng = np.random.default_rng([seed, 20])
    for n, rho, dims in [
        (500, [0.6], (1, 1)),
        (1000, [0.3, 0.7], (4, 2)),
        (1500, [0.5, 0.5, 0.5], (10, 6)),
        (3000, [0.9, 0.2], (7, 7)),
        (2000, [0.7], (128, 1)),
        (1000, [0.8], (64, 3)),
    ]:
        x, y, truth = correlated(n, rho, dims, rng)
        x, y = x @ rotation(dims[0], rng), y @ rotation(dims[1], rng)
        yield Task(f"gaussian {dims[0]}x{dims[1]} n={n}", x, y, truth)
        yield Task("  the same, independent", x, rng.permutation(y), 0.0)
        yield Task("  cubed and exponential margins", x**3, np.exp(y), truth)
    for n, degrees, rho, dims in [
        (1000, 1.3, [0.5], (1, 1)),
        (2000, 2.5, [0.6, 0.3], (4, 2)),
        (1500, 5.0, [0.4], (6, 3)),
        (3000, 10.0, [0.7], (8, 8)),
    ]:
        x, y, truth = correlated(n, rho, dims, rng)
        scale = np.sqrt(degrees / rng.chisquare(degrees, (n, 1)))
        yield Task(
            f"student {degrees:g} {dims[0]}x{dims[1]} n={n}",
            x * scale,
            y * scale,
            truth + student_excess(degrees, *dims),
        )
    for n, dims, pairs, speed in [(1000, (2, 2), 1, 0.5), (2000, (4, 4), 2, 0.4), (3000, (3, 2), 2, 0.7)]:
        x, y, truth = correlated(n, [0.8] * pairs, dims, rng)
        angle = speed * np.square(x).sum(axis=1)
        turned = x.copy()
        turned[:, 0] = np.cos(angle) * x[:, 0] - np.sin(angle) * x[:, 1]
        turned[:, 1] = np.sin(angle) * x[:, 0] + np.cos(angle) * x[:, 1]
        yield Task(f"x turned by its length {dims[0]}x{dims[1]} n={n}", turned, y, truth)
    x, y, truth = correlated(2000, [0.8], (1, 1), rng)
    yield Task("x on a circle 2x1", np.hstack([np.cos(0.7 * x), np.sin(0.7 * x)]), y, truth)
    yield Task("x on a helix 3x1", np.hstack([np.cos(3 * x), np.sin(3 * x), x]), y, truth)
    noise = rng.standard_normal((2000, 10))
    yield Task("x and 10 columns of noise 11x1", np.hstack([np.sinh(2 * x), noise]), y, truth)
    # y = |x| + uniform noise of half width w: log(1/2w) nats of noise entropy, h(y) by quadrature.
    x = rng.standard_normal((2000, 1))
    yield Task("absolute value 1x1", x, np.abs(x) + rng.uniform(-0.5, 0.5, (2000, 1)), folded_information(0.5))
    wide = np.hstack([x, rng.standard_normal((2000, 4))]) @ rotation(5, rng)
    yield Task(
        "absolute value in 5 columns", wide, np.abs(x) + rng.uniform(-0.5, 0.5, (2000, 1)), folded_information(0.5)
    )
    for n, dims in [(300, (2, 2)), (2000, (3, 3)), (2000, (20, 20))]:
        # Independent, but neither block is normal within itself.
        x, y = rng.standard_normal((n, dims[0])), rng.standard_t(2, (n, dims[1]))
        yield Task(
            f"independent scales {dims[0]}x{dims[1]} n={n}",
            x * rng.chisquare(2, (n, 1)),
            y * rng.chisquare(1, (n, 1)),
            0.0,
        )
    for n, dims in [(60, (4, 3)), (150, (60, 20)), (400, (128, 16))]:
        x, y = rng.standard_normal((n, dims[0])), rng.standard_normal((n, dims[1]))
        yield Task(f"independent, few rows {dims[0]}x{dims[1]} n={n}", x, y, 0.0)
    for instances, dims in [(60, (4, 3)), (200, (4, 3))]:
        groups = np.repeat(np.arange(instances), 6)
        x, y = (rng.standard_normal((instances, width))[groups] for width in dims)
        x, y = (block + 0.1 * rng.standard_normal(block.shape) for block in (x, y))
        yield Task(f"independent instances of 6 rows {dims[0]}x{dims[1]} n={len(x)}", x, y, 0.0, groups)
    for n, dims, place in [(2000, (128, 1), 0), (500, (60, 1), 15), (1500, (32, 4), 0)]:
        # y goes with the direction of x in that place of its spectrum, smallest first, under a rotation.
        x, y, truth = correlated(n, [0.7], dims, rng)
        x = (x * np.roll(np.exp(np.linspace(-2.5, 2.5, dims[0])), -place)) @ rotation(dims[0], rng)
        yield Task(f"direction {place} of a spectrum {dims[0]}x{dims[1]} n={n}", x, y @ rotation(dims[1], rng), truth)


def folded_information(half: float) -> float:
    """I(x; |x| + u) in nats of a standard normal x and u uniform on [−half, half], by quadrature."""
    from scipy.special import ndtr

    grid = np.linspace(-half, 8 + half, 400_001)
    low, high = np.maximum(grid - half, 0.0), np.maximum(grid + half, 0.0)
    density = 2 * (ndtr(high) - ndtr(low)) / (2 * half)
    entropy = -np.sum(density * np.log(np.maximum(density, 1e-300))) * (grid[1] - grid[0])
    return float(entropy - np.log(2 * half))


def print_table(found: Iterable[Row]) -> list[Row]:
    """Print each row as it comes, then the mean and median absolute errors."""
    print(f"{'task':<50} {'truth':>6} {'choose':>7} {'s.e.':>5}  {'reading':<12} {'KSG':>6} {'CCA':>6} {'seconds':>7}")
    kept = []
    for row in found:
        kept.append(row)
        print(
            f"{row.task:<50} {row.truth:6.3f} {row.chosen:7.3f} {row.standard_error:5.3f}  {row.reading:<12} "
            f"{row.ksg:6.3f} {row.canonical:6.3f} {row.seconds:7.1f}",
            flush=True,
        )
    for line in errors(kept):
        print(line)
    return kept


def errors(found: Sequence[Row]) -> list[str]:
    """Mean, median and worst absolute error of each estimator, one line each."""
    lines = []
    for field in ("chosen", "ksg", "canonical"):
        error = np.array([abs(getattr(row, field) - row.truth) for row in found])
        lines.append(
            f"{field:<10} mean |error| {error.mean():.3f}, median {np.median(error):.3f}, worst {error.max():.3f}"
        )
    return lines


def write(found: Sequence[Row], stem: Path, name: str) -> None:
    """The table as Parquet, CSV and Markdown, in the order of the tasks."""
    frame = pd.DataFrame([vars(row) | {"task": row.task.strip()} for row in found])
    signature = f"{name}|seed 0|nats"
    write_table(frame, stem, signature)
    text = to_markdown(frame, digits=3, intervals=(), signature=signature)
    stem.with_suffix(".md").write_text(text + "\n" + "\n\n".join(errors(found)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, default=TASKS, help="folder with tasks.json and samples.npz")
    parser.add_argument("--fresh", action="store_true", help="our own designs instead of the stored tasks")
    parser.add_argument("--output", type=Path, help="stem of the table, for example results/accuracy/bmi")
    arguments = parser.parse_args()
    table = print_table(rows(fresh_tasks() if arguments.fresh else stored_tasks(arguments.tasks)))
    if arguments.output:
        suffix = "_fresh" if arguments.fresh else ""
        write(table, arguments.output.with_name(arguments.output.name + suffix), "bmi" + suffix)
