"""Critics T(x, y) of many units at once: every parameter has a leading axis of critics, every product is batched.

- ``separable``: f(x) · g(y) with a hidden layer each. Costs O(B) network evaluations for B² scores.
- ``bilinear``: (x, 1) W (y, 1), van den Oord et al. (2018). Linear in x: with classes a logistic regression, and of a
  Gaussian pair it sees the correlation but not the quadratic terms that MINE and NWJ need beside it.
- ``concatenated``: one network of the pair, hidden layers of x and y added in the first. Costs O(B²).

Hidden units are exponential linear (Clevert et al. 2016): their slope has no jump, so that rounding, which differs with
the number of critics in a product, stays rounding; with rectified units it came to 0.001 nats.

The last layer starts at 0, so that an untrained critic is the constant 0 and every bound starts at no information.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import elu

from mi_attention.estimators.neural.options import CriticKind

__all__ = ["Parameters", "initial_parameters", "score"]

Parameters: TypeAlias = dict[str, Tensor]


def initial_parameters(
    kind: CriticKind, width_x: int, width_y: int, hidden: int, rng: np.random.Generator
) -> dict[str, NDArray[np.float32]]:
    """Parameters of one critic: uniform by fan-in (He et al. 2015), the last layer 0.

    Args:
        kind: Architecture.
        width_x: Columns of x.
        width_y: Columns of y.
        hidden: Units of a hidden layer, and length of f and g.
        rng: Source of the weights.
    """
    shapes: dict[str, tuple[int, int]]
    if kind == "bilinear":
        return {"out": np.zeros((width_x + 1, width_y + 1), dtype=np.float32)}
    if kind == "separable":
        shapes = {"x": (width_x, hidden), "f": (hidden, hidden), "y": (width_y, hidden), "out": (hidden, hidden)}
    else:
        shapes = {"x": (width_x, hidden), "y": (width_y, hidden), "pair": (hidden, hidden), "out": (hidden, 1)}
    made = {}
    for name, (inputs, outputs) in shapes.items():
        # In the first layer of a pair the sum of both sides is what must have unit scale.
        fan = width_x + width_y if kind == "concatenated" and name in "xy" else inputs
        bound = 0.0 if name == "out" else np.sqrt(6.0 / fan)
        made[name] = rng.uniform(-bound, bound, (inputs, outputs)).astype(np.float32)
        made[f"{name}_bias"] = np.zeros((1, outputs), dtype=np.float32)
    return made


def score(kind: CriticKind, parameters: Parameters, x: Tensor, y: Tensor) -> Tensor:
    """Scores of every x with every y of the same critic.

    Args:
        kind: Architecture.
        parameters: Those of ``initial_parameters`` with a leading axis M.
        x: ``(M, B, d)``.
        y: ``(M, K, dy)``.

    Returns:
        ``(M, B, K)`` of the dtype of the input.
    """
    if kind == "bilinear":
        weights = parameters["out"]
        by_x = torch.bmm(x, weights[:, :-1]) + weights[:, -1:]
        return torch.bmm(by_x[:, :, :-1], y.transpose(1, 2)) + by_x[:, :, -1:]
    if kind == "separable":
        f = _layer(parameters, "f", elu(_layer(parameters, "x", x)))
        g = _layer(parameters, "out", elu(_layer(parameters, "y", y)))
        # Divided by the root of its length a product of random vectors is of unit scale whatever their length: without
        # it a step of Adam moves T too far for MINE's moving average to follow.
        return torch.bmm(f, g.transpose(1, 2)) / math.sqrt(g.shape[2])
    # The first layer of the pair is linear in (x, y): both halves are computed once a row, not once a pair.
    hidden_x, hidden_y = _layer(parameters, "x", x), _layer(parameters, "y", y)
    pair = elu(hidden_x[:, :, None] + hidden_y[:, None]).flatten(1, 2)
    pair = elu(_layer(parameters, "pair", pair))
    return _layer(parameters, "out", pair).view(len(x), x.shape[1], y.shape[1])


def _layer(parameters: Parameters, name: str, x: Tensor) -> Tensor:
    return torch.baddbmm(parameters[f"{name}_bias"], x, parameters[name])
