"""The two tables an author reads first, as files: Parquet and CSV of the summary, and three LaTeX tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mi_attention.report import write_latex, write_table
from mi_attention.study.contrast_outputs import latex_label
from mi_attention.study.findings import INTERVALS, Findings
from mi_attention.study.summary import SUMMARY_HEADERS, rank_headers
from mi_attention.study.tables import GROUP_COLUMNS

__all__ = ["write_summaries"]

# The captions say them in full.
_SHORT_HEADERS = {
    "accuracy": "acc.",
    "majority": "maj.",
    "partner": "partner",
    "n_seeds": "seeds",
    "label": "label",
    "uniform": "uniform",
    "embedding": "embed.",
    "permuted": "permuted",
    "reliability": "reliab.",
    "undefined_share": "undef.",
}
# A page holds about ten columns: what a claim rests on, and what stands beside it.
_CLAIM = (
    "n_seeds",
    "accuracy",
    "majority",
    "tau",
    "tau_low",
    "tau_high",
    "p",
    "partner",
    "label",
    "uniform",
    "embedding",
    "reliability",
)
_BESIDE = ("skew", "permuted", "excess", "excess_low", "excess_high", "head", "random", "undefined_share")


def write_summaries(found: Findings, target: Path) -> list[Path]:
    """Write ``summary`` (Parquet, CSV, LaTeX), ``controls.tex`` and, where there are profiles by rank, ``ranks.tex``.

    Args:
        found: What the study found, with at least one finished cell.
        target: The folder.

    Returns:
        The files.
    """
    first, ranks, setting = found.summary, found.ranks, found.setting
    written = write_table(first, target / "summary", found.signature)
    analysis = found.study.analysis
    interval = f"{analysis.confidence:.0%} intervals over {found.scope}"
    # What is not in a declared family was looked at without a hypothesis, and says so wherever it goes.
    note = "; exploratory: not part of a declared family" if analysis.is_declared else ""

    def write(frame: pd.DataFrame, columns: Sequence[str], headers: Mapping[str, str], name: str, caption: str) -> None:
        shown = [
            *found.varying,
            *(column for column in columns if column in frame and not frame[column].isna().all()),
        ]
        written.append(
            write_latex(
                frame[shown],
                target / f"{name}.tex",
                caption=caption + note,
                label=f"tab:{latex_label(found.study.name)}" + ("" if name == "summary" else f"-{name}"),
                signature=found.signature,
                headers={key: text for key, text in ({**headers, **_SHORT_HEADERS}).items() if key in shown},
                intervals=INTERVALS,
                wide=True,
                compact=True,
            )
        )

    write(
        first,
        _CLAIM,
        SUMMARY_HEADERS,
        "summary",
        f"Kendall's tau-b between attention and pointwise informativeness inside an instance{setting}; {interval}; "
        "p and partner: share of maps to the attention of other instances of the same length that reach tau-b, and "
        "mean tau-b under them; label, uniform, embed.: with the gold label or the prediction under uniform attention "
        "as output, and with input embeddings in place of states; reliab.: of the informativeness order",
    )
    write(
        first,
        _BESIDE,
        SUMMARY_HEADERS,
        "controls",
        f"Controls of the agreement between attention and pointwise informativeness{setting}: skew of the attention, "
        f"tau-b of the mechanical baseline (permuted attention), excess over it ({interval}), tau-b of attention with "
        "the linear head's evidence and with a random order, share of instances without an order",
    )
    if len(ranks):
        columns = [str(name) for name in ranks.columns if name not in GROUP_COLUMNS]
        caption = f"Mutual information (nats) of the most attended state, the second and so on, by output{setting}"
        write(ranks, columns, rank_headers(found.tables.output), "ranks", caption)
    return written
