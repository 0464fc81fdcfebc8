"""Data with known mutual information, for all tests of the estimators."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq

NODES = np.linspace(-14.0, 14.0, 8001)


def information_on_a_line(means: np.ndarray, prior: np.ndarray) -> float:
    """I(x; c) in nats of x ~ N(means[c], 1), by quadrature of sum_c p_c ∫ f_c log(f_c / f)."""
    density = np.exp(-0.5 * (NODES[None] - means[:, None]) ** 2) / np.sqrt(2 * np.pi)
    mixture = prior @ density
    ratio = np.log(np.maximum(density, 1e-300)) - np.log(np.maximum(mixture, 1e-300))
    return float((prior[:, None] * density * ratio).sum() * (NODES[1] - NODES[0]))


def means_with_information(target: float, classes: int) -> np.ndarray:
    """Equally spaced class means on a line whose I(x; c) is the target for equal priors."""
    unit = np.arange(classes) - (classes - 1) / 2
    prior = np.full(classes, 1 / classes)
    if target == 0:
        return np.zeros(classes)
    return unit * brentq(lambda s: information_on_a_line(unit * s, prior) - target, 1e-3, 6.0)


def hide(signal: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """Rotate a few signal columns among nuisance columns of very different scale; I(x; c) stays what it is."""
    nuisance = rng.standard_normal((len(signal), width - signal.shape[1])) * np.exp(
        rng.standard_normal(width - signal.shape[1])
    )
    rotation = np.linalg.qr(rng.standard_normal((width, width)))[0]
    return np.hstack([signal, nuisance]) @ rotation


@pytest.fixture(scope="session")
def line_information() -> Callable[[np.ndarray, np.ndarray], float]:
    return information_on_a_line


@pytest.fixture(scope="session")
def hidden_positions() -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """x (U, n, d), y (n,) and the true I(x_u; y) (U,), equally spaced from 0 to 0.75 H(Y)."""

    def make(classes: int, n: int = 2000, width: int = 128, units: int = 20, seed: int = 0):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(n) % classes)
        truth = np.linspace(0.0, 0.75 * np.log(classes), units)
        x = np.stack(
            [hide((means_with_information(t, classes)[y] + rng.standard_normal(n))[:, None], width, rng) for t in truth]
        )
        return x, y, truth

    return make


@pytest.fixture(scope="session")
def xor_states() -> Callable[..., np.ndarray]:
    """States whose two antipodal components a class differ between classes, without any difference of means."""

    def make(y: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
        sign = rng.choice([-1.0, 1.0], len(y))
        signal = rng.standard_normal((len(y), 2))
        signal[np.arange(len(y)), y] += 2.5 * sign
        return hide(signal, width, rng)

    return make
