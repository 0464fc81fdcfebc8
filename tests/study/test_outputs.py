"""What a study leaves to read: one page, the files of a paper, and no text that was not asked for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from mi_attention import cli
from mi_attention.report import REFERENCES, format_interval, format_number, read_table, to_markdown
from mi_attention.study.contrasts import contrasts_of
from mi_attention.study.declared import declarations
from mi_attention.study.drawings import drawings_of
from mi_attention.study.findings import Findings
from mi_attention.study.html import html_page, write_study_html
from mi_attention.study.outputs import write_outputs
from mi_attention.study.paper import methods_of
from mi_attention.study.run import load_plan
from mi_attention.study.store import CellStore
from mi_attention.study.tables import collect
from mi_attention.study.texts import MOST_INSTANCES, browsed_texts
from tests.report.browser import Browser, find_chromium
from tests.report.pages import HOSTILE

STUDY = """
name = "outputs"
description = "Is <b>everything</b> told?"
seeds = [0, 1, 2, 3, 4, 5]
[[data]]
name = "planted/keyword"
n = [100, 50, 200]
[[data]]
path = "secret_reviews.jsonl"
[model]
encoder = "mlp"
score = ["additive", "scaled_dot"]
units = 4
[training]
epochs = 2
learning_rate = 0.05
[analysis]
alignments = "instance"
null_draws = 19
estimator_options = { members = ["linear"], folds = 4 }
claims = ["Additive attention follows information more closely."]
[[analysis.families]]
name = "scores"
claim = "The scores differ"
factor = "score"
average = ["data"]
contrasts = [["additive", "scaled_dot"]]
"""
# A word that must not leave the machine, and others that try to be markup.
SECRET = "confidentialword"


def restricted_rows():
    random = np.random.default_rng(0)
    words = ["good", "bad", "plot", "film", SECRET, *HOSTILE[:5]]
    rows = []
    for split, n in (("train", 80), ("dev", 30), ("test", 60)):
        for i in range(n):
            label = ("no", "yes")[i % 2]
            chosen = [words[k] for k in random.integers(2, len(words), 6)]
            rows.append({"text": [("bad", "good")[i % 2], *chosen], "label": label, "split": split})
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The study, run by the command line, restricted texts among its data."""
    folder = tmp_path_factory.mktemp("outputs")
    lines = [json.dumps({**row, "text": " ".join(row["text"])}) for row in restricted_rows()]
    (folder / "secret_reviews.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "s.toml").write_text(STUDY)
    assert cli.main(["study", str(folder / "s.toml"), "--output", str(folder / "out"), "--workers", "1"]) == 0
    return folder


@pytest.fixture(scope="module")
def out(folder):
    return folder / "out"


@pytest.fixture(scope="module")
def found(out):
    study, plan = load_plan(out)
    store = CellStore(out / "cells")
    tables = collect(plan.cells, store)
    declared = tuple(declarations(out))
    return Findings(study, plan, tables, contrasts_of(study, tables, declared, store), declared, "signature")


def page_of(found, texts=None):
    return html_page(found, [], browsed_texts(found, CellStore("nowhere"), texts))


def numbers_in(text):
    """Numbers as a table shows them: not those inside names and words."""
    return re.findall(r"(?<![\w.])[-−]?\d[\d,]*\.\d+|(?<![\w.])[-−]?\.\d+|(?<![\w.])\d[\d,]*(?![\w.%])", text)


def test_everything_is_there_and_the_manifest_knows_it(out):
    manifest = json.loads((out / "manifest.json").read_text())
    for name in ("report.html", "report.md", "numbers.tex", "methods.tex", "references.bib", "contrasts.tex"):
        assert name in manifest["files"]
    present = {
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file() and "cells" not in path.parts
    }
    assert set(manifest["files"]) == present - {"manifest.json", "study.json", "analysis.json"}


def test_every_number_of_a_sentence_is_a_number_of_its_table(found):
    page = page_of(found)
    assert len(page.sentences) == 1 + 1 + 2 * 2
    assert len(page.details) == len(found.summary) == 4
    # The whole agreement table, each number in the format of the tables, and the counts and levels beside it.
    columns = ["estimate", "ci_low", "ci_high", "null_mean", "p", "reliability", "ceiling", "n_seeds", "n_instances"]
    shown = to_markdown(found.agreement[columns]) + to_markdown(found.contrasts[["estimate", "ci_low", "ci_high"]])
    shown += to_markdown(found.contrasts[["p", "p_adjusted", "n_seeds"]])
    shown += to_markdown(found.causal[["estimate", "ci_low", "ci_high", "n_seeds", "n_instances"]])
    known = set(numbers_in(shown)) | {"95", "0.95"}
    for one in (*page.sentences[1:], *page.details):
        told = numbers_in(one.text)
        assert told, one.text
        assert set(told) <= known, one.text


def test_the_range_names_the_lowest_and_the_highest_of_each_data_set(found):
    for sentence, data in zip(page_of(found).sentences[-4::2], ("planted/keyword", "secret_reviews"), strict=True):
        rows = found.agreement[found.agreement["data"] == data].set_index("score")["estimate"]
        assert f"instances of {data}, tau-b" in sentence.text
        low, high = sentence.text.split("lowest at")[1].split("highest at")
        assert f"({rows.idxmin()})" in low
        assert f"({rows.idxmax()})" in high
        assert low.split()[0] == format_number(rows.min())


def test_the_causal_check_stands_beside_every_headline(found, out):
    page = page_of(found)
    for sentence, data in zip(page.sentences[-3::2], ("planted/keyword", "secret_reviews"), strict=True):
        rows = found.causal[found.causal["data"] == data].set_index("score")["estimate"]
        low, high = sentence.text.split("lowest at")[1].split("highest at")
        assert low.split()[0] == format_number(rows.min())
        assert high.split()[0] == format_number(rows.max())
    said = (out / "report.md").read_text()
    for detail, (_, row) in zip(page.details, found.causal.iterrows(), strict=True):
        assert detail.text.count("Over 6 seeds") == 2
        interval = format_interval(row["estimate"], row["ci_low"], row["ci_high"])
        assert f"the difference of the areas under the two curves was {interval}" in detail.text
        assert detail.text in said
        assert f" {interval} |" in said.split("## In words")[0]
    columns = page.tables[0].columns
    for name in ("erasure_information", "erasure_permuted"):
        place = columns.index(name)
        assert columns[place : place + 3] == [name, f"{name}_low", f"{name}_high"]
    assert "ceiling" in columns


def test_a_declared_contrast_has_a_verdict_and_a_claim_in_words_none(found):
    claim, contrast = page_of(found).sentences[:2]
    assert claim.text == "Additive attention follows information more closely. (confirmatory)"
    assert claim.verdict == ""
    row = found.contrasts.iloc[0]
    assert contrast.heading == "The scores differ (confirmatory)"
    expected = "supported" if row["rejected"] == "yes" and row["ci_low"] * row["ci_high"] > 0 else "undecided"
    assert contrast.verdict == expected
    assert "additive and scaled_dot" in contrast.text
    assert format_number(row["estimate"]) in contrast.text


def write_page(found, out, target, texts):
    """The page alone, with the figures that are there."""
    browsed = browsed_texts(found, CellStore(out / "cells"), texts)
    return write_study_html(found, drawings_of(found.tables, out / "figures"), browsed, target)


def texts_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), flags=re.DOTALL)[1])


