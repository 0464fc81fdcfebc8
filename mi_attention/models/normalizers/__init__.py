"""Normalisers: from scores to attention weights."""

from mi_attention.models.normalizers.entmax import entmax
from mi_attention.models.normalizers.gumbel_softmax import gumbel_noise, gumbel_softmax, gumbel_softmax_samples
from mi_attention.models.normalizers.masking import check_temperature, finish, prepare
from mi_attention.models.normalizers.module import Normalizer
from mi_attention.models.normalizers.registry import NORMALIZERS, NormalizerEntry, register_normalizer
from mi_attention.models.normalizers.softmax import softmax
from mi_attention.models.normalizers.sparsemax import sparsemax
from mi_attention.models.normalizers.uniform import uniform

__all__ = [
    "NORMALIZERS",
    "Normalizer",
    "NormalizerEntry",
    "check_temperature",
    "entmax",
    "finish",
    "gumbel_noise",
    "gumbel_softmax",
    "gumbel_softmax_samples",
    "prepare",
    "register_normalizer",
    "softmax",
    "sparsemax",
    "uniform",
]
