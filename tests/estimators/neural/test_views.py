"""The forms of the rows that critics see, and the choice between them."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.neural import Neural
from mi_attention.estimators.neural.options import CriticOptions
from mi_attention.estimators.neural.parts import Sample
from mi_attention.estimators.neural.training import _best_views, cross_fitted_terms
from mi_attention.estimators.neural.views import views_of
from mi_attention.estimators.rows import standardise
from tests.benchmarks.designs import in_spectrum

BOUNDS = ["mine", "nwj", "infonce", "smile"]
BOTH = ("columns", "axes")


def spectrum(n, width, place, shift, steepness, seed=0):
    """States with the two classes ``shift`` apart in one direction of a spectrum, smallest first, under a rotation."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    x = rng.standard_normal((n, width))
    x[:, place] += shift * y
    return in_spectrum(x, rng, steepness), y


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_lies_in_a_small_direction_is_found(bound):
    x, y = spectrum(600, 24, 0, 2.5, 2.5)
    options = {"bound": bound, "folds": 3, "hidden": 16, "steps": 250}
    # .44 nats.
    assert Neural(views=("columns",), **options).estimate(x, y).nats < 0.05
    found = Neural(**options).estimate(x, y)
    assert 0.3 < found.nats < 0.44 + 3 * found.standard_error
    assert found.local.mean() == pytest.approx(found.nats, abs=1e-12)


def test_what_lies_in_a_small_direction_of_a_continuous_output_is_found():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((800, 1))
    x = np.hstack([shared, rng.standard_normal((800, 1))])
    y = np.hstack([shared + 0.5 * rng.standard_normal((800, 1)), rng.standard_normal((800, 7))])
    y = y * np.r_[0.02, np.ones(7)] @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    options = {"folds": 3, "hidden": 32, "steps": 400}
    assert Neural(views=("columns",), **options).estimate(x, y).nats < 0.1
    # .80 nats.
    assert Neural(**options).estimate(x, y).nats > 0.25


def test_what_lies_in_a_large_direction_is_not_buried_under_the_others():
    x, y = spectrum(300, 60, -1, 5.0, 2.0)
    options = {"folds": 4, "hidden": 32, "steps": 300}
    columns, axes, both = (Neural(views=views, **options).estimate(x, y).nats for views in (BOTH[:1], BOTH[1:], BOTH))
    assert columns > axes + 0.2
    assert both == pytest.approx(columns, abs=0.02)


def test_along_the_axes_a_linear_map_changes_little():
    x, y = spectrum(600, 6, 2, 2.0, 0.0)
    mapped = x @ (np.diag(10.0 ** np.arange(-3, 3)) @ np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0])
    estimator = Neural(folds=3, hidden=32, steps=400)
    assert estimator.estimate(mapped, y).nats == pytest.approx(estimator.estimate(x, y).nats, abs=0.03)


def test_the_axes_are_white_and_upright():
    x, _ = spectrum(300, 5, 0, 0.0, 1.0)
    rows = standardise(x)
    (columns, none), (axes, also_none) = views_of(rows, None, BOTH)
    assert none is also_none is None
    np.testing.assert_allclose(columns, rows.kept, rtol=1e-6)
    np.testing.assert_allclose(axes.T @ axes / 300, np.eye(5), atol=1e-5)
    # The same coordinates, signs and all, from the same columns in another order.
    (turned, _) = views_of(standardise(x[:, ::-1]), None, ("axes",))[0]
    np.testing.assert_allclose(turned, axes, atol=1e-4)


def test_fewer_axes_than_columns_leave_zeros():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 6))
    (axes, _) = views_of(standardise(x), None, ("axes",))[0]
    assert axes.shape == (50, 6)
    np.testing.assert_allclose(axes[:, :2].T @ axes[:, :2] / 50, np.eye(2), atol=1e-5)
    assert not axes[:, 2:].any()


def test_where_the_columns_are_the_axes_there_is_one_form():
    rng = np.random.default_rng(0)
    column = standardise(rng.standard_normal((40, 1)))
    white = standardise(np.kron([[1.0], [-1.0]], np.linalg.qr(rng.standard_normal((20, 3)))[0]))
    for x, y in ((column, None), (column, column), (white, None)):
        for views in (BOTH, ("axes",)):
            found = views_of(x, y, views)
            assert len(found) == 1
            np.testing.assert_array_equal(found[0][0], views_of(x, y, ("columns",))[0][0])
    several = standardise(rng.standard_normal((40, 3)))
    (columns, y_columns), (same, y_axes) = views_of(column, several, BOTH)
    np.testing.assert_array_equal(same, columns)
    assert not np.allclose(y_axes, y_columns)


def test_axes_along_which_all_rows_are_equally_far_are_no_form():
    rng = np.random.default_rng(0)
    for width, forms in ((18, 2), (19, 1), (40, 1)):
        assert len(views_of(standardise(rng.standard_normal((20, width))), None, BOTH)) == forms
    few = standardise(rng.standard_normal((20, 3)) @ rng.standard_normal((3, 40)))
    assert len(views_of(few, None, BOTH)) == 2


def test_the_first_of_equal_views_is_kept():
    batch = SimpleNamespace(owner=[(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)])
    gain = torch.tensor([0.1, 0.2, 0.1, 0.3, 0.0, 0.4], dtype=torch.float64)
    assert _best_views(batch, gain, [2, 1]).tolist() == [0, 3, 4, 5]
    assert _best_views(batch, gain, [3]).tolist() == [0, 5]


@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("bound", BOUNDS)
def test_each_row_is_judged_in_the_view_of_its_fold(bound, classes):
    options = CriticOptions(bound=bound, hidden=8, steps=60, patience=60, learning_rate=1e-2, folds=3)
    samples = []
    for n in (90, 72):
        rng = np.random.default_rng(n)
        y = rng.permutation(np.arange(n) % 2) if classes else rng.standard_normal((n, 1)).astype(np.float32)
        x = (y.reshape(-1, 1) + 0.5 * rng.standard_normal((n, 2))).astype(np.float32)
        fold = stratified_folds(y if classes else np.zeros(n, dtype=np.int64), None, 3, rng)
        noise = rng.standard_normal((n, 2)).astype(np.float32)
        samples.append([Sample(states, y, classes, None, fold, 3) for states in (noise, x)])
    alone = cross_fitted_terms(options, [[informative] for _, informative in samples])
    for found, expected in zip(cross_fitted_terms(options, samples), alone, strict=True):
        assert expected.value > 0.1
        np.testing.assert_allclose(found.local, expected.local, atol=1e-5)
    repeated = cross_fitted_terms(options, [[informative] * 2 for _, informative in samples])
    for found, expected in zip(repeated, alone, strict=True):
        np.testing.assert_allclose(found.local, expected.local, atol=1e-5)


def test_views_are_named_and_checked():
    assert "views=columns+axes" in Neural().signature
    for views in ((), ("rows",), ("axes", "axes")):
        with pytest.raises(ValueError, match="views must be one or several different names out of"):
            Neural(views=views)
