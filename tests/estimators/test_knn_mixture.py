"""The mixture estimator: discrete, continuous and mixed sides without added noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy
from scipy.stats import poisson

from mi_attention.estimators import KSG, Ross, SmallSampleWarning
from mi_attention.estimators.folds import rare_class
from mi_attention.estimators.mixture import Mixture

# Neighbours in many columns are tried on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::mi_attention.estimators.HighDimensionWarning")

DRAWS = 12


def correlated(seed, n, rho=0.8):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    return a, rho * a + np.sqrt(1 - rho**2) * rng.standard_normal(n)


def mean(make, draws=DRAWS):
    """Mean estimate over draws ``make(generator) -> x, y``."""
    return np.mean([Mixture().estimate(*make(np.random.default_rng(seed))).nats for seed in range(draws)])


@pytest.mark.parametrize("width", [1, 2])
def test_without_ties_it_is_ksg(width):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((300, width)), rng.standard_normal(300)
    np.testing.assert_allclose(Mixture().estimate(x, y).local, KSG().estimate(x, y).local, atol=1e-12)


@pytest.mark.parametrize("digits", [0, 1, 12])
def test_of_two_classes_and_one_column_it_is_ross(digits):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    x = np.round(rng.standard_normal(300) + y, digits)
    np.testing.assert_allclose(Mixture().estimate(x, y).local, Ross().estimate(x, y).local, atol=1e-9)


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("step", [0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_rounding_does_not_move_the_mean(n, step, rho):
    # To .2 standard deviations it loses .006 of .511 nats; counts of open balls alone read up to .9 nats too much.
    kept, rounded, one = [], [], []
    for seed in range(DRAWS):
        a, b = correlated(seed, n, rho)
        kept.append(Mixture().estimate(a, b).nats)
        rounded.append(Mixture().estimate(np.round(a / step) * step, np.round(b / step) * step).nats)
        one.append(Mixture().estimate(np.round(a / step) * step, b).nats)
    assert np.mean(rounded) == pytest.approx(np.mean(kept), abs=0.025)
    assert np.mean(one) == pytest.approx(np.mean(kept), abs=0.02)


@pytest.mark.parametrize("step", [0.05, 0.2, 0.5])
def test_both_sides_on_one_lattice_read_nothing_at_independence(step):
    # The same values in another order have the same steps after scaling: rims of both sides meet.
    def make(rng):
        x = np.round(rng.standard_normal(400) / step) * step
        return x, rng.permutation(x)

    assert mean(make) == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(("step", "truth"), [(0.5, 0.476), (1.0, 0.394)])
def test_coarse_rounding_reads_what_is_left(step, truth):
    # Plug-in information of 4·10⁶ draws.
    def make(rng):
        a = rng.standard_normal(1000)
        return np.round(a / step), np.round((0.8 * a + 0.6 * rng.standard_normal(1000)) / step)

    assert mean(make) == pytest.approx(truth, abs=0.03)


def test_a_discrete_and_a_continuous_side():
    # Gao et al. (2017), experiment 1: x uniform on 0..4, y uniform on [x, x + 2]: log 5 − 4/5 log 2.
    def make(rng):
        x = rng.integers(0, 5, 1000)
        return x, x + 2 * rng.random(1000)

    assert mean(make) == pytest.approx(np.log(5) - 0.8 * np.log(2), abs=0.02)


def test_counts_of_an_exponential_with_added_zeros():
    # As experiment 3 of Gao et al. (2017), y Poisson of the exponential x but 0 with chance .15. Their closed form, .85
    # of the information without added zeros, takes those zeros for known; here by quadrature over x.
    x = (np.arange(40_000) + 0.5) / 1000
    count = np.arange(60)
    given_x = 0.85 * poisson.pmf(count, x[:, None])
    given_x[:, 0] += 0.15
    marginal = 0.85 * 0.5 ** (count + 1)
    marginal[0] += 0.15
    truth = (np.exp(-x)[:, None] * xlogy(given_x, given_x / marginal)).sum() / 1000

    def make(rng):
        x = rng.exponential(size=1500)
        return x, 1.0 * rng.poisson(x) * (rng.random(1500) > 0.15)

    assert mean(make) == pytest.approx(truth, abs=0.025)


def test_a_side_that_is_discrete_and_continuous_at_once():
    # A fair coin sets x and y both to 5 (the coin, log 2, is known from either), else they are Gaussians of correlation
    # .8: log 2 + half of .5108 nats. An atom in the midst of a density is told from it by far more rows only.
    def make(rng):
        a, b = rng.standard_normal((2, 1500))
        atom = rng.random(1500) < 0.5
        return np.where(atom, 5.0, a), np.where(atom, 5.0, 0.8 * a + 0.6 * b)

    assert mean(make) == pytest.approx(np.log(2) - 0.25 * np.log(0.36), abs=0.03)


@pytest.mark.parametrize(("values", "kind"), [(2, int), (5, int), (10, int), (5, float), (10, float), (30, float)])
def test_tables_of_counts_are_unbiased_at_independence(values, kind):
    def make(rng):
        return tuple(rng.integers(0, values, (2, 500)).astype(kind))

    assert mean(make) == pytest.approx(0, abs=0.03)


def test_relu_zeros_need_no_noise():
    def make(rng):
        a, b = rng.standard_normal((2, 1000))
        return np.maximum(a - 0.5, 0), np.maximum(b, 0)

    assert mean(make) == pytest.approx(0, abs=0.015)

    # z = max(a, 0) with y = (a > .5): H(y) of one bit state, all in z.
    def determined(rng):
        a = rng.standard_normal(800)
        return np.maximum(a, 0), a > 0.5

    assert mean(determined, 4) == pytest.approx(0.6179, abs=0.03)  # H(P(a > .5) = .3085)


def test_m11_and_i_c_d_is_i_d_c():
    rng = np.random.default_rng(0)
    c = rng.standard_normal(400)
    sides = [c + rng.standard_normal(400), np.digitize(c, [-0.5, 0.5]), (c > 0).astype(int), np.round(c, 1)]
    for d in sides:
        one, other = Mixture().estimate(c, d), Mixture().estimate(d, c)
        assert one.nats == pytest.approx(other.nats, abs=1e-12)
        np.testing.assert_allclose(one.local, other.local, atol=1e-12)
        assert KSG().estimate(c, sides[0]).nats == pytest.approx(KSG().estimate(sides[0], c).nats, abs=1e-12)
    wide = rng.standard_normal((400, 6))
    assert Mixture().estimate(wide, sides[1]).nats == pytest.approx(Mixture().estimate(sides[1], wide).nats, abs=1e-12)


def test_m28_labels_beside_many_columns_are_told_apart():
    # Classes 2 apart in each of 128 columns: all of H(Y) is there, and distances exceed a scaled label's steps.
    rng = np.random.default_rng(0)
    for classes in (2, 3):
        y = np.arange(300) % classes
        x = rng.standard_normal((300, 128)) + 2 * y[:, None]
        assert Mixture().estimate(x, y).nats == pytest.approx(np.log(classes), abs=0.02)
        assert abs(Mixture().estimate(x, rng.permutation(y)).nats) < 0.1


@pytest.mark.parametrize("kind", [list, np.array, "strings", "booleans", "float"])
def test_labels_of_any_kind_give_one_number(kind):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    x = rng.standard_normal((200, 2)) + y[:, None]
    made = {"strings": np.array(["no", "yes"])[y], "booleans": y == 1, "float": y.astype(np.float32)}
    given_labels = made[kind] if isinstance(kind, str) else kind(y)
    found = Mixture().estimate(x, given_labels)
    assert found.nats == Mixture().estimate(x, y).nats
    assert found.ceiling == pytest.approx(np.log(2))


@pytest.mark.parametrize("width", [1, 2])
def test_integers_are_names_and_floats_are_amounts(width):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    x = rng.standard_normal((300, width)) + np.array([0.0, 1.0, 0.3])[y, None]
    plain = Mixture().estimate(x, y)
    assert plain.ceiling == pytest.approx(np.log(3))
    for names in (np.array([5, 1, 0])[y], np.array(["c", "a", "b"])[y], y[:, None], y.astype(np.uint8)):
        np.testing.assert_allclose(Mixture().estimate(x, names).local, plain.local, atol=1e-12)
    if width == 1:
        assert Mixture().estimate(x, y.astype(float)).nats != pytest.approx(plain.nats, abs=1e-6)
    many = np.arange(300) % 30
    renamed = rng.permutation(1000)[many]
    assert Mixture().estimate(x, many).nats == pytest.approx(Mixture().estimate(x, renamed).nats, abs=1e-12)
    # Integers that hardly repeat are numbers.
    whole = np.round(1e6 * x[:, 0]).astype(int)
    assert Mixture().estimate(x, whole).nats == Mixture().estimate(x, whole.astype(float)).nats


def test_obstacles_are_named():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(40)
    assert Mixture().estimate(x, np.ones(40)).reason == "constant output"
    assert Mixture().estimate(np.ones(40), x).reason == "constant state"
    assert Mixture().estimate(x, ["a"] * 40).status == "undefined"
    assert Mixture().estimate(x, np.zeros(40, dtype=int)).reason == "a single class"
    assert Mixture().estimate(np.zeros(40, dtype=int), x).reason == "constant state"
    assert Mixture().estimate(x, (np.arange(40) == 0).astype(int)).reason == rare_class(None)
    assert Mixture().estimate(x, ["a"] + ["b"] * 39).reason == rare_class(None)
    assert Mixture().estimate(x, x, np.arange(40) % 3).reason == "fewer than k other groups"
    with pytest.raises(ValueError, match="y must be"):
        Mixture().estimate(x, x[:5])
    with pytest.raises(ValueError, match="row 3"):
        Mixture().estimate(np.where(np.arange(40) == 3, np.nan, x), x)
    with pytest.raises(ValueError, match="y is inf at row 3"):
        Mixture().estimate(x, np.where(np.arange(40) == 3, np.inf, x))
    with pytest.raises(ValueError, match="k=40 needs more than 40 rows"):
        Mixture(k=40).estimate(x, x)
    with pytest.raises(ValueError, match="whole number"):
        Mixture(k=2.5)


@st.composite
def mixed(draw):
    """Sides that are continuous, rounded, rectified or discrete, of one to three columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n = draw(st.integers(25, 70))
    sides = []
    for _ in range(2):
        side = rng.standard_normal((n, draw(st.integers(1, 3))))
        side = np.round(side, draw(st.sampled_from([0, 1, 12])))
        sides.append(np.maximum(side, 0) if draw(st.booleans()) else side)
    groups = rng.integers(0, n // 2, n) if draw(st.booleans()) else None
    return sides[0], sides[1], groups, rng


@pytest.mark.filterwarnings("ignore::mi_attention.estimators.samples.SmallSampleWarning")
@pytest.mark.parametrize("estimator", [Mixture(), Mixture(k=1)], ids=lambda e: e.signature)
@settings(max_examples=25, deadline=None)
@given(mixed())
def test_symmetry_order_and_scale(estimator, data):
    x, y, groups, rng = data
    kept = x.copy(), y.copy()
    plain = estimator.estimate(x, y, groups)
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])
    turned = estimator.estimate(y, x, groups)
    order = rng.permutation(len(x))
    shuffled = estimator.estimate(x[order], y[order], None if groups is None else groups[order])
    moved = estimator.estimate(x * 1e6 - 3, y / 7, groups)
    assert plain.nats == pytest.approx(turned.nats, abs=1e-10, nan_ok=True)
    assert plain.nats == pytest.approx(shuffled.nats, abs=1e-10, nan_ok=True)
    assert plain.nats == pytest.approx(moved.nats, abs=1e-6, nan_ok=True)
    assert plain.local.mean() == pytest.approx(plain.nats, abs=1e-12, nan_ok=True)
    assert np.isfinite(plain.local).all() or plain.status == "undefined"


