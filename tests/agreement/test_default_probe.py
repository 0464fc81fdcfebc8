"""The default probe in comparisons: nothing about a random label, whatever is stacked on top of the linear reader."""

from __future__ import annotations

import numpy as np

from mi_attention.agreement import align_ranks, estimate_profiles
from mi_attention.estimators import Probe
from tests.agreement.synthetic import make_record


def test_information_at_each_attention_rank_about_a_random_label_is_next_to_nothing():
    found = []
    for seed in range(3):
        record = make_record(n=1500, hidden_size=4, positions=8, seed=seed)
        alignment = align_ranks(record, record.attention)
        (profile,) = estimate_profiles(record, alignment, {"label": record.label}, Probe())
        found += profile.estimates
    assert len(found) == 15
    assert max(abs(estimate.nats) for estimate in found) < 0.01
    # A held-out log ratio is negative in expectation where there is nothing; 15 estimates know their mean to .0005.
    # Stacked models that can undo the leaving out (sum of all fits minus the one that left the row out) read .008.
    assert -0.003 < np.mean([estimate.lower_bound for estimate in found]) < 0.0015


def test_the_pooled_probe_of_few_instances_reads_nothing_about_a_random_label():
    bounds = []
    for seed in range(12):
        record = make_record(n=43, hidden_size=4, positions=7, seed=seed)
        owner = record.row_instance
        bounds.append(Probe().estimate(record.hidden, np.asarray(record.label)[owner], owner).lower_bound)
    # The same models read .033.
    assert -0.02 < np.mean(bounds) < 0.006
