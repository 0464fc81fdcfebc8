"""The manifest of a study: everything needed to say what its numbers are of, and to make them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mi_attention.report import atomic_path
from mi_attention.study.cell import hardware, versions
from mi_attention.study.commit import source_commit
from mi_attention.study.config import StudyConfig
from mi_attention.study.declared import Declaration
from mi_attention.study.run import Plan
from mi_attention.study.tables import StudyTables

__all__ = ["without_places", "write_manifest"]


def write_manifest(
    study: StudyConfig,
    plan: Plan,
    tables: StudyTables,
    declared: Sequence[Declaration],
    target: Path,
    files: Sequence[Path] = (),
) -> Path:
    """Write ``manifest.json``: configuration, seeds, threads, versions, commit, hardware, hashes of data and weights.

    Args:
        study: The study.
        plan: Its plan.
        tables: Its tables.
        declared: What its folder has written down.
        target: The folder.
        files: What else was written into it.

    Returns:
        The file.
    """
    done = tables.runs[tables.runs["status"] == "ok"]
    facts = {
        "study": without_places(study),
        "seeds": list(study.seeds),
        "threads": 1,
        "declared": [
            {"kind": found.kind, "name": found.name, "digest": found.digest, "status": found.status}
            for found in declared
        ],
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "commit": source_commit(),
        "hardware": hardware(),
        "processors": sorted(set(done["processor"]) - {""}),
        "data": {cell.data_name: cell.fingerprint for cell in plan.cells},
        "trained_on": {cell.data_name: cell.training_fingerprint for cell in plan.cells if cell.training_fingerprint},
        "dropped": plan.dropped,
        "cells": {
            "total": len(tables.runs),
            **{str(status): int(count) for status, count in tables.runs["status"].value_counts().items()},
            "seconds": float(tables.runs["seconds"].sum()),
        },
        "weights": dict(sorted(zip(done["key"], done["weights"], strict=True))),
        "keys": sorted(tables.runs["key"]),
        "files": sorted(path.relative_to(target).as_posix() for path in files),
    }
    with atomic_path(target / "manifest.json") as temporary:
        temporary.write_text(json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return target / "manifest.json"


def without_places(study: StudyConfig) -> dict[str, Any]:
    """The configuration with the names of files, not where they lie on one machine."""
    facts = study.model_dump(mode="json", exclude={"backend"})
    for entry in facts["data"]:
        for source in (entry, entry.get("train_on") or {}):
            for key in ("path", "vectors"):
                if isinstance(source.get(key), str):
                    source[key] = Path(source[key]).name
    return facts
