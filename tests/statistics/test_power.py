import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from mi_attention.statistics import (
    POWER_COLUMNS,
    crossed_interval,
    difference_spread,
    power_table,
    sign_flip_p,
    sign_flip_power,
)


def plan(seeds: list[int], **options: object) -> object:
    arguments = {"difference": 0.1, "seed_spread": 0.1, "n_studies": 1000}
    return power_table(seeds, **{**arguments, **options})


def test_t_power_equals_statsmodels_and_is_alpha_without_effect() -> None:
    table = plan([6, 20]).set_index(["test", "n_seeds"])
    for seeds in (6, 20):
        expected = TTestPower().power(effect_size=1.0, nobs=seeds, alpha=0.05)
        assert table.loc[("t of seed means", seeds), "power"] == pytest.approx(expected, abs=1e-6)
        needed = TTestPower().solve_power(nobs=seeds, alpha=0.05, power=0.8)
        found = table.loc[("t of seed means", seeds), "detectable_difference"]
        assert found == pytest.approx(0.1 * needed, rel=1e-3)
    assert list(plan([6]).columns) == list(POWER_COLUMNS)


def test_sign_flip_power_counts_real_tests() -> None:
    rng = np.random.default_rng(0)
    studies = rng.standard_normal((1500, 8)) + 1.0
    rate = np.mean([sign_flip_p(study) <= 0.05 for study in studies])
    assert sign_flip_power(1.0, 8, rng=1) == pytest.approx(rate, abs=3 * np.sqrt(2 * rate * (1 - rate) / 1500))
    # Without effect it is the level, 12 of 256 patterns at most.
    assert sign_flip_power(0.0, 8, rng=1) == pytest.approx(12 / 256, abs=0.012)
    # Above 12 seeds patterns are drawn; the power is close to that of t.
    expected = TTestPower().power(effect_size=0.7, nobs=16, alpha=0.05)
    assert sign_flip_power(0.7, 16, rng=2) == pytest.approx(expected, abs=0.03)


def test_a_family_that_cannot_reject_has_no_power_and_says_what_it_needs() -> None:
    row = plan([5, 8], family_size=6).set_index(["test", "n_seeds"])
    refused = row.loc[("sign flip of seed means", 5)]
    assert (refused["power"], refused["seeds_needed"]) == (0.0, 8)
    assert "needs 8" in refused["reason"]
    assert np.isnan(refused["detectable_difference"])
    assert row.loc[("sign flip of seed means", 8), "power"] > 0
    assert row.loc[("t of seed means", 5), "power"] > 0


def test_a_family_is_tested_at_its_share_of_alpha() -> None:
    of_four, alone = plan([9], family_size=4), plan([9], alpha=0.0125)
    for column in ("power", "detectable_difference"):
        np.testing.assert_allclose(of_four[column], alone[column])
    assert (of_four["power"] < plan([9])["power"]).all()


def test_detectable_difference_reaches_the_target_and_falls_with_seeds() -> None:
    table = plan([8, 10, 14], instances=50, instance_spread=0.1, residual_spread=0.3)
    for _, part in table.groupby("test"):
        assert part["detectable_difference"].is_monotonic_decreasing
    again = plan([10], difference=float(table["detectable_difference"].iloc[3]), instances=50, residual_spread=0.3)
    assert again["power"].iloc[0] == pytest.approx(0.8, abs=0.01)


def test_crossed_power_is_what_the_crossed_interval_does() -> None:
    table = plan([6], difference=0.12, instances=40, instance_spread=0.2, residual_spread=0.4).set_index("test")
    rng, hits = np.random.default_rng(3), 0
    for _ in range(600):
        values = 0.12 + 0.1 * rng.standard_normal((6, 1)) + 0.2 * rng.standard_normal((1, 40))
        found = crossed_interval(values + 0.4 * rng.standard_normal((6, 40)))
        hits += found.ci_low > 0 or found.ci_high < 0
    assert table.loc["t, seeds crossed with instances", "power"] == pytest.approx(hits / 600, abs=0.07)
    means = table.loc["t of seed means", "power"]
    deviation = np.sqrt(0.01 + 0.16 / 40)
    assert means == pytest.approx(TTestPower().power(0.12 / deviation, 6, 0.05), abs=1e-6)


def test_spread_of_a_pilot() -> None:
    rng = np.random.default_rng(4)
    values = (
        0.2 * rng.standard_normal((60, 1)) + 0.3 * rng.standard_normal((1, 400)) + 0.5 * rng.standard_normal((60, 400))
    )
    found = difference_spread(values)
    assert (found.seeds, found.instances, found.residual) == pytest.approx((0.2, 0.3, 0.5), rel=0.2)
    assert difference_spread(rng.standard_normal((5, 300))).seeds < 0.2
    with pytest.raises(ValueError, match="run a pilot"):
        difference_spread(values[:1])


def test_simulation_is_seeded() -> None:
    assert plan([8], rng=5).equals(plan([8], rng=5))
    assert not plan([8], rng=5).equals(plan([8], rng=6))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": [1]}, "2 seeds"),
        ({"seeds": []}, "2 seeds"),
        ({"difference": 0.0}, "difference is"),
        ({"seed_spread": -1.0}, "seed_spread is"),
        ({"seed_spread": 0.0}, "both 0"),
        ({"target_power": 1.0}, "target_power 1"),
        ({"alpha": 0.9}, "alpha is 0.9"),
        ({"family_size": 0}, "size is 0"),
        ({"instances": 0}, "instances is 0"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(arguments.pop("seeds", [8]), **arguments)
    with pytest.raises(ValueError, match="n_studies"):
        sign_flip_power(1.0, 8, rng=0, n_studies=0)
