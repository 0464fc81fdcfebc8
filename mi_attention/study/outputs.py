"""Everything a study leaves for its author: tables, figures, two pages, the files of a paper, one manifest."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from mi_attention.report import write_table
from mi_attention.study.config import StudyConfig
from mi_attention.study.contrast_outputs import write_contrasts
from mi_attention.study.contrasts import contrasts_of
from mi_attention.study.declared import declarations
from mi_attention.study.drawings import draw, drawings_of
from mi_attention.study.findings import Findings
from mi_attention.study.groups import LONG_TABLES
from mi_attention.study.html import write_study_html
from mi_attention.study.manifest import without_places, write_manifest
from mi_attention.study.page import write_page
from mi_attention.study.paper import write_paper
from mi_attention.study.run import Plan
from mi_attention.study.store import CellStore
from mi_attention.study.summary_outputs import write_summaries
from mi_attention.study.tables import StudyTables
from mi_attention.study.texts import browsed_texts

__all__ = ["write_outputs"]

TIDY = ("agreement", "profile", "concentration", "training", "seeds", *LONG_TABLES, "runs", "notes")
PAGES = ("report.html", "report.md", "numbers.tex", "methods.tex", "references.bib")


def write_outputs(
    study: StudyConfig,
    plan: Plan,
    tables: StudyTables,
    directory: str | os.PathLike[str],
    *,
    workers: int = 1,
    texts: bool | None = None,
) -> list[Path]:
    """Write all that can be read of a study.

    Tables as Parquet and CSV, the printed ones as LaTeX too; figures as PDF, SVG and PNG; the pages ``report.html``
    (one file, for a browser) and ``report.md``; for a paper ``numbers.tex`` (a command for every number of the summary
    and the contrasts), ``methods.tex`` and ``references.bib``; and ``manifest.json``, which lists them.

    Args:
        study: The study.
        plan: Its plan, for the manifest.
        tables: What ``collect`` returned; may be of a study that is not finished.
        directory: Where to; the folder of its cells.
        workers: Processes that draw figures; the files do not depend on it.
        texts: Whether ``report.html`` shows texts to browse; see ``browsed_texts``. By default those only that the
            package carries itself.

    Returns:
        The files written.
    """
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    _remove_earlier(target)
    written: list[Path] = []
    signature = _common_signature(tables.agreement)
    metadata = {"study": without_places(study)}
    for name in TIDY:
        frame = tables.long_table(name) if name in LONG_TABLES else getattr(tables, name)
        if len(frame):
            written += write_table(frame, target / name, signature, metadata=metadata)
    declared, store = tuple(declarations(target)), CellStore(target / "cells")
    found = Findings(study, plan, tables, contrasts_of(study, tables, declared, store), declared, signature)
    if len(found.contrasts):
        written += write_contrasts(study, found.contrasts, target, signature)
    drawings = drawings_of(tables, target / "figures") if len(tables.agreement) else []
    if len(tables.agreement):
        written += write_summaries(found, target)
        written += draw(drawings, signature, workers)
        written += write_paper(found, target)
    written.append(write_page(found, target))
    written.append(write_study_html(found, drawings, browsed_texts(found, store, texts), target))
    written.append(write_manifest(study, plan, tables, declared, target, written))
    return written


def _remove_earlier(target: Path) -> None:
    """Files of an earlier run: one that this run does not write would pass for its result."""
    for name in (*TIDY, "summary", "controls", "erasure", "ranks", "ranks-controls", "contrasts"):
        for ending in ("parquet", "csv", "tex"):
            (target / f"{name}.{ending}").unlink(missing_ok=True)
    for name in PAGES:
        (target / name).unlink(missing_ok=True)
    for ending in ("pdf", "svg", "png"):
        for path in (target / "figures").glob(f"*.{ending}"):
            path.unlink()


def _common_signature(frame: pd.DataFrame) -> str:
    """The parts that the signatures of all rows share: numbers of instances differ between data sets."""
    if not len(frame):
        return "no finished cell"
    signatures = [text.split("|") for text in frame["signature"].dropna().unique()]
    return "|".join(part for part in signatures[0] if all(part in other for other in signatures[1:]))
