import itertools

import numpy as np
import pytest
from scipy import stats

from mi_attention.statistics import crossed_interval, curvature, jonckheere, page_trend, seed_interval, theil_sen_slope

AT = [0.25, 0.5, 1.0, 2.0]
LOG = np.log(AT)


def runs(slope: float, seeds: int = 8) -> np.ndarray:
    return slope * LOG + np.random.default_rng(0).standard_normal((seeds, 4))


def test_page_direction_and_scipy() -> None:
    values = runs(-1.0)
    falling, rising = (page_trend(values, rising=way).iloc[0] for way in (False, True))
    assert falling["p"] == pytest.approx(stats.page_trend_test(-values).pvalue)
    assert falling["p"] < 0.01 < 0.9 < rising["p"]
    taus = [stats.kendalltau(row, AT).statistic for row in values]
    assert falling["estimate"] == pytest.approx(np.mean(taus))
    assert falling["ci_low"] == pytest.approx(seed_interval(taus).ci_low)
    values[2, 1] = np.nan
    left = page_trend(values, rising=False).iloc[0]
    assert (left["n_seeds"], left["degenerate_share"]) == (7, 1 / 8)
    assert page_trend(values[:1], rising=True)["reason"].iloc[0]


def test_jonckheere_by_enumeration() -> None:
    at, values = np.array([1.0, 1.0, 2.0, 2.0, 4.0]), np.array([0.1, 0.5, 0.4, 0.9, 0.8])

    def statistic(order: tuple[int, ...]) -> int:
        moved = values[list(order)]
        return sum(int(moved[j] > moved[i]) for i, j in itertools.combinations(range(5), 2) if at[i] < at[j])

    every = [statistic(order) for order in itertools.permutations(range(5))]
    exact = np.mean(np.array(every) >= statistic((0, 1, 2, 3, 4)))
    found = jonckheere(at, values, rising=True, rng=0).iloc[0]
    assert found["p"] == pytest.approx(exact, abs=0.015)
    assert found["estimate"] == pytest.approx(stats.kendalltau(at, values).statistic)
    assert jonckheere(at, values, rising=False, rng=0)["p"].iloc[0] > 0.8
    undefined = jonckheere(at, [np.nan] * 5, rising=True, rng=0).iloc[0]
    assert undefined["reason"]
    assert np.isnan(undefined["p"])


def test_theil_sen_equals_scipy() -> None:
    values = np.random.default_rng(1).standard_normal((5, 4, 6))
    slopes = np.array([[stats.theilslopes(values[s, :, i], LOG).slope for i in range(6)] for s in range(5)])
    by_instance, by_seed = theil_sen_slope(AT, values).iloc[0], theil_sen_slope(AT, values[:, :, 0]).iloc[0]
    crossed, seeds = crossed_interval(slopes), seed_interval(slopes[:, 0])
    assert (by_instance["estimate"], by_instance["ci_low"]) == pytest.approx((crossed.estimate, crossed.ci_low))
    assert (by_seed["estimate"], by_seed["ci_low"]) == pytest.approx((seeds.estimate, seeds.ci_low))
    # Repeated temperatures have no slope between them.
    twice = theil_sen_slope([1, 1, 2], [[0.0, 1.0, 3.0], [0.0, 2.0, 3.0]])["estimate"].iloc[0]
    expected = [stats.theilslopes(row, np.log([1, 1, 2])).slope for row in ([0, 1, 3], [0, 2, 3])]
    assert twice == pytest.approx(np.mean(expected))


def test_slope_of_a_line_and_undefined_runs() -> None:
    values = 2 * LOG + np.arange(6)[:, None] + 0.01 * np.random.default_rng(2).standard_normal((6, 4))
    values[1, 0] = np.nan
    found = theil_sen_slope(AT, values, effect_unit="nats").iloc[0]
    assert found["estimate"] == pytest.approx(2, abs=0.02)
    assert (found["n_seeds"], found["p"], found["effect_unit"]) == (5, 2 / 32, "nats")


