"""Agreement of a shared profile with attention: of the means (E1), and inside each instance (E2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mi_attention.agreement.profiles import Profile, tied_units
from mi_attention.agreement.reliability import ProfileReliability, profile_reliability
from mi_attention.agreement.resampling import (
    ERROR_DRAWS,
    ERROR_SEED,
    RUN_DRAWS,
    RunDraws,
    add_excess,
    interval_of_run,
    resample_run,
)
from mi_attention.agreement.rows import Rows, difference, undefined_measure
from mi_attention.interface import AttentionRecord, BoolArray, FloatArray, Measured
from mi_attention.measures import kendall_tau_b, smallest_p, somers_d, weighted_tau
from mi_attention.statistics import AttentionOrder, attention_order, bootstrap_means, shift_null, shrink_profile

__all__ = ["ERROR_DRAWS", "ERROR_SEED", "add_position", "order_of_complete_instances"]


def add_position(
    rows: Rows,
    record: AttentionRecord,
    profiles: list[Profile],
    main: str,
    *,
    seed: int,
    truth: FloatArray | None = None,
) -> None:
    """Add the rows of one alignment's profiles: positions (E1 and E2) or token types (E1 only).

    Args:
        rows: Where to.
        record: The record.
        profiles: One an output and state, all of the same alignment.
        main: Name of the output asked for, ``""`` where none of these is it.
        seed: Seed of bootstrap, halves and random orders.
        truth: ``(U,)`` the true information of each position with the label, where the data know it.
    """
    estimand = profiles[0].alignment.kind
    means: dict[str, RunDraws] = {}
    inside: dict[str, Measured] = {}
    errors: dict[str, FloatArray | None] = {}
    for profile in profiles:
        name, state = profile.output, profile.state
        known = ~np.isnan(profile.nats)
        hidden = state == "hidden"
        error = profile_reliability(record, profile, seed=seed)
        found = _add_mean_rows(
            rows, record, profile, known, error, seed, full=hidden and name in (main, "permuted attention")
        )
        if hidden:
            means[name] = found
        if estimand == "position":
            agreement = _inside(record, profile, profile.nats)
            profile_error = _profile_error(record, profile) if known.all() else None
            if hidden:
                inside[name], errors[name] = agreement, profile_error
            values: dict[str, float | str] = {"n_units": int(known.sum()), "tied_units": tied_units(profile.nats)}
            if agreement.defined.any():
                values |= {"reliability": error.split_half, "ceiling": error.ceiling}
            if main and name in (main, "label"):
                values |= _instance_null(record, profile, known)
            rows.add_measured(
                "instance",
                "kendall_tau_b",
                "mutual information",
                name,
                state,
                agreement,
                profile_error=profile_error,
                **values,
            )
            if hidden and name in (main, "label"):
                _add_held_out_inside(rows, record, profile, error)
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
    if "permuted attention" in means:
        add_excess(
            rows, estimand, main, means[main], means["permuted attention"], record.n_instances, len(profiles[0].nats)
        )
    if estimand == "position" and main:
        _add_orders(rows, record, profiles, main, seed)
        if truth is not None:
            _add_truth(rows, record, profiles, truth)


def _add_mean_rows(
    rows: Rows,
    record: AttentionRecord,
    profile: Profile,
    known: BoolArray,
    error: ProfileReliability,
    seed: int,
    *,
    full: bool,
) -> RunDraws:
    """E1: tau of the profile and the mean attention, MI error and sampling of instances in the interval."""
    name, state, estimand = profile.output, profile.state, profile.alignment.kind
    undefined = int((~known).sum())
    shared: dict[str, float] = {
        "n_instances": record.n_instances,
        "n_units": int(known.sum()),
        "undefined": undefined,
        "undefined_share": undefined / max(len(known), 1),
    }
    nowhere = RunDraws(float("nan"), np.empty(0))
    if known.sum() < 2:
        reason = "fewer than two units with an estimate"
        rows.add(estimand, "kendall_tau_b", "mutual information", name, state, estimate=np.nan, reason=reason, **shared)
        return nowhere
    attention = profile.mean_attention(record)[known]
    nats, held_out = profile.nats[known], profile.signed[known]
    local = profile.local_around_nats(record)[known]
    by_instance = profile.alignment.attention_by_instance(record, profile.attention)[known]
    found = _agreement_of_run(kendall_tau_b, attention, nats, local, by_instance)
    values: dict[str, float | str] = interval_of_run(found, record.n_instances, rows.level)
    reasons = [str(values.pop("reason", ""))]
    trust: dict[str, float | str] = {}
    if found.resampled.size:
        rows.add_resamples(estimand, "mutual information", name, state, found.kept)
        trust = {"reliability": error.split_half, "ceiling": error.ceiling}
        if error.reason:
            reasons.append(f"ceiling: {error.reason}")
        if estimand == "position":
            null = shift_null(nats, attention)
            values |= {"null": "circular shifts of the profile", "null_mean": null.null_mean}
            values |= {"p": null.p, "smallest_p": null.smallest_p}
    if smallest_p(int(known.sum())) > 0.05:
        reasons.append(f"{int(known.sum())} units: no order of so few can reach p .05")
    if undefined:
        reasons.append(f"{undefined} units without an estimate")
    rows.add(
        estimand,
        "kendall_tau_b",
        "mutual information",
        name,
        state,
        estimate=found.estimate,
        reason="; ".join(filter(None, reasons)),
        tied_units=tied_units(nats),
        **shared,
        **values,
        **trust,
    )
    further = [("kendall_tau_b", "held-out mutual information", kendall_tau_b, held_out)]
    if full:
        further += [
            (m, "mutual information", of, nats) for m, of in (("weighted_tau", weighted_tau), ("somers_d", somers_d))
        ]
    for measure, order, of, values_of_units in further:
        moved = local + (values_of_units - nats)[:, None]
        other = _agreement_of_run(of, attention, values_of_units, moved, by_instance, draws=ERROR_DRAWS)
        kept = {}
        if other.resampled.size:
            rows.add_resamples(estimand, order, name, state, other.kept, measure=measure)
            # The ceiling is that of tau-b.
            kept = trust if of is kendall_tau_b else {key: trust[key] for key in trust if key != "ceiling"}
        rows.add(
            estimand,
            measure,
            order,
            name,
            state,
            estimate=other.estimate,
            tied_units=tied_units(values_of_units),
            **shared,
            **interval_of_run(other, record.n_instances, rows.level),
            **kept,
        )
    return found


def _agreement_of_run(
    of: Callable[..., Measured],
    attention: FloatArray,
    information: FloatArray,
    local: FloatArray,
    by_instance: FloatArray,
    *,
    draws: int = RUN_DRAWS,
) -> RunDraws:
    """A measure of the mean attention and the profile, with its draws; ``local`` has means ``information``."""
    names = ("attention", "information")
    found = of(attention, information, names=names)
    if not found.defined.all():
        return RunDraws(float("nan"), np.empty(0), found.reasons[0])

    def statistic(profiles: FloatArray, weights: FloatArray) -> FloatArray:
        return of(weights, profiles, names=names).values

    return resample_run(statistic, float(found.values[0]), local, by_instance, draws=draws)


def _add_held_out_inside(rows: Rows, record: AttentionRecord, profile: Profile, error: ProfileReliability) -> None:
    """E2 by the held-out values, beside that by the best values."""
    found = _inside(record, profile, profile.signed)
    counts = sorted(found.undefined_counts().items(), key=lambda item: -item[1])
    undefined = len(found.values) - int(found.defined.sum())
    trust = {"reliability": error.split_half, "ceiling": error.ceiling} if found.defined.any() else {}
    rows.add(
        "instance",
        "kendall_tau_b",
        "held-out mutual information",
        profile.output,
        profile.state,
        estimate=found.mean(),
        n_instances=len(found.values) - undefined,
        n_units=int((~np.isnan(profile.signed)).sum()),
        tied_units=tied_units(profile.signed),
        undefined=undefined,
        undefined_share=undefined / len(found.values),
        reason="; ".join(f"{reason}: {count}" for reason, count in counts),
        **trust,
    )


def _add_orders(rows: Rows, record: AttentionRecord, profiles: list[Profile], main: str, seed: int) -> None:
    """Controls by position: the index itself, random orders, and information against the index."""
    attention = profiles[0].mean_attention(record)
    index = np.arange(len(attention), dtype=np.float64)
    shared = {"n_instances": record.n_instances, "n_units": len(attention)}
    tau = kendall_tau_b(attention, index, names=("attention", "position index"))
    rows.add(
        "position",
        "kendall_tau_b",
        "position index",
        "",
        "",
        estimate=tau.values[0],
        reason=tau.reasons[0],
        **shared,
    )
    orders = np.random.default_rng([seed, 8]).random((999, len(attention)))
    chance = kendall_tau_b(np.broadcast_to(attention, orders.shape), orders, names=("attention", "random order"))
    values: dict[str, float | str] = {"reason": chance.reasons[0]}
    if chance.defined.all():
        tail = 50 * (1 - rows.level)
        low, high = np.percentile(chance.values, [tail, 100 - tail])
        values = {"ci_low": float(low), "ci_high": float(high), "interval": "range of 999 random orders"}
    rows.add("position", "kendall_tau_b", "random", "", "", estimate=chance.mean(), **shared, **values)
    for profile in profiles:
        known = ~np.isnan(profile.nats)
        if profile.state != "hidden" or profile.output not in (main, "label") or known.sum() < 2:
            continue
        tau = kendall_tau_b(index[known], profile.nats[known], names=("position index", "information"))
        rows.add(
            "control",
            "kendall_tau_b",
            "mutual information and position index",
            profile.output,
            "hidden",
            estimate=tau.values[0],
            reason=tau.reasons[0],
            n_instances=record.n_instances,
            n_units=int(known.sum()),
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
    their errors are then averaged, and differences keep their pairing. The profile is shrunk first, see
    ``shrink_profile``: the variance of the draws is what is wanted, not their mean.
    """
    order = order_of_complete_instances(record, profile)
    if order is None or order.n_instances == 0:
        return None
    found = bootstrap_means(
        order.mean_tau_b, shrink_profile(profile.local_around_nats(record)), rng=ERROR_SEED, n_resamples=ERROR_DRAWS
    )
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
        n_units=len(truth),
    )
    inside = _inside(record, profiles[0], np.asarray(truth, dtype=np.float64))
    rows.add_measured(
        "instance",
        "kendall_tau_b",
        "true information",
        "label",
        "input",
        inside,
        n_units=len(truth),
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
                n_units=int(known.sum()),
            )
