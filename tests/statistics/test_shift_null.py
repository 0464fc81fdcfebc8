import time
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mi_attention.measures import kendall_tau_b
from mi_attention.statistics import AttentionOrder, attention_order, lag_one_autocorrelation, shift_null


def direct_mean_tau(profile: np.ndarray, attention: np.ndarray) -> float:
    taus = [stats.kendalltau(profile, row, variant="b").statistic for row in attention if np.ptp(row) > 0]
    return float(np.mean(taus))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(2, 15), levels=st.sampled_from([2, 4, 1000]))
def test_sign_matrix_identity(seed: int, length: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    attention = rng.integers(0, levels, (12, length)).astype(float)
    profile = rng.integers(0, levels, length).astype(float)
    attention[0] = np.arange(length)  # at least one with an order
    profile[0] = profile[1:].max() + 1
    order = attention_order(attention)
    assert order.n_instances + order.n_undefined == 12
    assert order.mean_tau_b(profile)[0] == pytest.approx(direct_mean_tau(profile, attention), abs=1e-12)


def test_constant_profile_has_no_tau() -> None:
    order = attention_order(np.random.default_rng(0).random((5, 6)))
    np.testing.assert_array_equal(order.mean_tau_b(np.ones((2, 6))), [np.nan, np.nan])


def test_shift_test_by_hand() -> None:
    # m = a = (4, 1, 2, 3): tau 1. Shifts of m: (1,2,3,4), (2,3,4,1), (3,4,1,2) have tau with a of 0, -2/3, 0:
    # signs of a over 01,02,03,12,13,23: + + + - - -; of (1,2,3,4) all -: -3+3 = 0; of (2,3,4,1): - - + - + +:
    # -1-1+1+1-1-1 = -2; of (3,4,1,2): - + + + + -: -1+1+1-1-1+1 = 0. So p = 1/4.
    found = shift_null([4, 1, 2, 3], [4, 1, 2, 3])
    assert found.statistic == pytest.approx(1, abs=1e-14)
    assert found.null_mean == pytest.approx(-2 / 6 / 3)
    assert found.p == found.smallest_p == 0.25
    assert found.n_transforms == 3


def test_all_runs_are_shifted_together() -> None:
    rng = np.random.default_rng(1)
    information, attention = rng.random((2, 3, 9))
    found = shift_null(information, attention)
    null = [
        np.mean([direct_mean_tau(np.roll(information[s], k), attention[s : s + 1]) for s in range(3)])
        for k in range(1, 9)
    ]
    assert found.null_mean == pytest.approx(np.mean(null), abs=1e-12)
    assert found.p == (1 + np.sum(np.array(null) >= found.statistic - 1e-12)) / 9


def test_instances_and_their_repetition_give_the_same_test() -> None:
    rng = np.random.default_rng(2)
    information = rng.random((2, 10))
    attention = rng.random((2, 7, 10))
    once = shift_null(information, [attention_order(rows) for rows in attention])
    twice = shift_null(information, [attention_order(np.tile(rows, (3, 1))) for rows in attention])
    assert (once.statistic, once.p) == pytest.approx((twice.statistic, twice.p), abs=1e-12)
    direct = np.mean([direct_mean_tau(information[s], attention[s]) for s in range(2)])
    assert once.statistic == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize("method", ["shift", "blocks", "permutation"])
def test_monotone_maps_change_nothing_and_seeds_repeat(method: str) -> None:
    rng = np.random.default_rng(3)
    information, attention = rng.standard_normal((2, 2, 40))
    first = shift_null(information, attention, method=method, n_resamples=99, rng=4)
    second = shift_null(np.exp(information), attention**3, method=method, n_resamples=99, rng=4)
    assert (first.statistic, first.p, first.null_low) == pytest.approx((second.statistic, second.p, second.null_low))


def test_permutation_agrees_with_scipy() -> None:
    rng = np.random.default_rng(5)
    information = rng.standard_normal(9)
    attention = 0.5 * information + rng.standard_normal(9)
    expected = stats.permutation_test(
        (information,),
        lambda m: stats.kendalltau(m, attention).statistic,
        permutation_type="pairings",
        n_resamples=1999,
        alternative="greater",
        rng=np.random.default_rng(6),
        vectorized=False,
    ).pvalue
    found = shift_null(information, attention, method="permutation", n_resamples=19_999, rng=7)
    assert found.p == pytest.approx(expected, abs=0.04)


def test_blocks_keep_neighbours_together() -> None:
    # A single step up has one boundary; permuting blocks of 8 of 32 positions keeps every block constant.
    information = np.repeat([0.0, 1.0, 2.0, 3.0], 8)
    attention = np.random.default_rng(8).random(32)
    found = shift_null(information, attention, method="blocks", block=8, n_resamples=50, rng=1)
    assert found.block == 8
    assert found.lag_one_information > 0.8
    assert abs(found.lag_one_attention) < 0.5


def test_runs_without_an_order_are_left_out_and_counted() -> None:
    rng = np.random.default_rng(9)
    information, attention = rng.random((2, 3, 8))
    information[1], attention[2] = 0.5, 0.125
    found = shift_null(information, attention)
    assert (found.n_runs, found.n_runs_undefined, found.n_instances_undefined) == (1, 2, 1)
    assert found.statistic == pytest.approx(kendall_tau_b(attention[0], information[0]).values[0])
    nothing = shift_null(information[1:], attention[1:])
    assert nothing.reason
    assert np.isnan(nothing.p)


def test_lag_one_by_hand() -> None:
    # (1, 2, 3): centred (-1, 0, 1): products 0 + 0 over 2. (1, -1, 1, -1): -3/4.
    assert lag_one_autocorrelation([1, 2, 3]) == 0
    assert lag_one_autocorrelation([1, -1, 1, -1]) == -0.75
    assert np.isnan(lag_one_autocorrelation([2, 2, 2]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attention": np.ones((2, 9))}, "runs of T"),
        ({"attention": np.ones((3, 8))}, "runs of T"),
        ({"information": np.full((2, 8), np.nan)}, "NaN"),
        ({"attention": np.full((2, 8), np.nan)}, "NaN"),
        ({"method": "blocks", "rng": 0, "block": 3}, "four blocks"),
        ({"method": "permutation"}, "give rng"),
        ({"method": "other", "rng": 0}, "method"),
        ({"alternative": "less"}, "alternative"),
        ({"method": "permutation", "rng": 0, "n_resamples": 0}, "n_resamples"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        shift_null(**{"information": rng.random((2, 8)), "attention": rng.random((2, 8)), **arguments})


def test_cost_of_permutations_does_not_depend_on_the_number_of_instances() -> None:
    rng = np.random.default_rng(10)
    profile = rng.standard_normal(25)

    def seconds(order: AttentionOrder) -> float:
        times = []
        for _ in range(3):
            start = time.process_time()
            shift_null(profile, [order], method="permutation", n_resamples=9999, rng=0)
            times.append(time.process_time() - start)
        return min(times)

    # A thousand times the instances; a loop over them would cost a thousand times as much.
    few, many = (seconds(attention_order(rng.random((n, 25)))) for n in (10, 10_000))
    assert many < 3 * few


def rejections(simulator: object, runs: int, *, seed: int = 0, instances: int = 0, **arguments: object) -> float:
    rng = np.random.default_rng(seed)
    method = arguments.pop("method", "shift")
    options = {} if method == "shift" else {"rng": rng, "n_resamples": 199}
    count = 0
    for _ in range(runs):
        information, attention = simulator(rng, **arguments)
        if instances:
            # 60 instances around each run's profile: many taus, one unit of evidence.
            logits = attention[:, None, :] + rng.standard_normal((len(attention), instances, attention.shape[1]))
            attention = [attention_order(rows) for rows in logits]
        count += shift_null(information, attention, method=method, **options).p <= 0.05
    return count / runs


def limit(runs: int) -> float:
    return 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("simulator", ["null_iid", "null_smooth", "null_shared"])
@pytest.mark.parametrize("instances", [0, 60])
def test_shift_holds_its_level(simulate: ModuleType, simulator: str, instances: int) -> None:
    seeds = 4 if simulator == "null_shared" else 1
    assert rejections(getattr(simulate, simulator), 200, instances=instances, seeds=seeds, length=20) <= limit(200)


def test_blocks_and_permutation_hold_their_level_where_they_apply(simulate: ModuleType) -> None:
    assert rejections(simulate.null_iid, 200, method="permutation", seeds=2, length=15) <= limit(200)
    assert rejections(simulate.null_smooth, 200, method="blocks", length=60) <= limit(200)


def test_plain_permutation_fails_on_smooth_profiles_as_documented(simulate: ModuleType) -> None:
    assert rejections(simulate.null_smooth, 200, method="permutation", length=20) > limit(200)


def test_power(simulate: ModuleType) -> None:
    assert rejections(simulate.planted, 100, seeds=4, length=40, strength=0.8) >= 0.7


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["null_iid", "null_smooth", "null_shared"])
@pytest.mark.parametrize(("method", "length"), [("shift", 20), ("shift", 60), ("blocks", 80)])
def test_level_long(simulate: ModuleType, simulator: str, method: str, length: int) -> None:
    seeds = 8 if simulator == "null_shared" else 1
    assert rejections(getattr(simulate, simulator), 2000, method=method, seeds=seeds, length=length) <= limit(2000)
