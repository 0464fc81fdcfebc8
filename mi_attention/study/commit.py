"""Which commit of the package made a number."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["commit_name", "source_commit"]


def source_commit() -> dict[str, Any]:
    """Commit of the source tree the package runs from, where it is one and git is there to ask."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return {"commit": None, "changed": None}
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
        state = subprocess.run(
            ["git", "status", "--porcelain", "--", "mi_attention", "analyses"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "changed": None}
    return {"commit": head.stdout.strip(), "changed": bool(state.stdout.strip())}


@lru_cache(maxsize=1)
def commit_name() -> str:
    """The commit in one word, ``"COMMIT, changed"`` where the tree had changes, empty where none is known."""
    found = source_commit()
    return "" if not found["commit"] else f"{found['commit']}, changed" if found["changed"] else str(found["commit"])
