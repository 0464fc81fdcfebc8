"""Agreement of a shared profile with attention: of the means (E1), and inside each instance (E2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mi_attention.agreement.pointwise import Version
from mi_attention.agreement.profiles import Profile
from mi_attention.agreement.reliability import profile_reliability
from mi_attention.agreement.rows import Rows, difference, undefined_measure
from mi_attention.interface import AttentionRecord, BoolArray, FloatArray, Measured
from mi_attention.measures import kendall_tau_b, smallest_p, somers_d, weighted_tau
from mi_attention.statistics import AttentionOrder, attention_order, bootstrap_means, shift_null

__all__ = ["add_position", "order_of_complete_instances"]

# Of the resamples that stand for the error of a profile; the same in all runs.
ERROR_SEED = 20_220_101


def add_position(
    rows: Rows,
    record: AttentionRecord,
    profiles: list[Profile],
    versions: Mapping[str, Version],
    *,
    seed: int,
    truth: FloatArray | None = None,
) -> None:
    """Add the rows of one alignment's profiles: positions (E1 and E2) or token types (E1 only).

    Args:
        rows: Where to.
        record: The record.
        profiles: One an output and state, all of the same alignment.
        versions: Output name → output and attention, the first is the one asked for.
        seed: Seed of the bootstrap.
        truth: ``(U,)`` the true information of each position with the label, where the data know it.
    """
    main = next(iter(versions))
    estimand = profiles[0].alignment.kind
    inside: dict[str, Measured] = {}
    errors: dict[str, FloatArray | None] = {}
    for profile in profiles:
        name, state = profile.output, profile.state
        known = ~np.isnan(profile.nats)
        hidden = state == "hidden"
        full, reliable = hidden and name == main, hidden and name in (main, "label")
        _add_mean_rows(rows, record, profile, known, estimand, seed, full=full, reliability=reliable)
        if estimand == "position":
            found = _inside(record, profile, profile.nats)
            error = _profile_error(record, profile) if known.all() else None
            if state == "hidden":
                inside[name], errors[name] = found, error
            values = _instance_null(record, profile, known) if name in (main, "label") else {}
            rows.add_measured(
                "instance", "kendall_tau_b", "mutual information", name, state, found, profile_error=error, **values
            )
    if "permuted attention" in inside:
        excess = difference(inside[main], inside["permuted attention"])
        first, second = errors[main], errors["permuted attention"]
        rows.add_measured(
            "instance",
            "kendall_tau_b",
            "mutual information",
            f"{main} minus permuted attention",
            "hidden",
            excess,
            profile_error=None if first is None or second is None else first - second,
        )
    if truth is not None and estimand == "position":
        _add_truth(rows, record, profiles, truth)


def _add_mean_rows(
    rows: Rows,
    record: AttentionRecord,
    profile: Profile,
    known: BoolArray,
    estimand: str,
    seed: int,
    *,
    full: bool,
    reliability: bool,
) -> None:
    """E1: tau of the profile and the mean attention, MI error and sampling of instances in the interval."""
    name, state = profile.output, profile.state
    undefined = int((~known).sum())
    shared = {
        "n_instances": record.n_instances,
        "undefined": undefined,
        "undefined_share": undefined / max(len(known), 1),
    }
    if known.sum() < 2:
        reason = "fewer than two units with an estimate"
        rows.add(estimand, "kendall_tau_b", "mutual information", name, state, estimate=np.nan, reason=reason, **shared)
        return
    attention = profile.mean_attention(record)[known]
    nats = profile.nats[known]
    names = ("attention", "information")
    found = kendall_tau_b(attention, nats, names=names)
    values: dict[str, float | str] = {"reason": found.reasons[0]}
    if found.defined.all():
        interval = bootstrap_means(
            lambda m, a: kendall_tau_b(a, m, names=names).values,
            profile.local_around_nats(record)[known],
            profile.alignment.attention_by_instance(record, profile.attention)[known],
            rng=np.random.default_rng([seed, 5]),
            n_resamples=1000,
            level=rows.level,
        )
        values |= {"ci_low": interval.percentile_low, "ci_high": interval.percentile_high}
        values |= {"interval": "bootstrap over instances, MI error included", "reason": interval.reason}
        if reliability:
            repeated = profile_reliability(record, profile, seed=seed)
            values |= {"reliability": repeated.split_half, "ceiling": repeated.ceiling}
            if repeated.reason:
                values["reason"] = "; ".join(filter(None, [str(values["reason"]), f"ceiling: {repeated.reason}"]))
        if estimand == "position":
            null = shift_null(nats, attention)
            values |= {"null": "circular shifts of the profile", "null_mean": null.null_mean}
            values |= {"p": null.p, "smallest_p": null.smallest_p}
    if smallest_p(int(known.sum())) > 0.05:
        few = f"{int(known.sum())} units: no order of so few can reach p .05"
        values["reason"] = "; ".join(filter(None, [str(values["reason"]), few]))
    if undefined:
        values["reason"] = "; ".join(filter(None, [str(values["reason"]), f"{undefined} units without an estimate"]))
    rows.add(estimand, "kendall_tau_b", "mutual information", name, state, estimate=found.values[0], **shared, **values)
    signed = kendall_tau_b(attention, profile.signed[known], names=names)
    rows.add(
        estimand,
        "kendall_tau_b",
        "held-out mutual information",
        name,
        state,
        estimate=signed.values[0],
        reason=signed.reasons[0],
        **shared,
    )
    if full:
        for measure, of in (("weighted_tau", weighted_tau), ("somers_d", somers_d)):
            value = of(attention, nats, names=names)
            reason = value.reasons[0]
            rows.add(
                estimand, measure, "mutual information", name, state, estimate=value.values[0], reason=reason, **shared
            )


def _inside(record: AttentionRecord, profile: Profile, nats: FloatArray) -> Measured:
    """E2: tau of the profile and each instance's own attention, over the units the instance has."""
    by_instance = profile.alignment.attention_by_instance(record, profile.attention)
    present = ~np.isnan(by_instance) & ~np.isnan(nats)[:, None]
    counts = present.sum(axis=0)
    if (~np.isnan(nats)).sum() < 2:
        causes = dict.fromkeys(estimate.reason for estimate in profile.estimates if estimate.reason)
        why = "; ".join(causes) or "fewer than two positions with an estimate"
        return undefined_measure(record.n_instances, f"no information profile ({why})")
    out = undefined_measure(record.n_instances, "too short for the panel of positions")
    usable = counts >= 2
    if not usable.any():
        return out
    instance, unit = np.nonzero(present.T & usable[:, None])
    offsets = np.concatenate([[0], np.cumsum(counts[usable])]).astype(np.int64)
    found = kendall_tau_b(by_instance[unit, instance], nats[unit], offsets, names=("attention", "information"))
    values, reasons = out.values.copy(), np.array(out.reasons, dtype=object)
    values[usable] = found.values
    reasons[usable] = found.reasons
    return Measured(values, tuple(str(reason) for reason in reasons))


