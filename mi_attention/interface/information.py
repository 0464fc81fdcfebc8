"""What a mutual information estimator takes and returns, and what makes an object one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.interface.arrays import FloatArray, IntArray, Status

__all__ = ["MIEstimate", "MIEstimator", "Unit"]


@dataclass(frozen=True, eq=False)
class Unit:
    """One thing whose mutual information is wanted: paired samples of a state and an output.

    Attributes:
        x: ``(n, d)`` states, one row a sample.
        y: ``(n,)`` outputs: integers for classes, floats for a continuous output; ``(n, dy)`` for a continuous output
            of several columns, which not every estimator takes.
        groups: ``(n,)`` integers, the instance each row came from, or None when every row is an
            instance of its own. Folds, halves, permutations and standard errors go by group.
        name: What the unit is, for tables (``"position 3"``).
    """

    x: FloatArray
    y: NDArray[Any]
    groups: IntArray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check shapes."""
        if self.x.ndim != 2:
            raise ValueError(f"x must be (n, d), got shape {self.x.shape}; use x[:, None] for one dimension")
        n = self.x.shape[0]
        if self.y.ndim not in (1, 2) or self.y.shape[0] != n:
            raise ValueError(f"y must be ({n},) or ({n}, dy) to match x, got shape {self.y.shape}")
        if self.groups is not None and self.groups.shape != (n,):
            raise ValueError(f"groups must be ({n},) to match x, got shape {self.groups.shape}")


@dataclass(frozen=True, eq=False, repr=False)
class MIEstimate:
    """Mutual information of one unit, with all that is needed to defend it.

    Attributes:
        nats: The estimator's best value in nats (corrected, gated and capped where its docstring says
            so). NaN when ``status`` is ``"undefined"``.
        lower_bound: Signed, uncapped held-out value in nats, the mean of ``local``, where the estimator
            is a lower bound in expectation; else None. Never clipped: clipping makes ties of all weak
            positions.
        local: ``(n,)`` pointwise values in nats whose mean is the raw value. For the probe this is the
            *support* log q(y|x) − log p(y).
        standard_error: Standard error of the raw value in nats, by group where there are groups.
        n: Rows used.
        ceiling: H(Y) in nats where Y is discrete, else None.
        status: ``"ok"`` or ``"undefined"``.
        reason: Why it is undefined; with ``"ok"`` empty, or a flag that explains the value
            (``"constant state"``: exactly 0, by definition and not by estimation).
        signature: How the number was made, short enough for a caption.
        informativeness: ``(n,)`` KL(q(·|x) ‖ p) in nats for estimators that hold a conditional
            distribution, else None.
        groups: ``(n,)`` the instance of each row of ``local``, None when rows are independent.
    """

    nats: float
    lower_bound: float | None
    local: FloatArray
    standard_error: float
    n: int
    ceiling: float | None
    status: Status
    reason: str
    signature: str
    informativeness: FloatArray | None = None
    groups: IntArray | None = None

    def __repr__(self) -> str:
        """The value with its error and signature, not the pointwise values."""
        if self.status == "undefined":
            return f"MIEstimate(undefined: {self.reason}; n={self.n}; {self.signature})"
        parts = [f"{self.nats:.4f} nats", f"standard error {self.standard_error:.4f}"]
        parts += [] if self.lower_bound is None else [f"held out {self.lower_bound:.4f}"]
        parts += [] if self.ceiling is None else [f"ceiling {self.ceiling:.4f}"]
        return f"MIEstimate({', '.join(parts)}; n={self.n}; {self.signature})"

    def __float__(self) -> float:
        """``nats``."""
        return self.nats

    @classmethod
    def undefined(cls, reason: str, *, n: int, signature: str, ceiling: float | None = None) -> MIEstimate:
        """An estimate that does not exist, with the reason."""
        nan = float("nan")
        return cls(
            nats=nan,
            lower_bound=None,
            local=np.full(n, np.nan),
            standard_error=nan,
            n=n,
            ceiling=ceiling,
            status="undefined",
            reason=reason,
            signature=signature,
        )


@runtime_checkable
class MIEstimator(Protocol):
    """Anything that estimates mutual information; users' own classes join by having these members."""

    @property
    def signature(self) -> str:
        """Name, hyper-parameters and seed in one short string."""
        ...

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats from ``x (n, d)`` or ``(n,)`` and ``y (n,)``."""
        ...

    def estimate_many(self, units: Sequence[Unit]) -> list[MIEstimate]:
        """Estimate each unit, batched; the same values as one call of ``estimate`` a unit."""
        ...
