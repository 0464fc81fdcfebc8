"""What a classifier is and how it is trained, as plain values that a TOML or JSON file can hold.

This file does not import torch, so that a command line can describe a study without loading it; the
names of encoders, scores and normalisers are looked up when a configuration is made.
"""

from __future__ import annotations

import math
import re
from typing import Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["ClassifierConfig", "Freeze", "Option", "QueryKind", "TrainingConfig"]

QueryKind: TypeAlias = Literal["auto", "none", "learned", "mean", "last", "second_text"]
Freeze: TypeAlias = Literal["none", "attention", "encoder", "all_but_attention", "attention_last"]
Option: TypeAlias = bool | int | float | str


class ClassifierConfig(BaseModel):
    """Embedding → encoder → attention → linear."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str = Field(default="bilstm", description="embedding, mlp, cnn, bilstm, or a registered name")
    units: int = Field(
        default=128,
        ge=1,
        description="Hidden size H of mlp and cnn; units of each direction of bilstm (H is twice as many); "
        "not used by embedding, where H is the embedding size",
    )
    embedding_size: int | None = Field(
        default=None,
        ge=1,
        description="Size E of token vectors; by default that of the pretrained vectors, or 100 without any. "
        "Vector sequences bring their own",
    )
    pretrained: bool = Field(default=True, description="Start from the data's pretrained vectors where there are any")
    train_embeddings: bool = Field(default=True, description="Update the token vectors in training")
    score: str = Field(default="additive", description="additive, deep, scaled_dot, or a registered name")
    score_options: dict[str, Option] = Field(
        default_factory=dict, description="Options of the score, such as depth = 3 or attention_size = 64"
    )
    query: QueryKind = Field(
        default="auto",
        description="What the attention is asked with: a learned vector, the mean or last state, the mean state of "
        "the second text (attention is then over the first text), or none; auto is learned where the score needs a "
        "query and none elsewhere",
    )
    normalizer: str = Field(
        default="softmax", description="softmax, gumbel_softmax, sparsemax, entmax, uniform, or a registered name"
    )
    normalizer_options: dict[str, Option] = Field(
        default_factory=dict, description="Options of the normaliser, such as alpha = 1.5 or evaluation = 'samples'"
    )
    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Logits are divided by it")

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        # Imported here, not above: these import torch, and `--help` must not wait for it.
        from mi_attention.models.attention import resolve_query
        from mi_attention.models.encoders import ENCODERS
        from mi_attention.models.normalizers import Normalizer
        from mi_attention.models.scores import SCORES, check_score

        ENCODERS[self.encoder]
        Normalizer(self.normalizer, self.temperature, self.normalizer_options)
        query = resolve_query(SCORES[self.score], self.query)
        check_score(self.score, with_query=query != "none", options=self.score_options)
        return self


class TrainingConfig(BaseModel):
    """Adam with early stopping on the development split."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epochs: int = Field(default=8, ge=1, description="Most passes over the training split")
    patience: int = Field(default=3, ge=1, description="Stop after this many epochs without a better dev result")
    monitor: Literal["accuracy", "macro_f1", "loss"] = Field(
        default="accuracy", description="Dev result that chooses the epoch; equal ones are told apart by the dev loss"
    )
    learning_rate: float = Field(default=1e-3, gt=0, allow_inf_nan=False, description="Step size of Adam")
    weight_decay: float = Field(
        default=1e-5,
        ge=0,
        allow_inf_nan=False,
        description="L2 penalty on the encoder and the decoder; attention and token vectors have none",
    )
    batch_size: int = Field(default=32, ge=1, description="Sequences a step")
    clip_norm: float = Field(
        default=5.0, gt=0, description="Largest gradient norm of encoder, attention and decoder; inf for none"
    )
    freeze: Freeze = Field(
        default="none",
        description="Parts that keep their initial values: none, attention, encoder (with the token vectors), or "
        "all_but_attention; attention_last trains all the rest under uniform attention first, and then the attention "
        "alone over the states of that model",
    )
    seed: int = Field(default=0, ge=0, description="Seed of initial values, order of batches and noise")
    device: str = Field(default="cpu", description="cpu, cuda or cuda:N")

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        if math.isnan(self.clip_norm):
            raise ValueError("clip_norm is NaN; give a number above 0, or inf for no clipping")
        if re.fullmatch(r"cpu|cuda(:\d+)?", self.device) is None:
            raise ValueError(f"device is {self.device!r}; give cpu, cuda or cuda:0, cuda:1 and so on")
        return self
