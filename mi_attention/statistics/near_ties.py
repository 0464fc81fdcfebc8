"""Is disagreement a matter of near ties: concordance of pairs of positions by how far apart both orders put them.

Over pairs of positions (p, q) of a run: y = both orders agree on the pair, x = |a_p − a_q| / max a, and z =
|m_p − m_q| over its standard error. A pair close in attention is often close in information too, so concordance
by x alone mixes the two: read it among the pairs that information resolves (large z).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mi_attention.interface import BoolArray, FloatArray, IntArray
from mi_attention.statistics.clustered_ratio import ClusteredRatio, clustered_ratio
from mi_attention.statistics.table import Facts, result_table

__all__ = [
    "CONCORDANCE",
    "GAP_COLUMNS",
    "RESOLVED",
    "SOMERS",
    "TAU",
    "GapKind",
    "PairGaps",
    "concordance_by_gap",
    "difference_error",
    "pair_gaps",
    "tau_above_gap",
]

GapKind: TypeAlias = Literal["relative", "log ratio"]

GAP_COLUMNS = {
    "gap_low": "float64",
    "gap_high": "float64",
    "resolution_low": "float64",
    "resolution_high": "float64",
    "n_pairs": "Int64",
    "resolved_share": "float64",
    "bootstrap_low": "float64",
    "bootstrap_high": "float64",
}
# Standard errors by which information must separate a pair to call it resolved.
RESOLVED = 2.0

CONCORDANCE = "P(concordant)"
SOMERS = "Somers' d of information given attention, pairs above the gap"
TAU = "tau-b, pairs above the gap"

_INTERVAL = "t, pairs clustered by run"
# Numbers held at once by the bootstrap.
_MOST_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class PairGaps:
    """Pairs of positions of each run, all arrays ``(S, P)``, P = T(T − 1)/2 in the order of ``np.triu_indices``.

    Attributes:
        agreement: 1 where attention and information order the pair alike, −1 where they do not, 0 where either
            does not order it.
        gap: Gap of attention, NaN where undefined (log ratio with a zero weight).
        resolution: Gap of information over its standard error; NaN where no error was given.
        separated: Pairs that information orders.
        kind: ``"relative"`` or ``"log ratio"``.
    """

    agreement: FloatArray
    gap: FloatArray
    resolution: FloatArray
    separated: BoolArray
    kind: GapKind

    @property
    def runs(self) -> int:
        """S."""
        return len(self.gap)


def difference_error(local: ArrayLike) -> FloatArray:
    """Standard errors of m_p − m_q from pointwise values, pairs in the order of ``np.triu_indices``.

    Args:
        local: ``(T, N)`` pointwise values, NaN where an instance has no such unit.

    Returns:
        ``(T(T − 1)/2,)``: sd(local_p − local_q) / √n over the n instances that have both, NaN for n < 2. Both
        values of an instance are taken together: their errors are correlated.

    Raises:
        ValueError: for a wrong shape or infinite values.
    """
    table = np.asarray(local, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(f"local has shape {table.shape}; give (T, N) with at least two units")
    if np.isinf(table).any():
        raise ValueError("local holds an infinity; mark missing values by NaN")
    errors: list[FloatArray] = []
    for p in range(len(table) - 1):
        differences = table[p + 1 :] - table[p]
        n = (~np.isnan(differences)).sum(axis=1)
        known = np.where(np.isnan(differences), 0.0, differences)
        mean = known.sum(axis=1) / np.maximum(n, 1)
        squares = np.where(np.isnan(differences), 0.0, (known - mean[:, None]) ** 2).sum(axis=1)
        errors.append(np.where(n > 1, np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1)), np.nan))
    return np.concatenate(errors)


def pair_gaps(
    information: ArrayLike, attention: ArrayLike, error: ArrayLike | None = None, *, kind: GapKind = "relative"
) -> PairGaps:
    """Pairs of positions with their two gaps.

    Args:
        information: ``(S, T)`` signed information, one profile a run; never clipped.
        attention: ``(S, T)`` mean attention of the same runs, not negative.
        error: ``(S, T(T − 1)/2)`` standard errors of ``difference_error``, one row a run.
        kind: ``"relative"``: |a_p − a_q| / max a, in [0, 1]; ``"log ratio"``: |log a_p − log a_q|, undefined where
            a weight is 0 and another is not.

    Returns:
        The pairs.

    Raises:
        ValueError: for shapes that disagree, NaN or infinite values, negative attention or errors, a run
            without attention, or an unknown ``kind``.
    """
    if kind not in ("relative", "log ratio"):
        raise ValueError(f"kind is {kind!r}; it must be 'relative' or 'log ratio'")
    m, a = (np.atleast_2d(np.asarray(column, dtype=np.float64)) for column in (information, attention))
    if m.shape != a.shape or m.ndim != 2 or m.shape[1] < 2:
        raise ValueError(
            f"information {m.shape} and attention {a.shape} must both be (S, T) with at least two positions"
        )
    if not (np.isfinite(m).all() and np.isfinite(a).all()) or (a < 0).any() or (a.max(axis=1) <= 0).any():
        raise ValueError("information and attention must be finite, attention ≥ 0 and somewhere > 0 in each run")
    p, q = np.triu_indices(m.shape[1], 1)
    sigma = np.full((len(m), p.size), np.nan)
    if error is not None:
        sigma = np.atleast_2d(np.asarray(error, dtype=np.float64))
        if sigma.shape != (len(m), p.size) or (sigma < 0).any():
            raise ValueError(f"error has shape {sigma.shape}; give (S, T(T − 1)/2) = {(len(m), p.size)}, not negative")
    difference = m[:, p] - m[:, q]
    if kind == "relative":
        gap = np.abs(a[:, p] - a[:, q]) / a.max(axis=1, keepdims=True)
    else:
        logs = np.log(np.where(a > 0, a, np.nan))
        gap = np.where((a[:, p] == 0) & (a[:, q] == 0), 0.0, np.abs(logs[:, p] - logs[:, q]))
    resolution = np.divide(np.abs(difference), sigma, out=np.full_like(gap, np.nan), where=sigma > 0)
    return PairGaps(
        agreement=np.sign(difference) * np.sign(a[:, p] - a[:, q]),
        gap=gap,
        resolution=resolution,
        separated=difference != 0,
        kind=kind,
    )


def concordance_by_gap(
    pairs: PairGaps,
    edges: Sequence[float],
    *,
    resolution_edges: Sequence[float] = (0.0, np.inf),
    level: float = 0.95,
    rng: np.random.Generator | int = 0,
    n_resamples: int = 10_000,
    **facts: Unpack[Facts],
) -> pd.DataFrame:
    """P(concordant | gap of attention, resolution of information): share of the pairs of all runs, each pair alike.

    Pairs that either order ties are neither concordant nor discordant and are left out (``degenerate_share``).

    Args:
        pairs: From ``pair_gaps``.
        edges: Rising edges of the bins of the gap; a bin is (low, high].
        resolution_edges: Rising edges of the bins of the resolution, (low, high] but for the first, which has its
            low end; one bin of everything by default. Anything else needs ``error`` in ``pair_gaps``.
        level: Coverage of the intervals.
        rng: Generator or seed of the bootstrap over runs.
        n_resamples: Resamples; 0 for no bootstrap.
        **facts: Further entries.

    Returns:
        One row a bin of the gap and of the resolution, ``GAP_COLUMNS`` behind the fixed ones: ``n_pairs`` in all
        runs, ``resolved_share`` of them by more than two standard errors, ``n_seeds`` runs that have pairs in the
        bin. The interval is that of ``clustered_ratio``; ``bootstrap_low`` and ``bootstrap_high``, the percentile
        bootstrap over runs, stand beside it and are too narrow for few runs (.87 at eight).

    Raises:
        ValueError: for edges that do not rise, or bins of resolution without errors.
    """
    low_high, z_low_high = _bins(edges, "edges"), _bins(resolution_edges, "resolution_edges")
    everything = len(z_low_high) == 1 and z_low_high[0] == (0.0, np.inf)
    if not everything and np.isnan(pairs.resolution).all():
        raise ValueError("resolution_edges need the errors of information; give error to pair_gaps")
    generator = np.random.default_rng(rng)
    rows = []
    for low, high in low_high:
        for z_low, z_high in z_low_high:
            inside = (pairs.gap > low) & (pairs.gap <= high)
            if not everything:
                at_low = (z_low == z_low_high[0][0]) & (pairs.resolution == z_low)
                inside &= ((pairs.resolution > z_low) | at_low) & (pairs.resolution <= z_high)
            ordered = inside & (pairs.agreement != 0)
            score, count = (ordered & (pairs.agreement > 0)).sum(axis=1), ordered.sum(axis=1)
            bounds = _run_bootstrap(score, count, level, generator, n_resamples)
            rows.append(
                {
                    **_row(clustered_ratio(score, count, level=level, within=(0.0, 1.0)), level),
                    "quantity": CONCORDANCE,
                    "effect_unit": "probability",
                    "degenerate_share": _share(inside & ~ordered, inside),
                    "gap_low": low,
                    "gap_high": high,
                    "resolution_low": z_low,
                    "resolution_high": z_high,
                    "n_pairs": int(ordered.sum()),
                    "resolved_share": _resolved(pairs, ordered),
                    "bootstrap_low": bounds[0],
                    "bootstrap_high": bounds[1],
                }
            )
    return result_table(rows, facts, extra=GAP_COLUMNS)


def tau_above_gap(
    pairs: PairGaps, grid: Sequence[float], *, level: float = 0.95, **facts: Unpack[Facts]
) -> pd.DataFrame:
    """Agreement over the pairs that attention separates by more than eps, for each eps of a declared grid.

    Args:
        pairs: From ``pair_gaps``.
        grid: Rising eps ≥ 0, fixed before looking; 0 keeps every pair that attention separates.
        level: Coverage of the intervals of ``clustered_ratio``.
        **facts: Further entries.

    Returns:
        Two rows an eps, ``GAP_COLUMNS`` behind the fixed ones, of the pairs of all runs, each pair alike; a run whose
        information orders no pair at all is left out. ``Somers' d`` of information given attention: (concordant −
        discordant) / pairs, ties of information counting as neither. ``tau-b``: the same over the root of pairs times
        pairs that information separates too. At eps 0 the first is, for one run, ``somers_d(attention,
        information)``. ``degenerate_share`` is the share of these pairs that information ties, ``resolved_share``
        of those it resolves by more than two standard errors: agreement can rise with eps only because MI resolves
        those pairs, so read the two together.

    Raises:
        ValueError: for a grid that does not rise or is negative.
    """
    eps = np.asarray(grid, dtype=np.float64)
    if eps.ndim != 1 or eps.size == 0 or not np.isfinite(eps).all() or (eps < 0).any() or (np.diff(eps) <= 0).any():
        raise ValueError(f"grid is {list(grid)}; give rising values ≥ 0")
    ordered = pairs.separated.any(axis=1, keepdims=True)
    rows = []
    for least in eps:
        inside = pairs.gap > least
        used = inside & ordered
        score, count = np.where(used, pairs.agreement, 0).sum(axis=1), used.sum(axis=1)
        separated = (used & pairs.separated).sum(axis=1)
        for quantity, other in ((SOMERS, count), (TAU, separated)):
            found = clustered_ratio(score, count, other, level=level, within=(-1.0, 1.0))
            if inside.any() and not separated.any():
                found = _UNORDERED
            rows.append(
                {
                    **_row(found, level),
                    "quantity": quantity,
                    "effect_unit": "tau",
                    "degenerate_share": _share(inside & ~pairs.separated, inside),
                    "gap_low": float(least),
                    "gap_high": float("inf"),
                    "resolution_low": 0.0,
                    "resolution_high": float("inf"),
                    "n_pairs": int(count.sum()),
                    "resolved_share": _resolved(pairs, used),
                }
            )
    return result_table(rows, facts, extra=GAP_COLUMNS)


def _bins(edges: Sequence[float], name: str) -> list[tuple[float, float]]:
    at = [float(edge) for edge in edges]
    if len(at) < 2 or any(not low < high for low, high in pairwise(at)):
        raise ValueError(f"{name} is {at}; give at least two rising values")
    return list(pairwise(at))


def _share(part: BoolArray, whole: BoolArray) -> float:
    return float(part.sum() / whole.sum()) if whole.any() else float("nan")


def _resolved(pairs: PairGaps, inside: BoolArray) -> float:
    known = inside & ~np.isnan(pairs.resolution)
    return _share(known & (pairs.resolution > RESOLVED), known)


_NAN = float("nan")
_UNORDERED = ClusteredRatio(_NAN, _NAN, _NAN, _NAN, 0, "no pair that information orders")


def _row(found: ClusteredRatio, level: float) -> dict[str, Any]:
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "level": level,
        "interval": _INTERVAL,
        "n_seeds": found.clusters,
        "reason": found.reason.replace("nothing to count", "no such pair"),
    }


def _run_bootstrap(
    score: IntArray, count: IntArray, level: float, generator: np.random.Generator, n_resamples: int
) -> tuple[float, float]:
    """Percentile interval of the ratio of sums over resampled runs."""
    score, count = score[count > 0], count[count > 0]
    n = len(count)
    if n < 2 or n_resamples < 1:
        return float("nan"), float("nan")
    size = max(1, _MOST_NUMBERS // n)
    ratios = []
    for start in range(0, n_resamples, size):
        drawn = generator.multinomial(n, np.full(n, 1 / n), size=min(size, n_resamples - start))
        ratios.append((drawn @ score) / (drawn @ count))
    low, high = np.quantile(np.concatenate(ratios), [0.5 - level / 2, 0.5 + level / 2])
    return (float(low), float(high)) if low < high else (float("nan"), float("nan"))
