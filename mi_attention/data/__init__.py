"""Where sequences come from: generators with known information, embedded real data, files, the Hub.

``load("planted/keywords")``, ``load("docstrings")``, ``load("texts.jsonl", tokenizer="word")`` and
``load("hub/NAME", text="sentence")`` all give a ``Dataset``: packed sequences in three splits with classes,
vocabulary, counts of what was left out, a fingerprint and the provenance. ``available()`` lists the
names, and ``register`` adds one.
"""

from mi_attention.data.batches import PaddedBatch, pad, plan_batches
from mi_attention.data.dataset import Dataset, Sequences, Vocabulary
from mi_attention.data.digits import load_digits
from mi_attention.data.docstrings import load_docstrings
from mi_attention.data.files import load_file, read_rows
from mi_attention.data.hub import load_hub
from mi_attention.data.loading import available, load, register
from mi_attention.data.options import TextOptions
from mi_attention.data.planted import keyword, keywords, noisy_keyword
from mi_attention.data.planted_gaussian import gaussian
from mi_attention.data.planted_rules import majority, xor
from mi_attention.data.rows import dataset_from_rows
from mi_attention.data.vectors import align_vectors, attach_vectors, read_vectors

__all__ = [
    "Dataset",
    "PaddedBatch",
    "Sequences",
    "TextOptions",
    "Vocabulary",
    "align_vectors",
    "attach_vectors",
    "available",
    "dataset_from_rows",
    "gaussian",
    "keyword",
    "keywords",
    "load",
    "load_digits",
    "load_docstrings",
    "load_file",
    "load_hub",
    "majority",
    "noisy_keyword",
    "pad",
    "plan_batches",
    "read_rows",
    "read_vectors",
    "register",
    "xor",
]
