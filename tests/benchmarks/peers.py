"""The estimators that the accuracy benchmark compares, all with ``estimate_many(x, y, groups)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mi_attention.estimators import NPEET, Probe, ProbeKNN, Ross, class_entropy, cluster_standard_error
from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.members import DISCRIMINANTS
from mi_attention.estimators.neural import Neural
from mi_attention.interface import MIEstimate

__all__ = ["ESTIMATORS", "CrossFitted", "make_peer"]

Array = NDArray[Any]


@dataclass(frozen=True)
class CrossFitted:
    """H(Y) minus the out-of-fold cross-entropy of a scikit-learn classifier on standardised states.

    ``temperature`` scales the out-of-fold logits by the one factor that fits them best, without which a quadratic
    discriminant is far too sure of itself at d = 128.
    """

    name: str
    classifier: Callable[[int], Any]
    folds: int = 10
    temperature: bool = False
    seed: int = 0

    def estimate_many(self, x: Array, y: Array, groups: Array | None) -> list[MIEstimate]:
        """One estimate a unit of ``x (U, n, d)``."""
        fold = stratified_folds(y, groups, self.folds, np.random.default_rng(self.seed))
        return [self._estimate(states, y, groups, fold) for states in x]

    def _estimate(self, states: Array, y: Array, groups: Array | None, fold: Array) -> MIEstimate:
        classes = np.arange(y.max() + 1)
        logs = np.full((len(y), len(classes)), -np.inf)
        for k in range(self.folds):
            train, test = fold != k, fold == k
            model = make_pipeline(StandardScaler(), self.classifier(self.seed)).fit(states[train], y[train])
            logs[np.ix_(test, model.classes_)] = model.predict_log_proba(states[test])
        logs = np.maximum(logs, np.log(1e-12))
        if self.temperature:
            rows = np.arange(len(y))
            found = minimize_scalar(
                lambda t: -log_softmax(np.exp(t) * logs, axis=1)[rows, y].mean(), bounds=(-7, 2), method="bounded"
            )
            logs = np.exp(found.x) * logs
        logs = log_softmax(logs, axis=1)
        prior = np.log(np.bincount(y) / len(y))
        local = logs[np.arange(len(y)), y] - prior[y]
        return MIEstimate(
            nats=float(local.mean()),
            lower_bound=float(local.mean()),
            local=local,
            standard_error=cluster_standard_error(local, groups),
            n=len(y),
            ceiling=class_entropy(y),
            status="ok",
            reason="",
            signature=f"{self.name}|folds={self.folds}|seed={self.seed}",
            groups=groups,
        )


# Constructors take the seed of the draw. 20 positions a call, as the designs draw them.
ESTIMATORS: dict[str, Callable[[int], Any]] = {
    "probe": lambda seed: Probe(seed=seed),
    "probe-linear": lambda seed: Probe(members=DISCRIMINANTS, seed=seed),
    "probe-knn": lambda seed: ProbeKNN(k=10, seed=seed),
    "ross": lambda seed: Ross(k=10),
    "logistic": lambda seed: CrossFitted("logistic", lambda s: LogisticRegression(max_iter=1000), seed=seed),
    "qda": lambda seed: CrossFitted(
        "qda",
        lambda s: QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        temperature=True,
        seed=seed,
    ),
    "mlp": lambda seed: CrossFitted(
        "mlp",
        # On states that are only standardised, gradient steps never reach the directions of small variance.
        lambda s: make_pipeline(
            PCA(whiten=True),
            MLPClassifier((64,), alpha=1.0, batch_size=64, early_stopping=True, n_iter_no_change=20, random_state=s),
        ),
        folds=5,
        seed=seed,
    ),
    "npeet": lambda seed: NPEET(k=3, seed=seed),
    "mine": lambda seed: Neural(bound="mine", seed=seed),
    "nwj": lambda seed: Neural(bound="nwj", seed=seed),
    "infonce": lambda seed: Neural(bound="infonce", seed=seed),
    "smile": lambda seed: Neural(bound="smile", seed=seed),
}


def make_peer(name: str, seed: int) -> Any:
    """The estimator of that name.

    Raises:
        ValueError: an unknown name.
    """
    if name not in ESTIMATORS:
        raise ValueError(f"estimator must be one of {tuple(ESTIMATORS)}, got {name!r}")
    return ESTIMATORS[name](seed)
