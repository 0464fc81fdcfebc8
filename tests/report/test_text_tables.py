import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.report import (
    REFERENCES,
    Usage,
    bibtex,
    cited,
    escape_latex,
    escape_markdown,
    methods_paragraph,
    newcommands,
    number_commands,
    to_latex,
    to_markdown,
    write_latex,
    write_text,
)

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


def test_newcommands_of_numpy_numbers():
    text = newcommands({"n": np.int64(2693), "tau": np.float32(0.5), "sure": np.bool_(True)})
    assert re.findall(r"\}\{(.*)\}", text) == ["2,693", "0.50", "yes"]


RESULTS = pd.DataFrame(
    {
        "data": ["sst2", "sst2", "20news"],
        "score": ["scaled_dot", "deep(depth=3)", "additive"],
        "temperature": [0.5, 1.0, 1.0],
        "estimate": [0.314, -0.04, np.nan],
        "ci_low": [0.28, -0.123, np.nan],
        "ci_high": [0.34, 12.5, np.nan],
        "n_instances": [2693, 12, 5],
        "p": [0.0001, 0.04, np.nan],
        "note": ["a", "b", "c"],
    }
)


def commands(text):
    return dict(re.findall(r"\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}\n", text))


def test_every_number_of_a_frame_has_a_command():
    found = commands(number_commands(RESULTS, keys=("data", "score", "temperature")))
    first = "miSstTwoScaledDotZeroPointFive"
    assert {name: value for name, value in found.items() if name.startswith(first)} == {
        f"{first}Estimate": "0.31",
        f"{first}CiLow": "0.28",
        f"{first}CiHigh": "0.34",
        f"{first}NInstances": "2,693",
        f"{first}P": "$<$ .001",
        f"{first}EstimateInterval": "0.31 [0.28, 0.34]",
    }
    assert found["miSstTwoDeepDepthThreeOneEstimateInterval"] == "$-$0.04 [$-$0.12, 12.50]"
    assert found["miTwoZeroNewsAdditiveOneEstimate"] == "undefined"
    assert len(found) == 18
    # The running text and the table show the same strings.
    cells = rows_of(to_latex(RESULTS, caption="c", label="l", columns=["estimate", "n_instances"]))
    assert [cell[1] for cell in cells] == [value for name, value in found.items() if name.endswith("NInstances")]


def test_commands_never_share_a_name():
    with pytest.raises(ValueError, match="two numbers would be"):
        number_commands(RESULTS, keys=("data",), values=["estimate"])
    twice = pd.DataFrame({"data": ["a_b", "a b"], "estimate": [1.0, 2.0]})
    with pytest.raises(ValueError, match="estimate of data 'a_b' and estimate of data 'a b'"):
        number_commands(twice, keys=("data",))
    with pytest.raises(ValueError, match="prefix must consist of letters"):
        number_commands(RESULTS, keys=("score",), prefix="m1")
    with pytest.raises(ValueError, match="no letter or digit"):
        number_commands(twice.assign(data=["é", "?"]).tail(1), keys=("data",))
    with pytest.raises(ValueError, match="no columns \\['seed'\\]"):
        number_commands(RESULTS, keys=("seed",))


LATEX = shutil.which("pdflatex") is None or shutil.which("bibtex") is None


def compiled(folder, body, *commands):
    (folder / "paper.tex").write_text(body, encoding="utf-8")
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, errors="replace")
        assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@pytest.mark.skipif(LATEX, reason="pdflatex or bibtex is not installed")
def test_a_document_compiles(tmp_path):
    frame = pd.concat([FRAME, pd.DataFrame({"cell_name": ["αβγδ ×·±≤∞→√‖", "''\"--—…"]})], ignore_index=True)
    write_text(newcommands({"tauMlp": -0.3, "word": NASTY}), tmp_path / "numbers.tex")
    write_text(number_commands(RESULTS, keys=("data", "score", "temperature")), tmp_path / "more.tex")
    write_latex(frame, tmp_path / "table.tex", caption=f"All of {NASTY}", label="tab:a", signature="a:b|c:<d>|e_f:50%")
    usage = Usage(data=("digits", "sst2"), estimators=("probe", "ksg"), scores=("additive",), normalizers=("entmax",))
    write_text(methods_paragraph(usage, latex=True), tmp_path / "methods.tex")
    write_text(bibtex(cited(usage)), tmp_path / "used.bib")
    document = (
        "\\documentclass[twocolumn]{article}\\usepackage{booktabs}\\usepackage[round]{natbib}\\input{numbers}\\input{more}\n"
        "\\begin{document}\n\\input{table}\n\\tauMlp{} \\word{} Table~\\ref{tab:a}: "
        "\\miSstTwoScaledDotZeroPointFiveEstimateInterval{} ($p$ \\miSstTwoScaledDotZeroPointFiveP{}).\n\n"
        "\\input{methods}\n\\bibliographystyle{plainnat}\\bibliography{used}\\end{document}\n"
    )
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    said = compiled(tmp_path, document, latex, ["bibtex", "paper"], latex, latex)
    assert (tmp_path / "paper.pdf").stat().st_size > 0
    assert "undefined" not in said
    assert "multiply" not in said
    assert "Missing character" not in (tmp_path / "paper.log").read_text(errors="replace")


@pytest.mark.skipif(LATEX, reason="pdflatex or bibtex is not installed")
def test_every_entry_is_read_by_bibtex(tmp_path):
    write_text(bibtex(REFERENCES), tmp_path / "all.bib")
    body = (
        "\\documentclass{article}\\usepackage[round]{natbib}\\begin{document}\\nocite{*}x\\bibliographystyle{plainnat}"
    )
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    compiled(tmp_path, body + "\\bibliography{all}\\end{document}", latex, ["bibtex", "paper"], latex)
    log = (tmp_path / "paper.blg").read_text(errors="replace")
    assert "Warning" not in log
    assert (tmp_path / "paper.bbl").read_text(errors="replace").count("\\bibitem") == len(REFERENCES)


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
