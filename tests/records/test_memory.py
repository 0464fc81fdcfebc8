"""A record larger than the memory it may take is compared from disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mi_attention.records.storage import FORMAT, write_safetensors

ROWS_EACH, INSTANCES, HIDDEN = 20, 8000, 512
MEGABYTE = 2**20

# Runs in a process of its own: opens the record, compares, and prints the most anonymous memory it held beyond
# what it had after the imports. Pages of the mapped file are not anonymous.
MEASURE = """
import sys, threading, time
from mi_attention import compare, open_record
from mi_attention.estimators import Probe

def anonymous():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024

start, peak, stop = anonymous(), [0], threading.Event()
def watch():
    while not stop.wait(0.005):
        peak[0] = max(peak[0], anonymous())
thread = threading.Thread(target=watch)
thread.start()
record = open_record(sys.argv[1])
members = tuple(sys.argv[2].split(",")) if len(sys.argv) > 2 else None
estimator = None if members is None else Probe(members=members)
found = compare(record, estimator=estimator, alignments=("instance", "rank"), null_draws=99)
stop.set()
thread.join()
print(peak[0] - start, float(found.table["estimate"].iloc[0]))
"""


def write_large_record(directory: Path) -> int:
    """A record written in blocks; returns the bytes of its states."""
    rows = ROWS_EACH * INSTANCES
    directory.mkdir()
    hidden = np.memmap(directory / "hidden.raw", dtype=np.float32, mode="w+", shape=(rows, HIDDEN))
    rng = np.random.default_rng(0)
    for start in range(0, rows, 10_000):
        hidden[start : start + 10_000] = rng.standard_normal((10_000, HIDDEN), dtype=np.float32)
    attention = rng.dirichlet(np.ones(ROWS_EACH), size=INSTANCES).reshape(-1).astype(np.float32)
    predicted = np.asarray(hidden[::ROWS_EACH, 0] > 0, dtype=np.int64)
    output = np.where(np.arange(2)[None, :] == predicted[:, None], 0.9, 0.1)
    arrays = {
        "hidden": hidden,
        "attention": attention,
        "offsets": np.arange(0, rows + 1, ROWS_EACH, dtype=np.int64),
        "output": output,
    }
    (directory / "record").mkdir()
    write_safetensors(directory / "record" / "record.safetensors", arrays)
    (directory / "record" / "record.json").write_text(json.dumps({"format": FORMAT, "meta": {}, "vocabulary": []}))
    (directory / "hidden.raw").unlink()
    return hidden.nbytes


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to read anonymous memory")
# Nothing here depends on the curved readers, whose own memory test_probe.py bounds. Without their coordinates there is
# less room in which a copy of states could hide: a lower limit for the reader of the fast suite.
@pytest.mark.parametrize(
    ("members", "limit"), [(["linear,smooth"], 200), pytest.param([], 300, marks=pytest.mark.slow, id="default")]
)
def test_anonymous_memory_stays_far_below_the_size_of_the_record(tmp_path, members, limit):
    size = write_large_record(tmp_path / "large")
    found = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "large" / "record"), *members],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    peak, estimate = (float(value) for value in found.stdout.split())
    assert size > 300 * MEGABYTE
    assert peak < limit * MEGABYTE, (
        f"{peak / MEGABYTE:.0f} MB of anonymous memory for {size / MEGABYTE:.0f} MB of states"
    )
    assert -1 <= estimate <= 1