def test_restricted_texts_stay_out_unless_asked_for(found, out, tmp_path):
    written = [path for path in out.rglob("*") if path.is_file()]
    assert out / "report.html" in written
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "secret_reviews: its texts do not come with this package and are not shown; --texts shows them" in page
    assert [entry["title"] for entry in texts_of(out / "report.html")] == ["planted/keyword, mlp"]
    none = write_page(found, out, tmp_path, False)
    assert texts_of(none) == []
    assert "Texts are not shown, as was asked for." in none.read_text(encoding="utf-8")
    every = write_page(found, out, tmp_path, True)
    assert [entry["title"] for entry in texts_of(every)] == ["planted/keyword, mlp", "secret_reviews, mlp"]
    assert SECRET in every.read_text(encoding="utf-8")


@pytest.mark.parametrize(("flags", "texts"), [([], None), (["--texts"], True), (["--no-texts"], False)])
def test_the_command_line_passes_the_choice_on(found, out, monkeypatch, capsys, flags, texts):
    asked = []
    monkeypatch.setattr("mi_attention.study.tables.collect", lambda *_, **__: found.tables)
    monkeypatch.setattr("mi_attention.study.outputs.write_outputs", lambda *_, **named: asked.append(named["texts"]))
    assert cli.main(["report", str(out), *flags]) == 0
    assert cli.main(["study", str(out.parent / "s.toml"), "--output", str(out), "--workers", "1", *flags]) == 0
    assert asked == [texts, texts]
    assert "pages report.html and report.md" in capsys.readouterr().out


