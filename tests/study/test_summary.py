"""The two printed tables: right cells, right numbers, nothing cut."""

from __future__ import annotations

import io
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from mi_attention.study.config import StudyConfig
from mi_attention.study.explanations import SUMMARY_COLUMNS
from mi_attention.study.findings import Findings
from mi_attention.study.summary import BOUNDED, SUMMARY_HEADERS, causal_rows, rank_summary, summary
from mi_attention.study.summary_outputs import write_summaries
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
            LABELS
            | labels
            | row
            | {"reliability": 0.7, "ceiling": 0.86, "undefined_share": 0.25, "n_seeds": 3, "n_instances": 9}
        )
    for order, output, state, value in (
        ("informativeness minus attention", "prediction", "hidden", -0.04),
        ("informativeness minus attention", "label", "hidden", 0.71),
        ("informativeness minus attention", "prediction", "embedding", 0.72),
        ("attended head evidence minus attention", "", "", 0.03),
        ("random minus attention", "", "", -0.16),
        ("random minus attention", "permuted attention", "", -0.11),
        ("informativeness", "prediction", "hidden", 0.73),
    ):
        row = {"estimand": "erasure", "measure": "area", "order": order, "output": output, "state": state}
        row |= {"estimate": value, "ci_low": value - 0.01, "ci_high": value + 0.01, "n_seeds": 3, "n_instances": 8}
        rows.append(LABELS | labels | row)
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
    expected |= {"ceiling": 0.86, "erasure_information": -0.04, "erasure_head": 0.03, "erasure_random": -0.16}
    expected |= {"erasure_permuted": -0.11, "erasure_information_low": -0.05, "erasure_permuted_high": -0.10}
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
        "0.86",
        "ceiling",
        "-0.04 [-0.05, -0.03]",
        "-0.11 [-0.12, -0.10]",
        "one-sided",
        "above 0 it changes the prediction sooner",
    ):
        assert text in shown


def test_nothing_finished_is_said():
    empty = StudyTables(*(pd.DataFrame() for _ in range(6)), output="prediction")
    assert len(summary(empty)) == 0
    assert len(rank_summary(empty)) == 0
    console = Console(record=True, file=io.StringIO())
    print_summary(empty, console)
    assert "No cell has finished" in console.export_text()


def test_every_column_is_explained():
    labels = {*LABELS, "n_seeds"}
    assert set(SUMMARY_COLUMNS) == set(SUMMARY_HEADERS) - labels
    assert set(BOUNDED) <= set(SUMMARY_COLUMNS)


def test_the_causal_check_is_of_the_same_groups_in_the_same_order():
    first, second, third = tables(), tables(encoder="cnn"), tables(encoder="bilstm")
    without = second.agreement[second.agreement["estimand"] != "erasure"]
    agreement = pd.concat([first.agreement, without, third.agreement], ignore_index=True)
    both = replace(first, agreement=agreement)
    found = causal_rows(both)
    assert found["encoder"].tolist() == summary(both)["encoder"].tolist() == ["mlp", "cnn", "bilstm"]
    assert found["estimate"].fillna(9).tolist() == [-0.04, 9, -0.04]
    assert summary(both)["erasure_information"].isna().tolist() == [False, True, False]
    assert set(found["order"]) == {"informativeness minus attention"}


def findings(*parts, profile=None):
    frames = {name: pd.concat([getattr(p, name) for p in parts]) for name in ("agreement", "concentration", "training")}
    whole = replace(parts[0], **frames, profile=pd.DataFrame() if profile is None else profile)
    study = StudyConfig.model_validate(
        {"name": "s", "data": [{"name": "digits"}], "model": {"encoder": "mlp"}, "seeds": [0, 1, 2]}
    )
    return Findings(study, None, whole, pd.DataFrame(), (), "signature")


def test_the_latex_tables_have_the_ceiling_and_the_causal_check(tmp_path):
    written = write_summaries(findings(tables()), tmp_path)
    assert tmp_path / "erasure.tex" in written
    head, row = [line for line in (tmp_path / "summary.tex").read_text().split("\n") if "&" in line]
    cells = dict(zip(head.rstrip("\\ ").split(" & "), row.rstrip("\\ ").split(" & "), strict=True))
    assert cells["ceiling"] == "0.86"
    assert cells["reliab."] == "0.70"
    assert "one-sided" in (tmp_path / "summary.tex").read_text()
    erasure = (tmp_path / "erasure.tex").read_text()
    assert "$-$0.04 [$-$0.05, $-$0.03] & 0.03 [0.02, 0.04] & $-$0.16 [$-$0.17, $-$0.15] & $-$0.11" in erasure
    assert "above 0 the order changes the prediction sooner than attention does" in erasure


def test_without_erasure_there_is_no_table_of_it(tmp_path):
    bare = tables()
    bare = replace(bare, agreement=bare.agreement[bare.agreement["estimand"] != "erasure"])
    assert tmp_path / "erasure.tex" not in write_summaries(findings(bare), tmp_path)
    console = Console(width=200, record=True, file=io.StringIO())
    print_summary(bare, console)
    assert "erasure" not in console.export_text()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX is installed")
def test_the_latex_tables_fit_a_page(tmp_path):
    cells = [
        (d, e, s) for d in ("planted/keywords", "imdb") for e in ("mlp", "bilstm") for s in ("additive", "scaled_dot")
    ]
    parts = [tables(data=d, encoder=e, score=s) for d, e, s in cells]
    for part in parts:
        # Signs and bounds as wide as they come.
        part.agreement[["ci_low", "ci_high"]] = [-0.88, -0.08]
    known = {"alignment": "rank", "state": "hidden", "ceiling": 1.59, "nats": 1.18}
    outputs = ("prediction", "label", "uniform prediction", "permuted attention")
    profile = pd.DataFrame(
        LABELS | {"data": d, "encoder": e, "score": s, "output": output, "unit_index": k, "seed": 0} | known
        for d, e, s in cells
        for output in outputs
        for k in range(5)
    )
    write_summaries(findings(*parts, profile=profile), tmp_path)
    names = "".join(f"\\input{{{name}}}" for name in ("summary", "controls", "erasure", "ranks", "ranks-controls"))
    text = f"\\documentclass[twocolumn]{{article}}\\usepackage{{booktabs}}\\begin{{document}}{names}\\end{{document}}"
    (tmp_path / "paper.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
