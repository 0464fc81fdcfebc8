"""Docstrings of installed scientific packages: real English text on every machine, to be told apart by package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mi_attention.data.cache import cached_value, default_cache_dir, store_value
from mi_attention.data.dataset import Dataset
from mi_attention.data.fingerprint import fingerprint, text_hash, unit_interval
from mi_attention.data.masking import PACKAGES, masked_tokens
from mi_attention.data.options import TextOptions
from mi_attention.data.planting import check_fractions, split_sizes
from mi_attention.data.rows import dataset_from_rows
from mi_attention.data.source_code import first_paragraphs, installed_version, source_files

__all__ = ["load_docstrings"]

SPLITS = ("train", "dev", "test")

# Raise when the way of reading changes, so that old cache files are not taken for new ones.
READER = 1

# Read a little more than wanted, since texts that two packages share are left out afterwards.
MARGIN = 1.03


def load_docstrings(
    *,
    packages: Sequence[str] = PACKAGES,
    per_class: int = 400,
    fractions: Sequence[float] = (0.6, 0.1, 0.3),
    min_tokens: int = 6,
    max_tokens: int = 40,
    min_count: int = 1,
    cache_dir: str | Path | None = None,
    use_cache: bool = True,
) -> Dataset:
    """First paragraphs of public functions and methods, labelled by package.

    The source is parsed, not imported: files of each package in hash order until every split has
    enough (about a second a package), then kept in a cache. Package names and aliases are masked, texts
    are lower case, a text that occurs twice in a package is taken once and one that occurs in two packages
    not at all. All classes have the same number of texts in a split, and a hash of the text alone chooses
    the split. Versions of the packages are part of the fingerprint: results on other versions are
    results on other data.

    Args:
        packages: Two or more of numpy, pandas, scipy, sklearn, statsmodels; they name the classes.
        per_class: Texts of a class over all splits; fewer if a package has fewer, then fewer of each.
        fractions: Shares of train, dev, test.
        min_tokens: Shortest text, inclusive.
        max_tokens: Longest text, inclusive.
        min_count: Tokens rarer than this in train are unknown.
        cache_dir: Cache folder; the user's if None.
        use_cache: False neither reads nor writes the cache.

    Raises:
        ValueError: if an argument is out of range or a package is not installed.
    """
    _check(packages, per_class, fractions, min_tokens, max_tokens)
    versions = {package: installed_version(package) for package in packages}
    key = {
        "reader": READER,
        "versions": versions,
        "packages": list(packages),
        "per_class": per_class,
        "fractions": [float(share) for share in fractions],
        "tokens": [min_tokens, max_tokens],
    }
    folder = default_cache_dir() if cache_dir is None else Path(cache_dir)
    found = cached_value(folder, "docstrings", key) if use_cache else None
    if found is None:
        found = _collect(packages, per_class, fractions, min_tokens, max_tokens)
        if use_cache:
            store_value(folder, "docstrings", key, found)
    dataset = dataset_from_rows(
        found["rows"],
        name="docstrings",
        options=TextOptions(lowercase=False, classes=tuple(packages), min_count=min_count),
        provenance={"source": "docstrings of installed packages", "versions": versions, "per_class": per_class},
    )
    return replace(
        dataset,
        dropped={**found["dropped"], **dataset.dropped},
        fingerprint=fingerprint(dataset, {"versions": versions, "reader": READER}),
        provenance={
            **dataset.provenance,
            "split": f"by hash of the text, fractions {key['fractions']}",
            "files_read": found["files_read"],
        },
    )


def _check(
    packages: Sequence[str], per_class: int, fractions: Sequence[float], min_tokens: int, max_tokens: int
) -> None:
    if isinstance(packages, str) or len(packages) < 2 or len(set(packages)) < len(packages):
        raise ValueError(f"packages must be two or more distinct names, got {packages!r}")
    unknown = [package for package in packages if package not in PACKAGES]
    if unknown:
        raise ValueError(f"packages must be among {', '.join(PACKAGES)}, got {unknown[0]!r}")
    check_fractions(fractions)
    if per_class < 10:
        raise ValueError(f"per_class must be at least 10, got {per_class}")
    if not 1 <= min_tokens <= max_tokens:
        raise ValueError(f"min_tokens must be from 1 to max_tokens, got {min_tokens} and {max_tokens}")


def _collect(
    packages: Sequence[str], per_class: int, fractions: Sequence[float], min_tokens: int, max_tokens: int
) -> dict[str, Any]:
    """Rows with ``text``, ``label``, ``split``; counts of what was left out; files read by package."""
    quotas = _quotas(per_class, fractions)
    dropped: Counter[str] = Counter()
    files_read: dict[str, int] = {}
    texts: dict[str, dict[str, list[str]]] = {}
    for package in packages:
        texts[package], files_read[package] = _read_package(
            package, quotas, fractions, (min_tokens, max_tokens), dropped
        )
    owners = Counter(text for groups in texts.values() for group in groups.values() for text in group)
    rows = []
    for split in SPLITS:
        unique = {package: [text for text in texts[package][split] if owners[text] == 1] for package in packages}
        size = min(quotas[split], *(len(group) for group in unique.values()))
        for package in packages:
            dropped["more than the balanced number"] += len(unique[package]) - size
            rows += [{"text": text, "label": package, "split": split} for text in unique[package][:size]]
    dropped["text shared by packages"] = sum(count for count in owners.values() if count > 1)
    rows.sort(key=lambda row: text_hash("docstrings order", row["text"]))
    return {"rows": rows, "dropped": {why: n for why, n in dropped.items() if n}, "files_read": files_read}


def _read_package(
    package: str,
    quotas: Mapping[str, int],
    fractions: Sequence[float],
    lengths: tuple[int, int],
    dropped: Counter[str],
) -> tuple[dict[str, list[str]], int]:
    """Distinct texts by split, in reading order, and how many files were read."""
    groups: dict[str, list[str]] = {split: [] for split in SPLITS}
    wanted = {split: int(quotas[split] * MARGIN) + 3 if quotas[split] else 0 for split in SPLITS}
    seen: set[str] = set()
    read = 0
    for path in source_files(package):
        if all(len(groups[split]) >= wanted[split] for split in SPLITS):
            break
        read += 1
        try:
            paragraphs = list(first_paragraphs(path))
        except ValueError:
            dropped["file that does not parse"] += 1
            continue
        for paragraph in paragraphs:
            tokens = masked_tokens(paragraph)
            text = " ".join(tokens)
            if not lengths[0] <= len(tokens) <= lengths[1]:
                dropped["shorter or longer than asked"] += 1
            elif text in seen:
                dropped["repeated in its package"] += 1
            else:
                seen.add(text)
                groups[_split_of(text, fractions)].append(text)
    return groups, read


def _quotas(per_class: int, fractions: Sequence[float]) -> dict[str, int]:
    return dict(zip(SPLITS, split_sizes(per_class, fractions), strict=True))


def _split_of(text: str, fractions: Sequence[float]) -> str:
    place = unit_interval("docstrings split", text)
    return "train" if place < fractions[0] else "dev" if place < fractions[0] + fractions[1] else "test"