def test_texts_are_the_words_beside_their_own_numbers(out, found):
    planted, reviews = browsed_texts(found, CellStore(out / "cells"), True).instances
    cell = next(cell for cell in found.plan.cells if cell.data_name == "secret_reviews")
    stored = CellStore(out / "cells").read(cell.key)
    positions = stored.table("positions")
    rows = [row for split in ("dev", "test") for row in restricted_rows() if row["split"] == split]
    words = [reviews.vocabulary[token] for token in reviews.token_ids]
    starts = [words[i] for i in reviews.offsets[:-1]]
    assert starts == [row["text"][0] for row in rows]
    np.testing.assert_array_equal(reviews.attention, positions["attention"])
    np.testing.assert_array_equal(reviews.informativeness, positions["informativeness"])
    assert [reviews.classes[label] for label in reviews.label] == [row["label"] for row in rows]
    instances = stored.table("instances")
    own = instances[(instances["order"] == "informativeness") & (instances["measure"] == "kendall_tau_b")]
    own = own[(own["estimand"] == "pointwise") & (own["output"] == "prediction") & (own["state"] == "hidden")]
    np.testing.assert_array_equal(reviews.measures["tau-b"], own.sort_values("instance")["value"])
    # 250 planted sequences are more than a set holds: every part of the data is there.
    assert planted.n_instances == MOST_INSTANCES
    assert planted.note.startswith("200 of 250 instances, at equal distances.")


def test_texts_that_changed_or_are_gone_are_named_not_guessed(folder, out, found):
    file = folder / "secret_reviews.jsonl"
    kept = file.read_text()
    store = CellStore(out / "cells")
    from mi_attention.study import cell

    try:
        file.write_text(kept.replace("plot", "play"))
        cell._load.cache_clear()
        (note,) = browsed_texts(found, store, True).notes
        assert note == "secret_reviews: its texts are not shown: the data have changed since the cells were made"
        file.unlink()
        cell._load.cache_clear()
        (note,) = browsed_texts(found, store, True).notes
        assert "there is no file" in note
    finally:
        file.write_text(kept)
        cell._load.cache_clear()
    assert browsed_texts(found, store, True).notes == ()


def commands(path):
    return dict(re.findall(r"\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}\n", path.read_text()))


def test_the_numbers_are_those_of_the_tables(out):
    found = commands(out / "numbers.tex")
    summary, _ = read_table(out / "summary.parquet")
    row = summary[(summary["data"] == "planted/keyword") & (summary["score"] == "scaled_dot")].iloc[0]
    assert found["miPlantedKeywordScaledDotTau"].replace("$-$", "-") == format_number(row["tau"])
    assert found["miPlantedKeywordScaledDotNInstances"] == "250"
    contrasts, _ = read_table(out / "contrasts.parquet")
    estimate = found["differenceScoresAdditiveScaledDotEstimate"].replace("$-$", "-")
    assert estimate == format_number(contrasts["estimate"].iloc[0])
    # Every number that the LaTeX table prints has a command.
    table = (out / "summary.tex").read_text().split(r"\midrule")[1].split(r"\bottomrule")[0]
    values = "|".join(found.values())
    for number in re.findall(r"\d+\.\d\d", table.replace(r"\phantom{0}", "")):
        assert number in values


def test_rows_without_a_name_of_their_own_are_numbered(found):
    from mi_attention.study.paper import _commands

    frame = pd.DataFrame({"data": ["映画", "a_b", "a b"], "tau": [0.5, -0.25, 1.0]})
    text = _commands(frame, ["data"], "mi")
    assert "% row 1: 映画\n% row 2: a_b\n" in text
    assert re.findall(r"\\(\w+)\}\{(.*)\}", text) == [
        ("miRowOneTau", "0.50"),
        ("miRowTwoTau", "$-$0.25"),
        ("miRowThreeTau", "1.00"),
    ]


