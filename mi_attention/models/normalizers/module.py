"""The one module behind every normaliser: it holds the options and tells training from evaluation."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from mi_attention.models.normalizers.masking import check_temperature
from mi_attention.models.normalizers.registry import NORMALIZERS

__all__ = ["Normalizer"]


class Normalizer(nn.Module):
    """A registered normaliser with its temperature and options; it has no parameters.

    Args:
        name: Registered name.
        temperature: τ > 0.
        options: Options of the normaliser; see its docstring.

    Raises:
        ValueError: If the name or an option is unknown, or the temperature is not positive.
    """

    def __init__(self, name: str, temperature: float = 1.0, options: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.entry = NORMALIZERS[name]
        self.temperature = check_temperature(temperature)
        self.options = dict(options or {})
        for key in self.options:
            if key not in self.entry.options:
                nearest = difflib.get_close_matches(key, self.entry.options, n=1)
                hint = (
                    f"did you mean {nearest[0]!r}?" if nearest else f"it takes {sorted(self.entry.options) or 'none'}"
                )
                raise ValueError(f"normalizer {name!r} has no option {key!r}; {hint}")

    def forward(self, logits: Tensor, mask: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Weights ``(B, T)``.

        Args:
            logits: ``(B, T)``.
            mask: ``(B, T)`` bool.
            generator: Needed in training by a normaliser that draws noise; not used otherwise.

        Raises:
            ValueError: If noise is due and there is no generator, and as the function itself.
        """
        if not self.entry.random:
            return self.entry.function(logits, mask, self.temperature, **self.options)
        if self.training and generator is None:
            raise ValueError(
                f"normalizer {self.entry.name!r} draws noise in training and generator is None; "
                "pass a torch.Generator, or call eval() for the deterministic weights"
            )
        source = generator if self.training else None
        return self.entry.function(logits, mask, self.temperature, generator=source, **self.options)

    def extra_repr(self) -> str:
        """Name, temperature and options."""
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"{self.entry.name!r}, temperature={self.temperature:g}{options}"
