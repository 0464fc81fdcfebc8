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
