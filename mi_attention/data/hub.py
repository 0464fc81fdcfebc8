"""Data sets of the Hugging Face ``datasets`` library, through the optional extra."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mi_attention.data.dataset import Dataset
from mi_attention.data.options import TextOptions
from mi_attention.data.rows import dataset_from_rows

__all__ = ["load_hub"]

# The key under which each row carries the split it came from; no column of a data set has this name.
SPLIT_KEY = "\0split"


def load_hub(
    name: str,
    config: str | None = None,
    *,
    revision: str | None = None,
    data_files: Any = None,
    cache_dir: str | Path | None = None,
    **options: Any,
) -> Dataset:
    """Load a data set by its name on the Hugging Face Hub, or local files through the same library.

    Splits are those of the data set: usual names (validation, …) are known, others need
    ``splits={"validation_matched": "dev", "unsupervised": None}``. Rows without a label (GLUE's test
    splits have −1) are left out and counted. Class names come from the data set's features.

    Args:
        name: Name on the Hub, or a builder (``"json"``, ``"csv"``, ``"parquet"``).
        config: Configuration (``"sst2"`` of ``"glue"``).
        revision: Commit, tag or branch; give a commit to be sure of the content.
        data_files: Files of a builder, by split.
        cache_dir: Where the library keeps its cache; its own default if None.
        **options: Fields of ``TextOptions``. ``split`` may name a column if the data set has one split.

    Raises:
        ImportError: if the library is missing, with the command that installs it.
        ValueError: for the reasons of ``dataset_from_rows``.
    """
    try:
        import datasets
    except ImportError as error:
        raise ImportError("Hugging Face data sets need the extra: pip install 'mi-attention[transformers]'") from error
    chosen = TextOptions.of(**options)
    loaded = datasets.load_dataset(
        name,
        config,
        revision=revision,
        data_files=data_files,
        cache_dir=None if cache_dir is None else str(cache_dir),
    )
    own_column = "split" in options or (len(loaded) == 1 and chosen.split in next(iter(loaded.values())).column_names)
    if chosen.classes is None:
        chosen = replace(chosen, classes=_class_names(loaded, chosen.label))
    if not own_column:
        chosen = replace(chosen, split=SPLIT_KEY)
    provenance = {
        "source": "hugging face datasets",
        "name": name,
        "config": config,
        "revision": revision,
        "versions": {"datasets": datasets.__version__},
    }
    label = name if config is None else f"{name}/{config}"
    return dataset_from_rows(_rows(loaded), name=label, options=chosen, provenance=provenance)


def _rows(loaded: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for split, content in loaded.items():
        for row in content:
            yield {**row, SPLIT_KEY: str(split)}


def _class_names(loaded: Mapping[str, Any], column: str) -> tuple[str, ...] | None:
    for content in loaded.values():
        names = getattr(content.features.get(column), "names", None)
        if names:
            return tuple(names)
    return None
