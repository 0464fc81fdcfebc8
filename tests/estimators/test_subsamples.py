"""Intervals from disjoint parts of the rows."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import t

from mi_attention.estimators import KSG, NPEET, Mixture, Ross, interval, subsample_interval
from mi_attention.estimators.one_by_one import OneByOne
from mi_attention.interface import MIEstimate


@dataclass(frozen=True)
class Mean(OneByOne):
    """The mean of x, whose error is known."""

    signature: str = "mean"

    def estimate(self, x, y, groups=None):
        local = np.asarray(x, dtype=float)
        return MIEstimate(
            nats=float(local.mean()),
            lower_bound=None,
            local=local,
            standard_error=float("nan"),
            n=len(local),
            ceiling=None,
            status="ok",
            reason="",
            signature="mean",
            groups=groups,
        )


def test_the_error_of_a_mean():
    # The variance between parts is that within: averaged over splits it is s² / (n / 3).
    x, y = np.random.default_rng(0).standard_normal(600), np.arange(600) % 2
    found = subsample_interval(Mean(), Mean().estimate(x, y), x, y, seed=1)
    assert found.standard_error == pytest.approx(x.std() / np.sqrt(600), rel=0.35)
    assert found.high - found.low == pytest.approx(2 * t.ppf(0.975, 8) * found.standard_error)
    assert found.low == pytest.approx(x.mean() - t.ppf(0.975, 8) * found.standard_error)
    again = subsample_interval(Mean(), Mean().estimate(x, y), x, y, seed=1)
    assert again == found


def test_parts_hold_whole_groups():
    # Rows of a group agree: the error is that of 60 values, not of 600.
    groups = np.repeat(np.arange(60), 10)
    x = np.random.default_rng(0).standard_normal(60)[groups]
    y = groups % 2
    whole = Mean().estimate(x, y, groups)
    together = subsample_interval(Mean(), whole, x, y, groups, seed=1).standard_error
    apart = subsample_interval(Mean(), whole, x, y, seed=1).standard_error
    assert together == pytest.approx(x.std() / np.sqrt(60), rel=0.35)
    assert apart < 0.5 * together


def test_estimators_without_an_error_get_one():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 1))
    y = x[:, 0] + rng.standard_normal(150)
    whole = NPEET().estimate(x, y)
    assert interval(whole).reason
    found = subsample_interval(NPEET(), whole, x, y, seed=0)
    assert 0.02 < found.standard_error < 0.2


def test_outputs_of_several_whole_numbers_are_no_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 50, (120, 2))
    x = y[:, :1] + rng.standard_normal((120, 1))
    assert subsample_interval(KSG(), KSG().estimate(x, y), x, y, seed=0).standard_error > 0


def test_what_cannot_be_taken_apart_says_why():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 2)), np.arange(60) % 2
    whole = Ross().estimate(x, y)
    few = subsample_interval(Ross(), Ross().estimate(x[:29], y[:29]), x[:29], y[:29], seed=0)
    assert few.reason == "fewer than 30 independent rows to take apart"
    assert np.isnan(few.low)
    rare = np.arange(60) >= 58
    found = subsample_interval(Ross(), Ross().estimate(x, rare), x, rare, seed=0)
    assert found.reason.startswith("in a third of the rows: ")
    single = Ross().estimate(x, np.zeros(60, dtype=int))
    assert subsample_interval(Ross(), single, x, np.zeros(60, dtype=int), seed=0).reason == "a single class"
    with pytest.raises(ValueError, match="level is 2"):
        subsample_interval(Ross(), whole, x, y, seed=0, level=2)


def draw(n, width, strength, continuous, rng):
    x = rng.standard_normal((n, width))
    if continuous:
        return x, strength * x[:, 0] + np.sqrt(1 - strength**2) * rng.standard_normal(n)
    y = rng.integers(0, 2, n)
    x[:, 0] += 2 * strength * y
    return x, y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "n", "width", "strength", "continuous"),
    [
        (Ross(), 120, 3, 0.5, False),
        (Ross(), 500, 5, 0.4, False),
        (Ross(k=10), 500, 5, 0.4, False),
        (Ross(), 500, 2, 0.0, False),
        (KSG(), 300, 3, 0.5, True),
        (KSG(algorithm=2), 300, 1, 0.6, True),
        (Mixture(), 300, 1, 0.6, True),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_intervals_cover_where_those_of_independent_rows_do_not(estimator, n, width, strength, continuous):
    """Coverage of the mean value at a nominal 95 %, in 150 draws."""
    rows = []
    for seed in range(150):
        x, y = draw(n, width, strength, continuous, np.random.default_rng(seed))
        whole = estimator.estimate(x, y)
        parts, plain = subsample_interval(estimator, whole, x, y, seed=seed), interval(whole)
        rows.append((whole.nats, parts.low, parts.high, plain.low, plain.high))
    values, low, high, plain_low, plain_high = np.array(rows).T
    centre = values.mean()
    covered = np.mean((low <= centre) & (centre <= high))
    plain_covered = np.mean((plain_low <= centre) & (centre <= plain_high))
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 150)
    assert plain_covered <= covered
