"""Numbers as text, the same in every table, figure and sentence."""

from __future__ import annotations

import math

__all__ = [
    "UNDEFINED",
    "format_count",
    "format_interval",
    "format_number",
    "format_p",
    "format_setting",
    "format_share",
]

UNDEFINED = "undefined"


def format_number(value: float, digits: int = 2) -> str:
    """``value`` with a fixed number of decimals and thousands separators.

    Args:
        value: The number; NaN reads ``"undefined"``, infinity ``"inf"``.
        digits: Decimals, at least 0.

    Returns:
        For example ``"0.31"`` or ``"-1,234.50"``; what rounds to zero has no sign.

    Raises:
        ValueError: if ``digits`` is negative.
    """
    if digits < 0:
        raise ValueError(f"digits must be at least 0, got {digits}")
    value = float(value)
    if math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def format_interval(estimate: float, low: float, high: float, digits: int = 2) -> str:
    """``"0.31 [0.28, 0.34]"``; the estimate alone where the interval is undefined (one seed).

    Raises:
        ValueError: if only one bound is NaN, or ``low`` > ``high``.
    """
    if math.isnan(low) != math.isnan(high):
        raise ValueError(f"interval has one bound only: low {low}, high {high}")
    if low > high:
        raise ValueError(f"interval is upside down: low {low} > high {high}")
    text = format_number(estimate, digits)
    if math.isnan(estimate) or math.isnan(low):
        return text
    return f"{text} [{format_number(low, digits)}, {format_number(high, digits)}]"


def format_p(p: float, *, equals: bool = False) -> str:
    """A p-value with three decimals and no leading zero, ``"<.001"`` below that.

    Args:
        p: In [0, 1] or NaN.
        equals: Write ``"= .012"`` and ``"< .001"`` for running text.

    Raises:
        ValueError: if ``p`` is outside [0, 1].
    """
    if math.isnan(p):
        return UNDEFINED
    if not 0 <= p <= 1:
        raise ValueError(f"p must be in [0, 1], got {p}")
    if p < 0.001:
        return "< .001" if equals else "<.001"
    text = f"{p:.3f}"
    text = text.removeprefix("0")
    return f"= {text}" if equals else text


def format_count(value: float) -> str:
    """A whole number with thousands separators, ``"2,693"``.

    Raises:
        ValueError: if ``value`` is not whole.
    """
    if math.isnan(value):
        return UNDEFINED
    if value != int(value):
        raise ValueError(f"a count must be whole, got {value}")
    return f"{int(value):,}"


def format_setting(value: float) -> str:
    """A hyper-parameter or identifier, as it was set: ``"0.5"``, ``"1"``, ``"100"``, ``"12345"``."""
    value = float(value)
    if math.isnan(value):
        return UNDEFINED
    return f"{int(value)}" if value.is_integer() and abs(value) < 1e15 else f"{value:g}"


def format_share(share: float) -> str:
    """A share in per cent, ``"13 %"``; one that is not zero never reads as zero, nor one below 1 as all.

    Raises:
        ValueError: if ``share`` is outside [0, 1].
    """
    if math.isnan(share):
        return UNDEFINED
    if not 0 <= share <= 1:
        raise ValueError(f"share must be in [0, 1], got {share}")
    if 0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"
