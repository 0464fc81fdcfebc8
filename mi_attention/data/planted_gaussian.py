"""Vector sequences of class-conditional Gaussians whose mutual information is known at every position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mi_attention.data.dataset import Dataset
from mi_attention.data.information import binary_gaussian_information, simplex_gaussian_information
from mi_attention.data.planting import FRACTIONS, Drawn, class_probabilities, plant, structure_generator
from mi_attention.interface import FloatArray, IntArray

__all__ = ["gaussian", "gaussian_information"]

# Values are rounded to this grid, which moves the information by less than 1e-9 nats, so that the last
# bits of another platform's mathematics do not change the fingerprint.
GRID = 2.0**-16


def gaussian(
    n: int | Sequence[int] = 2000,
    *,
    length: int = 10,
    classes: int = 2,
    dimension: int = 16,
    separations: Sequence[float] | None = None,
    balance: Sequence[float] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
) -> Dataset:
    """Vectors x_t | y ~ N(mean_t(y), identity), independent over positions given the class.

    At every position the means are a regular simplex (two classes: two points) of its own random
    orientation with the position's separation between any two. Truth: ``gaussian_information``; joint:
    the same with the square root of the sum of squares, as the stacked means are a simplex again.

    Args:
        n: Total, or (train, dev, test).
        length: T.
        classes: C.
        dimension: E ≥ C − 1.
        separations: ``(T,)`` distances of means in standard deviations, ≥ 0; evenly from 0 to 2.5 if None.
        balance: ``(C,)`` class probabilities, equal if None.
        fractions: Shares of train, dev and test when ``n`` is a total.
        seed: Same seed, same data.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    p = class_probabilities(classes, balance)
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}")
    if dimension < classes - 1:
        raise ValueError(f"dimension must be at least classes - 1 = {classes - 1}, got {dimension}")
    distances = np.linspace(0.0, 2.5, length) if separations is None else np.asarray(separations, dtype=np.float64)
    if distances.shape != (length,) or not (np.isfinite(distances).all() and (distances >= 0).all()):
        raise ValueError(f"separations must be {length} finite distances ≥ 0, one a position, got {separations!r}")
    means = _means(distances, classes, dimension, structure_generator(seed))
    informative = distances > 0

    def draw(generator: np.random.Generator, label: IntArray) -> Drawn:
        noise = generator.standard_normal((len(label), length, dimension))
        values = np.rint((means[label] + noise) / GRID) * GRID
        return Drawn(values, np.tile(informative, (len(label), 1)))

    return plant(
        "planted/gaussian",
        draw,
        n=n,
        fractions=fractions,
        balance=p,
        seed=seed,
        words=None,
        truth=np.array([gaussian_information(float(distance), p) for distance in distances]),
        joint_truth=gaussian_information(float(np.sqrt((distances**2).sum())), p),
        options={
            "separations": [float(distance) for distance in distances],
            "informative": [int(t) for t in np.flatnonzero(informative)],
        },
    )


def gaussian_information(separation: float, balance: FloatArray) -> float:
    """I(x; y) in nats of unit Gaussians with means a given distance apart; see ``mi_attention.data.information``."""
    if len(balance) == 2:
        return binary_gaussian_information(separation, balance)
    return simplex_gaussian_information(separation, balance)


def _means(distances: FloatArray, classes: int, dimension: int, generator: np.random.Generator) -> FloatArray:
    """``(C, T, E)`` means."""
    from scipy.linalg import helmert

    corners = helmert(classes).T / np.sqrt(2.0)  # (C, C − 1), any two at distance 1
    means = np.empty((classes, len(distances), dimension))
    for t, distance in enumerate(distances):
        basis, _ = np.linalg.qr(generator.standard_normal((dimension, classes - 1)))
        means[:, t] = distance * corners @ basis.T
    return means
