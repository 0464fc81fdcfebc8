"""Controls that need another model: untrained, trained under uniform attention, trained on shuffled labels.

Each is given as a record of that model on the same instances; what is not given is a row that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from mi_attention.agreement.controls import Decoder, median_split
from mi_attention.agreement.outputs import Output, make_target, merge_rare_classes
from mi_attention.agreement.pointwise import Pointwise, add_informativeness
from mi_attention.agreement.position import add_position
from mi_attention.agreement.profiles import Profile, estimate_profiles
from mi_attention.agreement.rows import Rows
from mi_attention.agreement.units import align_positions
from mi_attention.agreement.versions import Version
from mi_attention.estimators import Probe
from mi_attention.interface import AttentionRecord, MIEstimator

__all__ = ["ControlModel", "add_absent_controls", "add_model_controls", "check_control_models"]

ControlModel: TypeAlias = Literal["untrained", "uniform", "shuffled"]

# What a control model's rows are called by their output, and what makes it.
OUTPUTS: dict[ControlModel, str] = {
    "untrained": "prediction of an untrained model",
    "uniform": "prediction of a model trained under uniform attention",
    "shuffled": "label, model trained on shuffled labels",
}
REMEDIES: dict[ControlModel, str] = {
    "untrained": "a record of the untrained model on the same instances",
    "uniform": "a record, on the same instances, of a model trained with its attention frozen at uniform",
    "shuffled": "a record, on the same instances, of a model trained on shuffled labels",
}


@dataclass(frozen=True, eq=False)
class _Control:
    record: AttentionRecord
    version: Version


def check_control_models(record: AttentionRecord, models: Mapping[ControlModel, AttentionRecord]) -> None:
    """Refuse models that are unknown or not of the same instances.

    Raises:
        ValueError: naming the model and the remedy.
    """
    for name, other in models.items():
        if name not in OUTPUTS:
            raise ValueError(f"models has {name!r}; use {', '.join(OUTPUTS)}")
        if not isinstance(other, AttentionRecord):
            raise TypeError(f"models[{name!r}] is a {type(other).__name__}; give {REMEDIES[name]}")
        if not np.array_equal(other.offsets, record.offsets):
            raise ValueError(f"models[{name!r}] has other instances than the record; give {REMEDIES[name]}")
        if name == "shuffled" and record.label is None:
            raise ValueError('models["shuffled"] needs the gold labels in the record; make it with label=')


def add_model_controls(
    rows: Rows,
    record: AttentionRecord,
    models: Mapping[ControlModel, AttentionRecord],
    output: Output,
    *,
    estimator: MIEstimator,
    probe: Probe,
    pointwise: bool,
    positions: bool,
    bins: int | None,
    minimum: int,
    seed: int,
) -> None:
    """Add the agreement of each control model, pointwise, by position and inside instances.

    The untrained model's own attention against the information of its states about its own logit, split at the
    median, since it may always say one class; the *trained* model's attention against the information of the states
    of the model trained under uniform attention about its prediction; and the attention of the model trained on
    shuffled labels against the information of its states about the gold label.

    Args:
        rows: Where to.
        record: The record of the trained model.
        models: Control model → its record.
        output: The output asked for; the control about a prediction takes it, or the predicted class for ``"label"``.
        estimator: For profiles.
        probe: For pointwise information.
        pointwise: Add pointwise rows.
        positions: Add rows by position.
        bins: Bins of relative position.
        minimum: Fewest instances of a unit.
        seed: Seed of halves and bootstraps.
    """
    for name, model in models.items():
        found = _control(record, name, model, output)
        if pointwise:
            add_informativeness(
                rows,
                found.record,
                OUTPUTS[name],
                found.version,
                probe,
                Pointwise({}, {}),
                seed=seed,
                minimum=minimum,
            )
        if positions:
            alignment = align_positions(found.record, bins=bins)
            outputs = {OUTPUTS[name]: found.version.y}
            made = estimate_profiles(found.record, alignment, outputs, estimator, minimum=minimum)
            own = [Profile(alignment, p.output, p.state, p.estimates, found.version.attention) for p in made]
            add_position(rows, found.record, own, "", seed=seed)


def _control(record: AttentionRecord, name: ControlModel, model: AttentionRecord, output: Output) -> _Control:
    attention = np.asarray(record.attention if name == "uniform" else model.attention)
    if name == "untrained":
        y = median_split(model)
    elif name == "shuffled":
        y = np.asarray(record.label)
    else:
        y = make_target(model, "class" if output == "label" else output).values
    sink = record.sink if name == "uniform" else model.sink
    return _Control(
        replace(model, attention=attention, sink=sink), Version(merge_rare_classes(np.asarray(y))[0], attention)
    )


def add_absent_controls(
    rows: Rows,
    record: AttentionRecord,
    decoder: Decoder,
    models: Mapping[ControlModel, AttentionRecord],
    *,
    recomputed: bool,
    has_truth: bool,
) -> None:
    """A row for every control that this record cannot have, with the reason and what it would need.

    Args:
        rows: Where to.
        record: The record.
        decoder: How its predictions can be recomputed.
        models: The control models given.
        recomputed: Whether the output is one that attention can change.
        has_truth: Whether the true information is known.
    """
    absent: dict[str, str] = {
        OUTPUTS[name]: f"needs {REMEDIES[name]} (models={{{name!r}: record}})" for name in OUTPUTS if name not in models
    }
    if record.label is None:
        absent["label"] = "needs gold labels (make the record with label=)"
    if record.token_ids is None:
        absent["token frequency"] = "needs tokens (make the record with tokens=)"
    if record.embedding is None:
        absent["input embedding"] = "needs the input vectors (make the record with embedding=)"
    if decoder.head is None:
        why = "the decoder given is no linear head" if decoder.decode is not None else decoder.source
        absent["evidence of the linear head"] = why
    if not recomputed:
        absent["mechanical baseline"] = "the output is the gold label, which no attention changes"
    elif decoder.usable is None:
        absent["mechanical baseline"] = decoder.source
    if not has_truth:
        absent["true information"] = "not known for these data, or positions have no common meaning"
    for name, reason in absent.items():
        rows.add("control", "kendall_tau_b", name, "", "", estimate=np.nan, reason=reason)
