"""How the declared families of a study are shown: a table in four formats, and the head of its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mi_attention.report import to_markdown, write_latex, write_table
from mi_attention.study.config import StudyConfig
from mi_attention.study.declared import Declaration, current_digests

__all__ = [
    "CONTRAST_HEADERS",
    "DECLARED",
    "EXPLORATORY",
    "confirmatory_rows",
    "contrast_columns",
    "declared_claims",
    "declared_lines",
    "declared_rest",
    "latex_label",
    "write_contrasts",
]

INTERVALS = [("estimate", "ci_low", "ci_high")]

CONTRAST_HEADERS = {
    "family": "family",
    "status": "status",
    "contrast": "contrast",
    "measure": "measure",
    "estimate": "difference",
    "n_seeds": "seeds",
    "p": "p",
    "p_adjusted": "p (Holm)",
    "rejected": "rejected",
    "margin": "margin",
    "reason": "note",
}
DECLARED = """\
The status says whether a family was declared before any cell was finished; `contrasts` holds every number. Differences
are first minus second, paired by seed, and by instance where instances have values (on those defined on both sides). A
family was tested by sign flips (a difference; exact up to 24 seeds) or by two one-sided t tests within its margin (an
equivalence), corrected by Holm's method; **rejected** is said of the hypothesis of no difference, or, for an
equivalence, of a difference of the margin or more. The intervals are for new seeds on these instances; the row for new
instances too is in `contrasts`.
"""
EXPLORATORY = "Everything below is exploratory: no hypothesis about it was declared, and no p is corrected for it."


def confirmatory_rows(contrasts: pd.DataFrame) -> pd.DataFrame:
    """The first row of every contrast, the only one that its family corrects."""
    return contrasts[~contrasts.duplicated(["family", "contrast"])]


def contrast_columns(first: pd.DataFrame) -> list[str]:
    """The columns that say something, the interval after its estimate."""
    shown = [name for name in CONTRAST_HEADERS if not (first[name].isna() | (first[name] == "")).all()]
    return [part for name in shown for part in ((name, "ci_low", "ci_high") if name == "estimate" else (name,))]


def _headers(columns: Sequence[str]) -> dict[str, str]:
    return {name: text for name, text in CONTRAST_HEADERS.items() if name in columns}


def write_contrasts(study: StudyConfig, contrasts: pd.DataFrame, target: Path, signature: str) -> list[Path]:
    """Write the declared contrasts: all rows as Parquet and CSV, the confirmatory ones as LaTeX.

    Args:
        study: The study.
        contrasts: What ``contrasts_of`` returned, with at least one row.
        target: The folder.
        signature: How the numbers were made.

    Returns:
        The files.
    """
    written = write_table(contrasts, target / "contrasts", signature)
    first = confirmatory_rows(contrasts)
    columns = contrast_columns(first)
    path = write_latex(
        first[columns],
        target / "contrasts.tex",
        caption="Declared contrasts, first minus second, paired by seed; "
        f"{study.analysis.confidence:.0%} intervals over seeds (equivalence: two-sided at twice its level)",
        label=f"tab:{latex_label(study.name)}-contrasts",
        signature=signature,
        headers=_headers(columns),
        intervals=INTERVALS,
        wide=True,
        compact=True,
    )
    return [*written, path]


def declared_lines(study: StudyConfig, contrasts: pd.DataFrame, declared: Sequence[Declaration]) -> list[str]:
    """The head of a study's page: claims, families and their contrasts, and that all else is exploratory.

    Args:
        study: The study.
        contrasts: What ``contrasts_of`` returned.
        declared: What the folder of the study has written down.

    Returns:
        Lines of Markdown; none where nothing was declared.
    """
    if not study.analysis.is_declared:
        return []
    points = [*declared_claims(study, declared), *declared_rest(study, declared)]
    lines = ["## What was declared", "", *(f"- {point}" for point in points), ""]
    if len(contrasts):
        first = confirmatory_rows(contrasts)
        columns = contrast_columns(first)
        lines += [
            DECLARED,
            to_markdown(
                first[columns],
                headers=_headers(columns),
                intervals=INTERVALS,
            ),
            "",
        ]
    return [*lines, EXPLORATORY, ""]


def declared_claims(study: StudyConfig, declared: Sequence[Declaration]) -> list[str]:
    """The claims of a study in words, each with its status by what its folder has written down."""
    status = {found.name: found.status for found in declared if found.kind == "claim"}
    late = "exploratory: not declared before this report"
    return [f"{claim} ({status.get(claim, late)})" for claim in study.analysis.claims]


def declared_rest(study: StudyConfig, declared: Sequence[Declaration]) -> list[str]:
    """What a study declared as exploratory, and what its folder knows as declared earlier and is gone."""
    now = current_digests(study)
    gone = [f"{found.kind} “{found.name}” of {found.written}" for found in declared if found.digest not in now]
    parts = [f"{part} (exploratory)" for part in study.analysis.exploratory]
    return parts + ([f"Declared earlier, and changed or withdrawn since: {'; '.join(gone)}."] if gone else [])


def latex_label(name: str) -> str:
    """A name as part of a LaTeX label: ASCII letters and digits, others as hyphens."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name)
