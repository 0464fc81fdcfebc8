"""The two printed tables: right cells, right numbers, nothing cut."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from mi_attention.study.summary import rank_summary, summary
from mi_attention.study.tables import StudyTables
from mi_attention.study.terminal import print_summary

LABELS = {
    "data": "d",
    "encoder": "mlp",
    "score": "additive",
    "normalizer": "softmax",
    "temperature": 1.0,
    "freeze": "none",
}


def tables(**labels):
    rows = []
    for order, output, state, value in (
        ("informativeness", "prediction", "hidden", 0.31),
        ("informativeness", "label", "hidden", 0.22),
        ("informativeness", "uniform prediction", "hidden", 0.12),
        ("informativeness", "permuted attention", "hidden", 0.01),
        ("informativeness", "prediction minus permuted attention", "hidden", 0.30),
        ("informativeness", "prediction", "embedding", 0.15),
        ("support", "prediction", "hidden", 0.99),
        ("head evidence", "", "", 0.44),
        ("random", "", "", 0.002),
    ):
        row = {"estimand": "pointwise", "measure": "kendall_tau_b", "order": order, "output": output, "state": state}
        row |= {"estimate": value, "ci_low": value - 0.1, "ci_high": value + 0.1, "p": 0.001, "null_mean": 0.05}
        rows.append(
            LABELS | labels | row | {"reliability": 0.7, "undefined_share": 0.25, "n_seeds": 3, "n_instances": 9}
        )
    profile = [
        LABELS
        | labels
        | {"alignment": "rank", "state": "hidden", "output": output, "unit_index": k, "nats": value + seed / 100}
        | {"ceiling": 0.69, "seed": seed}
        for output, values in (("prediction", (0.28, -0.004)), ("label", (1.2, np.nan)))
        for k, value in enumerate(values)
        for seed in (0,)
    ]
    training = [LABELS | labels | {"measure": "test_accuracy", "estimate": 0.8}]
    concentration = [LABELS | labels | {"measure": "normalized_skew", "estimate": 0.42}]
    frames = [pd.DataFrame(part) for part in (rows, profile, concentration, training)]
    return StudyTables(*frames, runs=pd.DataFrame(), notes=pd.DataFrame(), output="prediction")


def test_every_column_holds_its_own_row():
    found = summary(tables()).iloc[0]
    expected = {
        "accuracy": 0.8,
        "skew": 0.42,
        "tau": 0.31,
        "p": 0.001,
        "partner": 0.05,
        "permuted": 0.01,
        "excess": 0.30,
    }
    expected |= {"label": 0.22, "uniform": 0.12, "embedding": 0.15, "head": 0.44, "random": 0.002, "reliability": 0.7}
    expected |= {"undefined_share": 0.25, "tau_low": 0.21, "excess_high": 0.4}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value), name
    assert "temperature" not in found.index
    assert "freeze" not in found.index


def test_settings_that_differ_are_kept():
    other = tables(temperature=0.5)
    first = tables()
    both = StudyTables(
        *(
            pd.concat([getattr(t, name) for t in (first, other)], ignore_index=True)
            for name in ("agreement", "profile")
        ),
        concentration=pd.concat([first.concentration, other.concentration], ignore_index=True),
        training=pd.concat([first.training, other.training], ignore_index=True),
        runs=pd.DataFrame(),
        notes=pd.DataFrame(),
        output="prediction",
    )
    assert list(summary(both)["temperature"]) == [1.0, 0.5]


def test_information_by_rank_is_the_mean_over_seeds_as_text():
    found = rank_summary(tables()).iloc[0]
    assert found["main"] == ".28 .00"
    assert found["label"] == "1.20 –"
    assert found["uniform"] == "–"
    assert found["ceiling"] == pytest.approx(0.69)


def test_the_terminal_shows_every_number_and_says_what_it_means():
    console = Console(width=200, record=True, file=io.StringIO())
    print_summary(tables(), console)
    shown = console.export_text()
    assert "3.00" not in shown
    for text in (
        "0.31 [0.21, 0.41]",
        "0.30 [0.20, 0.40]",
        "0.22",
        ".001",
        "0.44",
        ".28 .00",
        "partner null",
        "not faithfulness",
    ):
        assert text in shown


def test_nothing_finished_is_said():
    empty = StudyTables(*(pd.DataFrame() for _ in range(6)), output="prediction")
    assert len(summary(empty)) == 0
    assert len(rank_summary(empty)) == 0
    console = Console(record=True, file=io.StringIO())
    print_summary(empty, console)
    assert "No cell has finished" in console.export_text()
