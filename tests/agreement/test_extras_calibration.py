"""Intervals of the extras over fresh draws of designs whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention import AttentionRecord, compare
from mi_attention.estimators import Probe

SHIFTS = np.array([0.0, 0.6, 1.2, 1.8])
LINEAR = Probe(members=("linear", "smooth"))


def gaussian_information(shift):
    """I(x; Y) in nats of x ~ N(±shift/2, 1) with two equally frequent classes, by numerical integration."""
    x = np.linspace(-14, 14, 20001)
    densities = [np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi) for mean in (-shift / 2, shift / 2)]
    mixture = sum(densities) / 2
    return float(sum(d * np.log(np.maximum(d, 1e-300) / mixture) / 2 for d in densities).sum() * (x[1] - x[0]))


INFORMATION = np.array([gaussian_information(shift) for shift in SHIFTS])
# Attention of a Dirichlet distribution: its mean is known.
CONCENTRATION = np.array([1.0, 1.0, 2.0, 4.0])
TRUTH = {
    "attended_share": CONCENTRATION @ INFORMATION / CONCENTRATION.sum() / np.log(2),
    "uniform_share": INFORMATION.mean() / np.log(2),
    "embedding_gap": INFORMATION.mean() - INFORMATION[1],
}
TRUTH["attended_excess"] = TRUTH["attended_share"] - TRUTH["uniform_share"]


def draw(seed, *, n=1000, width=32):
    """States of position t differ by SHIFTS[t] between the classes; every input embedding by SHIFTS[1]."""
    rng = np.random.default_rng([seed, 11])
    label = rng.integers(2, size=n)
    hidden, embedding = rng.standard_normal((2, n, 4, width))
    hidden[..., 0] += SHIFTS * (label[:, None] - 0.5)
    embedding[..., 0] += SHIFTS[1] * (label[:, None] - 0.5)
    attention = rng.dirichlet(CONCENTRATION, size=n)
    return AttentionRecord.from_arrays(hidden, attention, np.full((n, 2), 0.5), label=label, embedding=embedding)


@pytest.mark.slow  # A rate of coverage needs many draws: 100 comparisons of a thousand instances.
def test_intervals_cover_the_truth_and_levels_are_not_biased():
    draws = 100
    covered = dict.fromkeys(TRUTH, 0)
    values: dict[str, list[float]] = {name: [] for name in TRUTH}
    for seed in range(draws):
        table = compare(
            draw(seed),
            "label",
            estimator=LINEAR,
            alignments=("position",),
            seed=seed,
            extras=("preservation", "contextualisation"),
        ).table
        rows = table[(table["order"] == "mutual information") & (table["output"] == "label")]
        for name, truth in TRUTH.items():
            row = rows[rows["measure"] == name].iloc[0]
            covered[name] += row.ci_low < truth < row.ci_high
            values[name].append(row.estimate)
    for name, truth in TRUTH.items():
        # Three standard errors of a rate of .95 over 100 draws are .065; of the mean, three of its own.
        assert covered[name] / draws >= 0.885, f"{name}: {covered[name]} of {draws}"
        error = np.std(values[name]) / np.sqrt(draws)
        assert abs(np.mean(values[name]) - truth) < 3 * error + 0.02 * truth, (
            f"{name}: {np.mean(values[name])}, {truth}"
        )
