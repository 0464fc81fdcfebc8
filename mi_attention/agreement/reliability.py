"""How far a measured order of information repeats itself, and how far attention could agree with it at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mi_attention.agreement.profiles import Profile
from mi_attention.agreement.rows import undefined_measure
from mi_attention.estimators import Probe
from mi_attention.interface import AttentionRecord, IntArray, Measured
from mi_attention.measures import kendall_tau_b
from mi_attention.statistics import split_half, tau_ceiling

__all__ = ["ProfileReliability", "pointwise_reliability", "profile_reliability"]


# Numbers of the largest copy of states that a probe is fitted on: 16 MB as float32.
COPIED_NUMBERS = 2**22


@dataclass(frozen=True)
class ProfileReliability:
    """Error of a profile, as far as it concerns orders.

    Attributes:
        split_half: Mean tau-b between the profiles of two disjoint halves of the instances; NaN if undefined.
            Not the ceiling: a half is noisier than the whole.
        ceiling: The tau-b an attention in the true order would reach against this profile; NaN if undefined.
        reason: Why one of them is undefined.
    """

    split_half: float
    ceiling: float
    reason: str


def profile_reliability(
    record: AttentionRecord, profile: Profile, *, seed: int, splits: int = 100
) -> ProfileReliability:
    """Split-half reliability and ceiling of a profile, from its pointwise values.

    Args:
        record: The record.
        profile: With at least two defined units; undefined ones are left out.
        seed: Seed of splits and draws.
        splits: Random halves.

    Returns:
        Both, or the reason why not.
    """
    defined = [u for u, estimate in enumerate(profile.estimates) if estimate.status == "ok"]
    if len(defined) < 2:
        return ProfileReliability(float("nan"), float("nan"), "fewer than two units with an estimate")
    local = profile.local(record)[defined]
    halves = split_half(local, rng=np.random.default_rng([seed, 2]), n_splits=splits)
    ceiling = tau_ceiling(local, rng=np.random.default_rng([seed, 3]))
    reasons = [reason for reason in (halves.reason, ceiling.reason) if reason]
    return ProfileReliability(halves.tau, ceiling.tau, "; ".join(dict.fromkeys(reasons)))


def pointwise_reliability(record: AttentionRecord, y: IntArray, probe: Probe, *, seed: int) -> Measured:
    """Tau-b between the pointwise informativeness of two probes that share no training instance.

    Instances are dealt into three parts. For each part, one probe is fitted on each of the other two, and the
    two orders of every instance of the part are compared; so every instance has a value, and neither probe
    saw it. Each probe has a third of the instances: the order reported elsewhere comes from more data.

    Where the states of a third would not fit in ``COPIED_NUMBERS``, the instances are a random sample that does.

    Args:
        record: The record.
        y: ``(N,)`` the output.
        probe: The shared probe.
        seed: Seed of the deal and the sample.

    Returns:
        One value an instance (of the sample), undefined where a probe could not be fitted or an order is constant.
    """
    most = max(60, int(3 * COPIED_NUMBERS / (record.hidden.shape[1] * max(1.0, float(record.lengths.mean())))))
    rng = np.random.default_rng([seed, 4])
    if record.n_instances > most:
        sample = np.sort(rng.permutation(record.n_instances)[:most])
        return pointwise_reliability(record.select(sample), y[sample], probe, seed=seed)
    n = record.n_instances
    part = rng.permutation(n) % 3
    classes, codes = np.unique(y, return_inverse=True)
    counts = [np.bincount(codes[part == k], minlength=len(classes)) for k in range(3)]
    if n < 60:
        return undefined_measure(n, "fewer than 60 instances: a third of them is too few for a probe")
    if len(classes) < 2 or min(int(count.min()) for count in counts) < 2:
        return undefined_measure(n, "a class has fewer than two instances in a third of them")
    owner = record.row_instance
    informativeness = np.empty((2, record.n_rows))
    fitted = []
    for k in range(3):
        rows = np.flatnonzero(part[owner] == k)
        fitted.append(probe.fit(record.hidden[rows], y[owner[rows]], owner[rows]))
    for k in range(3):
        rows = np.flatnonzero(part[owner] == k)
        for which, other in enumerate(j for j in range(3) if j != k):
            informativeness[which, rows] = fitted[other].informativeness(record.hidden[rows])
    return kendall_tau_b(
        informativeness[0], informativeness[1], record.offsets, names=("first probe's order", "second probe's order")
    )
