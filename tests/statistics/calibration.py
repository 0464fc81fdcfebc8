"""Every p value and interval of the room under simulated truth: what rejects how often, what covers how often.

``test_calibration.py`` runs cases, short and (marked slow) all of them long. ``python -m tests.statistics.calibration
1000 2`` runs all in two processes and writes the table of ``CALIBRATION.md``; cases that have so many replicates there
are skipped, unless a third argument, part of "procedure; design", asks for them again.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from mi_attention.measures import concentration, kendall_tau_b, somers_d, weighted_tau
from mi_attention.statistics import (
    adjust_family,
    attention_order,
    bca_interval,
    bootstrap_means,
    combined_shift_null,
    concordance_by_gap,
    contrast_table,
    crossed_bootstrap,
    crossed_interval,
    curvature,
    effect_size_interval,
    equivalence,
    factorial_model,
    friedman,
    joint_bootstrap_interval,
    jonckheere,
    page_trend,
    pair_gaps,
    paired_contrast,
    partner_null,
    position_interval,
    result_table,
    seed_interval,
    shift_null,
    shrink_profile,
    sign_flip_p,
    tau_above_gap,
    theil_sen_slope,
)
from tests.statistics import simulators as sim

ALPHA, LEVEL = 0.05, 0.95
# Of what is no bound by construction; six seeds can reject .031 at most.
LEAST = 0.02
Rng = np.random.Generator
MARKER = "<!-- below: written by python -m tests.statistics.calibration REPLICATES WORKERS -->"


@dataclass(frozen=True)
class Case:
    """One procedure under one simulated truth.

    Attributes:
        procedure: What is tested.
        design: The truth.
        draw: One replicate: a p for ``level`` and ``power``; (estimate, low, high) for ``coverage``.
        kind: ``level`` must reject at most 5 % and not next to never, ``coverage`` must hold 93 to 97 %, ``power`` must
            reject at least ``bound``; ``labelled`` ones are shown beside better ones and must stay where their label
            says.
        truth: What the interval must cover; None for the mean of the estimates (the expected value at this N).
        bound: Least power; for ``labelled`` the (low, high) that the label says.
        conservative: Intervals that may cover more than 97 %, p that may reject next to never, and why.
        cost: Divisor of the replicates of expensive cases.
        short: Whether the normal suite runs it; the long one runs all.
    """

    procedure: str
    design: str
    draw: Callable[[Rng], float | tuple[float, float, float]]
    kind: str
    truth: float | None = 0.0
    bound: float | tuple[float, float] = 0.0
    conservative: str = ""
    cost: int = 1
    short: bool = True

    def rate(self, runs: int) -> float:
        """Share of replicates that reject or cover; an undefined interval does not cover.

        Raises:
            AssertionError: for a p that is undefined in any replicate, and for one that is above one half in more than
                three of four replicates of a true null without being conservative by construction: a test that is
                never defined, or always 1, rejects no true null either.
        """
        rng = np.random.default_rng(zlib.crc32(f"{self.procedure}; {self.design}".encode()))
        found = np.array([self.draw(rng) for _ in range(runs)], dtype=np.float64)
        if found.ndim == 1:
            undefined = float(np.isnan(found).mean())
            assert undefined == 0, f"{self.procedure}, {self.design}: {undefined:.0%} of the p are undefined"
            lower = float((found <= 0.5).mean())
            if self.kind == "level" and not self.conservative:
                assert lower >= 0.25, f"{self.procedure}, {self.design}: only {lower:.0%} of the p are at most one half"
            return float((found <= ALPHA).mean())
        truth = np.nanmean(found[:, 0]) if self.truth is None else self.truth
        return float(((found[:, 1] <= truth) & (truth <= found[:, 2])).mean())

    def limits(self, runs: int) -> tuple[float, float]:
        """Where the rate must lie, three standard errors of the simulation included."""

        def error(rate: float) -> float:
            return 3 * float(np.sqrt(rate * (1 - rate) / runs))

        if self.kind == "level":
            low = 0.0 if self.conservative else max(0.0, LEAST - error(LEAST))
            return low, ALPHA + error(ALPHA)
        if self.kind == "coverage":
            return 0.93 - error(0.93), 1.0 if self.conservative else 0.97 + error(0.97)
        if self.kind == "power":
            assert isinstance(self.bound, float)
            return self.bound - error(self.bound), 1.0
        assert isinstance(self.bound, tuple)
        return self.bound[0] - error(self.bound[0]), self.bound[1] + error(self.bound[1])


def ends(found: object) -> tuple[float, float, float]:
    """(estimate, low, high) of a result object or of the first row of a table."""
    row = found.iloc[0] if isinstance(found, pd.DataFrame) else found
    return float(row.estimate), float(row.ci_low), float(row.ci_high)  # type: ignore[attr-defined]


def shift(
    simulator: Callable[..., tuple[np.ndarray, np.ndarray]],
    seeds: int,
    length: int,
    *,
    instances: int = 0,
    **options: object,
) -> Callable[[Rng], float]:
    def draw(rng: Rng) -> float:
        information, attention = simulator(rng, seeds, length)
        rows: object = attention
        if instances:
            noise = rng.standard_normal((seeds, instances, length))
            rows = [attention_order(logits) for logits in attention[:, None, :] + noise]
        random = {} if options.get("method", "shift") == "shift" else {"rng": rng, "n_resamples": 199}
        return shift_null(information, rows, **options, **random).p  # type: ignore[arg-type]

    return draw


def combined(
    simulator: Callable[..., tuple[np.ndarray, np.ndarray]], sets: int, seeds: int, length: int, method: str = "shift"
) -> Callable[[Rng], float]:
    def draw(rng: Rng) -> float:
        data = [simulator(rng, seeds, length) for _ in range(sets)]
        return combined_shift_null(data, method=method, n_resamples=199, rng=rng).p  # type: ignore[arg-type]

    return draw


def partner(lengths: list[int], seeds: int, strength: float = 0.0) -> Callable[[Rng], float]:
    def draw(rng: Rng) -> float:
        information, attention, offsets = sim.pointwise(rng, np.array(lengths), seeds, strength)
        return partner_null(information, attention, offsets, rng=rng, n_resamples=199).p

    return draw


def flip(seeds: int, noise: Callable[..., np.ndarray], effect: float = 0.0) -> Callable[[Rng], float]:
    """Runs of deviation 1 on both sides, so that a difference of √2 is one deviation of the differences."""

    def draw(rng: Rng) -> float:
        return paired_contrast(noise(rng, seeds) + np.sqrt(2) * effect, noise(rng, seeds)).p

    return draw


def normal(rng: Rng, size: object) -> np.ndarray:
    return rng.standard_normal(size)  # type: ignore[arg-type]


def skewed(rng: Rng, size: object) -> np.ndarray:
    return rng.exponential(size=size) - 1  # type: ignore[arg-type]


def heavy(rng: Rng, size: object) -> np.ndarray:
    return rng.standard_t(4, size=size)  # type: ignore[arg-type]


def family(method: str, size: int, seeds: int) -> Callable[[Rng], float]:
    """Smallest adjusted p of a family of true nulls that share a reference cell."""

    def draw(rng: Rng) -> float:
        base = rng.standard_normal(seeds)
        rows = [paired_contrast(rng.standard_normal(seeds), base).row() for _ in range(size)]
        return float(adjust_family(result_table(rows), "F", method=method)["p_adjusted"].min())  # type: ignore[arg-type]

    return draw


def contrast_row(row: int, seeds: int, deviations: tuple[float, float, float]) -> Callable[[Rng], float]:
    """p of a row of the contrast table, for differences by seed and instance of mean 0."""

    def draw(rng: Rng) -> float:
        differences = sim.crossed(rng, seeds, 60, deviations)
        if row == 0:
            return sign_flip_p(differences.mean(axis=1))
        found = crossed_interval(differences)
        return float(2 * t_tail(abs(found.estimate) / found.standard_error, found.degrees_of_freedom))

    return draw


def t_tail(value: float, freedom: float) -> float:
    from scipy import stats

    return float(stats.t.sf(value, freedom))


def wilcoxon(rng: Rng) -> float:
    table = contrast_table(rng.standard_normal(8), rng.standard_normal(8), rng=rng)
    return float(table["p"].iloc[1])


def friedman_p(blocks: int, cells: int, levels: int, step: float = 0.0) -> Callable[[Rng], float]:
    """``levels`` whole numbers at random, with ties; normal values ``step`` apart from cell to cell for 0."""

    def draw(rng: Rng) -> float:
        noise = rng.integers(0, levels, (blocks, cells)) if levels else rng.standard_normal((blocks, cells))
        values = rng.standard_normal((blocks, 1)) + noise + step * np.arange(cells)
        return float(friedman(values, rng=rng, n_resamples=199)["p"].iloc[0])

    return draw


# Deviations of seeds, seeds within a level of the first factor, runs, instances, instances within a cell, and the rest.
Effects = tuple[float, float, float, float, float, float]
OWN: Effects = (0.0, 0.0, 0.1, 0.1, 0.0, 0.2)
SHARED: Effects = (0.2, 0.1, 0.1, 0.2, 0.0, 0.2)
MEETING: Effects = (0.2, 0.1, 0.1, 0.2, 0.15, 0.2)


def model(
    encoders: int, scores: int, seeds: int, effects: Effects, term: str, *, p: bool, difference: float = 0.0
) -> Callable[[Rng], float | tuple[float, float, float]]:
    """One coefficient of a design of encoders × scores, the second encoder ``difference`` above the others.

    ``term`` is "first", "any" (but the intercept, drawn anew each time) or "slope": then the second factor is numeric,
    and every seed has a slope of its own.
    """
    shape = (encoders, scores, seeds, 20)
    encoder, score, seed, instance = (axis.ravel() for axis in np.indices(shape))
    frame = pd.DataFrame({"seed": seed, "instance": instance, "run": np.arange(seed.size) // 20})
    frame["encoder"] = np.char.add("e", encoder.astype(str))
    frame["score"] = np.char.add("s", score.astype(str)) if term != "slope" else score.astype(float)

    def draw(rng: Rng) -> float | tuple[float, float, float]:
        parts = ((1, 1, seeds, 1), (encoders, 1, seeds, 1), (*shape[:3], 1), (1, 1, 1, 20), (*shape[:2], 1, 20), shape)
        values = sum(size * rng.standard_normal(part) for size, part in zip(effects, parts, strict=True))
        if term == "slope":
            values = values + 0.1 * rng.standard_normal((seeds, 1)) * np.arange(scores)[:, None, None]
        values = values + difference * (np.arange(encoders) == 1)[:, None, None, None]
        found = factorial_model(
            frame.assign(tau=np.ravel(values)),
            value="tau",
            factors=["encoder", "score"],
            run="run",
            seed="seed",
            instance="instance",
        )
        place = 1 if term == "first" else int(rng.integers(1, len(found)))
        row = found[found["quantity"] == "score"] if term == "slope" else found.iloc[[place]]
        return float(row["p"].iloc[0]) if p else ends(row)

    return draw


def equivalent(by_instance: bool) -> Callable[[Rng], float]:
    """A true difference exactly at the margin."""

    def draw(rng: Rng) -> float:
        values = 0.5 + (sim.crossed(rng, 8, 60, (0.3, 0.3, 1.0)) if by_instance else 0.3 * rng.standard_normal(8))
        return float(equivalence(values, 0.5)["p"].iloc[0])

    return draw


TEMPERATURES = [0.25, 0.5, 1.0, 2.0, 4.0]


def sweep(rng: Rng, seeds: int, instances: int = 0, step: float = 0.0) -> np.ndarray:
    """(S, 5) or (S, 5, N): a level of its own for each seed, and at each instance; (S, 5) rises by ``step``."""
    base = rng.standard_normal((seeds, 1))
    if not instances:
        return base + rng.standard_normal((seeds, 5)) + step * np.arange(5)
    at = 0.5 * rng.standard_normal((1, 5, instances))
    return base[:, :, None] + at + 0.5 * rng.standard_normal((seeds, 5, 1)) + rng.standard_normal((seeds, 5, instances))


def trend(name: str, seeds: int, step: float = 0.0) -> Callable[[Rng], float | tuple[float, float, float]]:
    def draw(rng: Rng) -> float | tuple[float, float, float]:
        if name == "page":
            return float(page_trend(sweep(rng, seeds, step=step), rising=True)["p"].iloc[0])
        if name == "page tau":
            return ends(page_trend(sweep(rng, seeds), rising=True))
        if name == "jonckheere":
            values = np.round(rng.standard_normal(5 * seeds) + step * np.repeat(np.arange(5), seeds), 1)
            found = jonckheere(np.repeat(TEMPERATURES, seeds), values, rising=False, rng=rng, n_resamples=199)
            return float(found["p"].iloc[0])
        if name == "slope p":
            return float(theil_sen_slope(TEMPERATURES, sweep(rng, seeds, step=step))["p"].iloc[0])
        if name == "slope":
            return ends(theil_sen_slope(TEMPERATURES, sweep(rng, seeds)))
        if name == "slope by instance p":
            return float(theil_sen_slope(TEMPERATURES, sweep(rng, seeds, 20))["p"].iloc[0])
        if name == "slope by instance":
            return ends(theil_sen_slope(TEMPERATURES, sweep(rng, seeds, 20)))
        row = {"quadratic": 0, "turning, flat": 3, "turning, flat at one end": 3, "quadratic by instance": 0}[name]
        values = sweep(rng, seeds, 20 if "instance" in name else 0)
        if name == "turning, flat at one end":
            # Steep at the low end and level at the high one: the hardest course that does not turn.
            at = np.log(TEMPERATURES) - np.log(TEMPERATURES[-1])
            values = values + 2 * at**2
        return float(curvature(TEMPERATURES, values)["p"].iloc[row])

    return draw


def crossed_case(
    seeds: int, deviations: tuple[float, float, float], *, bootstrap: bool = False
) -> Callable[[Rng], object]:
    def draw(rng: Rng) -> tuple[float, float, float]:
        values = sim.crossed(rng, seeds, 100, deviations)
        return ends(crossed_bootstrap(values, rng=rng, n_resamples=500) if bootstrap else crossed_interval(values))

    return draw


def profile_case(
    kind: str, seeds: int, error: float, shared: float, length: int = 20
) -> Callable[[Rng], tuple[float, float, float]]:
    """Agreement of profiles that are themselves estimated: position level, or instance level."""

    def draw(rng: Rng) -> tuple[float, float, float]:
        if kind == "one run":
            fixed = np.random.default_rng(7).standard_normal((2, length, 1))
            m = fixed[0] + error * np.sqrt(60) * rng.standard_normal((length, 60))
            a = 0.6 * fixed[0] + 0.8 * fixed[1] + rng.standard_normal((length, 60))
            return ends(position_interval(m[None], a[None], rng=rng, n_resamples=200))
        local, attention = sim.estimated_profiles(rng, seeds, length, 60, error, shared)
        if kind == "position":
            return ends(position_interval(local, np.swapaxes(attention, 1, 2), rng=rng, n_resamples=100))
        taus = [
            kendall_tau_b(rows, np.broadcast_to(run.mean(axis=1), rows.shape)).values
            for run, rows in zip(local, attention, strict=True)
        ]
        orders = [attention_order(rows) for rows in attention]

        def mean_tau(*profiles: np.ndarray) -> np.ndarray:
            return np.mean([order.mean_tau_b(m) for order, m in zip(orders, profiles, strict=True)], axis=0)

        spread = bootstrap_means(mean_tau, *(shrink_profile(run) for run in local), rng=rng, n_resamples=100)
        return ends(crossed_interval(np.stack(taus), profile_variance=spread.standard_error**2))

    return draw


def measure_case(
    measure: str, seeds: int, error: float, length: int = 20
) -> Callable[[Rng], tuple[float, float, float]]:
    """What stands beside tau-b at the position level, and tau-b by rank, joined as ``agreement`` joins them."""
    of = {"weighted": weighted_tau, "somers": somers_d}.get(measure)
    falling = -np.arange(5.0)

    def statistic(profiles: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if of is None:
            return kendall_tau_b(np.broadcast_to(falling, profiles.shape), profiles).values
        return of(weights, profiles).values

    def draw(rng: Rng) -> tuple[float, float, float]:
        local, attention = sim.estimated_profiles(rng, seeds, length if of else 5, 60, error, 0.5)
        if of is None:
            # A fall by rank, as profiles by rank have, under the differences between runs.
            local = local + (np.array([1.2, 0.6, 0.3, 0.1, 0.0]) * 1.5)[None, :, None]
        seed = int(rng.integers(2**31))
        found = [
            bootstrap_means(statistic, shrink_profile(m), shrink_profile(a.T), rng=seed, n_resamples=100)
            for m, a in zip(local, attention, strict=True)
        ]
        estimates, draws = [run.estimate for run in found], [run.resampled for run in found]
        return ends(joint_bootstrap_interval(estimates, draws, n_instances=60))

    return draw


def rank_case(error: float) -> Callable[[Rng], tuple[float, float, float]]:
    """Tau-b of five ranks in one run: the interval of ``agreement`` for a run of its own."""
    profile = np.array([1.0, 0.5, 0.3, 0.2, 0.15])[:, None]
    falling = -np.arange(5.0)

    def statistic(profiles: np.ndarray) -> np.ndarray:
        return kendall_tau_b(np.broadcast_to(falling, profiles.shape), profiles).values

    def draw(rng: Rng) -> tuple[float, float, float]:
        local = profile + error * np.sqrt(60) * rng.standard_normal((5, 60))
        found = bootstrap_means(statistic, shrink_profile(local), rng=rng, n_resamples=300)
        return ends(joint_bootstrap_interval([found.estimate], found.resampled[None], n_instances=60))

    return draw


def seeds_case(seeds: int, noise: Callable[..., np.ndarray], kind: str) -> Callable[[Rng], tuple[float, float, float]]:
    def draw(rng: Rng) -> tuple[float, float, float]:
        values = noise(rng, seeds)
        if kind == "t":
            return ends(seed_interval(values))
        if kind == "bca":
            low, high, _ = bca_interval(values, rng=rng, n_resamples=999)
            return float(values.mean()), low, high
        values = values + 0.8
        effect = float(values.mean() / values.std(ddof=1))
        return (effect, *effect_size_interval(effect, seeds))

    return draw


def pairs_case(kind: str, seeds: int, *, bootstrap: bool = False) -> Callable[[Rng], tuple[float, float, float]]:
    def draw(rng: Rng) -> tuple[float, float, float]:
        if kind == "both wide":
            pairs = pair_gaps(*sim.unrelated_skewed(rng, seeds, 6))
            resolved = [2.0, np.inf]
            return ends(concordance_by_gap(pairs, [0.5, 1.0], resolution_edges=resolved, n_resamples=0))
        pairs = pair_gaps(*sim.planted_wide_gaps(rng, seeds, 12))
        if kind == "tau":
            return ends(tau_above_gap(pairs, [0.15]).iloc[1:])
        edges = [0.0, 0.1] if kind == "narrow" else [0.15, 0.3]
        found = concordance_by_gap(pairs, edges, rng=rng, n_resamples=500)
        if not bootstrap:
            return ends(found)
        row = found.iloc[0]
        return float(row["estimate"]), float(row["bootstrap_low"]), float(row["bootstrap_high"])

    return draw


def entropy_case(seeds: int) -> Callable[[Rng], tuple[float, float, float]]:
    """Normalised entropy of softmax attention whose sharpness varies by run and by instance."""

    def draw(rng: Rng) -> tuple[float, float, float]:
        sharp = np.exp(sim.crossed(rng, seeds, 60, (0.3, 0.3, 0.2)))
        logits = sharp[:, :, None] * (rng.standard_normal((60, 10)) + rng.standard_normal((seeds, 60, 10)))
        weights = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
        values = concentration(weights.reshape(-1, 10))["normalized_entropy"].values.reshape(seeds, 60)
        return ends(crossed_interval(values))

    return draw


def cases() -> list[Case]:
    made: list[Case] = []

    def level(procedure: str, design: str, draw: object, **options: object) -> None:
        made.append(Case(procedure, design, draw, **{"kind": "level", **options}))  # type: ignore[arg-type]

    nulls = {"N1": sim.null_iid, "N2": sim.null_smooth, "N2 without wrapping": sim.null_edges, "N3": sim.null_shared}
    for name, simulator in nulls.items():
        for length in (20, 40, 64):
            design = f"{name}, T = {length}"
            # A shift joins the two ends, which no real sequence has side by side: up to .07 where it is short.
            kind = {"kind": "labelled", "bound": (0.05, 0.07)} if simulator is sim.null_edges and length < 64 else {}
            draw = shift(simulator, 8 if name == "N3" else 1, length)
            level("joint circular shifts", design, draw, short=length == 20, **kind)
            if length == 20:
                draw, short = shift(simulator, 4, 20, instances=60), name not in ("N1", "N2")
                level("joint circular shifts, 60 instances", design, draw, short=short, **kind)
        if name != "N1":
            level(
                "permuted blocks of 12",
                f"{name}, T = 64",
                shift(simulator, 4, 64, method="blocks"),
                cost=4,
                short=name == "N3",
            )
    level(
        "permuted positions (short correlations only)", "N1, T = 20", shift(sim.null_iid, 4, 20, method="permutation")
    )
    made.append(
        Case(
            "permuted positions (short correlations only)",
            "N2, T = 20",
            shift(sim.null_smooth, 1, 20, method="permutation"),
            "labelled",
            bound=(0.15, 0.30),
        )
    )
    level("shifts combined over data sets", "N1, 5 sets, T = 12", combined(sim.null_iid, 5, 2, 12), short=False)
    level("shifts combined over data sets", "N3, 3 sets, T = 20", combined(sim.null_shared, 3, 4, 20))
    draw = combined(sim.null_edges, 3, 2, 20)
    level("shifts combined over data sets", "N2 without wrapping, 3 sets, T = 20", draw, short=False)
    level("blocks combined over data sets", "N3, 2 sets, T = 64", combined(sim.null_shared, 2, 2, 64, "blocks"), cost=4)
    level("partner null", "ragged, 3 seeds", partner([3, 3, 4, 5, 5, 5, 6, 8, 8, 8], 3))
    level("partner null", "one length, 1 seed", partner([6] * 20, 1))
    for seeds in (6, 8, 10):
        level("sign flip of seed differences", f"normal, S = {seeds}", flip(seeds, normal))
    level("sign flip of seed differences", "exponential runs, S = 8", flip(8, skewed))
    level("Wilcoxon signed rank (check)", "normal, S = 8", wilcoxon, cost=4)
    level("sign flip, Holm, any of 6", "shared reference cell, S = 8", family("holm", 6, 8))
    level("sign flip, BH, any of 20", "shared reference cell, S = 12", family("fdr_bh", 20, 12), cost=2)
    level(
        "sign flip, BY, any of 20",
        "shared reference cell, S = 12",
        family("fdr_by", 20, 12),
        cost=2,
        conservative="it holds under the worst dependence",
    )
    level("sampled sign flip of seed differences", "normal, S = 26", flip(26, normal), cost=10)
    level("sign flip of seed means", "no instance effect, S = 8", contrast_row(0, 8, (0.3, 0.0, 1.0)))
    made.append(
        Case(
            "sign flip of seed means, read for new instances",
            "cells meet instances differently (.5), S = 8",
            contrast_row(0, 8, (0.1, 0.5, 0.5)),
            "labelled",
            bound=(0.20, 0.35),
        )
    )
    for seeds in (5, 8):
        level("crossed t of a contrast", f"instance effect .3, S = {seeds}", contrast_row(1, seeds, (0.1, 0.3, 1.0)))
        level("crossed t of a contrast", f"seed effect .3, S = {seeds}", contrast_row(1, seeds, (0.3, 0.3, 1.0)))
    level("Friedman by permutation", "4 blocks, 5 cells", friedman_p(4, 5, 1000))
    level("Friedman by permutation", "8 blocks, 4 cells, ties", friedman_p(8, 4, 3))
    level("equivalence at the margin", "crossed, S = 8", equivalent(True))
    level("equivalence at the margin", "seed means, S = 8", equivalent(False))
    designs_of_runs = {"own": OWN, "shared": SHARED, "shared, cells meet instances differently": MEETING}
    for encoders, scores in ((2, 3), (3, 5)):
        for seeds in (3, 5, 8):
            for name, effects in designs_of_runs.items():
                level(
                    "factorial model, a coefficient at random",
                    f"{encoders * scores} cells, {seeds} seeds, seed effects {name}",
                    model(encoders, scores, seeds, effects, "any", p=True),
                    cost=4 if scores == 3 else 8,
                    short=seeds == 5 and name == "shared" and scores == 3,
                )
    for seeds in (3, 8):
        draw = model(2, 3, seeds, SHARED, "slope", p=True)
        level("factorial model, a slope", f"6 cells, {seeds} seeds, each with its own", draw, cost=4, short=False)
    for name, label in (
        ("page", "Page's trend"),
        ("jonckheere", "Jonckheere-Terpstra, ties"),
        ("slope p", "Theil-Sen slope, sign flip"),
        ("slope by instance p", "Theil-Sen slope by instance, crossed t"),
        ("quadratic", "quadratic term, sign flip"),
        ("quadratic by instance", "quadratic term by instance, crossed t"),
        ("turning, flat", "non-monotone"),
        ("turning, flat at one end", "non-monotone"),
    ):
        ends_differ = "the larger of the p of two ends, 1 where they agree" if label == "non-monotone" else ""
        design = name.partition(", ")[2] + " S = 8" if label == "non-monotone" else "S = 8"
        # The harder of the two courses that do not turn is enough for the short run.
        level(label, design, trend(name, 8), conservative=ends_differ, short=name != "turning, flat")

    def cover(procedure: str, design: str, draw: object, **options: object) -> None:
        made.append(Case(procedure, design, draw, "coverage", **options))  # type: ignore[arg-type]

    few = "the larger of two variances is taken where there is next to no effect"
    designs = {
        "no seed effect": (0.0, 1.0, 1.0),
        "balanced": (0.3, 0.3, 1.0),
        "dominant seed effect": (1.0, 0.2, 0.2),
        "no instance effect": (0.1, 0.0, 1.0),
    }
    for name, deviations in designs.items():
        for seeds in (3, 5, 8, 12):
            why = few if name in ("no seed effect", "no instance effect") or seeds == 3 else ""
            cover(
                "seeds crossed with instances",
                f"{name}, S = {seeds}",
                crossed_case(seeds, deviations),
                conservative=why,
                short=seeds in (5, 8),
            )
    made.append(
        Case(
            "crossed bootstrap, percentile (beside)",
            "balanced, S = 8",
            crossed_case(8, designs["balanced"], bootstrap=True),  # type: ignore[arg-type]
            "labelled",
            bound=(0.87, 0.93),
        )
    )
    made.append(
        Case(
            "crossed bootstrap, percentile (beside)",
            "dominant seed effect, S = 8",
            crossed_case(8, designs["dominant seed effect"], bootstrap=True),  # type: ignore[arg-type]
            "labelled",
            bound=(0.86, 0.91),
            short=False,
        )
    )
    counted = few
    certain = "five ranks whose order is nearly certain take few values, and the bootstrap sees more of them"
    for seeds in (3, 5, 8):
        for error, shared in ((0.3, 0.0), (0.3, 0.9), (0.6, 0.9), (1.0, 0.9), (1.0, 0.0)):
            design = f"profile error {error:g}, {shared:.0%} shared, S = {seeds}"
            options = {"truth": None, "conservative": counted if seeds < 5 or shared == 0 else "", "cost": 4}
            options["short"] = seeds == 5 and error == 0.6
            cover("position level over seeds", design, profile_case("position", seeds, error, shared), **options)
            if seeds > 3:
                draw = profile_case("instance", seeds, error, shared)
                cover("instance level over seeds, error of the profile included", design, draw, **options)
    for error in (0.3, 1.0):
        draw = profile_case("one run", 1, error, 0.5)
        cover("position level of one run", f"profile error {error:g}", draw, truth=None, cost=4)
    for seeds in (5, 8):
        for measure, label in (("weighted", "weighted tau"), ("somers", "Somers' d"), ("rank", "tau-b by rank")):
            for error in (0.3, 1.0):
                options = {"truth": None, "conservative": few, "cost": 4}
                options["short"] = (measure, seeds, error) == ("somers", 5, 1.0)
                draw = measure_case(measure, seeds, error)
                cover(f"{label} over seeds", f"profile error {error:g}, S = {seeds}", draw, **options)
    for error in (0.05, 0.3, 1.0):
        draw = rank_case(error)
        cover("tau-b by rank of one run", f"profile error {error:g}", draw, truth=None, conservative=certain, cost=4)
    for seeds in (5, 8):
        cover("t over seeds", f"normal, S = {seeds}", seeds_case(seeds, normal, "t"))
        cover(
            "d_z, noncentral t",
            f"normal, d_z .8, S = {seeds}",
            seeds_case(seeds, normal, "d"),
            truth=0.8,
            short=seeds == 5,
        )
        cover("normalised entropy, crossed", f"S = {seeds}", entropy_case(seeds), truth=None, short=seeds == 8)
    for noise, label in ((normal, "normal"), (heavy, "t with 4 df"), (skewed, "exponential")):
        for seeds in (8, 12):
            draw, bound = seeds_case(seeds, noise, "bca"), (0.90, 0.95)
            made.append(
                Case("BCa widened for few seeds (beside)", f"{label}, S = {seeds}", draw, "labelled", bound=bound)
            )
    cover("Theil-Sen slope, t over seeds", "S = 8", trend("slope", 8))
    cover("Theil-Sen slope by instance, crossed", "S = 8", trend("slope by instance", 8))
    cover("mean tau of value and temperature", "S = 8", trend("page tau", 8))
    for seeds in (3, 5, 8):
        for name, effects in (("own", OWN), ("shared", SHARED)):
            cover(
                "factorial model, interval of a coefficient at random",
                f"6 cells, {seeds} seeds, seed effects {name}",
                model(2, 3, seeds, effects, "any", p=False),
                cost=4,
                short=False,
            )
    for kind, label in (
        ("narrow", "P(concordant), narrow gaps"),
        ("wide", "P(concordant), wider gaps"),
        ("tau", "tau-b above a gap"),
    ):
        for seeds in (5, 8):
            cover(label, f"P2, S = {seeds}", pairs_case(kind, seeds), truth=None, short=seeds == 5)
    for runs in (60, 300):
        draw = pairs_case("both wide", runs)
        cover("P(concordant), both gaps wide", f"unrelated, S = {runs}", draw, truth=0.5, short=runs == 300)
    made.append(
        Case(
            "P(concordant), percentile bootstrap over seeds (beside)",
            "P2, S = 8",
            pairs_case("wide", 8, bootstrap=True),
            "labelled",
            truth=None,
            bound=(0.85, 0.93),
        )
    )
    made.append(Case("joint circular shifts", "P1, strength .8, T = 40, S = 4", power_of(0.8), "power", bound=0.7))
    for procedure, design, draw, bound in (
        ("partner null", "correlation .2 beyond position, 40 instances, 3 seeds", partner([6] * 40, 3, 0.2), 0.8),
        ("sign flip of seed differences", "d_z 1.2, S = 8", flip(8, normal, 1.2), 0.75),
        ("sampled sign flip of seed differences", "d_z .6, S = 26", flip(26, normal, 0.6), 0.75),
        ("Friedman by permutation", ".7 deviations a cell, 6 blocks, 5 cells", friedman_p(6, 5, 0, 0.7), 0.85),
        ("Page's trend", ".4 deviations a step, S = 8", trend("page", 8, 0.4), 0.8),
        ("Jonckheere-Terpstra, ties", ".4 deviations a step, S = 8", trend("jonckheere", 8, -0.4), 0.8),
        ("Theil-Sen slope, sign flip", ".6 deviations a step, S = 8", trend("slope p", 8, 0.6), 0.75),
    ):
        made.append(Case(procedure, design, draw, "power", bound=bound, cost=10 if "sampled" in procedure else 1))
    draw = model(2, 3, 8, SHARED, "first", p=True, difference=0.25)
    made.append(
        Case("factorial model, a main effect", "difference .25, 6 cells, 8 seeds", draw, "power", bound=0.75, cost=4)
    )
    return made


def power_of(strength: float) -> Callable[[Rng], float]:
    def draw(rng: Rng) -> float:
        return shift_null(*sim.planted(rng, 4, 40, strength)).p

    return draw


def markdown(found: list[tuple[Case, int, float]]) -> str:
    """The table: one case a line, grouped by what is asked of it."""
    titles = {
        "level": "p values: rejects at a nominal .05 when the null is true",
        "coverage": "Intervals: covers at a nominal .95",
        "labelled": "Shown beside better ones, and labelled: rejects or covers",
        "power": "Power",
    }
    lines: list[str] = []
    for kind, title in titles.items():
        lines += ["", f"## {title}", "", "| procedure | truth | rate | replicates | allowed |", "|---|---|---|---|---|"]
        for case, runs, rate in found:
            if case.kind == kind:
                low, high = case.limits(runs)
                allowed = f"{max(low, 0):.3f} to {high:.3f}" if high < 1 else f"at least {low:.3f}"
                lines.append(f"| {case.procedure} | {case.design} | {rate:.3f} | {runs} | {allowed} |")
    return "\n".join(lines) + "\n"


def recorded(page: Path) -> dict[tuple[str, str], tuple[int, float]]:
    """(procedure, truth) → (replicates, rate) of the page's table."""
    found = {}
    for line in page.read_text().partition(MARKER)[2].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[3].isdigit():
            found[cells[0], cells[1]] = (int(cells[3]), float(cells[2]))
    return found


def main(runs: int, workers: int, only: str = "") -> None:
    """Run the cases whose "procedure; design" contains ``only`` and put their rates into CALIBRATION.md."""
    page, made = Path(__file__).with_name("CALIBRATION.md"), cases()
    found = recorded(page)
    chosen = [(case, max(1, runs // case.cost)) for case in made if only in f"{case.procedure}; {case.design}"]
    if not only:
        chosen = [(case, n) for case, n in chosen if found.get((case.procedure, case.design), (0, 0.0))[0] < n]
    rates = Parallel(n_jobs=workers, return_as="generator")(delayed(case.rate)(count) for case, count in chosen)
    for (case, count), rate in zip(chosen, rates, strict=True):
        found[case.procedure, case.design] = (count, rate)
        low, high = case.limits(count)
        if not low <= rate <= high:
            sys.stderr.write(f"outside [{low:.3f}, {high:.3f}]: {case.procedure}, {case.design}: {rate:.3f}\n")
        rows = [(case, *found[case.procedure, case.design]) for case in made if (case.procedure, case.design) in found]
        page.write_text(page.read_text().partition(MARKER)[0] + MARKER + "\n" + markdown(rows))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
