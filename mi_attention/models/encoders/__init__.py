"""Encoders: from input vectors to the hidden states that attention weighs."""

from mi_attention.models.encoders.bilstm import BiLstmEncoder
from mi_attention.models.encoders.cnn import CnnEncoder
from mi_attention.models.encoders.embedding import EmbeddingEncoder
from mi_attention.models.encoders.mlp import MlpEncoder
from mi_attention.models.encoders.registry import ENCODERS, Encoder, register_encoder

__all__ = [
    "ENCODERS",
    "BiLstmEncoder",
    "CnnEncoder",
    "EmbeddingEncoder",
    "Encoder",
    "MlpEncoder",
    "register_encoder",
]
