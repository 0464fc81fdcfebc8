"""Statistics: intervals, tests against nulls, contrasts, reliability.

Each procedure is a pure function that returns a frozen dataclass of scalars (``dataclasses.asdict`` makes
it a row) or a tidy table. A procedure that cannot answer says why in ``reason`` and leaves NaN.
"""

from mi_attention.statistics.attention_order import AttentionOrder, attention_order
from mi_attention.statistics.bootstrap import BootstrapInterval, bootstrap_means
from mi_attention.statistics.crossed import CrossedBootstrap, CrossedInterval, crossed_bootstrap, crossed_interval
from mi_attention.statistics.paired import HOLM_COLUMNS, PairedContrast, holm_family, paired_contrast, sign_flip_p
from mi_attention.statistics.partner_null import PartnerNull, partner_null
from mi_attention.statistics.reliability import Ceiling, SplitHalf, profile_covariance, split_half, tau_ceiling
from mi_attention.statistics.seeds import SeedInterval, seed_interval, smallest_sign_flip_p
from mi_attention.statistics.shift_null import ShiftNull, lag_one_autocorrelation, shift_null

__all__ = [
    "HOLM_COLUMNS",
    "AttentionOrder",
    "BootstrapInterval",
    "Ceiling",
    "CrossedBootstrap",
    "CrossedInterval",
    "PairedContrast",
    "PartnerNull",
    "SeedInterval",
    "ShiftNull",
    "SplitHalf",
    "attention_order",
    "bootstrap_means",
    "crossed_bootstrap",
    "crossed_interval",
    "holm_family",
    "lag_one_autocorrelation",
    "paired_contrast",
    "partner_null",
    "profile_covariance",
    "seed_interval",
    "shift_null",
    "sign_flip_p",
    "smallest_sign_flip_p",
    "split_half",
    "tau_ceiling",
]
