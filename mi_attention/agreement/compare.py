"""One call from a record to the tables of a paper: does the order of attention follow the information?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version as version_of
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mi_attention.agreement.comparison import Comparison
from mi_attention.agreement.controls import find_decoder, permute_attention
from mi_attention.agreement.erasure import Decode
from mi_attention.agreement.erasure_rows import add_erasure, erasure_orders
from mi_attention.agreement.extras import Extras, check_extras
from mi_attention.agreement.model_controls import (
    ControlModel,
    add_absent_controls,
    add_model_controls,
    check_control_models,
)
from mi_attention.agreement.near_ties import near_tie_table
from mi_attention.agreement.notes import Note
from mi_attention.agreement.outputs import Output, make_target
from mi_attention.agreement.pointwise import Pointwise, add_pointwise
from mi_attention.agreement.position import add_position, order_of_complete_instances
from mi_attention.agreement.profiles import PROFILE_COLUMNS, Profile, estimate_profiles
from mi_attention.agreement.ranks import add_ranks, is_constant
from mi_attention.agreement.rows import Rows
from mi_attention.agreement.units import Alignment, align_positions, align_ranks, align_tokens
from mi_attention.agreement.versions import Version, make_versions
from mi_attention.estimators import Probe, make_estimator
from mi_attention.interface import AttentionRecord, FloatArray, MIEstimate, MIEstimator, Unit
from mi_attention.measures import concentration, tie_share

__all__ = ["AlignmentKind", "compare"]

AlignmentKind: TypeAlias = Literal["position", "rank", "token", "instance"]
# Columns of ``Comparison.positions``, by the version of the output they are about ("" is the one asked for).
INFORMATIVENESS = {
    "": "informativeness",
    "label": "informativeness_label",
    "embedding": "informativeness_embedding",
}
ALIGNMENTS: tuple[AlignmentKind, ...] = ("position", "rank", "token", "instance")


def compare(
    record: AttentionRecord,
    output: Output = "class",
    *,
    estimator: MIEstimator | str | None = None,
    probe: Probe | None = None,
    alignments: Sequence[AlignmentKind] = ALIGNMENTS,
    bins: int | None = None,
    ranks: int = 5,
    minimum: int = 50,
    truth: FloatArray | None = None,
    null_draws: int = 999,
    confidence: float = 0.95,
    seed: int = 0,
    decode: Decode | None = None,
    models: Mapping[ControlModel, AttentionRecord] | None = None,
    extras: Sequence[str] = (),
) -> Comparison:
    """Compare the order of attention with the order of information, with every control the record allows.

    The four alignments are described in ``agreement.units``; the controls in ``agreement.controls``. Agreement
    is not faithfulness: it says that attention ranks states as their information does, not that the model uses
    them so.

    Args:
        record: One attention distribution over N instances.
        output: What the information is about; see ``agreement.outputs.make_target``.
        estimator: For the profiles, itself or its registered name; the cross-fitted probe by default.
        probe: For the pointwise information, which needs a conditional distribution.
        alignments: Which of ``position``, ``rank``, ``token`` and ``instance``.
        bins: Bins of relative position; None: positions where all lengths agree, else see ``align_positions``.
        ranks: K of the profile by attention rank.
        minimum: Fewest instances of a unit whose information is estimated.
        truth: ``(T,)`` the true information of each position with the label, where it is known.
        null_draws: Draws of the partner null.
        confidence: Coverage of the intervals.
        seed: Seed of folds, permuted attention, nulls and bootstraps.
        decode: The model's decoder as a function from float64 contexts ``(n, H)`` to probabilities ``(n, C)``, for
            models whose decoder is not linear: it makes the predictions under other attention and after erasing.
        models: Records of control models on the same instances: ``"untrained"``, ``"uniform"`` (trained with its
            attention frozen at uniform), ``"shuffled"`` (trained on shuffled labels).
        extras: Further estimands, each a set of rows of that name: ``"preservation"`` (information of the attended
            states and of the context as shares of H(Y)), ``"redundancy"`` (what a state tells beyond the rest of the
            context), ``"contextualisation"`` (states against their input embeddings), ``"geometry"`` (conicity),
            ``"rationale"`` (agreement with human evidence).

    Returns:
        The tables.

    Raises:
        ValueError: for an output or alignment the record cannot have, or an extra without its alignment, naming the
            remedy.
    """
    if not isinstance(record, AttentionRecord):
        raise TypeError(
            f"record is a {type(record).__name__}; make one with AttentionRecord.from_arrays(...), "
            "or call compare_arrays(hidden, attention, output)"
        )
    if isinstance(estimator, str):
        estimator = make_estimator(estimator, seed=seed)
    unknown = set(alignments) - set(ALIGNMENTS)
    if unknown or not alignments:
        raise ValueError(f"alignments must be some of {', '.join(ALIGNMENTS)}, got {list(alignments)}")
    check_extras(extras, alignments)
    probe = probe or (estimator if isinstance(estimator, Probe) else Probe(seed=seed))
    estimator = estimator or probe
    target = make_target(record, output)
    models = dict(models or {})
    check_control_models(record, models)
    decoder = find_decoder(record, decode)
    permuted = permute_attention(record, seed)
    excluded = dict(record.meta.get("excluded", {}))
    total = record.n_instances + sum(excluded.values())
    notes = [Note(f"instances excluded: {reason}", count, total) for reason, count in excluded.items()]
    versions, missing = make_versions(record, target, decoder, permuted)
    notes += missing
    if record.embedding is None:
        notes.append(Note("no input embeddings: the control with them is missing (make the record with embedding=)"))

    facts = [f"output:{target.name}", f"n:{record.n_instances}", f"seed:{seed}"]
    facts.append(f"version:{version_of('mi-attention')}")
    signature, probe_signature = ("|".join([used.signature, *facts]) for used in (estimator, probe))
    rows = Rows(signature, confidence)
    found = _Found()
    if "instance" in alignments:
        rows.signature = probe_signature
        options = {"null_draws": null_draws, "seed": seed, "minimum": minimum}
        found.pointwise = add_pointwise(rows, record, versions, decoder, probe, **options)
        rows.signature = signature
    if "position" in alignments:
        alignment = align_positions(record, bins=bins)
        found.add(_shared(record, alignment, versions, estimator, minimum))
        found.truth = truth if truth is not None and not alignment.relative and len(truth) == len(alignment) else None
        if truth is not None and found.truth is None:
            notes.append(Note("the true information is by position, but the positions of this record are binned"))
        add_position(rows, record, found.last, target.name, seed=seed, truth=found.truth)
        found.order = order_of_complete_instances(record, found.last[0])
        found.position = found.last
    if "token" in alignments and record.token_ids is not None:
        alignment = align_tokens(record)
        if len(alignment) >= 2:
            found.add(_shared(record, alignment, versions, estimator, minimum))
            add_position(rows, record, found.last, target.name, seed=seed)
        else:
            notes.append(Note("no order of token types: fewer than two occur in enough instances"))
    if "rank" in alignments:
        if (record.lengths >= ranks).any():
            found.add(_ranked(record, versions, estimator, ranks, minimum, seed))
            add_ranks(rows, record, found.last, target.name, seed=seed)
        else:
            notes.append(Note(f"no profile by rank: no instance has {ranks} positions"))
    add_model_controls(
        rows,
        record,
        models,
        output,
        estimator=estimator,
        probe=probe,
        pointwise="instance" in alignments,
        positions="position" in alignments,
        bins=bins,
        minimum=minimum,
        seed=seed,
    )
    known = {"recomputed": target.of is not None, "has_truth": found.truth is not None}
    add_absent_controls(rows, record, decoder, models, **known)
    Extras(
        versions,
        decoder,
        estimator,
        probe,
        found.position,
        found.pointwise,
        signatures=(signature, probe_signature),
        ranks=ranks,
        minimum=minimum,
        seed=seed,
    ).add(rows, record, extras)
    profiles = [profile for group in found.groups for profile in group]
    orders = erasure_orders(
        record,
        decoder,
        found.pointwise,
        profiles,
        target.name,
        permuted=permuted,
        truth=found.truth,
        seed=seed,
    )
    curves = add_erasure(rows, record, decoder, orders, seed=seed)
    ties = near_tie_table(record, profiles, found.pointwise, versions, seed=seed, level=confidence)
    notes += found.notes()
    return Comparison(
        table=rows.agreement_frame(),
        profile=_with_truth(found.profile_frame(record), found.truth),
        concentration=_concentration(rows, record),
        instances=rows.instance_frame(),
        positions=_positions(record, found.pointwise.estimates, target.name),
        attention_order=_order_frame(found),
        profile_error=rows.profile_error_frame(),
        notes=tuple(dict.fromkeys(notes)),
        signature=signature,
        resamples=rows.resample_frame(),
        erasure_curves=curves.assign(signature=signature),
        near_ties=ties.assign(signature=signature),
        output=target.name,
        labels=_labels(record),
    )


@dataclass(frozen=True)
class _Refusing:
    """An estimator that finds everything undefined, for one reason."""

    reason: str
    signature: str

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        return MIEstimate.undefined(self.reason, n=len(np.asarray(y)), signature=self.signature)

    def estimate_many(self, units: Sequence[Unit]) -> list[MIEstimate]:
        return [self.estimate(unit.x, unit.y) for unit in units]


@dataclass(eq=False)
class _Found:
    """Profiles gathered on the way."""

    groups: list[list[Profile]] = field(default_factory=list)
    position: list[Profile] = field(default_factory=list)
    pointwise: Pointwise = field(default_factory=lambda: Pointwise({}, {}))
    order: Any = None
    truth: FloatArray | None = None

    def add(self, profiles: list[Profile]) -> None:
        self.groups.append(profiles)

    @property
    def last(self) -> list[Profile]:
        return self.groups[-1]

    def notes(self) -> list[Note]:
        return [note for group in self.groups for profile in group for note in profile.alignment.notes]

    def profile_frame(self, record: AttentionRecord) -> pd.DataFrame:
        frames = [profile.frame(record) for group in self.groups for profile in group]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(PROFILE_COLUMNS))


def _shared(
    record: AttentionRecord,
    alignment: Alignment,
    versions: dict[str, Version],
    estimator: MIEstimator,
    minimum: int,
) -> list[Profile]:
    """Profiles over units that no attention changes, each beside its own version of the attention."""
    outputs = {name: version.y for name, version in versions.items()}
    made = estimate_profiles(record, alignment, outputs, estimator, minimum=minimum)
    made = [
        Profile(alignment, profile.output, "hidden", profile.estimates, versions[profile.output].attention)
        for profile in made
    ]
    if record.embedding is not None:
        main = next(iter(outputs))
        made += estimate_profiles(
            record, alignment, {main: outputs[main]}, estimator, state="embedding", minimum=minimum
        )
    return made


def _ranked(
    record: AttentionRecord,
    versions: dict[str, Version],
    estimator: MIEstimator,
    ranks: int,
    minimum: int,
    seed: int,
) -> list[Profile]:
    """Profiles by attention rank; the mechanical baseline is ranked by its own, permuted attention."""
    own = {name: version.y for name, version in versions.items() if name != "permuted attention"}
    if is_constant(record, np.asarray(record.attention)):
        # An order by chance is no order by attention: the units would be random positions.
        estimator, minimum = _Refusing("constant attention: its ranks are arbitrary", estimator.signature), 0
    alignment = align_ranks(record, np.asarray(record.attention), ranks=ranks, seed=seed)
    made = estimate_profiles(record, alignment, own, estimator, minimum=minimum)
    if "permuted attention" in versions:
        version = versions["permuted attention"]
        permuted = align_ranks(record, version.attention, ranks=ranks, seed=seed)
        made += estimate_profiles(
            record,
            permuted,
            {"permuted attention": version.y},
            estimator,
            attention=version.attention,
            minimum=minimum,
        )
    if record.embedding is not None:
        main = next(iter(versions))
        made += estimate_profiles(record, alignment, {main: own[main]}, estimator, state="embedding", minimum=minimum)
    return made


def _concentration(rows: Rows, record: AttentionRecord) -> pd.DataFrame:
    """Concentration of the attention; its values join the instances' table."""
    collector = Rows(rows.signature, rows.level)
    measures = concentration(record.attention, record.offsets)
    measures["tied_pair_share"] = tie_share(record.attention, record.offsets)
    units = {"effective_support": "positions", "max_weight": "weight"}
    for name, found in measures.items():
        collector.add_measured("concentration", name, "attention", "", "", found, unit=units.get(name, "share"))
    rows.instances += collector.instances
    frame = collector.agreement_frame()
    columns = ["measure", "estimate", "ci_low", "ci_high", "interval", "n_instances", "undefined", "undefined_share"]
    return frame[[*columns, "reason", "unit", "signature"]]


