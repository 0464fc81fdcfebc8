"""The HTML page of a study: one file that holds the answer, the tables, the figures, the texts and how all was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mi_attention.report import (
    HtmlFigure,
    HtmlPage,
    HtmlSentence,
    HtmlTable,
    format_count,
    range_sentence,
    write_html,
)
from mi_attention.study.contrast_outputs import (
    CONTRAST_HEADERS,
    DECLARED,
    confirmatory_rows,
    contrast_columns,
    declared_claims,
    declared_rest,
)
from mi_attention.study.drawings import Drawing
from mi_attention.study.explanations import NOT_FAITHFULNESS, RANK_COLUMNS, RANK_NOTE, SUMMARY_COLUMNS, summary_note
from mi_attention.study.findings import INTERVALS, Findings
from mi_attention.study.page import told
from mi_attention.study.paper import methods_of
from mi_attention.study.summary import BOUNDED, SUMMARY_HEADERS, rank_headers
from mi_attention.study.tables import GROUP_COLUMNS
from mi_attention.study.texts import Browsed
from mi_attention.study.verdicts import VERDICT_NOTE, contrast_sentences

__all__ = ["MOST_FIGURES", "MOST_SENTENCES", "html_page", "write_study_html"]

MOST_FIGURES = 24
"""Figures of the page; all of them are in the folder ``figures``."""
MOST_SENTENCES = 200
"""Sentences of the page: of a larger study the table has the rest."""
_BOUNDS = {name: (f"{name}_low", f"{name}_high") for name in BOUNDED}


def write_study_html(found: Findings, drawings: Sequence[Drawing], browsed: Browsed, target: Path) -> Path:
    """Write ``report.html``.

    Args:
        found: What the study found.
        drawings: Its figures, already drawn.
        browsed: Its texts.
        target: The folder.

    Returns:
        The file.
    """
    return write_html(html_page(found, drawings, browsed), target / "report.html")


def html_page(found: Findings, drawings: Sequence[Drawing], browsed: Browsed) -> HtmlPage:
    """The page, top to bottom: verdicts and ranges, tables, sentences, figures, texts, methods, notes.

    Args:
        found: What the study found.
        drawings: Its figures, already drawn.
        browsed: Its texts.
    """
    study = found.study
    notes = [*declared_rest(study, found.declared), *found.notes(), *browsed.notes]
    methods = methods_of(found) if len(found.tables.agreement) else None
    if methods is not None and methods.undescribed:
        named = "; ".join(methods.undescribed)
        notes.append(f"The methods name without a reference, for there is none here: {named}.")
    if len(drawings) > MOST_FIGURES:
        notes.append(f"The first {MOST_FIGURES} of {len(drawings)} figures are shown; all are in the folder figures.")
    if len(found.agreement) > MOST_SENTENCES:
        told = f"The first {MOST_SENTENCES} of {len(found.agreement):,} rows are told in words"
        notes.append(f"{told}; the table has all.")
    return HtmlPage(
        title=study.name,
        description=study.description,
        facts=_facts(found),
        sentences=[*_claims(found), *contrast_sentences(found.contrasts), *_answers(found)],
        tables=_tables(found),
        details=_details(found),
        figures=[
            HtmlFigure.read(drawing.stem.with_name(f"{drawing.stem.name}.svg"), drawing.title, drawing.caption)
            for drawing in drawings[:MOST_FIGURES]
        ],
        instances=browsed.instances,
        methods="" if methods is None else methods.text,
        references=() if methods is None else methods.listed,
        bibtex="" if methods is None else methods.bibtex,
        notes=notes,
        signature=found.signature,
    )


def _facts(found: Findings) -> list[str]:
    total = len(found.tables.runs)
    done = f"{format_count(found.finished)} of {format_count(total)} cells finished"
    facts = [done if found.finished < total else f"{format_count(total)} cells, all finished"]
    if len(found.tables.agreement):
        facts.append(f"intervals: {found.study.analysis.confidence:.0%}, {found.scope}")
        shared = found.setting.strip(" ()")
        facts += [f"all rows: {shared}"] if shared else []
    return facts


def _claims(found: Findings) -> list[HtmlSentence]:
    """What the study claims in words: what bears it out is for its families to show and its reader to say."""
    return [HtmlSentence(claim, heading="Claim.") for claim in declared_claims(found.study, found.declared)]


def _answers(found: Findings) -> list[HtmlSentence]:
    """For every data set where agreement, and its causal check, are lowest and highest: what the study is asked."""
    labels = [name for name in found.varying if name != "data"]
    rows, causal = found.agreement, found.causal
    return [
        HtmlSentence(range_sentence(group.reset_index(drop=True), labels))
        for data in (rows["data"].unique()[:12] if len(rows) else ())
        for group in (rows[rows["data"] == data], causal[causal["data"] == data])
        if len(group)
    ]


def _details(found: Findings) -> list[HtmlSentence]:
    labels = [name for name in found.varying if name != "data"] or ["encoder", "score"]
    return [
        HtmlSentence(text, heading=", ".join(str(row[name]) for name in labels) + ".")
        for (_, row), text in zip(found.agreement.head(MOST_SENTENCES).iterrows(), told(found), strict=False)
    ]


def _tables(found: Findings) -> list[HtmlTable]:
    tables = []
    if len(found.tables.agreement):
        tables.append(
            _table(
                found,
                found.summary,
                SUMMARY_COLUMNS,
                SUMMARY_HEADERS,
                "Does attention rank states as their information does?",
                "Agreement",
                f"{summary_note(found.tables.output)} {NOT_FAITHFULNESS}",
            )
        )
    if len(found.contrasts):
        rows = confirmatory_rows(found.contrasts)
        columns = contrast_columns(rows)
        tables.append(
            HtmlTable(
                rows,
                "Declared contrasts",
                note=f"{DECLARED.replace('**', '').replace('`', '')}{VERDICT_NOTE}",
                columns=columns,
                headers={name: text for name, text in CONTRAST_HEADERS.items() if name in columns},
                short="Contrasts",
            )
        )
    if len(found.tables.agreement) and len(found.ranks):
        headers, title = rank_headers(found.tables.output), "Information by attention rank"
        tables.append(_table(found, found.ranks, RANK_COLUMNS, headers, title, "Ranks", RANK_NOTE))
    if len(found.failed):
        tables.append(HtmlTable(found.failed, "Failed cells"))
    return tables


def _table(
    found: Findings,
    frame: pd.DataFrame,
    explained: Mapping[str, str],
    headers: Mapping[str, str],
    title: str,
    short: str,
    note: str,
) -> HtmlTable:
    """A table whose rows are combinations: what tells them apart, then the columns explained that say anything."""
    shown = [name for name in explained if name in frame and not frame[name].isna().all()]
    seeds = ["n_seeds"] if "n_seeds" in frame and frame["n_seeds"].nunique() > 1 else []
    columns = [*(name for name in GROUP_COLUMNS if name in found.varying), *seeds]
    columns += [part for name in shown for part in (name, *_BOUNDS.get(name, ()))]
    return HtmlTable(
        frame,
        title,
        note=note,
        columns=columns,
        headers={name: text for name, text in headers.items() if name in columns},
        explain={name: explained[name] for name in shown},
        intervals=INTERVALS,
        short=short,
    )
