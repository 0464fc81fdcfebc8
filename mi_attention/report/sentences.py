"""Results as English sentences whose numbers come from a table, never from a keyboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined, UndefinedError

from mi_attention.report.numbers import (
    format_count,
    format_interval,
    format_number,
    format_p,
    format_setting,
    format_share,
)

__all__ = ["TEMPLATES", "sentence"]

MEASURES = {
    "kendall_tau_b": "tau-b",
    "weighted_tau": "weighted tau",
    "somers_d": "Somers' d",
    "normalized_skew": "normalised skew",
    "normalized_entropy": "normalised entropy",
    "gini": "Gini coefficient",
    "effective_support": "effective support",
    "max_weight": "largest weight",
    "zero_share": "share of exact zeros",
}
ORDERS = {
    ("pointwise", "informativeness"): "pointwise informativeness",
    ("pointwise", "support"): "pointwise support",
    ("position", "mutual information"): "mutual information by position",
    ("instance", "mutual information"): "the mutual-information order of positions inside instances",
    ("rank", "mutual information"): "mutual information by attention rank",
}

_SAMPLE = (
    "Over {{ n_seeds | plural('seed') }}"
    "{% if n_instances | known %} and {{ n_instances | plural('instance') }}{% endif %}"
    "{% if data | known %} of {{ data }}{% endif %}, "
)
_EXTRAS = (
    "{% set extras = [] %}"
    "{% if null_mean | known %}{% set _ = extras.append('partner null ' ~ (null_mean | number)) %}{% endif %}"
    "{% if p | known %}{% set _ = extras.append('p ' ~ (p | p_value)) %}{% endif %}"
    "{% if p_adjusted | known %}{% set _ = extras.append('adjusted p ' ~ (p_adjusted | p_value)"
    " ~ (' in family ' ~ family if family | known else '')) %}{% endif %}"
    "{% if reliability | known %}"
    "{% set _ = extras.append('split-half reliability ' ~ (reliability | number)) %}{% endif %}"
    "{% if ceiling | known %}{% set _ = extras.append('ceiling ' ~ (ceiling | number)) %}{% endif %}"
    "{% if extras %} ({{ extras | join(', ') }}){% endif %}"
)
_UNDEFINED_SHARE = (
    "{% if undefined_share | known and undefined_share > 0 %}; "
    "it was undefined for {{ undefined_share | percent }} of the instances, which are left out{% endif %}"
)
_VALUE = (
    "{% if estimate | known %} was {{ interval }}" + _EXTRAS + _UNDEFINED_SHARE + "."
    "{% else %} is undefined{% if reason | known %}: {{ reason }}{% endif %}.{% endif %}"
)

TEMPLATES = {
    "agreement": _SAMPLE
    + "{{ measure | measure_name }} between attention and {{ order | order_name(estimand) }}"
    + "{% if output | known and output != 'prediction' %} (output: {{ output }}){% endif %}"
    + "{% if state | known and state != 'hidden' %} (state: {{ state }}){% endif %}"
    + _VALUE,
    "concentration": _SAMPLE
    + "the {{ measure | measure_name }} of {{ normalizer | plain }} attention"
    + "{% if temperature | known %} at temperature {{ temperature | setting }}{% endif %}"
    + _VALUE,
    "contrast": _SAMPLE
    + "the difference in {{ measure | measure_name }} between {{ first }} and {{ second }}"
    + _VALUE,
    "information": _SAMPLE + "the mutual information of {{ unit }} with the {{ output }}"
    "{% if estimate | known %} was {{ interval }} nats"
    "{% if ceiling | known %} of at most {{ ceiling | number }}{% endif %}."
    "{% else %} is undefined{% if reason | known %}: {{ reason }}{% endif %}.{% endif %}",
}
"""Kind of result → template. ``estimate``, ``ci_low`` and ``ci_high`` are shown as one interval."""


def sentence(
    result: pd.DataFrame | pd.Series[Any] | Mapping[str, Any], kind: str = "agreement", digits: int = 2
) -> str:
    """One result as a sentence.

    For example "Over 4 seeds and 2,693 instances, tau-b between attention and pointwise informativeness was
    0.31 [0.28, 0.34] (partner null 0.02, p = .001)." Parts whose column is absent or missing are left out;
    an undefined estimate reads "is undefined" with its reason.

    Args:
        result: A frame of one row, a row, or a mapping. Needed are ``estimate``, ``n_seeds`` and the names
            in the template; optional ``ci_low``, ``ci_high``, ``n_instances``, ``data``, ``null_mean``, ``p``,
            ``p_adjusted``, ``family``, ``reliability``, ``ceiling``, ``undefined_share``, ``reason``.
        kind: A key of ``TEMPLATES``.
        digits: Decimals of estimates.

    Returns:
        The sentence, with its full stop.

    Raises:
        ValueError: if the frame has not one row, a needed column is absent, or ``kind`` is unknown.
    """
    if kind not in TEMPLATES:
        raise ValueError(f"kind must be one of {sorted(TEMPLATES)}, got {kind!r}")
    values = _values(result)
    if "estimate" not in values:
        raise ValueError(f"result needs a column estimate, it has {sorted(values)}")
    if _known(values["estimate"]):
        bounds = (values.get(bound) for bound in ("ci_low", "ci_high"))
        low, high = (float(bound) if bound is not None and _known(bound) else float("nan") for bound in bounds)
        values["interval"] = format_interval(values["estimate"], low, high, digits)
    try:
        return _environment(digits).from_string(TEMPLATES[kind]).render(values)
    except UndefinedError as error:
        raise ValueError(f"the {kind} sentence needs a column more: {error}; result has {sorted(values)}") from error


def _values(result: pd.DataFrame | pd.Series[Any] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(result, pd.DataFrame):
        if len(result) != 1:
            raise ValueError(f"result must have one row, got {len(result)}; select one result first")
        result = result.iloc[0]
    return {str(name): value for name, value in result.items()}


def _known(value: Any) -> bool:
    if isinstance(value, StrictUndefined) or value is None or value is pd.NA:
        return False
    if isinstance(value, str):
        return value != ""
    return not bool(pd.isna(value))


def _environment(digits: int) -> Environment:
    # Plain text for papers and terminals: whoever puts a sentence into HTML escapes it there.
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    environment.filters.update(
        known=_known,
        number=lambda value: format_number(value, digits),
        percent=format_share,
        p_value=lambda value: format_p(value, equals=True),
        plural=lambda count, noun: f"{format_count(count)} {noun}{'' if count == 1 else 's'}",
        setting=format_setting,
        plain=lambda name: str(name).replace("_", " "),
        measure_name=lambda name: MEASURES.get(name, str(name).replace("_", " ")),
        order_name=lambda order, estimand: ORDERS.get((estimand, order), str(order).replace("_", " ")),
    )
    return environment