def test_the_methods_are_of_what_was_used(out, found):
    methods = methods_of(found)
    assert methods.undescribed == ("data: secret_reviews",)
    assert methods.text.startswith("The data are generated sequences with one keyword and secret reviews.")
    named = ("scaled dot-product", "sign-flip tests of paired differences", "Holm's correction", "another instance")
    for words in (*named, "erasure"):
        assert words in methods.text
    for words in ("bidirectional", "entmax", "circular shifts", "bias-corrected", "nearest neighbours"):
        assert words not in methods.text
    assert "% No reference is known for data: secret_reviews" in (out / "methods.tex").read_text()
    keys = re.findall(r"^@\w+\{(\w+),", (out / "references.bib").read_text(), flags=re.MULTILINE)
    used = re.findall(r"\\citep\{([^}]*)\}", (out / "methods.tex").read_text())
    assert sorted({key for group in used for key in group.split(",")}) == keys
    assert set(keys) <= set(REFERENCES)


def test_what_an_earlier_run_left_is_removed(found, out, tmp_path):
    for name in ("report.html", "numbers.tex", "methods.tex", "references.bib", "contrasts.tex"):
        (tmp_path / name).write_text("of yesterday")
    empty = collect(found.plan.cells, CellStore(tmp_path / "cells"))
    written = write_outputs(found.study, found.plan, empty, tmp_path)
    assert not any((tmp_path / name).exists() for name in ("numbers.tex", "methods.tex", "references.bib"))
    page = (tmp_path / "report.html").read_text()
    assert "0 of 24 cells finished" in page
    assert "of yesterday" not in page
    assert tmp_path / "report.html" in written


@pytest.mark.skipif(shutil.which("pdflatex") is None or shutil.which("bibtex") is None, reason="no TeX is installed")
def test_a_paper_compiles(out, tmp_path):
    for name in ("numbers", "methods", "summary", "controls", "erasure", "contrasts"):
        shutil.copy(out / f"{name}.tex", tmp_path)
    shutil.copy(out / "references.bib", tmp_path)
    (tmp_path / "paper.tex").write_text(
        "\\documentclass[twocolumn]{article}\\usepackage{booktabs}\\usepackage[round]{natbib}\\input{numbers}\n"
        "\\begin{document}\\input{summary}\\input{controls}\\input{erasure}\\input{contrasts}\n\\input{methods}\n\n"
        "\\miPlantedKeywordAdditiveTauInterval{} ($p$ \\differenceScoresAdditiveScaledDotP{}), "
        "Tables~\\ref{tab:outputs} and~\\ref{tab:outputs-contrasts}.\n"
        "\\bibliographystyle{plainnat}\\bibliography{references}\\end{document}\n"
    )
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for command in (latex, ["bibtex", "paper"], latex, latex):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, errors="replace")
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout
    assert "Warning" not in (tmp_path / "paper.blg").read_text(errors="replace")


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed")
def test_the_page_in_a_browser(found, out, tmp_path):
    path = write_page(found, out, tmp_path, True)
    browser = Browser(find_chromium(), tmp_path / "profile")
    try:
        browser.open(path)
        assert browser.evaluate("document.querySelector('.lead').textContent") == "Is <b>everything</b> told?"
        assert browser.evaluate("document.querySelectorAll('script').length") == 2
        # The answer is on the first screen.
        assert browser.evaluate("document.querySelector('#table-1 tbody tr').getBoundingClientRect().bottom < 900")
        keys = "[...document.querySelectorAll('#table-1 tbody tr')].map(r => Number(r.cells[2].dataset.key))"
        unsorted = browser.evaluate(keys)
        browser.click("#table-1 th:nth-child(3) button")
        assert browser.evaluate(keys) == sorted(unsorted, reverse=True)
        assert browser.evaluate(
            "[...document.querySelectorAll('figure img')].every(i => i.complete && i.naturalWidth > 300)"
        )
        browser.evaluate(
            "(() => { const f = document.getElementById('browse').elements.namedItem('set'); f.value = '1';"
            "f.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
        shown = browser.evaluate("document.getElementById('list').textContent")
        assert SECRET in shown
        assert any(word in shown for word in HOSTILE[:5])
        assert browser.evaluate("window.harmed === undefined")
        assert browser.complaints() == []
        assert browser.requests() == [path.as_uri()]
    finally:
        browser.close()
