"""One page of all claims: words of the author around numbers of the scripts, none of them typed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mi_attention.report import format_interval, format_number, to_markdown, write_text
from mi_attention.study.answers import AS_CLAIMED, REVERSED

__all__ = ["claim_lines", "write_story"]

_SHOWN = ("claim", "verdict", "contrasts", "parts", "estimate", "p (Holm)", "reliability", "ceiling", "limit (nats)")


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
        others = {found.name for found in path.parent.glob("*.csv")} - {"table.csv", "estimates.csv"}
        parts.append("\n".join(claim_lines(name, page, sorted(others))))
    return write_text("\n\n".join([*parts, after.strip()]) + "\n", Path(target))


def claim_lines(name: str, page: Mapping[str, Any], further: Sequence[str] = ()) -> list[str]:
    """The part of one script: question, figure, one row a claim, and what would change the answer.

    Args:
        name: Of the script.
        page: What is in its ``claim.json``.
        further: Files of further tables in its folder.
    """
    rows = [_row(claim, number) for number, claim in enumerate(page["claims"], 1)]
    late: dict[str, list[str]] = {}
    for number, claim in enumerate(page["claims"], 1):
        if claim["status"] != "confirmatory":
            late.setdefault(claim["status"], []).append(str(number))
    lines = [f"## {page['title']}", "", page["question"], ""]
    lines += [f"**What came of it.** {page['conclusion']} {_counted(page['claims'])}".replace("  ", " "), ""]
    lines += [f"![{page['title']}]({name}/figure.png)", ""]
    lines += [f"*{page['caption']}*", ""] if page["caption"] else []
    lines += [to_markdown(pd.DataFrame(rows, columns=list(_SHOWN))), ""]
    named = [f"claim{'s' * (len(numbers) > 1)} {', '.join(numbers)}: {status}" for status, numbers in late.items()]
    lines += [f"Not simply confirmatory: {'; '.join(named)}.", ""] if late else []
    lines += [f"*What would change our mind.* {page['doubt']}", ""]
    listed = "".join(f" Beside them: [{file}]({name}/{file})." for file in further)
    everything = (
        f"Every contrast, interval and control: [table.csv]({name}/table.csv), [claim.json]({name}/claim.json)."
    )
    return [*lines, everything + listed]


def _counted(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many claims have come to what."""
    verdicts = [claim["verdict"] for claim in claims]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts))]
    return f"Of {len(claims)} claims: {', '.join(counts)}."


def _row(claim: Mapping[str, Any], number: int) -> tuple[str, ...]:
    contrasts, verdict = claim["contrasts"], claim["verdict"].split(" ")[0]
    column = "p_against_adjusted" if verdict == "contradicted" else "p_adjusted"
    deciding = [contrast for contrast in contrasts if contrast["verdict"] == verdict]
    worst = max((contrast[column] for contrast in deciding if column in contrast), default=None)
    ceiling = _range(contrasts, "ceiling", 2)
    slopes = _range(contrasts, "ceiling_slope", 3)
    return (
        f"{number}. {claim['claim']}",
        claim["verdict"],
        _found(contrasts),
        _parts(claim.get("parts", {})),
        _estimates(contrasts),
        _probability(worst),
        _range(contrasts, "reliability", 2),
        ceiling if slopes == "–" else f"{ceiling} ({slopes} per log unit)",
        _range(contrasts, "detection_limit", 3),
    )


def _probability(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.0005 else format_number(p, 3)


def _found(contrasts: Sequence[Mapping[str, Any]]) -> str:
    """How many contrasts are as claimed, and what the others are."""
    supported = sum(contrast["verdict"] == "supported" for contrast in contrasts)
    # Of two things claimed to be alike, that the difference is small is what was claimed.
    differing = [contrast for contrast in contrasts if contrast.get("direction") != "equivalent"]
    small = sum(contrast["verdict"] == "supported" and bool(contrast.get("size")) for contrast in differing)
    others = [contrast["finding"] for contrast in contrasts if contrast["verdict"] == "contradicted"]
    said = [f"{small} too small to matter"] if small else []
    said += [f"{others.count(finding)} {finding}" for finding in sorted(set(others))]
    return f"{supported} of {len(contrasts)}" + (f" ({', '.join(said)})" if said else "")


def _parts(parts: Mapping[str, Mapping[str, int]]) -> str:
    """Of single data sets, encoders and so on: how many as claimed, how many the other way round."""
    said = []
    for part, counts in parts.items():
        name = part.removeprefix("by ").removesuffix(" (exploratory)")
        reversed_ = f", {counts[REVERSED]} reversed" if counts[REVERSED] else ""
        said.append(f"{name}: {counts[AS_CLAIMED]} of {counts['parts']}{reversed_}")
    return "; ".join(said) or "–"


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
