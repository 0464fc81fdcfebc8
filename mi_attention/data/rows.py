"""From rows with a text and a label to a data set; every text source ends here."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from mi_attention.data.dataset import Dataset, Sequences, Vocabulary
from mi_attention.data.evidence import parse_evidence
from mi_attention.data.fingerprint import fingerprint
from mi_attention.data.labels import encode_labels
from mi_attention.data.options import TextOptions
from mi_attention.data.splits import carve_dev, hashed_split, written_split
from mi_attention.data.suggestions import nearest
from mi_attention.data.tokenizers import tokenizer_named
from mi_attention.interface import FloatArray

__all__ = ["dataset_from_rows"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Text:
    """One row on its way: its place in the source, its tokens, and where the second text begins."""

    identifier: int
    label: int
    split: str
    key: tuple[str, ...]
    tokens: tuple[str, ...]
    second: int | None
    evidence: FloatArray | None


def dataset_from_rows(
    rows: Iterable[Mapping[str, Any]],
    *,
    name: str,
    options: TextOptions | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Dataset:
    """Tokenise, split, encode and pack rows.

    The vocabulary comes from the training split only. Rows that cannot be used are left out and counted
    in ``dropped`` by reason ("no text", "empty text", "no label", …); contradictions (evidence of another
    length than the text, unknown splits) are errors.

    Args:
        rows: One mapping a row; ``options`` name the columns. Rows keep their number as identifier.
        name: Name of the data set.
        options: Defaults if None.
        provenance: Facts about the source.

    Returns:
        The data set. Without a training split and without ``options.vocabulary`` every token is
        unknown: see ``Dataset.require``.

    Raises:
        ValueError: naming the column or row, and the remedy.
    """
    options = options or TextOptions()
    read = list(rows)
    columns = _Columns.find(read, options, name)
    dropped: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    numbers, classes = encode_labels(
        [row.get(options.label) for row in read], classes=options.classes, missing_label=options.missing_label
    )
    texts = []
    for place, (row, label) in enumerate(zip(read, numbers, strict=True)):
        text = _text_of(place, row, label, columns, options, dropped, cut)
        if text is not None:
            texts.append(text)
    moved = carve_dev([(text.split, text.key) for text in texts], options)
    if moved is not None:
        texts = [replace(text, split=split) for text, split in zip(texts, moved, strict=True)]
    members = {split: [text for text in texts if text.split == split] for split in ("train", "dev", "test")}
    if not texts:
        raise ValueError(f"no row of {name!r} can be used; left out: {dict(dropped)}")
    vocabulary = options.vocabulary or Vocabulary.build(
        chain.from_iterable(text.tokens for text in members["train"]),
        lowercase=options.lowercase,
        min_count=options.min_count,
        max_size=options.max_size,
    )
    splits = {split: _pack(split, group, vocabulary, columns) for split, group in members.items() if group}
    dataset = Dataset(
        name=name,
        train=splits.get("train"),
        dev=splits.get("dev"),
        test=splits.get("test"),
        classes=classes,
        vocabulary=vocabulary,
        dropped=dict(dropped),
    )
    told = {
        **(provenance or {}),
        "options": options.described(),
        "split": _split_story(columns, options, moved is not None),
        "rows": len(read),
        "counts": {split: len(group) for split, group in splits.items()},
        "truncated": {"texts": cut["texts"], "tokens": cut["tokens"]},
        "texts_also_in_train": _overlap(members),
    }
    if dropped or cut:
        logger.info("%s: left out %s, truncated %s", name, dict(dropped), dict(cut))
    hashed = {"tokenizer": options.tokenizer, "lowercase": vocabulary.lowercase}
    return replace(dataset, fingerprint=fingerprint(dataset, hashed), provenance=told)


@dataclass(frozen=True)
class _Columns:
    """Which of the optional columns the source has."""

    split: str | None
    text_b: str | None
    rationale: str | None
    rationale_b: str | None

    @classmethod
    def find(cls, rows: Sequence[Mapping[str, Any]], options: TextOptions, name: str) -> _Columns:
        if not rows:
            raise ValueError(f"{name!r} has no rows")
        present = list(dict.fromkeys(chain.from_iterable(rows)))
        for required in (options.text, options.label):
            if required not in present:
                raise ValueError(_no_column(required, present, name))
        defaults = TextOptions()
        found: dict[str, str | None] = {}
        for role in ("split", "text_b", "rationale", "rationale_b"):
            column = getattr(options, role)
            if column is not None and column not in present:
                # A column asked for by a name of one's own must exist; the usual names are optional.
                if column != getattr(defaults, role):
                    raise ValueError(_no_column(column, present, name))
                column = None
            found[role] = column
        return cls(**found)


def _no_column(column: str, present: Sequence[str], name: str) -> str:
    return f"{name!r} has no column {column!r}{nearest(column, present)}; it has: {', '.join(map(str, present))}"


def _text_of(
    place: int,
    row: Mapping[str, Any],
    label: int | None,
    columns: _Columns,
    options: TextOptions,
    dropped: Counter[str],
    cut: Counter[str],
) -> _Text | None:
    """The row as tokens, or None after counting why it is left out."""
    split = written_split(place, row, columns.split, options)
    if split is None:
        dropped[f"split {row.get(str(columns.split))!r} left out"] += 1
        return None
    if label is None:
        dropped["no label"] += 1
        return None
    parts = [options.text] if columns.text_b is None else [options.text, columns.text_b]
    written = [_string(place, row, part) for part in parts]
    for part, text in zip(("text", "text_b"), written, strict=False):
        if text is None:
            dropped[f"no {part}"] += 1
            return None
    key = tuple(text for text in written if text is not None)
    tokenize = tokenizer_named(options.tokenizer)
    tokens = [tokenize(text) for text in key]
    for part, words in zip(("text", "text_b"), tokens, strict=False):
        if not any(word.strip() for word in words):
            dropped[f"empty {part}"] += 1
            return None
    evidence = parse_evidence(
        place,
        row.get(columns.rationale) if columns.rationale else None,
        row.get(columns.rationale_b) if columns.rationale_b else None,
        [len(words) for words in tokens],
    )
    if options.min_length is not None and min(map(len, tokens)) < options.min_length:
        dropped[f"shorter than min_length {options.min_length}"] += 1
        return None
    if options.max_length is not None and max(map(len, tokens)) > options.max_length:
        if options.too_long == "drop":
            dropped[f"longer than max_length {options.max_length}"] += 1
            return None
        cut["texts"] += 1
        cut["tokens"] += sum(max(0, len(words) - options.max_length) for words in tokens)
        tokens = [words[: options.max_length] for words in tokens]
        evidence = None if evidence is None else [part[: options.max_length] for part in evidence]
    if columns.text_b is None:
        second = None
    else:
        if options.separator is not None:
            tokens[0] = [*tokens[0], options.separator]
            evidence = None if evidence is None else [np.append(evidence[0], np.float32(0)), evidence[1]]
        second = len(tokens[0])
    split = split or hashed_split(key, options)
    return _Text(
        identifier=place,
        label=label,
        split=split,
        key=key,
        tokens=tuple(chain.from_iterable(tokens)),
        second=second,
        evidence=None if evidence is None else np.concatenate(evidence),
    )


def _string(place: int, row: Mapping[str, Any], column: str) -> str | None:
    value = row.get(column)
    # A missing cell of a table may arrive as NaN, the only value that differs from itself.
    if value is None or value != value:
        return None
    if not isinstance(value, str):
        raise ValueError(f"{column} of row {place} must be a string, got {type(value).__name__} {value!r}")
    return value


def _split_story(columns: _Columns, options: TextOptions, carved: bool) -> str:
    if columns.split is None:
        story = f"by hash of the text, fractions {[float(share) for share in options.fractions]}"
    else:
        story = f"column {columns.split!r}"
    return story + (f"; dev carved from train by hash of the text, fraction {options.dev_fraction}" if carved else "")


def _overlap(members: Mapping[str, Sequence[_Text]]) -> dict[str, int]:
    seen = {text.key for text in members["train"]}
    return {split: sum(text.key in seen for text in members[split]) for split in ("dev", "test")}


def _pack(split: str, texts: Sequence[_Text], vocabulary: Vocabulary, columns: _Columns) -> Sequences:
    tokens = tuple(chain.from_iterable(text.tokens for text in texts))
    lengths = np.array([len(text.tokens) for text in texts], dtype=np.int64)
    segment = None
    if columns.text_b is not None:
        second = np.array([text.second for text in texts], dtype=np.int64)
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        segment = (within >= np.repeat(second, lengths)).astype(np.int8)
    return Sequences(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        label=np.array([text.label for text in texts], dtype=np.int64),
        token_ids=vocabulary.encode(tokens),
        segment=segment,
        rationale=_packed_evidence(split, texts),
        tokens=tokens,
        identifier=np.array([text.identifier for text in texts], dtype=np.int64),
    )


def _packed_evidence(split: str, texts: Sequence[_Text]) -> FloatArray | None:
    found = [text.evidence for text in texts if text.evidence is not None]
    if not found:
        return None
    if len(found) < len(texts):
        missing = next(text.identifier for text in texts if text.evidence is None)
        raise ValueError(
            f"row {missing} of split {split!r} has no rationale but others have; give every row of a split one "
            "or pass rationale=None to ignore the column"
        )
    return np.concatenate(found)
