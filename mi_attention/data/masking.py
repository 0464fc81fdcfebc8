"""Hiding the names of packages in the texts that are to be told apart."""

from __future__ import annotations

import re

from mi_attention.data.tokenizers import split_words

__all__ = ["MASK", "PACKAGES", "masked_tokens"]

PACKAGES = ("numpy", "pandas", "scipy", "sklearn", "statsmodels")

MASK = "<package>"

ALIASES = frozenset({"np", "pd", "sp", "sm", "smf", "sk", "skl", "scikit", "scikits"})

# One name in three words for the tokeniser.
HYPHENATED = re.compile(r"scikit[\s-]+learn", re.IGNORECASE)


def masked_tokens(text: str) -> list[str]:
    """Lower-case words and signs, with every package name, alias, or word that holds a name masked.

    ``to_numpy`` holds a name and becomes the mask, as do ``np`` and ``scikit-learn``. Words that merely
    are typical of a package (``series``, ``estimator``) stay: they are what there is to learn.
    """
    words = split_words(HYPHENATED.sub("sklearn", text).lower())
    return [MASK if word in ALIASES or any(name in word for name in PACKAGES) else word for word in words]
