"""What a table left out or decided, as counted facts that can be added up over the cells of a study."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Note"]


@dataclass(frozen=True)
class Note:
    """One fact.

    Attributes:
        text: What, without any number in it, so that equal facts of several cells can be gathered.
        count: How many it concerns; 0 where nothing is counted.
        total: Of how many.
    """

    text: str
    count: int = 0
    total: int = 0

    def __str__(self) -> str:
        """``29 of 2693: instances too short for the panel of ranks, left out``."""
        return f"{self.count} of {self.total}: {self.text}" if self.total else self.text
