from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from mi_attention.measures import kendall_tau_b
from mi_attention.statistics import partner_null
from mi_attention.statistics import partner_null as partner_null_function


def tau_matrix(information: np.ndarray, attention: np.ndarray) -> np.ndarray:
    return np.array([[stats.kendalltau(i, a).statistic for a in attention] for i in information])


def test_statistic_and_null_mean_equal_all_pairs() -> None:
    rng = np.random.default_rng(0)
    offsets = np.cumsum([0, 5, 4, 5, 4, 5, 7])
    information = rng.integers(0, 4, (2, 30)).astype(float) + 0.001 * np.arange(30)
    attention = rng.integers(0, 3, (2, 30)).astype(float)
    for i in range(6):
        attention[:, offsets[i]] = 9
    found = partner_null(information, attention, offsets, rng=0, n_resamples=50)
    own, others = [], []
    for length in (5, 4):
        starts = offsets[:-1][np.diff(offsets) == length]
        matrices = [
            tau_matrix(*([column[s : s + length] for s in starts] for column in (information[r], attention[r])))
            for r in range(2)
        ]
        mean = np.mean(matrices, axis=0)
        own += list(np.diag(mean))
        others += [np.delete(mean[i], i).mean() for i in range(len(starts))]
    assert found.statistic == pytest.approx(np.mean(own), abs=1e-12)
    assert found.null_mean == pytest.approx(np.mean(others), abs=1e-12)
    assert found.excess == pytest.approx(np.mean(own) - np.mean(others), abs=1e-12)
    assert (found.n_instances, found.n_without_partner, found.n_undefined) == (5, 1, 0)


def test_statistic_is_the_mean_tau_b(simulate: ModuleType) -> None:
    information, attention, offsets = simulate.pointwise(np.random.default_rng(1), np.full(20, 6), 1, 0.3)
    found = partner_null(information[0], attention[0], offsets, rng=0)
    assert found.statistic == pytest.approx(kendall_tau_b(attention[0], information[0], offsets).mean(), abs=1e-12)


def test_blocks_of_pairs_and_rows_change_nothing(monkeypatch: pytest.MonkeyPatch, simulate: ModuleType) -> None:
    information, attention, offsets = simulate.pointwise(np.random.default_rng(2), np.full(11, 9), 2, 0.3)
    whole = partner_null(information, attention, offsets, rng=3, n_resamples=40)
    module = partner_null_function.__globals__
    monkeypatch.setitem(module, "_BLOCK_SIGNS", 70)
    monkeypatch.setitem(module, "_BLOCK_TAUS", 30)
    blocked = partner_null(information, attention, offsets, rng=3, n_resamples=40)
    for name in ("statistic", "null_mean", "null_low", "null_high", "p"):
        assert getattr(whole, name) == pytest.approx(getattr(blocked, name), abs=1e-12)


def test_two_instances_swap_half_of_the_time() -> None:
    # Maps of two instances: stay or swap. Own taus 1 and 1, swapped -1 and -1: maps reach 1 about half of the time,
    # so p is near .5 and not 1/(1+B), which derangements would claim.
    information = np.array([1.0, 2, 3, 3, 2, 1])
    found = partner_null(information, information, [0, 3, 6], rng=0, n_resamples=999)
    assert (found.statistic, found.null_mean) == (1.0, -1.0)
    assert found.p == pytest.approx(0.5, abs=0.06)


def test_undefined_and_lonely_instances_are_counted() -> None:
    information = np.array([1.0, 2, 2, 2, 1, 3, 5, 1, 2, 3, 7])
    attention = np.array([0.4, 0.6, 0.5, 0.5, 0.7, 0.3, 1, 0.2, 0.3, 0.5, 1])
    found = partner_null(information, attention, [0, 2, 4, 6, 7, 10, 11], rng=0, n_resamples=20)
    # Lengths 2, 2 (constant), 2, 1, 3 (alone), 1.
    assert (found.n_instances, found.n_undefined, found.n_without_partner) == (2, 3, 1)
    nothing = partner_null(information[:3], attention[:3], [0, 2, 3], rng=0)
    assert nothing.reason == "no two defined instances of the same length"
    assert np.isnan(nothing.p)


def test_long_instances_are_sampled_and_say_so() -> None:
    rng = np.random.default_rng(4)
    information = rng.standard_normal((6, 80))
    attention = information + rng.standard_normal((6, 80))
    offsets = np.arange(7) * 80
    exact = partner_null(information.ravel(), attention.ravel(), offsets, rng=0)
    sampled = partner_null(information.ravel(), attention.ravel(), offsets, rng=0, max_pairs=1500)
    assert (exact.n_sampled, sampled.n_sampled) == (0, 6)
    # 6 × 1500 pairs: the error of a mean of ±1 over them is about .01.
    assert sampled.statistic == pytest.approx(exact.statistic, abs=0.05)


def test_common_position_alone_is_no_agreement(simulate: ModuleType) -> None:
    information, attention, offsets = simulate.pointwise(np.random.default_rng(5), np.full(60, 8), 3, 0.0)
    found = partner_null(information, attention, offsets, rng=0)
    assert found.statistic > 0.2
    assert abs(found.excess) < 0.06
    assert found.p > 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attention": np.ones(5)}, "must both"),
        ({"information": np.array([np.nan, 1, 2, 3])}, "information holds NaN"),
        ({"offsets": [0, 3]}, "rise strictly"),
        ({"n_resamples": 0}, "at least 1"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    base = {"information": np.arange(4.0), "attention": np.arange(4.0), "offsets": [0, 2, 4], "rng": 0}
    with pytest.raises(ValueError, match=message):
        partner_null(**{**base, **arguments})


LAYOUTS = {
    "ragged": lambda rng: rng.integers(4, 11, 30),
    "two a length": lambda rng: np.repeat(np.arange(4, 12), 2),
    "three a length": lambda rng: np.repeat(np.arange(4, 10), 3),
    "one length": lambda rng: np.full(25, 7),
}


def rejections(simulate: ModuleType, layout: str, seeds: int, strength: float, runs: int) -> float:
    rng, count = np.random.default_rng(seeds), 0
    for _ in range(runs):
        information, attention, offsets = simulate.pointwise(rng, LAYOUTS[layout](rng), seeds, strength)
        count += partner_null(information, attention, offsets, rng=rng, n_resamples=199).p <= 0.05
    return count / runs


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seeds", [1, 3])
def test_level(simulate: ModuleType, layout: str, seeds: int) -> None:
    assert rejections(simulate, layout, seeds, 0.0, 200) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_power(simulate: ModuleType) -> None:
    assert rejections(simulate, "one length", 3, 0.3, 60) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seeds", [1, 8])
def test_level_long(simulate: ModuleType, layout: str, seeds: int) -> None:
    assert rejections(simulate, layout, seeds, 0.0, 2000) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
