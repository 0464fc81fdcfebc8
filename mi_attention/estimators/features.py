"""Random cosine features: a smooth nonlinear map under which linear methods see nonlinear dependence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["with_cosines"]

# Pairs of rows that the width of the kernel is measured on.
WIDTH_PAIRS = 500
# Share of the median distance between rows at which the kernel falls off.
WIDTH = 2 / 3


def with_cosines(x: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """``(n, d + count)`` the columns and cosines cos(w·x + b) beside them.

    With w normal with standard deviation 1/width and b uniform, inner products of the cosines approximate a Gaussian
    kernel of that width (Rahimi, Recht, 2007); the width is two thirds of the median distance between rows.

    Args:
        x: ``(n, d)`` of about unit scale.
        count: Cosines.
        rng: Source of directions and phases.
    """
    one, two = rng.integers(0, len(x), (2, WIDTH_PAIRS))
    distance = np.linalg.norm(x[one] - x[two], axis=1)
    # Rows that are mostly equal have median distance 0; their mean is not.
    width = WIDTH * (float(np.median(distance)) or float(distance.mean()) or 1.0)
    directions = rng.standard_normal((x.shape[1], count)) / width
    return np.hstack([x, np.cos(x @ directions + rng.uniform(0, 2 * np.pi, count))])
