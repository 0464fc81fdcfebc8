import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.report import escape_latex, escape_markdown, newcommands, to_latex, to_markdown, write_latex

NASTY = 'a_b & 50% #1 $x$ {y} ~ ^ \\ <t> | "q" `c` [z] *w* -- τ − ≥ é'
FRAME = pd.DataFrame(
    {
        "cell_name": ["MLP + additive", NASTY, "[starts] with a bracket"],
        "estimate": [0.314, -0.04, np.nan],
        "ci_low": [0.28, -0.123, np.nan],
        "ci_high": [0.34, 12.5, np.nan],
        "n_instances": [2693, 12, 5],
        "p": [0.0001, 0.04, np.nan],
        "temperature": [0.5, 1.0, 100.0],
        "reason": ["", "", "constant attention"],
    }
)


def rows_of(latex):
    """Cells of each body row."""
    body = latex.split("\\midrule")[1].split("\\bottomrule")[0]
    return [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in body.strip().splitlines()]


def test_latex_structure_and_numbers():
    text = to_latex(FRAME, caption="Tau-b of 50% & more", label="tab:tau", signature="probe:linear|seed:0")
    assert text.startswith("\\begin{table}")
    assert text.endswith("\\end{table}\n")
    assert [text.count(rule) for rule in ("\\toprule", "\\midrule", "\\bottomrule")] == [1, 1, 1]
    assert "\\begin{tabular}{lrrrrl}" in text
    assert "\\label{tab:tau}" in text
    assert "cell name & estimate {[}ci low, ci high{]} & n instances & p & temperature & reason" in text
    first, second, third = rows_of(text)
    # The bounds of the second row are wider by a sign and by a digit, so the first gets invisible ones.
    assert first[1] == r"0.31 [\phantom{$-$}0.28, \phantom{0}0.34]"
    assert first[2:] == ["2,693", "$<$.001", "0.5", ""]
    assert second[1] == "$-$0.04 [$-$0.12, 12.50]"
    assert third[1:] == ["--", "5", "--", "100", "constant attention"]
    caption = re.search(r"\\caption\{(.*)\}\n", text)[1]
    assert caption.startswith(r"Tau-b of 50\% \& more.")
    assert "--: undefined (constant attention)." in caption
    assert caption.replace(r"\allowbreak{}", "").endswith(r"Signature: probe:linear\textbar{}seed:0.")


def test_no_row_starts_with_what_the_row_break_before_it_would_swallow():
    frame = pd.DataFrame({"token": ["[", "*", "x"], "n": [1, 2, 3]})
    starts = [row[0] for row in rows_of(to_latex(frame, caption="c", label="l"))]
    assert starts == ["{[}", "{*}", "x"]


def test_latex_plain_interval_and_one_seed_without_interval():
    frame = pd.DataFrame({"estimate": [0.31, 0.2], "ci_low": [0.28, np.nan], "ci_high": [0.34, np.nan]})
    cells = [row[0] for row in rows_of(to_latex(frame, caption="c", label="l"))]
    assert cells == ["0.31 [0.28, 0.34]", r"0.20\phantom{ [0.28, 0.34]}"]
    assert "undefined" not in to_latex(frame, caption="c", label="l")


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(max_codepoint=0x2FF), max_size=30))
def test_escaped_latex_has_no_special_character_left(text):
    escaped = escape_latex(text)
    groups = escaped.replace("\\{", "").replace("\\}", "")
    assert groups.count("{") == groups.count("}")
    # What LaTeX acts on: after dropping our own commands and escaped characters nothing special remains.
    rest = re.sub(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|char34)\{\}", "", escaped
    )
    rest = re.sub(r"\\(textendash|textemdash|ldots|`)\{\}", "", rest)
    rest = re.sub(r"\\ensuremath\{[^{}]*(\{[^{}]*\})?\}", "", rest)
    rest = re.sub(r"\\[&%$#_{}]", "", rest).replace("{[}", "").replace("{]}", "").replace("{*}", "").replace("-{}", "-")
    assert not set(rest) & set('\\&%$#_{}^"|<>[]*\n\r\t')
    assert "--" not in escaped


def test_pandas_options_of_the_caller_change_nothing():
    plain = to_latex(FRAME, caption="c", label="l")
    with pd.option_context("styler.format.escape", "latex", "styler.render.max_elements", 4):
        assert to_latex(FRAME, caption="c", label="l") == plain


