"""The agreement table's rows: one measured agreement a row, with everything needed to judge it beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.interface import FloatArray, Measured
from mi_attention.statistics import crossed_interval

__all__ = ["AGREEMENT_COLUMNS", "INSTANCE_COLUMNS", "Rows", "difference", "undefined_measure"]

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

INSTANCE_COLUMNS = ("estimand", "measure", "order", "output", "state", "instance", "value", "reason")


@dataclass(eq=False)
class Rows:
    """Collects rows of the agreement table and, for those that are means over instances, their values."""

    signature: str
    level: float
    agreement: list[dict[str, Any]] = field(default_factory=list)
    instances: list[pd.DataFrame] = field(default_factory=list)
    profile_errors: list[pd.DataFrame] = field(default_factory=list)

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
        missing_error = " (MI error not included)" if estimand == "instance" and profile_error is None else ""
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
        frame = pd.DataFrame({"instance": np.arange(n), "value": found.values, "reason": list(found.reasons)})
        for name, value in (
            ("estimand", estimand),
            ("measure", measure),
            ("order", order),
            ("output", output),
            ("state", state),
        ):
            frame[name] = value
        self.instances.append(frame[list(INSTANCE_COLUMNS)])

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

    def instance_frame(self) -> pd.DataFrame:
        """The values behind the means, one row an instance and measure."""
        if not self.instances:
            return pd.DataFrame(columns=list(INSTANCE_COLUMNS))
        return pd.concat(self.instances, ignore_index=True)


def difference(first: Measured, second: Measured) -> Measured:
    """Paired differences over instances; undefined where either is."""
    reasons = tuple(a or b for a, b in zip(first.reasons, second.reasons, strict=True))
    values: FloatArray = np.where(first.defined & second.defined, first.values - second.values, np.nan)
    return Measured(values, reasons)


def undefined_measure(n: int, reason: str) -> Measured:
    """A measure that no instance has, with the reason."""
    return Measured(np.full(n, np.nan), (reason,) * n)
