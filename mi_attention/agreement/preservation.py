"""How much of H(Y) the states that attention looks at hold, and how much the context made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mi_attention.agreement.controls import context_vectors, uniform_attention
from mi_attention.agreement.influence import Linearised, LinearRow, entropy, information, unit_counts, weighted_mean
from mi_attention.agreement.profiles import Profile
from mi_attention.agreement.ranks import is_constant
from mi_attention.agreement.units import Alignment
from mi_attention.agreement.versions import Version
from mi_attention.estimators import Probe
from mi_attention.interface import AttentionRecord, FloatArray, MIEstimate, Unit

__all__ = ["ORDERS", "attended_shares", "attention_mass", "context_shares"]

# Order in the table → whether it is made of signed held-out values.
ORDERS = {"mutual information": False, "held-out mutual information": True}
_SHARE = "share of H(Y)"
_NO_MASS = "no attention on the units with an estimate"


def attended_shares(
    record: AttentionRecord, profiles: Sequence[Profile], versions: Mapping[str, Version]
) -> list[LinearRow]:
    """Σ_u ā_u I(h_u; Y) / H(Y) over positions or bins u, the same under uniform weights, and the difference.

    ā_u is the mean attention mass of unit u, made to sum to 1 over the units with an estimate. It is an average of what
    single states hold, not what they hold together (``context_shares``): attention that looks at informative positions
    has a positive ``attended_excess``, uniform attention exactly 0. With the prediction as output part of it is
    arithmetic; compare the row of ``"permuted attention"``.

    Args:
        record: The record.
        profiles: By position, of the hidden states, each beside the attention of its version.
        versions: Output name → version.

    Returns:
        ``attended_share``, ``uniform_share`` and ``attended_excess`` of each profile, as shares of H(Y), from the
        estimator's best values and from its held-out ones. Undefined where no unit has an estimate.
    """
    made = []
    for profile in profiles:
        kept = [u for u, estimate in enumerate(profile.estimates) if estimate.status == "ok"]
        values = unit_counts(record, profile.alignment, kept)
        for order, held_out in ORDERS.items():
            if held_out and any(profile.estimates[u].lower_bound is None for u in kept):
                continue
            numbers: Mapping[str, Linearised | str]
            if kept:
                numbers = _shares(record, profile, versions[profile.output], kept, held_out)
            else:
                reason = profile.estimates[0].reason
                numbers = dict.fromkeys(("attended_share", "uniform_share", "attended_excess"), reason)
            for measure, found in numbers.items():
                most = np.inf if measure == "attended_excess" else 1.0
                made.append(LinearRow(measure, order, profile.output, "hidden", found, _SHARE, values, most))
    return made


def _shares(
    record: AttentionRecord, profile: Profile, version: Version, kept: Sequence[int], held_out: bool
) -> dict[str, Linearised | str]:
    n, alignment = record.n_instances, profile.alignment
    parts = []
    for u in kept:
        owner = alignment.owners(record, u)
        found = information(profile.estimates[u], owner, n, held_out=held_out)
        parts.append(found.over(entropy(version.y[owner], owner, n)))
    uniform = uniform_attention(record)
    # The same numbers, not numbers that differ by rounding, where attention is uniform.
    own = uniform if is_constant(record, profile.attention) else profile.attention
    masses = [attention_mass(record, alignment, weights)[kept] for weights in (own, uniform)]
    attended, even = (weighted_mean(parts, mass) if np.nansum(mass) > 0 else _NO_MASS for mass in masses)
    excess = _NO_MASS if isinstance(attended, str) or isinstance(even, str) else attended.minus(even)
    return {"attended_share": attended, "uniform_share": even, "attended_excess": excess}


def attention_mass(record: AttentionRecord, alignment: Alignment, attention: FloatArray) -> FloatArray:
    """``(U, N)`` attention mass of each instance on each unit, NaN where the instance has no row there.

    Args:
        record: The record.
        alignment: The units, disjoint.
        attention: ``(M,)`` weights.
    """
    n = record.n_instances
    counts = np.stack([np.bincount(alignment.owners(record, u), minlength=n) for u in range(len(alignment))])
    mean = alignment.attention_by_instance(record, attention)
    # Where instances of different lengths share units, the mean is in multiples of uniform attention.
    return mean * counts / record.lengths if alignment.relative else mean * counts


def context_shares(
    record: AttentionRecord, main: str, versions: Mapping[str, Version], probe: Probe, *, minimum: int
) -> list[LinearRow]:
    """I(context; Y) / H(Y) with the context Σ_t a_t h_t that a decoder reads, one sample an instance.

    Of the output asked for and of the gold label under the model's attention; of the prediction recomputed from the
    context under permuted attention and under uniform attention. A prediction is a function of its context, so that its
    share says what the probe can read, near 1, and only the label's says what was preserved.

    Args:
        record: The record.
        main: Name of the output asked for.
        versions: Output name → version.
        probe: The estimator.
        minimum: With fewer instances there is no estimate.

    Returns:
        ``context_share`` of each version, from the best values and the held-out ones.
    """
    own = context_vectors(record, np.asarray(record.attention))
    contexts = {name: own for name in versions if name in (main, "label")}
    if "permuted attention" in versions:
        contexts["permuted attention"] = context_vectors(record, versions["permuted attention"].attention)
    if "uniform prediction" in versions:
        contexts["uniform prediction"] = context_vectors(record, uniform_attention(record))
    n = record.n_instances
    if n < minimum:
        refused = MIEstimate.undefined(f"fewer than {minimum} instances", n=n, signature=probe.signature)
        estimates = [refused] * len(contexts)
    else:
        estimates = probe.estimate_many([Unit(x, versions[name].y, name=name) for name, x in contexts.items()])
    made = []
    owner = np.arange(n)
    for name, estimate in zip(contexts, estimates, strict=True):
        missing = n if estimate.status != "ok" else 0
        values = {"n_instances": n, "undefined": missing, "undefined_share": missing / n}
        for order, held_out in ORDERS.items():
            found: Linearised | str = estimate.reason
            if estimate.status == "ok":
                found = information(estimate, owner, n, held_out=held_out).over(entropy(versions[name].y, owner, n))
            made.append(LinearRow("context_share", order, name, "context", found, _SHARE, values, 1.0))
    return made
