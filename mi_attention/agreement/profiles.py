"""The information profile: MI of every unit of an alignment with every output asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from mi_attention.agreement.units import Alignment
from mi_attention.interface import AttentionRecord, FloatArray, MIEstimate, MIEstimator, Unit

__all__ = ["PROFILE_COLUMNS", "Profile", "estimate_profiles", "tied_units"]

PROFILE_COLUMNS = (
    "alignment",
    "unit",
    "unit_index",
    "output",
    "state",
    "nats",
    "lower_bound",
    "standard_error",
    "ceiling",
    "n",
    "attention",
    "place",
    "place_held_out",
    "tied_units",
    "status",
    "reason",
    "signature",
)

# States copied at once for a batch of units: enough for a batched solve, little beside the states themselves.
_BATCH_BYTES = 16 * 2**20


@dataclass(frozen=True, eq=False)
class Profile:
    """Estimated information of every unit of one alignment with one output.

    Attributes:
        alignment: The units.
        output: Name of the output, a row label of the tables.
        state: ``"hidden"`` or ``"embedding"``.
        estimates: One a unit.
        attention: ``(M,)`` the weights this profile is compared with (permuted ones for the baseline).
    """

    alignment: Alignment
    output: str
    state: str
    estimates: tuple[MIEstimate, ...]
    attention: FloatArray

    @property
    def nats(self) -> FloatArray:
        """``(U,)`` best values, NaN where undefined."""
        return np.array([estimate.nats for estimate in self.estimates])

    @property
    def signed(self) -> FloatArray:
        """``(U,)`` held-out signed values where the estimator has them, else the best values."""
        return np.array([e.nats if e.lower_bound is None else e.lower_bound for e in self.estimates])

    def mean_attention(self, record: AttentionRecord) -> FloatArray:
        """``(U,)`` mean over instances of the attention on each unit."""
        with np.errstate(invalid="ignore"):
            by_instance = self.alignment.attention_by_instance(record, self.attention)
            present = ~np.isnan(by_instance)
            sums = np.where(present, by_instance, 0.0).sum(axis=1)
            return np.asarray(np.where(present.any(axis=1), sums / present.sum(axis=1), np.nan))

    def local(self, record: AttentionRecord) -> FloatArray:
        """``(U, N)`` mean pointwise information of each instance on each unit, NaN where it has no row there."""
        return self.alignment.local_by_instance(record, [estimate.local for estimate in self.estimates])

    def local_around_nats(self, record: AttentionRecord) -> FloatArray:
        """``local`` moved unit by unit so that its means are ``nats``: for a bootstrap around the best values."""
        local = self.local(record)
        count = (~np.isnan(local)).sum(axis=1)
        mean = np.where(np.isnan(local), 0.0, local).sum(axis=1) / np.maximum(count, 1)
        return np.asarray(local + (self.nats - mean)[:, None])

    def frame(self, record: AttentionRecord) -> pd.DataFrame:
        """One row a unit, with the columns of ``PROFILE_COLUMNS``.

        ``place`` is by ``nats``, 1 for the most informative unit, ``place_held_out`` by ``lower_bound``; exact ties,
        such as those of units whose information was gated to 0, share their mean place, and ``tied_units`` counts the
        others of the same ``nats``.
        """
        attention = self.mean_attention(record)
        places, held_out = _places(self.nats), _places(self.signed)
        ties = [float((self.nats == value).sum() - 1) if value == value else np.nan for value in self.nats]
        rows = [
            {
                "alignment": self.alignment.kind,
                "unit": name,
                "unit_index": u,
                "output": self.output,
                "state": self.state,
                "nats": estimate.nats,
                "lower_bound": np.nan if estimate.lower_bound is None else estimate.lower_bound,
                "standard_error": estimate.standard_error,
                "ceiling": np.nan if estimate.ceiling is None else estimate.ceiling,
                "n": estimate.n,
                "attention": attention[u],
                "place": places[u],
                "place_held_out": held_out[u],
                "tied_units": ties[u],
                "status": estimate.status,
                "reason": estimate.reason,
                "signature": estimate.signature,
            }
            for u, (name, estimate) in enumerate(zip(self.alignment.names, self.estimates, strict=True))
        ]
        return pd.DataFrame(rows, columns=list(PROFILE_COLUMNS))


def estimate_profiles(
    record: AttentionRecord,
    alignment: Alignment,
    outputs: Mapping[str, NDArray[Any]],
    estimator: MIEstimator,
    *,
    attention: FloatArray | None = None,
    state: str = "hidden",
    minimum: int = 50,
) -> list[Profile]:
    """Estimate the information of every unit with every output.

    Args:
        record: The record.
        alignment: The units.
        outputs: Name → ``(N,)`` output.
        estimator: Any ``MIEstimator``.
        attention: ``(M,)`` the weights the profile belongs to, the record's own by default.
        state: ``"hidden"`` or ``"embedding"``.
        minimum: A unit with fewer instances is undefined, not guessed at.

    Returns:
        One ``Profile`` an output, in the order given.
    """
    found: dict[str, list[MIEstimate]] = {name: [] for name in outputs}
    batch: list[tuple[str, Unit]] = []
    size = 0

    def estimate_batch() -> None:
        usable = [(name, unit) for name, unit in batch if _instances(unit) >= minimum]
        made = iter(estimator.estimate_many([unit for _, unit in usable]) if usable else ())
        for name, unit in batch:
            if _instances(unit) >= minimum:
                found[name].append(next(made))
            else:
                reason = f"fewer than {minimum} instances"
                found[name].append(MIEstimate.undefined(reason, n=len(unit.y), signature=estimator.signature))

    names = list(outputs)
    for u in range(len(alignment) if names else 0):
        unit = alignment.unit(record, u, outputs[names[0]], state=state)
        owner = alignment.owners(record, u)
        batch += [(name, Unit(unit.x, outputs[name][owner], unit.groups, unit.name)) for name in names]
        size += unit.x.nbytes
        if size > _BATCH_BYTES:
            estimate_batch()
            batch.clear()
            size = 0
    estimate_batch()
    weights = record.attention if attention is None else attention
    return [Profile(alignment, name, state, tuple(found[name]), weights) for name in names]


def tied_units(values: FloatArray) -> int:
    """How many units share their value with another one; undefined ones are not counted."""
    _, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return int(counts[counts > 1].sum())


def _places(values: FloatArray) -> FloatArray:
    """Place of each unit from the top, 1 first, mean places for ties; NaN for undefined ones."""
    known = ~np.isnan(values)
    places = np.full(len(values), np.nan)
    places[known] = rankdata(-values[known])
    return places


def _instances(unit: Unit) -> int:
    return len(unit.y) if unit.groups is None else len(np.unique(unit.groups))
