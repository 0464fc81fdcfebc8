"""Results as English sentences whose numbers come from a table, never from a keyboard."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined, Template, UndefinedError

from mi_attention.report.numbers import (
    format_count,
    format_interval,
    format_number,
    format_p,
    format_setting,
    format_share,
)
from mi_attention.report.verdicts import VERDICTS, checked_verdict, known

__all__ = ["TEMPLATES", "VERDICTS", "counted", "erased_name", "sentence"]

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

ERASED = {
    "informativeness": "the order of pointwise informativeness",
    "mutual information": "the order of mutual information by position",
    "mutual information by rank": "the order of mutual information by attention rank",
    "attended head evidence": "the order of the attended evidence of the linear head",
    "random": "a random order",
}
LESS_ATTENTION = " minus attention"

_SAMPLE = "{{ over(n_seeds, n_instances, n_data, data, claim) }}"
_EXTRAS = (
    "{% set extras = [] %}"
    "{% if level | known and ci_low | known %}{% set _ = extras.append((level | percent) ~ ' interval') %}{% endif %}"
    "{% if null_mean | known %}{% set _ = extras.append(null_name ~ ' ' ~ (null_mean | number)) %}{% endif %}"
    "{% if p | known %}{% set _ = extras.append(('one-sided p ' if null_mean | known else 'p ') ~ (p | p_value)"
    " ~ (' by ' ~ test if test | known else '')) %}{% endif %}"
    "{% if p_adjusted | known %}{% set _ = extras.append('adjusted p ' ~ (p_adjusted | p_value)"
    " ~ (' in family ' ~ family if family | known else '')) %}{% endif %}"
    "{% if reliability | known %}"
    "{% set _ = extras.append('split-half reliability ' ~ (reliability | number)) %}{% endif %}"
    "{% if ceiling | known %}{% set _ = extras.append('ceiling ' ~ (ceiling | number)) %}{% endif %}"
    "{% if extras %} ({{ extras | join(', ') }}){% endif %}"
)
_CONTROLS = (
    "{% if controls %}; beside it{% for name, value in controls.items() %}"
    "{{ ',' if not loop.first }} {{ name }} {{ value | number }}{% endfor %}{% endif %}"
)
_UNDEFINED_SHARE = (
    "{% if undefined_share | known and undefined_share > 0 %}; "
    "it was undefined for {{ undefined_share | percent }} of the {{ counted }}, which are left out{% endif %}"
)
_VALUE = (
    "{% if estimate | known %} was {{ interval }}"
    "{% if effect_unit | known and effect_unit not in UNITLESS %} {{ effect_unit }}{% endif %}"
    + _EXTRAS
    + _CONTROLS
    + _UNDEFINED_SHARE
    + "."
    "{% else %} is undefined{% if reason | known %}: {{ reason }}{% endif %}.{% endif %}"
)

_SUBJECT = (
    "{% if first | known and second | known %}the difference in {{ measure | measure_name }} between {{ first }} and "
    "{{ second }}{% elif order | known %}{{ measure | measure_name }} between attention and "
    "{{ order | order_name(estimand) }}{% elif measure is defined %}the {{ measure | measure_name }}"
    "{% else %}the {{ quantity }}{% endif %}"
)
_JUDGED = {
    "supported": "is supported",
    "contradicted": "is contradicted by the data",
    "undecided": "is left undecided by the data",
}

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
    "erasure": _SAMPLE
    + "erasing positions in {{ order | erased_name }} "
    + "{% if output | known and output != 'prediction' %}(output: {{ output }}) {% endif %}"
    + "{% if estimate | known %}changed the prediction {{ sooner }} than erasing in attention's own: "
    "the difference of the areas under the two curves was {{ interval }}"
    + _UNDEFINED_SHARE
    + ".{% else %}cannot be compared with erasing in attention's own{% if reason | known %}: {{ reason }}{% endif %}."
    "{% endif %}",
    "contrast": _SAMPLE
    + "the difference in {{ measure | measure_name }} between {{ first }} and {{ second }}"
    + _VALUE,
    "claim": "“{{ claim }}” {{ judged }}: " + _SAMPLE + _SUBJECT + _VALUE,
    "result": _SAMPLE + "the {{ quantity }}" + _VALUE,
    "information": _SAMPLE + "the mutual information of {{ unit }} with the {{ output }}"
    "{% if estimate | known %} was {{ interval }} nats"
    "{% if ceiling | known %} of at most {{ ceiling | number }}{% endif %}."
    "{% else %} is undefined{% if reason | known %}: {{ reason }}{% endif %}.{% endif %}",
}
"""Kind of result → template. ``estimate``, ``ci_low`` and ``ci_high`` are shown as one interval, columns whose names
begin with ``control_`` as the controls beside it."""

UNITLESS = ("tau", "share", "probability")
CONTROL = "control_"
# In the running text of a claim these columns may be absent where the other subject is meant.
_OPTIONAL = ("claim", "first", "second", "order", "estimand")


def sentence(
    result: pd.DataFrame | pd.Series[Any] | Mapping[str, Any], kind: str = "agreement", digits: int = 2
) -> str:
    """One result as a sentence.

    For example "Over 4 seeds and 2,693 instances, tau-b between attention and pointwise informativeness was
    0.31 [0.28, 0.34] (partner null 0.02, one-sided p = .001)." Parts whose column is absent or missing are left out;
    an undefined estimate reads "is undefined" with its reason.

    Args:
        result: A frame of one row, a row, or a mapping. Needed are ``estimate``, ``n_seeds`` and the names
            in the template; optional ``ci_low``, ``ci_high``, ``n_instances``, ``data``, ``null``, ``null_mean``,
            ``p``, ``p_adjusted``, ``family``, ``reliability``, ``ceiling``, ``undefined_share``, ``reason``, the other
            columns of a statistical result (``n_data``, ``level``, ``test``, ``effect_unit``, ``degenerate_share``),
            and ``control_...``, values of the same measure under a control (``control_gold_label``).
        kind: A key of ``TEMPLATES``. ``"result"`` needs ``quantity``. ``"claim"`` needs ``claim`` (what was
            claimed, words without full stop) and ``verdict`` (one of ``VERDICTS``), and takes ``direction``
            (``"greater"``, ``"less"``, ``"different"``, ``"equivalent"``), ``reference`` (0 by default) and
            ``margin``, against which the verdict is checked. ``"erasure"`` is of a row of areas whose order is
            ``"... minus attention"``: sooner or later is said where the interval does not hold 0.
        digits: Decimals of estimates.

    Returns:
        The sentence, with its full stop.

    Raises:
        ValueError: if the frame has not one row, a needed column is absent, ``kind`` is unknown, or the verdict of a
            claim does not follow from its interval.
    """
    if kind not in TEMPLATES:
        raise ValueError(f"kind must be one of {sorted(TEMPLATES)}, got {kind!r}")
    values = _values(result)
    if "estimate" not in values:
        raise ValueError(f"result needs a column estimate, it has {sorted(values)}")
    if known(values["estimate"]):
        bounds = (values.get(bound) for bound in ("ci_low", "ci_high"))
        low, high = (float(bound) if bound is not None and known(bound) else float("nan") for bound in bounds)
        values["interval"] = format_interval(values["estimate"], low, high, digits)
        values["sooner"] = "sooner" if low > 0 else "later" if high < 0 else "neither clearly sooner nor clearly later"
    values["counted"] = "instances"
    if not known(values.get("undefined_share")):
        values |= {"undefined_share": values.get("degenerate_share"), "counted": "values"}
    null = str(values["null"]) if known(values.get("null")) else "another instance"
    values["null_name"] = "partner null" if "another instance" in null else "mean under the null"
    names = [name for name in values if name.startswith(CONTROL) and known(values[name])]
    values["controls"] = {name.removeprefix(CONTROL).replace("_", " "): values[name] for name in names}
    if kind == "claim":
        values |= {name: None for name in _OPTIONAL if name not in values}
        values["judged"] = _JUDGED[checked_verdict(values)]
    else:
        values["claim"] = None
    try:
        text = _template(kind, digits).render(values)
    except UndefinedError as error:
        raise ValueError(f"the {kind} sentence needs a column more: {error}; result has {sorted(values)}") from error
    return text[0].upper() + text[1:]


def _values(result: pd.DataFrame | pd.Series[Any] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(result, pd.DataFrame):
        if len(result) != 1:
            raise ValueError(f"result must have one row, got {len(result)}; select one result first")
        result = result.iloc[0]
    return {str(name): value for name, value in result.items()}


def erased_name(order: Any) -> str:
    """``"the order of pointwise informativeness"`` for the order ``"informativeness minus attention"``."""
    name = str(order).removesuffix(LESS_ATTENTION)
    return ERASED.get(name, f"the order of {name.replace('_', ' ')}")


def _over(n_seeds: Any, n_instances: Any, n_data: Any, data: Any, claim: Any) -> str:
    # A missing count is left out, but a frame without the column is an error, which this raises.
    str(n_seeds)
    return counted(n_seeds, n_instances, n_data, data, claim)


def counted(n_seeds: Any, n_instances: Any, n_data: Any, data: Any, claim: Any = None) -> str:
    """``"Over 8 seeds and 2,693 instances of sst2, "``, without the counts that are missing; small after a claim."""
    counts = ((n_seeds, "seed"), (n_instances, "instance"), (n_data, "data set"))
    parts = [_plural(count, noun) for count, noun in counts if known(count)]
    over, on = ("over", "on") if known(claim) else ("Over", "On")
    if not parts:
        return f"{on} {data}, " if known(data) else ""
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{over} {listed}{f' of {data}' if known(data) else ''}, "


def _plural(count: Any, noun: str) -> str:
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


@lru_cache(maxsize=32)
def _template(kind: str, digits: int) -> Template:
    # Plain text for papers and terminals: whoever puts a sentence into HTML escapes it there.
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    environment.filters.update(
        known=known,
        number=lambda value: format_number(value, digits),
        percent=format_share,
        p_value=lambda value: format_p(value, equals=True),
        setting=format_setting,
        plain=lambda name: str(name).replace("_", " "),
        measure_name=lambda name: MEASURES.get(name, str(name).replace("_", " ")),
        erased_name=erased_name,
        order_name=lambda order, estimand: ORDERS.get((estimand, order), str(order).replace("_", " ")),
    )
    environment.globals.update(over=_over, UNITLESS=UNITLESS)
    return environment.from_string(TEMPLATES[kind])
