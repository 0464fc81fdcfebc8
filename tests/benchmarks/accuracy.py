"""Accuracy of the estimators against the truth: estimators × designs × (d, N), classes and balance in one table.

Run from the root of the repository, with one thread a process::

    OMP_NUM_THREADS=1 python -m tests.benchmarks.accuracy --output results/accuracy --workers 2
    OMP_NUM_THREADS=1 python -m tests.benchmarks.accuracy --output results/accuracy --required

Every draw of every estimator is a file of its own under ``OUTPUT/rows``, so that a run that was stopped goes on where
it was, and more seeds or estimators add to what is there. Lines of the table in ``OUTPUT`` stay where no file replaces
them. ``--redo`` forgets files and lines of the estimators named: needed after a change of their code, which neither
knows; other hyper-parameters than the files' are noticed. ``--table`` runs nothing and makes the table of the draws
that are there; ``draws`` counts them.
``accuracy`` (Parquet, CSV) is the table, ``accuracy.md`` a page to read, with means over designs first and a column a
design (``accuracy_page``). ``detection`` says the smallest information that half the draws found. ``--required`` runs
the draws on which the default estimator is judged and prints PASS or FAIL a line.

Columns: ``tau`` is Kendall's tau-b of the 20 positions with the truth, ``rmse``, ``bias`` and ``spread`` (standard
deviation over draws) are in nats, ``coverage`` is of the 95 % interval of ``nats`` or, at independence, where it must
cover 0 too, of ``lower_bound``; ``above_entropy`` is the share of positions above H(Y), ``ties`` the share of positions
whose value another position of the draw has too (a gate's zeros), ``seconds`` a unit in a batch of 20 on one thread,
of a machine that may be busy: ``tests/benchmarks/speed.py`` measures speed. A position is *found* where its raw value
lies 1.645 standard errors above 0; ``found_at_zero`` is the share where the truth is 0.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from mi_attention.estimators.intervals import interval
from mi_attention.interface import MIEstimate
from mi_attention.report import read_table, to_markdown, write_table
from tests.benchmarks.accuracy_page import digest, page
from tests.benchmarks.designs import BALANCES, DESIGNS, Draw, draw
from tests.benchmarks.peers import ESTIMATORS, make_peer

DEFAULT_DESIGNS = (
    *DESIGNS,
    "independent:grouped",
    "mixed:copies",
    "mixed:grouped",
    *(f"{design}:warped" for design in DESIGNS if design != "independent"),
)
SIZES = ((128, 2000), (256, 500), (256, 1000), (256, 2000))
CELL = ["design", "d", "n", "classes", "balance"]
ONE_SIDED, TWO_SIDED = 1.645, 1.96
REQUIRED_TAU = {"lin": 0.97, "mixed": 0.94, "heavy": 0.95, "lowrank": 0.95}
REQUIRED_DESIGNS = (*REQUIRED_TAU, "all4", "independent", "independent:grouped")


@dataclass(frozen=True)
class Cell:
    """One draw to be made."""

    design: str
    d: int
    n: int
    classes: int
    balance: str
    seed: int

    def path(self, folder: Path, estimator: str) -> Path:
        """Where the rows of an estimator on this draw are."""
        name = f"{estimator}_{self.design}_{self.d}_{self.n}_{self.classes}_{self.balance}_{self.seed}"
        return folder / "rows" / f"{name.replace(':', '-').replace('/', '-')}.parquet"


def rows_of(found: Sequence[MIEstimate], made: Draw, seconds: float) -> pd.DataFrame:
    """One row a position: values, interval, truth."""
    frame = pd.DataFrame(
        {
            "position": np.arange(len(found)),
            "kind": made.kinds,
            "truth": made.truth,
            "oracle": made.oracle,
            "entropy": made.entropy,
            "nats": [float(estimate.nats) for estimate in found],
            "lower_bound": [np.nan if e.lower_bound is None else float(e.lower_bound) for e in found],
            "standard_error": [float(estimate.standard_error) for estimate in found],
        }
    )
    intervals = [interval(estimate) for estimate in found]
    frame["low"] = [bounds.low for bounds in intervals]
    frame["high"] = [bounds.high for bounds in intervals]
    frame["seconds"] = seconds / len(found)
    return frame


def run_cell(cell: Cell, estimators: Sequence[str], folder: Path) -> list[str]:
    """Draw once, run what is missing, write a file each; returns a line each of what was done."""
    missing = [name for name in estimators if not cell.path(folder, name).exists()]
    if not missing:
        return []
    made = draw(**asdict(cell))
    lines = []
    for name in missing:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.perf_counter()
            try:
                found = make_peer(name, cell.seed).estimate_many(made.x, made.y, made.groups)
            except ValueError as error:
                lines.append(f"{name}: left out, {str(error).partition(';')[0]}")
                continue
            seconds = time.perf_counter() - begin
        frame = rows_of(found, made, seconds)
        for column, value in {"estimator": name, **asdict(cell)}.items():
            frame[column] = value
        target = cell.path(folder, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_table(frame, target, found[0].signature)
        lines.append(f"{name}: tau {_tau(frame.nats, frame.truth):.3f}, rmse {_rmse(frame.nats - frame.truth):.3f}")
    return lines


def run(cells: Sequence[Cell], estimators: Sequence[str], folder: Path, workers: int) -> None:
    """Run all cells over processes of one thread each, with a line of progress a cell on stderr."""
    begin = time.perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(run_cell, cell, estimators, folder): cell for cell in cells}
        for done, future in enumerate(as_completed(running), 1):
            cell = running[future]
            where = f"{cell.design} ({cell.d}, {cell.n}) {cell.classes} classes {cell.balance} seed {cell.seed}"
            said = "; ".join(future.result()) or "was there"
            passed = time.perf_counter() - begin
            print(f"[{done}/{len(cells)}, {passed:.0f} s] {where}: {said}", file=sys.stderr, flush=True)


def gather(cells: Iterable[Cell], estimators: Sequence[str], folder: Path) -> pd.DataFrame:
    """All rows of these draws that exist.

    Raises:
        ValueError: if there are none, or an estimator's rows come from different hyper-parameters.
    """
    frames = []
    made_by: dict[str, set[str]] = {name: set() for name in estimators}
    for cell, name in itertools.product(cells, estimators):
        path = cell.path(folder, name)
        if path.exists():
            frame, facts = read_table(path)
            signature = re.sub(r"\|?seed=\d+", "", facts["signature"])
            frames.append(frame.assign(signature=signature))
            made_by[name].add(signature)
    if not frames:
        raise ValueError("no estimator gave a value; see the progress above")
    for name, signatures in made_by.items():
        if len(signatures) > 1:
            raise ValueError(f"rows of {name} were made by {sorted(signatures)}; run again with --redo {name}")
    return pd.concat(frames, ignore_index=True)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """The table: one row an estimator, value (``nats``, ``lower_bound``) and cell, means over draws.

    The oracle that knows the densities is an estimator of its own: the floor that no estimate of these rows passes.
    """
    known = rows.drop_duplicates([*CELL, "seed", "position"]).copy()
    known = known.assign(
        estimator="oracle", nats=known.oracle, lower_bound=np.nan, standard_error=np.nan, low=np.nan, high=np.nan
    )
    everything = pd.concat([rows, known.assign(seconds=np.nan, signature="oracle")], ignore_index=True)
    lines = [
        {"estimator": key[0], "value": value, **dict(zip(CELL, key[1:], strict=True)), **_summary(frame, value)}
        for key, frame in everything.groupby(["estimator", *CELL], sort=False)
        for value in ("nats", "lower_bound")
        # A classifier's held-out value is both; it is shown once.
        if value == "nats" or (frame.lower_bound.notna().all() and (frame.lower_bound != frame.nats).any())
    ]
    return pd.DataFrame(lines).sort_values([*CELL, "estimator", "value"], ignore_index=True)


def with_earlier(lines: pd.DataFrame, path: Path, keys: Sequence[str], forgotten: Sequence[str]) -> pd.DataFrame:
    """New lines of a table, and those of the earlier one at ``path`` that they do not replace.

    Args:
        lines: New ones.
        path: A table as ``write_table`` made it, or nothing.
        keys: Columns that name a line.
        forgotten: Estimators whose earlier lines are not kept.

    Raises:
        ValueError: if lines that would stay come from other hyper-parameters than the new ones of their estimator.
    """
    if not path.with_suffix(".parquet").exists():
        return lines
    earlier = read_table(path)[0]
    replaced = pd.MultiIndex.from_frame(earlier[keys]).isin(pd.MultiIndex.from_frame(lines[keys]))
    kept = earlier[~replaced & ~earlier.estimator.isin(forgotten)]
    signatures = pd.concat([lines, kept]).groupby("estimator").signature.nunique()
    if (signatures > 1).any():
        names = " ".join(signatures.index[signatures > 1])
        raise ValueError(f"earlier lines of {names} were made by other hyper-parameters; run again with --redo {names}")
    return pd.concat([lines, kept], ignore_index=True).sort_values([*CELL, "estimator", keys[-1]], ignore_index=True)


def detection(rows: pd.DataFrame) -> pd.DataFrame:
    """Smallest true information of a kind from which on half the draws or more find every position."""
    keys = ["estimator", *CELL, "kind"]
    lines = []
    for key, frame in rows[~rows.design.str.startswith("independent")].groupby(keys, sort=False):
        if frame.standard_error.isna().any():
            continue
        share = frame.assign(found=_found(frame)).groupby("truth").found.mean()
        seen = (share >= 0.5).to_numpy()[::-1].cumprod()[::-1].astype(bool) & (share.index > 0)
        limit = float(share.index[seen].min()) if seen.any() else np.inf
        lines.append((*key, limit, frame.signature.iloc[0]))
    return pd.DataFrame(lines, columns=[*keys, "limit", "signature"])


def judge(rows: pd.DataFrame, summary: pd.DataFrame) -> list[tuple[str, float, str, bool]]:
    """What the default estimator must reach at (128, 2000), balanced: name, value, bound, whether it does."""
    mine = summary[(summary.estimator == "probe") & (summary.value == "nats") & (summary.balance == "balanced")]
    mine = mine[(mine.d == 128) & (mine.n == 2000)].set_index(["design", "classes"])
    verdicts = []

    def check(what: str, value: float, bound: float, at_least: bool) -> None:
        passed = value >= bound if at_least else value <= bound
        verdicts.append((what, value, f"{'≥' if at_least else '≤'} {bound:g}", bool(passed)))

    for design, least in REQUIRED_TAU.items():
        check(f"{design}: tau", float(mine.loc[design].tau.mean()), least, True)
        check(f"{design}: RMSE", float(mine.loc[design].rmse.mean()), 0.04, False)
        check(f"{design}: coverage", float(mine.loc[design].coverage.mean()), 0.90, True)
    check("all4, 4 classes: tau", float(mine.loc["all4", 4].tau), 0.92, True)
    for design in ("independent", "independent:grouped"):
        check(f"{design}: |bias|", float(mine.loc[design].bias.abs().max()), 0.01, False)
    nats = rows[rows.estimator == "probe"]
    check("nats above H(Y), share", float((nats.nats > nats.entropy + 1e-9).mean()), 0.0, False)
    return verdicts


def _summary(frame: pd.DataFrame, value: str) -> dict[str, Any]:
    frame = frame.assign(error=frame[value] - frame.truth)
    draws = [made for _, made in frame.groupby("seed")]
    taus = [_tau(made[value], made.truth) for made in draws]
    rmses = [_rmse(made.error) for made in draws]
    found = _found(frame)
    has_error = frame.standard_error.notna().all()
    zero = frame.truth == 0
    if value == "nats":
        low, high = frame.low, frame.high
    else:
        # Elsewhere a bound lies below the truth by what training in these many rows costs, and promises no more.
        width = frame.standard_error * (TWO_SIDED if zero.all() else np.nan)
        low, high = frame.lower_bound - width, frame.lower_bound + width
    covered = (low <= frame.truth) & (frame.truth <= high)
    has_interval = low.notna().all()
    return {
        "draws": len(draws),
        "seeds": " ".join(str(seed) for seed in sorted(frame.seed.unique())),
        "tau": float(np.mean(taus)),
        "tau_worst": float(np.min(taus)),
        "rmse": float(np.mean(rmses)),
        "rmse_worst": float(np.max(rmses)),
        "bias": float(frame.error.mean()),
        "spread": float(frame.groupby("position").error.std().mean()) if len(draws) > 1 else np.nan,
        "coverage": float(covered.mean()) if has_interval else np.nan,
        "above_entropy": float((frame[value] > frame.entropy + 1e-9).mean()),
        "ties": float(frame.duplicated(["seed", value], keep=False).mean()),
        "found_at_zero": float(found[zero].mean()) if has_error and zero.any() else np.nan,
        "seconds": float(frame.groupby("seed").seconds.first().median()),
        "signature": frame.signature.iloc[0],
    }


def _found(frame: pd.DataFrame) -> pd.Series:
    raw = frame.lower_bound.where(frame.lower_bound.notna(), frame.nats)
    return raw > ONE_SIDED * frame.standard_error


def _tau(value: pd.Series, truth: pd.Series) -> float:
    """Tau-b; an estimate that is the same everywhere orders nothing and counts as 0, as does no order in the truth."""
    if truth.nunique() < 2:
        return float("nan")
    return 0.0 if value.nunique() < 2 else float(kendalltau(value, truth).statistic)


def _rmse(error: pd.Series) -> float:
    return float(np.sqrt((error**2).mean()))


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder of the rows and the tables")
    parser.add_argument("--estimators", nargs="+", default=list(ESTIMATORS), choices=list(ESTIMATORS))
    parser.add_argument(
        "--designs",
        nargs="+",
        default=DEFAULT_DESIGNS,
        help="names of designs, or NAME:VARIANT",
    )
    parser.add_argument("--sizes", nargs="+", default=[f"{d},{n}" for d, n in SIZES], help="d,N")
    parser.add_argument("--classes", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--balances", nargs="+", default=list(BALANCES), choices=BALANCES)
    parser.add_argument("--seeds", type=int, default=5, help="draws a cell")
    parser.add_argument("--first-seed", type=int, default=101)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--required", action="store_true", help="judge the default estimator; names its own draws")
    parser.add_argument("--table", action="store_true", help="run nothing: the table of the draws that are there")
    parser.add_argument("--redo", nargs="+", default=[], choices=list(ESTIMATORS), help="forget what these gave")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, print and write the table; 1 where a requirement fails."""
    options = parse(arguments)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.required:
        estimators = ["probe"]
        cells = [
            Cell(design, 128, 2000, classes, "balanced", seed)
            for design, classes, seed in itertools.product(REQUIRED_DESIGNS, (2, 4), seeds)
        ]
    else:
        estimators = options.estimators
        sizes = [tuple(int(number) for number in size.split(",")) for size in options.sizes]
        cells = [
            Cell(design, d, n, classes, balance, seed)
            for (d, n), design, classes, balance, seed in itertools.product(
                sizes, options.designs, options.classes, options.balances, seeds
            )
        ]
    for cell, name in itertools.product(cells, options.redo):
        cell.path(options.output, name).unlink(missing_ok=True)
    if not options.table:
        run(cells, estimators, options.output, options.workers)
    rows = gather(cells, estimators, options.output)
    summary, limits = summarise(rows), detection(rows)
    stem = "required" if options.required else "accuracy"
    signature = f"{stem}|nats|processes of one thread"
    if not options.required:
        forgotten = options.redo
        summary = with_earlier(summary, options.output / stem, ["estimator", *CELL, "value"], forgotten)
        limits = with_earlier(limits, options.output / f"{stem}_detection", ["estimator", *CELL, "kind"], forgotten)
    write_table(rows, options.output / f"{stem}_rows", signature)
    write_table(summary, options.output / stem, signature)
    write_table(limits, options.output / f"{stem}_detection", signature)
    (options.output / f"{stem}.md").write_text(page(summary, limits, stem), encoding="utf-8")
    for table, what in ((digest(summary), "means over designs"), (summary, signature), (limits, "detection")):
        shown = table.drop(columns="signature", errors="ignore")
        print(to_markdown(shown, digits=3, intervals=(), signature=what))
    if not options.required:
        return 0
    verdicts = judge(rows, summary)
    for what, value, bound, passed in verdicts:
        print(f"{'PASS' if passed else 'FAIL'}  {what:32} {value:8.4f}  required {bound}")
    return 0 if all(passed for *_, passed in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
