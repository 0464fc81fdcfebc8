r"""Frames as booktabs tables.

The tables need ``\usepackage{booktabs}`` and nothing else. Greek letters and the signs of the formulas
become mathematics, so they compile with pdfLaTeX too; words in scripts that pdfLaTeX cannot set (Chinese,
Arabic) are passed on as they are and need LuaLaTeX or XeLaTeX with a fitting font.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mi_attention.report.atomic import write_text
from mi_attention.report.cells import INTERVALS, Column, lay_out

__all__ = ["escape_latex", "latex_number", "to_latex", "write_latex"]

UNDEFINED_MARK = "--"

_MATHEMATICS = {
    **{"α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\epsilon", "ζ": r"\zeta"},
    **{"η": r"\eta", "θ": r"\theta", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu", "ξ": r"\xi"},
    **{"π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\phi", "χ": r"\chi", "ψ": r"\psi"},
    **{"ω": r"\omega", "Δ": r"\Delta", "Γ": r"\Gamma", "Λ": r"\Lambda", "Σ": r"\Sigma", "Φ": r"\Phi", "Ω": r"\Omega"},
    **{"µ": r"\mu", "−": "-", "×": r"\times", "·": r"\cdot", "±": r"\pm", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq"},
    **{"≈": r"\approx", "∞": r"\infty", "→": r"\rightarrow", "√": r"\surd", "‖": r"\|", "∼": r"\sim", "∈": r"\in"},
    **{"²": "^{2}", "³": "^{3}", "°": r"^{\circ}"},
}
_ESCAPES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # A shorthand of some languages' babel, and a curly quote in the old font encoding.
    '"': r"\char34{}",
    "`": r"\`{}",
    # After the \\ of the row before, a cell that starts with one of these would be its argument.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # Hyphens in a row would join to a dash, and a dash means undefined here.
    "-": "-{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "’": "'",
    "\u00a0": "~",
    **{sign: f"\\ensuremath{{{command}}}" for sign, command in _MATHEMATICS.items()},
}
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def escape_latex(text: str) -> str:
    r"""``text`` so that LaTeX shows it literally, on one line.

    Every special character is escaped, also those that are special only where a table puts them (``[`` and
    ``*`` at the start of a row). White space and line breaks become one space; other control characters,
    which LaTeX rejects, are shown as their code (``\x07``).
    """
    one_line = re.sub(r"[ \t\r\n\v\f\x85\u2028\u2029]+", " ", text)
    shown = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", one_line)
    escaped = "".join(_ESCAPES.get(character, character) for character in shown)
    return re.sub(r"-\{\}(?!-)", "-", escaped)


def to_latex(
    frame: pd.DataFrame,
    *,
    caption: str,
    label: str,
    signature: str = "",
    columns: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
    digits: int | Mapping[str, int] = 2,
    intervals: Sequence[tuple[str, str, str]] = INTERVALS,
    wide: bool = False,
    compact: bool = False,
    caption_is_latex: bool = False,
) -> str:
    r"""A booktabs table environment.

    Numbers are right-aligned with the same number of decimals, so that they line up; the parts of an
    interval are padded by invisible signs and digits for the same reason.

    Args:
        frame: Tidy frame.
        caption: What the table shows; escaped unless ``caption_is_latex``.
        label: For ``\ref``: letters, digits and ``: . _ -``.
        signature: How the numbers were made; appended to the caption.
        columns: Which columns, in this order; by default all.
        headers: Column name → header; escaped.
        digits: Decimals, for all columns or by name.
        intervals: Triples (estimate, low, high) shown as ``0.31 [0.28, 0.34]``.
        wide: Use ``table*``, which spans both columns of a page.
        compact: Smaller type and narrow gaps, for tables of many columns.
        caption_is_latex: Pass the caption on as it is, for mathematics in it.

    Returns:
        The environment, ending in a newline. Undefined values are ``--``, and the caption says so and why.

    Raises:
        ValueError: as ``lay_out`` does, or if the label has other characters or there are no columns.
    """
    if not re.fullmatch(r"[A-Za-z0-9:._-]+", label):
        raise ValueError(f"label must consist of letters, digits and : . _ - , got {label!r}")
    layout = lay_out(frame, columns=columns, headers=headers, digits=digits, intervals=intervals)
    if not layout.columns:
        raise ValueError("frame has no columns; a table needs at least one")
    texts = {escape_latex(column.header): _column(column) for column in layout.columns}
    body = pd.DataFrame(texts, dtype=object)
    alignment = "".join("l" if column.kind == "text" else "r" for column in layout.columns)
    parts = [caption if caption_is_latex else escape_latex(caption)]
    if (layout.undefined or signature) and not caption.rstrip().endswith((".", "!", "?")):
        parts[0] += "."
    if layout.undefined:
        parts.append(f"{UNDEFINED_MARK}: {escape_latex(layout.undefined_note())}.")
    if signature:
        parts.append(f"Signature: {_breakable(escape_latex(signature))}.")
    # The user's own display options must neither escape a second time nor cut the table short.
    with pd.option_context("styler.format.escape", None, "styler.render.max_elements", max(body.size, 1)):
        styler = body.style.hide(axis="index")
        text: str = styler.to_latex(
            hrules=True,
            column_format=alignment,
            caption=" ".join(parts),
            label=label,
            position="t",
            position_float="centering",
            environment="table*" if wide else "table",
        )
    # Classes keep room between a caption and what is above it, as below a figure; a table stands below.
    settings = ["\\setlength{\\belowcaptionskip}{5pt}"]
    settings += ["\\footnotesize", "\\setlength{\\tabcolsep}{3pt}"] if compact else []
    return text.replace("\\centering", "\n".join(["\\centering", *settings]), 1)


def write_latex(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    caption: str,
    label: str,
    signature: str = "",
    columns: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
    digits: int | Mapping[str, int] = 2,
    intervals: Sequence[tuple[str, str, str]] = INTERVALS,
    wide: bool = False,
    compact: bool = False,
    caption_is_latex: bool = False,
) -> Path:
    """Write ``to_latex(...)`` to a file, atomically, as UTF-8; returns its path. Arguments as there.

    Raises:
        ValueError: as ``to_latex`` does.
    """
    text = to_latex(
        frame,
        caption=caption,
        label=label,
        signature=signature,
        columns=columns,
        headers=headers,
        digits=digits,
        intervals=intervals,
        wide=wide,
        compact=compact,
        caption_is_latex=caption_is_latex,
    )
    return write_text(text, path)


def latex_number(text: str) -> str:
    """A formatted number with a minus sign and signs of comparison that LaTeX sets as such."""
    return text.replace("<", "$<$").replace("-", r"$-$").replace("inf", r"$\infty$")


def _column(column: Column) -> list[str]:
    if column.kind == "text":
        return [escape_latex(text) for (text,) in column.cells]
    slots = [[cell[slot] for cell in column.cells if len(cell) > slot] for slot in range(3)]
    shown = []
    for cell in column.cells:
        if not cell:
            shown.append(UNDEFINED_MARK)
        elif len(cell) == 1:
            # Without its interval the estimate stands where the others' estimates stand.
            room = _phantom_interval(slots) if column.kind == "interval" and slots[1] else ""
            shown.append(latex_number(cell[0]) + room)
        else:
            low, high = (_padded(cell[slot], slots[slot]) for slot in (1, 2))
            shown.append(f"{latex_number(cell[0])} [{low}, {high}]")
    return shown


def _padded(number: str, others: Sequence[str]) -> str:
    """The number after invisible signs and digits, up to the widest of its slot."""
    sign = r"\phantom{$-$}" if not number.startswith("-") and any(o.startswith("-") for o in others) else ""
    missing = max(map(_whole_digits, others)) - _whole_digits(number)
    return (f"\\phantom{{{'0' * missing}}}" if missing else "") + sign + latex_number(number)


def _whole_digits(number: str) -> int:
    return len(re.sub(r"\D", "", number.partition(".")[0]))


def _phantom_interval(slots: Sequence[Sequence[str]]) -> str:
    low, high = (_padded(slot[0], slot) for slot in slots[1:])
    return f"\\phantom{{ [{low}, {high}]}}"


def _breakable(signature: str) -> str:
    """A signature has no spaces, so say where its line may break."""
    return re.sub(r"(\\textbar\{\}|[:;,=/])(?! )", r"\1\\allowbreak{}", signature)
