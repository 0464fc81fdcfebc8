"""Speed of the estimators against peers, against their own matrix products, and how it grows with N, d and units.

Run from the root of the repository on a quiet machine::

    OMP_NUM_THREADS=1 python -m tests.benchmarks.speed                 # everything, some 20 minutes
    OMP_NUM_THREADS=1 python -m tests.benchmarks.speed probe memory    # some sections
    OMP_NUM_THREADS=1 python -m tests.benchmarks.speed --quick         # small sizes: does it run
    python -m tests.benchmarks.speed probe cube                        # all cores, for peers' BLAS too
    OMP_NUM_THREADS=1 python -m tests.benchmarks.speed --cpu           # processor time, on a machine that is busy

Calls that are compared take turns and the best time of each counts, so that a busy moment hits none of them alone.
Slow peers run on fewer units, which is said, and are compared by seconds a unit. PASS and FAIL stand where the project
has set itself a bound. Sizes are those of the bound; with ``--quick`` the verdicts mean nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from mi_attention.estimators import KSG, Probe, Ross, class_entropy
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.members import DISCRIMINANTS, MEMBERS
from mi_attention.estimators.neural import Neural
from mi_attention.report import write_table
from tests.benchmarks.designs import draw
from tests.benchmarks.neural_speed import critics_together, positions, units_together

Call = Callable[[], object]

# What time is measured by: of the wall, or of the processor.
CLOCK: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class Sizes:
    """How large the calls are."""

    units: int = 50
    rows: int = 5000
    width: int = 128
    loop_units: int = 4
    line_rows: int = 100_000
    critics: int = 50
    critic_rows: int = 1000
    critic_width: int = 64
    critic_steps: int = 300
    memory_rows: tuple[int, ...] = (12_500, 25_000, 50_000)
    # From 16 rows a column on, where states are read once: with fewer the probe takes longer, not shorter.
    growth_rows: tuple[int, ...] = (2048, 4096, 8192, 16384)
    growth_widths: tuple[int, ...] = (32, 64, 128, 256)
    growth_units: tuple[int, ...] = (5, 10, 20, 40)
    repeats: int = 3


QUICK = Sizes(
    units=4,
    rows=500,
    width=32,
    loop_units=1,
    line_rows=5000,
    critics=4,
    critic_rows=200,
    critic_width=8,
    critic_steps=40,
    memory_rows=(1000, 2000),
    growth_rows=(250, 500, 1000),
    growth_widths=(16, 32, 64),
    growth_units=(2, 4, 8),
    repeats=1,
)


@dataclass(frozen=True)
class Finding:
    """One number: a ratio, seconds, MiB or an exponent, with the bound where there is one."""

    section: str
    what: str
    value: float
    unit: str
    least: float = float("nan")
    most: float = float("nan")

    def __str__(self) -> str:
        """One line, with the verdict where there is a bound."""
        line = f"{self.section:8} {self.what:66} {self.value:10.4g} {self.unit:9}"
        if np.isnan(self.least) and np.isnan(self.most):
            return line
        bound, passed = f"≤ {self.most:g}", self.value <= self.most
        if not np.isnan(self.least):
            bound, passed = f"≥ {self.least:g}", self.value >= self.least
        return f"{line} {'PASS' if passed else 'FAIL'} ({bound})"


def take_turns(calls: dict[str, Call], repeats: int) -> dict[str, float]:
    """Best time in seconds of each call by ``CLOCK``, over rounds in which every one runs once."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            begin = CLOCK()
            call()
            best[name] = min(best[name], CLOCK() - begin)
    return best


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Slope of log seconds on log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def hidden_states(units: int, rows: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gated features ``(U, n, d)`` float32 of a topic that all positions of an instance share, and its class ``(n,)``.

    Every position sees the topic through noise of its own, so that all are informative and none is linear in it.
    """
    rng = np.random.default_rng(seed)
    topic = rng.standard_normal((rows, 30)) * np.exp(-0.12 * np.arange(30))
    y = (topic[:, :3] @ np.array([1.0, 0.7, 0.4]) + 0.3 * np.tanh(2 * topic[:, 1]) > 0).astype(np.int64)
    x = np.empty((units, rows, width), dtype=np.float32)
    for unit in range(units):
        content = topic + 0.7 * rng.standard_normal((rows, 30))
        gate = 1 / (1 + np.exp(-content @ rng.standard_normal((30, width)) / 3))
        noise = 0.3 * rng.standard_normal((rows, width))
        x[unit] = np.tanh(content @ rng.standard_normal((30, width)) / 3 + noise) * gate
    return x, y


def ross(sizes: Sizes) -> list[Finding]:
    """Ross on wide states, against its matrix products and NPEET."""
    import npeet_plus

    x, y = hidden_states(sizes.units, sizes.rows, sizes.width)
    few = min(2, sizes.loop_units)

    def products(kind: type) -> Call:
        states: np.ndarray = x.astype(kind)

        def call() -> None:
            for unit in states:
                for start in range(0, len(unit), 256):
                    _ = unit[start : start + 256] @ unit.T

        return call

    times = take_turns(
        {
            "ross": lambda: Ross(k=10).estimate_many(x, y),
            "float64": products(np.float64),
            "float32": products(np.float32),
        },
        sizes.repeats,
    )
    peer = take_turns(
        {"npeet": lambda: [npeet_plus.micd(unit.astype(np.float64), y[:, None], k=10) for unit in x[:few]]}, 1
    )["npeet"]
    own = times["ross"] / sizes.units
    where = f"{sizes.units} x ({sizes.rows}, {sizes.width})"
    return [
        Finding("ross", f"Ross on {where}", own, "s / unit"),
        Finding("ross", "Ross / its matrix products in float64", times["ross"] / times["float64"], "ratio", most=2.5),
        Finding("ross", "Ross / the same products in float32", times["ross"] / times["float32"], "ratio"),
        Finding("ross", f"npeet-plus micd on {few} units / Ross, by unit", peer / few / own, "ratio", least=20),
    ]


def line(sizes: Sizes) -> list[Finding]:
    """One column and one output: Ross and KSG against scikit-learn, ennemi and npeet-plus, all with k = 3."""
    import ennemi
    import npeet_plus

    rng = np.random.default_rng(0)
    n = sizes.line_rows
    y = rng.permutation(np.arange(n) % 2)
    x = y + rng.standard_normal(n)
    z = 0.6 * x + 0.8 * rng.standard_normal(n)
    classes = {
        "ours": lambda: Ross(k=3).estimate(x, y),
        "scikit-learn": lambda: mutual_info_classif(x[:, None], y, discrete_features=False, random_state=0),
        "ennemi": lambda: ennemi.estimate_mi(y, x, k=3, discrete_y=True, max_threads=1),
        "npeet-plus": lambda: npeet_plus.micd(x[:, None], y[:, None], k=3),
    }
    values = {
        "ours": lambda: KSG(k=3).estimate(x, z),
        "scikit-learn": lambda: mutual_info_regression(x[:, None], z, random_state=0),
        "ennemi": lambda: ennemi.estimate_mi(z, x, k=3, max_threads=1),
        "npeet-plus": lambda: npeet_plus.mi(x[:, None], z[:, None], k=3),
    }
    findings = []
    for name, calls in (("Ross", classes), ("KSG", values)):
        times = take_turns(calls, sizes.repeats)
        own = times.pop("ours")
        fastest = min(times, key=lambda peer: times[peer])
        findings.append(Finding("line", f"{name}, one column, N = {n}", own, "s"))
        findings += [Finding("line", f"{peer} / {name}", taken / own, "ratio") for peer, taken in times.items()]
        findings.append(Finding("line", f"fastest peer ({fastest}) / {name}", times[fastest] / own, "ratio", least=1))
    return findings


def cube(sizes: Sizes) -> list[Finding]:
    """KSG of three columns with three."""
    import npeet_plus

    rng = np.random.default_rng(0)
    x = rng.standard_normal((sizes.line_rows, 3))
    y = 0.6 * x + 0.8 * rng.standard_normal(x.shape)
    times = take_turns({"ours": lambda: KSG(k=3).estimate(x, y)}, sizes.repeats)
    peer = take_turns({"npeet": lambda: npeet_plus.mi(x, y, k=3)}, 1)["npeet"]
    return [
        Finding("cube", f"KSG, 3 x 3 columns, N = {sizes.line_rows}", times["ours"], "s"),
        Finding("cube", "npeet-plus / KSG", peer / times["ours"], "ratio", least=2),
    ]


def probe(sizes: Sizes) -> list[Finding]:
    """The linear probe against a loop of LogisticRegression at its held-out loss, and the full probe's time."""
    x, y = hidden_states(sizes.units, sizes.rows, sizes.width)
    fold = stratified_folds(y, None, 5, np.random.default_rng(0))
    few = sizes.loop_units

    def loop() -> list[float]:
        losses = []
        for states in x[:few]:
            loss = 0.0
            for k in range(5):
                train, test = fold != k, fold == k
                scaler = StandardScaler().fit(states[train])
                model = LogisticRegression(C=1.0, tol=1e-4, max_iter=1000)
                model.fit(scaler.transform(states[train]), y[train])
                logs = model.predict_log_proba(scaler.transform(states[test]))
                loss -= float(logs[np.arange(len(logs)), y[test]].sum())
            losses.append(loss / len(y))
        return losses

    readers = {"discriminant": (Probe(members=DISCRIMINANTS, folds=5), 20.0)}
    if "ridge" in MEMBERS:
        readers["ridge-logistic"] = (Probe(members=("ridge",), folds=5), 5.0)
    calls: dict[str, Call] = {name: lambda p=reader: p.estimate_many(x, y) for name, (reader, _) in readers.items()}
    times = take_turns({**calls, "loop": loop}, sizes.repeats)
    theirs = times["loop"] / few
    their_loss = float(np.mean(loop()))
    where = f"{sizes.units} x ({sizes.rows}, {sizes.width}), 5 folds"
    findings = [
        Finding("probe", f"LogisticRegression loop over {few} units, {where}", theirs, "s / unit"),
        Finding("probe", "LogisticRegression held-out loss", their_loss, "nats"),
    ]
    for name, (reader, bound) in readers.items():
        bounds = [estimate.lower_bound for estimate in reader.estimate_many(x[:few], y)]
        loss = class_entropy(y) - float(np.mean([value for value in bounds if value is not None]))
        own = times[name] / sizes.units
        findings += [
            Finding("probe", f"{name}", own, "s / unit"),
            Finding("probe", f"LogisticRegression loop / {name}, by unit", theirs / own, "ratio", least=bound),
            # Lower is what the stack's one coefficient gains by calibrating.
            Finding("probe", f"{name} held-out loss − LogisticRegression's", loss - their_loss, "nats", most=0.001),
        ]
    made = {
        classes: draw("mixed", d=sizes.width, n=min(2000, sizes.rows), classes=classes, seed=1) for classes in (2, 4)
    }
    full: dict[str, Call] = {
        f"full probe, 20 x {one.x.shape[1:]}, 10 folds, {classes} classes": (
            lambda one=one: Probe().estimate_many(one.x, one.y)
        )
        for classes, one in made.items()
    }
    for what, taken in take_turns(full, sizes.repeats).items():
        most = 0.3 if what.endswith("2 classes") else float("nan")
        findings.append(Finding("probe", what, taken / len(made[2].x), "s / unit", most=most))
    return findings


def neural(sizes: Sizes) -> list[Finding]:
    """Critics of all units as one batch, against critic by critic and unit by unit (all folds of a unit together)."""
    mine = Neural(bound="mine", steps=sizes.critic_steps)
    Neural(bound="mine", steps=1).estimate(*(part[0] if part.ndim == 3 else part for part in positions(1, 60, 2)))
    units = max(1, sizes.critics // mine.folds)
    times = critics_together(mine, units, sizes.critic_rows, sizes.critic_width)
    by_unit = units_together(mine, units, sizes.critic_rows, sizes.critic_width)
    where = f"({sizes.critic_rows}, {sizes.critic_width}), at most {sizes.critic_steps} steps"
    critics = units * mine.folds
    return [
        Finding("neural", f"{critics} MINE critics together, {where}", times.together / critics, "s / critic"),
        Finding("neural", f"{critics} critics one after another / together", times.ratio, "ratio", least=5),
        Finding("neural", "mean difference of their values", times.difference, "nats", most=0.001),
        Finding("neural", "mean standard error of a value, beside it", times.standard_error, "nats"),
        Finding("neural", f"{units} units one after another / together", by_unit.ratio, "ratio"),
    ]


MEASURED = ("ross", "probe", "ksg")


def memory(sizes: Sizes) -> list[Finding]:
    """Peak memory beyond the data, each call in a process of its own."""
    findings = []
    for name in MEASURED:
        peaks = []
        for rows in sizes.memory_rows:
            command = [sys.executable, "-m", "tests.benchmarks.speed", "--peak", name, str(rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            peaks.append(float(done.stdout))
            findings.append(Finding("memory", f"{name}, N = {rows}, beyond the data", peaks[-1], "MiB"))
        growth = exponent(sizes.memory_rows, np.maximum(peaks, 1).tolist())
        findings.append(Finding("memory", f"{name}, exponent of peak memory in N", growth, "exponent", most=1.1))
    return findings


def peak(name: str, rows: int) -> float:
    """MiB of resident memory that a call needs at its peak beyond what was there before (Linux)."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 2
    wide = 3 if name == "ksg" else 128
    x = rng.standard_normal((rows, wide), dtype=np.float32)
    x[:, 0] += y
    calls: dict[str, Callable[[int], object]] = {
        "ross": lambda n: Ross(k=10).estimate(x[:n], y[:n]),
        "probe": lambda n: Probe().estimate(x[:n], y[:n]),
        "ksg": lambda n: KSG(k=3).estimate(x[:n], x[:n, ::-1] + 1.0),
    }
    calls[name](200)  # libraries load, their pools and caches fill
    # Loading the libraries may have peaked above what the call needs: start the record anew.
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    calls[name](rows)
    return _resident("VmHWM") - before


def _resident(field: str) -> float:
    """MiB of this process: ``VmRSS`` now, ``VmHWM`` at its peak."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(entry.split()[1]) for entry in lines if entry.startswith(field)) / 1024


def growth(sizes: Sizes) -> list[Finding]:
    """Fitted exponents of time in N, d and units."""
    rng = np.random.default_rng(0)
    findings = []

    def fit(what: str, axis: Sequence[int], calls: dict[str, Call]) -> None:
        times = list(take_turns(calls, sizes.repeats).values())
        listed = ", ".join(f"{taken:.3g}" for taken in times)
        findings.append(Finding("growth", f"{what} {tuple(axis)}: {listed} s", exponent(axis, times), "exponent"))

    estimators: dict[str, Any] = {"Probe": Probe(), "Ross": Ross(k=10)}
    for name, estimator in estimators.items():
        half = sizes.growth_rows[len(sizes.growth_rows) // 2]
        by_rows = {str(n): hidden_states(2, n, sizes.width) for n in sizes.growth_rows}
        fit(f"{name} in N", sizes.growth_rows, _calls(estimator, by_rows))
        by_width = {str(d): hidden_states(2, half, d) for d in sizes.growth_widths}
        fit(f"{name} in d", sizes.growth_widths, _calls(estimator, by_width))
        by_units = {str(u): hidden_states(u, sizes.growth_rows[0], sizes.width) for u in sizes.growth_units}
        fit(f"{name} in units", sizes.growth_units, _calls(estimator, by_units))
    lines = [sizes.line_rows // 8, sizes.line_rows // 4, sizes.line_rows // 2, sizes.line_rows]
    x = rng.standard_normal(sizes.line_rows)
    y, z = (x + rng.standard_normal(len(x)) > 0).astype(np.int64), x + rng.standard_normal(len(x))
    fit("Ross, one column, in N", lines, {str(n): lambda n=n: Ross(k=3).estimate(x[:n], y[:n]) for n in lines})
    fit("KSG, one column, in N", lines, {str(n): lambda n=n: KSG(k=3).estimate(x[:n], z[:n]) for n in lines})
    return findings


def _calls(estimator: Any, data: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, Call]:
    return {size: lambda x=x, y=y: estimator.estimate_many(x, y) for size, (x, y) in data.items()}


SECTIONS: dict[str, Callable[[Sizes], list[Finding]]] = {
    "ross": ross,
    "line": line,
    "cube": cube,
    "probe": probe,
    "neural": neural,
    "memory": memory,
    "growth": growth,
}


def main() -> None:
    """Print the sections, one number a line."""
    global CLOCK
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=f"some of {', '.join(SECTIONS)}")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of wall time")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--output", type=Path, help="stem of a table of the findings")
    parser.add_argument("--peak", nargs=2, metavar=("NAME", "ROWS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.peak:
        print(peak(options.peak[0], int(options.peak[1])))
        return
    unknown = [name for name in options.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"sections must be some of {', '.join(SECTIONS)}, got {', '.join(unknown)}")
    if options.cpu:
        CLOCK = time.process_time
    threads = os.environ.get("OMP_NUM_THREADS", "unset")
    signature = f"{os.cpu_count()} cores, OMP_NUM_THREADS {threads}, {CLOCK.__name__}"
    signature += ", quick" if options.quick else ""
    print(signature)
    findings = []
    for name in options.sections:
        for finding in SECTIONS[name](QUICK if options.quick else Sizes()):
            findings.append(finding)
            print(finding, flush=True)
    if options.output:
        write_table(pd.DataFrame(findings), options.output, f"speed|{signature}")


if __name__ == "__main__":
    main()
