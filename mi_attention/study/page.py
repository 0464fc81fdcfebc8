"""The Markdown page of a study, for reading where the results are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from mi_attention.report import sentence, to_markdown, write_text
from mi_attention.study.contrast_outputs import declared_lines
from mi_attention.study.explanations import (
    NOT_FAITHFULNESS,
    RANK_NOTE,
    SUMMARY_COLUMNS,
    summary_note,
)
from mi_attention.study.findings import INTERVALS, Findings
from mi_attention.study.summary import BOUNDED, SUMMARY_HEADERS, rank_headers

__all__ = ["told", "write_page"]


def write_page(found: Findings, target: Path) -> Path:
    """Write ``report.md``: what was declared, both tables, sentences, figures, failures and what was left out.

    Args:
        found: What the study found.
        target: The folder; its figures are those that are there.

    Returns:
        The file.
    """
    study, tables = found.study, found.tables
    lines = [f"# {study.name}", ""]
    if study.description:
        lines += [study.description, ""]
    lines += [f"{found.finished} of {len(tables.runs)} cells finished.", ""]
    lines += ["Data, settings and versions: `manifest.json`. The same as one page to browse: `report.html`.", ""]
    lines += declared_lines(study, found.contrasts, found.declared)
    if len(tables.agreement):
        lines += _tables(found)
        lines += ["## In words", "", *(f"- {text}" for text in _sentences(found)), ""]
        lines += ["## Figures", ""]
        for figure in sorted((target / "figures").glob("*.png")):
            lines += [f"![{figure.stem}](figures/{figure.name})", ""]
    if len(found.failed):
        lines += ["## Failed cells", "", to_markdown(found.failed), ""]
    notes = found.notes()
    if notes:
        lines += ["## What was left out or is arbitrary", "", *(f"- {note}" for note in notes), ""]
    lines += [f"Signature: `{found.signature}`", ""]
    return write_text("\n".join(lines), target / "report.md")


def _tables(found: Findings) -> list[str]:
    first, ranks = found.summary, found.ranks
    columns = _summary_columns(first)
    lines = ["## Does attention rank states as their information does?", ""]
    lines += [to_markdown(first[columns], headers=_headers(SUMMARY_HEADERS, first[columns]), intervals=INTERVALS), ""]
    lines += [summary_note(found.tables.output), ""]
    lines += [f"- **{SUMMARY_HEADERS[name]}**: {text}." for name, text in SUMMARY_COLUMNS.items() if name in columns]
    lines += ["", NOT_FAITHFULNESS, ""]
    if len(ranks):
        lines += ["## Information by attention rank", ""]
        lines += [to_markdown(ranks, headers=_headers(rank_headers(found.tables.output), ranks)), "", RANK_NOTE, ""]
    return lines


def _summary_columns(frame: pd.DataFrame) -> list[str]:
    out: list[str] = []
    for name in (name for name in SUMMARY_HEADERS if name in frame.columns):
        # A control that no cell has (no labels, no head) would be a column of dashes.
        if frame[name].isna().all() and name not in ("tau", "p"):
            continue
        out.append(name)
        if name in BOUNDED:
            out += [f"{name}_low", f"{name}_high"]
    return out


def _headers(headers: Mapping[str, str], frame: pd.DataFrame) -> dict[str, str]:
    return {name: text for name, text in headers.items() if name in frame.columns}


def _sentences(found: Findings) -> list[str]:
    out = []
    for row, text in zip(found.agreement.to_dict("records"), told(found), strict=True):
        cell = " ".join(str(row[name]) for name in ("encoder", "score", "normalizer"))
        out.append(f"{row['data']}, {cell}: {text}")
    return out


def told(found: Findings) -> list[str]:
    """Every row of the agreement in words, its causal check beside it."""
    rows = [sentence(row) for _, row in found.agreement.iterrows()]
    causal = [sentence(row, "erasure") for _, row in found.causal.iterrows()]
    return [" ".join(parts) for parts in zip(rows, causal, strict=True)] if causal else rows
