"""The two tables an author reads first, made from the tidy ones: pointwise agreement, and information by rank."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.report import format_number
from mi_attention.study.tables import GROUP_COLUMNS, StudyTables

__all__ = ["RANK_HEADERS", "SUMMARY_HEADERS", "rank_headers", "rank_summary", "summary"]

SUMMARY_HEADERS = {
    "data": "data",
    "encoder": "encoder",
    "score": "score",
    "normalizer": "normaliser",
    "temperature": "T",
    "freeze": "frozen",
    "n_seeds": "seeds",
    "accuracy": "accuracy",
    "skew": "skew",
    "tau": "tau-b",
    "p": "p",
    "partner": "partner null",
    "permuted": "permuted attention",
    "excess": "excess",
    "label": "gold label",
    "uniform": "uniform attention",
    "embedding": "input embedding",
    "head": "|w·h|",
    "random": "random",
    "reliability": "reliability",
    "undefined_share": "undefined",
}

RANK_HEADERS = {
    "data": "data",
    "encoder": "encoder",
    "score": "score",
    "normalizer": "normaliser",
    "temperature": "T",
    "freeze": "frozen",
    "ceiling": "H(Y)",
    "main": "output",
    "label": "gold label",
    "uniform": "uniform attention",
    "permuted": "permuted attention",
}


def rank_headers(output: str) -> dict[str, str]:
    """Headers of the information by rank, with the name of the output asked for."""
    return RANK_HEADERS | {"main": output}


def summary(tables: StudyTables) -> pd.DataFrame:
    """One group of seeds a row: pointwise tau-b with the controls a claim rests on.

    Args:
        tables: The study's tables.

    Returns:
        The group's columns and those of ``SUMMARY_HEADERS``, intervals as ``tau_low``, ``tau_high``,
        ``excess_low``, ``excess_high``; columns in which all groups agree on a default are left out.
    """
    if not len(tables.agreement):
        return pd.DataFrame(columns=list(SUMMARY_HEADERS))
    main = tables.output
    wanted = {
        "tau": ("informativeness", main, "hidden"),
        "permuted": ("informativeness", "permuted attention", "hidden"),
        "excess": ("informativeness", f"{main} minus permuted attention", "hidden"),
        "label": ("informativeness", "label", "hidden"),
        "uniform": ("informativeness", "uniform prediction", "hidden"),
        "embedding": ("informativeness", main, "embedding"),
        "head": ("head evidence", "", ""),
        "random": ("random", "", ""),
    }
    chosen = tables.agreement
    chosen = chosen[(chosen["estimand"] == "pointwise") & (chosen["measure"] == "kendall_tau_b")]
    rows = []
    for key, group in tables.agreement.groupby(list(GROUP_COLUMNS), sort=False):
        labels: dict[str, Any] = dict(zip(GROUP_COLUMNS, key, strict=True))
        here = chosen.loc[chosen.index.intersection(group.index)]
        row = labels | {"accuracy": _value(tables.training, labels, "test_accuracy", "dev_accuracy")}
        row["skew"] = _value(tables.concentration, labels, "normalized_skew")
        for name, (order, output, state) in wanted.items():
            found = here[(here["order"] == order) & (here["output"] == output) & (here["state"] == state)]
            row[name] = float(found["estimate"].iloc[0]) if len(found) else np.nan
            if name in ("tau", "excess") and len(found):
                row |= {f"{name}_low": found["ci_low"].iloc[0], f"{name}_high": found["ci_high"].iloc[0]}
            if name == "tau" and len(found):
                first = found.iloc[0]
                row |= {"p": first["p"], "partner": first["null_mean"], "undefined_share": first["undefined_share"]}
                row |= {"reliability": first["reliability"], "n_seeds": first["n_seeds"]}
                row |= {"n_instances": first["n_instances"]}
        rows.append(row)
    return _without_defaults(pd.DataFrame(rows))


def rank_summary(tables: StudyTables) -> pd.DataFrame:
    """One group of seeds a row: mean information in nats by attention rank, as text ``.28 .12 .07``."""
    if "alignment" not in tables.profile:
        return pd.DataFrame(columns=list(RANK_HEADERS))
    names = {
        "main": tables.output,
        "label": "label",
        "uniform": "uniform prediction",
        "permuted": "permuted attention",
    }
    profile = tables.profile
    profile = profile[(profile["alignment"] == "rank") & (profile["state"] == "hidden")]
    rows = []
    for key, group in profile.groupby(list(GROUP_COLUMNS), sort=False):
        row: dict[str, Any] = dict(zip(GROUP_COLUMNS, key, strict=True))
        main = group[group["output"] == tables.output]
        row["ceiling"] = float(main["ceiling"].mean())
        for name, output in names.items():
            if name == "label" and tables.output == "label":
                continue
            part = group[group["output"] == output]
            means = part.groupby("unit_index")["nats"].mean() if len(part) else pd.Series(dtype=np.float64)
            row[name] = " ".join(_short(value) for value in means) or "–"
        rows.append(row)
    return _without_defaults(pd.DataFrame(rows, columns=None if rows else list(RANK_HEADERS)))


def _short(value: float) -> str:
    """``.28``: five of them stand in one column."""
    return "–" if np.isnan(value) else re.sub(r"^(-?)0\.", r"\1.", format_number(value))


def _value(frame: pd.DataFrame, labels: dict[str, Any], *measures: str) -> float:
    if not len(frame):
        return float("nan")
    same = np.logical_and.reduce([frame[name] == value for name, value in labels.items()])
    for measure in measures:
        found = frame[same & (frame["measure"] == measure)]
        if len(found):
            return float(found["estimate"].iloc[0])
    return float("nan")


def _without_defaults(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the settings that say nothing: no temperature but 1, nothing frozen."""
    for name, default in (("temperature", 1.0), ("freeze", "none")):
        if name in frame and (frame[name] == default).all():
            frame = frame.drop(columns=name)
    return frame
