"""The command line: parse, call, print, exit code. ``--help`` answers without loading torch.

Exit codes: 0 done, 1 a cell failed or a calculation was impossible, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, CycloptsError, Parameter

if TYPE_CHECKING:
    from mi_attention.study.config import StudyConfig
    from mi_attention.study.run import Plan
    from mi_attention.study.store import CellStore
    from mi_attention.study.tables import StudyTables

__all__ = ["app", "main"]

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def _version() -> str:
    from importlib.metadata import version

    return version("mi-attention")


app = App(
    name="mi-attention",
    help="Does an attention layer tell which hidden states inform the model's output? Estimates the mutual "
    "information of every position with the output and compares its order with the order of the attention weights.",
    version=_version,
    help_format="plaintext",
)
data_app = App(name="data", help="Where sequences come from.")
app.command(data_app)

Workers = Annotated[int, Parameter(help="Processes; 0 takes one a core. The numbers do not depend on it.")]
Output = Annotated[Path | None, Parameter(help="Folder for cells, tables and figures; by default runs/NAME.")]


@app.command
def demo(*, output: Output = None, workers: Workers = 0) -> int:
    """Run the default study on data that comes with the installation, a few minutes on two cores."""
    return study(Path(__file__).parent / "study" / "demo.toml", output=output, workers=workers)


@app.command
def study(
    file: Annotated[Path, Parameter(help="TOML file; the README shows one.")],
    *,
    output: Output = None,
    workers: Workers = 0,
    dry_run: Annotated[bool, Parameter(help="Say what would be done, and stop.")] = False,
) -> int:
    """Run a study: train, estimate, compare, and write tables and figures. A second run does only what is missing."""
    from mi_attention.study.config import load_study

    if workers < 0:
        raise ValueError(f"workers is {workers}; give a number of processes, or 0 for one a core")
    config = load_study(file)
    directory = output or Path("runs") / config.name
    _say("Loading data …")
    from mi_attention.study.run import plan_study, run_study, save_plan

    plan = plan_study(config, directory, workers=workers)
    _announce(config, plan, directory)
    if dry_run:
        return DONE
    save_plan(config, plan, directory)
    try:
        result = run_study(plan, directory, watch=_progress)
    except KeyboardInterrupt:
        _say("Interrupted: finished cells are kept, the same command goes on from here.")
        _write(config, plan, directory)
        return INTERRUPTED
    _print_tables(_write(config, plan, directory, workers), directory)
    for cell, error in result.failed.items():
        _say(f"failed: {cell}: {error}")
    return FAILED if result.failed else DONE


@app.command
def report(directory: Annotated[Path, Parameter(help="Folder of a study.")]) -> int:
    """Make the tables and figures of a study again from its finished cells."""
    from mi_attention.study.run import load_plan
    from mi_attention.study.store import CellStore

    config, plan = load_plan(directory)
    if not CellStore(directory / "cells").finished(cell.key for cell in plan.cells):
        raise ValueError(f"none of the {len(plan.cells)} cells of {directory} is finished; run the study again")
    _print_tables(_write(config, plan, directory), directory)
    return DONE


@app.command
def estimate(
    x: Annotated[Path, Parameter(help=".npy file with states, (n, d) or (n,).")],
    y: Annotated[Path, Parameter(help=".npy file with outputs, (n,): classes, or numbers.")],
    *,
    groups: Annotated[
        Path | None, Parameter(help=".npy file, (n,): the instance of each row, if rows share any.")
    ] = None,
    estimator: Annotated[
        str | None, Parameter(help="probe, ross, ksg or npeet; by default what suits the data.")
    ] = None,
    seed: int = 0,
) -> int:
    """Estimate the mutual information of two arrays, in nats."""
    from mi_attention.estimators import make_estimator, mutual_information

    states, outputs = _load_array(x), _load_array(y)
    members = None if groups is None else _load_array(groups)
    if estimator is None:
        found = mutual_information(states, outputs, groups=members, seed=seed)
    else:
        found = make_estimator(estimator, seed=seed).estimate(states, outputs, members)
    lines = {"mutual information": f"{found.nats:.4f} nats" if found.status == "ok" else f"undefined: {found.reason}"}
    if found.status == "ok":
        if found.lower_bound is not None:
            lines["held-out lower bound"] = f"{found.lower_bound:.4f} nats"
        lines["standard error"] = f"{found.standard_error:.4f} nats"
        if found.reason:
            lines["note"] = found.reason
    if found.ceiling is not None:
        lines["ceiling H(Y)"] = f"{found.ceiling:.4f} nats"
    lines |= {"rows": f"{found.n}", "signature": found.signature}
    for name, value in lines.items():
        print(f"{name:<21} {value}")
    return DONE if found.status == "ok" else FAILED


@data_app.command(name="list")
def data_list() -> int:
    """List the data sources by name."""
    from mi_attention.data import available

    for name, description in available():
        print(f"{name:<24} {description}")
    return DONE


def _load_array(path: Path):  # type: ignore[no-untyped-def]  # noqa: ANN202
    import numpy as np

    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} is not a plain .npy array of numbers or strings") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path} is an archive of several arrays; save the one you mean with numpy.save")
    return array


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _announce(config: StudyConfig, plan: Plan, directory: Path) -> None:
    done = len(plan.cells) - len(plan.missing)
    _say(f"{config.name}: {len(plan.cells)} cells" + (f", {done} of them finished already" if done else "") + ".")
    for data, reasons in plan.dropped.items():
        for reason, count in reasons.items():
            _say(f"{data}: {count} sequences dropped: {reason}")
    if plan.missing:
        _say(f"Running {len(plan.missing)} on {plan.workers} workers takes about {_duration(plan.seconds)}.")
    _say(f"Results go to {directory}.")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


@contextmanager
def _progress(store: CellStore, plan: Plan) -> Iterator[None]:
    """A bar that counts files in the store, and so works with any kind of worker."""
    import threading

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    keys = [cell.key for cell in plan.missing]
    if not keys:
        yield
        return
    columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    stop = threading.Event()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("cells", total=len(keys))

        def watch() -> None:
            while not stop.wait(0.5):
                bar.update(task, completed=store.attempted(keys))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            bar.update(task, completed=store.attempted(keys))


def _write(config: StudyConfig, plan: Plan, directory: Path, workers: int = 0) -> StudyTables:
    from mi_attention.study.outputs import write_outputs
    from mi_attention.study.store import CellStore
    from mi_attention.study.tables import collect

    workers, analysis = workers or os.cpu_count() or 1, config.analysis
    tables = collect(
        plan.cells,
        CellStore(directory / "cells"),
        confidence=analysis.confidence,
        null_draws=analysis.null_draws,
    )
    write_outputs(config, plan, tables, directory, workers=workers)
    return tables


def _print_tables(tables: StudyTables, directory: Path) -> None:
    from rich.console import Console

    from mi_attention.study.terminal import print_summary

    # A pipe has no width of its own; a table cut at 80 columns would lose numbers.
    console = Console() if sys.stdout.isatty() else Console(width=200)
    print_summary(tables, console)
    console.print(f"Tables, figures and the page report.md are in {directory}", soft_wrap=True)


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    start = time.perf_counter()
    try:
        code = app(
            list(sys.argv[1:] if tokens is None else tokens),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        _say(f"error: {str(error).strip()} (mi-attention --help lists commands and options)")
        return USAGE
    except KeyboardInterrupt:
        _say("Interrupted.")
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        _say("error: " + " ".join(str(error).split()))
        return USAGE
    if time.perf_counter() - start > 60:
        _say(f"Took {_duration(time.perf_counter() - start)}.")
    return code if isinstance(code, int) else DONE


if __name__ == "__main__":
    sys.exit(main())
