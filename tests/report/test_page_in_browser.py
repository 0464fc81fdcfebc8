import json

import numpy as np
import pandas as pd
import pytest

from mi_attention.report import HtmlPage, HtmlTable, write_html
from tests.report.browser import Browser, find_chromium
from tests.report.pages import HOSTILE, instances, page

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(find_chromium(), tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture
def opened(browser, profile, tmp_path):
    """A page with something of everything, open; afterwards the browser must have had nothing to complain of."""
    path = write_html(page(profile(), tmp_path), tmp_path / "page.html")
    browser.open(path)
    yield browser
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]
    assert browser.evaluate("window.harmed === undefined")


def column(browser, number):
    return browser.evaluate(
        f"[...document.querySelectorAll('#table-1 tbody tr')].map(r => r.cells[{number}].dataset.key)"
    )


def texts(browser):
    return browser.evaluate("[...document.querySelectorAll('#list .words')].map(p => p.textContent.trim())")


def choose(browser, name, value):
    """Set a field as a reader does, and let its event act."""
    browser.evaluate(
        f"(() => {{ const f = document.getElementById('browse').elements.namedItem({json.dumps(name)});"
        f"f.value = {json.dumps(value)}; f.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
    )
    browser.evaluate("new Promise((done) => setTimeout(done, 200))")


def test_hostile_data_are_words(opened):
    said = opened.evaluate("document.body.textContent")
    for text in HOSTILE[:4]:
        assert text in said
    assert opened.evaluate("document.querySelectorAll('main img').length") == 1
    assert opened.evaluate("document.querySelectorAll('script').length") == 2
    shown = " ".join(texts(opened))
    for text in (HOSTILE[0], HOSTILE[1], HOSTILE[11], HOSTILE[8]):
        assert text in shown


def test_the_figure_is_drawn(opened):
    opened.wait("document.querySelector('figure img').complete")
    assert opened.evaluate("document.querySelector('figure img').naturalWidth") > 300


def test_tables_sort_by_click_and_key(opened):
    original = column(opened, 1)
    numbers = np.array([float(key) for key in original if key])
    head = "#table-1 th:nth-child(2)"
    opened.click(f"{head} button")
    assert [float(key) for key in column(opened, 1)[:-1]] == sorted(numbers, reverse=True)
    assert column(opened, 1)[-1] == ""
    assert opened.evaluate(f"document.querySelector('{head}').getAttribute('aria-sort')") == "descending"
    opened.evaluate(f"document.querySelector('{head} button').focus()")
    opened.key("Enter", "\r")
    assert [float(key) for key in column(opened, 1)[:-1]] == sorted(numbers)
    assert column(opened, 1)[-1] == ""
    opened.key("Enter", "\r")
    assert column(opened, 1) == original
    opened.click("#table-1 th:nth-child(1) button")
    names = column(opened, 0)
    assert names.index("row 0") < names.index("row 2") < names.index("row 4")
    assert opened.evaluate("document.querySelectorAll('#table-1 [aria-sort=none]').length") == 2


