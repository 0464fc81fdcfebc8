"""States with known mutual information at 20 positions, hidden in many dimensions.

A position is a low-dimensional class-conditional Gaussian mixture (the signal) beside nuisance that is independent of
the class, under a random rotation: I(x; y) is that of the signal, which quadrature gives. Each base design may carry
one variant, ``"mixed:copies"``, that leaves the truth as it is:

- ``copies``: noise-free linear combinations of the informative directions take the place of nuisance directions.
- ``warped``: an invertible nonlinear map, coordinate by coordinate, of the rotated states.
- ``grouped``: rows of one instance share label, component and half of the variance of every direction.

Nuisance standard deviations are log-uniform over 2.5 decades around that of the signal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.optimize import brentq
from scipy.special import logsumexp, roots_hermitenorm
from scipy.stats import chi

__all__ = [
    "BALANCES",
    "DESIGNS",
    "VARIANTS",
    "Draw",
    "Mixture",
    "class_shares",
    "draw",
    "in_spectrum",
    "information",
    "mixture",
    "truth_of",
]

Floats = NDArray[np.float64]

POSITIONS = 20
# Kinds of signal across positions, in turn; heavy and lowrank change the nuisance of mixed.
DESIGNS: dict[str, tuple[str, ...]] = {
    "independent": ("lin",),
    "lin": ("lin",),
    "xor": ("xor",),
    "mixed": ("lin", "xor"),
    "scale": ("scale",),
    "mix3": ("mix3",),
    "all4": ("lin", "xor", "scale", "mix3"),
    "heavy": ("lin", "xor"),
    "lowrank": ("lin", "xor"),
}
VARIANTS = ("copies", "warped", "grouped")
BALANCES = ("balanced", "80/20")
# Quadrature nodes a direction, for one to three directions, and radii.
NODES = {1: 128, 2: 48, 3: 24}
RADII = 10_000
TOP_SHARE = 0.75  # of H(Y), the most informative position
DECADES = 2.5
FACTORS = 20
FACTOR_NOISE = 0.05
COPIES = 8
SHARED = 0.5  # of the variance of every direction, within one instance
WARP_SCALE = 5.0  # about the root mean square of a rotated coordinate


@dataclass(frozen=True)
class Mixture:
    """x | y = c is an equal mixture of N(means[c, k], scales[c]² I): means ``(C, K, s)``, scales ``(C,)``."""

    means: Floats
    scales: Floats

    def log_densities(self, x: Floats) -> Floats:
        """log f_c(x) ``(n, C)`` of x ``(n, s)``, without the factor (2π)^(−s/2) that all classes share."""
        classes, components, width = self.means.shape
        centres = self.means.reshape(-1, width)
        squares = (x**2).sum(axis=1)[:, None] - 2 * x @ centres.T + (centres**2).sum(axis=1)
        exponents = -0.5 * squares.reshape(len(x), classes, components) / self.scales[None, :, None] ** 2
        return np.asarray(logsumexp(exponents, axis=2) - np.log(components) - width * np.log(self.scales))

    def log_ratios(self, x: Floats, c: int, prior: Floats) -> Floats:
        """log f_c(x) − log f(x) ``(n,)``."""
        logs = self.log_densities(x)
        return np.asarray(logs[:, c] - logsumexp(logs + np.log(prior), axis=1))

    def sample(self, y: NDArray[np.int64], component: NDArray[np.int64], noise: Floats) -> Floats:
        """States ``(n, s)`` of class y in component ``(n,)`` with standard normal noise ``(n, s)``."""
        return self.means[y, component] + self.scales[y, None] * noise


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of a design.

    Attributes:
        x: ``(20, n, d)`` float32 states, independent over positions given y.
        y: ``(n,)`` classes, with exactly the shares of the design.
        truth: ``(20,)`` I(x_t; y) in nats, evenly from 0 to 0.75 H(Y) (all 0 for ``independent``).
        oracle: ``(20,)`` mean log f_y/f of the rows drawn, in nats: what knowing the densities would estimate.
        groups: ``(n,)`` instances, or None.
        entropy: H(Y) in nats.
        kinds: Kind of signal of each position.
    """

    x: NDArray[np.float32]
    y: NDArray[np.int64]
    truth: Floats
    oracle: Floats
    groups: NDArray[np.int64] | None
    entropy: float
    kinds: tuple[str, ...]


