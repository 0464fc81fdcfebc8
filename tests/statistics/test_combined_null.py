import itertools

import numpy as np
import pytest

from mi_attention.statistics import combined_shift_null, shift_null


def test_one_data_set_is_the_shift_null() -> None:
    information, attention = np.random.default_rng(0).standard_normal((2, 3, 9))
    one, alone = combined_shift_null([(information, attention)]), shift_null(information, attention)
    assert (one.statistic, one.p, one.smallest_p) == pytest.approx((alone.statistic, alone.p, alone.smallest_p))
    assert one.null_mean == pytest.approx(alone.null_mean)


def test_two_data_sets_by_enumeration() -> None:
    rng = np.random.default_rng(1)
    data = [tuple(rng.standard_normal((2, 1, length))) for length in (4, 5)]
    found = combined_shift_null(data)

    def mean_tau(shifts: tuple[int, int]) -> float:
        moved = [shift_null(np.roll(m[0], -k), a[0]).statistic for (m, a), k in zip(data, shifts, strict=True)]
        return float(np.mean(moved))

    everything = [mean_tau(shifts) for shifts in itertools.product(range(4), range(5))]
    assert found.n_transforms == 19
    assert found.smallest_p == 1 / 20
    assert found.p == pytest.approx(np.mean(np.array(everything) >= everything[0] - 1e-12))
    assert found.by_data == pytest.approx([shift_null(m, a).statistic for m, a in data])


def test_perfect_agreement_reaches_what_one_data_set_cannot() -> None:
    profile = [4.0, 1.0, 2.0, 3.0, 0.0]
    assert shift_null(profile, profile).p == 0.2
    assert combined_shift_null([(profile, profile)] * 2).p == 1 / 25


def test_many_combinations_are_drawn_and_agree_with_all() -> None:
    rng = np.random.default_rng(2)
    data = [(m, m + 1.2 * rng.standard_normal(14)) for m in rng.standard_normal((3, 14))]
    drawn, every = combined_shift_null(data, n_resamples=2000, rng=1), combined_shift_null(data, n_resamples=2743)
    assert (drawn.n_transforms, every.n_transforms) == (2000, 14**3 - 1)
    assert drawn.p == pytest.approx(every.p, abs=3 * np.sqrt(every.p / 2000) + 1e-3)
    assert drawn == combined_shift_null(data, n_resamples=2000, rng=1)


@pytest.mark.parametrize("method", ["blocks", "permutation"])
def test_drawn_transforms_keep_the_statistic(method: str) -> None:
    rng = np.random.default_rng(3)
    data = [tuple(rng.standard_normal((2, 2, 40))) for _ in range(2)]
    found = combined_shift_null(data, method=method, n_resamples=99, rng=4)
    assert found.statistic == pytest.approx(np.mean([shift_null(m, a).statistic for m, a in data]))
    assert found.n_transforms == 99
    assert abs(found.null_mean) < 0.1


def test_undefined_data_sets_are_left_out_and_counted() -> None:
    information, attention = np.random.default_rng(5).standard_normal((2, 2, 8))
    found = combined_shift_null([(information, attention), (np.ones((1, 6)), attention[:1, :6])])
    assert (found.n_data, found.n_data_undefined, found.n_runs, found.n_runs_undefined) == (1, 1, 2, 1)
    assert found.p == shift_null(information, attention).p
    assert found.table()["degenerate_share"].iloc[0] == pytest.approx(1 / 3)
    nothing = combined_shift_null([(np.ones((1, 6)), attention[:1, :6])])
    assert nothing.reason
    assert np.isnan([nothing.p, nothing.statistic]).all()
    with pytest.raises(ValueError, match="data_sets is empty"):
        combined_shift_null([])
    with pytest.raises(ValueError, match="n_resamples is 0"):
        combined_shift_null([(information, attention)], n_resamples=0)
