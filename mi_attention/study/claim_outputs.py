"""What a script leaves of its claims: tables, a figure, the claims in words with their numbers, and a manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from mi_attention.report import atomic_path, save_figure, sentence, write_latex, write_table
from mi_attention.report.sentences import MEASURES
from mi_attention.study.answers import CONFIRMATORY, apart, verdict_of
from mi_attention.study.cell import hardware, versions
from mi_attention.study.claims import Question
from mi_attention.study.collection import Collection
from mi_attention.study.commit import source_commit
from mi_attention.study.manifest import without_places
from mi_attention.study.run import Plan
from mi_attention.study.store import CellStore

__all__ = ["claim_facts", "claim_sentence", "write_claims"]

INTERVALS = [("estimate", "ci_low", "ci_high")]
HEADERS = {
    "number": "claim",
    "contrast": "contrast",
    "measure": "measure",
    "estimate": "estimate",
    "n_seeds": "seeds",
    "p": "p",
    "p_adjusted": "p (Holm)",
    "reliability": "reliab.",
    "ceiling": "ceiling",
    "detection_limit": "limit",
    "p_against_adjusted": "p against",
    "verdict": "verdict",
    "finding": "finding",
    "size": "size",
}
_TAKEN = (
    "direction",
    "reference",
    "verdict",
    "estimate",
    "ci_low",
    "ci_high",
    "level",
    "n_seeds",
    "n_instances",
    "n_data",
    "test",
    "p",
    "p_adjusted",
    "effect_unit",
    "reliability",
    "ceiling",
    "reason",
)


def claim_sentence(row: Mapping[Any, Any]) -> str:
    """One contrast of a claim as a sentence: verdict, estimate, interval, test and all that stands beside them."""
    shown = {name: row[name] for name in _TAKEN if name in row}
    about = ", ".join(str(row[name]) for name in ("order", "output", "state") if row[name])
    kind = "difference in " if " − " in str(row["contrast"]) else ""
    kind = "slope on log level of " if str(row["contrast"]).startswith("along ") else kind
    measure = MEASURES.get(str(row["measure"]), str(row["measure"]).replace("_", " "))
    shown["quantity"] = f"{kind}{measure}" + (f" ({about})" if about else "")
    shown["quantity"] += f" minus that of {row['minus']}" if row["minus"] else ""
    shown |= {"claim": f"{row['claim']}: {row['contrast']}", "margin": row["matters"]}
    bounds = ("_low", "_high")
    controls = {
        str(name): value
        for name, value in row.items()
        if str(name).startswith("control_") and not str(name).endswith(bounds)
    }
    limits = {"control_least_that_matters": row["matters"], "control_detection_limit_in_nats": row["detection_limit"]}
    shown |= controls | limits
    return sentence(shown, "claim", digits=3)


def write_claims(
    question: Question,
    answers: pd.DataFrame,
    estimates: pd.DataFrame,
    figure: Figure,
    target: Path,
    facts: Mapping[str, Any],
    *,
    tables: Mapping[str, pd.DataFrame] | None = None,
    say: Callable[[str], None] = print,
) -> list[Path]:
    """Write the folder of a script's results and say its sentences.

    Args:
        question: What it settles.
        answers: ``answer`` of every claim.
        estimates: What they were made from, over seeds.
        figure: The figure.
        target: The folder.
        facts: For the manifest.
        tables: File name → further table.
        say: Told the sentences.

    Returns:
        The files: ``table`` (answers), ``estimates`` and further tables as CSV and Parquet, ``table.tex``, ``figure``
        in three formats, ``claim.json``, ``manifest.json``.
    """
    target.mkdir(parents=True, exist_ok=True)
    order = {claim.claim: number for number, claim in enumerate(question.claims, 1)}
    numbered = answers.assign(number=answers["claim"].map(order))
    signature = " ".join(f"{name} {number}" for name, number in sorted(dict(facts["versions"]).items()))
    written = []
    for name, frame in {"table": numbered, "estimates": estimates, **(tables or {})}.items():
        if len(frame):
            written += write_table(frame, target / name, signature)
    heads = numbered[numbered["part"] == CONFIRMATORY]
    columns = [name for name in HEADERS if not (heads[name].isna() | (heads[name] == "")).all()]
    columns[columns.index("estimate") + 1 : columns.index("estimate") + 1] = ["ci_low", "ci_high"]
    spoken = "; ".join(f"{number}: {claim}" for claim, number in order.items())
    written.append(
        write_latex(
            heads[columns],
            target / "table.tex",
            caption=f"{question.title}. {spoken}. Estimates over seeds; limit: smallest information (nats) that "
            "would have been detected in half of all cases",
            label=f"tab:{target.name.replace('_', '-')}",
            signature=signature,
            headers={name: text for name, text in HEADERS.items() if name in columns},
            intervals=INTERVALS,
            digits=3,
            wide=True,
            compact=True,
        )
    )
    written += save_figure(figure, target / "figure", signature=signature, title=question.title)
    claims = []
    for claim in question.claims:
        rows = numbered[numbered["claim"] == claim.claim]
        if not len(rows):
            continue
        own = rows[rows["part"] == CONFIRMATORY].to_dict("records")
        verdict, sentences = verdict_of(rows), [claim_sentence(row) for row in own]
        supported = sum(row["verdict"] == "supported" for row in own)
        say(f"\n{verdict.upper()} ({supported} of {len(own)} contrasts; {own[0]['status']}): {claim.claim}")
        for text in sentences:
            say(f"  - {text}")
        contrasts = [_plain(row) | {"sentence": text} for row, text in zip(own, sentences, strict=True)]
        facts_of = {"claim": claim.claim, "verdict": verdict, "status": own[0]["status"], "parts": apart(rows)}
        claims.append(facts_of | {"contrasts": contrasts})
    page: dict[str, Any] = {"title": question.title, "question": question.question, "doubt": question.doubt}
    page |= {"conclusion": question.conclusion, "caption": question.caption, "claims": claims}
    for name, content in {"claim": page, "manifest": dict(facts)}.items():
        with atomic_path(target / f"{name}.json") as temporary:
            text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=name == "manifest")
            temporary.write_text(text + "\n", encoding="utf-8")
        written.append(target / f"{name}.json")
    return written


def claim_facts(collection: Collection, plans: Mapping[str, Plan], directory: Path) -> dict[str, Any]:
    """The manifest of a script's results: studies, seeds, versions, commit, hardware, hashes of data and of weights."""
    store = CellStore(directory / "cells")
    cells = {cell.key: cell for plan in plans.values() for cell in plan.cells}
    stored = {key: found.metadata for key in sorted(cells) if (found := store.read(key)) is not None}
    return {
        "studies": {member.study.name: without_places(member.study) for member in collection.members},
        "missing": list(collection.missing),
        "threads": 1,
        "versions": versions(),
        "commit": source_commit(),
        "hardware": hardware(),
        "data": {cell.data_name: cell.fingerprint for cell in cells.values()},
        "trained_on": {
            cell.data_name: cell.training_fingerprint for cell in cells.values() if cell.training_fingerprint
        },
        "cells": len(cells),
        "cell_commits": dict(
            sorted(Counter(str(facts.get("commit") or "not recorded") for facts in stored.values()).items())
        ),
        "seconds": sum(float(facts["seconds"]) for facts in stored.values()),
        "weights": {key: str(facts.get("record", {}).get("weights", "")) for key, facts in stored.items()},
    }


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row without what is missing, as JSON can hold it."""
    return {str(name): value for name, value in row.items() if not pd.isna(value) and name != "claim"}
