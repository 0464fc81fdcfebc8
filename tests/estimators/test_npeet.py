import npeet_plus
import numpy as np
import pytest

from mi_attention.estimators import NPEET

RNG = np.random.default_rng(0)


def test_values_are_npeets_own_in_nats():
    y = np.arange(300) % 2
    x = RNG.standard_normal((300, 2)) + y[:, None]
    bits = npeet_plus.micd(x, y[:, None], k=3, base=2)
    assert NPEET().estimate(x, y).nats == pytest.approx(bits * np.log(2), abs=1e-6)
    other = x[:, 0] + RNG.standard_normal(300)
    bits = npeet_plus.mi(x, other, k=5, base=2)
    assert NPEET(k=5).estimate(x, other).nats == pytest.approx(bits * np.log(2), abs=1e-6)


def test_wide_states_warn_with_the_remedy():
    x, y = RNG.standard_normal((100, 9)), np.arange(100) % 2
    with pytest.warns(UserWarning, match="d = 9 .* use Probe"):
        NPEET().estimate(x, y)


def test_what_it_cannot_do_is_refused_or_flagged():
    x, y = RNG.standard_normal((60, 2)), np.arange(60) % 2
    with pytest.raises(ValueError, match="groups"):
        NPEET().estimate(x, y, np.arange(60))
    with pytest.raises(ValueError, match="a class has 2 rows but k=3 needs 4"):
        NPEET().estimate(x, np.r_[1, 1, np.zeros(58, dtype=int)])
    estimate = NPEET().estimate(x, y)
    assert np.isnan(estimate.local).all()
    assert "no pointwise values" in estimate.reason
    assert estimate.lower_bound is None
    assert "seed=0" in estimate.signature
    assert "nats" in estimate.signature
    assert NPEET(blocks=20).signature != NPEET().signature
    assert [e.nats for e in NPEET().estimate_many(x[None], y)] == [estimate.nats]


def test_a_jackknife_over_blocks_gives_its_error():
    # 40 samples of correlation .8: their spread is what the jackknife of one must find, within a third.
    values, errors = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(200)
        y = 0.8 * x + 0.6 * rng.standard_normal(200)
        values.append(NPEET().estimate(x, y).nats)
        if seed < 8:
            errors.append(NPEET(blocks=10).estimate(x, y).standard_error)
    assert 0.67 < np.mean(errors) / np.std(values) < 1.5
    assert NPEET(blocks=10).estimate(x, y).nats == values[-1]
    assert np.isnan(NPEET().estimate(x, y).standard_error)
    with pytest.raises(ValueError, match="blocks must be 0 or at least 2"):
        NPEET(blocks=1)
    with pytest.raises(ValueError, match="lower k or blocks"):
        NPEET(blocks=2).estimate(x, np.r_[np.ones(5, dtype=int), np.zeros(195, dtype=int)])
