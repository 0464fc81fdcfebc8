"""One door to all data: a registered name, ``hub/NAME``, or the path of a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mi_attention.data.dataset import Dataset
from mi_attention.data.digits import load_digits
from mi_attention.data.docstrings import load_docstrings
from mi_attention.data.files import READERS, load_file
from mi_attention.data.hub import load_hub
from mi_attention.data.planted import keyword, keywords, noisy_keyword
from mi_attention.data.planted_gaussian import gaussian
from mi_attention.data.planted_rules import majority, xor
from mi_attention.data.suggestions import nearest
from mi_attention.data.vectors import attach_vectors

__all__ = ["available", "load", "register"]

Source = Callable[..., Dataset]

HUB = "hub/"


@dataclass(frozen=True)
class _Entry:
    description: str
    source: Source


_SOURCES: dict[str, _Entry] = {}


def register(name: str, description: str | None = None) -> Callable[[Source], Source]:
    """Decorator that puts a function ``(**options) -> Dataset`` under a name for ``load`` and ``available``.

    Args:
        name: Name to load it by; not taken, no file suffix of a reader, not starting with ``hub/``.
        description: One line for lists; the first line of the function's docstring if None.

    Raises:
        ValueError: if the name cannot be used.
    """
    if name.startswith(HUB) or Path(name).suffix.lower() in READERS or not name:
        raise ValueError(f"name {name!r} would be taken for a file or a hub data set; choose another")
    if name in _SOURCES:
        raise ValueError(f"name {name!r} is registered already; choose another")

    def put(source: Source) -> Source:
        line = description or (inspect.getdoc(source) or "").split("\n", 1)[0] or "no description"
        _SOURCES[name] = _Entry(line, source)
        return source

    return put


def available() -> list[tuple[str, str]]:
    """Names and one-line descriptions of all registered sources, sorted, and the two open-ended ones."""
    listed = [(name, _SOURCES[name].description) for name in sorted(_SOURCES)]
    listed.append((f"{HUB}NAME", "A data set of the Hugging Face Hub (needs the extra 'transformers')."))
    suffixes = ", ".join(READERS)
    listed.append((f"PATH ({suffixes})", "A file with text, label and, if it has them, split, text_b, rationale."))
    return listed


def load(
    name_or_path: str | Path,
    *,
    vectors: str | Path | None = None,
    vectors_seed: int = 0,
    **options: Any,
) -> Dataset:
    """Load a data set.

    Args:
        name_or_path: A registered name (see ``available``), ``"hub/NAME"``, or the path of a ``.jsonl``,
            ``.csv``, ``.tsv`` or ``.parquet`` file.
        vectors: File of pretrained word vectors to attach.
        vectors_seed: Of the vectors of words that the file lacks.
        **options: Of the source: arguments of its function, or fields of ``TextOptions`` for texts.

    Returns:
        The data set.

    Raises:
        ValueError: if the name or an option is unknown (naming the nearest), or for the source's reasons.
        FileNotFoundError: if a path has a known suffix but there is no file.
    """
    dataset = _load(name_or_path, options)
    return dataset if vectors is None else attach_vectors(dataset, vectors, seed=vectors_seed)


def _load(name_or_path: str | Path, options: dict[str, Any]) -> Dataset:
    name = str(name_or_path)
    if isinstance(name_or_path, str) and name in _SOURCES:
        source = _SOURCES[name].source
        _check_options(name, source, options)
        return source(**options)
    if isinstance(name_or_path, str) and name.startswith(HUB) and len(name) > len(HUB):
        return load_hub(name[len(HUB) :], **options)
    if isinstance(name_or_path, Path) or Path(name).suffix.lower() in READERS:
        return load_file(name_or_path, **options)
    raise ValueError(
        f"unknown data set {name!r}{nearest(name, _SOURCES)}; known: {', '.join(sorted(_SOURCES))}, {HUB}NAME, "
        f"or the path of a file ending in {', '.join(READERS)}"
    )


def _check_options(name: str, source: Source, options: dict[str, Any]) -> None:
    parameters = inspect.signature(source).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for option in options:
        if option not in parameters:
            raise ValueError(
                f"data set {name!r} has no option {option!r}{nearest(option, parameters)}; "
                f"it has: {', '.join(parameters)}"
            )


for _name, _source in (
    ("digits", load_digits),
    ("docstrings", load_docstrings),
    ("planted/gaussian", gaussian),
    ("planted/keyword", keyword),
    ("planted/keywords", keywords),
    ("planted/majority", majority),
    ("planted/noisy_keyword", noisy_keyword),
    ("planted/xor", xor),
):
    register(_name)(_source)
