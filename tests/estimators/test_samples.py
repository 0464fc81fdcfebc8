import numpy as np
import pandas as pd
import pytest
import torch

from mi_attention.estimators import KSG, NPEET, Discrete, Mixture, Probe, Ross, cluster_standard_error
from mi_attention.estimators.rows import standardise
from mi_attention.estimators.samples import as_groups, as_states, as_units
from mi_attention.interface import Unit

RNG = np.random.default_rng(0)
ALL = [Probe(), Ross(), KSG(), NPEET()]
IDS = ["probe", "ross", "ksg", "npeet"]


@pytest.mark.parametrize("estimator", ALL, ids=IDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_name_the_row(estimator, bad):
    x = RNG.standard_normal((40, 3))
    x[17, 2] = bad
    with pytest.raises(ValueError, match="row 17, column 2"):
        estimator.estimate(x, np.arange(40) % 2)


@pytest.mark.parametrize("estimator", ALL, ids=IDS)
def test_inputs_are_never_mutated(estimator):
    x, y = RNG.standard_normal((60, 2)) * 3 + 5, np.arange(60) % 2
    kept = x.copy(), y.copy()
    x.flags.writeable = False
    y.flags.writeable = False
    estimator.estimate(x, y)
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@pytest.mark.parametrize("estimator", ALL, ids=IDS)
def test_a_vector_is_one_column(estimator):
    x, y = RNG.standard_normal(80), np.arange(80) % 2
    assert estimator.estimate(x, y).nats == estimator.estimate(x[:, None], y).nats
    assert estimator.estimate(x.tolist(), y.tolist()).nats == estimator.estimate(torch.tensor(x), y).nats


@pytest.mark.parametrize("estimator", ALL, ids=IDS)
def test_m12_integer_states_are_not_truncated(estimator):
    x, y = RNG.integers(-50, 50, 90), np.arange(90) % 2
    assert estimator.estimate(x, y).nats == estimator.estimate(x.astype(float), y).nats


@pytest.mark.parametrize("estimator", ALL, ids=IDS)
def test_shapes_that_do_not_match_are_named(estimator):
    with pytest.raises(ValueError, match="y must be"):
        estimator.estimate(RNG.standard_normal((30, 2)), np.arange(29) % 2)
    with pytest.raises(ValueError, match="x must be"):
        estimator.estimate(RNG.standard_normal((3, 30, 2)), np.arange(30) % 2)
    with pytest.raises(ValueError, match="empty"):
        estimator.estimate(np.zeros((0, 2)), np.zeros(0, dtype=int))
    with pytest.raises(ValueError, match="real numbers"):
        estimator.estimate(np.array(["a"] * 30), np.arange(30) % 2)
    with pytest.raises(ValueError, match="ragged"):
        estimator.estimate([[1.0, 2.0], [3.0]], [0, 1])


@pytest.mark.parametrize("estimator", [Probe(), Ross(), KSG()], ids=IDS[:3])
def test_groups_of_the_wrong_length_are_named(estimator):
    with pytest.raises(ValueError, match="groups must be"):
        estimator.estimate(RNG.standard_normal((30, 2)), np.arange(30) % 2, np.arange(29))
    with pytest.raises(ValueError, match="groups is NaN or infinite at row 3"):
        estimator.estimate(RNG.standard_normal((30, 2)), np.arange(30) % 2, np.where(np.arange(30) == 3, np.nan, 1.0))


def test_half_precision_and_bfloat16_are_widened():
    assert as_states(np.zeros((2, 2), np.float16)).dtype == np.float32
    assert as_states(torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)).dtype == np.float32


def test_groups_are_numbered_by_appearance():
    np.testing.assert_array_equal(as_groups(["b", "a", "b", "c"], 4), [0, 1, 0, 2])
    assert as_groups(None, 4) is None


def test_groups_of_one_row_each_are_independent_rows():
    assert as_groups([7, 2, 9], 3) is None
    assert as_groups([7, 2, 7], 3) is not None


def test_units_take_both_forms_and_no_mixture():
    x, y = RNG.standard_normal((3, 20, 2)), np.arange(20) % 2
    units = as_units(x, y, np.arange(20))
    assert [unit.x.shape for unit in units] == [(20, 2)] * 3
    assert as_units([Unit(x=x[0], y=y)])[0].groups is None
    with pytest.raises(ValueError, match="sequence of Unit"):
        as_units([x[0]])
    with pytest.raises(ValueError, match=r"\(U, n, d\)"):
        as_units(x[0], y)


