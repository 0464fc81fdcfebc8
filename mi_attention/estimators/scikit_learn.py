"""Adapter to scikit-learn's mutual information of one column, for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from mi_attention.estimators.labels import as_classes, as_continuous, is_discrete
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.estimators.samples import as_states, check_finite
from mi_attention.interface import MIEstimate

__all__ = ["ScikitLearn"]


@dataclass(frozen=True)
class ScikitLearn(OneByOne):
    """Numbers of scikit-learn as it gives them, in nats: ``mutual_info_classif`` for classes, else ``_regression``.

    One column of x and of y only: scikit-learn estimates each column alone, and a sum over columns is no information of
    the vector. It clips at 0, which biases weak values upwards and ties them, and adds noise from ``seed``. A constant
    column is answered here: exactly 0, since scikit-learn can give 200 times H(Y) for it (its issue 30772).

    It has no pointwise values and no standard error: ``local`` and ``standard_error`` are NaN, ``reason`` says so.
    ``lower_bound`` is None. ``groups`` are refused.

    Attributes:
        k: Neighbours, at least 1.
        seed: Of scikit-learn's noise.
    """

    k: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")

    @property
    def signature(self) -> str:
        """Name, k and seed."""
        return f"scikit-learn|k={self.k}|seed={self.seed}"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """scikit-learn's value of I(x; y) in nats from ``x (n,)`` or ``(n, 1)`` and ``y (n,)``.

        Raises:
            ValueError: bad input, a vector, groups, k ≥ n, or classes that are all of one row.
        """
        states = as_states(x)
        n, width = states.shape
        check_finite(states)
        if width > 1:
            raise ValueError(
                f"x has {width} columns and scikit-learn takes one at a time; use Probe or Ross for classes, Copula "
                "for a continuous output, or pass a single column"
            )
        if groups is not None:
            raise ValueError("scikit-learn takes no groups: its neighbours would share instances; use Ross or KSG")
        if self.k >= n:
            raise ValueError(f"k={self.k} needs more than {self.k} rows but x has {n}; lower k or add rows")
        ceiling = None
        target: NDArray[Any]
        if is_discrete(y):
            labels = as_classes(y, n)
            ceiling = labels.entropy
            if len(labels.classes) < 2:
                return MIEstimate.undefined("a single class", n=n, signature=self.signature, ceiling=0.0)
            if int(labels.counts.max()) < 2:
                raise ValueError(f"every one of the {n} classes has one row; merge classes or add rows")
            estimate, target = mutual_info_classif, labels.codes.astype(np.float64)
        else:
            output = as_continuous(y, n)
            if output.shape[1] > 1:
                raise ValueError(f"y has {output.shape[1]} columns and scikit-learn takes one; use Copula or KSG")
            estimate, target = mutual_info_regression, output[:, 0]
        constant = bool((states == states[0]).all())
        value = 0.0
        if not constant:
            values = np.array(states, dtype=np.float64)
            value = float(
                estimate(values, target, discrete_features=False, n_neighbors=self.k, random_state=self.seed)[0]
            )
        return MIEstimate(
            nats=value,
            lower_bound=None,
            local=np.full(n, np.nan),
            standard_error=float("nan"),
            n=n,
            ceiling=ceiling,
            status="ok",
            reason="constant state" if constant else "scikit-learn gives no pointwise values",
            signature=self.signature,
        )
