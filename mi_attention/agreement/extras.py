"""Further estimands of a comparison, each made only where it is asked for: some of them cost as much as a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from mi_attention.agreement.contextualisation import embedding_gaps
from mi_attention.agreement.controls import Decoder
from mi_attention.agreement.geometry import add_geometry
from mi_attention.agreement.influence import add_linear_rows
from mi_attention.agreement.pointwise import Pointwise
from mi_attention.agreement.preservation import attended_shares, context_shares
from mi_attention.agreement.profiles import Profile, estimate_profiles
from mi_attention.agreement.rationale import add_rationale
from mi_attention.agreement.redundancy import unique_information
from mi_attention.agreement.rows import Rows
from mi_attention.agreement.versions import Version
from mi_attention.estimators import Probe
from mi_attention.interface import AttentionRecord, MIEstimator

__all__ = ["EXTRAS", "NEEDS", "Extra", "Extras", "check_extras"]

Extra: TypeAlias = Literal["preservation", "redundancy", "contextualisation", "geometry", "rationale"]
EXTRAS: tuple[Extra, ...] = get_args(Extra)
# Extras made of what an alignment has estimated.
NEEDS: dict[str, str] = {"preservation": "position", "contextualisation": "position", "rationale": "instance"}


def check_extras(extras: Sequence[str], alignments: Sequence[str]) -> None:
    """Refuse extras that do not exist, stand twice, or lack the alignment they are made of.

    Raises:
        ValueError: naming the extra and the remedy.
    """
    for extra in extras:
        if extra not in EXTRAS:
            raise ValueError(f"extras has {extra!r}; use {', '.join(EXTRAS)}")
        if list(extras).count(extra) > 1:
            raise ValueError(f"extras has {extra!r} twice; name it once")
        if extra in NEEDS and NEEDS[extra] not in alignments:
            raise ValueError(f"extras has {extra!r}, which needs {NEEDS[extra]!r} in alignments; add it there")


@dataclass(frozen=True, eq=False)
class Extras:
    """What a comparison has found that its extras are made of.

    Attributes:
        versions: Output name → version, the output asked for first.
        decoder: The decoder.
        estimator: Of the profiles.
        probe: Of everything else.
        profiles: By position; empty where that alignment was not asked for.
        pointwise: The pointwise information.
        signatures: What is made of the profiles, and by the probe, is signed with.
        ranks: K of the most attended states.
        minimum: Fewest instances of an estimate.
        seed: Seed of random orders and of ties.
    """

    versions: Mapping[str, Version]
    decoder: Decoder
    estimator: MIEstimator
    probe: Probe
    profiles: Sequence[Profile]
    pointwise: Pointwise
    signatures: tuple[str, str]
    ranks: int
    minimum: int
    seed: int

    def add(self, rows: Rows, record: AttentionRecord, wanted: Sequence[str]) -> None:
        """Add the rows of the extras wanted."""
        of_profiles, of_probe = self.signatures
        main = next(iter(self.versions))
        outputs = [name for name in self.versions if name in (main, "label")]
        hidden = [profile for profile in self.profiles if profile.state == "hidden"]
        if "preservation" in wanted:
            rows.signature = of_profiles
            add_linear_rows(rows, "preservation", attended_shares(record, hidden, self.versions))
            rows.signature = of_probe
            add_linear_rows(
                rows, "preservation", context_shares(record, main, self.versions, self.probe, minimum=self.minimum)
            )
        if "contextualisation" in wanted:
            rows.signature = of_profiles
            pairs = [(profile, self._embedded(record, profile)) for profile in hidden if profile.output in outputs]
            values = {name: self.versions[name].y for name in outputs}
            add_linear_rows(rows, "contextualisation", embedding_gaps(record, pairs, values))
        rows.signature = of_probe
        if "redundancy" in wanted:
            label = self.versions["label"].y if "label" in self.versions else None
            options = {"ranks": self.ranks, "minimum": self.minimum, "seed": self.seed}
            add_linear_rows(rows, "redundancy", unique_information(record, label, self.probe, **options))
        if "rationale" in wanted:
            add_rationale(rows, record, outputs, self.decoder, self.pointwise, seed=self.seed)
        if "geometry" in wanted:
            add_geometry(rows, record)
        rows.signature = of_profiles

    def _embedded(self, record: AttentionRecord, hidden: Profile) -> Profile | None:
        """The profile of the embeddings about the same output: the one there is, or a new one."""
        if record.embedding is None:
            return None
        for profile in self.profiles:
            if profile.state == "embedding" and profile.output == hidden.output:
                return profile
        y = {hidden.output: self.versions[hidden.output].y}
        (made,) = estimate_profiles(
            record, hidden.alignment, y, self.estimator, state="embedding", minimum=self.minimum
        )
        return made
