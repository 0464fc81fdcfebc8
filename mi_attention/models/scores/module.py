"""The one module behind every score: it owns the parameters and calls the pure function."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from mi_attention.models.scores.registry import SCORES, ScoreEntry

__all__ = ["Score", "check_score"]

_ANY_HIDDEN = 4


def _parameter(name: str, shape: tuple[int, ...]) -> nn.Parameter:
    values = torch.zeros(shape)
    if not name.startswith("bias"):
        bound = 1.0 / math.sqrt(shape[-1])
        nn.init.uniform_(values, -bound, bound)
    return nn.Parameter(values)


def check_score(name: str, *, with_query: bool, options: Mapping[str, Any]) -> ScoreEntry:
    """The registered score, if it can be built like this; nothing is built and nothing drawn.

    Raises:
        ValueError: If the name or an option is unknown or has a bad value, or a query is missing or not
            wanted.
    """
    entry = SCORES[name]
    for key in options:
        if key not in entry.options:
            nearest = difflib.get_close_matches(key, entry.options, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"it takes {sorted(entry.options) or 'none'}"
            raise ValueError(f"score {name!r} has no option {key!r}; {hint}")
    if entry.query == "required" and not with_query:
        raise ValueError(f"score {name!r} needs a query; choose 'learned', 'mean', 'last' or 'second_text'")
    if entry.query == "none" and with_query:
        raise ValueError(f"score {name!r} takes no query; set query to 'auto' or 'none'")
    # The shapes of any hidden size show whether the values of the options make sense.
    entry.shapes(_ANY_HIDDEN, with_query=with_query, options=options)
    return entry


class Score(nn.Module):
    """A registered score with its learned parameters.

    Initial values come from torch's global generator, as in every torch module; ``AttentionClassifier``
    seeds it for the time of building and puts it back.

    Args:
        name: Registered name.
        hidden: H.
        with_query: Whether ``forward`` will be given a query.
        options: Options of the score; see its docstring.

    Raises:
        ValueError: If the name or an option is unknown, or a query is missing or not wanted.
    """

    def __init__(
        self, name: str, hidden: int, *, with_query: bool = False, options: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        chosen = dict(options or {})
        self.entry = check_score(name, with_query=with_query, options=chosen)
        self.hidden = hidden
        self.with_query = with_query
        self.options = chosen
        self._function_options = self.entry.function_options({**self.entry.options, **chosen})
        self._lists: set[str] = set()
        shapes = self.entry.shapes(hidden, with_query=with_query, options=chosen)
        for key, shape in shapes.items():
            if isinstance(shape, list):
                self._lists.add(key)
                setattr(self, f"parameter_{key}", nn.ParameterList([_parameter(key, one) for one in shape]))
            else:
                self.register_parameter(f"parameter_{key}", _parameter(key, tuple(shape)))
        self._names = tuple(shapes)

    def forward(self, states: Tensor, query: Tensor | None = None) -> Tensor:
        """Logits ``(B, T)`` of ``states (B, T, H)``, asked with ``query (B, H)`` where there is one."""
        arguments: dict[str, Any] = {name: getattr(self, f"parameter_{name}") for name in self._names}
        for name in self._lists:
            arguments[name] = list(arguments[name])
        if self.with_query:
            arguments["query"] = query
        logits = self.entry.function(states, **arguments, **self._function_options)
        if logits.shape != states.shape[:2]:
            raise ValueError(
                f"score {self.entry.name!r} returned {tuple(logits.shape)} for states {tuple(states.shape)}; "
                f"it must return (B, T) = {tuple(states.shape[:2])}"
            )
        return logits

    def extra_repr(self) -> str:
        """Name, sizes and options."""
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"{self.entry.name!r}, hidden={self.hidden}, with_query={self.with_query}{options}"
