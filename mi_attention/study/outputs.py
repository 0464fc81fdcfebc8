"""Everything a study leaves for its author: tables in four formats, figures in three, one page, one manifest."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
import pandas as pd
from matplotlib.figure import Figure

from mi_attention.report import (
    agreement_figure,
    atomic_path,
    concentration_figure,
    planted_figure,
    position_figure,
    rank_figure,
    save_figure,
    sentence,
    split_cells,
    to_markdown,
    write_latex,
    write_table,
)
from mi_attention.study.config import StudyConfig
from mi_attention.study.contrast_outputs import declared_lines, latex_label, write_contrasts
from mi_attention.study.contrasts import contrasts_of
from mi_attention.study.declared import Declaration, declarations
from mi_attention.study.groups import LONG_TABLES
from mi_attention.study.manifest import without_places, write_manifest
from mi_attention.study.run import Plan
from mi_attention.study.summary import SUMMARY_HEADERS, rank_headers, rank_summary, summary
from mi_attention.study.tables import GROUP_COLUMNS, StudyTables

__all__ = ["write_outputs"]

INTERVALS = [("estimate", "ci_low", "ci_high"), ("tau", "tau_low", "tau_high"), ("excess", "excess_low", "excess_high")]

READING = """\
Every row pools the seeds of one combination. **tau-b** is Kendall's rank correlation, inside each instance, of the
attention weights with the pointwise informativeness of the states about the output (here: OUTPUT), KL(q(·|h) ‖ p) of
a cross-fitted probe, averaged over instances and seeds; its interval is for new seeds and new instances together (one
seed: for new instances of that run). It is to be read against the columns beside it:

- **accuracy**, **majority**: of the model, and of always saying the most frequent class of the training split.
- **p**, **partner null**: the same tau with the attention of *another* instance of the same length, and the share of
  partner maps that reach the tau seen.
- **permuted attention**: the mechanical baseline. The weights are shuffled within each instance, the prediction is
  recomputed, and everything is measured again: this much agreement is arithmetic. **excess** is what is left. Inside an
  instance the baseline is about 0, since shuffled weights follow no state; by attention rank (below) it is not.
- **gold label**: the output is the label, which no attention can bring about.
- **uniform attention**: the output is the prediction from the same states under uniform weights.
- **input embedding**: the probe reads the input vectors instead of the states.
- **|w·h|**: the order of the linear head's own evidence. **random**: a random order.
- **reliability**: tau-b between the orders of two probes fitted on disjoint thirds of the instances; no order can be
  expected to agree with attention much better than with itself.
- **skew**: normalised skewness of the attention (1: all on one position). **undefined**: share of instances without an
  order in every seed, such as those with constant attention; they are left out and counted here.

Agreement is not faithfulness: it says that attention ranks states as their information does, not that the model uses
them in that way.
"""


def write_outputs(
    study: StudyConfig, plan: Plan, tables: StudyTables, directory: str | os.PathLike[str], *, workers: int = 1
) -> list[Path]:
    """Write tables, figures, the page and the manifest of a study.

    Args:
        study: The study.
        plan: Its plan, for the manifest.
        tables: What ``collect`` returned; may be of a study that is not finished.
        directory: Where to.
        workers: Processes that draw figures; the files do not depend on it.

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
    declared = declarations(target)
    contrasts = contrasts_of(study, tables, declared)
    if len(contrasts):
        written += write_contrasts(study, contrasts, target, signature)
    if len(tables.agreement):
        written += _summaries(study, tables, target, signature)
        written += _figures(tables, target / "figures", signature, workers)
    written.append(_page(study, plan, tables, contrasts, declared, target, signature))
    written.append(write_manifest(study, plan, tables, declared, target))
    return written


TIDY = ("agreement", "profile", "concentration", "training", "seeds", *LONG_TABLES, "runs", "notes")

