"""The order of attention against the order of information, with the controls that a claim needs."""

from mi_attention.agreement.compare import AlignmentKind, Comparison, compare
from mi_attention.agreement.controls import (
    Decoder,
    find_decoder,
    head_evidence,
    permute_attention,
    probabilities_under,
    uniform_attention,
)
from mi_attention.agreement.outputs import Output, Target, make_target
from mi_attention.agreement.profiles import PROFILE_COLUMNS, Profile, estimate_profiles
from mi_attention.agreement.reliability import pointwise_reliability, profile_reliability
from mi_attention.agreement.rows import AGREEMENT_COLUMNS
from mi_attention.agreement.units import Alignment, align_positions, align_ranks, align_tokens

__all__ = [
    "AGREEMENT_COLUMNS",
    "PROFILE_COLUMNS",
    "Alignment",
    "AlignmentKind",
    "Comparison",
    "Decoder",
    "Output",
    "Profile",
    "Target",
    "align_positions",
    "align_ranks",
    "align_tokens",
    "compare",
    "estimate_profiles",
    "find_decoder",
    "head_evidence",
    "make_target",
    "permute_attention",
    "pointwise_reliability",
    "probabilities_under",
    "profile_reliability",
    "uniform_attention",
]
