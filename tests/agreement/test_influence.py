"""Linearised estimates: their errors are those of the estimator, of the bootstrap, and of the algebra between them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mi_attention.agreement.influence import (
    Linearised,
    LinearRow,
    add_linear_rows,
    entropy,
    information,
    weighted_mean,
)
from mi_attention.agreement.rows import Rows
from mi_attention.estimators import level_standard_error
from mi_attention.statistics import bootstrap_means, joint_bootstrap_interval
from tests.agreement.synthetic import QUICK


@pytest.fixture(scope="module")
def sample():
    """400 instances, one to three rows each, a state that tells of the class."""
    rng = np.random.default_rng(2)
    owner = np.repeat(np.arange(400), rng.integers(1, 4, size=400))
    label = rng.integers(2, size=400)[owner]
    return rng.standard_normal((len(owner), 3)) + label[:, None], label, owner


def test_information_has_the_error_of_its_estimate_by_row_and_by_instance(sample):
    x, y, owner = sample
    estimate = QUICK.estimate(x, y, owner)
    found = information(estimate, owner, 400, held_out=True)
    assert found.value == estimate.lower_bound
    assert found.standard_error == pytest.approx(estimate.standard_error, rel=1e-9)
    assert found.influence.mean() == pytest.approx(0, abs=1e-12)
    rows = np.arange(len(x))
    alone = QUICK.estimate(x, y)
    assert information(alone, rows, len(x), held_out=True).standard_error == pytest.approx(alone.standard_error)
    level = information(estimate, owner, 400)
    assert level.value == estimate.nats
    assert level.correction > 0
    assert level.standard_error == pytest.approx(level_standard_error(estimate))


def test_a_held_out_value_that_is_not_there_is_refused(sample):
    x, y, owner = sample
    estimate = dataclasses.replace(QUICK.estimate(x, y, owner), lower_bound=None)
    with pytest.raises(ValueError, match="has no held-out value"):
        information(estimate, owner, 400, held_out=True)


def test_instances_not_used_have_no_influence_and_leave_the_error_as_it_is(sample):
    x, y, owner = sample
    estimate = QUICK.estimate(x, y, owner)
    few = information(estimate, owner, 400, held_out=True)
    spread = information(estimate, owner * 2, 800, held_out=True)
    assert (spread.influence[1::2] == 0).all()
    assert spread.standard_error == pytest.approx(few.standard_error, rel=2e-3)


def test_entropy_by_hand():
    found = entropy(np.array([0, 0, 0, 1]), np.arange(4), 4)
    assert found.value == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    np.testing.assert_allclose(found.influence, -np.log([0.75, 0.75, 0.75, 0.25]) - found.value)
    # Balanced classes: moving one instance changes H(Y) to second order only.
    assert entropy(np.array([0, 0, 1, 1]), np.arange(4), 4).standard_error == pytest.approx(0, abs=1e-12)


def test_sums_ratios_and_differences_have_the_error_that_the_bootstrap_finds():
    rng = np.random.default_rng(4)
    n, units = 1500, 4
    local = (
        rng.standard_normal((units, n)) * 0.4 + rng.standard_normal(n) * 0.3 + np.array([[0.1], [0.3], [0.2], [0.4]])
    )
    mass = rng.dirichlet(np.ones(units), size=n).T + 0.1 * (local > 0.3)
    surprise = 0.5 + 0.8 * local.mean(axis=0) + 0.1 * rng.standard_normal(n)
    parts = [Linearised(float(row.mean()), row - row.mean()) for row in local]
    whole = Linearised(float(surprise.mean()), surprise - surprise.mean())
    weighed = weighted_mean(parts, mass)

    def share(means, masses, surprises):
        return (means * masses).sum(axis=1) / masses.sum(axis=1) / surprises[:, 0]

    def excess(means, masses, surprises):
        return share(means, masses, surprises) - means.mean(axis=1) / surprises[:, 0]

    for found, statistic in (
        (weighed.over(whole), share),
        (weighed.minus(weighted_mean(parts, np.ones((units, n)))).over(whole), excess),
    ):
        resampled = bootstrap_means(statistic, local, mass, surprise[None], rng=0, n_resamples=4000)
        assert found.value == pytest.approx(resampled.estimate, rel=1e-9)
        assert found.standard_error == pytest.approx(resampled.standard_error, rel=0.04)


def test_a_weighted_mean_leaves_out_instances_without_any_unit_and_refuses_units_without_mass():
    parts = [Linearised(1.0, np.zeros(4)), Linearised(3.0, np.zeros(4))]
    mass = np.array([[0.5, 1.0, np.nan, np.nan], [0.5, np.nan, 1.0, np.nan]])
    found = weighted_mean(parts, mass)
    # Means 1.5/3 and 1.5/3 over the three instances that have a unit.
    assert found.value == 2.0
    # Instance 1 has mass 1 on the first unit, 0 on the second: (1 − 2)(1 − ½) + (3 − 2)(0 − ½) = −1, on 3 of 4.
    np.testing.assert_allclose(found.influence, [0, -4 / 3, 4 / 3, 0])
    with pytest.raises(ValueError, match="mass"):
        weighted_mean(parts, np.zeros((2, 4)))


def test_rows_share_instances_draw_by_draw_and_a_correction_does_not_shrink_with_the_number_of_runs():
    rng = np.random.default_rng(0)
    common = rng.standard_normal(500)
    tables = []
    for _ in range(6):
        rows = Rows("signature", 0.95)
        numbers = {
            "shared": Linearised(0.0, common - common.mean()),
            "own": Linearised(0.0, (own := rng.standard_normal(500)) - own.mean()),
            "corrected": Linearised(0.0, np.zeros(500), 0.1),
        }
        made = [LinearRow(name, "", "", "hidden", found, "nats") for name, found in numbers.items()]
        add_linear_rows(rows, "preservation", made)
        tables.append(rows)
    draws = {key[1]: np.stack([dict(rows.resamples)[key] for rows in tables]) for key, _ in tables[0].resamples}
    errors = {
        name: joint_bootstrap_interval(np.zeros(6), values, n_instances=500).standard_error
        for name, values in draws.items()
    }
    assert errors["shared"] == pytest.approx(1 / np.sqrt(500), rel=0.2)
    assert errors["own"] == pytest.approx(1 / np.sqrt(6 * 500), rel=0.3)
    assert errors["corrected"] == pytest.approx(0.1, rel=0.2)


def test_undefined_rows_say_why_and_an_exact_number_has_no_interval():
    rows = Rows("signature", 0.95)
    made = [
        LinearRow("attended_share", "", "", "hidden", "a single class", "nats", {"n_units": 3}),
        LinearRow("attended_excess", "", "", "hidden", Linearised(0.0, np.zeros(9)), "nats"),
        LinearRow("context_share", "", "", "hidden", Linearised(0.98, np.array([-1.0, 1.0])), "nats", most=1.0),
    ]
    # Records of different N do not occur in one table; here the last one is added on its own.
    add_linear_rows(rows, "preservation", made[:2])
    add_linear_rows(rows, "preservation", made[2:])
    undefined, exact, capped = (row for _, row in rows.agreement_frame().iterrows())
    assert np.isnan(undefined.estimate)
    assert (undefined.reason, undefined.n_units) == ("a single class", 3)
    assert exact.estimate == 0
    assert exact.reason == "no spread over instances"
    assert np.isnan(exact.ci_low)
    assert capped.ci_high == 1.0
    assert capped.ci_low == pytest.approx(0.98 - 1.959964)
