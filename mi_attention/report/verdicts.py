"""What a claim has come to, and whether its interval allows saying so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from jinja2 import Undefined

__all__ = ["VERDICTS", "checked_verdict", "known"]

VERDICTS = ("supported", "contradicted", "undecided")


def known(value: Any) -> bool:
    """Whether a cell holds something: not absent, missing, NaN or an empty string."""
    if isinstance(value, Undefined) or value is None or value is pd.NA:
        return False
    if isinstance(value, str):
        return value != ""
    return not bool(pd.isna(value))


def checked_verdict(values: Mapping[str, Any]) -> str:
    """The verdict of a claim, if its interval allows it.

    "undecided" always stands, since a test or a control may forbid more.

    Args:
        values: ``claim``, ``verdict``, ``estimate``, and optionally ``ci_low``, ``ci_high``, ``direction``
            (``"greater"``, ``"less"``, ``"different"``, ``"equivalent"``), ``reference`` (0 by default), ``margin``.

    Raises:
        ValueError: if claim or verdict are missing or unknown, or the verdict does not follow from the interval.
    """
    verdict, direction = str(values.get("verdict", "")), values.get("direction")
    if verdict not in VERDICTS:
        raise ValueError(f"a claim needs a column verdict, one of {VERDICTS}, got {verdict!r}")
    if not known(values["claim"]):
        raise ValueError(f"a claim needs a column claim that says what was claimed, got {values['claim']!r}")
    if verdict == "undecided":
        return verdict
    names = ("estimate", "ci_low", "ci_high", "reference", "margin")
    estimate, low, high, reference, margin = (float(values[n]) if known(values.get(n)) else math.nan for n in names)
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"verdict {verdict!r} needs an interval, got [{low}, {high}]; without one it is undecided")
    reference, room = (0.0 if math.isnan(value) else value for value in (reference, margin))
    near = abs(estimate - reference) < room
    # Equivalence is tested at another level than the interval shown, so that only the estimate can be held against it.
    allowed = {
        "greater": {"supported": low > reference, "contradicted": high < reference + room},
        "less": {"supported": high < reference, "contradicted": low > reference - room},
        "different": {"supported": low > reference or high < reference, "contradicted": near},
        "equivalent": {"supported": near, "contradicted": not near},
    }
    if not known(direction):
        return verdict
    if direction not in allowed:
        raise ValueError(f"direction must be one of {sorted(allowed)}, got {direction!r}")
    if not allowed[direction][verdict]:
        raise ValueError(
            f"verdict {verdict!r} with direction {direction!r} does not follow from {estimate} [{low}, {high}] "
            f"at reference {reference} and margin {room}; correct the verdict or the direction"
        )
    return verdict
