"""Linear probe against loops of scikit-learn and against ridge-logistic regression, in one run.

Run it with one thread, ``OMP_NUM_THREADS=1 python tests/benchmarks/linear_probe.py [--units 50] [--rows 5000]``.
It prints the ratio of times on hidden-like states, seconds a unit at usual sizes, and the held-out information of the
probe beside that of ridge-logistic regression on several designs with the same folds and the same stack coefficient.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from mi_attention.estimators import Probe
from mi_attention.estimators.crossfit import NESTED_FOLDS
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.members import DISCRIMINANTS
from mi_attention.estimators.stack import nested_coefficients, smoothed_log_probabilities
from tests.benchmarks.designs import in_spectrum

DESIGNS = ("gaussian", "heavy", "tanh", "relu", "gated", "spectrum")


def hidden_like(design: str, n: int, width: int, seed: int, own: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """States of a position and the class that a linear head gives the whole instance.

    ``gaussian`` and ``heavy`` hide one mean difference among nuisance directions, ``spectrum`` in the last direction of
    a spectrum from e^2.5 to e^-2.5; the others are nonlinear features of a topic shared by the instance plus the
    position's own content.
    """
    rng = np.random.default_rng([seed, DESIGNS.index(design)])
    if design == "spectrum":
        y = rng.permutation(np.arange(n) % 2)
        x = rng.standard_normal((n, width))
        x[:, 0] += 2 * own * y
        return in_spectrum(x, rng), y
    if design in ("gaussian", "heavy"):
        y = rng.permutation(np.arange(n) % 2)
        nuisance = rng.standard_normal((n, width)) if design == "gaussian" else rng.standard_t(3, (n, width))
        x = nuisance * np.exp(rng.standard_normal(width))
        x[:, 0] = rng.standard_normal(n) + 2 * own * y
        return x @ np.linalg.qr(rng.standard_normal((width, width)))[0], y
    topic = rng.standard_normal((n, 30)) * np.exp(-0.12 * np.arange(30))
    content = topic + own * rng.standard_normal((n, 30))
    x = content @ rng.standard_normal((30, width)) / 3 + 0.3 * rng.standard_normal((n, width))
    x = np.maximum(x, 0) if design == "relu" else np.tanh(x)
    if design == "gated":
        x /= 1 + np.exp(-content @ rng.standard_normal((30, width)) / 3)
    y = (topic[:, :3] @ np.array([1.0, 0.7, 0.4]) + 0.3 * np.tanh(2 * topic[:, 1]) > 0).astype(int)
    return x, y


def logistic_held_out(x: np.ndarray, y: np.ndarray, ridge: float, folds: int = 10) -> float:
    """Held-out nats of ridge-logistic regression with the probe's folds, stack coefficient and smoothing."""
    fold = stratified_folds(y, None, folds, np.random.default_rng([0, 0]))
    log_prior = np.log(np.bincount(y) / len(y))
    scores = np.zeros((1, 2, len(y)))
    for k in range(folds):
        train = fold != k
        scaler = StandardScaler().fit(x[train])
        model = LogisticRegression(C=1 / (ridge * train.sum()), max_iter=300)
        margin = model.fit(scaler.transform(x[train]), y[train]).decision_function(scaler.transform(x[~train]))
        scores[0, 1, ~train] = margin - (log_prior[1] - log_prior[0])
    owner = fold % NESTED_FOLDS
    coefficients = nested_coefficients(scores, log_prior, y, owner, NESTED_FOLDS)
    logs = smoothed_log_probabilities(coefficients[owner, 0] * scores[0], log_prior, 1 / len(y))
    return float((logs[y, np.arange(len(y))] - log_prior[y]).mean())


def seconds(call, repeats: int = 3) -> float:
    """Best wall time of a few calls."""
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def speed(units: int, rows: int, width: int, loop_units: int) -> None:
    """Ratio to a loop of LogisticRegression (standardised, C = 1, lbfgs, tol 1e-4) at 5 folds."""
    made = [hidden_like("gated", rows, width, seed) for seed in range(units)]
    y = made[0][1]
    x = np.stack([states for states, _ in made]).astype(np.float32)
    x[:, :, 0] += y
    probe = Probe(folds=5, members=DISCRIMINANTS)
    ours = seconds(lambda: probe.estimate_many(x, y), 1) / units
    fold = stratified_folds(y, None, 5, np.random.default_rng(0))

    def loop() -> None:
        for states in x[:loop_units]:
            for k in range(5):
                train = fold != k
                scaler = StandardScaler().fit(states[train])
                model = LogisticRegression(C=1.0, tol=1e-4, max_iter=1000).fit(
                    scaler.transform(states[train]), y[train]
                )
                model.predict_log_proba(scaler.transform(states[~train]))

    theirs = seconds(loop, 1) / loop_units
    print(f"{units} x ({rows}, {width}), 5 folds: {ours:.4f} s a unit (with the 2-fold level),")
    print(f"  LogisticRegression loop over {loop_units} units: {theirs:.4f} s a unit, ratio {theirs / ours:.1f}")
    for n, d in ((2000, 128), (1000, 256), (2700, 256)):
        states = np.random.default_rng(0).standard_normal((8, n, d)).astype(np.float32)
        labels = np.arange(n) % 2
        states[:, :, 0] += labels
        taken = seconds(lambda s=states, c=labels: Probe(members=DISCRIMINANTS).estimate_many(s, c)) / 8
        print(f"  ({n}, {d}), 10 folds: {taken:.4f} s a unit")
    pooled = np.random.default_rng(0).standard_normal((50_000, 128)).astype(np.float32)
    groups = np.arange(50_000) // 20
    taken = seconds(lambda: Probe(members=DISCRIMINANTS).estimate(pooled, groups % 2, groups))
    print(f"  pooled (50000, 128), 2500 groups: {taken:.2f} s")


def quality(draws: int) -> None:
    """Held-out nats, mean over draws and three strengths: one discriminant, the stack, ridge-logistic."""
    print(
        f"{'design':10}{'n':>6}{'d':>5}{'one LDA':>9}{'stack':>9}" + "".join(f"{f'ridge {r}':>12}" for r in (0.01, 0.1))
    )
    for design in DESIGNS:
        for n, d in ((2000, 128), (800, 128)):
            data = [hidden_like(design, n, d, seed, own) for seed in range(draws) for own in (0.4, 0.8, 1.4)]
            one = [Probe(members=("linear",)).estimate(x, y).lower_bound for x, y in data]
            stack = [Probe(members=DISCRIMINANTS).estimate(x, y).lower_bound for x, y in data]
            ridge = [[logistic_held_out(x, y, r) for x, y in data] for r in (0.01, 0.1)]
            figures = "".join(f"{np.mean(values):12.4f}" for values in ridge)
            print(f"{design:10}{n:6}{d:5}{np.mean(one):9.4f}{np.mean(stack):9.4f}{figures}", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=50)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--loop-units", type=int, default=3, help="units the slow loop runs on")
    parser.add_argument("--draws", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    speed(options.units, options.rows, options.width, options.loop_units)
    quality(options.draws)


if __name__ == "__main__":
    main()
