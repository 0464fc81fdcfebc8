"""Is there any agreement between an MI profile and attention? Nulls that move the profile jointly.

One MI profile is shared by all instances of a run and, in part, by all seeds of a data set, so that the
taus of instances and of seeds are not independent: testing them against 0 rejects most true nulls. Here
the profile of every run is moved by one and the same transform of the positions, and the mean tau-b over
instances and runs is compared with its values under those transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray, IntArray
from mi_attention.statistics.attention_order import AttentionOrder, attention_order
from mi_attention.statistics.permutation import Alternative, permutation_p
from mi_attention.statistics.table import Tabular

__all__ = ["ShiftMethod", "ShiftNull", "lag_one_autocorrelation", "shift_null"]

ShiftMethod = Literal["shift", "blocks", "permutation"]

# Entries of index arrays times positions held at once.
_BLOCK_PAIRS = 2**20


@dataclass(frozen=True)
class ShiftNull(Tabular):
    """Agreement between MI profiles and attention, against profiles moved jointly.

    Attributes:
        statistic: Mean over runs of the mean over instances of tau-b.
        p: (1 + transforms at least as extreme) / (1 + transforms); NaN where ``reason`` is not empty.
        null_mean: Mean of the statistic over transforms.
        null_low: Its 2.5 % quantile.
        null_high: Its 97.5 % quantile.
        n_transforms: Transforms compared with (all T − 1 of them for ``"shift"``).
        smallest_p: The smallest p this null can give.
        method: ``"shift"``, ``"blocks"`` or ``"permutation"``.
        block: Length of a block, 0 for the other methods.
        alternative: ``"greater"`` or ``"two-sided"`` (absolute values).
        n_positions: T.
        n_runs: Runs with a defined statistic.
        n_runs_undefined: Runs left out: constant MI profile, or no instance with an order.
        n_instances: Instances of all kept runs.
        n_instances_undefined: Instances of all runs left out because their attention is constant.
        lag_one_information: Lag-one autocorrelation of the MI profiles, mean over kept runs.
        lag_one_attention: The same of the mean attention. Where both are clearly above 0, plain
            permutation rejects too often (21 % instead of 5 for smooth profiles).
        reason: Empty, or why there is no test.
    """

    statistic: float
    p: float
    null_mean: float
    null_low: float
    null_high: float
    n_transforms: int
    smallest_p: float
    method: ShiftMethod
    block: int
    alternative: Alternative
    n_positions: int
    n_runs: int
    n_runs_undefined: int
    n_instances: int
    n_instances_undefined: int
    lag_one_information: float
    lag_one_attention: float
    reason: str

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``: the agreement and its test, no interval."""
        return {
            "quantity": "mean tau-b of profile and attention",
            "estimate": self.statistic,
            "n_seeds": self.n_runs,
            "n_instances": self.n_instances // max(self.n_runs, 1),
            "n_data": 1,
            "test": null_name(self.method, self.block, self.alternative),
            "p": self.p,
            "smallest_p": self.smallest_p,
            "effect_unit": "tau",
            "degenerate_share": self.n_instances_undefined / max(self.n_instances + self.n_instances_undefined, 1),
            "reason": self.reason,
        }


def lag_one_autocorrelation(profile: ArrayLike) -> float:
    """Lag-one autocorrelation Σ (x_t − x̄)(x_{t+1} − x̄) / Σ (x_t − x̄)² of a profile ``(T,)``.

    Args:
        profile: ``(T,)`` finite.

    Returns:
        A number in (−1, 1), NaN for a constant profile. For independent values about −1/T.
    """
    centred = np.asarray(profile, dtype=np.float64)
    centred = centred - centred.mean()
    power = float(centred @ centred)
    return float(centred[:-1] @ centred[1:]) / power if power > 0 else float("nan")


