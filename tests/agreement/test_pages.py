"""One page of a comparison: every part is there, its numbers are the table's, and a wrong record is refused."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mi_attention.agreement import compare, compare_arrays, compare_many
from mi_attention.agreement.pages import comparison_page, many_page
from mi_attention.report import format_interval
from tests.agreement.synthetic import QUICK, make_record

OPTIONS = {"null_draws": 19, "estimator": QUICK}


@pytest.fixture(scope="module")
def record():
    return make_record(
        n=120, positions=5, hidden_size=3, meta={"data": "sst2", "encoder": "mlp", "classes": ["a", "b"]}
    )


@pytest.fixture(scope="module")
def found(record):
    return compare(record, **OPTIONS)


@pytest.fixture(scope="module")
def many(record):
    other = make_record(n=120, positions=5, hidden_size=3, seed=1)
    other = replace(other, label=record.label, token_ids=record.token_ids, vocabulary=record.vocabulary)
    return compare_many([record, other], cells=["one", "one"], seeds=[0, 1], alignments=["instance"], **OPTIONS)


def test_the_page_has_every_part(found, record):
    page = comparison_page(found, record, None)
    assert page.title == "Attention and information: sst2, mlp"
    assert [table.short for table in page.tables] == ["Agreement", "Erasure", "Attention"]
    assert [figure.title for figure in page.figures] == [
        "Information by attention rank",
        "Information by position",
        "Erasure",
        "Near ties",
    ]
    for figure in page.figures:
        assert figure.svg.count("<path") > 10
    assert "SST-2" in page.methods
    assert "erasure of attention weights (Serrano and Smith, 2019)" in page.methods
    assert any(text.startswith("Sofia Serrano") for text in page.references)
    assert page.references
    assert len(page.references) == page.bibtex.count("\n@") + 1
    assert any("untrained" in note for note in page.notes)
    (texts,) = page.instances
    np.testing.assert_array_equal(texts.attention, record.attention)
    np.testing.assert_array_equal(texts.informativeness, found.positions["informativeness"])
    assert texts.classes == ["a", "b"]
    own = found.instances
    own = own[(own["order"] == "informativeness") & (own["measure"] == "kendall_tau_b") & (own["state"] == "hidden")]
    own = own[(own["estimand"] == "pointwise") & (own["output"] == "prediction")].sort_values("instance")
    np.testing.assert_allclose(texts.measures["tau-b"], own["value"])


def test_the_sentences_tell_the_rows(found):
    page = comparison_page(found, None, "Mine")
    assert page.title == "Mine"
    assert page.instances == []
    rows = found.table
    rows = rows[(rows["measure"] == "kendall_tau_b") & (rows["output"] == "prediction") & (rows["state"] == "hidden")]
    rows = rows[rows["order"].isin(["informativeness", "mutual information"])]
    rows = rows[rows["estimand"].isin(["pointwise", "instance", "position", "rank"])]
    assert len(page.sentences) == len(rows) == 4
    for sentence, (_, row) in zip(page.sentences, rows.iterrows(), strict=True):
        assert format_interval(row["estimate"], row["ci_low"], row["ci_high"]) in sentence.text
        assert "seed" not in sentence.text
    by_position = next(s.text for s in page.sentences if "by position" in s.text)
    assert "partner" not in by_position


def test_three_lines_from_arrays_to_a_page(record, tmp_path):
    arrays = {"lengths": record.lengths, "alignments": ["instance"], "label": record.label}
    comparison = compare_arrays(record.hidden, record.attention, record.output, **arrays, **OPTIONS)
    text = comparison.to_html(tmp_path / "page.html").read_text()
    # What a record does not say is not made up.
    assert "<title>Attention and information</title>" in text
    assert "as given" not in text
    assert "states" in text


def test_the_texts_in_the_file_are_the_record(found, record, tmp_path):
    path = found.to_html(tmp_path / "page.html", record)
    data = json.loads(re.search(r'id="data">(.*?)</script>', path.read_text())[1])[0]
    weights = np.frombuffer(base64.b64decode(data["attention"]), "<f4")
    np.testing.assert_array_equal(weights, record.attention.astype("<f4"))
    ids = np.frombuffer(base64.b64decode(data["ids"]), "<u2")
    words = [record.vocabulary[token] for token in record.token_ids]
    assert [data["vocabulary"][place] for place in ids] == words


def test_a_record_that_was_not_compared_is_refused(found, record, tmp_path):
    with pytest.raises(ValueError, match="not the one that was compared"):
        found.to_html(tmp_path / "page.html", make_record(n=120, positions=5, hidden_size=3, seed=5))
    with pytest.raises(ValueError, match="has no tokens"):
        found.to_html(tmp_path / "page.html", replace(record, token_ids=None, vocabulary=()))
    without = compare(record, alignments=["rank"], **OPTIONS)
    with pytest.raises(ValueError, match="compare with the alignment 'instance'"):
        without.to_html(tmp_path / "page.html", record)
    assert not (tmp_path / "page.html").exists()


def test_several_records_on_one_page(many, record, tmp_path):
    page = many_page(many, record, None)
    (sentence,) = page.sentences
    assert sentence.heading == "one"
    assert sentence.text.startswith("Over 2 seeds and 120 instances, tau-b between attention and pointwise")
    assert page.tables[0].frame["cell"].tolist() == ["one"] * len(page.tables[0].frame)
    assert "seeds crossed with instances" in page.methods
    assert len(page.instances) == 1
    assert many.to_html(tmp_path / "page.html").stat().st_size > 10_000
    with pytest.raises(ValueError, match="not the one that was compared"):
        many.to_html(tmp_path / "other.html", make_record(n=120, positions=5, hidden_size=3, seed=1))


@pytest.fixture(scope="module")
def two_cells(record):
    """Two cells of two seeds with every figure."""
    records = [make_record(n=70, positions=3, hidden_size=2, seed=seed) for seed in range(4)]
    shared = {name: getattr(records[0], name) for name in ("label", "token_ids", "vocabulary")}
    names = ["mlp", "mlp", "bilstm", "bilstm"]
    records = [
        replace(one, **shared, meta={**record.meta, "encoder": name}) for one, name in zip(records, names, strict=True)
    ]
    return compare_many(records, alignments=["position", "rank", "instance"], ranks=2, **OPTIONS)


def test_several_records_have_the_figures_of_one(two_cells, found):
    page = many_page(two_cells, None, None)
    assert page.title == "Attention and information: sst2"
    assert [figure.title for figure in page.figures] == [f.title for f in comparison_page(found, None, None).figures]
    for figure in page.figures:
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)
        assert {"MLP", "BiLSTM"} <= set(texts), figure.title
        # What only some of the records say stands above no figure.
        assert not any("states" in text or "as given" in text for text in texts)
    erasure = next(table for table in page.tables if table.short == "Erasure")
    shown = erasure.frame[(erasure.frame["order"] == "random minus attention") & (erasure.frame["output"] == "")]
    assert shown["cell"].tolist() == ["mlp", "bilstm"]


def test_the_curves_of_a_page_are_the_pooled_ones(two_cells, monkeypatch):
    drawn = {}
    monkeypatch.setattr("mi_attention.agreement.pages._draw", lambda kind, rows: drawn.setdefault(kind, rows))
    monkeypatch.setattr("mi_attention.report.HtmlFigure.draw", lambda figure, *_, **__: figure)
    many_page(two_cells, None, None)
    curves = drawn["erasure"]
    assert set(curves["order"]) == {"attention", "random", "informativeness", "mutual information"} | {
        "attended head evidence"
    }
    assert not curves.duplicated(["cell", "order", "share"]).any()
    assert (curves["n_seeds"] == 2).all()
    assert set(drawn["rank"]["seed"]) == {0, 1}
    assert set(drawn["near ties"]["output"]) == {"prediction"}


def test_many_cells_are_several_figures(two_cells, monkeypatch):
    monkeypatch.setattr("mi_attention.agreement.pages._draw", lambda *_: Figure())
    frames = {
        name: pd.concat(
            [getattr(two_cells, name).query("cell == 'mlp'").assign(cell=f"cell {k}") for k in range(13)],
            ignore_index=True,
        )
        for name in ("erasure_curves", "near_ties")
    }
    nothing = two_cells.profile.iloc[:0]
    titles = [figure.title for figure in many_page(replace(two_cells, profile=nothing, **frames), None, None).figures]
    assert titles == [f"{name} ({k} of 2)" for name in ("Erasure", "Near ties") for k in (1, 2)]
