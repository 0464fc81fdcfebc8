"""The two tables an author reads first, as files: Parquet and CSV of the summary, and four LaTeX tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mi_attention.report import write_latex, write_table
from mi_attention.study.contrast_outputs import latex_label
from mi_attention.study.findings import Findings
from mi_attention.study.summary import BOUNDED, ERASURE, SUMMARY_HEADERS, rank_headers

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
    "erasure_information": "information",
    "erasure_head": "a·|w·h|",
    "erasure_random": "random",
    "erasure_permuted": "permuted",
}
# A page holds about ten columns: what a claim rests on, and what stands beside it.
_CLAIM = (
    "n_seeds",
    "tau",
    "tau_low",
    "tau_high",
    "p",
    "partner",
    "label",
    "uniform",
    "embedding",
    "reliability",
    "ceiling",
)
_BESIDE = (
    "accuracy",
    "majority",
    "skew",
    "permuted",
    "excess",
    "excess_low",
    "excess_high",
    "head",
    "random",
    "undefined_share",
)


_INTERVALS = tuple((name, f"{name}_low", f"{name}_high") for name in BOUNDED)


def write_summaries(found: Findings, target: Path) -> list[Path]:
    """Write ``summary`` (Parquet, CSV, LaTeX) and ``controls.tex``; tables of erasure and of ranks where they exist.

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
                intervals=_INTERVALS,
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
        "p and partner: one-sided share of maps to the attention of other instances of the same length that reach "
        "tau-b, and mean tau-b under them (p is about these runs and instances, the interval about new ones); label, "
        "uniform, embed.: with the gold label or the prediction under uniform attention as output, and with input "
        "embeddings in place of states; reliab.: of the informativeness order; ceiling: tau-b of an attention in the "
        "true order",
    )
    write(
        first,
        _BESIDE,
        SUMMARY_HEADERS,
        "controls",
        f"Controls of the agreement between attention and pointwise informativeness{setting}: accuracy of the "
        "model and of always saying the most frequent class of the training split (maj.), skew of the attention, "
        f"tau-b of the mechanical baseline (permuted attention), excess over it ({interval}), tau-b of attention with "
        "the linear head's evidence and with a random order, share of instances without an order in some seed",
    )
    if any(not first[name].isna().all() for name in ERASURE):
        bounds = [part for name in ERASURE[:-1] for part in (name, f"{name}_low", f"{name}_high")]
        write(
            first,
            [*bounds, ERASURE[-1]],
            SUMMARY_HEADERS,
            "erasure",
            f"Causal check{setting}: area under the curve of the change of the prediction (total variation distance) "
            f"when positions are erased in an order, less the area of attention's own order ({interval}); above 0 the "
            "order changes the prediction sooner than attention does. Orders: pointwise informativeness, evidence "
            "a·|w·h| of the linear head, and random; permuted: random with the weights shuffled within each instance, "
            "which is what attention leads by from arithmetic alone",
        )
    if len(ranks):
        # Side by side they would not fit on a page.
        about = f"Mutual information (nats) of the most attended state, the second and so on{setting}: with the"
        headers = rank_headers(found.tables.output)
        baseline = f"{about} output asked for, and with weights permuted within each instance (mechanical baseline)"
        write(ranks, ["ceiling", "main", "permuted"], headers, "ranks", baseline)
        controls = f"{about} gold label, and with the prediction that the same states give under uniform attention"
        write(ranks, ["label", "uniform"], headers, "ranks-controls", controls)
    return written
