"""Pretrained word vectors from GloVe-style text or npz files, put in line with a vocabulary."""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mi_attention.data.dataset import Dataset, Vocabulary
from mi_attention.data.fingerprint import fingerprint
from mi_attention.interface import FloatArray

__all__ = ["Coverage", "WordVectors", "align_vectors", "attach_vectors", "read_vectors"]

# Lines looked at to find the dimension: words with spaces only ever make a line longer.
SAMPLE_LINES = 200


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors as a file has them.

    Attributes:
        words: W distinct strings.
        vectors: ``(W, E)`` float32, finite.
        repeated: Lines left out because their word had come before.
    """

    words: tuple[str, ...]
    vectors: FloatArray
    repeated: int = 0


@dataclass(frozen=True)
class Coverage:
    """How much of a vocabulary has a vector.

    Attributes:
        found: Words found as they are.
        found_in_lowercase: Further words found in lower case only.
        missing: Words without a vector, which got a random one; padding and unknown not counted.
        deviation: Standard deviation of the random vectors, that of the values of all vectors found.
    """

    found: int
    found_in_lowercase: int
    missing: int
    deviation: float


def read_vectors(path: str | Path, words: Collection[str] | None = None) -> WordVectors:
    """Read a file of word vectors.

    Text: a word and E numbers a line, separated by single spaces, UTF-8; the last E fields are the
    vector, so words may hold spaces (GloVe 840B has some); a word2vec header line (``W E``) is known.
    npz: arrays ``words`` (strings or UTF-8 bytes, not objects: nothing is unpickled) and
    ``vectors (W, E)``.

    Args:
        path: A ``.npz`` file, or a text file of any other suffix.
        words: Keep only these, which saves memory; all if None.

    Returns:
        The words kept, in file order; of a word that occurs twice the first.

    Raises:
        ValueError: naming the line or array that is wrong, and the remedy.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    wanted = None if words is None else frozenset(words)
    if path.suffix.lower() == ".npz":
        return _read_npz(path, wanted)
    return _read_text(path, wanted)


def align_vectors(vocabulary: Vocabulary, source: WordVectors, *, seed: int = 0) -> tuple[FloatArray, Coverage]:
    """Vectors for a vocabulary: found, in lower case if need be, or random.

    Args:
        vocabulary: V entries.
        source: Vectors to choose from.
        seed: Of the random vectors N(0, deviation²), the deviation being that of the values found.

    Returns:
        ``(V, E)`` float32 with row 0 (padding) zero, and the coverage.

    Raises:
        ValueError: if no word of the vocabulary is in ``source``.
    """
    place = {word: row for row, word in enumerate(source.words)}
    rows = np.full(len(vocabulary), -1, dtype=np.int64)
    lowered = 0
    for index, word in enumerate(vocabulary.tokens):
        if index <= Vocabulary.UNKNOWN:
            continue
        row = place.get(word)
        if row is None:
            row = place.get(word.lower())
            lowered += row is not None
        rows[index] = -1 if row is None else row
    has_vector = rows >= 0
    if not has_vector.any():
        raise ValueError(
            "vectors hold no word of the vocabulary; check that both are in the same language and case "
            f"(first words: {source.words[:3]!r} and {vocabulary.tokens[2:5]!r})"
        )
    known = source.vectors[rows[has_vector]].astype(np.float64)
    # Six digits: sums of another platform differ in the last bits, and the data must not.
    deviation = float(f"{known.std():.6g}")
    generator = np.random.default_rng(seed)
    aligned = (deviation * generator.standard_normal((len(vocabulary), source.vectors.shape[1]))).astype(np.float32)
    aligned[has_vector] = source.vectors[rows[has_vector]]
    aligned[Vocabulary.PADDING] = 0.0
    found = int(has_vector.sum())
    missing = len(vocabulary) - 2 - found
    return aligned, Coverage(found - lowered, lowered, missing, deviation)


def attach_vectors(dataset: Dataset, path: str | Path, *, seed: int = 0) -> Dataset:
    """The data set with ``pretrained`` vectors from a file, its coverage in ``provenance["vectors"]``.

    Args:
        dataset: A data set of tokens.
        path: See ``read_vectors``.
        seed: Of the vectors of words that the file lacks.

    Raises:
        ValueError: if the data set has no vocabulary, or for the reasons of ``read_vectors``.
    """
    vocabulary = dataset.vocabulary
    if vocabulary is None:
        raise ValueError(f"data set {dataset.name!r} is made of vectors already; it takes no word vectors")
    wanted = set(vocabulary.tokens[2:]) | {word.lower() for word in vocabulary.tokens[2:]}
    pretrained, coverage = align_vectors(vocabulary, read_vectors(path, wanted), seed=seed)
    told: dict[str, Any] = {
        "source": Path(path).name,
        "sha256": _file_hash(Path(path)),
        "seed": seed,
        "dimension": int(pretrained.shape[1]),
        "found": coverage.found,
        "found_in_lowercase": coverage.found_in_lowercase,
        "missing": coverage.missing,
        "deviation": coverage.deviation,
    }
    grown = replace(dataset, pretrained=pretrained)
    return replace(
        grown,
        fingerprint=fingerprint(grown, {"before": dataset.fingerprint}),
        provenance={**dataset.provenance, "vectors": told},
    )


