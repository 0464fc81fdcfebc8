"""Every script of analyses/ from its command line, on the tiny grid."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.analyses.tiny_grid import ANALYSES, write_tiny_grid

SCRIPTS = sorted(path.stem for path in ANALYSES.glob("*.py") if path.stem not in ("demo", "grid", "story"))


def run(script: str, *options: object) -> subprocess.CompletedProcess[str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.run(
        [sys.executable, str(ANALYSES / f"{script}.py"), *map(str, options)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | threads,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scripts")
    write_tiny_grid(made / "grid", seeds=2)
    return made


def test_the_grid_says_what_it_would_run(tmp_path: Path) -> None:
    grid = write_tiny_grid(tmp_path / "grid", seeds=2, names=("core", "capacity"))
    done = run("grid", "--grid", grid, "--runs", tmp_path / "runs", "--plan", "capacity")
    assert done.returncode == 0, done.stderr
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [
        f"capacity-{units}: 4 of 4 cells to run" for units in (8, 16, 32, 64, 128)
    ]


@pytest.mark.slow  # Runs a hundred small cells: that each script runs from end to end on every study it names.
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_settles_its_claims(script: str, folder: Path) -> None:
    done = run(script, "--grid", folder / "grid", "--runs", folder / "runs", "--output", folder / "out", "--workers", 2)
    assert done.returncode == 0, done.stderr
    page = json.loads((folder / "out" / script / "claim.json").read_text(encoding="utf-8"))
    for claim in page["claims"]:
        assert claim["verdict"] in ("supported", "contradicted", "undecided")
        assert claim["claim"] in done.stdout
    assert (folder / "out" / script / "figure.pdf").stat().st_size > 1000
