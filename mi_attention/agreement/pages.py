"""A comparison as one HTML page: the same parts as the page of a study, for records of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mi_attention.agreement.drawn import drawn_rows
from mi_attention.interface import AttentionRecord, FloatArray
from mi_attention.report import (
    CELL,
    ONE_COLUMN,
    TWO_COLUMNS,
    HtmlFigure,
    HtmlInstances,
    HtmlPage,
    HtmlSentence,
    HtmlTable,
    Method,
    Usage,
    bibtex,
    cited,
    erasure_figure,
    methods_paragraph,
    near_tie_figure,
    position_figure,
    rank_figure,
    reference_list,
    split_cells,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mi_attention.agreement.comparison import Comparison
    from mi_attention.agreement.many import ManyComparison

__all__ = ["comparison_page", "many_page"]

_MAIN = {"measure": "kendall_tau_b", "state": "hidden"}
_EXPLAIN = {
    "estimand": "pointwise and instance: inside an instance; position, rank, token: over units; control: for itself",
    "order": "what the order of attention is compared with",
    "output": "what the information is about: the output asked for, the gold label, the prediction under uniform "
    "attention, or that of permuted attention, the mechanical baseline",
    "null_mean": "mean under the null",
    "p": "one-sided: share of the null that reaches the estimate; about these runs and instances, where an interval is "
    "about new ones",
    "reliability": "split-half agreement of the order with itself; not the ceiling",
    "ceiling": "what attention in perfect order would reach at this error",
    "undefined": "instances without an order, left out and counted",
    "undefined_share": "share of instances without an order, left out and counted",
}
_NOTE = (
    "Kendall's tau-b of the order of attention with other orders. What is left beyond permuted attention and the gold "
    "label is what a claim may rest on. Agreement is not faithfulness: it says that attention ranks states as their "
    "information does, not that the model uses them in that way."
)
_CAPTIONS = {
    "rank": ("Information by attention rank", "Only the fall beyond that of permuted attention is not arithmetic."),
    "position": ("Information by position", "Mutual information of the state at every position with each output."),
    "erasure": (
        "Erasure",
        "Change of the prediction when positions are erased in an order: the sooner, the more the model used them. The "
        "axis is that of the lines; a band may be wider than it.",
    ),
    "near ties": ("Near ties", "Share of pairs in the same order, by the gaps of attention and of information."),
}
# What figures call a record that does not say what it is of, and no methods paragraph should.
_UNSAID = ("record", "states", "attention", "as given")


def comparison_page(found: Comparison, record: AttentionRecord | None, title: str | None) -> HtmlPage:
    """The page of one comparison.

    Args:
        found: The comparison.
        record: Its record, whose tokens are shown; None for a page without texts.
        title: Name of the page; by default the data and the model of the record.

    Raises:
        ValueError: if the record has no tokens, or is not the one compared.
    """
    rows = found.table
    shown = [name for name in found.headline().columns if name != "reason"]
    tables = [_table(found.headline(), shown)]
    if (rows["estimand"] == "erasure").any():
        tables.append(_erasure(found.causal(), ["undefined"]))
    columns = ["measure", "estimate", "ci_low", "ci_high", "n_instances", "undefined"]
    tables.append(_concentration(found.concentration, columns))
    figures = [
        HtmlFigure.draw(figure, *_CAPTIONS[kind], signature=found.signature) for kind, figure in found.figures().items()
    ]
    absent = [f"absent: {order}: {reason}" for order, _, reason in found.absent().itertuples(index=False, name=None)]
    page = HtmlPage(
        title or _title(found.labels),
        sentences=_sentences(rows, found.output, []),
        tables=tables,
        figures=figures,
        instances=[] if record is None else [_instances(found, record)],
        notes=[*map(str, found.notes), *absent],
        signature=found.signature,
    )
    return _with_methods(page, [rows.assign(**found.labels), found.concentration, found.profile], rows)


def many_page(found: ManyComparison, record: AttentionRecord | None, title: str | None) -> HtmlPage:
    """The page of several comparisons; ``record`` is the first that was compared, see ``comparison_page``."""
    first, shared = found.comparisons[0], _shared(found)
    shown = [name for name in found.headline().columns if name != "reason"]
    tables = [_table(found.headline(), shown)]
    if len(found.contrasts):
        columns = ["contrast", "quantity", "estimate", "ci_low", "ci_high", "n_seeds", "test", "p", "p_adjusted"]
        tables.insert(
            0,
            HtmlTable(
                found.contrasts,
                "Contrasts, paired by seed",
                columns=columns,
                headers={"estimate": "difference"},
                short="Contrasts",
            ),
        )
    erased = found.table[found.table["estimand"] == "erasure"]
    if len(erased):
        tables.append(_erasure(erased, ["n_seeds", "undefined_share"], ["cell"]))
    columns = ["cell", "measure", "estimate", "ci_low", "ci_high", "n_seeds"]
    tables.append(_concentration(found.concentration, columns))
    page = HtmlPage(
        title or _title(shared),
        sentences=_sentences(found.table, found.output, ["cell"]),
        tables=tables,
        figures=_figures(found),
        instances=[] if record is None else [_instances(first, record)],
        notes=[str(note) for note in found.notes],
        signature=found.signature,
    )
    models = [pd.DataFrame([dict(one.labels)]) for one in found.comparisons]
    frames = [found.table, found.concentration, found.profile, *models]
    if len(found.contrasts):
        rows = found.contrasts
        frames += [rows.loc[rows["ci_low"].notna(), ["interval"]], rows.loc[rows["p"].notna(), ["test"]]]
    holm = len(found.contrasts) > 0 and bool(found.contrasts["p_adjusted"].notna().any())
    return _with_methods(page, frames, found.table, ["holm"] if holm else [])


def _figures(found: ManyComparison) -> list[HtmlFigure]:
    """The figures of a comparison, with one panel a cell and seeds pooled; several of a kind where cells are many."""
    tables = (found.profile, found.erasure_curves, found.near_ties, found.output)
    chosen = {kind: drawn_rows(kind, *tables) for kind in _CAPTIONS}
    figures = []
    for kind, rows in chosen.items():
        parts = split_cells(_labelled(found, rows)) if len(rows) else []
        title, caption = _CAPTIONS[kind]
        for number, part in enumerate(parts, start=1):
            several = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
            figures.append(HtmlFigure.draw(_draw(kind, part), title + several, caption, signature=found.signature))
    return figures


def _draw(kind: str, rows: pd.DataFrame) -> Figure:
    if kind == "rank":
        return rank_figure(rows)
    if kind == "position":
        return position_figure(rows)
    width = ONE_COLUMN if rows["cell"].nunique() <= 4 else TWO_COLUMNS
    return (
        erasure_figure(rows, width=width) if kind == "erasure" else near_tie_figure(rows, panels=("cell",), width=width)
    )


def _shared(found: ManyComparison) -> dict[str, Any]:
    """What all records say of themselves alike."""
    labels = [one.labels for one in found.comparisons]
    return {name: labels[0].get(name) for name in CELL if len({str(each.get(name)) for each in labels}) == 1}


def _labelled(found: ManyComparison, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the columns by which figures tell cells apart: the name of the cell, and what all records share."""
    said = {name: "" if value in _UNSAID else value for name, value in _shared(found).items()}
    model = {"encoder": rows["cell"], "score": ""}
    return rows.assign(**{name: said.get(name, np.nan if name == "temperature" else "") for name in CELL} | model)


