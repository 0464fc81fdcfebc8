import numpy as np
import pytest

from mi_attention.estimators.discrete import Discrete
from mi_attention.estimators.samples import SmallSampleWarning


def from_table(table):
    """x and y whose counts are exactly the table."""
    x, y = np.indices(np.shape(table))
    return np.repeat(x.ravel(), np.ravel(table)), np.repeat(y.ravel(), np.ravel(table))


def test_binary_symmetric_channel():
    # Equal inputs, flip probability .1: I = log 2 − H(.1) = .6931 − .3251 = .3681 nats.
    x, y = from_table([[450, 50], [50, 450]])
    found = Discrete(correction="none").estimate(x, y)
    assert found.nats == pytest.approx(np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1), abs=1e-12)
    # All 4 pairs of 2 × 2 values occur: minus (4 − 2 − 2 + 1)/2n = 1/2000.
    assert Discrete().estimate(x, y).nats == pytest.approx(found.nats - 1 / 2000, abs=1e-12)
    # The pointwise values are log 1.8 and log .2; their variance is p(1 − p) log² 9.
    assert found.standard_error == pytest.approx(np.sqrt(0.09 / 999) * np.log(9), rel=1e-9)
    assert found.ceiling == pytest.approx(np.log(2))


def test_the_correction_removes_the_bias_at_independence():
    rng = np.random.default_rng(0)
    values = {"none": [], "miller-madow": []}
    for _ in range(300):
        x, y = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
        for correction, found in values.items():
            found.append(Discrete(correction=correction).estimate(x, y).nats)
    # Plug-in: (4 − 1)(3 − 1)/2n = .015.
    assert np.mean(values["none"]) == pytest.approx(0.015, abs=0.002)
    assert np.mean(values["miller-madow"]) == pytest.approx(0.0, abs=0.0015)
    assert min(values["none"]) >= 0


def test_symmetric_and_the_same_from_any_container():
    rng = np.random.default_rng(1)
    c, d = rng.integers(0, 3, 500), rng.integers(0, 2, 500)
    d = np.where(rng.random(500) < 0.5, c % 2, d)
    plain = Discrete().estimate(c, d)
    assert Discrete().estimate(d, c).nats == pytest.approx(plain.nats, abs=1e-12)
    names = np.array(["x", "y", "z"])[c]
    for x, y in ((names, d == 1), (c.tolist(), d.astype(str)), (c.astype(float), d[:, None]), (2 - c, 1 - d)):
        assert Discrete().estimate(x, y).nats == pytest.approx(plain.nats, abs=1e-12)


def test_columns_together_are_one_symbol():
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 4000))
    assert abs(Discrete().estimate(a, a ^ b).nats) < 0.005
    both = Discrete().estimate(np.stack([a, b], axis=1), a ^ b)
    assert both.nats == pytest.approx(np.log(2), abs=0.001)
    # Many columns do not overflow the code of a row.
    wide = np.repeat(np.stack([a, b], axis=1), 40, axis=1)
    assert Discrete(correction="none").estimate(wide, a ^ b).nats == pytest.approx(
        Discrete(correction="none").estimate(np.stack([a, b], axis=1), a ^ b).nats, abs=1e-12
    )


def test_groups_widen_the_error():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(100), 10)
    x = rng.integers(0, 2, 100)[groups]
    y = np.where(rng.random(100) < 0.3, 1 - rng.integers(0, 2, 100), x[::10])[groups]
    alone, grouped = Discrete().estimate(x, y), Discrete().estimate(x, y, groups)
    assert grouped.standard_error > 3 * alone.standard_error
    assert grouped.nats < alone.nats


def test_sparse_cells_warn_and_measurements_are_refused():
    rng = np.random.default_rng(4)
    with pytest.warns(SmallSampleWarning, match="merge rare values"):
        Discrete().estimate(np.arange(60) % 30, np.arange(60) % 4)
    with pytest.raises(ValueError, match="x in column 1 holds 50 distinct float values"):
        Discrete().estimate(np.stack([np.arange(50) % 2, rng.standard_normal(50)], axis=1), np.arange(50) % 2)
    with pytest.raises(ValueError, match="y holds 50 distinct float"):
        Discrete().estimate(np.arange(50) % 2, rng.standard_normal(50))
    with pytest.raises(ValueError, match="correction must be"):
        Discrete(correction="jackknife")


def test_undefined_and_constant():
    y = np.arange(100) % 2
    assert Discrete().estimate(y, np.zeros(100, dtype=int)).reason == "a single class"
    constant = Discrete().estimate(np.full(100, "a"), y)
    assert (constant.nats, constant.reason) == (0.0, "constant state")