def test_small_samples_warn():
    rng = np.random.default_rng(0)
    with pytest.warns(SmallSampleWarning):
        Mixture().estimate(rng.standard_normal(10), rng.standard_normal(10))


def test_many_units_are_one_after_another():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((3, 80, 2)), np.arange(80) % 3
    many = Mixture().estimate_many(x, y)
    assert [e.nats for e in many] == [Mixture().estimate(states, y).nats for states in x]


def test_several_columns_of_booleans_are_numbers():
    rng = np.random.default_rng(0)
    flags, y = rng.random((200, 3)) < 0.5, np.arange(200) % 2
    for x, output in ((flags, y), (rng.standard_normal(200), flags), (flags, flags[:, :2])):
        numbers = [np.asarray(side, dtype=float) if np.ndim(side) == 2 else side for side in (x, output)]
        assert Mixture().estimate(x, output).nats == Mixture().estimate(*numbers).nats
    one = Mixture().estimate(flags[:, :1], y)
    assert one.nats == Mixture().estimate(flags[:, 0], y).nats


def test_several_columns_of_strings_are_one_label():
    rng = np.random.default_rng(0)
    pair, y = rng.integers(0, 3, (300, 2)), np.arange(300) % 2
    found = Mixture().estimate(pair.astype(str), y)
    assert found.nats == Mixture().estimate((3 * pair[:, 0] + pair[:, 1]).astype(str), y).nats
    objects = np.empty((300, 2), dtype=object)
    objects[:, 0], objects[:, 1] = pair[:, 0].tolist(), pair[:, 1].astype(str)
    assert Mixture().estimate(objects, y).nats == found.nats
    objects[:, 0] = rng.standard_normal(300).tolist()
    with pytest.raises(ValueError, match="x in column 0 holds 300 distinct float values"):
        Mixture().estimate(objects, y)


@pytest.mark.parametrize("instances", [20, 100])
def test_two_labels_that_vary_inside_groups_keep_their_information(instances):
    # p(x = y) = .7 + .3/8, other pairs .3/8 each, two equally frequent classes: .387 nats
    table = np.full((8, 2), 0.3 / 16)
    table[[0, 1], [0, 1]] += 0.35
    truth = float(xlogy(table, table / (table.sum(axis=1, keepdims=True) * table.sum(axis=0))).sum())
    groups, values, at_independence = np.arange(2000) // (2000 // instances), [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y, other = rng.integers(0, 2, 2000), rng.integers(0, 8, 2000)
        values.append(Mixture().estimate(np.where(rng.random(2000) < 0.7, y, other), y, groups).nats)
        at_independence.append(Mixture().estimate(other, y, groups).nats)
    assert np.mean(values) == pytest.approx(truth, abs=0.02)
    assert np.mean(at_independence) == pytest.approx(0.0, abs=0.003)