def _profile_error(record: AttentionRecord, profile: Profile) -> FloatArray | None:
    """Draws of the mean tau of the instances with the profile estimated from resampled instances; None if undefined.

    The seed is the same for every run and output, so that runs on the same instances share their resamples:
    their errors are then averaged, and differences keep their pairing.
    """
    order = order_of_complete_instances(record, profile)
    if order is None or order.n_instances == 0:
        return None
    found = bootstrap_means(order.mean_tau_b, profile.local_around_nats(record), rng=ERROR_SEED, n_resamples=200)
    return None if found.reason or found.n_undefined else found.resampled


def order_of_complete_instances(record: AttentionRecord, profile: Profile) -> AttentionOrder | None:
    """The attention order of the instances that have every unit, for the shift null; None if there are none."""
    by_instance = profile.alignment.attention_by_instance(record, profile.attention)
    complete = ~np.isnan(by_instance).any(axis=0)
    if len(by_instance) < 2 or not complete.any():
        return None
    return attention_order(by_instance[:, complete].T)


def _instance_null(record: AttentionRecord, profile: Profile, known: BoolArray) -> dict[str, float | str]:
    order = order_of_complete_instances(record, profile) if known.all() else None
    if order is None:
        return {"null": "none: no instance has an estimate at every position"}
    null = shift_null(profile.nats, [order])
    what = "circular shifts of the profile"
    if order.n_instances + order.n_undefined < record.n_instances:
        what += f", over the {order.n_instances} instances with every position"
    return {"null": what, "null_mean": null.null_mean, "p": null.p, "smallest_p": null.smallest_p}


def _add_truth(rows: Rows, record: AttentionRecord, profiles: list[Profile], truth: FloatArray) -> None:
    """The oracle: the known information of the inputs against attention, and against each estimated profile."""
    if len(truth) != len(profiles[0].alignment):
        raise ValueError(f"truth has {len(truth)} positions but the alignment has {len(profiles[0].alignment)}")
    attention = profiles[0].mean_attention(record)
    found = kendall_tau_b(attention, truth, names=("attention", "true information"))
    rows.add(
        "position",
        "kendall_tau_b",
        "true information",
        "label",
        "input",
        estimate=found.values[0],
        reason=found.reasons[0],
        n_instances=record.n_instances,
    )
    for profile in profiles:
        known = ~np.isnan(profile.nats)
        if profile.output == "label" and known.sum() >= 2:
            value = kendall_tau_b(profile.nats[known], truth[known], names=("information", "true information"))
            rows.add(
                "recovery",
                "kendall_tau_b",
                "true information",
                "label",
                profile.state,
                estimate=value.values[0],
                reason=value.reasons[0],
                n_instances=record.n_instances,
            )
