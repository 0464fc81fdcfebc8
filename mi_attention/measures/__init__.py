"""Measures: pure functions on arrays.

How alike two orders are (``rank_correlation``, ``top_k``), how far apart two distributions are
(``distances``), how concentrated one is (``concentration``), how high a score ranks marked positions
(``evidence``), and how narrow a cone states lie in (``conicity``). All take one vector, rows, or packed
vectors with offsets, and return a ``Measured`` with one value an instance (see ``layout``).
"""

from mi_attention.measures.concentration import (
    concentration,
    effective_support,
    gini,
    max_weight,
    normalized_entropy,
    normalized_skew,
    zero_share,
)
from mi_attention.measures.conicity import conicity
from mi_attention.measures.distances import jensen_shannon, kullback_leibler, total_variation
from mi_attention.measures.evidence import evidence_auc, evidence_precision
from mi_attention.measures.rank_correlation import (
    kendall_tau_b,
    smallest_p,
    somers_d,
    spearman,
    tie_share,
    weighted_tau,
)
from mi_attention.measures.top_k import top_k_excess, top_k_overlap

__all__ = [
    "concentration",
    "conicity",
    "effective_support",
    "evidence_auc",
    "evidence_precision",
    "gini",
    "jensen_shannon",
    "kendall_tau_b",
    "kullback_leibler",
    "max_weight",
    "normalized_entropy",
    "normalized_skew",
    "smallest_p",
    "somers_d",
    "spearman",
    "tie_share",
    "top_k_excess",
    "top_k_overlap",
    "total_variation",
    "weighted_tau",
    "zero_share",
]
