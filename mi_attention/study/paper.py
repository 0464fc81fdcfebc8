r"""What the text of a paper takes from a study: its numbers, how it was made, and the works that this cites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mi_attention.report import (
    METHODS,
    Method,
    Usage,
    bibtex,
    cited,
    methods_paragraph,
    number_commands,
    reference_list,
    write_text,
)
from mi_attention.study.config import DataConfig
from mi_attention.study.contrast_outputs import confirmatory_rows
from mi_attention.study.findings import INTERVALS, Findings

__all__ = ["MethodsText", "methods_of", "write_paper"]

_NUMBERS = r"""% Every number of the summary and of the declared contrasts, named by its row and its column.
% \input{{numbers}} in the preamble; in the text \{example}{{}}.
% Signature: {signature}
"""
_METHODS = r"""% \input{{methods}} where the methods are told; needs natbib and \bibliography{{references}}.
{notes}"""


@dataclass(frozen=True)
class MethodsText:
    """How a study was made, in words.

    Attributes:
        text: A paragraph.
        latex: The same for LaTeX, citing by ``natbib``.
        references: Keys of the works cited.
        undescribed: What was used and has no description and no reference here, in words.
    """

    text: str
    latex: str
    references: tuple[str, ...]
    undescribed: tuple[str, ...]

    @property
    def listed(self) -> list[str]:
        """The works cited, as text."""
        return reference_list(self.references)

    @property
    def bibtex(self) -> str:
        """The works cited, as BibTeX."""
        return bibtex(self.references)


def methods_of(found: Findings) -> MethodsText:
    """The methods of a study, read off its tables and its finished cells.

    What the package has no words for (an author's own data, scores or estimators) goes by its own name, without a
    reference, and is named in ``undescribed``.

    Args:
        found: What the study found, with at least one finished cell.
    """
    usage, extra = _usage(found)
    undescribed = usage.unknown(extra)
    for kind, name in undescribed:
        extra.setdefault(kind, {})[name] = Method(name.replace("_", " "))
    return MethodsText(
        methods_paragraph(usage, extra=extra),
        methods_paragraph(usage, latex=True, extra=extra),
        tuple(cited(usage, extra=extra)),
        tuple(f"{kind}: {name}" for kind, name in undescribed),
    )


def write_paper(found: Findings, target: Path) -> list[Path]:
    """Write ``numbers.tex``, ``methods.tex`` and ``references.bib``.

    Args:
        found: What the study found, with at least one finished cell.
        target: The folder.

    Returns:
        The files.
    """
    blocks = [_commands(found.summary, found.varying, "mi")]
    if len(found.contrasts):
        blocks.append(_commands(_numbers_of_contrasts(found.contrasts), ["family", "contrast"], "difference"))
    example = blocks[0].partition("\\newcommand{\\")[2].partition("}")[0]
    head = _NUMBERS.format(example=example, signature=found.signature)
    methods = methods_of(found)
    notes = "".join(f"% No reference is known for {name}; describe it by hand.\n" for name in methods.undescribed)
    return [
        write_text(head + "\n".join(blocks), target / "numbers.tex"),
        write_text(f"{_METHODS.format(notes=notes)}{methods.latex}\n", target / "methods.tex"),
        write_text(methods.bibtex, target / "references.bib"),
    ]


def _commands(frame: pd.DataFrame, keys: list[str], prefix: str) -> str:
    r"""Commands named by the keys, or by the number of the row where two rows would share a name or have none."""
    frame = frame.drop(columns=[name for name in frame if name not in keys and not _is_number(frame[name])])
    try:
        return number_commands(frame, keys=keys, prefix=prefix, intervals=INTERVALS)
    except ValueError:
        numbered = frame.assign(row=range(1, len(frame) + 1)).drop(columns=keys)
        rows = [" ".join(str(row[key]).split()) for _, row in frame.iterrows() for key in keys]
        named = [", ".join(rows[place : place + len(keys)]) for place in range(0, len(rows), len(keys))]
        comments = "".join(f"% row {number}: {name}\n" for number, name in enumerate(named, start=1))
        return comments + number_commands(numbered, keys=["row"], prefix=f"{prefix}Row", intervals=INTERVALS)


def _is_number(column: pd.Series[float]) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _numbers_of_contrasts(contrasts: pd.DataFrame) -> pd.DataFrame:
    names = ("family", "contrast", "estimate", "ci_low", "ci_high", "n_seeds", "p", "p_adjusted", "margin")
    return confirmatory_rows(contrasts)[list(names)].dropna(axis=1, how="all").reset_index(drop=True)


def _usage(found: Findings) -> tuple[Usage, dict[str, dict[str, Method]]]:
    tables = found.tables
    agreement = tables.agreement
    outputs = set(agreement["output"])
    audits = {
        "erasure": (agreement["estimand"] == "erasure").any(),
        "permutation": "permuted attention" in outputs,
        "uniform": "uniform prediction" in outputs,
        "conicity": agreement["measure"].str.contains("conicity").any(),
    }
    tests = {"holm": len(found.contrasts) > 0, "permutation_null": len(tables.long_table("refitted_nulls")) > 0}
    # Its measures are those of the erasure, which the audits name.
    measured = agreement[~agreement["estimand"].isin(["erasure", "control"])].drop(columns="data")
    frames = [measured, tables.concentration.drop(columns="data", errors="ignore")]
    frames += [frame[["signature"]] for frame in (tables.profile,) if len(frame) and "signature" in frame]
    if len(found.contrasts):
        # An interval and a test were used where they gave a number: there is no BCa below eight seeds.
        rows = found.contrasts
        frames += [rows.loc[rows["ci_low"].notna(), ["interval"]], rows.loc[rows["p"].notna(), ["measure", "test"]]]
    data = _data(found)
    usage = Usage.from_frames(
        *frames,
        data=data,
        tests=[name for name, used in tests.items() if used],
        audits=[name for name, used in audits.items() if used],
    )
    return usage, {"data": {name: method for name, method in data.items() if method is not None}}


def _data(found: Findings) -> dict[str, Method | None]:
    """Name in the tables → the description of the source where the package has one."""
    done = set(found.tables.runs.loc[found.tables.runs["status"] == "ok", "key"])
    names: dict[str, Method | None] = {}
    for cell in found.plan.cells:
        if cell.key not in done:
            continue
        names[cell.data_name] = _described(cell.data, cell.data_name)
        other = cell.data.train_on
        if other is not None:
            names.setdefault(other.label, _described(other, other.label))
    return names


def _described(source: DataConfig, name: str) -> Method | None:
    known: Mapping[str, Method] = METHODS["data"]
    method = known.get(source.name.removeprefix("hub/") if source.name else Path(source.path or "").stem)
    if method is None or source.title is None:
        return method
    return Method(f"{name} ({method.words})", method.references)
