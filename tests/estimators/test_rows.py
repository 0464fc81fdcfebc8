import numpy as np
import pytest

from mi_attention.estimators import rows
from mi_attention.estimators.probe import Probe
from mi_attention.estimators.rows import standardise

# Scales of two columns at which squares overflow or underflow, down to subnormal numbers.
EXTREMES = [(1e160, 1.0), (1e-165, 1.0), (1e-200, 1e-200), (1e160, 1e160), (1e300, 1e-300), (4e307, 1.0), (1e-310, 1.0)]


def standardised(x):
    return np.vstack([block for _, _, block in standardise(x).blocks()])


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    return np.stack([y + rng.standard_normal(400), rng.standard_normal(400)], axis=1), y


@pytest.fixture(params=["kept", "block by block"])
def path(request, monkeypatch):
    if request.param != "kept":
        monkeypatch.setattr(rows, "KEPT_NUMBERS", 0)
        monkeypatch.setattr("mi_attention.estimators.samples.BLOCK_NUMBERS", 256)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("scale", EXTREMES)
def test_columns_of_any_scale_are_standardised_alike(states, scale):
    x, y = states
    scaled = np.clip(x, -3.5, 3.5)
    assert np.allclose(standardised(scaled * scale), standardised(scaled), rtol=1e-9, atol=1e-9)
    found = standardise(scaled * scale)
    assert not found.constant
    assert np.allclose(found.scale / scale, standardise(scaled).scale, rtol=1e-9)
    reader = Probe(members=("linear", "smooth"))
    assert reader.estimate(scaled * scale, y).nats == pytest.approx(reader.estimate(scaled, y).nats, abs=1e-7)


@pytest.mark.usefixtures("path")
def test_powers_of_two_change_no_digit(states):
    x, _ = states
    assert np.array_equal(standardised(x * 2.0**900), standardised(x * 1.0))
    assert np.array_equal(standardised(x * 2.0**-900), standardised(x * 1.0))


@pytest.mark.usefixtures("path")
def test_rows_mapped_from_disk_too(states, tmp_path):
    x, _ = states
    np.save(tmp_path / "x.npy", x * 1e-200)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.allclose(standardised(mapped), standardised(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 1e-300, 3.7, 1e200, 1.7e308])
def test_constant_columns_stay_constant_at_any_scale(states, value):
    x, _ = states
    assert standardise(np.full((100, 2), value)).constant
    beside = standardised(np.hstack([np.full((400, 1), value), x]))
    assert not beside[:, 0].any()
    assert np.array_equal(beside[:, 1:], standardised(x))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_named_beside_columns_of_extreme_scale(states, bad):
    x = states[0] * np.array([1e200, 1.0])
    x[17, 1] = bad
    with pytest.raises(ValueError, match="row 17, column 1"):
        standardise(x)
