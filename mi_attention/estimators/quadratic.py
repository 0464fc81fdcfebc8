"""Quadratic functions of a few features: monomials, and class log densities of Gaussians as their coefficients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import IntArray

__all__ = ["gaussian_coefficients", "monomials"]

# Added to every variance (features have variance 1), so that features that say the same keep an invertible covariance.
RIDGE = 1e-6


def monomials(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """``(n, 1 + K + K(K+1)/2)``: 1, the K features, and all products of two."""
    rows, width = features.shape
    first, second = np.triu_indices(width)
    return np.hstack([np.ones((rows, 1)), features, features[:, first] * features[:, second]])


def gaussian_coefficients(
    powers: NDArray[np.float64], width: int, used: list[int], codes: IntArray, classes: int
) -> NDArray[np.float64]:
    """Log densities of one Gaussian a class, as coefficients of the monomials.

    The covariance of a class of n_c rows is pulled towards the pooled one with weight min(1, (k/n_c)²), k the features
    used: next to nothing, so that classes may differ in spread by orders of magnitude, unless the class is rare. A
    class without rows gets the mean and covariance of all.

    Args:
        powers: ``(n, p)`` monomials of K features.
        width: K.
        used: Which features the densities are of.
        codes: ``(n,)`` classes.
        classes: C.

    Returns:
        ``(p, C)``; ``powers @ result`` is log p(features | c) up to a constant that all classes share.
    """
    size = powers.shape[1]
    counts = np.bincount(codes, minlength=classes).astype(np.float64)
    sums = (codes == np.arange(classes)[:, None]).astype(np.float64) @ powers
    first, second = np.triu_indices(width)
    place = np.zeros((width, width), dtype=np.int64)
    place[first, second] = place[second, first] = 1 + width + np.arange(len(first))
    chosen = place[np.ix_(used, used)]
    linear = 1 + np.array(used)
    number = len(used)
    rows_of = np.maximum(counts, 1.0)[..., None]
    everywhere = sums.sum(axis=0, keepdims=True) / counts.sum()
    means = np.where(counts[..., None] > 0, sums / rows_of, everywhere)
    centre, square = means[..., linear], means[..., chosen]
    covariance = square - centre[..., :, None] * centre[..., None, :]
    pooled = np.einsum("c,cij->ij", counts / counts.sum(), covariance)
    pull = np.minimum(1.0, (number / np.maximum(counts, 1.0)) ** 2)[..., None, None]
    covariance = (1 - pull) * covariance + pull * pooled + RIDGE * np.eye(number)
    precision = np.linalg.inv(covariance)
    pulled = np.einsum("cij,cj->ci", precision, centre)
    result = np.zeros((size, classes))
    result[0] = -0.5 * (np.linalg.slogdet(covariance)[1] + np.einsum("ci,ci->c", pulled, centre))
    result[linear] = pulled.T
    upper = np.triu_indices(number)
    weight = np.where(upper[0] == upper[1], -0.5, -1.0)
    result[chosen[upper]] = (precision[:, upper[0], upper[1]] * weight).T
    return result