def _positions(record: AttentionRecord, pointwise: dict[str, MIEstimate], main: str) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "instance": record.row_instance.astype(np.int32),
            "position": record.row_position.astype(np.int32),
            "attention": np.asarray(record.attention),
        }
    )
    for name in (main, "label", "embedding"):
        found = pointwise.get(name)
        if found is not None and found.informativeness is not None:
            # Float64: a cast to float32 would make ties that the reported orders do not have.
            frame[INFORMATIVENESS[name] if name in INFORMATIVENESS else INFORMATIVENESS[""]] = found.informativeness
    return frame


def _order_frame(found: _Found) -> pd.DataFrame:
    if found.order is None:
        return pd.DataFrame(columns=["pair", "value", "n_instances", "n_undefined"])
    pairs = found.order.pairs
    return pd.DataFrame(
        {
            "pair": np.arange(len(pairs)),
            "value": pairs,
            "n_instances": found.order.n_instances,
            "n_undefined": found.order.n_undefined,
        }
    )


def _with_truth(profile: pd.DataFrame, truth: FloatArray | None) -> pd.DataFrame:
    """The true information beside each estimate of a position with the label, NaN elsewhere."""
    if truth is None:
        return profile.assign(truth=np.nan)
    known = (profile["alignment"] == "position") & (profile["output"] == "label")
    known &= profile["unit_index"] < len(truth)
    values = np.asarray(truth, dtype=np.float64)[profile["unit_index"].clip(upper=len(truth) - 1).astype(int)]
    return profile.assign(truth=np.where(known, values, np.nan))


def _labels(record: AttentionRecord) -> dict[str, Any]:
    """What tells cells apart in figures, from the record's facts where it has them."""
    known: dict[str, Any] = {"data": "record", "encoder": "states", "score": "attention", "normalizer": "as given"}
    known["temperature"] = np.nan
    return {name: record.meta.get(name, default) for name, default in known.items()}
