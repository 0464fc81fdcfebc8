"""One call from a record to the tables of a paper: does the order of attention follow the information?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mi_attention.agreement.controls import find_decoder, permute_attention, probabilities_under, uniform_attention
from mi_attention.agreement.notes import Note
from mi_attention.agreement.outputs import Output, make_target, merge_rare_classes
from mi_attention.agreement.pointwise import Version, add_pointwise
from mi_attention.agreement.position import add_position, order_of_complete_instances
from mi_attention.agreement.profiles import PROFILE_COLUMNS, Profile, estimate_profiles
from mi_attention.agreement.ranks import add_ranks, is_constant
from mi_attention.agreement.rows import Rows
from mi_attention.agreement.units import Alignment, align_positions, align_ranks, align_tokens
from mi_attention.estimators import Probe, make_estimator
from mi_attention.interface import AttentionRecord, FloatArray, MIEstimate, MIEstimator, Unit
from mi_attention.measures import concentration, tie_share
from mi_attention.report import position_figure, rank_figure, save_figure, write_latex

__all__ = ["AlignmentKind", "Comparison", "compare"]

AlignmentKind: TypeAlias = Literal["position", "rank", "token", "instance"]
# Columns of ``Comparison.positions``, by the version of the output they are about ("" is the one asked for).
INFORMATIVENESS = {
    "": "informativeness",
    "label": "informativeness_label",
    "embedding": "informativeness_embedding",
}
ALIGNMENTS: tuple[AlignmentKind, ...] = ("position", "rank", "token", "instance")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What ``compare`` found, as tidy tables.

    Attributes:
        table: One agreement a row; see ``AGREEMENT_COLUMNS`` and the README for every column.
        profile: The information of every unit with every output.
        concentration: How concentrated the attention is, one measure a row.
        instances: The values behind every mean over instances.
        positions: One row a position: attention and pointwise information.
        attention_order: What the joint null over several runs needs of the attention at aligned positions.
        profile_error: Bootstrap draws of the instance-level agreement, for its interval over several runs.
        notes: What was left out, is arbitrary or could not be computed, in words.
        signature: How all of this was made.
        output: The output asked for, as the tables name it.
        labels: Data, encoder, score, normaliser and temperature of the record, for figures.
    """

    table: pd.DataFrame
    profile: pd.DataFrame
    concentration: pd.DataFrame
    instances: pd.DataFrame
    positions: pd.DataFrame
    attention_order: pd.DataFrame
    profile_error: pd.DataFrame
    notes: tuple[Note, ...]
    signature: str
    output: str = "prediction"
    labels: Mapping[str, Any] = field(default_factory=dict)

    def headline(self) -> pd.DataFrame:
        """The rows a paper would print: tau-b of every order, output and state."""
        rows = self.table[(self.table["measure"] == "kendall_tau_b") & (self.table["order"] != "support")]
        columns = ["estimand", "order", "output", "state", "estimate", "ci_low", "ci_high", "null_mean", "p"]
        columns += ["reliability", "ceiling", "n_instances", "undefined", "reason"]
        return rows[columns].reset_index(drop=True)

    def to_latex(
        self, path: str | os.PathLike[str], *, caption: str | None = None, label: str = "tab:agreement"
    ) -> Path:
        """Write the headline table as LaTeX (booktabs).

        Args:
            path: The ``.tex`` file.
            caption: Caption; the signature is added to it.
            label: Label to refer to the table by.

        Returns:
            The path.
        """
        text = caption or "Agreement (Kendall's tau-b) of the order of attention with other orders, with intervals."
        frame = self.headline().drop(columns="reason")
        write_latex(frame, Path(path), caption=text, label=label, signature=self.signature)
        return Path(path)

    def plot(self, path: str | os.PathLike[str]) -> list[Path]:
        """Draw the information by attention rank with its controls (by position where ranks were not asked for).

        Args:
            path: A stem or a file name; a stem writes PDF, SVG and PNG.

        Returns:
            The files written.

        Raises:
            ValueError: if the comparison has no profile to draw.
        """
        target = Path(path)
        if target.suffix and target.suffix not in (".pdf", ".svg", ".png"):
            raise ValueError(f"path ends in {target.suffix!r}; use .pdf, .svg, .png, or no ending for all three")
        formats = (target.suffix[1:],) if target.suffix else ("pdf", "svg", "png")
        stem = target.with_suffix("") if len(formats) == 1 else target
        for kind, draw in (("rank", rank_figure), ("position", position_figure)):
            chosen = self.profile[self.profile["alignment"] == kind]
            if len(chosen):
                figure = draw(chosen.assign(**self.labels, seed=0))
                return save_figure(figure, stem, formats=formats, signature=self.signature)
        raise ValueError("there is no profile to draw; compare with alignments that include 'rank' or 'position'")

    def __str__(self) -> str:
        """The headline table in plain text."""
        counts = dict.fromkeys(("n_instances", "undefined"), "{:.0f}".format)
        lines = [self.headline().to_string(index=False, float_format="{:.3f}".format, na_rep="–", formatters=counts)]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes), self.signature])


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

    Returns:
        The tables.

    Raises:
        ValueError: for an output or alignment the record cannot have, naming the remedy.
    """
    if not isinstance(record, AttentionRecord):
        raise TypeError(f"record is a {type(record).__name__}; make one with AttentionRecord.from_arrays(...)")
    if isinstance(estimator, str):
        estimator = make_estimator(estimator, seed=seed)
    unknown = set(alignments) - set(ALIGNMENTS)
    if unknown or not alignments:
        raise ValueError(f"alignments must be some of {', '.join(ALIGNMENTS)}, got {list(alignments)}")
    probe = probe or (estimator if isinstance(estimator, Probe) else Probe(seed=seed))
    estimator = estimator or probe
    target = make_target(record, output)
    decoder = find_decoder(record)
    permuted = permute_attention(record, seed)
    versions = {target.name: Version(target.values, np.asarray(record.attention))}
    excluded = dict(record.meta.get("excluded", {}))
    total = record.n_instances + sum(excluded.values())
    notes = [Note(f"instances excluded: {reason}", count, total) for reason, count in excluded.items()]
    if record.label is None:
        notes.append(Note("no gold labels: the control with the label is missing (make the record with label=)"))
    elif target.name != "label":
        versions["label"] = Version(np.asarray(record.label), np.asarray(record.attention))
    if target.of is not None and decoder.head is not None:
        uniform = probabilities_under(record, decoder.head, uniform_attention(record))
        versions["uniform prediction"] = Version(target.of(uniform), np.asarray(record.attention))
        mechanical = probabilities_under(record, decoder.head, permuted)
        versions["permuted attention"] = Version(target.of(mechanical), permuted)
    elif decoder.head is None:
        notes.append(Note(f"no prediction under other attention: {decoder.source}"))
    if target.of is None:
        notes.append(Note("the output is the gold label, which no attention changes: no recomputed controls"))
    notes += _merge_rare(versions, target.name)
    if decoder.source.startswith("recovered"):
        notes.append(Note("the linear head was recovered from the outputs"))
    if record.embedding is None:
        notes.append(Note("no input embeddings: the control with them is missing (make the record with embedding=)"))

    facts = [f"output:{target.name}", f"n:{record.n_instances}", f"seed:{seed}"]
    facts.append(f"version:{version_of('mi-attention')}")
    signature = "|".join([estimator.signature, *facts])
    rows = Rows(signature, confidence)
    found = _Found()
    if "instance" in alignments:
        rows.signature = "|".join([probe.signature, *facts])
        options = {"null_draws": null_draws, "seed": seed, "minimum": minimum}
        found.pointwise = add_pointwise(rows, record, versions, decoder, probe, **options)
        rows.signature = signature
    if "position" in alignments:
        alignment = align_positions(record, bins=bins)
        found.add(_shared(record, alignment, versions, estimator, minimum))
        found.truth = truth if truth is not None and not alignment.relative and len(truth) == len(alignment) else None
        if truth is not None and found.truth is None:
            notes.append(Note("the true information is by position, but the positions of this record are binned"))
        add_position(rows, record, found.last, versions, seed=seed, truth=found.truth)
        found.order = order_of_complete_instances(record, found.last[0])
    if "token" in alignments and record.token_ids is not None:
        alignment = align_tokens(record)
        if len(alignment) >= 2:
            found.add(_shared(record, alignment, versions, estimator, minimum))
            add_position(rows, record, found.last, versions, seed=seed)
        else:
            notes.append(Note("no order of token types: fewer than two occur in enough instances"))
    if "rank" in alignments:
        if (record.lengths >= ranks).any():
            found.add(_ranked(record, versions, estimator, ranks, minimum, seed))
            add_ranks(rows, record, found.last, target.name, seed=seed)
        else:
            notes.append(Note(f"no profile by rank: no instance has {ranks} positions"))
    notes += found.notes()
    return Comparison(
        table=rows.agreement_frame(),
        profile=_with_truth(found.profile_frame(record), found.truth),
        concentration=_concentration(rows, record),
        instances=rows.instance_frame(),
        positions=_positions(record, found.pointwise, target.name),
        attention_order=_order_frame(found),
        profile_error=rows.profile_error_frame(),
        notes=tuple(dict.fromkeys(notes)),
        signature=signature,
        output=target.name,
        labels=_labels(record),
    )


def _merge_rare(versions: dict[str, Version], main: str) -> list[Note]:
    """Merge rare classes in place: those of the output asked for alike in every version recomputed from it."""
    notes = []
    shared, rare = merge_rare_classes(versions[main].y)
    homes = dict(zip(versions[main].y.tolist(), shared.tolist(), strict=True))
    for name, version in versions.items():
        y = version.y
        if rare and name != "label":
            y = np.array([homes.get(value, value) for value in y.tolist()], dtype=y.dtype)
        merged, count = merge_rare_classes(y)
        versions[name] = Version(merged, version.attention)
        count += rare if name == main else 0
        if count:
            text = f"instances of classes of the output ({name}) with fewer than 10, put together"
            notes.append(Note(text, count, len(y)))
    return notes


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
    pointwise: dict[str, MIEstimate] = field(default_factory=dict)
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
