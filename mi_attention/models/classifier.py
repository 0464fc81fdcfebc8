"""The classifier whose attention is studied: embedding → encoder → attention → linear."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from mi_attention.data.batches import plan_batches
from mi_attention.data.dataset import Dataset, Sequences, Vocabulary
from mi_attention.interface import BoolArray, FloatArray, IntArray, LinearHead
from mi_attention.models.attention import Attention
from mi_attention.models.batch import Batch, delete_positions, make_batch
from mi_attention.models.config import ClassifierConfig
from mi_attention.models.encoders import ENCODERS
from mi_attention.models.output import AttentionOutput

__all__ = ["AttentionClassifier", "ClassifierOutput", "Predictions", "evaluation_mode"]

_DEFAULT_EMBEDDING_SIZE = 100


@dataclass(frozen=True, eq=False)
class ClassifierOutput:
    """Everything one pass computes.

    Attributes:
        embedded: ``(B, T, E)`` input vectors.
        states: ``(B, T, H)`` hidden states, zeros on padding.
        readable: ``(B, T)`` bool, the positions attention may weigh: all real ones, or those of the
            first text when the second text asks.
        query: ``(B, H)`` what the attention was asked with, None for a learned constant or no query.
        attention: Weights, attention logits and context.
        logits: ``(B, C)`` class logits; in rows where ``attention.undefined`` they are the bias alone.
    """

    embedded: Tensor
    states: Tensor
    readable: Tensor
    query: Tensor | None
    attention: AttentionOutput
    logits: Tensor


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class logits of N sequences.

    Attributes:
        logits: ``(N, C)`` float32, NaN exactly in the rows that are ``undefined``.
        undefined: ``(N,)`` True where the sequence has no position to attend to.
    """

    logits: FloatArray
    undefined: BoolArray

    @property
    def probabilities(self) -> FloatArray:
        """``(N, C)`` softmax of the logits in float64, NaN where undefined."""
        logits = self.logits.astype(np.float64)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        result: FloatArray = powers / powers.sum(axis=1, keepdims=True)
        return result


@contextlib.contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Every part of the model in evaluation mode, and afterwards each in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


