"""What every registered estimator must keep, whatever it is: one check a property."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings

from mi_attention.estimators import SmallSampleWarning, estimator_names
from mi_attention.interface import MIEstimate, MIEstimator, Unit
from tests.estimators.registered import CHEAP, COSTLY, MEMBERS, TABLE, Member, Shape, draw, estimate_quietly, shapes


def test_every_registered_estimator_is_in_the_table():
    assert set(estimator_names()) <= {member.name for member in TABLE}


def assert_same(member: Member, one: MIEstimate, other: MIEstimate, within: float = 1e-7) -> None:
    assert other.status == one.status
    assert other.reason == one.reason
    if one.status == "undefined":
        assert np.isnan(other.nats)
        return
    if member.trained:
        within = max(within, 3 * float(np.hypot(one.standard_error, other.standard_error)))
    assert other.nats == pytest.approx(one.nats, abs=within)
    if one.lower_bound is not None:
        assert other.lower_bound == pytest.approx(one.lower_bound, abs=within)


def raw(estimate: MIEstimate) -> float:
    return estimate.nats if estimate.lower_bound is None else estimate.lower_bound


# --- properties -------------------------------------------------------------------------------------------------------

Check = Callable[[Member, Shape], None]
PROPERTIES: list[tuple[Check, Callable[[Member], bool]]] = []


def holds_for(applies: Callable[[Member], bool]) -> Callable[[Check], Check]:
    """Add a property, checked for the members it applies to."""

    def add(check: Check) -> Check:
        PROPERTIES.append((check, applies))
        return check

    return add


def everybody(member: Member) -> bool:
    del member
    return True


@holds_for(everybody)
def order_of_rows(member, shape):
    sample = draw(member, shape)
    order = sample.rng.permutation(len(sample.y))
    one, other = (
        estimate_quietly(member, sample.x, sample.y),
        estimate_quietly(member, sample.x[order], sample.y[order]),
    )
    if not (member.folds or member.trained):
        assert_same(member, one, other)
        if member.pointwise:
            np.testing.assert_allclose(other.local, one.local[order], atol=1e-9)
    elif one.status == other.status == "ok":
        # other folds: a change of training sets, within the error of either
        assert abs(raw(other) - raw(one)) <= 5 * np.hypot(one.standard_error, other.standard_error) + 0.05


@holds_for(lambda member: not member.trained and not member.features)
def order_and_sign_of_columns(member, shape):
    sample = draw(member, shape)
    columns = sample.rng.permutation(sample.x.shape[1])
    signs = sample.rng.choice([-1, 1], sample.x.shape[1])
    assert_same(
        member,
        estimate_quietly(member, sample.x, sample.y),
        estimate_quietly(member, sample.x[:, columns] * signs, sample.y),
        1e-5,
    )


@holds_for(lambda member: not member.counts and not member.noisy)
def affine_maps_of_columns(member, shape):
    sample = draw(member, shape)
    scale = 10.0 ** sample.rng.integers(-3, 4, sample.x.shape[1])
    offset = sample.rng.uniform(-3, 3, sample.x.shape[1]) * scale
    assert_same(
        member,
        estimate_quietly(member, sample.x, sample.y),
        estimate_quietly(member, sample.x * scale + offset, sample.y),
        1e-5,
    )


@holds_for(lambda member: member.takes_numbers and not member.noisy)
def affine_maps_of_a_continuous_output(member, shape):
    sample = draw(member, replace(shape, digits=12), "numbers")
    one, other = estimate_quietly(member, sample.x, sample.y), estimate_quietly(member, sample.x, 7e3 * sample.y - 11)
    assert_same(member, one, other, 1e-5)


@holds_for(lambda member: member.rotates)
def rotations(member, shape):
    sample = draw(member, replace(shape, digits=12))
    x = sample.x - sample.x.mean(axis=0)
    # of equal variance in every direction, so that scaling columns to unit variance changes nothing
    x = x @ np.linalg.inv(np.linalg.cholesky(np.cov(x.T, ddof=0).reshape(x.shape[1], -1))).T
    rotation = np.linalg.qr(sample.rng.standard_normal((x.shape[1], x.shape[1])))[0]
    assert_same(member, estimate_quietly(member, x, sample.y), estimate_quietly(member, x @ rotation, sample.y), 1e-5)


@holds_for(lambda member: member.takes_classes)
def names_of_classes(member, shape):
    sample = draw(member, shape, "classes")
    one = estimate_quietly(member, sample.x, sample.y)
    names = sample.rng.permutation([-7, 40, 3, 0])
    assert_same(member, one, estimate_quietly(member, sample.x, names[sample.y]), 1e-6)


@holds_for(lambda member: member.takes_classes)
def containers_of_classes(member, shape):
    sample = draw(member, replace(shape, classes=2), "classes")
    y = sample.y
    one = estimate_quietly(member, sample.x, y)
    words = np.array(["no", "yes"])[y]
    containers = [
        torch.tensor(y),
        words,
        pd.Series(pd.Categorical(words)),
        y.tolist(),
        tuple(y.tolist()),
        y.astype(np.int8),
        y.astype(bool),
        y.astype(float),
        y[:, None],
        words.tolist(),
        words.astype(object),
        pd.Series(words, index=range(5, 5 + len(y))),
        pd.Series(words, dtype="string"),
        pd.Categorical(words),
    ]
    for labels in containers[: 3 if member.trained else None]:
        assert_same(member, one, estimate_quietly(member, sample.x, labels), 1e-12)


@holds_for(everybody)
def containers_of_states(member, shape):
    sample = draw(member, shape)
    one = estimate_quietly(member, sample.x, sample.y)
    for states in (
        sample.x.tolist(),
        torch.tensor(sample.x),
        pd.DataFrame(sample.x),
        np.asfortranarray(sample.x),
        np.repeat(sample.x, 2, axis=0)[::2],
    ):
        assert_same(member, one, estimate_quietly(member, states, sample.y), 1e-9)


@holds_for(lambda member: member.takes_numbers)
def containers_of_numbers(member, shape):
    sample = draw(member, shape, "numbers")
    one = estimate_quietly(member, sample.x, sample.y)
    for output in (sample.y.tolist(), torch.tensor(sample.y), sample.y[:, None], pd.Series(sample.y)):
        assert_same(member, one, estimate_quietly(member, sample.x, output), 1e-9)


@holds_for(lambda member: not member.takes_numbers)
def a_float_label_of_many_values_is_refused(member, shape):
    sample = draw(member, shape)
    with pytest.raises(ValueError, match=r"distinct float values .* bin it"):
        member.estimator.estimate(sample.x, sample.rng.standard_normal(len(sample.y)))


@holds_for(everybody)
def inputs_are_read_only(member, shape):
    sample = draw(member, shape)
    groups = np.arange(len(sample.y)) // 2 if member.grouped else None
    kept = sample.x.copy(), sample.y.copy(), None if groups is None else groups.copy()
    for array in (sample.x, sample.y, groups):
        if array is not None:
            array.flags.writeable = False
    estimate_quietly(member, sample.x, sample.y, groups)
    for array, before in zip((sample.x, sample.y, groups), kept, strict=True):
        if array is not None:
            np.testing.assert_array_equal(array, before)


@holds_for(everybody)
def a_batch_is_each_alone(member, shape):
    first, second = draw(member, shape), draw(member, replace(shape, seed=shape.seed + 1, n=shape.n + 5))
    units = [Unit(x=each.x.astype(float), y=each.y) for each in (first, second)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        together = member.estimator.estimate_many(units)
        stacked = member.estimator.estimate_many(np.stack([first.x, 2 * first.x]), first.y)
    # a trained member gains rounding from other sizes of batch; it is still the same draw of the same network
    within = 1e-2 if member.trained else 1e-9
    for each, sample in zip(together, (first, second), strict=True):
        alone = estimate_quietly(member, sample.x, sample.y)
        assert each.nats == pytest.approx(alone.nats, abs=within, nan_ok=True)
        assert (each.status, each.signature) == (alone.status, alone.signature)
    assert stacked[0].nats == pytest.approx(together[0].nats, abs=within, nan_ok=True)


@holds_for(everybody)
def two_calls_give_one_number(member, shape):
    sample = draw(member, shape)
    one, other = estimate_quietly(member, sample.x, sample.y), estimate_quietly(member, sample.x, sample.y)
    np.testing.assert_array_equal(one.nats, other.nats)
    np.testing.assert_array_equal(one.local, other.local)


@holds_for(everybody)
def the_result_is_consistent(member, shape):
    sample = draw(member, shape)
    found = estimate_quietly(member, sample.x, sample.y)
    assert isinstance(member.estimator, MIEstimator)
    assert found.n == len(sample.y)
    assert found.local.shape == sample.y.shape
    assert found.signature.startswith(member.estimator.signature)  # it may add what the data made it read
    if found.status == "undefined":
        assert found.reason
        assert np.isnan(found.nats)
        return
    assert np.isfinite(found.nats)
    if member.takes_classes:
        counts = np.bincount(sample.y) / len(sample.y)
        assert found.ceiling == pytest.approx(-(counts * np.log(counts)).sum())
    if member.capped:
        assert found.nats <= found.ceiling + 1e-12
    if member.pointwise:
        assert np.isfinite(found.local).all()
        assert found.local.mean() == pytest.approx(raw(found), abs=1e-9)
        assert found.standard_error >= 0


@holds_for(lambda member: member.swaps)
def sides_can_be_swapped(member, shape):
    sample = draw(member, shape, "classes" if member.counts else "numbers")
    x = sample.x[:, 0]
    assert estimate_quietly(member, x, sample.y).nats == pytest.approx(
        estimate_quietly(member, sample.y, x).nats, abs=1e-12
    )


@holds_for(lambda member: member.grouped)
def names_of_groups(member, shape):
    sample = draw(member, shape)
    groups = np.arange(len(sample.y)) // 2
    one = estimate_quietly(member, sample.x, sample.y, groups)
    for names in (groups + 100, [f"text {g}" for g in groups], torch.tensor(groups), 1000 - groups):
        assert_same(member, one, estimate_quietly(member, sample.x, sample.y, names), 1e-9)


@holds_for(lambda member: member.grouped)
def groups_of_one_row_are_no_groups(member, shape):
    sample = draw(member, shape)
    one, other = (
        estimate_quietly(member, sample.x, sample.y),
        estimate_quietly(member, sample.x, sample.y, np.arange(len(sample.y))),
    )
    if one.status == other.status == "ok":
        assert_same(member, one, other, 1e-9)
        assert other.standard_error == pytest.approx(one.standard_error, rel=1e-9)


@holds_for(everybody)
def a_constant_state_holds_nothing(member, shape):
    sample = draw(member, shape)
    found = estimate_quietly(member, np.full_like(sample.x, 7), sample.y)
    if member.noisy:  # its noise is what it reads; kept as it is, for comparison
        assert abs(found.nats) < 1
        return
    assert (found.status, found.nats, found.reason) == ("ok", 0.0, "constant state")
    assert not found.local.any()


@holds_for(lambda member: member.takes_classes)
def a_single_class_is_undefined(member, shape):
    sample = draw(member, shape, "classes")
    found = estimate_quietly(member, sample.x, np.zeros(len(sample.y), dtype=int))
    assert (found.status, found.reason, found.ceiling) == ("undefined", "a single class", 0.0)
    assert np.isnan(found.nats)


def cases(members: list[Member]) -> list[Any]:
    return [
        pytest.param(member, check, id=f"{member}-{check.__name__}")
        for check, applies in PROPERTIES
        for member in members
        if applies(member)
    ]


@pytest.mark.parametrize(("member", "check"), cases(CHEAP))
@settings(max_examples=5, deadline=None, derandomize=True)
@given(shape=shapes)
def test_property(member, check, shape):
    check(member, shape)


@pytest.mark.parametrize(("member", "check"), cases(COSTLY))
@settings(max_examples=2, deadline=None, derandomize=True)
@given(shape=shapes)
def test_property_of_a_costly_member(member, check, shape):
    check(member, shape)


# --- in expectation ---------------------------------------------------------------------------------------------------


def mean_of_draws(member: Member, strength: float, noise: float, draws: int, n: int) -> tuple[float, float]:
    """Mean raw value over fresh draws and its standard error."""
    width = 1 if member.counts else min(2, member.width)
    units = []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 1])
        y = rng.permutation(np.arange(n) % 2) if member.takes_classes else rng.standard_normal(n)
        x = strength * np.outer(y - y.mean(), [1.0, 0.5][:width]) + rng.standard_normal((n, width))
        x = x + noise * rng.standard_normal(x.shape)
        units.append(Unit(x=np.clip(np.round(x), -3, 3) if member.counts else x, y=y))
    values = [raw(found) for found in member.estimator.estimate_many(units)]
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(draws))


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_near_nothing_at_independence(member):
    draws = 6 if member.costly else 30
    mean, error = mean_of_draws(member, 0.0, 0.0, draws, 200)
    assert abs(mean) <= member.independence + 4 * error


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@pytest.mark.parametrize("member", [member for member in MEMBERS if member.takes_numbers], ids=str)
def test_near_nothing_at_independence_of_several_outputs(member, columns):
    if columns > member.outputs:
        pytest.skip("it takes one column, and says so elsewhere")
    draws = 5 if member.costly else 20
    states, outputs = np.random.default_rng(2), np.random.default_rng(3)
    values = [
        estimate_quietly(
            member, states.standard_normal((150, min(3, member.width))), outputs.standard_normal((150, columns))
        ).nats
        for _ in range(draws)
    ]
    assert abs(np.mean(values)) <= member.independence + 4 * np.std(values, ddof=1) / np.sqrt(draws)


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_noise_lowers_the_value(member):
    draws = 3 if member.costly else 8
    values = [mean_of_draws(member, 2.0, noise, draws, 200)[0] for noise in (0.0, 1.0, 4.0)]
    assert values[0] > values[1] > values[2]
    assert values[0] > 0.2