def test_curvature_of_a_parabola() -> None:
    values = -1.5 * (LOG - 0.2) ** 2 + 0.001 * np.random.default_rng(3).standard_normal((8, 4))
    table = curvature(AT, values, effect_unit="tau").set_index("quantity")
    assert table["estimate"].to_numpy() == pytest.approx(
        [-1.5, -3 * (LOG[0] - 0.2), -3 * (LOG[-1] - 0.2), 0.2], abs=0.01
    )
    assert table.loc["turning point in log temperature", "p"] == 2 / 2**8
    assert table["effect_unit"].tolist() == ["tau"] * 3 + ["log temperature"]
    by_instance = curvature(AT, np.repeat(values[:, :, None], 3, axis=2) + np.arange(3)).iloc[0]
    assert by_instance["estimate"] == pytest.approx(table["estimate"].iloc[0])


def test_a_curved_course_that_does_not_turn_is_no_turn() -> None:
    values = np.exp(2 * LOG) + 0.01 * np.random.default_rng(4).standard_normal((8, 4)) + 3 * LOG
    table = curvature(AT, values).set_index("quantity")
    assert table.loc["quadratic term of log temperature", "p"] == 2 / 2**8
    last = table.loc["turning point in log temperature"]
    assert (last["p"], last["reason"]) == (1.0, "no turning point inside the range")
    assert np.isnan(last["estimate"])


def test_trends_of_roundings_are_none() -> None:
    # Every column one rounding above the last: ranks in perfect order, of nothing.
    level = np.random.default_rng(6).random((8, 1)) + 1
    values = level + np.arange(4) * np.spacing(1.0)
    assert (np.diff(values, axis=1) > 0).all(), "rounding must make them differ, or this tests nothing"
    page = page_trend(values, rising=True).iloc[0]
    assert np.isnan(page["p"])
    assert page["reason"]
    flat = jonckheere(np.tile(AT, 2), 1 + np.tile(np.arange(4), 2) * np.spacing(1.0), rising=True, rng=0).iloc[0]
    assert np.isnan(flat["p"])
    assert flat["reason"] == "fewer than two temperatures or values"
    for table in (theil_sen_slope(AT, values), curvature(AT, values).iloc[:3]):
        assert (table["estimate"] == 0).all()
        assert (table["p"] == 1).all()
    # A line has no curvature, whatever the rounding of its fit.
    line = curvature(AT, level + LOG * np.arange(1, 9)[:, None]).iloc[0]
    assert (line["estimate"], line["p"]) == (0, 1)
    nothing = page_trend(np.full((3, 4), np.nan), rising=True).iloc[0]
    assert np.isnan(nothing["p"])
    assert nothing["reason"]
    assert jonckheere([], [], rising=True, rng=0)["reason"].iloc[0]
    assert np.isnan(theil_sen_slope(AT, np.empty((0, 4)))["p"].iloc[0])


def test_slopes_of_many_seeds_have_a_p_that_sampling_can_reach() -> None:
    many = theil_sen_slope(AT, LOG + np.random.default_rng(7).standard_normal((25, 4)) / 10).iloc[0]
    assert many["p"] == many["smallest_p"] == 1 / 100_000
    assert many["test"].startswith("sampled sign flip")
    assert theil_sen_slope(AT, runs(1.0)).iloc[0]["test"].startswith("exact sign flip")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: page_trend(np.ones((3, 2)), rising=True), "at least 3 columns"),
        (lambda: theil_sen_slope([1, 2, -1], np.ones((2, 3))), "one positive temperature"),
        (lambda: theil_sen_slope([1, 2], np.ones((2, 3))), "one positive temperature"),
        (lambda: curvature([1, 2, 2], np.ones((2, 3))), "at least 3 different"),
        (lambda: page_trend(np.full((2, 3), np.inf), rising=True), "infinity"),
        (lambda: jonckheere([1, 2], [1, 2, 3], rising=True, rng=0), r"must both be \(R,\)"),
        (lambda: jonckheere([1, 2], [1, 2], rising=True, rng=0, n_resamples=0), "n_resamples is 0"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
