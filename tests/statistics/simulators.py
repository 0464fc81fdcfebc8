"""Simulators with a known truth, for the calibration of every p value and interval of this room.

N1 ``null_iid``, N2 ``null_smooth``, N3 ``null_shared``, P1 ``planted``, P2 ``planted_wide_gaps``.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d


def _profiles(rng: np.random.Generator, seeds: int, length: int, *, smooth: bool, shared: float) -> np.ndarray:
    """(S, T) profiles of unit variance of which ``shared`` is common to the seeds."""

    def draw(rows: int) -> np.ndarray:
        noise = rng.standard_normal((rows, length))
        if not smooth:
            return noise
        # Wrapped smoothing has unit variance again after division by the root of the kernel's power.
        impulse = gaussian_filter1d(np.eye(length)[0], 2.0, mode="wrap")
        return gaussian_filter1d(noise, 2.0, axis=1, mode="wrap") / np.sqrt((impulse**2).sum())

    return np.sqrt(shared) * draw(1) + np.sqrt(1 - shared) * draw(seeds)


def null_iid(rng: np.random.Generator, seeds: int = 1, length: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """N1: unrelated profiles of independent positions; MI (S, T) and attention (S, T)."""
    return tuple(_profiles(rng, seeds, length, smooth=False, shared=0.0) for _ in range(2))


def null_smooth(rng: np.random.Generator, seeds: int = 1, length: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """N2: unrelated smooth profiles."""
    return tuple(_profiles(rng, seeds, length, smooth=True, shared=0.0) for _ in range(2))


def null_shared(
    rng: np.random.Generator, seeds: int = 8, length: int = 20, smooth: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """N3: unrelated profiles, 70 % of the variance of each shared between seeds."""
    return tuple(_profiles(rng, seeds, length, smooth=smooth, shared=0.7) for _ in range(2))


def planted(
    rng: np.random.Generator, seeds: int = 8, length: int = 40, strength: float = 0.6
) -> tuple[np.ndarray, np.ndarray]:
    """P1: attention profile = strength × MI profile + an unrelated one."""
    information, other = null_shared(rng, seeds, length)
    return information, strength * information + np.sqrt(1 - strength**2) * other


def instances_around(profile: np.ndarray, rng: np.random.Generator, n: int, noise: float) -> np.ndarray:
    """(N, T) softmax attention of n instances around one profile (T,)."""
    logits = profile + noise * rng.standard_normal((n, profile.size))
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


def pointwise(
    rng: np.random.Generator, lengths: np.ndarray, seeds: int, strength: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Information and attention (S, M) with a strong common positional profile and offsets (N + 1,).

    Half of what belongs to an instance is shared by the seeds; ``strength`` is the correlation between
    information and attention beyond position. At 0 instances are exchangeable: the null of partners.
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    own, other = (
        np.sqrt(0.5) * rng.standard_normal((1, offsets[-1])) + np.sqrt(0.5) * rng.standard_normal((seeds, offsets[-1]))
        for _ in range(2)
    )
    trend = -0.4 * position
    return trend + own, trend + strength * own + np.sqrt(1 - strength**2) * other, offsets


def crossed(rng: np.random.Generator, seeds: int, instances: int, deviations: tuple[float, float, float]) -> np.ndarray:
    """(S, N) of mean 0: seed effect + instance effect + residual with the deviations given."""
    return (
        deviations[0] * rng.standard_normal((seeds, 1))
        + deviations[1] * rng.standard_normal((1, instances))
        + deviations[2] * rng.standard_normal((seeds, instances))
    )


def estimated_profiles(
    rng: np.random.Generator, seeds: int, length: int, instances: int, error: float, shared: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pointwise values (S, T, N), whose means miss the true profiles by ``error``, and attention (S, N, T).

    The data set (what seeds have in common of profile and attention) is fixed; new runs and new instances are
    drawn. ``shared`` is the part of the error's variance that all seeds have in common.
    """
    fixed = np.random.default_rng(7).standard_normal((2, length))
    profile = np.sqrt(0.7) * fixed[0] + np.sqrt(0.3) * rng.standard_normal((seeds, length))
    noise = [rng.standard_normal((rows, length, instances)) for rows in (1, seeds)]
    local = profile[:, :, None] + error * np.sqrt(instances) * (
        np.sqrt(shared) * noise[0] + np.sqrt(1 - shared) * noise[1]
    )
    attention = (
        0.84 * (0.6 * fixed[0] + 0.8 * fixed[1])
        + 0.55 * rng.standard_normal((seeds, 1, length))
        + np.sqrt(0.5) * rng.standard_normal((1, instances, length))
        + np.sqrt(0.5) * rng.standard_normal((seeds, instances, length))
    )
    return local, attention


def planted_wide_gaps(
    rng: np.random.Generator, seeds: int = 8, length: int = 20, step: float = 0.4
) -> tuple[np.ndarray, np.ndarray]:
    """P2: concordance only for wide gaps; MI (S, T) and attention (S, T) in (0, 1].

    Positions fall into 1/``step`` levels or one more. Both orders agree on the level and are unrelated within it:
    pairs further apart in attention than one level are concordant, pairs of one level half of the time.
    """
    levels = np.floor(rng.random((seeds, length)) / step)
    information = levels + rng.random((seeds, length))
    attention = levels + rng.random((seeds, length))
    return information, (attention + 0.01) / (levels.max() + 1.01)


def unrelated_skewed(rng: np.random.Generator, seeds: int, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Null with few large values in both: MI (S, T), attention (S, T), and errors (S, T(T − 1)/2) of gaps of MI."""
    information = rng.exponential(size=(seeds, length)) ** 2
    attention = rng.dirichlet(np.full(length, 0.5), size=seeds)
    return information, attention, np.full((seeds, length * (length - 1) // 2), 0.3)


def null_edges(rng: np.random.Generator, seeds: int = 1, length: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """N2 cut from a longer course, so that first and last position are no neighbours, as in real sequences."""
    longer = _profiles(rng, 2 * seeds, 4 * length, smooth=True, shared=0.0)[:, :length]
    return longer[:seeds], longer[seeds:]