def _title(labels: Mapping[str, Any]) -> str:
    named = [str(labels[name]) for name in ("data", "encoder", "score", "normalizer") if labels.get(name)]
    said = [name for name in named if name not in _UNSAID]
    return "Attention and information" + (f": {', '.join(said)}" if said else "")


def _table(frame: pd.DataFrame, columns: Sequence[str]) -> HtmlTable:
    title, short = "Agreement of attention with other orders", "Agreement"
    explain = {name: text for name, text in _EXPLAIN.items() if name in columns}
    headers = {"estimate": "tau-b", "n_instances": "instances"}
    return HtmlTable(frame, title, note=_NOTE, columns=columns, headers=headers, explain=explain, short=short)


def _concentration(frame: pd.DataFrame, columns: Sequence[str]) -> HtmlTable:
    title, headers = "Concentration of the attention", {"estimate": "estimate"}
    return HtmlTable(frame, title, columns=columns, headers=headers, short="Attention")


def _erasure(rows: pd.DataFrame, further: Sequence[str], labels: Sequence[str] = ()) -> HtmlTable:
    columns = [*labels, "order", "output", "state", "measure", "estimate", "ci_low", "ci_high", "unit", *further]
    headers = {"estimate": "estimate"}
    title = "How soon does erasing in an order change the prediction?"
    note = "An order minus attention, area: above 0 it changes the prediction sooner than the order of attention does."
    return HtmlTable(rows, title, note=note, columns=columns, headers=headers, short="Erasure")


