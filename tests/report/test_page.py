import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from mi_attention import AttentionRecord
from mi_attention.report import HtmlFigure, HtmlInstances, HtmlPage, HtmlSentence, HtmlTable, render_html, write_html
from mi_attention.report.page.render import _minus
from mi_attention.report.page.table import page_table
from tests.report.pages import HOSTILE, instances, page, table


class Structure(HTMLParser):
    """Elements with their attributes, the text of scripts and styles, and what is between tags."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.raw, self.words, self.inside = [], {}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_comment(self, data):
        self.elements.append(("comment", {}))

    def handle_data(self, data):
        if self.inside in ("script", "style"):
            self.raw.setdefault(self.inside, []).append(data)
        else:
            self.words.append(data)


@pytest.fixture
def whole(profile, tmp_path):
    return page(profile(), tmp_path)


def test_data_make_no_element_and_no_attribute(whole, profile, tmp_path):
    found = Structure(render_html(whole))
    tame = {"title": "t", "description": "d", "methods": "m", "references": ["r"], "bibtex": "b", "notes": ["n"]}
    tame |= {
        "signature": "s",
        "instances": [instances(vocabulary=("a", "b")), instances(vocabulary=("a", "b"), title="u")],
    }
    plain = Structure(render_html(page(profile(), tmp_path, **tame)))
    assert [tag for tag, _ in found.elements] == [tag for tag, _ in plain.elements]
    assert not any(name.startswith("on") or name == "style" for _, attributes in found.elements for name in attributes)
    assert [tag for tag, _ in found.elements].count("script") == 2
    assert "comment" not in [tag for tag, _ in found.elements]
    words = "".join(found.words)
    for text in HOSTILE[:5]:
        assert text in words
    assert "{{ 7 * 7 }}" in words + json.dumps(json.loads(found.raw["script"][0]))


def test_nothing_is_fetched(whole):
    found = Structure(render_html(whole))
    for tag, attributes in found.elements:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            value = attributes.get(name)
            if value is not None and not (tag == "td" or name == "data"):
                assert value.startswith(("data:", "#")), (tag, name, value)
    own = "".join(found.raw["style"]) + found.raw["script"][-1]
    assert "http" not in own
    assert "url(" not in own
    assert "@import" not in own
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|fetch\(|XMLHttp", own
    )


def test_the_policy_allows_our_script_and_style_only(whole):
    found = Structure(render_html(whole))
    policy = next(a["content"] for tag, a in found.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    for name, text in (("script", found.raw["script"][-1]), ("style", found.raw["style"][0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    first = next(place for place, (tag, _) in enumerate(found.elements) if tag in ("script", "style", "img"))
    assert any("http-equiv" in attributes for _, attributes in found.elements[:first])


def read(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype)


def test_the_embedded_texts_are_the_arrays():
    given = instances(n=30)
    text = render_html(HtmlPage("t", instances=[given]))
    raw = Structure(text).raw["script"][0]
    assert not set("<>&\u2028\u2029") & set(raw)
    (got,) = json.loads(raw)
    np.testing.assert_array_equal(read(got["attention"], "<f4"), given.attention.astype("<f4"))
    np.testing.assert_array_equal(read(got["informativeness"], "<f4"), given.informativeness.astype("<f4"))
    np.testing.assert_array_equal(read(got["lengths"], "<u4"), np.diff(given.offsets))
    np.testing.assert_array_equal(read(got["prediction"], "<u4"), given.prediction)
    np.testing.assert_array_equal(read(got["measures"][0]["values"], "<f4"), given.measures["tau-b"].astype("<f4"))
    words = [got["vocabulary"][i] for i in read(got["ids"], "<u2")]
    # Half a surrogate pair is no text and becomes a question mark.
    assert words == [given.vocabulary[i].replace("\ud800", "?") for i in given.token_ids]


def test_a_large_vocabulary_has_wide_ids():
    n = (1 << 16) + 1
    given = HtmlInstances("t", [str(i) for i in range(n)], np.arange(n), np.ones(n), np.ones(n), np.array([0, n]))
    packed = given.packed()
    assert packed["wideIds"]
    np.testing.assert_array_equal(read(packed["ids"], "<u4"), np.arange(n))


def test_the_page_states_its_own_size(whole, tmp_path):
    for number, one in enumerate((HtmlPage("small"), whole, HtmlPage("many", instances=[instances(n=4000, words=60)]))):
        path = write_html(one, tmp_path / f"{number}.html")
        said = re.findall(r"([\d.]+) (kB|MB)\s*</p>\s*</footer>", path.read_text(encoding="utf-8"))
        ((value, unit),) = said
        assert abs(float(value) * {"kB": 1e3, "MB": 1e6}[unit] - path.stat().st_size) <= {"kB": 501, "MB": 50_001}[unit]
    assert "4,000 texts of" in path.read_text(encoding="utf-8")


def test_same_page_same_bytes(whole, tmp_path):
    first, second = (write_html(whole, tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_cells_are_those_of_the_other_tables_and_sort_by_every_digit():
    frame = pd.DataFrame({"x": [0.12345678, 0.12345679, np.nan], "p": [0.0001, 0.5, np.nan], "name": ["a", None, "c"]})
    made = page_table(HtmlTable(frame, "t", explain={"x": "what x is"}))
    assert [[cell.text for cell in row] for row in made.rows] == [
        ["0.12", "<.001", "a"],
        ["0.12", ".500", ""],
        ["–", "–", "c"],
    ]
    assert [row[0].key for row in made.rows] == ["0.12345678", "0.12345679", ""]
    assert made.undefined == "– undefined"
    assert [column.explain for column in made.columns] == ["what x is", "", ""]


def test_intervals_are_drawn_to_one_scale():
    # From -1 to 3 with a twenty-fifth of it on both sides: 4.32 wide, 96 pixels, so 0 is at (0 + 1.16) * 96 / 4.32.
    frame = pd.DataFrame({"estimate": [0.0, 2.0, np.nan], "ci_low": [-1.0, 1.0, np.nan], "ci_high": [1.0, 3.0, np.nan]})
    made = page_table(HtmlTable(frame, "t"))
    first, second, none = (row[0].bar for row in made.rows)
    assert none is None
    np.testing.assert_allclose(
        [first.low, first.at, first.high], [(v + 1.16) * 96 / 4.32 for v in (-1, 0, 1)], atol=0.06
    )
    assert first.zero == second.zero == first.at
    assert second.low == first.high
    far = pd.DataFrame({"estimate": [100.5, 100.5], "ci_low": [100.0, 100.0], "ci_high": [101.0, 101.0]})
    assert page_table(HtmlTable(far, "t")).rows[0][0].bar.zero is None


def test_from_record_takes_tokens_and_predictions():
    record = AttentionRecord.from_arrays(
        [np.zeros((2, 3)), np.zeros((1, 3))],
        [[0.25, 0.75], [1.0]],
        [[0.2, 0.8], [0.9, 0.1]],
        tokens=[["good", "film"], ["bad"]],
        label=[1, 1],
    )
    made = HtmlInstances.from_record(record, [0.1, 0.2, 0.3], title="t", measures={"tau-b": [0.5, np.nan]})
    assert [made.vocabulary[i] for i in made.token_ids] == ["good", "film", "bad"]
    np.testing.assert_array_equal(made.prediction, [1, 0])
    np.testing.assert_allclose(made.probability, [0.8, 0.9])
    assert (made.n_instances, made.n_words) == (2, 3)
    bare = AttentionRecord.from_arrays([np.zeros((2, 3))], [[0.25, 0.75]], [[0.2, 0.8]])
    with pytest.raises(ValueError, match="no tokens"):
        HtmlInstances.from_record(bare, [0.1, 0.2], title="t")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": np.array([0, 2, 2, 5])}, "offsets must increase"),
        ({"attention": np.ones(4)}, "attention must be"),
        ({"attention": np.array([1.0, -1, 1, 1, 1])}, "at least 0"),
        ({"informativeness": np.array([0.1, -0.2, 0, 0, 0])}, "informativeness must be"),
        ({"token_ids": np.array([0, 1, 2, 0, 9])}, "token_ids must index"),
        ({"label": np.array([0, 1])}, "label must be"),
        ({"prediction": np.array([0, 1, 2])}, "classes has 2 names"),
        ({"measures": {"tau-b": np.zeros(2)}}, "tau-b must be"),
    ],
)
def test_bad_instances_are_refused(changes, message):
    parts = {
        "title": "t",
        "vocabulary": ("a", "b", "c"),
        "token_ids": np.array([0, 1, 2, 0, 1]),
        "attention": np.full(5, 0.5),
        "informativeness": np.zeros(5),
        "offsets": np.array([0, 2, 4, 5]),
        "classes": ("no", "yes"),
    }
    HtmlInstances(**parts)
    with pytest.raises(ValueError, match=message):
        HtmlInstances(**{**parts, **changes})


def test_bad_pages_are_refused():
    with pytest.raises(ValueError, match="title is empty"):
        HtmlPage(" ")
    with pytest.raises(ValueError, match="titles of instances must differ"):
        HtmlPage("t", instances=[instances(), instances()])
    with pytest.raises(ValueError, match="no <svg>"):
        HtmlFigure("text", "t")
    with pytest.raises(ValueError, match="verdict must be"):
        HtmlSentence("It is so.", verdict="true")
    with pytest.raises(ValueError, match=r"explain names columns \['y'\]"):
        render_html(HtmlPage("t", tables=[HtmlTable(pd.DataFrame({"x": [1]}), "t", explain={"y": "?"})]))
    with pytest.raises(ValueError, match="at least one"):
        render_html(HtmlPage("t", tables=[HtmlTable(pd.DataFrame(), "t")]))


def test_the_frames_are_left_alone():
    one = table()
    before = one.frame.copy()
    render_html(HtmlPage("t", tables=[one]))
    pd.testing.assert_frame_equal(one.frame, before)


def test_what_comes_first_and_what_is_folded(profile, tmp_path):
    row = {"estimate": -0.31, "ci_low": -0.34, "ci_high": 0.02, "n_seeds": 4, "measure": "gini", "order": "random"}
    row["estimand"] = "pointwise"
    told = HtmlSentence.from_row(row)
    parts = {"facts": ["12 cells", "<b>"], "sentences": [told], "tables": [dataclasses.replace(table(), short="Short")]}
    few = render_html(page(profile(), tmp_path, details=[told] * 6, **parts))
    many = render_html(page(profile(), tmp_path, details=[told] * 7, **parts))
    assert "<li>12 cells</li><li>&lt;b&gt;</li>" in few
    places = [few.index(f'id="{name}"') for name in ("results", "table-1", "words", "figures", "texts", "methods")]
    assert places == sorted(places)
    assert '<a href="#table-1">Short</a>' in few
    # A sentence has the minus sign of the tables, and names keep their hyphens.
    assert "was −0.31 [−0.34, 0.02]" in few
    assert "-0.3" not in few.split('id="results"')[1].split("</ul>")[0]
    assert "<summary>7 sentences" in many
    assert "sentences, one a row" not in few


def test_a_minus_is_no_hyphen():
    assert _minus("tau-b -0.02 [-.15, 0.1] of x-1 and 3-5") == "tau-b −0.02 [−.15, 0.1] of x-1 and 3-5"


def test_a_figure_of_one_column_is_not_blown_up():
    def width(inches):
        svg = f'<svg width="{72 * inches}pt" height="10pt" xmlns="http://www.w3.org/2000/svg"></svg>'
        text = render_html(HtmlPage("t", figures=[HtmlFigure(svg, "f")]))
        return int(re.search(r'<img src="[^"]*" width="(\d+)"', text)[1])

    assert width(6.9) == width(12) == 928
    assert width(3.3) == round(928 * 3.3 / 6.9)
