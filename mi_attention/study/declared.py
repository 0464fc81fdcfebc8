"""What a study declared before any of its numbers existed, kept so that it cannot be changed unseen.

``analysis.json`` in the folder of a study grows by one entry whenever a claim or a family is met for the first time,
with the number of cells the folder had finished then. Only what was there before the first of them is confirmatory;
a family whose contrasts, seeds or test change later is another family.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mi_attention.report import atomic_path
from mi_attention.study.config import StudyConfig
from mi_attention.study.families import Family, expand

__all__ = ["Declaration", "current_digests", "declarations", "declare", "digest_of", "family_content"]

_FILE = "analysis.json"


@dataclass(frozen=True)
class Declaration:
    """One claim or family, as it was declared.

    Attributes:
        kind: ``"claim"`` or ``"family"``.
        name: The claim's words, or the family's name.
        digest: Hash of all that it says.
        finished: Cells that the folder of the study had finished when it was declared.
        written: When, in UTC.
        content: All that it says.
    """

    kind: str
    name: str
    digest: str
    finished: int
    written: str
    content: dict[str, Any]

    @property
    def status(self) -> str:
        """``"confirmatory"``, or ``"exploratory"`` with the reason."""
        if self.finished == 0:
            return "confirmatory"
        return f"exploratory: declared when {self.finished} cells were finished"


def declare(study: StudyConfig, directory: str | os.PathLike[str], finished: int) -> list[Declaration]:
    """Write down what a study declares and the folder does not know yet.

    Args:
        study: The study.
        directory: Its folder.
        finished: Cells finished in it, of this configuration or an earlier one.

    Returns:
        All declarations, those of earlier configurations among them.

    Raises:
        ValueError: if the file is damaged.
    """
    known = declarations(directory)
    digests = {found.digest for found in known}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    new = [
        Declaration(kind, name, digest_of(content), finished, now, content)
        for kind, name, content in _contents(study)
        if digest_of(content) not in digests
    ]
    if new:
        entries = [vars(found) for found in (*known, *new)]
        with atomic_path(Path(directory) / _FILE) as temporary:
            temporary.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [*known, *new]


def declarations(directory: str | os.PathLike[str]) -> list[Declaration]:
    """What the folder of a study has written down, oldest first.

    Raises:
        ValueError: if the file is damaged.
    """
    path = Path(directory) / _FILE
    if not path.exists():
        return []
    try:
        return [Declaration(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); restore it, it says what was declared when") from error


def family_content(study: StudyConfig, family: Family) -> dict[str, Any]:
    """All that makes a family what it is: itself, its contrasts in this grid, the seeds, and what is measured."""
    return {
        "family": family.model_dump(mode="json"),
        "contrasts": [contrast.name for contrast in expand(family, study.grid())],
        "seeds": list(study.seeds),
        # Without defaults: a field that a later version adds does not make an old declaration another one.
        "measured": study.analysis.measured.model_dump(mode="json", exclude_defaults=True),
    }


def current_digests(study: StudyConfig) -> set[str]:
    """Hashes of all that a study declares now."""
    return {digest_of(content) for _, _, content in _contents(study)}


def digest_of(content: dict[str, Any]) -> str:
    """Hash of what a declaration says."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _contents(study: StudyConfig) -> list[tuple[str, str, dict[str, Any]]]:
    claims = [("claim", claim, {"claim": claim}) for claim in study.analysis.claims]
    return claims + [("family", family.name, family_content(study, family)) for family in study.analysis.families]