def _sentences(rows: pd.DataFrame, output: str, labels: Sequence[str]) -> list[HtmlSentence]:
    """The agreement of each alignment, about the output asked for."""
    wanted = rows[rows["order"].isin(["informativeness", "mutual information"]) & (rows["output"] == output)]
    wanted = wanted[wanted["estimand"].isin(["pointwise", "instance", "position", "rank"])]
    for name, value in _MAIN.items():
        wanted = wanted[wanted[name] == value]
    columns = ["estimand", "measure", "order", "output", "state", "estimate", "ci_low", "ci_high", "null", "null_mean"]
    columns += ["p", "reliability", "ceiling", "n_seeds", "n_instances", "reason", *labels]
    # One record is one run, which the sentence need not count.
    kept = wanted.reindex(columns=columns)
    return [
        HtmlSentence.from_row(row, heading=", ".join(str(row[name]) for name in labels)) for _, row in kept.iterrows()
    ]


def _instances(found: Comparison, record: AttentionRecord) -> HtmlInstances:
    if "informativeness" not in found.positions:
        raise ValueError("there is no pointwise information to shade a text by; compare with the alignment 'instance'")
    if record.n_rows != len(found.positions) or not np.array_equal(record.attention, found.positions["attention"]):
        raise ValueError("record is not the one that was compared: its attention is another; give that record")
    values = found.instances
    wanted = _MAIN | {"estimand": "pointwise", "order": "informativeness", "output": found.output}
    for name, value in wanted.items():
        values = values[values[name] == value]
    tau: FloatArray = values.set_index("instance")["value"].reindex(range(record.n_instances)).to_numpy(dtype=float)
    return HtmlInstances.from_record(
        record,
        found.positions["informativeness"],
        title=_title(found.labels),
        classes=[str(name) for name in record.meta.get("classes", ())],
        measures={"tau-b": tau},
        note=f"Informativeness about the {found.output}.",
    )


def _with_methods(
    page: HtmlPage, frames: Iterable[pd.DataFrame], rows: pd.DataFrame, tests: Sequence[str] = ()
) -> HtmlPage:
    erased = bool((rows["estimand"] == "erasure").any())
    kept = [
        frame[~frame["estimand"].isin(["erasure", "control"])] if "estimand" in frame else frame for frame in frames
    ]
    usage = Usage.from_frames(*kept, tests=tests, audits=["erasure"] if erased else [])
    unsaid = {kind: tuple(n for n in names if n not in _UNSAID) for kind, names in vars(usage).items()}
    usage = Usage(**unsaid)
    extra: dict[str, dict[str, Method]] = {}
    for kind, name in usage.unknown():
        extra.setdefault(kind, {})[name] = Method(name.replace("_", " "))
    keys = cited(usage, extra=extra)
    return replace(
        page,
        methods=methods_paragraph(usage, extra=extra),
        references=reference_list(keys),
        bibtex=bibtex(keys),
    )
