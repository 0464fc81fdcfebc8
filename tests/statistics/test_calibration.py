import pytest

from tests.statistics.calibration import Case, cases

CASES = cases()


def name(case: Case) -> str:
    return f"{case.procedure}; {case.design}"


@pytest.mark.parametrize("case", [case for case in CASES if case.short], ids=name)
def test_rate_is_within_three_standard_errors(case: Case) -> None:
    runs = 200 // case.cost
    low, high = case.limits(runs)
    assert low <= case.rate(runs) <= high


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=name)
def test_rate_long(case: Case) -> None:
    """The rates of CALIBRATION.md, to within .005 for levels and .012 for coverages."""
    runs = 2000 // case.cost
    low, high = case.limits(runs)
    assert low <= case.rate(runs) <= high


@pytest.mark.parametrize(("p", "message"), [(float("nan"), "undefined"), (1.0, "at most one half")])
def test_a_p_that_never_says_anything_is_no_calibrated_p(p: float, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        Case("no test", "none", lambda rng: p, "level").rate(50)


def test_a_p_that_next_to_never_rejects_is_outside_of_its_limits() -> None:
    timid = Case("timid test", "none", lambda rng: float(rng.random() ** 0.6), "level")
    low, _ = timid.limits(2000)
    assert 0 < timid.rate(2000) < low
    assert Case("timid test", "none", timid.draw, "level", conservative="it is").limits(2000)[0] == 0
