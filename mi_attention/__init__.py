"""Does an attention layer tell which hidden states inform the model's output?

The names most users need; each is loaded when it is first used, so that importing the package is quick
and ``mi-attention --help`` does not wait for torch::

    from mi_attention import AttentionRecord, compare, mutual_information

    record = AttentionRecord.from_arrays(hidden, attention, output, mask, label=label)
    comparison = compare(record)
    print(comparison)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mi_attention.agreement import Comparison, ManyComparison, compare, compare_arrays, compare_many
    from mi_attention.estimators import mutual_information
    from mi_attention.interface import AttentionRecord, LinearHead, MIEstimate, Unit
    from mi_attention.records import open_record, save_record

__all__ = [
    "AttentionRecord",
    "Comparison",
    "LinearHead",
    "MIEstimate",
    "ManyComparison",
    "Unit",
    "__version__",
    "compare",
    "compare_arrays",
    "compare_many",
    "mutual_information",
    "open_record",
    "save_record",
]

_HOMES = {
    "AttentionRecord": "mi_attention.interface",
    "Comparison": "mi_attention.agreement",
    "LinearHead": "mi_attention.interface",
    "MIEstimate": "mi_attention.interface",
    "ManyComparison": "mi_attention.agreement",
    "Unit": "mi_attention.interface",
    "compare": "mi_attention.agreement",
    "compare_arrays": "mi_attention.agreement",
    "compare_many": "mi_attention.agreement",
    "mutual_information": "mi_attention.estimators",
    "open_record": "mi_attention.records",
    "save_record": "mi_attention.records",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its room."""
    if name == "__version__":
        from importlib.metadata import version

        return version("mi-attention")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mi_attention' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    """Public names."""
    return sorted(__all__)
