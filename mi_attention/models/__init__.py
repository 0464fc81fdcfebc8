"""Attention classifiers: encoders, scores, normalisers, training and checkpoints.

Names load on first use, so that configurations can be read without loading torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mi_attention.models.attention import Attention
    from mi_attention.models.batch import Batch, make_batch
    from mi_attention.models.checkpoint import load_checkpoint, save_checkpoint, weights_hash
    from mi_attention.models.classifier import AttentionClassifier, ClassifierOutput, Predictions
    from mi_attention.models.config import ClassifierConfig, TrainingConfig
    from mi_attention.models.encoders import ENCODERS, Encoder, register_encoder
    from mi_attention.models.evaluation import Evaluation, evaluate
    from mi_attention.models.guided import GuidedClassifier, train_guided
    from mi_attention.models.normalizers import NORMALIZERS, Normalizer, register_normalizer
    from mi_attention.models.output import AttentionOutput
    from mi_attention.models.scores import SCORES, Score, register_score
    from mi_attention.models.training import Epoch, TrainedClassifier, train

__all__ = [
    "ENCODERS",
    "NORMALIZERS",
    "SCORES",
    "Attention",
    "AttentionClassifier",
    "AttentionOutput",
    "Batch",
    "ClassifierConfig",
    "ClassifierOutput",
    "Encoder",
    "Epoch",
    "Evaluation",
    "GuidedClassifier",
    "Normalizer",
    "Predictions",
    "Score",
    "TrainedClassifier",
    "TrainingConfig",
    "evaluate",
    "load_checkpoint",
    "make_batch",
    "register_encoder",
    "register_normalizer",
    "register_score",
    "save_checkpoint",
    "train",
    "train_guided",
    "weights_hash",
]

_HOME = {
    "attention": ("Attention",),
    "batch": ("Batch", "make_batch"),
    "checkpoint": ("load_checkpoint", "save_checkpoint", "weights_hash"),
    "classifier": ("AttentionClassifier", "ClassifierOutput", "Predictions"),
    "config": ("ClassifierConfig", "TrainingConfig"),
    "encoders": ("ENCODERS", "Encoder", "register_encoder"),
    "evaluation": ("Evaluation", "evaluate"),
    "guided": ("GuidedClassifier", "train_guided"),
    "normalizers": ("NORMALIZERS", "Normalizer", "register_normalizer"),
    "output": ("AttentionOutput",),
    "scores": ("SCORES", "Score", "register_score"),
    "training": ("Epoch", "TrainedClassifier", "train"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the module that defines ``name``."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE[name]}"), name)
