"""Score, query and normaliser, composed."""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from mi_attention.models.config import ClassifierConfig, QueryKind
from mi_attention.models.normalizers import Normalizer
from mi_attention.models.output import AttentionOutput
from mi_attention.models.query import last_query, mean_query
from mi_attention.models.scores import SCORES, Score, ScoreEntry

__all__ = ["Attention", "resolve_query"]

ResolvedQuery: TypeAlias = Literal["none", "learned", "mean", "last", "second_text"]


def resolve_query(entry: ScoreEntry, query: QueryKind) -> ResolvedQuery:
    """The query a score is asked with, with ``"auto"`` decided.

    Raises:
        ValueError: If the score cannot be asked that way.
    """
    resolved: ResolvedQuery
    resolved = ("learned" if entry.query == "required" else "none") if query == "auto" else query
    if entry.query == "required" and resolved == "none":
        raise ValueError(f"query is 'none' but score {entry.name!r} needs one; use learned, mean, last or second_text")
    if entry.query == "none" and resolved != "none":
        raise ValueError(f"query is {query!r} but score {entry.name!r} takes no query; use 'auto' or 'none'")
    if entry.query == "optional" and resolved == "learned":
        raise ValueError(
            f"query is 'learned' but score {entry.name!r} has learned constants of its own; "
            "use none, mean, last or second_text"
        )
    return resolved


class Attention(nn.Module):
    """One attention distribution over the states of each text.

    Args:
        config: Score, query, normaliser and temperature.
        hidden: H.
        bidirectional: Whether the encoder is (it decides what the last state is).
    """

    def __init__(self, config: ClassifierConfig, hidden: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.bidirectional = bidirectional
        self.query = resolve_query(SCORES[config.score], config.query)
        self.score = Score(config.score, hidden, with_query=self.query != "none", options=config.score_options)
        self.normalizer = Normalizer(config.normalizer, config.temperature, config.normalizer_options)
        self.learned_query: nn.Parameter | None = None
        if self.query == "learned":
            self.learned_query = nn.Parameter(torch.empty(hidden).uniform_(-(hidden**-0.5), hidden**-0.5))

    def make_query(self, states: Tensor, mask: Tensor, segment: Tensor | None = None) -> Tensor | None:
        """Query ``(B, H)`` from the states, or None when there is none or it is a learned constant.

        Args:
            states: ``(B, T, H)``.
            mask: ``(B, T)`` bool, True where a position is real.
            segment: ``(B, T)`` 0 for the first text and 1 for the second; needed by ``"second_text"``.

        Raises:
            ValueError: If the query is the second text and there is no ``segment``.
        """
        if self.query == "mean":
            return mean_query(states, mask)
        if self.query == "last":
            return last_query(states, mask, bidirectional=self.bidirectional)
        if self.query == "second_text":
            if segment is None:
                raise ValueError("query is 'second_text' but the data has no segment; give pairs of texts (text_b)")
            return mean_query(states, mask & (segment == 1))
        return None

    def readable(self, mask: Tensor, segment: Tensor | None = None) -> Tensor:
        """Positions ``(B, T)`` that attention may weigh: all real ones, or those of the first text.

        A pair without a second text has nothing to be asked with: all its positions are unreadable, so
        that it comes out as undefined.
        """
        if self.query != "second_text" or segment is None:
            return mask
        asked = (mask & (segment == 1)).any(dim=1, keepdim=True)
        return mask & (segment == 0) & asked

    def forward(
        self, states: Tensor, mask: Tensor, query: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> AttentionOutput:
        """Weigh the states.

        Args:
            states: ``(B, T, H)``.
            mask: ``(B, T)`` bool, the positions to weigh.
            query: ``(B, H)``; None takes the learned query, or makes a mean or last query from ``states``
                and ``mask``.
            generator: Source of noise in training; see ``Normalizer``.

        Returns:
            Weights, logits and context; fully masked rows are zeros and ``undefined``.

        Raises:
            ValueError: If the query is the second text and is not given, if one is given to a score that
                takes none, and as the normaliser.
        """
        if query is None and self.learned_query is not None:
            query = self.learned_query.expand(states.shape[0], -1)
        elif query is None:
            query = self.make_query(states, mask)
        elif self.query == "none":
            raise ValueError("query is given but this attention was built without one; leave it out")
        logits = self.score(states, query)
        weights = self.normalizer(logits, mask, generator)
        context = torch.bmm(weights[:, None, :], states)[:, 0]
        return AttentionOutput(context, weights, logits.masked_fill(~mask, 0.0), ~mask.any(dim=1))

    def extra_repr(self) -> str:
        """What it is asked with."""
        return f"query={self.query!r}"
