"""The rows of a table of agreements that a paper prints, and the printing of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import pandas as pd

from mi_attention.report import write_latex

__all__ = ["Headlined", "headline_rows"]


def headline_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of tau-b of every order, without controls that a record cannot have: these are said elsewhere."""
    rows = table[(table["measure"] == "kendall_tau_b") & (table["order"] != "support")]
    return rows[(rows["estimand"] != "control") | rows["estimate"].notna()]


class Headlined(ABC):
    """What has a headline table."""

    signature: str
    _scope: ClassVar[str]

    @abstractmethod
    def headline(self) -> pd.DataFrame:
        """The rows a paper would print."""

    def to_latex(
        self, path: str | os.PathLike[str], *, caption: str | None = None, label: str = "tab:agreement"
    ) -> Path:
        """Write the headline table as LaTeX (booktabs).

        Args:
            path: The ``.tex`` file.
            caption: Caption; the signature is added to it.
            label: Label to refer to the table by.

        Returns:
            The path.
        """
        text = caption or f"Agreement (Kendall's tau-b) of the order of attention with other orders, {self._scope}."
        frame = self.headline().drop(columns="reason")
        write_latex(frame, Path(path), caption=text, label=label, signature=self.signature)
        return Path(path)