# The captions say them in full.
SHORT_HEADERS = {
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
CLAIM = (
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
BESIDE = ("skew", "permuted", "excess", "excess_low", "excess_high", "head", "random", "undefined_share")


def _remove_earlier(target: Path) -> None:
    """Tables and figures of an earlier run: one that this run does not write would pass for its result."""
    for name in (*TIDY, "summary", "controls", "ranks", "contrasts"):
        for ending in ("parquet", "csv", "tex"):
            (target / f"{name}.{ending}").unlink(missing_ok=True)
    for ending in ("pdf", "svg", "png"):
        for path in (target / "figures").glob(f"*.{ending}"):
            path.unlink()


def _summaries(study: StudyConfig, tables: StudyTables, target: Path, signature: str) -> list[Path]:
    first, ranks = summary(tables), rank_summary(tables)
    written = write_table(first, target / "summary", signature)
    varying = [name for name in GROUP_COLUMNS if name in first and first[name].nunique() > 1] or ["data"]
    constant = [str(first[name].iloc[0]) for name in GROUP_COLUMNS if name in first and name not in varying]
    setting = f" ({', '.join(constant)})" if constant else ""
    fewest, seeds = int(first["n_seeds"].min()), int(first["n_seeds"].max())
    scope = "instances of one run" if seeds == 1 else f"{seeds} seeds crossed with instances"
    if fewest < seeds:
        scope = f"{fewest} to {seeds} seeds crossed with instances (one seed: instances of that run)"
    interval = f"{study.analysis.confidence:.0%} intervals over {scope}"
    # What is not in a declared family was looked at without a hypothesis, and says so wherever it goes.
    note = "; exploratory: not part of a declared family" if study.analysis.is_declared else ""

    def write(frame: pd.DataFrame, columns: Sequence[str], headers: dict[str, str], name: str, caption: str) -> None:
        shown = [*varying, *(column for column in columns if column in frame and not frame[column].isna().all())]
        written.append(
            write_latex(
                frame[shown],
                target / f"{name}.tex",
                caption=caption + note,
                label=f"tab:{latex_label(study.name)}" + ("" if name == "summary" else f"-{name}"),
                signature=signature,
                headers=_headers(headers | SHORT_HEADERS, shown),
                intervals=INTERVALS,
                wide=True,
                compact=True,
            )
        )

    write(
        first,
        CLAIM,
        SUMMARY_HEADERS,
        "summary",
        f"Kendall's tau-b between attention and pointwise informativeness inside an instance{setting}; {interval}; "
        "p and partner: share of maps to the attention of other instances of the same length that reach tau-b, and "
        "mean tau-b under them; label, uniform, embed.: with the gold label or the prediction under uniform attention "
        "as output, and with input embeddings in place of states; reliab.: of the informativeness order",
    )
    write(
        first,
        BESIDE,
        SUMMARY_HEADERS,
        "controls",
        f"Controls of the agreement between attention and pointwise informativeness{setting}: skew of the attention, "
        f"tau-b of the mechanical baseline (permuted attention), excess over it ({interval}), tau-b of attention with "
        "the linear head's evidence and with a random order, share of instances without an order",
    )
    if len(ranks):
        columns = [str(name) for name in ranks.columns if name not in GROUP_COLUMNS]
        caption = f"Mutual information (nats) of the most attended state, the second and so on, by output{setting}"
        write(ranks, columns, rank_headers(tables.output), "ranks", caption)
    return written


def _summary_columns(frame: pd.DataFrame) -> list[str]:
    wanted = [name for name in SUMMARY_HEADERS if name in frame.columns]
    out: list[str] = []
    for name in wanted:
        # A control that no cell has (no labels, no head) would be a column of dashes.
        if frame[name].isna().all() and name not in ("tau", "p"):
            continue
        out.append(name)
        if name in ("tau", "excess"):
            out += [f"{name}_low", f"{name}_high"]
    return out


def _common_signature(frame: pd.DataFrame) -> str:
    """The parts that the signatures of all rows share: numbers of instances differ between data sets."""
    if not len(frame):
        return "no finished cell"
    signatures = [text.split("|") for text in frame["signature"].dropna().unique()]
    return "|".join(part for part in signatures[0] if all(part in other for other in signatures[1:]))


def _headers(headers: dict[str, str], columns: list[str]) -> dict[str, str]:
    return {name: text for name, text in headers.items() if name in columns}


@dataclass(frozen=True, eq=False)
class _Drawing:
    draw: Callable[[pd.DataFrame], Figure]
    frame: pd.DataFrame
    stem: Path

    def save(self, signature: str) -> list[Path]:
        return save_figure(self.draw(self.frame), self.stem, signature=signature, title=self.stem.name)


def _figures(tables: StudyTables, target: Path, signature: str, workers: int) -> list[Path]:
    """Every figure the tables allow; one file a data set, more where a data set has many cells."""
    target.mkdir(parents=True, exist_ok=True)
    drawings = _drawings(tables, target)
    if workers == 1 or len(drawings) < 3:
        written = [drawing.save(signature) for drawing in drawings]
    else:
        # Drawing in three formats takes seconds a figure, as long as a small cell.
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            jobs = (joblib.delayed(drawing.save)(signature) for drawing in drawings)
            written = joblib.Parallel(n_jobs=workers, batch_size=1)(jobs)
    return [path for paths in written for path in paths]


def _drawings(tables: StudyTables, target: Path) -> list[_Drawing]:
    profile = tables.profile.assign(score=_setting(tables.profile))
    agreement = tables.agreement.assign(score=_setting(tables.agreement))
    agreement = agreement[(agreement["estimand"] == "pointwise") & (agreement["measure"] == "kendall_tau_b")]
    agreement = agreement[(agreement["order"] != "support") & ~agreement["output"].str.contains(" minus ")]
    found: list[_Drawing] = []

    def add(draw: Callable[[pd.DataFrame], Figure], frame: pd.DataFrame, name: str, most: int = 12) -> None:
        parts = split_cells(frame, most) if len(frame) else []
        for number, part in enumerate(parts):
            found.append(_Drawing(draw, part, target / (name if len(parts) == 1 else f"{name}-{number + 1}")))

    for data in profile["data"].unique() if len(profile) else []:
        here = profile[profile["data"] == data]
        add(rank_figure, here[here["alignment"] == "rank"], f"rank-{latex_label(str(data))}")
        add(position_figure, here[here["alignment"] == "position"], f"position-{latex_label(str(data))}")
        known = here[here["truth"].notna() & (here["state"] == "hidden")] if "truth" in here else here.iloc[:0]
        if len(known):
            found.append(_Drawing(planted_figure, known, target / f"truth-{latex_label(str(data))}"))
        add(agreement_figure, agreement[agreement["data"] == data], f"agreement-{latex_label(str(data))}")
    if len(tables.concentration):
        chosen = tables.concentration.assign(score=_setting(tables.concentration))
        swept = chosen[["normalizer", "temperature"]].drop_duplicates().shape[0] > 1
        add(concentration_figure, chosen[chosen["measure"] != "tied_pair_share"], "concentration", 12 if swept else 40)
    return found


def _setting(frame: pd.DataFrame) -> pd.Series[str]:
    """The score with what else tells cells apart and figures have no axis for."""
    frozen = frame["freeze"].map(lambda name: "" if name == "none" else f", frozen: {name}")
    return frame["score"] + frozen


def _page(
    study: StudyConfig,
    plan: Plan,
    tables: StudyTables,
    contrasts: pd.DataFrame,
    declared: Sequence[Declaration],
    target: Path,
    signature: str,
) -> Path:
    lines = [f"# {study.name}", ""]
    if study.description:
        lines += [study.description, ""]
    done = int((tables.runs["status"] == "ok").sum())
    lines += [f"{done} of {len(tables.runs)} cells finished. Data, settings and versions: `manifest.json`.", ""]
    lines += declared_lines(study, contrasts, declared)
    if len(tables.agreement):
        first, ranks = summary(tables), rank_summary(tables)
        columns = _summary_columns(first)
        lines += ["## Does attention rank states as their information does?", ""]
        lines += [to_markdown(first[columns], headers=_headers(SUMMARY_HEADERS, columns), intervals=INTERVALS), ""]
        lines += [READING.replace("OUTPUT", tables.output)]
        if len(ranks):
            lines += ["## Information (nats) of the most attended state, the second, and so on", ""]
            lines += [to_markdown(ranks, headers=_headers(rank_headers(tables.output), list(ranks.columns))), ""]
            lines += ["With the prediction as output part of the fall is arithmetic: compare the last column.", ""]
        lines += ["## In words", "", *(f"- {text}" for text in _sentences(tables)), ""]
        lines += ["## Figures", ""]
        for figure in sorted((target / "figures").glob("*.png")):
            lines += [f"![{figure.stem}](figures/{figure.name})", ""]
    failed = tables.runs[tables.runs["status"] == "failed"]
    if len(failed):
        lines += ["## Failed cells", ""]
        lines += [to_markdown(failed[["data", "encoder", "score", "normalizer", "temperature", "seed", "error"]]), ""]
    if len(tables.notes):
        lines += ["## What was left out or is arbitrary", ""]
        for row in tables.notes.to_dict("records"):
            share = f"{row['count']:.0f} of {row['total']:.0f} " if row["total"] else ""
            lines.append(f"- {row['data']}: {share}{row['note']} (in {row['cells']} of the cells)")
        lines.append("")
    for data, reasons in plan.dropped.items():
        for reason, count in reasons.items():
            lines.append(f"- {data}: {count} sequences dropped on loading: {reason}")
    lines += ["", f"Signature: `{signature}`", ""]
    with atomic_path(target / "report.md") as temporary:
        temporary.write_text("\n".join(lines), encoding="utf-8")
    return target / "report.md"


def _sentences(tables: StudyTables) -> list[str]:
    chosen = tables.agreement
    chosen = chosen[(chosen["estimand"] == "pointwise") & (chosen["measure"] == "kendall_tau_b")]
    chosen = chosen[(chosen["order"] == "informativeness") & (chosen["state"] == "hidden")]
    out = []
    for row in chosen[chosen["output"] == tables.output].to_dict("records"):
        cell = " ".join(str(row[name]) for name in ("encoder", "score", "normalizer"))
        out.append(f"{row['data']}, {cell}: {sentence({str(name): value for name, value in row.items()})}")
    return out
