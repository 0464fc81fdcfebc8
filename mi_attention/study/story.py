"""One page of all claims: words of the author around numbers of the scripts, none of them typed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mi_attention.report import format_interval, format_number, to_markdown, write_text

__all__ = ["claim_lines", "write_story"]

_SHOWN = ("claim", "verdict", "contrasts", "estimate", "largest p (Holm)", "reliability", "ceiling", "limit (nats)")


def write_story(
    results: str | os.PathLike[str], order: Sequence[str], *, before: str, after: str, target: str | os.PathLike[str]
) -> Path:
    """Write the page.

    Args:
        results: Folder with a folder a script.
        order: Scripts, in the order of the page; one without results is named as not settled.
        before: Markdown above, and
        after: below.
        target: The file.

    Raises:
        ValueError: if a ``claim.json`` is damaged.
    """
    parts = [before.strip()]
    for name in order:
        path = Path(results) / name / "claim.json"
        if not path.exists():
            parts.append(f"## {name.replace('_', ' ').capitalize()}\n\nNot settled yet: `python analyses/{name}.py`.")
            continue
        try:
            page = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}); run the script again") from error
        parts.append("\n".join(claim_lines(name, page)))
    return write_text("\n\n".join([*parts, after.strip()]) + "\n", Path(target))


def claim_lines(name: str, page: Mapping[str, Any]) -> list[str]:
    """The part of one script: question, figure, one row a claim, and what would change the answer.

    Args:
        name: Of the script.
        page: What is in its ``claim.json``.
    """
    rows = [_row(claim) for claim in page["claims"]]
    late = sorted({claim["status"] for claim in page["claims"] if claim["status"] != "confirmatory"})
    lines = [f"## {page['title']}", "", page["question"], "", f"![{page['title']}]({name}/figure.png)", ""]
    lines += [to_markdown(pd.DataFrame(rows, columns=list(_SHOWN))), ""]
    lines += [f"Not confirmatory: {'; '.join(late)}.", ""] if late else []
    lines += [f"*What would change our mind.* {page['doubt']}", ""]
    return [
        *lines,
        f"Every contrast, interval and control: [table.csv]({name}/table.csv), [claim.json]({name}/claim.json).",
    ]


def _row(claim: Mapping[str, Any]) -> tuple[str, ...]:
    contrasts = claim["contrasts"]
    supported = sum(contrast["verdict"] == "supported" for contrast in contrasts)
    # Of two things claimed to be alike, that the difference is small is what was claimed.
    differing = [contrast for contrast in contrasts if contrast.get("direction") != "equivalent"]
    small = sum(contrast["verdict"] == "supported" and bool(contrast.get("size")) for contrast in differing)
    worst = max((contrast["p_adjusted"] for contrast in contrasts if "p_adjusted" in contrast), default=None)
    return (
        claim["claim"],
        claim["verdict"],
        f"{supported} of {len(contrasts)}" + (f" ({small} too small to matter)" if small else ""),
        _estimates(contrasts),
        "–" if worst is None else format_number(worst, 3),
        *(
            _range(contrasts, column, digits)
            for column, digits in (("reliability", 2), ("ceiling", 2), ("detection_limit", 3))
        ),
    )


def _estimates(contrasts: Sequence[Mapping[str, Any]]) -> str:
    """The estimate with its interval, or the smallest and the largest of several."""
    known = [contrast for contrast in contrasts if "estimate" in contrast]
    if not known:
        return "undefined"
    if len(known) > 1:
        return f"{_range(known, 'estimate', 3)} ({known[0].get('effect_unit', '')})".replace(" ()", "")
    (only,) = known
    low, high = (float(only.get(bound, "nan")) for bound in ("ci_low", "ci_high"))
    return f"{format_interval(only['estimate'], low, high, 3)} {only.get('effect_unit', '')}".strip()


def _range(contrasts: Sequence[Mapping[str, Any]], column: str, digits: int) -> str:
    values = [float(contrast[column]) for contrast in contrasts if column in contrast]
    if not values:
        return "–"
    low, high = (format_number(value, digits) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