class AttentionClassifier(nn.Module):
    """A text or vector classifier with one attention layer; implements ``interface.AttentionModel``.

    Token sequences go through an embedding table; vector sequences go straight to the encoder. Class
    logits are linear in the attention weights: W · Σ_t a_t h_t + b.

    Args:
        config: What to build.
        classes: C.
        vocabulary_size: V for token sequences, None for vector sequences.
        vector_size: E of vector sequences, None for token sequences.
        pretrained: ``(V, E)`` initial token vectors, or None for N(0, 1).
        seed: Seed of all other initial values; the global generator is left as it was.

    Raises:
        ValueError: If not exactly one of ``vocabulary_size`` and ``vector_size`` is given, fewer than two
            classes, sizes that contradict each other, or a part that cannot be built.
    """

    def __init__(
        self,
        config: ClassifierConfig,
        *,
        classes: int,
        vocabulary_size: int | None = None,
        vector_size: int | None = None,
        pretrained: FloatArray | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if (vocabulary_size is None) == (vector_size is None):
            raise ValueError("give vocabulary_size for token sequences or vector_size for vector sequences, not both")
        if vector_size is not None and vector_size < 1:
            raise ValueError(f"vector_size is {vector_size}; it must be at least 1")
        if classes < 2:
            raise ValueError(f"classes is {classes}; a classifier needs at least two")
        self.config = config
        self.classes = classes
        self.vocabulary_size = vocabulary_size
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.embedding = self._make_embedding(pretrained)
            self.embedding_size = self.embedding.embedding_dim if self.embedding is not None else int(vector_size or 0)
            self.encoder = ENCODERS[config.encoder](self.embedding_size, config.units)
            self.hidden = self.encoder.hidden
            # Before the attention, so that equal seeds give equal encoders and decoders under every score.
            self.decoder = nn.Linear(self.hidden, classes)
            self.attention = Attention(config, self.hidden, bidirectional=self.encoder.bidirectional)

    def _make_embedding(self, pretrained: FloatArray | None) -> nn.Embedding | None:
        size = self.config.embedding_size
        if self.vocabulary_size is None:
            return None
        if not self.config.pretrained:
            pretrained = None
        if pretrained is not None:
            if pretrained.ndim != 2 or pretrained.shape[0] != self.vocabulary_size:
                raise ValueError(
                    f"pretrained has shape {pretrained.shape} but the vocabulary {self.vocabulary_size} entries"
                )
            if size is not None and size != pretrained.shape[1]:
                raise ValueError(
                    f"embedding_size is {size} but the pretrained vectors have {pretrained.shape[1]} dimensions; "
                    "leave embedding_size out, or set pretrained = false"
                )
            size = int(pretrained.shape[1])
        # Sparse gradients let training update the rows of a batch only.
        embedding = nn.Embedding(self.vocabulary_size, size or _DEFAULT_EMBEDDING_SIZE, sparse=True)
        with torch.no_grad():
            if pretrained is not None:
                embedding.weight.copy_(torch.as_tensor(np.asarray(pretrained, dtype=np.float32)))
            embedding.weight[Vocabulary.PADDING] = 0.0
        embedding.weight.requires_grad_(self.config.train_embeddings)
        return embedding

    @classmethod
    def from_dataset(cls, dataset: Dataset, config: ClassifierConfig, seed: int = 0) -> Self:
        """An untrained classifier that fits the data.

        Raises:
            ValueError: If the data has neither vocabulary nor vectors.
        """
        if dataset.vocabulary is not None:
            return cls(
                config,
                classes=len(dataset.classes),
                vocabulary_size=len(dataset.vocabulary),
                pretrained=dataset.pretrained,
                seed=seed,
            )
        for split in dataset.splits.values():
            if split.vectors is not None:
                return cls(config, classes=len(dataset.classes), vector_size=int(split.vectors.shape[1]), seed=seed)
        raise ValueError(f"data {dataset.name!r} has neither a vocabulary nor vectors, so no input size is known")

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.decoder.weight.device

    @property
    def head(self) -> LinearHead:
        """The linear decoder as NumPy arrays (copies)."""
        return LinearHead(
            self.decoder.weight.detach().cpu().numpy().copy(), self.decoder.bias.detach().cpu().numpy().copy()
        )

    def require_fitting(self, sequences: Sequences) -> None:
        """Check that the sequences are of the kind this classifier takes.

        Raises:
            ValueError: On tokens instead of vectors or the reverse, another vector size, or token ids
                beyond the vocabulary.
        """
        if (sequences.token_ids is None) != (self.embedding is None):
            given, taken = ("vectors", "token ids") if sequences.token_ids is None else ("token ids", "vectors")
            raise ValueError(f"sequences hold {given} but this classifier takes {taken}")
        if sequences.vectors is not None and sequences.vectors.shape[1] != self.embedding_size:
            raise ValueError(
                f"vectors have {sequences.vectors.shape[1]} dimensions but the classifier takes {self.embedding_size}"
            )
        if sequences.token_ids is not None and sequences.token_ids.size:
            lowest, largest = int(sequences.token_ids.min()), int(sequences.token_ids.max())
            if lowest < 0 or largest >= (self.vocabulary_size or 0):
                raise ValueError(
                    f"token_ids run from {lowest} to {largest} but the vocabulary has {self.vocabulary_size} entries; "
                    "encode the texts with the vocabulary the classifier was trained with"
                )

    def embed(self, batch: Batch) -> Tensor:
        """Input vectors ``(B, T, E)``: table rows of token ids, or the vectors themselves."""
        if self.embedding is None:
            if batch.vectors is None:
                raise ValueError("this classifier takes vectors but the batch has token ids")
            return batch.vectors.to(self.decoder.weight.dtype)
        if batch.token_ids is None:
            raise ValueError("this classifier takes token ids but the batch has vectors")
        embedded: Tensor = self.embedding(batch.token_ids)
        return embedded

    def encode(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Hidden states ``(B, T, H)``, zeros where masked."""
        states: Tensor = self.encoder(embedded, mask)
        return states

    def attend(
        self, states: Tensor, mask: Tensor, query: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> AttentionOutput:
        """Attention over ``states (B, T, H)`` at the positions of ``mask (B, T)``; see ``Attention``."""
        output: AttentionOutput = self.attention(states, mask, query, generator=generator)
        return output

    def decode(self, states: Tensor, weights: Tensor) -> Tensor:
        """Class logits ``(B, C)`` = W · Σ_t weights_t states_t + b."""
        logits: Tensor = self.decoder(torch.bmm(weights[:, None, :], states)[:, 0])
        return logits

    def delete(self, batch: Batch, positions: Tensor) -> Batch:
        """The batch without the positions where ``positions (B, T)`` is True; see ``delete_positions``."""
        return delete_positions(batch, positions)

    def forward(self, batch: Batch, *, generator: torch.Generator | None = None) -> ClassifierOutput:
        """One pass; ``generator`` gives the noise of a Gumbel normaliser in training."""
        embedded = self.embed(batch)
        states = self.encode(embedded, batch.mask)
        query = self.attention.make_query(states, batch.mask, batch.segment)
        readable = self.attention.readable(batch.mask, batch.segment)
        attention = self.attend(states, readable, query, generator=generator)
        return ClassifierOutput(embedded, states, readable, query, attention, self.decoder(attention.context))

    @torch.no_grad()
    def run(self, sequences: Sequences, batch_size: int = 128) -> Iterator[tuple[IntArray, Batch, ClassifierOutput]]:
        """Pass over all sequences in evaluation mode, in order of length, without gradients.

        The model is in evaluation mode until the iterator ends (also by an error or by being closed);
        then every part is in the mode it was in before.

        Args:
            sequences: N sequences.
            batch_size: Sequences at once; results differ by rounding only.

        Yields:
            ``(indices, batch, output)``: ``indices (B,)`` says which sequence each row is.

        Raises:
            ValueError: If ``batch_size`` is below 1 or the sequences do not fit.
        """
        self.require_fitting(sequences)
        with evaluation_mode(self):
            for indices in plan_batches(sequences.lengths, batch_size=batch_size):
                batch = make_batch(sequences, indices, self.device)
                yield indices, batch, self(batch)

    def predict(self, sequences: Sequences, batch_size: int = 128) -> Predictions:
        """Class logits of all sequences, in their order; deterministic, in evaluation mode."""
        logits = np.full((len(sequences), self.classes), np.nan, dtype=np.float32)
        undefined = np.ones(len(sequences), dtype=bool)
        for indices, _, output in self.run(sequences, batch_size):
            undefined[indices] = output.attention.undefined.cpu().numpy()
            logits[indices] = output.logits.cpu().numpy()
        logits[undefined] = np.nan
        return Predictions(logits, undefined)

    def extra_repr(self) -> str:
        """Sizes."""
        source = f"vocabulary_size={self.vocabulary_size}" if self.embedding is not None else "vectors"
        return f"{source}, embedding_size={self.embedding_size}, hidden={self.hidden}, classes={self.classes}"
