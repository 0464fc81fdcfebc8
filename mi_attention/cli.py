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
    from rich.console import Console
    from rich.progress import TaskID

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
Texts = Annotated[
    bool | None,
    Parameter(help="Texts to browse in report.html; by default those only that come with this package."),
]
Output = Annotated[Path | None, Parameter(help="Folder for cells, tables and figures; by default runs/NAME.")]


@app.command
def demo(*, output: Output = None, workers: Workers = 0, texts: Texts = None) -> int:
    """Run the default study on data that comes with the installation, a few minutes on two cores."""
    return study(Path(__file__).parent / "study" / "demo.toml", output=output, workers=workers, texts=texts)


@app.command
def study(
    file: Annotated[Path, Parameter(help="TOML file; the README shows one.")],
    *,
    output: Output = None,
    workers: Workers = 0,
    backend: Annotated[
        str | None, Parameter(help="loky, or a dask scheduler: tcp://HOST:PORT or its file; by default the study's.")
    ] = None,
    texts: Texts = None,
    probe: Annotated[bool, Parameter(help="First run one cell of every data set and encoder, and measure.")] = False,
    dry_run: Annotated[bool, Parameter(help="Say what would be done and what it would cost, and stop.")] = False,
) -> int:
    """Run a study: train, estimate, compare, and write tables and figures. A second run does only what is missing."""
    from mi_attention.study.config import load_study

    if workers < 0:
        raise ValueError(f"workers is {workers}; give a number of processes, or 0 for one a core")
    config = load_study(file)
    directory = output or Path("runs") / config.name
    _say("Loading data …")
    from mi_attention.study.run import plan_study, probe_plan, run_study, save_plan

    plan = plan_study(config, directory, workers=workers, backend=backend)
    _announce(config, plan, directory)
    if dry_run:
        return DONE
    save_plan(config, plan, directory)
    try:
        if probe and plan.missing:
            run_study(probe_plan(plan), directory, watch=_progress)
            plan = plan_study(config, directory, workers=workers, backend=backend)
            _announce(config, plan, directory)
        result = run_study(plan, directory, watch=_progress)
    except KeyboardInterrupt:
        _say("Interrupted: finished cells are kept, the same command goes on from here.")
        _write(config, plan, directory, 1, texts=texts)
        return INTERRUPTED
    except OSError as problem:
        _say(f"error: {problem}. Finished cells are kept; mend that, and the same command goes on from here.")
        return FAILED
    _print_tables(_write(config, plan, directory, workers, texts=texts), directory)
    for cell, error in result.failed.items():
        _say(f"failed: {cell}: {error}")
    return FAILED if result.failed else DONE


@app.command
def report(directory: Annotated[Path, Parameter(help="Folder of a study.")], *, texts: Texts = None) -> int:
    """Make the tables and figures of a study again from its finished cells, every number anew."""
    from mi_attention.study.run import load_plan
    from mi_attention.study.store import CellStore

    config, plan = load_plan(directory)
    if not CellStore(directory / "cells").finished(cell.key for cell in plan.cells):
        raise ValueError(f"none of the {len(plan.cells)} cells of {directory} is finished; run the study again")
    _print_tables(_write(config, plan, directory, fresh=True, texts=texts), directory)
    return DONE


@app.command
def verify(
    directory: Annotated[Path, Parameter(help="Folder of a study.")],
    *,
    cells: Annotated[int, Parameter(help="How many finished cells to run again.")] = 1,
    seed: Annotated[int, Parameter(help="Chooses them.")] = 0,
    tolerance: Annotated[
        float, Parameter(help="Largest relative difference allowed; 0 is to the bit, which needs the same machine.")
    ] = 0.0,
) -> int:
    """Run sampled cells of a study again in a temporary folder, and compare every number with the stored one."""
    from mi_attention.study.verify import verify_study

    found = verify_study(directory, cells=cells, seed=seed, tolerance=tolerance, say=_say)
    for line in found.lines():
        print(line)
    return DONE if found.same else FAILED


@app.command
def power(
    *seeds: Annotated[int, Parameter(help="Numbers of seeds to consider.")],
    difference: Annotated[float, Parameter(help="Difference that would matter, such as .05 of a tau.")],
    seed_spread: Annotated[
        float, Parameter(help="Standard deviation of the paired differences over seeds: difference / d_z of a pilot.")
    ],
    family_size: Annotated[int, Parameter(help="Contrasts in the family.")] = 1,
    instances: Annotated[int, Parameter(help="Instances of one run, for claims about new instances too.")] = 1,
    instance_spread: Annotated[float, Parameter(help="Standard deviation of the instances' common differences.")] = 0.0,
    residual_spread: Annotated[float, Parameter(help="Standard deviation of what is left.")] = 0.0,
    alpha: Annotated[float, Parameter(help="Family-wise error rate.")] = 0.05,
    target: Annotated[float, Parameter(help="Power at which the detectable difference is given.")] = 0.8,
) -> int:
    """Power and smallest detectable difference of a planned comparison of two cells, by the number of seeds."""
    from rich.table import Table

    from mi_attention.report import format_number
    from mi_attention.statistics import power_table

    found = power_table(
        seeds or (5, 8, 12, 20),
        difference=difference,
        seed_spread=seed_spread,
        instances=instances,
        instance_spread=instance_spread,
        residual_spread=residual_spread,
        family_size=family_size,
        alpha=alpha,
        target_power=target,
    )
    table = Table(show_edge=False, pad_edge=False)
    for name in ("test", "seeds", f"power at {difference:g}", f"detectable at power {target:g}", "note"):
        table.add_column(name, justify="left" if name in ("test", "note") else "right", overflow="fold")
    for row in found.to_dict("records"):
        numbers = (format_number(row["power"]), format_number(row["detectable_difference"], 3))
        table.add_row(str(row["test"]), f"{row['n_seeds']}", *numbers, str(row["reason"]))
    _console().print(table)
    return DONE


