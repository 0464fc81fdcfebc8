"""Agreement of a shared profile with attention: of the means (E1), and inside each instance (E2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mi_attention.agreement.profiles import Profile, tied_units
from mi_attention.agreement.reliability import ProfileReliability, profile_reliability
from mi_attention.agreement.rows import Rows, difference, undefined_measure
from mi_attention.interface import AttentionRecord, BoolArray, FloatArray, Measured
from mi_attention.measures import kendall_tau_b, smallest_p, somers_d, weighted_tau
from mi_attention.statistics import AttentionOrder, attention_order, bootstrap_means, shift_null, shrink_profile

__all__ = ["ERROR_DRAWS", "ERROR_SEED", "TauDraws", "add_excess", "add_position", "order_of_complete_instances"]

# Of the resamples that stand for the error of a profile; the same in all runs.
ERROR_SEED = 20_220_101
ERROR_DRAWS = 200


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
    means: dict[str, TauDraws] = {}
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


@dataclass(frozen=True, eq=False)
class TauDraws:
    """A tau of a whole run and its bootstrap draws; those of one run share their resampled instances."""

    estimate: float
    resampled: FloatArray


def add_excess(rows: Rows, estimand: str, main: str, first: TauDraws, second: TauDraws, n: int, units: int) -> None:
    """Add what the mechanical baseline leaves of a tau: paired difference, percentiles of paired resamples.

    Args:
        rows: Where to.
        estimand: Of both.
        main: Name of the output asked for.
        first: Its tau.
        second: That of the permuted attention.
        n: Instances.
        units: Units of both profiles.
    """
    values: dict[str, float | str] = {"estimate": first.estimate - second.estimate}
    if np.isnan(values["estimate"]):
        values["reason"] = "one of the two orders is undefined"
    elif first.resampled.size and second.resampled.size:
        draws = first.resampled - second.resampled
        draws = draws[~np.isnan(draws)]
        tail = 50 * (1 - rows.level)
        if draws.size and np.ptp(draws) > 0:
            low, high = np.percentile(draws, [tail, 100 - tail])
            values |= {"ci_low": float(low), "ci_high": float(high)}
            values |= {"interval": "bootstrap over instances, MI error included"}
        else:
            values["reason"] = "no spread over resamples"
    name = f"{main} minus permuted attention"
    rows.add(estimand, "kendall_tau_b", "mutual information", name, "hidden", n_instances=n, n_units=units, **values)


def _add_mean_rows(
    rows: Rows,
    record: AttentionRecord,
    profile: Profile,
    known: BoolArray,
    error: ProfileReliability,
    seed: int,
    *,
    full: bool,
) -> TauDraws:
    """E1: tau of the profile and the mean attention, MI error and sampling of instances in the interval."""
    name, state, estimand = profile.output, profile.state, profile.alignment.kind
    undefined = int((~known).sum())
    shared: dict[str, float] = {
        "n_instances": record.n_instances,
        "n_units": int(known.sum()),
        "undefined": undefined,
        "undefined_share": undefined / max(len(known), 1),
    }
    nowhere = TauDraws(float("nan"), np.empty(0))
    if known.sum() < 2:
        reason = "fewer than two units with an estimate"
        rows.add(estimand, "kendall_tau_b", "mutual information", name, state, estimate=np.nan, reason=reason, **shared)
        return nowhere
    attention = profile.mean_attention(record)[known]
    nats = profile.nats[known]
    names = ("attention", "information")
    found = kendall_tau_b(attention, nats, names=names)
    values: dict[str, float | str] = {"reason": found.reasons[0], "tied_units": tied_units(nats)}
    trust: dict[str, float | str] = {}
    draws: FloatArray = np.empty(0)
    if found.defined.all():
        local = profile.local_around_nats(record)[known]
        by_instance = profile.alignment.attention_by_instance(record, profile.attention)[known]
        interval = bootstrap_means(
            _tau, local, by_instance, rng=np.random.default_rng([seed, 5]), n_resamples=1000, level=rows.level
        )
        draws = interval.resampled
        values |= {"ci_low": interval.percentile_low, "ci_high": interval.percentile_high}
        values |= {"interval": "bootstrap over instances, MI error included", "reason": interval.reason}
        trust = {"reliability": error.split_half, "ceiling": error.ceiling}
        if error.reason:
            values["reason"] = "; ".join(filter(None, [str(values["reason"]), f"ceiling: {error.reason}"]))
        if estimand == "position":
            null = shift_null(nats, attention)
            values |= {"null": "circular shifts of the profile", "null_mean": null.null_mean}
            values |= {"p": null.p, "smallest_p": null.smallest_p}
        # All runs on the same instances share these resamples, so that an interval over seeds can join them.
        joint = bootstrap_means(
            _tau, shrink_profile(local), shrink_profile(by_instance), rng=ERROR_SEED, n_resamples=ERROR_DRAWS
        )
        rows.add_resamples(estimand, "mutual information", name, state, joint.resampled)
    if smallest_p(int(known.sum())) > 0.05:
        few = f"{int(known.sum())} units: no order of so few can reach p .05"
        values["reason"] = "; ".join(filter(None, [str(values["reason"]), few]))
    if undefined:
        values["reason"] = "; ".join(filter(None, [str(values["reason"]), f"{undefined} units without an estimate"]))
    rows.add(
        estimand,
        "kendall_tau_b",
        "mutual information",
        name,
        state,
        estimate=found.values[0],
        **shared,
        **values,
        **trust,
    )
    held_out = profile.signed[known]
    signed = kendall_tau_b(attention, held_out, names=names)
    rows.add(
        estimand,
        "kendall_tau_b",
        "held-out mutual information",
        name,
        state,
        estimate=signed.values[0],
        reason=signed.reasons[0],
        tied_units=tied_units(held_out),
        **shared,
        **(trust if signed.defined.all() else {}),
    )
    if full:
        for measure, of in (("weighted_tau", weighted_tau), ("somers_d", somers_d)):
            value = of(attention, nats, names=names)
            rows.add(
                estimand,
                measure,
                "mutual information",
                name,
                state,
                estimate=value.values[0],
                reason=value.reasons[0],
                tied_units=tied_units(nats),
                **shared,
                **({"reliability": error.split_half} if trust else {}),
            )
    return TauDraws(float(found.values[0]), draws)


def _tau(profiles: FloatArray, attention: FloatArray) -> FloatArray:
    return kendall_tau_b(attention, profiles, names=("attention", "information")).values


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
    their errors are then averaged, and differences keep their pairing.
    """
    order = order_of_complete_instances(record, profile)
    if order is None or order.n_instances == 0:
        return None
    found = bootstrap_means(
        order.mean_tau_b, profile.local_around_nats(record), rng=ERROR_SEED, n_resamples=ERROR_DRAWS
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