def shift_null(
    information: ArrayLike,
    attention: ArrayLike | Sequence[AttentionOrder],
    *,
    method: ShiftMethod = "shift",
    alternative: Alternative = "greater",
    n_resamples: int = 9999,
    block: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> ShiftNull:
    """Test an MI profile a run against attention, moving all runs' profiles by one joint transform.

    ``"shift"`` takes all T − 1 circular shifts: for smooth profiles, and the default; its smallest p is 1/T, so
    below 20 positions one data set cannot reach .05. A shift puts the two ends of a profile side by side: where
    neighbours are alike but the ends are not, as in any real sequence, it rejects .063 to .065 at 20
    positions, .059 at 40 and .051 at 64. (Shifts of the profile continued by its mirror image, which has no such break,
    reject .03 there, but .065 once three data sets are combined, and are not offered.)
    ``"blocks"`` rotates by a random shift, cuts into blocks and shuffles them, for long profiles; a block must be a
    few times as long as the profile's correlation reaches (for profiles smoothed over about 8 positions it rejects
    11 to 12 % at a nominal 5 % with blocks of 4 or 5, 5 to 7 with blocks of 8 or more). ``"permutation"`` shuffles
    positions: only where both lag-one autocorrelations are small. All runs must be of one data set, with the same
    positions.

    Args:
        information: ``(S, T)`` signed MI, one profile a run (``(T,)`` for one run). Never clipped at 0.
        attention: ``(S, T)`` one attention profile a run, or ``S`` orders from ``attention_order``.
        method: Which transforms.
        alternative: ``"greater"`` asks for agreement; ``"two-sided"`` also for its opposite.
        n_resamples: Transforms drawn by ``"blocks"`` and ``"permutation"``.
        block: Length of blocks; by default T/5, at least 8. At least four blocks must fit.
        rng: Generator or seed, needed by ``"blocks"`` and ``"permutation"``.

    Returns:
        The test; without p, and with the reason, where no run has a defined statistic.

    Raises:
        ValueError: for shapes that disagree, fewer than two positions, NaN or infinite values, an unknown
            method, a missing ``rng``, or blocks that do not fit.
    """
    profiles, orders = checked_runs(information, attention)
    runs, length = profiles.shape
    transforms, used_block = make_transforms(length, method, n_resamples, block, rng)
    kept, statistic, null = joint_null(profiles, orders, transforms)
    nan = float("nan")
    count = null.size if kept else (length - 1 if method == "shift" else n_resamples)
    return ShiftNull(
        statistic=statistic,
        p=permutation_p(statistic, null, alternative) if kept else nan,
        null_mean=float(null.mean()) if kept else nan,
        null_low=float(np.quantile(null, 0.025)) if kept else nan,
        null_high=float(np.quantile(null, 0.975)) if kept else nan,
        n_transforms=count,
        smallest_p=1 / (1 + count),
        method=method,
        block=used_block,
        alternative=alternative,
        n_positions=length,
        n_runs=len(kept),
        n_runs_undefined=runs - len(kept),
        n_instances=sum(orders[s].n_instances for s in kept),
        n_instances_undefined=sum(order.n_undefined for order in orders),
        lag_one_information=float(np.mean([lag_one_autocorrelation(profiles[s]) for s in kept])) if kept else nan,
        lag_one_attention=_mean_defined([lag_one_autocorrelation(orders[s].profile) for s in kept]),
        reason="" if kept else "no run with both an MI order and an attention order",
    )


def joint_null(
    profiles: FloatArray, orders: Sequence[AttentionOrder], transforms: Iterator[IntArray]
) -> tuple[list[int], float, FloatArray]:
    """Runs with a statistic, its mean over them, and that mean under each joint transform ``(B,)``."""
    kept = [s for s in range(len(profiles)) if orders[s].n_instances and np.ptp(profiles[s]) > 0]
    if not kept:
        return kept, float("nan"), np.empty(0)
    statistic = float(np.mean([orders[s].mean_tau_b(profiles[s])[0] for s in kept]))
    null = [np.mean([orders[s].mean_tau_b(profiles[s][index]) for s in kept], axis=0) for index in transforms]
    return kept, statistic, np.concatenate(null)


def checked_runs(
    information: ArrayLike, attention: ArrayLike | Sequence[AttentionOrder]
) -> tuple[FloatArray, list[AttentionOrder]]:
    """Profiles ``(S, T)`` and the attention order of each, or an error that names what disagrees."""
    profiles = np.atleast_2d(np.asarray(information, dtype=np.float64))
    if not np.isfinite(profiles).all():
        raise ValueError("information holds NaN or infinite values; leave undefined positions out of both inputs")
    orders = _orders(attention)
    runs, length = profiles.shape
    if len(orders) != runs or any(order.profile.size != length for order in orders):
        shapes = sorted({order.profile.size for order in orders})
        raise ValueError(f"information is {profiles.shape} but attention has {len(orders)} runs of T in {shapes}")
    return profiles, orders


def null_name(method: ShiftMethod, block: int, alternative: Alternative) -> str:
    """How p was made, in words."""
    moved = {
        "shift": "circular shifts of the profile",
        "blocks": f"permuted blocks of {block} positions",
        "permutation": "permuted positions",
    }
    return f"{moved[method]}, one for all runs, {alternative}"


def _orders(attention: ArrayLike | Sequence[AttentionOrder]) -> list[AttentionOrder]:
    if isinstance(attention, Sequence) and attention and isinstance(attention[0], AttentionOrder):
        return [order for order in attention if isinstance(order, AttentionOrder)]
    return [attention_order(profile) for profile in np.atleast_2d(np.asarray(attention, dtype=np.float64))]


def _mean_defined(values: list[float]) -> float:
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def make_transforms(
    length: int, method: ShiftMethod, n_resamples: int, block: int | None, rng: np.random.Generator | int | None
) -> tuple[Iterator[IntArray], int]:
    """Index arrays ``(b, T)`` in bounded blocks, and the block length used."""
    if method == "shift":
        if length < 2:
            raise ValueError(f"information has {length} position; a shift needs at least two")
        return _blocks_of_rows(length - 1, length, lambda start, stop: _shifts(length, start, stop)), 0
    if method not in ("blocks", "permutation"):
        raise ValueError(f"method is {method!r}; it must be 'shift', 'blocks' or 'permutation'")
    if rng is None:
        raise ValueError(f"method {method!r} draws transforms; give rng, a generator or a seed")
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}; it must be at least 1")
    generator = np.random.default_rng(rng)
    if method == "permutation":
        return _blocks_of_rows(
            n_resamples,
            length,
            lambda start, stop: generator.permuted(np.tile(np.arange(length), (stop - start, 1)), axis=1),
        ), 0
    size = max(8, length // 5) if block is None else int(block)
    if size < 1 or length < 4 * size:
        raise ValueError(f"block is {size} with {length} positions; at least four blocks must fit; use 'shift'")
    return _blocks_of_rows(
        n_resamples,
        length,
        lambda start, stop: np.stack([_shuffled_blocks(length, size, generator) for _ in range(start, stop)]),
    ), size


def _blocks_of_rows(count: int, length: int, make: Callable[[int, int], IntArray]) -> Iterator[IntArray]:
    step = max(1, _BLOCK_PAIRS // (length * length))
    for start in range(0, count, step):
        yield make(start, min(start + step, count))


def _shifts(length: int, start: int, stop: int) -> IntArray:
    return np.asarray((np.arange(length) + np.arange(start + 1, stop + 1)[:, None]) % length)


def _shuffled_blocks(length: int, size: int, generator: np.random.Generator) -> IntArray:
    rotated = (np.arange(length) + generator.integers(length)) % length
    pieces = np.split(rotated, np.arange(size, length, size))
    return np.concatenate([pieces[i] for i in generator.permutation(len(pieces))])
