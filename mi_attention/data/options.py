"""What a reader of texts may be asked: columns, splits, tokens, vocabulary, lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from mi_attention.data.dataset import Vocabulary
from mi_attention.data.planting import check_fractions
from mi_attention.data.suggestions import nearest
from mi_attention.data.tokenizers import tokenizer_named

__all__ = ["TextOptions"]

# Left out of the provenance: the vocabulary is hashed as such and would make it huge.
BULKY = ("vocabulary",)


@dataclass(frozen=True)
class TextOptions:
    """Options of every text source (files, Hugging Face data sets, lists of rows).

    Attributes:
        text: Column of the text.
        label: Column of the class: integers, or strings.
        split: Column of the split; used if it is there. None to ignore it.
        text_b: Column of the second text of a pair; used if it is there. None to ignore it.
        rationale: Column of the evidence, one number in [0, 1] for each token; used if it is there.
            For pairs without a ``rationale_b`` it covers both texts, one after the other.
        rationale_b: Column of the second text's evidence; used if it is there.
        splits: The source's split names → ``"train"``, ``"dev"``, ``"test"``, or None to leave those rows
            out (they are counted). The usual names (validation, valid, val, …) are known.
        fractions: Shares of train, dev, test where there is no split column: a hash of the text chooses,
            so the same text is always in the same split, and duplicates stay together.
        dev_fraction: Share of train that becomes dev where the source has train but no dev; 0 for none.
            Chosen by hash of the text, never from test.
        tokenizer: ``"whitespace"`` (exactly ``text.split(" ")``) or ``"word"`` (words and signs).
        lowercase: The vocabulary is in lower case; ``Sequences.tokens`` keeps the text as written.
        classes: Names of the classes in order; integer labels index them. If None: the sorted distinct
            labels of the whole source.
        missing_label: This label (as a number or its string) means that there is none, besides null and
            empty. None if −1 is a class.
        vocabulary: Encode with this vocabulary (another model's) instead of the training split's own.
        min_count: Rarer tokens are unknown.
        max_size: At most so many tokens in the vocabulary besides padding and unknown.
        min_length: Texts with fewer tokens are left out and counted; a text of exactly this length stays.
        max_length: Longer texts are cut or left out (``too_long``) and counted; exactly this length stays
            whole. For pairs both limits are for each text.
        too_long: ``"truncate"`` or ``"drop"``.
        separator: Token put between the two texts of a pair, in segment 0 and with rationale 0; None for
            none.
    """

    text: str = "text"
    label: str = "label"
    split: str | None = "split"
    text_b: str | None = "text_b"
    rationale: str | None = "rationale"
    rationale_b: str | None = "rationale_b"
    splits: Mapping[str, str | None] | None = None
    fractions: Sequence[float] = (0.8, 0.1, 0.1)
    dev_fraction: float = 0.1
    tokenizer: Literal["whitespace", "word"] = "whitespace"
    lowercase: bool = True
    classes: Sequence[str] | None = None
    missing_label: int | str | None = -1
    vocabulary: Vocabulary | None = None
    min_count: int = 1
    max_size: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    too_long: Literal["truncate", "drop"] = "truncate"
    separator: str | None = None

    def __post_init__(self) -> None:
        """Check ranges."""
        tokenizer_named(self.tokenizer)
        check_fractions(self.fractions)
        if not 0 <= self.dev_fraction < 1:
            raise ValueError(f"dev_fraction must be in [0, 1), got {self.dev_fraction}")
        for name in ("min_count", "max_size", "min_length", "max_length"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.min_length is not None and self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length {self.min_length} is above max_length {self.max_length}")
        if self.too_long not in ("truncate", "drop"):
            raise ValueError(f"too_long must be 'truncate' or 'drop', got {self.too_long!r}")
        if self.classes is not None and (isinstance(self.classes, str) or len(set(self.classes)) < len(self.classes)):
            raise ValueError(f"classes must be a list of distinct names, got {self.classes!r}")

    @classmethod
    def of(cls, **options: Any) -> TextOptions:
        """Options by name, with an unknown name refused and the nearest known one suggested."""
        known = [option.name for option in fields(cls)]
        for name in options:
            if name not in known:
                raise ValueError(
                    f"unknown option {name!r} of a text source{nearest(name, known)}; known: {', '.join(known)}"
                )
        return cls(**options)

    def described(self) -> dict[str, Any]:
        """The options as JSON-able values, the vocabulary left out."""
        values = {name: value for name, value in asdict(self).items() if name not in BULKY}
        values["fractions"] = [float(share) for share in self.fractions]
        values["classes"] = None if self.classes is None else list(self.classes)
        values["splits"] = None if self.splits is None else dict(self.splits)
        values["own_vocabulary"] = self.vocabulary is None
        return values
