"""A small cache of JSON values in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["cached_value", "default_cache_dir", "store_value"]

logger = logging.getLogger(__name__)


def default_cache_dir() -> Path:
    """``$XDG_CACHE_HOME/mi_attention``, or ``~/.cache/mi_attention`` where that is not set."""
    # The XDG specification says that a relative path is to be ignored.
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "mi_attention"


def cached_value(folder: Path, kind: str, key: Any) -> Any | None:
    """The stored value, or None if there is none or the file is damaged.

    Args:
        folder: Cache folder.
        kind: First part of the file's name.
        key: JSON-able; stored in the file and compared, so that another key is never answered.
    """
    path = _path(folder, kind, key)
    try:
        stored = json.loads(path.read_bytes())
        if stored["key"] == json.loads(_canonical(key)) and stored["sha256"] == _digest(stored["value"]):
            return stored["value"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("cache file %s cannot be read (%s); it is made anew", path.name, error)
        return None
    logger.warning("cache file %s is damaged; it is made anew", path.name)
    return None


def store_value(folder: Path, kind: str, key: Any, value: Any) -> None:
    """Store a JSON-able value atomically; a folder that cannot be written is logged, not an error."""
    path = _path(folder, kind, key)
    content = json.dumps({"key": key, "sha256": _digest(value), "value": value})
    temporary = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            file.write(content)
        temporary.replace(path)
    except OSError as error:
        logger.warning("cache file %s cannot be written (%s)", path.name, error)
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _path(folder: Path, kind: str, key: Any) -> Path:
    return folder / f"{kind}-{hashlib.sha256(_canonical(key)).hexdigest()[:16]}.json"


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value)).hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
