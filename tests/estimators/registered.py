"""Every registered estimator with what it takes and promises, and rows to try it on."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mi_attention.estimators import Probe, SmallSampleWarning, estimator_names, make_estimator
from mi_attention.interface import MIEstimate, MIEstimator


@dataclass(frozen=True)
class Member:
    """An estimator and what it promises.

    Attributes:
        name: Its registered name.
        options: Hyper-parameters that make it quick.
        y: "classes", "numbers" or "both".
        counts: Needs a discrete x as well.
        width: Most columns it takes.
        outputs: Most columns of a continuous output it takes.
        folds: Rows are dealt to folds in their order, so that another order moves the value within its error.
        trained: Trained by random steps: rounding grows, so that only the level is kept by maps of the input.
        features: Draws random features of the columns in their order.
        costly: Too slow for many examples.
        rotates: Depends on x through Euclidean geometry or linear maps.
        swaps: I(c; d) = I(d; c) to rounding.
        grouped: Takes groups.
        pointwise: Has local values and an error.
        noisy: Adds noise to x, which decides where rows coincide and reads units.
        capped: Never above H(Y).
        independence: Largest mean at independence over the draws, beside its sampling error.
    """

    name: str
    options: dict[str, Any]
    y: str
    counts: bool = False
    width: int = 12
    outputs: int = 4
    folds: bool = False
    trained: bool = False
    features: bool = False
    costly: bool = False
    rotates: bool = False
    swaps: bool = False
    grouped: bool = True
    pointwise: bool = True
    noisy: bool = False
    capped: bool = False
    independence: float = 0.02

    @property
    def estimator(self) -> MIEstimator:
        return make_estimator(self.name, **self.options)

    @property
    def takes_classes(self) -> bool:
        return self.y in ("classes", "both")

    @property
    def takes_numbers(self) -> bool:
        return self.y in ("numbers", "both")

    def __str__(self) -> str:
        return "-".join(
            [self.name, *(str(option) for option in self.options.values() if isinstance(option, int | str))]
        )


TABLE = [
    Member("probe", {"folds": 4}, "classes", folds=True, capped=True),
    Member("probe", {"folds": 3, "members": ("linear",)}, "classes", folds=True, rotates=True, capped=True),
    Member("probe-knn", {"k": 3, "probe": Probe(folds=3, members=("linear",))}, "classes", folds=True, rotates=True),
    Member("ross", {"k": 3}, "classes", rotates=True),
    Member("mixture", {"k": 3}, "both", swaps=True),
    Member("ksg", {"k": 3}, "numbers", swaps=True),
    Member("ksg", {"k": 3, "algorithm": 2}, "numbers", swaps=True),
    Member("gaussian", {"folds": 4}, "numbers", folds=True, rotates=True, swaps=True),
    Member("gaussian", {"folds": 4, "scores": "ranks"}, "numbers", folds=True, swaps=True),
    Member("copula", {"folds": 4}, "numbers", folds=True, features=True, costly=True),
    Member("regression", {"folds": 4}, "numbers", folds=True, features=True, costly=True),
    Member("discrete", {}, "classes", counts=True, swaps=True, capped=True),
    Member("discrete", {"correction": "none"}, "classes", counts=True, swaps=True, capped=True, independence=0.03),
    Member(
        "neural",
        {"hidden": 8, "batch": 32, "steps": 60, "folds": 3, "learning_rate": 1e-2},
        "both",
        trained=True,
        costly=True,
    ),
    Member("npeet", {}, "both", grouped=False, pointwise=False, noisy=True, independence=0.12),
    Member(
        "scikit-learn", {}, "both", width=1, outputs=1, grouped=False, pointwise=False, noisy=True, independence=0.06
    ),
]
MEMBERS = [member for member in TABLE if member.name in estimator_names()]
COSTLY = [member for member in MEMBERS if member.costly]
CHEAP = [member for member in MEMBERS if not member.costly]


@dataclass(frozen=True)
class Sample:
    """Rows to estimate from."""

    x: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    rng: np.random.Generator


@dataclass(frozen=True)
class Shape:
    """What hypothesis varies."""

    seed: int = 0
    n: int = 40
    width: int = 2
    classes: int = 2
    digits: int = 12
    strength: float = 1.0


shapes = st.builds(
    Shape,
    seed=st.integers(0, 2**16),
    n=st.integers(30, 60),
    width=st.integers(1, 4),
    classes=st.integers(2, 3),
    digits=st.sampled_from([1, 12]),
    strength=st.sampled_from([0.0, 1.0, 4.0]),
)


def draw(member: Member, shape: Shape, kind: str = "") -> Sample:
    """Dependent rows of the kind the member takes."""
    rng = np.random.default_rng(shape.seed)
    classes = rng.permutation(np.arange(shape.n) % shape.classes)
    kind = kind or ("classes" if member.takes_classes else "numbers")
    y = classes if kind == "classes" else rng.standard_normal(shape.n)
    x = rng.standard_normal((shape.n, min(shape.width, member.width))) + shape.strength * y[:, None]
    x = np.clip(np.round(x), -2, 3).astype(int) if member.counts else np.round(x, 12 if member.noisy else shape.digits)
    return Sample(x, y, None, rng)


def estimate_quietly(member: Member, x: Any, y: Any, groups: Any = None) -> MIEstimate:
    """The estimate; tiny samples and wide NPEET warn by design."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        return member.estimator.estimate(x, y, groups)
