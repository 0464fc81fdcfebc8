"""Adapter to NPEET, for comparison with published numbers."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.estimators.labels import as_classes, as_continuous, is_discrete
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.samples import as_states, check_finite
from mi_attention.interface import MIEstimate

__all__ = ["NPEET"]

# Above this width the mixed estimator orders positions against the truth.
WIDE = 8


@dataclass(frozen=True)
class NPEET(OneByOne):
    """Numbers of NPEET (Ver Steeg) as it gives them, in nats: ``micd`` for classes, ``mi`` for a continuous output.

    It takes the package ``npeet`` where that is installed, else its fork ``npeet_plus``; the signature says which.
    Not for results of your own: ``micd`` subtracts entropies and takes the absolute value, so that independence reads
    positive; it is not scaled, so units of x matter; at d = 128 it orders positions against the truth and reports
    several times H(Y). Above d = 8 it warns.

    NPEET has no pointwise values: ``local`` is NaN, ``reason`` says so. Its ``standard_error`` is NaN too unless
    ``blocks`` asks for a jackknife: √((B − 1)/B Σ (θ_b − mean θ)²) over the values θ_b without one of B random blocks
    of rows, which costs B more runs and is too wide: 20 blocks of 200 or 800 rows (one or three columns) gave 1.2 to
    1.5 times the deviation over data sets. ``subsample_interval`` was within a seventh of it there, for 30 runs of a
    third of the rows.
    ``lower_bound`` is None. It adds noise from numpy's global generator; the adapter seeds that and puts its state
    back, so a seed gives one number and the caller's generator is untouched (not safe beside threads that draw from
    it). It cannot handle rows that share groups: ``groups`` is refused.

    Attributes:
        k: Neighbours, at least 1.
        seed: Of NPEET's noise, and of the blocks.
        blocks: B, 0 for none or at least 2.
    """

    k: int = 3
    seed: int = 0
    blocks: int = 0

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")
        if self.blocks < 0 or self.blocks == 1:
            raise ValueError(f"blocks must be 0 or at least 2, got {self.blocks}")

    @property
    def signature(self) -> str:
        """Package, k, seed and blocks."""
        return f"{_package().__name__.split('.')[0]}|k={self.k}|seed={self.seed}|blocks={self.blocks}|nats"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """NPEET's value of I(x; y) in nats from ``x (n, d)`` or ``(n,)`` and classes or continuous ``y (n,)``.

        Classes are whatever ``Probe`` and ``Ross`` accept as classes.

        Raises:
            ValueError: bad input, groups, k ≥ n, a class of k rows or fewer (NPEET would take its entropy for H(x)).
        """
        states = as_states(x)
        n, width = states.shape
        check_finite(states)
        if groups is not None:
            raise ValueError("NPEET takes no groups: its neighbours would share instances; use Probe, Ross or KSG")
        if self.k >= n:
            raise ValueError(f"k={self.k} needs more than {self.k} rows but x has {n}; lower k or add rows")
        ceiling, labels = None, None
        if is_discrete(y):
            labels = as_classes(y, n)
            ceiling = labels.entropy
            if len(labels.classes) < 2:
                return MIEstimate.undefined("a single class", n=n, signature=self.signature, ceiling=0.0)
            if int(labels.counts.min()) <= self.k:
                raise ValueError(
                    f"a class has {labels.counts.min()} rows but k={self.k} needs {self.k + 1}; "
                    "lower k or merge classes"
                )
        if width > WIDE:
            warnings.warn(
                f"NPEET at d = {width} orders positions against the truth and exceeds H(Y); "
                f"use Probe for d above {WIDE}",
                UserWarning,
                stacklevel=2,
            )
        values = np.asarray(states, dtype=np.float64)
        target = labels.codes[:, None] if labels is not None else as_continuous(y, n)
        value = self._value(values, target, labels is not None)
        return MIEstimate(
            nats=value,
            lower_bound=None,
            local=np.full(n, np.nan),
            standard_error=self._jackknife(values, target, labels is not None) if self.blocks else float("nan"),
            n=n,
            ceiling=ceiling,
            status="ok",
            reason="NPEET gives no pointwise values",
            signature=self.signature,
        )

    def _value(self, x: Any, y: Any, discrete: bool) -> float:
        package = _package()
        with _seeded(self.seed):
            return float((package.micd if discrete else package.mi)(x, y, k=self.k, base=np.e))

    def _jackknife(self, x: Any, y: Any, discrete: bool) -> float:
        block = np.random.default_rng(self.seed).permutation(len(x)) % self.blocks
        without = []
        for index in range(self.blocks):
            kept = block != index
            if discrete and int(np.bincount(y[kept, 0], minlength=int(y.max()) + 1).min()) <= self.k:
                raise ValueError(
                    f"a class has {self.k} rows or fewer without block {index}; lower k or blocks, or merge classes"
                )
            without.append(self._value(x[kept], y[kept], discrete))
        return float(np.sqrt((self.blocks - 1) * np.var(without)))


def _package() -> Any:
    for name in ("npeet.entropy_estimators", "npeet_plus"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError("NPEET needs the package npeet_plus: pip install npeet-plus")


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    # NPEET draws from the global generator; there is no other way to fix its noise.
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
