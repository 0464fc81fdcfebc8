"""Two tokenisers: texts that are split already, and simple words with punctuation."""

from __future__ import annotations

import re
from collections.abc import Callable

from mi_attention.data.suggestions import nearest

__all__ = ["TOKENIZERS", "split_on_spaces", "split_words", "tokenizer_named"]

# A word may hold apostrophes (don't, dogs’); every other sign that is not a space is a token of its own.
WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def split_on_spaces(text: str) -> list[str]:
    """Exactly ``text.split(" ")``: lists with one entry a token (rationales) stay aligned.

    Two spaces in a row make an empty token, and a line break or tab stays inside its token; the empty
    text is one empty token, which readers count as an empty text and leave out.
    """
    return text.split(" ")


def split_words(text: str) -> list[str]:
    """Words (letters, digits, underscores, inner apostrophes) and single signs, spaces left out."""
    return WORD.findall(text)


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"whitespace": split_on_spaces, "word": split_words}


def tokenizer_named(name: str) -> Callable[[str], list[str]]:
    """The tokeniser of that name.

    Raises:
        ValueError: if there is none, naming the nearest.
    """
    if name in TOKENIZERS:
        return TOKENIZERS[name]
    raise ValueError(f"tokenizer must be one of {sorted(TOKENIZERS)}, got {name!r}{nearest(name, TOKENIZERS)}")
