"""Hyper-parameters of a neural bound and of its training; without torch, so that configurations load without it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

__all__ = ["COMPARED", "VALIDATION_COMPARED", "Bound", "CriticKind", "CriticOptions", "View"]

Bound: TypeAlias = Literal["mine", "nwj", "infonce", "smile"]
CriticKind: TypeAlias = Literal["separable", "bilinear", "concatenated"]
View: TypeAlias = Literal["columns", "axes"]

# Most rows whose continuous outputs are exchanged with each other: many for a held-out value, fewer for a look at the
# validation rows.
COMPARED = 2048
VALIDATION_COMPARED = 128


@dataclass(frozen=True)
class CriticOptions:
    """What is trained, and how.

    Attributes:
        bound: ``"mine"``, ``"nwj"``, ``"infonce"`` or ``"smile"``; see ``losses``.
        critic: ``"separable"``, ``"bilinear"`` or ``"concatenated"``, see ``critics``; None takes concatenated for
            classes, where it costs C scores a row, and separable for a continuous output, where it would cost B.
        folds: Parts of the rows, at least 3: each is held out once, the next one stops the training, the others train.
            Fewer where there are fewer than 2 groups a fold.
        seed: Of folds, initial weights and batches.
        hidden: Units of a hidden layer.
        batch: Rows of a batch.
        steps: Most steps of Adam.
        patience: Steps without a better validation value after which a critic stops.
        interval: Steps between two looks at the validation rows.
        learning_rate: Of Adam.
        weight_decay: Decoupled (Loshchilov, Hutter 2019): a step takes learning_rate · weight_decay · d / n of every
            weight, for d columns and n training rows. Without it critics of d = 128 find half of what they find with.
        average_rate: Weight of a batch in MINE's moving average of its partition function; 1 gives the plain, biased
            gradient.
        clip: SMILE's clip of T in nats.
        views: Forms of the rows, ``"columns"`` and ``"axes"``, with critics of their own among which the validation
            rows choose, see the module ``views``. One alone takes half the time and is blind to what it hides.
    """

    bound: Bound = "infonce"
    critic: CriticKind | None = None
    folds: int = 5
    seed: int = 0
    hidden: int = 64
    batch: int = 64
    steps: int = 2000
    patience: int = 400
    interval: int = 10
    learning_rate: float = 1.5e-3
    weight_decay: float = 30.0
    average_rate: float = 0.05
    clip: float = 5.0
    views: tuple[View, ...] = ("columns", "axes")

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        for name, allowed in (("bound", get_args(Bound)), ("critic", get_args(CriticKind))):
            if getattr(self, name) not in allowed and (name, self.critic) != ("critic", None):
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        known = get_args(View)
        if not self.views or any(view not in known for view in self.views) or len(set(self.views)) < len(self.views):
            raise ValueError(f"views must be one or several different names out of {known}, got {self.views}")
        for name, least in (
            ("folds", 3),
            ("seed", 0),
            ("hidden", 1),
            ("batch", 2),
            ("steps", 1),
            ("patience", 1),
            ("interval", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
        for name, positive in (("learning_rate", True), ("weight_decay", False), ("clip", True)):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0 or (positive and value == 0):
                raise ValueError(f"{name} must be {'above 0' if positive else 'at least 0'} and finite, got {value}")
        if not 0 < self.average_rate <= 1:
            raise ValueError(f"average_rate must be in (0, 1], got {self.average_rate}")

    def critic_for(self, classes: int) -> CriticKind:
        """The critic of an output with so many classes, 0 for a continuous one."""
        if self.critic is not None:
            return self.critic
        return "concatenated" if classes else "separable"