def draw(
    design: str,
    *,
    d: int = 128,
    n: int = 2000,
    classes: int = 2,
    balance: str = "balanced",
    seed: int = 0,
    rows_per_group: int = 5,
) -> Draw:
    """Draw one design.

    Args:
        design: A name of ``DESIGNS``, or ``"name:variant"`` with one of ``VARIANTS``.
        d: Dimension, at least 32.
        n: Rows.
        classes: 2 to 4.
        balance: ``"balanced"``, or ``"80/20"`` (the first class has 0.8, the others share the rest).
        seed: Same seed, same draw.
        rows_per_group: Rows an instance with ``grouped``.
    """
    base, _, variant = design.partition(":")
    if base not in DESIGNS or variant not in ("", *VARIANTS):
        raise ValueError(f"design must be one of {tuple(DESIGNS)}, or one with ':' and one of {VARIANTS}; got {design}")
    if d < 32:
        raise ValueError(f"d must be at least 32 to hold signal and nuisance, got {d}")
    shares = class_shares(classes, balance)
    rng = np.random.default_rng(np.random.SeedSequence([seed, d, n, classes, *design.encode()]))
    instances = -(-n // rows_per_group) if variant == "grouped" else n
    groups = np.arange(n) // rows_per_group if variant == "grouped" else np.arange(n)
    labels = _labels(shares, instances, rng)
    entropy = float(-(shares * np.log(shares)).sum())
    top = 0.0 if base == "independent" else TOP_SHARE * entropy
    kinds = tuple(DESIGNS[base][t % len(DESIGNS[base])] for t in range(POSITIONS))
    targets = np.linspace(0.0, top, POSITIONS).tolist()
    keys = [(kind, t, classes, balance, targets[t]) for t, kind in enumerate(kinds)]
    x = np.empty((POSITIONS, n, d), dtype=np.float32)
    oracle = np.empty(POSITIONS)
    for t, key in enumerate(keys):
        x[t], local = _states(mixture(*key), shares, labels, groups, d, base, variant, rng)
        oracle[t] = local.mean()
    truth = np.array([truth_of(*key) for key in keys])
    return Draw(x, labels[groups], truth, oracle, groups if variant == "grouped" else None, entropy, kinds)


def class_shares(classes: int, balance: str) -> Floats:
    """Class probabilities ``(C,)``."""
    if balance not in BALANCES or not 2 <= classes <= 4:
        raise ValueError(f"balance must be one of {BALANCES} and classes 2 to 4, got {balance!r} and {classes}")
    if balance == "balanced":
        return np.full(classes, 1 / classes)
    return np.array([0.8, *np.full(classes - 1, 0.2 / (classes - 1))])


@cache
def mixture(kind: str, position: int, classes: int, balance: str, target: float) -> Mixture:
    """The signal of a kind whose I(x; y) is the target in nats (to the root finder's tolerance)."""
    shape = _shape(kind, position, classes)
    if target == 0:
        return shape(0.0)
    prior = class_shares(classes, balance)
    strength = brentq(lambda s: information(shape(s), prior, nodes=12) - target, 1e-3, 20.0, xtol=1e-4)
    return shape(float(strength))


@cache
def truth_of(kind: str, position: int, classes: int, balance: str, target: float) -> float:
    """I(x; y) in nats of ``mixture(...)`` by fine quadrature."""
    if target == 0:
        return 0.0
    return information(mixture(kind, position, classes, balance, target), class_shares(classes, balance))


def information(signal: Mixture, prior: Floats, nodes: int | None = None) -> float:
    """I(x; y) = Σ_c p_c E_c[log f_c/f] in nats by quadrature.

    Gauss-Hermite in every direction around each component; classes of one centre and different spread need the
    radius only, in which a fine grid serves scales of any ratio. With the default nodes the error is below 1e-4.
    """
    width = signal.means.shape[2]
    nodes = nodes or NODES[width]
    if not signal.means.any():
        quantiles = (np.arange(RADII) + 0.5) / RADII
        radius = np.zeros((len(quantiles), width))
        radius[:, 0] = chi.ppf(quantiles, width)
        values = [signal.log_ratios(scale * radius, c, prior).mean() for c, scale in enumerate(signal.scales)]
        return float(prior @ np.array(values))
    points, weights = roots_hermitenorm(nodes)
    grid = np.stack(np.meshgrid(*[points] * width, indexing="ij"), axis=-1).reshape(-1, width)
    product = np.stack(np.meshgrid(*[weights / weights.sum()] * width, indexing="ij"), axis=-1)
    mass = product.reshape(-1, width).prod(axis=1)
    value = 0.0
    for c, p in enumerate(prior):
        for centre in signal.means[c]:
            ratios = signal.log_ratios(centre + signal.scales[c] * grid, c, prior)
            value += p * float(mass @ ratios) / len(signal.means[c])
    return value


def warp(x: Floats) -> Floats:
    """An invertible nonlinear map of every coordinate, near the identity for small values, logarithmic for large.

    Its scale is a constant: a map that looked at the sample would tie the rows together.
    """
    return np.asarray(WARP_SCALE * np.arcsinh(x / WARP_SCALE))


def in_spectrum(latent: Floats, rng: np.random.Generator, steepness: float = 2.5) -> Floats:
    """``(n, d)`` states from ``(n, d)`` independent columns of variance 1 each, under a rotation.

    Standard deviations go from e^-steepness in column 0 to e^steepness in the last one.
    """
    width = latent.shape[1]
    rotation = np.linalg.qr(rng.standard_normal((width, width)))[0]
    return (latent * np.exp(np.linspace(-steepness, steepness, width))) @ rotation


def _shape(kind: str, position: int, classes: int) -> Callable[[float], Mixture]:
    """The mixture of a kind as a function of its strength, 0 being no information."""
    ones = np.ones(classes)
    if kind == "lin":
        corners = helmert(classes).T[:, None]  # a regular simplex in C − 1 directions
        return lambda strength: Mixture(strength * corners, ones)
    if kind == "xor":
        # Orthogonal axes while three directions suffice for the classes, else the diagonals of a cube.
        diagonals = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]) / np.sqrt(3)
        axes = np.eye(classes) if classes < 4 else diagonals
        return lambda strength: Mixture(strength * np.stack([axes, -axes], axis=1), ones)
    if kind == "scale":
        steps = np.arange(classes) - (classes - 1) / 2
        return lambda strength: Mixture(np.zeros((classes, 1, 2)), np.exp(strength / 4 * steps))
    if kind == "mix3":
        rng = np.random.default_rng([position, classes])
        centres = rng.standard_normal((classes, 3, min(classes, 3)))
        return lambda strength: Mixture(strength * centres, ones)
    raise ValueError(f"kind must be lin, xor, scale or mix3, got {kind!r}")


