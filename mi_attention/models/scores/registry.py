"""Registration of scoring functions: one function in one file, and one decorator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from torch import Tensor

from mi_attention.models.registry import Registry

__all__ = ["SCORES", "ParameterShapes", "ScoreEntry", "ScoreFunction", "Shape", "register_score"]

Shape: TypeAlias = tuple[int, ...]
ScoreFunction: TypeAlias = Callable[..., Tensor]
ParameterShapes: TypeAlias = Callable[..., Mapping[str, Shape | Sequence[Shape]]]
Function = TypeVar("Function", bound=ScoreFunction)


@dataclass(frozen=True)
class ScoreEntry:
    """A registered score.

    Attributes:
        name: What configurations call it.
        function: ``function(states, [query], **parameters, **options) -> (B, T)``.
        parameters: ``parameters(hidden, [with_query], **options)`` gives the shapes of the learned
            parameters; None when there are none.
        query: Whether the function needs a query, may take one, or takes none.
        options: Names of the options it understands, with their defaults.
    """

    name: str
    function: ScoreFunction
    parameters: ParameterShapes | None
    query: Literal["required", "optional", "none"]
    options: Mapping[str, Any]

    def shapes(self, hidden: int, *, with_query: bool, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Shapes of the learned parameters for hidden size ``H``."""
        if self.parameters is None:
            return {}
        known = inspect.signature(self.parameters).parameters
        arguments: dict[str, Any] = {name: value for name, value in options.items() if name in known}
        if "with_query" in known:
            arguments["with_query"] = with_query
        return self.parameters(hidden, **arguments)

    def function_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those options that the scoring function itself takes."""
        known = inspect.signature(self.function).parameters
        return {name: value for name, value in options.items() if name in known}


SCORES: Registry[ScoreEntry] = Registry("score")


def register_score(name: str, parameters: ParameterShapes | None = None) -> Callable[[Function], Function]:
    """Make a scoring function available to configurations under ``name``.

    The function takes ``states (B, T, H)``, a parameter called ``query`` (``(B, H)``) if it wants one
    (with default None if it can do without), its learned parameters by name, and options with defaults;
    it returns ``(B, T)``. Padded states are zeros; what it returns there is ignored. Parameters whose
    name begins with ``bias`` start at 0, the others uniform in ±1/√(last dimension). Example::

        @register_score("bilinear", parameters=lambda hidden: {"matrix": (hidden, hidden)})
        def bilinear(states, query, matrix):
            return torch.einsum("bth,hk,bk->bt", states, matrix, query)

    Args:
        name: A new name.
        parameters: ``parameters(hidden, **options) -> {name: shape or list of shapes}``; a parameter
            ``with_query`` of it is told whether there is a query.

    Returns:
        A decorator that returns the function unchanged.

    Raises:
        ValueError: If the name is taken or the first parameter is missing.
    """

    def register(function: Function) -> Function:
        signature = inspect.signature(function).parameters
        if not signature:
            raise ValueError(f"score {name!r} takes no parameter; its first is states (B, T, H)")
        states = next(iter(signature))
        query: Literal["required", "optional", "none"] = "none"
        if "query" in signature:
            query = "required" if signature["query"].default is inspect.Parameter.empty else "optional"
        options: dict[str, Any] = {}
        if parameters is not None:
            for key, parameter in list(inspect.signature(parameters).parameters.items())[1:]:
                if key != "with_query" and parameter.default is not inspect.Parameter.empty:
                    options[key] = parameter.default
        for key, parameter in signature.items():
            # A default of None marks a learned parameter that may be absent, not an option.
            plain = isinstance(parameter.default, bool | int | float | str)
            if key not in (states, "query") and plain:
                options[key] = parameter.default
        SCORES.add(name, ScoreEntry(name, function, parameters, query, options))
        return function

    return register
