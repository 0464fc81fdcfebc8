"""The two tables an author reads first, made from the tidy ones: pointwise agreement, and information by rank."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.report import format_number
from mi_attention.study.tables import GROUP_COLUMNS, StudyTables

__all__ = [
    "BOUNDED",
    "ERASURE",
    "RANK_HEADERS",
    "SUMMARY_HEADERS",
    "causal_rows",
    "rank_headers",
    "rank_summary",
    "summary",
]

ERASURE = ("erasure_information", "erasure_head", "erasure_random", "erasure_permuted")
"""Columns of the causal check: areas under curves of erasure less that of attention."""
BOUNDED = ("tau", "excess", *ERASURE)
"""Columns with an interval, its bounds in ``NAME_low`` and ``NAME_high``."""

SUMMARY_HEADERS = {
    "data": "data",
    "encoder": "encoder",
    "score": "score",
    "normalizer": "normaliser",
    "temperature": "T",
    "freeze": "frozen",
    "n_seeds": "seeds",
    "accuracy": "accuracy",
    "majority": "majority",
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
    "ceiling": "ceiling",
    "erasure_information": "erasure: information",
    "erasure_head": "erasure: a·|w·h|",
    "erasure_random": "erasure: random",
    "erasure_permuted": "erasure: random, permuted attention",
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
    """One group of seeds a row: pointwise tau-b with the controls a claim rests on, and the causal check beside it.

    Args:
        tables: The study's tables.

    Returns:
        The group's columns and those of ``SUMMARY_HEADERS``, intervals of ``BOUNDED`` as ``tau_low``, ``tau_high`` and
        so on; columns in which all groups agree on a default are left out.
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
    erased = {
        "erasure_information": ("informativeness minus attention", main, "hidden"),
        "erasure_head": ("attended head evidence minus attention", "", ""),
        "erasure_random": ("random minus attention", "", ""),
        "erasure_permuted": ("random minus attention", "permuted attention", ""),
    }
    measured = {"pointwise": ("kendall_tau_b", wanted), "erasure": ("area", erased)}
    out = tables.agreement[list(GROUP_COLUMNS)].drop_duplicates(ignore_index=True)
    groups = pd.MultiIndex.from_frame(out)
    for name in ("accuracy", "majority"):
        test, dev = (_by_group(tables.training, groups, measure=f"{split}_{name}") for split in ("test", "dev"))
        out[name] = test["estimate"].fillna(dev["estimate"]).to_numpy()
    out["skew"] = _by_group(tables.concentration, groups, measure="normalized_skew")["estimate"].to_numpy()
    for estimand, (measure, rows) in measured.items():
        chosen = tables.agreement
        chosen = chosen[(chosen["estimand"] == estimand) & (chosen["measure"] == measure)]
        for name, (order, output, state) in rows.items():
            found = _by_group(chosen, groups, order=order, output=output, state=state)
            columns = {name: "estimate"}
            if name in BOUNDED:
                columns |= {f"{name}_low": "ci_low", f"{name}_high": "ci_high"}
            if name == "tau":
                columns |= {"p": "p", "partner": "null_mean"}
                columns |= {kept: kept for kept in ("undefined_share", "reliability", "ceiling")}
                columns |= {kept: kept for kept in ("n_seeds", "n_instances")}
            for column, source in columns.items():
                out[column] = found[source].to_numpy()
    return _without_defaults(out)


def causal_rows(tables: StudyTables) -> pd.DataFrame:
    """The causal check of every row of ``summary``, in its order: what a sentence of the kind ``erasure`` is made from.

    Args:
        tables: The study's tables, with agreement.

    Returns:
        Rows of the area of erasing in the order of informativeness about the output, less that of attention's order;
        NaN with its labels where a group has none.
    """
    wanted = {"estimand": "erasure", "measure": "area", "order": "informativeness minus attention"}
    wanted |= {"output": tables.output, "state": "hidden"}
    agreement = tables.agreement
    found = agreement[np.logical_and.reduce([agreement[name] == value for name, value in wanted.items()])]
    groups = agreement[list(GROUP_COLUMNS)].drop_duplicates()
    return groups.merge(found, how="left", on=list(GROUP_COLUMNS)).assign(**wanted)


def rank_summary(tables: StudyTables) -> pd.DataFrame:
    """One group of seeds a row: mean information in nats by attention rank, as text ``.28 .12 .07``."""
    if "alignment" not in tables.profile:
        return pd.DataFrame(columns=list(RANK_HEADERS))
    names = {"main": tables.output, "label": "label", "uniform": "uniform prediction", "permuted": "permuted attention"}
    if tables.output == "label":
        del names["label"]
    profile = tables.profile
    profile = profile[(profile["alignment"] == "rank") & (profile["state"] == "hidden")]
    if not len(profile):
        return pd.DataFrame(columns=list(RANK_HEADERS))
    out = profile[list(GROUP_COLUMNS)].drop_duplicates(ignore_index=True)
    groups = pd.MultiIndex.from_frame(out)
    main = profile[profile["output"] == tables.output]
    out["ceiling"] = main.groupby(list(GROUP_COLUMNS), sort=False)["ceiling"].mean().reindex(groups).to_numpy()
    for name, output in names.items():
        part = profile[profile["output"] == output]
        means = part.groupby([*GROUP_COLUMNS, "unit_index"], sort=False)["nats"].mean().reset_index()
        means = means.sort_values("unit_index", kind="stable")
        texts: dict[tuple[Any, ...], list[str]] = {}
        for *group, value in zip(*(means[column].tolist() for column in (*GROUP_COLUMNS, "nats")), strict=True):
            texts.setdefault(tuple(group), []).append(_short(value))
        out[name] = [" ".join(texts.get(tuple(group), [])) or "–" for group in groups]
    return _without_defaults(out)


def _short(value: float) -> str:
    """``.28``: five of them stand in one column."""
    return "–" if np.isnan(value) else re.sub(r"^(-?)0\.", r"\1.", format_number(value))


def _by_group(frame: pd.DataFrame, groups: pd.MultiIndex, **chosen: str) -> pd.DataFrame:
    """The one row of every group that has the values chosen, in the order of the groups; NaN where there is none."""
    columns = ["estimate", "ci_low", "ci_high", "p", "null_mean", "undefined_share", "reliability", "ceiling"]
    columns += ["n_seeds", "n_instances"]
    if not len(frame):
        return pd.DataFrame(np.nan, index=groups, columns=columns)
    same = np.logical_and.reduce([frame[name] == value for name, value in chosen.items()])
    return frame[same].set_index(list(GROUP_COLUMNS)).reindex(index=groups, columns=columns)


def _without_defaults(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the settings that say nothing: no temperature but 1, nothing frozen."""
    for name, default in (("temperature", 1.0), ("freeze", "none")):
        if name in frame and (frame[name] == default).all():
            frame = frame.drop(columns=name)
    return frame
