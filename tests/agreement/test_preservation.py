"""Attended information as a share of H(Y): exact where it can be, and the context against what it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention import AttentionRecord, compare
from mi_attention.estimators.levels import CORRECTION_UNCERTAINTY
from mi_attention.interface import MIEstimate
from tests.agreement.synthetic import QUICK, make_record

ORDERS = ("mutual information", "held-out mutual information")


class Known:
    """An estimator that knows the answer: position t has ``nats[t]``."""

    signature = "known"

    def __init__(self, *nats):
        self.nats = nats

    def estimate(self, x, y, groups=None):
        raise NotImplementedError

    def estimate_many(self, units):
        return [
            MIEstimate(
                nats=self.nats[t % len(self.nats)],
                lower_bound=self.nats[t % len(self.nats)] - 0.05,
                local=np.full(len(unit.y), self.nats[t % len(self.nats)] - 0.05),
                standard_error=0.0,
                n=len(unit.y),
                ceiling=np.log(2),
                status="ok",
                reason="",
                signature=self.signature,
            )
            for unit, t in ((unit, int(unit.name)) for unit in units)
        ]


def value(comparison, measure, output="label", *, order="mutual information", state="hidden"):
    table = comparison.table
    rows = table[(table["estimand"] == "preservation") & (table["measure"] == measure) & (table["order"] == order)]
    rows = rows[(rows["output"] == output) & (rows["state"] == state)]
    assert len(rows) == 1, f"{len(rows)} rows for {measure}, {order}, {output}, {state}"
    return rows.iloc[0]


def preserved(record, **options):
    options = {"estimator": QUICK, "alignments": ("position",)} | options
    return compare(record, extras=("preservation",), **options)


def balanced(attention, *, n=200, seed=0, hidden=None, **changes):
    """Instances of the positions of ``attention`` with as many labels 0 as 1."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    weights = np.tile(np.asarray(attention, dtype=np.float64), (n, 1))
    if hidden is None:
        hidden = rng.standard_normal((n, len(attention), 3))
        hidden[:, 0, 0] += 2.5 * label
    return AttentionRecord.from_arrays(hidden, weights, np.full((n, 2), 0.5), label=label, **changes)


def test_the_weighted_sum_by_hand():
    found = preserved(balanced([0.6, 0.3, 0.1]), output="label", estimator=Known(0.3, 0.2, 0.1))
    half = np.log(2)
    assert value(found, "attended_share").estimate == pytest.approx((0.6 * 0.3 + 0.3 * 0.2 + 0.1 * 0.1) / half)
    assert value(found, "uniform_share").estimate == pytest.approx(0.2 / half)
    assert value(found, "attended_excess").estimate == pytest.approx(0.05 / half)
    held_out = value(found, "attended_share", order="held-out mutual information")
    assert held_out.estimate == pytest.approx((0.25 - 0.05) / half)
    # The correction of .05 that all positions share is uncertain in the share and cancels in the difference.
    assert value(found, "attended_share").ci_high - value(found, "attended_share").estimate == pytest.approx(
        1.959964 * CORRECTION_UNCERTAINTY * 0.05 / half
    )
    excess = value(found, "attended_excess")
    assert excess.ci_high - excess.ci_low == pytest.approx(0, abs=1e-9)


def test_all_attention_on_one_position_leaves_the_share_of_that_position():
    record = balanced([1.0, 0.0, 0.0, 0.0])
    found = preserved(record, output="label")
    first = found.profile[(found.profile["output"] == "label") & (found.profile["unit_index"] == 0)].iloc[0]
    assert first.nats > 0.2
    assert value(found, "attended_share").estimate == pytest.approx(first.nats / first.ceiling)
    # The context is that position's state, with one sample an instance and the same folds.
    context = value(found, "context_share", state="context")
    assert context.estimate == pytest.approx(first.nats / first.ceiling)
    elsewhere = preserved(balanced([0.0, 0.0, 1.0, 0.0]), output="label")
    assert abs(value(elsewhere, "attended_share").estimate) < 0.05
    assert value(elsewhere, "attended_excess").estimate < -0.05


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("positions", [6, 7, 11])
def test_uniform_attention_has_an_excess_of_exactly_zero(ragged, positions):
    record = make_record(n=123, positions=positions, ragged=ragged)
    given = {"n": 123, "positions": positions, "ragged": ragged, "output": np.tile([0.4, 0.6], (123, 1))}
    uniform = np.repeat(1 / record.lengths, record.lengths).astype(np.float32)
    found = preserved(make_record(**given, attention=uniform), output="label", bins=2 if ragged else None)
    for order in ORDERS:
        row = value(found, "attended_excess", order=order)
        assert row.estimate == 0
        assert row.reason == "no spread over instances"


def test_permuted_positions_padding_and_a_copy_of_the_record_change_nothing():
    record = make_record(n=150, positions=5, seed=2)
    shape = (150, 5)
    hidden, attention = np.asarray(record.hidden).reshape(*shape, -1), np.asarray(record.attention).reshape(shape)
    given = {"label": record.label, "head": record.head}
    order = np.array([3, 0, 4, 1, 2])
    mask = np.concatenate([np.ones(shape), np.zeros((150, 2))], axis=1)
    padded = np.concatenate([hidden, np.full((150, 2, hidden.shape[2]), 7.0)], axis=1)
    weights = np.concatenate([attention, np.zeros((150, 2))], axis=1)
    records = (
        AttentionRecord.from_arrays(hidden, attention, record.output, **given),
        AttentionRecord.from_arrays(hidden[:, order], attention[:, order], record.output, **given),
        AttentionRecord.from_arrays(padded, weights, record.output, mask, **given),
    )
    names = ("label", "prediction")
    measures = [("attended_share", "hidden"), ("attended_excess", "hidden"), ("context_share", "context")]
    tables = [preserved(r) for r in records]
    found = [
        [[value(table, m, name, state=state).estimate for m, state in measures] for name in names] for table in tables
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)
    np.testing.assert_array_equal(found[2], found[0])