def test_columns_headers_digits_and_wide():
    text = to_latex(
        FRAME,
        caption=r"$\tau_b$",
        caption_is_latex=True,
        label="l",
        columns=["estimate", "n_instances"],
        headers={"estimate": "τ_b"},
        digits={"estimate": 3},
        wide=True,
    )
    assert "\\begin{table*}" in text
    assert r"\caption{$\tau_b$. --: undefined" in text
    assert r"\ensuremath{\tau}\_b & n instances \\" in text
    assert rows_of(text)[0] == ["0.314", "2,693"]


def test_write_latex_is_the_text(tmp_path):
    path = write_latex(FRAME, tmp_path / "t.tex", caption="c", label="l")
    assert path.read_text(encoding="utf-8") == to_latex(FRAME, caption="c", label="l")
    with pytest.raises(ValueError, match="label"):
        write_latex(FRAME, tmp_path / "bad.tex", caption="c", label="a b")
    assert [p.name for p in tmp_path.iterdir()] == ["t.tex"]


@pytest.mark.parametrize("render", [to_markdown, lambda f, **k: to_latex(f, caption="c", label="l", **k)])
def test_bad_tables_are_refused(render):
    with pytest.raises(ValueError, match="no columns \\['tau'\\]"):
        render(FRAME, columns=["tau"])
    with pytest.raises(ValueError, match="headers must be unique"):
        render(FRAME, headers={"p": "x", "temperature": "x"})
    with pytest.raises(ValueError, match="needs at least one"):
        render(pd.DataFrame())
    with pytest.raises(ValueError, match="no interval"):
        render(pd.DataFrame({"estimate": [1.0], "ci_low": [2.0], "ci_high": [1.0]}))


def test_newcommands():
    text = newcommands({"tauMlp": -0.314, "seeds": 1234, "dataName": "sst_2", "gone": float("nan")})
    assert text.splitlines() == [
        r"\newcommand{\tauMlp}{$-$0.31}",
        r"\newcommand{\seeds}{1,234}",
        r"\newcommand{\dataName}{sst\_2}",
        r"\newcommand{\gone}{undefined}",
    ]
    for name in ("tau2", "tau_b", "", "é"):
        with pytest.raises(ValueError, match="letters only"):
            newcommands({name: 1.0})


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_a_document_compiles(tmp_path):
    frame = pd.concat([FRAME, pd.DataFrame({"cell_name": ["αβγδ ×·±≤∞→√‖", "''\"--—…"]})], ignore_index=True)
    macros = newcommands({"tauMlp": -0.3, "word": NASTY})
    table = to_latex(frame, caption=f"All of {NASTY}", label="tab:a", signature="a:b|c:<d>|e_f:50%")
    document = (
        "\\documentclass{article}\\usepackage{booktabs}\n"
        + macros
        + "\\begin{document}\n"
        + table
        + "\\tauMlp{} \\word{}"
        "\\ref{tab:a}\\end{document}\n"
    )
    (tmp_path / "paper.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 0


def test_markdown_is_a_table_of_the_right_shape():
    text = to_markdown(FRAME, signature="probe|seed:0")
    table, note, signature = text.rstrip("\n").split("\n\n")
    lines = table.splitlines()
    assert len(lines) == 2 + len(FRAME)
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 7 for line in lines)
    assert len({len(line) for line in lines}) == 1
    assert re.findall(r"-+:?", lines[1])[1].endswith(":")
    assert "0.31 [0.28, 0.34]" in lines[2]
    assert [cell.strip() for cell in lines[4].split(" | ")[1:4]] == ["–", "5", "–"]
    assert note == "– undefined (constant attention)"
    assert signature == r"Signature: probe\|seed:0"


def test_markdown_text_is_literal():
    assert escape_markdown("a|b\\|<script>\n*x*") == r"a\|b\\\|&lt;script&gt; \*x\*"
    assert escape_markdown("AT&amp;T") == "AT&amp;amp;T"


def test_missing_text_is_blank_and_missing_number_is_undefined():
    frame = pd.DataFrame({"family": ["F1", None], "value": pd.Series([1.5, None], dtype=object), "ok": [True, False]})
    lines = to_markdown(frame).splitlines()
    assert [cell.strip() for cell in lines[3].strip("|").split("|")] == ["", "–", "no"]
    assert lines[-1] == "– undefined"
