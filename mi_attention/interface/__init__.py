"""The types every room passes to every other, and their validation.

This room imports nothing of the package and no torch, so that every room may import it.

Shape letters, the same in every docstring of the package: ``N`` instances, ``T`` positions of an
instance, ``M`` the sum of ``T`` over instances, ``H`` hidden size, ``E`` embedding size, ``C``
classes, ``B`` batch, ``S`` seeds, ``U`` units, ``d`` dimension of a unit. All information is in nats.
"""

from mi_attention.interface.arrays import BoolArray, FloatArray, IntArray, Status
from mi_attention.interface.information import MIEstimate, MIEstimator, Unit
from mi_attention.interface.measured import Measured
from mi_attention.interface.model import AttentionModel, LinearHead
from mi_attention.interface.record import AttentionRecord
from mi_attention.interface.validation import BLOCK_NUMBERS

__all__ = [
    "BLOCK_NUMBERS",
    "AttentionModel",
    "AttentionRecord",
    "BoolArray",
    "FloatArray",
    "IntArray",
    "LinearHead",
    "MIEstimate",
    "MIEstimator",
    "Measured",
    "Status",
    "Unit",
]
