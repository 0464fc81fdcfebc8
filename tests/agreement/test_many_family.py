"""The family of the contrasts of ``compare_many`` where one of them is undefined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mi_attention.agreement import compare_many
from tests.agreement.synthetic import QUICK, evidence_record

SEEDS = range(7)


def test_an_undefined_contrast_stays_a_member_of_the_family():
    base = evidence_record(n=60, positions=4)
    rng = np.random.default_rng(1)
    attention = {
        "a": lambda: base.attention * rng.uniform(0.5, 1, base.attention.shape),
        "b": lambda: rng.random(base.attention.shape),
        "uniform": lambda: np.ones_like(base.attention),
    }
    records, cells = [], []
    for cell, draw in attention.items():
        for _ in SEEDS:
            weights = draw().reshape(60, 4)
            weights = (weights / weights.sum(axis=1, keepdims=True)).reshape(base.attention.shape)
            records.append(replace(base, attention=weights))
            cells.append(cell)
    found = compare_many(
        records,
        cells=cells,
        seeds=[*SEEDS] * 3,
        contrasts=[("a", "b"), ("b", "uniform"), ("uniform", "a")],
        alignments=("instance",),
        null_draws=19,
        estimator=QUICK,
    )
    rows = found.contrasts[found.contrasts["quantity"] == "mean difference"].set_index("contrast")
    assert rows["p"].notna().tolist() == [True, False, False]
    # Holm over three: the smallest p counts three times, whatever the other two turned out to be.
    assert rows["p_adjusted"].iloc[0] == min(1, 3 * rows["p"].iloc[0])
    assert rows["p"].iloc[0] < 1 / 3, "an adjusted p of 1 would show nothing"
    assert rows["p_adjusted"].iloc[1:].isna().all()
