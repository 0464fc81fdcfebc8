"""The nearest known name, for error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest"]


def nearest(name: str, known: Iterable[str]) -> str:
    """``" (did you mean 'x'?)"``, or nothing if no known name is near."""
    candidates = [str(candidate) for candidate in known]
    near = get_close_matches(str(name), candidates, n=1)
    near = near or [candidate for candidate in candidates if candidate.rsplit("/", 1)[-1] == str(name)][:1]
    return f" (did you mean {near[0]!r}?)" if near else ""
