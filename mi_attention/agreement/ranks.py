"""Agreement by attention rank (E4): does the k-th most attended state hold less than the one before?"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from mi_attention.agreement.profiles import Profile, tied_units
from mi_attention.agreement.reliability import profile_reliability
from mi_attention.agreement.resampling import ERROR_DRAWS, RunDraws, add_excess, interval_of_run, resample_run
from mi_attention.agreement.rows import Rows
from mi_attention.estimators import level_standard_error
from mi_attention.interface import AttentionRecord, FloatArray
from mi_attention.measures import kendall_tau_b

__all__ = ["add_ranks", "is_constant"]


def add_ranks(rows: Rows, record: AttentionRecord, profiles: list[Profile], main: str, *, seed: int) -> None:
    """Add, for each output, tau-b(−k, MI_k) and the information at rank 1 in nats and as a share of H(Y).

    With the prediction as output part of the fall is arithmetic; the row ``"… minus permuted attention"`` is
    what the mechanical baseline leaves of the rank-1 information.

    Args:
        rows: Where to.
        record: The record.
        profiles: One an output, each ranked by its own version of the attention.
        main: Name of the output asked for.
        seed: Seed of the bootstrap.
    """
    first: dict[str, tuple[float, float]] = {}
    falls: dict[str, RunDraws] = {}
    for profile in profiles:
        name, state, k = profile.output, profile.state, len(profile.alignment)
        panel = profile.estimates[0].n
        missing = record.n_instances - panel
        shared: dict[str, float] = {"n_instances": panel, "n_units": k, "undefined": missing}
        shared["undefined_share"] = missing / record.n_instances
        reasons = [estimate.reason for estimate in profile.estimates if estimate.status != "ok"]
        if is_constant(record, profile.attention):
            reasons.insert(0, "constant attention: its ranks are arbitrary")
        if reasons:
            units = {"kendall_tau_b": "tau", "first_rank": "nats", "first_rank_share": "share of H(Y)"}
            for measure, unit in units.items():
                rows.add("rank", measure, "mutual information", name, state, reason=reasons[0], unit=unit, **shared)
            continue
        falling = -np.arange(k, dtype=np.float64)

        def fall(means: FloatArray, falling: FloatArray = falling) -> FloatArray:
            return kendall_tau_b(np.broadcast_to(falling, means.shape), means, names=("rank", "information")).values

        tau = kendall_tau_b(falling, profile.nats, names=("rank", "information"))
        local = profile.local_around_nats(record)
        drawn = RunDraws(np.nan, np.empty(0), tau.reasons[0])
        if tau.defined.all():
            drawn = resample_run(fall, float(tau.values[0]), local)
            rows.add_resamples("rank", "mutual information", name, state, drawn.kept)
        values = interval_of_run(drawn, panel, rows.level)
        reliable = profile_reliability(record, profile, seed=seed)
        trust = {"reliability": reliable.split_half, "ceiling": reliable.ceiling} if tau.defined.all() else {}
        notes = [values.pop("reason", ""), f"ceiling: {reliable.reason}" if reliable.reason else ""]
        rows.add(
            "rank",
            "kendall_tau_b",
            "mutual information",
            name,
            state,
            estimate=tau.values[0],
            reason="; ".join(filter(None, notes)),
            tied_units=tied_units(profile.nats),
            **shared,
            **values,
            **trust,
        )
        held_out = kendall_tau_b(falling, profile.signed, names=("rank", "information"))
        signed = RunDraws(np.nan, np.empty(0), held_out.reasons[0])
        if held_out.defined.all():
            moved = local + (profile.signed - profile.nats)[:, None]
            signed = resample_run(fall, float(held_out.values[0]), moved, draws=ERROR_DRAWS)
            rows.add_resamples("rank", "held-out mutual information", name, state, signed.kept)
        rows.add(
            "rank",
            "kendall_tau_b",
            "held-out mutual information",
            name,
            state,
            estimate=signed.estimate,
            tied_units=tied_units(profile.signed),
            **shared,
            **interval_of_run(signed, panel, rows.level),
            **trust,
        )
        if state == "hidden":
            falls[name] = drawn
        _add_first(rows, profile, shared, rows.level)
        if state == "hidden":
            first[name] = (profile.estimates[0].nats, level_standard_error(profile.estimates[0]))
    if main in falls and "permuted attention" in falls:
        top = profiles[0].estimates
        add_excess(rows, "rank", main, falls[main], falls["permuted attention"], top[0].n, len(top))
    if main in first and "permuted attention" in first:
        (value, error), (baseline, baseline_error) = first[main], first["permuted attention"]
        spread = float(norm.ppf(0.5 + rows.level / 2) * np.hypot(error, baseline_error))
        rows.add(
            "rank",
            "first_rank",
            "mutual information",
            f"{main} minus permuted attention",
            "hidden",
            estimate=value - baseline,
            ci_low=value - baseline - spread,
            ci_high=value - baseline + spread,
            interval="normal, errors of the two estimates taken as independent",
            unit="nats",
        )


def _add_first(rows: Rows, profile: Profile, shared: dict[str, float], level: float) -> None:
    top = profile.estimates[0]
    spread = norm.ppf(0.5 + level / 2) * level_standard_error(top)
    ceiling = top.ceiling or np.nan
    most = np.inf if top.ceiling is None else top.ceiling
    for measure, scale, unit in (("first_rank", 1.0, "nats"), ("first_rank_share", 1 / ceiling, "share of H(Y)")):
        rows.add(
            "rank",
            measure,
            "mutual information",
            profile.output,
            profile.state,
            estimate=top.nats * scale,
            ci_low=(top.nats - spread) * scale,
            ci_high=min(top.nats + spread, most) * scale,
            interval="normal, standard error of the estimator, capped at H(Y)",
            unit=unit,
            **shared,
        )


def is_constant(record: AttentionRecord, attention: FloatArray) -> bool:
    """Whether every instance's attention is constant."""
    low = np.minimum.reduceat(attention, record.offsets[:-1])
    high = np.maximum.reduceat(attention, record.offsets[:-1])
    return bool((low == high).all())
