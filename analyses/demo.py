"""The default study, as `make demo` runs it; writes results/demo, without the texts of docstrings that others wrote.

Run from the root of the repository:  .venv/bin/python analyses/demo.py
"""

from pathlib import Path

from mi_attention.cli import demo

ROOT = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    raise SystemExit(demo(output=ROOT / "results" / "demo", texts=False))