def test_cluster_standard_error_by_hand():
    # deviations -3 -1 1 3; groups sum to -4 and 4: sqrt(2/1 * (16 + 16)) / 4 = 2; by row sqrt(4/3 * 20) / 4
    local = np.array([-3.0, -1.0, 1.0, 3.0]) + 10
    assert cluster_standard_error(local, np.array([0, 0, 1, 1])) == pytest.approx(2.0)
    assert cluster_standard_error(local, None) == pytest.approx(np.sqrt(80 / 3) / 4)
    assert cluster_standard_error(local, None) == pytest.approx(local.std(ddof=1) / 2)
    assert np.isnan(cluster_standard_error(local, np.zeros(4, dtype=int)))


def test_standardised_rows_do_not_depend_on_blocks(monkeypatch):
    x = RNG.standard_normal((1000, 5)) * [1, 1e6, 1e-3, 1, 0] + [0, 1e8, 5, -3, 7]
    whole = standardise(x)
    monkeypatch.setattr("mi_attention.estimators.samples.BLOCK_NUMBERS", 300)
    monkeypatch.setattr("mi_attention.estimators.rows.KEPT_NUMBERS", 0)
    pieces = standardise(x)
    assert pieces.kept is None
    joined = np.vstack([block for _, _, block in pieces.blocks()])
    np.testing.assert_allclose(joined, whole.kept, atol=1e-9)
    np.testing.assert_allclose(joined.std(axis=0), [1, 1, 1, 1, 0], atol=1e-9)
    assert not whole.constant
    assert standardise(np.full((10, 2), 1e8 + 0.1)).constant


@pytest.mark.parametrize(
    "groups",
    [[1000, 1000, 1001, 1001], ["b", "b", "a", "a"], [-3, -3, 7, 7], [2.0, 2.0, 0.0, 0.0], [10**12, 10**12, 5, 5]],
)
def test_groups_of_a_standard_error_may_have_any_names(groups):
    local = np.array([-3.0, -1.0, 1.0, 3.0]) + 10
    assert cluster_standard_error(local, groups) == pytest.approx(2.0)
    assert cluster_standard_error(local, np.array(groups)) == pytest.approx(2.0)
    assert cluster_standard_error(local, np.array([9, 8, 7, 6])) == cluster_standard_error(local, None)
    with pytest.raises(ValueError, match=r"groups must be \(4,\)"):
        cluster_standard_error(local, groups[:3])


@pytest.mark.parametrize("estimator", [*ALL, Mixture(), Discrete()], ids=[*IDS, "mixture", "discrete"])
def test_masked_rows_are_refused_and_unmasked_ones_are_their_data(estimator):
    y = np.arange(40) % 2
    x = np.ma.array(RNG.integers(0, 3, 40).astype(float), mask=np.zeros(40, dtype=bool))
    assert estimator.estimate(x, np.ma.array(y)).nats == estimator.estimate(x.data, y).nats
    hidden = np.isin(np.arange(40), [17, 30])
    with pytest.raises(ValueError, match=r"x is masked at row 17, .* drop the masked rows .*\(x\[~mask\]"):
        estimator.estimate(np.ma.array(x.data, mask=hidden), y)
    with pytest.raises(ValueError, match="y is masked at row 17"):
        estimator.estimate(x, np.ma.array(y, mask=hidden))
    if not isinstance(estimator, NPEET):
        with pytest.raises(ValueError, match="groups is masked at row 17"):
            estimator.estimate(x, y, np.ma.array(np.arange(40) // 2, mask=hidden))


def test_masked_entries_inside_lists_and_matrices_are_refused():
    masked = np.ma.array(np.zeros((5, 3)), mask=False)
    assert as_states(list(masked)).shape == (5, 3)
    masked[3, 1] = np.ma.masked
    for x in (masked, list(masked), [0.0, 1.0, 2.0, np.ma.masked]):
        with pytest.raises(ValueError, match="x is masked at row 3"):
            as_states(x)


def test_objects_that_are_all_numbers_are_states():
    x = np.array([[1.5, True], [2.5, False], [np.float32(3), 7]], dtype=object)
    np.testing.assert_array_equal(as_states(x), [[1.5, 1], [2.5, 0], [3, 7]])
    frame = pd.DataFrame({"a": RNG.standard_normal(60), "b": np.arange(60) % 3 == 0})
    for estimator in (Ross(), Mixture()):
        assert estimator.estimate(frame, np.arange(60) % 2).nats == pytest.approx(
            estimator.estimate(frame.to_numpy().astype(float), np.arange(60) % 2).nats, abs=1e-12
        )
    x[1, 1] = "no"
    with pytest.raises(ValueError, match="x must hold real numbers, got dtype object with 'no' at row 1, column 1"):
        as_states(x)
    x[1, 1] = None
    with pytest.raises(ValueError, match="x is missing at row 1; remove that row or repair the state"):
        as_states(x)
