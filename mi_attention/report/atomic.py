"""Files that are either whole or absent: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_path", "with_ending", "write_text"]


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a temporary path in the folder of ``path`` and rename it to ``path`` when the block ends well.

    A reader sees the old file or the new one, never half of one; when the block raises, the temporary
    file is removed and ``path`` is left as it was. Missing folders are made.

    Args:
        path: Where the file shall be.

    Yields:
        The path to write to; the block must create a file there.

    Raises:
        ValueError: if ``path`` is a folder.
        OSError: whatever the file system says, for example no space left.
    """
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"path {target} is a folder; give the name of a file in it")
    target.parent.mkdir(parents=True, exist_ok=True)
    # tempfile would make the file readable by its owner alone, and results are meant to be shared.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def with_ending(stem: Path, ending: str) -> Path:
    """``stem`` with ``.ending`` appended; a dot inside the stem (``mlp_temperature0.5``) is kept."""
    return stem.with_name(f"{stem.name}.{ending}")


def write_text(text: str, path: str | Path) -> Path:
    """Write text as UTF-8 with Unix line ends, atomically; returns the path.

    Raises:
        ValueError: if ``path`` is a folder.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)
