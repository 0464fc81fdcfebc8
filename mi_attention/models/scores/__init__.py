"""Scoring functions: how much attention a hidden state asks for, before normalisation."""

from mi_attention.models.scores.additive import additive
from mi_attention.models.scores.deep import deep
from mi_attention.models.scores.module import Score, check_score
from mi_attention.models.scores.registry import SCORES, ScoreEntry, register_score
from mi_attention.models.scores.scaled_dot import scaled_dot

__all__ = ["SCORES", "Score", "ScoreEntry", "additive", "check_score", "deep", "register_score", "scaled_dot"]
