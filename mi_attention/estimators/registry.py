"""Estimators by name, and how users' own join them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from mi_attention.estimators.copula import Copula
from mi_attention.estimators.discrete import Discrete
from mi_attention.estimators.gaussian import Gaussian
from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.mixture import Mixture
from mi_attention.estimators.neural import Neural
from mi_attention.estimators.npeet import NPEET
from mi_attention.estimators.probe import Probe
from mi_attention.estimators.probe_knn import ProbeKNN
from mi_attention.estimators.regression import Regression
from mi_attention.estimators.ross import Ross
from mi_attention.estimators.scikit_learn import ScikitLearn
from mi_attention.interface import MIEstimator

__all__ = ["estimator_names", "make_estimator", "register_estimator"]

_FACTORIES: dict[str, Callable[..., MIEstimator]] = {
    "probe": Probe,
    "probe-knn": ProbeKNN,
    "ross": Ross,
    "ksg": KSG,
    "mixture": Mixture,
    "gaussian": Gaussian,
    "copula": Copula,
    "regression": Regression,
    "discrete": Discrete,
    "neural": Neural,
    "npeet": NPEET,
    "scikit-learn": ScikitLearn,
}


def estimator_names() -> tuple[str, ...]:
    """Registered names, sorted."""
    return tuple(sorted(_FACTORIES))


def register_estimator(name: str, factory: Callable[..., MIEstimator], *, replace: bool = False) -> None:
    """Make an estimator of your own available by name.

    Args:
        name: How configurations call it.
        factory: A class or function that returns an ``MIEstimator`` from keyword options.
        replace: Allow a name that is taken.

    Raises:
        ValueError: an empty name or one that is taken.
    """
    if not name:
        raise ValueError("name is empty; give the estimator a name")
    if name in _FACTORIES and not replace:
        raise ValueError(f"name {name!r} is taken; choose another or pass replace=True")
    _FACTORIES[name] = factory


def make_estimator(name: str, *, seed: int | None = None, **options: Any) -> MIEstimator:
    """The estimator of that name with these hyper-parameters.

    Args:
        name: A registered name.
        seed: For an estimator that draws something; not passed to one that has no ``seed``.
        **options: Its hyper-parameters.

    Raises:
        ValueError: an unknown name, options the estimator does not have, or a factory whose result is no
            ``MIEstimator``.
    """
    if name not in _FACTORIES:
        raise ValueError(
            f"estimator {name!r} is unknown; choose one of {', '.join(estimator_names())} or register_estimator it"
        )
    if seed is not None and "seed" in inspect.signature(_FACTORIES[name]).parameters:
        options.setdefault("seed", seed)
    try:
        made = _FACTORIES[name](**options)
    except TypeError as error:
        raise ValueError(f"estimator {name!r} does not take these options: {error}") from error
    if not isinstance(made, MIEstimator):
        raise ValueError(
            f"estimator {name!r} made a {type(made).__name__} without signature, estimate and estimate_many"
        )
    return made