def _read_npz(path: Path, wanted: frozenset[str] | None) -> WordVectors:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path.name} is not an npz file; write it with numpy.savez")
    try:
        with np.load(path, allow_pickle=False) as stored:
            missing = [name for name in ("words", "vectors") if name not in stored.files]
            if missing:
                raise ValueError(f"{path.name} has no array {missing[0]!r}, only {stored.files}")
            words = _strings(path, _array(path, stored, "words"))
            vectors = _array(path, stored, "vectors")
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is a damaged npz file ({error})") from error
    if vectors.ndim != 2 or len(vectors) != len(words) or not np.issubdtype(vectors.dtype, np.floating):
        raise ValueError(
            f"{path.name}: vectors must be ({len(words)}, E) real numbers to match words, got shape {vectors.shape} "
            f"of {vectors.dtype}"
        )
    kept: dict[str, int] = {}
    repeated = 0
    for row, word in enumerate(words):
        if wanted is None or word in wanted:
            repeated += word in kept
            kept.setdefault(word, row)
    return WordVectors(tuple(kept), _finite(path, vectors[list(kept.values())], tuple(kept)), repeated)


def _array(path: Path, stored: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(stored[name])
    except ValueError as error:
        raise ValueError(
            f"{path.name}: array {name!r} holds Python objects, which would have to be unpickled; save it as "
            "np.array(list_of_words) of strings (and vectors as numbers)"
        ) from error


def _strings(path: Path, words: NDArray[Any]) -> list[str]:
    if words.ndim != 1 or words.dtype.kind not in "US":
        raise ValueError(f"{path.name}: words must be a (W,) array of strings, got {words.dtype} {words.shape}")
    return [word.decode("utf-8") for word in words.tolist()] if words.dtype.kind == "S" else words.tolist()


def _read_text(path: Path, wanted: frozenset[str] | None) -> WordVectors:
    dimension, header = _dimension(path)
    kept: dict[str, NDArray[np.float32]] = {}
    counts: Counter[str] = Counter()
    for number, fields in _lines(path):
        if header and number == 1:
            continue
        if len(fields) < dimension + 1:
            raise ValueError(
                f"{path.name}, line {number}: {len(fields)} fields, but a word and {dimension} numbers are needed"
            )
        word = " ".join(fields[:-dimension])
        if wanted is not None and word not in wanted:
            continue
        if word in kept:
            counts["repeated"] += 1
            continue
        try:
            kept[word] = np.array(fields[-dimension:], dtype=np.float32)
        except ValueError:
            raise ValueError(f"{path.name}, line {number}: the last {dimension} fields must be numbers") from None
    stacked = np.stack(list(kept.values())) if kept else np.empty((0, dimension), dtype=np.float32)
    return WordVectors(tuple(kept), _finite(path, stacked, tuple(kept)), counts["repeated"])


def _dimension(path: Path) -> tuple[int, bool]:
    """E, and whether the first line is a header."""
    sample = [fields for _, fields in islice(_lines(path), SAMPLE_LINES)]
    if not sample:
        raise ValueError(f"{path.name} is empty")
    first, rest = sample[0], sample[1:]
    if len(first) == 2 and first[0].isdecimal() and first[1].isdecimal():
        declared = int(first[1])
        if declared and rest and min(map(len, rest)) == declared + 1:
            return declared, True
    dimension = min(map(len, sample)) - 1
    if dimension < 1:
        raise ValueError(f"{path.name}: lines must hold a word and at least one number, separated by single spaces")
    return dimension, False


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    # newline="\n" and split(" "): words may hold other kinds of space, which would break a line apart.
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            content = line.rstrip("\r\n ")
            if content:
                yield number, content.split(" ")


def _finite(path: Path, vectors: NDArray[Any], words: tuple[str, ...]) -> FloatArray:
    converted = np.ascontiguousarray(vectors, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(converted).all(axis=1))
    if bad.size:
        raise ValueError(f"{path.name}: the vector of {words[bad[0]]!r} has NaN or infinite values")
    return converted


def _file_hash(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
