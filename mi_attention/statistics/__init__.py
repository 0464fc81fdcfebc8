"""Statistics: intervals, tests against nulls, contrasts, families, trends, reliability, power.

Each procedure is a pure function. It returns rows of ``RESULT_COLUMNS`` (see ``table``), or a frozen dataclass
of scalars whose ``table`` method makes that row. A procedure that cannot answer says why in ``reason`` and leaves
NaN. What each p and interval holds in simulation is in ``tests/statistics/CALIBRATION.md``.
"""

from mi_attention.statistics.attention_order import AttentionOrder, attention_order
from mi_attention.statistics.bootstrap import BootstrapInterval, bootstrap_means
from mi_attention.statistics.clustered_ratio import ClusteredRatio, clustered_ratio
from mi_attention.statistics.combined_null import CombinedNull, combined_shift_null
from mi_attention.statistics.contrasts import (
    bca_interval,
    complete_pairs,
    contrast_table,
    effect_size_interval,
    run_means,
)
from mi_attention.statistics.crossed import CrossedBootstrap, CrossedInterval, crossed_bootstrap, crossed_interval
from mi_attention.statistics.equivalence import equivalence
from mi_attention.statistics.families import adjust_family, require_power, seeds_needed
from mi_attention.statistics.friedman import friedman
from mi_attention.statistics.joint_bootstrap import joint_bootstrap_interval, position_interval
from mi_attention.statistics.linear_model import factorial_model
from mi_attention.statistics.near_ties import (
    GAP_COLUMNS,
    PairGaps,
    concordance_by_gap,
    difference_error,
    pair_gaps,
    tau_above_gap,
)
from mi_attention.statistics.paired import HOLM_COLUMNS, PairedContrast, holm_family, paired_contrast, sign_flip_p
from mi_attention.statistics.partner_null import PartnerNull, partner_null
from mi_attention.statistics.power import (
    POWER_COLUMNS,
    DifferenceSpread,
    difference_spread,
    power_table,
    sign_flip_power,
)
from mi_attention.statistics.reliability import (
    Ceiling,
    SplitHalf,
    profile_covariance,
    shrink_profile,
    split_half,
    tau_ceiling,
)
from mi_attention.statistics.rounding import paired_differences
from mi_attention.statistics.seeds import SeedInterval, seed_interval, smallest_sign_flip_p
from mi_attention.statistics.shift_null import ShiftNull, lag_one_autocorrelation, shift_null
from mi_attention.statistics.table import RESULT_COLUMNS, Facts, Tabular, result_table
from mi_attention.statistics.trends import curvature, jonckheere, page_trend, theil_sen_slope

__all__ = [
    "GAP_COLUMNS",
    "HOLM_COLUMNS",
    "POWER_COLUMNS",
    "RESULT_COLUMNS",
    "AttentionOrder",
    "BootstrapInterval",
    "Ceiling",
    "ClusteredRatio",
    "CombinedNull",
    "CrossedBootstrap",
    "CrossedInterval",
    "DifferenceSpread",
    "Facts",
    "PairGaps",
    "PairedContrast",
    "PartnerNull",
    "SeedInterval",
    "ShiftNull",
    "SplitHalf",
    "Tabular",
    "adjust_family",
    "attention_order",
    "bca_interval",
    "bootstrap_means",
    "clustered_ratio",
    "combined_shift_null",
    "complete_pairs",
    "concordance_by_gap",
    "contrast_table",
    "crossed_bootstrap",
    "crossed_interval",
    "curvature",
    "difference_error",
    "difference_spread",
    "effect_size_interval",
    "equivalence",
    "factorial_model",
    "friedman",
    "holm_family",
    "joint_bootstrap_interval",
    "jonckheere",
    "lag_one_autocorrelation",
    "page_trend",
    "pair_gaps",
    "paired_contrast",
    "paired_differences",
    "partner_null",
    "position_interval",
    "power_table",
    "profile_covariance",
    "require_power",
    "result_table",
    "run_means",
    "seed_interval",
    "seeds_needed",
    "shift_null",
    "shrink_profile",
    "sign_flip_p",
    "sign_flip_power",
    "smallest_sign_flip_p",
    "split_half",
    "tau_above_gap",
    "tau_ceiling",
    "theil_sen_slope",
]
