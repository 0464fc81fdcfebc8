"""What is read of the last direction of a spectrum from e^2.5 to e^-2.5, under a rotation: 2,000 rows of 128 columns.

Run it with one thread, ``OMP_NUM_THREADS=1 python -m tests.benchmarks.spectrum``. It prints the truth and the mean
values over draws in nats: of a class that moves that direction by two standard deviations by linear readers with two
and with all discriminants and by InfoNCE from the columns alone and along the axes too, of a continuous output that
goes with it by the elliptical and the chosen reading of ``Copula`` and by ``Regression`` without and with the principal
axes.
"""

from __future__ import annotations

import argparse

import numpy as np

from mi_attention.estimators import Copula, Neural, Probe, Regression
from mi_attention.estimators.members import DISCRIMINANTS
from mi_attention.estimators.scores import normal_scores
from tests.benchmarks.designs import in_spectrum

ROWS, WIDTH = 2000, 128
# Of two unit normals two apart, by quadrature, and of a correlation of 1/√2.
TRUTH_OF_CLASS, TRUTH_OF_VALUE = 0.3368, 0.3466


def values(seed: int) -> dict[str, float]:
    """One draw of each."""
    rng = np.random.default_rng(seed)
    y = np.arange(ROWS) % 2
    latent = rng.standard_normal((ROWS, WIDTH))
    latent[:, 0] += 2 * y
    states = in_spectrum(latent, rng)
    found = {
        "class: two discriminants": Probe(members=("linear", "smooth")).estimate(states, y).nats,
        "class: all discriminants": Probe(members=DISCRIMINANTS).estimate(states, y).nats,
        "class: InfoNCE, columns": Neural(views=("columns",)).estimate(states, y).nats,
        "class: InfoNCE": Neural().estimate(states, y).nats,
    }
    latent = rng.standard_normal((ROWS, WIDTH))
    value = latent[:, :1] + rng.standard_normal((ROWS, 1))
    states = in_spectrum(latent, rng)
    return found | {
        "value: Copula, elliptical": Copula().readings(normal_scores(states), normal_scores(value))[0].nats,
        "value: Copula": Copula().estimate(states, value).nats,
        "value: Regression on ranks": Regression(members=("linear", "kernel")).estimate(states, value).nats,
        "value: Regression": Regression().estimate(states, value).nats,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=4)
    draws = [values(seed) for seed in range(parser.parse_args().draws)]
    print(f"truth: class {TRUTH_OF_CLASS}, value {TRUTH_OF_VALUE}")
    for name in draws[0]:
        print(f"{name:<28} {np.mean([each[name] for each in draws]):.3f}")
