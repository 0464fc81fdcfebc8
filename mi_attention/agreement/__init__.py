"""The order of attention against the order of information, with the controls that a claim needs.

- ``compare(record)``: one record to the tables of a paper; ``compare_arrays(hidden, attention, output)``: the same
  from plain arrays; ``compare_many(records)``: seeds of one or more cells, with intervals over seeds, joint nulls and
  contrasts.
- ``erase``: the causal check beside every tau, curves of the prediction's change when positions are erased in an order.
- ``compare(record, extras=EXTRAS)``: what states and context preserve of the output, redundancy, states against their
  embeddings, conicity, agreement with human evidence.
- ``position_pairs``, ``instance_pairs``, ``pointwise_pairs``: pairs of positions for the question of near ties.
- Everything else is what these are made of: units (alignments), profiles, controls, reliability.
"""

from mi_attention.agreement.arrays import compare_arrays
from mi_attention.agreement.compare import AlignmentKind, compare
from mi_attention.agreement.comparison import Comparison
from mi_attention.agreement.controls import (
    Decoder,
    find_decoder,
    head_evidence,
    median_split,
    permute_attention,
    probabilities_under,
    uniform_attention,
)
from mi_attention.agreement.erasure import SHARES, Decode, ErasureCurves, ErasureOrder, erase
from mi_attention.agreement.erasure_rows import ERASURE_CURVE_COLUMNS
from mi_attention.agreement.extras import EXTRAS, Extra
from mi_attention.agreement.many import ManyComparison, compare_many
from mi_attention.agreement.model_controls import ControlModel
from mi_attention.agreement.near_ties import (
    NEAR_TIE_COLUMNS,
    instance_pairs,
    near_tie_table,
    pointwise_pairs,
    pool_near_ties,
    position_pairs,
)
from mi_attention.agreement.outputs import Output, Target, make_target
from mi_attention.agreement.pooling import pool_agreement, pool_concentration, pool_curves
from mi_attention.agreement.profiles import PROFILE_COLUMNS, Profile, estimate_profiles
from mi_attention.agreement.reliability import (
    PointwiseHalves,
    pointwise_ceiling,
    pointwise_halves,
    pointwise_reliability,
    profile_reliability,
)
from mi_attention.agreement.rows import AGREEMENT_COLUMNS
from mi_attention.agreement.sparse_outputs import ReducedOutput, Reduction, reduce_sparse_output
from mi_attention.agreement.units import Alignment, align_positions, align_ranks, align_tokens

__all__ = [
    "AGREEMENT_COLUMNS",
    "ERASURE_CURVE_COLUMNS",
    "EXTRAS",
    "NEAR_TIE_COLUMNS",
    "PROFILE_COLUMNS",
    "SHARES",
    "Alignment",
    "AlignmentKind",
    "Comparison",
    "ControlModel",
    "Decode",
    "Decoder",
    "ErasureCurves",
    "ErasureOrder",
    "Extra",
    "ManyComparison",
    "Output",
    "PointwiseHalves",
    "Profile",
    "ReducedOutput",
    "Reduction",
    "Target",
    "align_positions",
    "align_ranks",
    "align_tokens",
    "compare",
    "compare_arrays",
    "compare_many",
    "erase",
    "estimate_profiles",
    "find_decoder",
    "head_evidence",
    "instance_pairs",
    "make_target",
    "median_split",
    "near_tie_table",
    "permute_attention",
    "pointwise_ceiling",
    "pointwise_halves",
    "pointwise_pairs",
    "pointwise_reliability",
    "pool_agreement",
    "pool_concentration",
    "pool_curves",
    "pool_near_ties",
    "position_pairs",
    "probabilities_under",
    "profile_reliability",
    "reduce_sparse_output",
    "uniform_attention",
]