def test_words_are_shaded_as_the_arrays_say(opened):
    given = instances()
    for view in ("attention", "informativeness", "difference"):
        opened.click(f"input[value={view}] + span")
        for i in (0, 3):
            rows = slice(given.offsets[i], given.offsets[i + 1])
            attention, informativeness = given.attention[rows], given.informativeness[rows]
            values = {
                "attention": attention,
                "informativeness": informativeness,
                "difference": attention / attention.sum() - informativeness / informativeness.sum(),
            }[view]
            got = opened.evaluate(
                f"[...document.querySelectorAll('#list li:nth-child({i + 1}) .word')]"
                ".map(w => [parseFloat(w.style.getPropertyValue('--depth')), w.classList.contains('negative')])"
            )
            np.testing.assert_allclose([depth for depth, _ in got], 68 * abs(values) / abs(values).max(), atol=0.06)
            assert [negative for _, negative in got] == [view == "difference" and value < 0 for value in values]
    assert opened.evaluate("getComputedStyle(document.querySelector('.word')).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_numbers_on_hover_and_by_keyboard(opened):
    given = instances()
    opened.call("Emulation.setFocusEmulationEnabled", enabled=True)
    opened.evaluate("document.querySelector('.word').focus()")
    opened.evaluate("new Promise((done) => setTimeout(done, 100))")
    tip = "document.getElementById('tip').textContent"
    assert f"attention {given.attention[0]:.3f}" in opened.evaluate(tip)
    assert f"informativeness {given.informativeness[0]:.3f} nats" in opened.evaluate(tip)
    opened.key("ArrowRight")
    assert f"attention {given.attention[1]:.3f}" in opened.evaluate(tip)
    assert "position 1" in opened.evaluate(tip)
    opened.key("Home")
    assert "position 0" in opened.evaluate(tip)
    place = opened.evaluate(
        "(() => { const b = document.querySelectorAll('.word')[1].getBoundingClientRect();"
        "return [b.x + 3, b.y + b.height / 2]; })()"
    )
    opened.evaluate("document.activeElement.blur()")
    assert opened.evaluate("document.getElementById('tip').hidden")
    opened.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    assert "position 1" in opened.evaluate(tip)


def test_search_filters_and_order(opened):
    given = instances()
    every = [" ".join(given.vocabulary[t].replace("\ud800", "?") for t in given.token_ids[a:b]) for a, b in
             zip(given.offsets, given.offsets[1:], strict=False)]  # fmt: skip
    where = "document.getElementById('where').textContent"
    choose(opened, "query", "ALPHA beta")
    found = [text for text in every if "alpha beta" in text]
    assert [text.split()[0] for text in texts(opened)] == [text.split()[0] for text in found]
    assert opened.evaluate(where).startswith(f"{len(found)} of 40 texts")
    choose(opened, "query", "")
    choose(opened, "label", "1")
    choose(opened, "correct", "no")
    assert opened.evaluate(where).startswith(f"{((given.label == 1) & (given.prediction == 0)).sum()} of 40")
    choose(opened, "label", "")
    choose(opened, "correct", "")
    choose(opened, "order", "measure:0:down")
    best = np.argsort(-given.measures["tau-b"])[:3]
    index = "[...document.querySelectorAll('#list .index')].slice(0, 3).map(s => s.textContent)"
    assert opened.evaluate(index) == [f"#{i}" for i in best]
    opened.click("[data-go='1']")
    assert "page 2 of 2" in opened.evaluate(where)
    # A text without a value comes last, and says that it has none.
    last = opened.evaluate("document.querySelector('#list li:last-child').textContent")
    assert last.startswith("#39")
    assert "tau-b undefined" in last
    choose(opened, "set", "1")
    assert opened.evaluate(where).startswith("40 of 40")


def test_right_to_left_texts_run_right_to_left(browser, tmp_path):
    given = instances(n=3, vocabulary=("שלום", "עולם"))
    browser.open(write_html(HtmlPage("t", instances=[given]), tmp_path / "page.html"))
    assert browser.evaluate("getComputedStyle(document.querySelector('.words')).direction") == "rtl"


def test_both_color_schemes_are_legible(browser, profile, tmp_path):
    browser.open(write_html(page(profile(), tmp_path), tmp_path / "page.html"))
    contrast = """(() => {
      const light = (rgb) => { const [r, g, b] = rgb.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
        .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
      const paper = light(getComputedStyle(document.body).backgroundColor);
      const ratio = (one) => { const ink = light(getComputedStyle(one).color);
        return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05); };
      return Math.min(...[...document.querySelectorAll('p, td, th button, h1, a, .verdict, .name')].map(ratio));
    })()"""
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert browser.evaluate(contrast) >= 4.5, scheme
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_ten_thousand_texts_and_rows(browser, tmp_path):
    given = instances(n=10_000, words=40)
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"instance": np.arange(10_000), "tau": random.normal(size=10_000)})
    path = write_html(HtmlPage("t", tables=[HtmlTable(frame, "all")], instances=[given]), tmp_path / "page.html")
    assert path.stat().st_size < 5e6
    browser.open(path)
    assert browser.evaluate("document.querySelectorAll('#list li').length") == 25
    assert browser.evaluate("document.getElementById('where').textContent") == "10,000 of 10,000 texts; page 1 of 400"
    browser.click("#table-1 th:nth-child(2) button")
    assert column(browser, 0)[:3] == [str(float(i)) for i in np.argsort(-frame["tau"].to_numpy())[:3]]
    choose(browser, "query", "gamma delta")
    shown = browser.evaluate("document.getElementById('where').textContent")
    assert 0 < int(shown.split()[0].replace(",", "")) < 10_000
    assert browser.complaints() == []
