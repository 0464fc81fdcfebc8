"""The agreement table's rows: one measured agreement a row, with everything needed to judge it beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from mi_attention.interface import FloatArray, Measured
from mi_attention.statistics import crossed_interval

__all__ = ["AGREEMENT_COLUMNS", "INSTANCE_COLUMNS", "RESAMPLE_COLUMNS", "Rows", "difference", "undefined_measure"]

AGREEMENT_COLUMNS = (
    "estimand",
    "measure",
    "order",
    "output",
    "state",
    "estimate",
    "ci_low",
    "ci_high",
    "interval",
    "n_instances",
    "n_units",
    "tied_units",
    "undefined",
    "undefined_share",
    "reason",
    "null",
    "null_mean",
    "p",
    "smallest_p",
    "reliability",
    "ceiling",
    "unit",
    "signature",
)

RESAMPLE_COLUMNS = ("estimand", "measure", "order", "output", "state", "draw", "value")
INSTANCE_COLUMNS = ("estimand", "measure", "order", "output", "state", "instance", "value", "reason")


Key: TypeAlias = tuple[str, str, str, str, str]


@dataclass(eq=False)
class Rows:
    """Collects rows of the agreement table and, for those that are means over instances, their values."""

    signature: str
    level: float
    agreement: list[dict[str, Any]] = field(default_factory=list)
    instances: list[tuple[Key, Measured]] = field(default_factory=list)
    profile_errors: list[pd.DataFrame] = field(default_factory=list)
    resamples: list[tuple[Key, FloatArray]] = field(default_factory=list)

    def add(self, estimand: str, measure: str, order: str, output: str, state: str, **values: Any) -> None:
        """A row whose numbers are given."""
        row: dict[str, Any] = {
            "estimand": estimand,
            "measure": measure,
            "order": order,
            "output": output,
            "state": state,
            "interval": "",
            "reason": "",
            "null": "",
            "unit": "tau",
            "signature": self.signature,
        }
        self.agreement.append(row | values)

    def add_measured(
        self,
        estimand: str,
        measure: str,
        order: str,
        output: str,
        state: str,
        found: Measured,
        *,
        profile_error: FloatArray | None = None,
        **values: Any,
    ) -> None:
        """A row that is the mean over instances of a measure, with the interval over the instances of this run.

        ``profile_error`` are bootstrap draws of that mean with the shared profile estimated anew: its variance
        joins the interval, and the draws are kept for the interval over several runs.
        """
        n = len(found.values)
        variance = 0.0
        # A profile shared by all instances has an error that the values of the instances do not show.
        estimated = estimand == "instance" and order != "true information"
        missing_error = " (MI error not included)" if estimated and profile_error is None else ""
        if profile_error is not None:
            variance = float(profile_error.var(ddof=1))
            draws = pd.DataFrame({"draw": np.arange(len(profile_error)), "value": profile_error})
            self.profile_errors.append(draws.assign(output=output, state=state))
        interval = crossed_interval(found.values[None, :], level=self.level, profile_variance=variance)
        counts = found.undefined_counts()
        reasons = [f"{reason}: {count}" for reason, count in sorted(counts.items(), key=lambda item: -item[1])]
        if interval.reason and interval.n_instances:
            reasons.append(interval.reason)
        undefined = n - int(found.defined.sum())
        self.add(
            estimand,
            measure,
            order,
            output,
            state,
            estimate=found.mean(),
            ci_low=interval.ci_low,
            ci_high=interval.ci_high,
            interval=interval.scope + missing_error,
            n_instances=n - undefined,
            undefined=undefined,
            undefined_share=undefined / n,
            reason="; ".join(reasons),
            **values,
        )
        self.instances.append(((estimand, measure, order, output, state), found))

    def add_resamples(
        self, estimand: str, order: str, output: str, state: str, values: FloatArray, *, measure: str = "kendall_tau_b"
    ) -> None:
        """Bootstrap draws of a number of a whole run; runs on the same instances share their resamples draw by draw."""
        self.resamples.append(((estimand, measure, order, output, state), values))

    def agreement_frame(self) -> pd.DataFrame:
        """All rows, with the columns of ``AGREEMENT_COLUMNS``."""
        frame = pd.DataFrame(self.agreement, columns=list(AGREEMENT_COLUMNS))
        text = ("estimand", "measure", "order", "output", "state", "interval", "reason", "null", "unit", "signature")
        numbers = [name for name in AGREEMENT_COLUMNS if name not in text]
        return frame.astype(dict.fromkeys(numbers, np.float64))

    def profile_error_frame(self) -> pd.DataFrame:
        """Bootstrap draws of the mean instance-level tau, for the error that all instances share."""
        if not self.profile_errors:
            return pd.DataFrame(columns=["output", "state", "draw", "value"])
        return pd.concat(self.profile_errors, ignore_index=True)[["output", "state", "draw", "value"]]

    def resample_frame(self) -> pd.DataFrame:
        """Bootstrap draws of the taus of the run, one row a draw."""
        columns = _keys([(key, len(values)) for key, values in self.resamples])
        columns["draw"] = _stack([np.arange(len(values)) for _, values in self.resamples]).astype(np.int64)
        columns["value"] = _stack([values for _, values in self.resamples])
        return pd.DataFrame(columns, columns=list(RESAMPLE_COLUMNS))

    def instance_frame(self) -> pd.DataFrame:
        """The values behind the means, one row an instance and measure."""
        columns = _keys([(key, len(found.values)) for key, found in self.instances])
        columns["instance"] = _stack([np.arange(len(found.values)) for _, found in self.instances]).astype(np.int64)
        columns["value"] = _stack([found.values for _, found in self.instances])
        columns["reason"] = [reason for _, found in self.instances for reason in found.reasons]
        return pd.DataFrame(columns, columns=list(INSTANCE_COLUMNS))


def _keys(parts: list[tuple[Key, int]]) -> dict[str, Any]:
    """The five columns of a key, each repeated as often as its values; built at once, since frames a key are slow."""
    counts = [count for _, count in parts]
    return {
        name: np.repeat(np.array([key[place] for key, _ in parts], dtype=object), counts)
        for place, name in enumerate(INSTANCE_COLUMNS[:5])
    }


def _stack(parts: list[Any]) -> FloatArray:
    return np.concatenate(parts) if parts else np.empty(0)


def difference(first: Measured, second: Measured) -> Measured:
    """Paired differences over instances; undefined where either is."""
    reasons = tuple(a or b for a, b in zip(first.reasons, second.reasons, strict=True))
    values: FloatArray = np.where(first.defined & second.defined, first.values - second.values, np.nan)
    return Measured(values, reasons)


def undefined_measure(n: int, reason: str) -> Measured:
    """A measure that no instance has, with the reason."""
    return Measured(np.full(n, np.nan), (reason,) * n)