@app.command
def estimate(
    x: Annotated[Path, Parameter(help=".npy file with states, (n, d) or (n,).")],
    y: Annotated[Path, Parameter(help=".npy file with outputs, (n,): classes, or numbers.")],
    *,
    groups: Annotated[
        Path | None, Parameter(help=".npy file, (n,): the instance of each row, if rows share any.")
    ] = None,
    estimator: Annotated[str | None, Parameter(help="A registered name; by default what suits the data.")] = None,
    permutations: Annotated[
        int, Parameter(help="Label permutations of the test; 0 leaves out test and detection limit.")
    ] = 199,
    seed: Annotated[int, Parameter(help="Of folds, permutations and planted draws.")] = 0,
) -> int:
    """Estimate the mutual information of two arrays in nats: interval, p-value, H(Y), detection limit and advice."""
    import warnings

    from rich.console import Console
    from rich.progress import Progress

    from mi_attention.estimators import make_estimator
    from mi_attention.estimators.choose import choose
    from mi_attention.estimators.summary import summarise

    if seed < 0:
        raise ValueError(f"seed is {seed}; give a count, 0 or more")
    states, outputs = _load_array(x), _load_array(y)
    members = None if groups is None else _load_array(groups)
    advice = choose(states, outputs, members, seed)
    chosen = advice.estimator if estimator is None else make_estimator(estimator, seed=seed)
    with warnings.catch_warnings(record=True) as caught, Progress(console=Console(stderr=True), transient=True) as bar:
        warnings.simplefilter("always")
        stages: dict[str, TaskID] = {}
        start = time.perf_counter()

        def watch(stage: str, done: int, of: int) -> None:
            seconds = (time.perf_counter() - start) / (done + 1) * (of - done)
            if not stages and seconds > 20:
                left_out = "--permutations 0 leaves out test and detection limit"
                bar.console.print(f"The test takes about {_duration(seconds)} more; {left_out}.", soft_wrap=True)
            if stage not in stages:
                stages[stage] = bar.add_task(stage, total=of)
            bar.update(stages[stage], completed=done)

        found = summarise(chosen, states, outputs, members, permutations=permutations, seed=seed, watch=watch)
    for warning in dict.fromkeys(str(each.message) for each in caught):
        _say(f"warning: {warning}")
    advised = [(advice.estimator, advice.reason), *advice.alternatives]
    lines = [*found.lines().items(), *(("advice", f"{other.signature}: {why}") for other, why in advised)]
    for name, value in lines:
        print(f"{name:<21} {value}")
    return DONE if found.estimate.status == "ok" else FAILED


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
        raise ValueError(
            f"{path} is not a plain .npy array of numbers or strings; strings kept as objects are saved plainly by "
            "numpy.save(path, array.astype(str))"
        ) from error
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
        cost, count = plan.cost, len(plan.missing)
        source = (
            f"measured on {cost.measured} finished cells" if cost.measured else "from their sizes; --probe measures"
        )
        _say(
            f"Running {count} cells of about {_duration(cost.cell_seconds)} on {plan.workers} workers takes about "
            f"{_duration(cost.seconds)}; the largest needs {cost.memory / 2**30:.1f} GB ({source})."
        )
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


def _write(
    config: StudyConfig,
    plan: Plan,
    directory: Path,
    workers: int = 0,
    *,
    fresh: bool = False,
    texts: bool | None = None,
) -> StudyTables:
    from mi_attention.study.outputs import write_outputs
    from mi_attention.study.store import CellStore
    from mi_attention.study.tables import collect

    workers = workers or os.cpu_count() or 1
    tables = collect(plan.cells, CellStore(directory / "cells"), workers=workers, fresh=fresh)
    write_outputs(config, plan, tables, directory, workers=workers, texts=texts)
    return tables


def _console() -> Console:
    """Where tables are printed: a pipe has no width of its own, and a table cut at 80 columns would lose numbers."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=200)


def _print_tables(tables: StudyTables, directory: Path) -> None:
    from mi_attention.study.terminal import print_summary

    console = _console()
    print_summary(tables, console)
    console.print(f"Tables, figures and the pages report.html and report.md are in {directory}", soft_wrap=True)


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