def test_bins_of_ragged_instances_weigh_by_mass_and_count_the_panel():
    record = make_record(n=300, positions=6, ragged=True, seed=4)
    found = preserved(record, bins=3)
    row = value(found, "attended_share")
    assert row.n_instances == (record.lengths >= 3).sum()
    assert row.n_units == 3
    nats = found.profile[(found.profile["output"] == "label") & (found.profile["state"] == "hidden")]
    shares = (nats["nats"] / nats["ceiling"]).to_numpy()
    long = record.lengths >= 3
    mass, uniform = np.zeros(3), np.zeros(3)
    for i in np.flatnonzero(long):
        weights = np.asarray(record.attention)[record.rows(i)]
        bins = np.arange(len(weights)) * 3 // len(weights)
        mass += np.bincount(bins, weights / weights.sum(), minlength=3)
        uniform += np.bincount(bins, minlength=3) / len(weights)
    assert row.estimate == pytest.approx(mass @ shares / mass.sum())
    assert value(found, "uniform_share").estimate == pytest.approx(uniform @ shares / uniform.sum())


def test_baselines_stand_beside_and_the_context_of_a_prediction_holds_it():
    record = make_record(n=800, hidden_size=4, spread=2.0)
    found = preserved(record)
    for output in ("prediction", "permuted attention", "uniform prediction"):
        row = value(found, "context_share", output, state="context")
        assert 0.8 < row.estimate <= 1
        assert row.ci_high <= 1
        assert value(found, "attended_share", output).estimate < row.estimate
    # The label is independent of everything.
    assert abs(value(found, "context_share", state="context").estimate) < 0.02
    # Random attention over independent states: what is attended shows in the prediction, but not by position.
    assert value(found, "attended_excess").ci_low < 0 < value(found, "attended_excess").ci_high


def test_a_single_class_is_undefined_and_counted_never_zero():
    record = balanced([0.5, 0.3, 0.2], n=120)
    one = AttentionRecord.from_arrays(
        np.asarray(record.hidden).reshape(120, 3, 3),
        np.asarray(record.attention).reshape(120, 3),
        np.tile([0.9, 0.1], (120, 1)),
        label=record.label,
    )
    found = preserved(one)
    for measure, state in (("attended_share", "hidden"), ("attended_excess", "hidden"), ("context_share", "context")):
        row = value(found, measure, "prediction", state=state)
        assert np.isnan(row.estimate)
        assert row.reason == "a single class"
        assert row.undefined_share == 1
        assert np.isfinite(value(found, measure, state=state).estimate)


def test_units_without_an_estimate_are_counted_and_their_weight_goes_to_the_others():
    class Partial(Known):
        def estimate_many(self, units):
            made = super().estimate_many(units)
            return [
                MIEstimate.undefined("not this one", n=one.n, signature="known") if unit.name == "1" else one
                for unit, one in zip(units, made, strict=True)
            ]

    nowhere = preserved(balanced([0.0, 1.0, 0.0]), output="label", estimator=Partial(0.3, 0.2, 0.1))
    for measure in ("attended_share", "attended_excess"):
        assert np.isnan(value(nowhere, measure).estimate)
        assert value(nowhere, measure).reason == "no attention on the units with an estimate"
    assert value(nowhere, "uniform_share").estimate == pytest.approx(0.2 / np.log(2))
    found = preserved(balanced([0.6, 0.3, 0.1]), output="label", estimator=Partial(0.3, 0.2, 0.1))
    row = value(found, "attended_share")
    assert row.estimate == pytest.approx((0.6 * 0.3 + 0.1 * 0.1) / 0.7 / np.log(2))
    assert (row.n_units, row.undefined, row.reason) == (2, 1, "1 units without an estimate")


def test_an_extra_that_does_not_exist_or_lacks_its_alignment_is_refused_with_the_remedy():
    record = balanced([0.6, 0.4])
    with pytest.raises(ValueError, match=r"extras has 'preserved'; use preservation, redundancy"):
        compare(record, extras=("preserved",))
    with pytest.raises(ValueError, match=r"'preservation', which needs 'position' in alignments"):
        compare(record, alignments=("instance",), extras=("preservation",))
    with pytest.raises(ValueError, match="twice"):
        compare(record, extras=("geometry", "geometry"))


def test_extras_add_rows_and_change_none_of_the_others():
    record = make_record(n=200, positions=4)
    plain = compare(record, estimator=QUICK, ranks=2)
    extras = ("preservation", "redundancy", "contextualisation", "geometry", "rationale")
    found = compare(record, estimator=QUICK, ranks=2, extras=extras)
    new = found.table["estimand"].isin(extras)
    assert set(found.table.loc[new, "estimand"]) == set(extras)
    assert found.table[~new].reset_index(drop=True).equals(plain.table)
    assert found.profile.equals(plain.profile)
    keys = ["estimand", "measure", "order", "output", "state"]
    assert not found.table.duplicated(keys).any()
    missing = found.table["estimate"].isna()
    assert (found.table.loc[missing, "reason"].str.len() > 0).all()