def _labels(shares: Floats, instances: int, rng: np.random.Generator) -> NDArray[np.int64]:
    ends = np.rint(np.cumsum(shares) * instances).astype(np.int64)
    return np.asarray(rng.permutation(np.repeat(np.arange(len(shares)), np.diff(ends, prepend=0))), dtype=np.int64)


def _states(
    signal: Mixture,
    shares: Floats,
    labels: NDArray[np.int64],
    groups: NDArray[np.int64],
    d: int,
    base: str,
    variant: str,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], Floats]:
    """States ``(n, d)`` and the true log f_y/f of each row in nats."""
    n, instances = len(groups), len(labels)
    components, width = signal.means.shape[1:]

    def normal(columns: int) -> Floats:
        own = rng.standard_normal((n, columns))
        if variant != "grouped":
            return own
        shared = rng.standard_normal((instances, columns))
        return np.sqrt(SHARED) * shared[groups] + np.sqrt(1 - SHARED) * own

    y = labels[groups]
    informative = signal.sample(y, rng.integers(components, size=instances)[groups], normal(width))
    local = np.choose(y, [signal.log_ratios(informative, c, shares) for c in range(len(shares))])
    if variant == "copies":
        informative = np.hstack([informative, informative @ rng.standard_normal((width, COPIES))])
    rest = d - informative.shape[1]
    if base == "lowrank":
        # Noise only beside the factors: the signal stays an invertible linear map away.
        factors = np.hstack([informative, normal(FACTORS - informative.shape[1])])
        nuisance = FACTOR_NOISE * normal(d - FACTORS)
        x = np.hstack([factors @ rng.standard_normal((FACTORS, FACTORS)), nuisance])
    else:
        nuisance = normal(rest)
        if base == "heavy":
            nuisance /= np.sqrt(rng.chisquare(3, (n, rest)) / 3)
        x = np.hstack([informative, nuisance * 10 ** rng.uniform(-DECADES / 2, DECADES / 2, rest)])
    x = x @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    if variant == "warped":
        x = warp(x)
    return np.asarray(x, dtype=np.float32), local
