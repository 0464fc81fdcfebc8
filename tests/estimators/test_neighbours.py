"""Ross and KSG against slow readable twins, other tools and the truth."""

import numpy as np
import pytest
from npeet_plus import mi as npeet_mi
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_classif
from sklearn.feature_selection._mutual_info import _compute_mi_cd

from mi_attention.estimators import KSG, Probe, Ross
from mi_attention.estimators.boxes import box_counts
from mi_attention.estimators.class_neighbours import balls_by_block, balls_by_tree, balls_on_a_line
from mi_attention.estimators.folds import rare_class
from mi_attention.estimators.neighbours import chebyshev, closed, euclidean, rescale, sorted_counts, sorted_radii
from mi_attention.estimators.product_neighbours import balls_by_product
from mi_attention.estimators.ross import ross_local

# Neighbours in many columns are tried on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::mi_attention.estimators.HighDimensionWarning")

RNG = np.random.default_rng(0)


def slow_ross(x, y, k):
    """Ross (2014), one row at a time, for data without ties."""
    values = []
    for i in range(len(x)):
        distance = np.sqrt(np.square(x - x[i]).sum(axis=1))
        others = np.arange(len(x)) != i
        radius = np.sort(distance[others & (y == y[i])])[k - 1]
        inside = (distance[others] <= radius).sum()
        values.append(digamma(len(x)) + digamma(k) - digamma((y == y[i]).sum()) - digamma(inside))
    return np.array(values)


def slow_ksg(x, y, k, algorithm):
    """Kraskov et al. (2004), one row at a time, for data without ties."""
    values = []
    for i in range(len(x)):
        apart_x, apart_y = np.abs(x - x[i]).max(axis=1), np.abs(y - y[i]).max(axis=1)
        apart_x[i] = apart_y[i] = np.inf
        joint = np.maximum(apart_x, apart_y)
        near = np.argsort(joint)[:k]
        if algorithm == 1:
            radius = joint[near[-1]]
            a, b = (apart_x < radius).sum() + 1, (apart_y < radius).sum() + 1
            values.append(digamma(k) + digamma(len(x)) - digamma(a) - digamma(b))
        else:
            a, b = (apart_x <= apart_x[near].max()).sum(), (apart_y <= apart_y[near].max()).sum()
            values.append(digamma(k) - 1 / k + digamma(len(x)) - digamma(a) - digamma(b))
    return np.array(values)


@pytest.mark.parametrize("width", [1, 2, 4, 5, 9, 40])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_ross_is_its_slow_twin(width, k):
    y = RNG.integers(0, 3, 150)
    x = rescale(RNG.standard_normal((150, width)) + y[:, None])
    np.testing.assert_allclose(Ross(k=k).estimate(x, y).local, slow_ross(x, y, k), atol=1e-10)


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (3, 3), (6, 4)])
@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("algorithm", [1, 2])
def test_ksg_is_its_slow_twin(shape, k, algorithm):
    x = rescale(RNG.standard_normal((150, shape[0])))
    y = rescale(x[:, :1] + RNG.standard_normal((150, shape[1])))
    local = KSG(k=k, algorithm=algorithm).estimate(x, y).local
    np.testing.assert_allclose(local, slow_ksg(x, y, k, algorithm), atol=1e-10)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_ross_is_scikit_learn_in_one_dimension(k):
    y = RNG.integers(0, 3, 700)
    x = RNG.standard_normal(700) + 0.7 * y
    ours = Ross(k=k).estimate(x, y).nats
    assert ours == pytest.approx(_compute_mi_cd((x - x.mean()) / x.std(), y, k), abs=1e-9)
    assert ours == pytest.approx(mutual_info_classif(x[:, None], y, n_neighbors=k, random_state=0)[0], abs=1e-6)


@pytest.mark.parametrize("width", [1, 3])
def test_ksg_is_npeet_where_the_algorithm_is_the_same(width):
    x = RNG.standard_normal((600, width))
    y = x[:, 0] + RNG.standard_normal(600)
    theirs = npeet_mi(rescale(x), rescale(y[:, None]), k=3, base=np.e)
    assert KSG(k=3).estimate(x, y).nats == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("width", [2, 12])
def test_blocks_do_not_change_the_neighbours(width, monkeypatch):
    y = np.arange(200) % 2
    x = RNG.standard_normal((200, width)) + y[:, None]
    groups = np.arange(200) // 2
    output = x[:, 0] + RNG.standard_normal(200)

    def estimates():
        found = [Ross().estimate(x, y), Ross().estimate(x, y, groups - groups % 2 + y)]
        return found + [KSG(algorithm=a).estimate(x, output, groups) for a in (1, 2)]

    whole = estimates()
    for module in ("class_neighbours", "joint_neighbours", "rectangles", "grouped_rectangles"):
        monkeypatch.setattr(f"mi_attention.estimators.{module}.BLOCK_NUMBERS", 200 * 7)
    monkeypatch.setattr("mi_attention.estimators.product_neighbours.BLOCK", 200 * 7)
    for a, b in zip(whole, estimates(), strict=True):
        np.testing.assert_allclose(a.local, b.local, atol=1e-12)


def test_products_and_differences_give_the_same_distances():
    x = RNG.standard_normal((60, 9))
    x[7] = x[3]
    squares = np.square(x).sum(axis=1)
    found = euclidean(x, x, squares, squares)
    np.testing.assert_allclose(found, np.sqrt(np.square(x[:, None] - x[None]).sum(axis=2)), atol=1e-7)
    assert found[3, 7] == 0.0
    assert (np.diag(found) == 0).all()


def same_balls(first, second):
    for name in ("wanted", "own_candidates", "candidates"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    for side in (0, 1):
        np.testing.assert_array_equal(first.own[side], second.own[side])
        np.testing.assert_array_equal(first.every[side], second.every[side])


HIGH = {
    "gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "low rank": lambda rng, n, d: rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)),
    "heavy": lambda rng, n, d: rng.standard_t(2, (n, d)),
    "duplicates": lambda rng, n, d: np.repeat(rng.standard_normal((n // 4, d)), 4, axis=0),
    "near copies": lambda rng, n, d: (
        np.repeat(rng.standard_normal((n // 4, d)), 4, axis=0) + 1e-7 * rng.standard_normal((n, d))
    ),
    "rounded": lambda rng, n, d: np.round(rng.standard_normal((n, d))),
    "zeros": lambda rng, n, d: np.maximum(rng.standard_normal((n, d)) - 2, 0),
    "far away": lambda rng, n, d: 1e8 + rng.standard_normal((n, d)),
}


@pytest.mark.parametrize("design", HIGH)
@pytest.mark.parametrize("width", [5, 64])
def test_float32_products_find_the_counts_of_float64(design, width):
    rng = np.random.default_rng(0)
    y = rng.choice(3, 600, p=[0.9, 0.09, 0.01])
    x = rescale(HIGH[design](rng, 600, width) + 0.5 * y[:, None] * (design in ("gaussian", "heavy")))
    same_balls(balls_by_product(x, y, 3), balls_by_block(x, y, 3))


def test_most_rows_are_settled_in_float32(monkeypatch):
    rng = np.random.default_rng(0)
    again = []
    original = balls_by_block
    monkeypatch.setattr(
        "mi_attention.estimators.product_neighbours.balls_by_block",
        lambda x, codes, k, rows: again.append(len(rows)) or original(x, codes, k, rows),
    )
    balls_by_product(rescale(rng.standard_normal((2000, 128))), np.arange(2000) % 2, 3)
    assert sum(again) < 200


@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_lines_trees_and_blocks_find_the_same_balls(width, digits):
    rng = np.random.default_rng(0)
    y = rng.choice(3, 400, p=[0.9, 0.09, 0.01])
    x = rescale(np.round(rng.standard_normal((400, width)), digits))
    blocks = balls_by_block(x, y, 3)
    same_balls(balls_by_tree(x, y, 3), blocks)
    if width == 1:
        same_balls(balls_on_a_line(x[:, 0], y, 3), blocks)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("digits", [1, 12])
@pytest.mark.parametrize("shape", [(1, 1), (5, 2), (31, 3), (33, 2), (700, 1), (700, 2), (700, 4)])
def test_boxes_hold_what_all_distances_say(shape, digits, inside):
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal(shape), digits)
    radius = np.round(np.abs(rng.standard_normal(shape[0])), digits) * rng.integers(0, 2, shape[0])
    apart = chebyshev(x, x)
    np.fill_diagonal(apart, np.inf)
    within = apart < radius[:, None] * (1 - 1e-9) if inside else apart <= radius[:, None] * (1 + 1e-9) + 1e-12
    np.testing.assert_array_equal(box_counts(x, radius, inside=inside), within.sum(axis=1))


def test_sorted_windows_by_hand():
    ordered = np.array([0.0, 1.0, 1.5, 4.0])
    np.testing.assert_allclose(sorted_radii(ordered, 1), [1.0, 0.5, 0.5, 2.5])
    np.testing.assert_allclose(sorted_radii(ordered, 2), [1.5, 1.0, 1.5, 3.0])
    np.testing.assert_array_equal(sorted_counts(ordered, ordered, np.full(4, 1.0)), [2, 3, 2, 1])
    np.testing.assert_array_equal(sorted_counts(ordered, ordered, np.full(4, 1.0), inside=True), [1, 2, 2, 1])
    # Rims of rounded data differ in their last bits and still count.
    assert 0.3 - 0.2 != 0.2 - 0.1
    np.testing.assert_array_equal(sorted_counts(np.array([0.1, 0.2, 0.3]), np.array([0.2]), np.array([0.1])), [3])
    assert closed(np.array([0.3 - 0.2]))[0] > 0.2 - 0.1


def test_row_order_does_not_matter():
    y = RNG.integers(0, 2, 300)
    x = RNG.standard_normal((300, 3)) + y[:, None]
    order = RNG.permutation(300)
    for estimator in (Ross(), KSG()):
        np.testing.assert_allclose(estimator.estimate(x[order], y[order]).local, estimator.estimate(x, y).local[order])


@pytest.mark.parametrize("separation", [0.0, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("width", [1, 2])
def test_all_estimators_agree_with_the_truth_in_low_dimension(separation, width, line_information):
    truth = line_information(np.array([0.0, separation]), np.array([0.5, 0.5]))
    rng = np.random.default_rng(1)
    y = np.arange(4000) % 2
    x = rng.standard_normal((4000, width))
    x[:, 0] += separation * y
    for estimator in (Probe(), Ross(k=5)):
        assert estimator.estimate(x, y).nats == pytest.approx(truth, abs=0.03)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("algorithm", [1, 2])
def test_ksg_of_gaussians(rho, algorithm):
    # I = -ln(1 - rho²)/2 for a bivariate normal.
    rng = np.random.default_rng(2)
    a = rng.standard_normal(4000)
    b = rho * a + np.sqrt(1 - rho**2) * rng.standard_normal(4000)
    estimate = KSG(k=5, algorithm=algorithm).estimate(a, b)
    assert estimate.nats == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.03)
    assert estimate.nats == pytest.approx(KSG(k=5, algorithm=algorithm).estimate(b, a).nats, abs=1e-12)


@pytest.mark.parametrize("algorithm", [1, 2])
def test_ksg_names_the_mixture_where_many_rows_tie(algorithm):
    rng = np.random.default_rng(5)
    a = rng.standard_normal(500)
    b = 0.8 * a + 0.6 * rng.standard_normal(500)
    smooth, rounded = (KSG(algorithm=algorithm).estimate(np.round(a, d), np.round(b, d)) for d in (12, 1))
    assert smooth.reason == ""
    assert rounded.reason.startswith("ties in ")
    assert rounded.reason.endswith("% of rows: use Mixture")


def test_ross_of_discrete_states_is_the_table_of_counts():
    # x in {0, 1, 2} with P(y=1|x) = .2, .5, .9 and equal P(x): enumerated truth.
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 5000)
    chance = np.array([0.2, 0.5, 0.9])
    y = rng.random(5000) < chance[x]
    p = chance.mean()
    terms = chance * np.log(chance / p) + (1 - chance) * np.log((1 - chance) / (1 - p))
    assert Ross().estimate(x, y).nats == pytest.approx(terms.mean(), abs=0.02)


def test_relu_zeros_carry_no_information_by_themselves():
    rng = np.random.default_rng(0)
    values = []
    for _ in range(6):
        x = np.maximum(rng.standard_normal((600, 3)) - 1, 0)
        values.append(Ross().estimate(x, rng.integers(0, 2, 600)).nats)
    assert abs(np.mean(values)) < 0.03


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_offset_and_scale_change_nothing(scale):
    y = np.arange(400) % 2
    x = RNG.standard_normal((400, 2)) + y[:, None]
    other = x[:, 0] + RNG.standard_normal(400)
    for estimator, output in ((Ross(), y), (KSG(), other), (KSG(algorithm=2), other)):
        plain = estimator.estimate(x, output).nats
        assert estimator.estimate(x * scale, output).nats == pytest.approx(plain, abs=1e-9)
        if scale >= 1:
            assert estimator.estimate(x * scale + 1e8, output).nats == pytest.approx(plain, abs=1e-3)


def test_float32_is_as_good_as_its_digits():
    y = np.arange(400) % 2
    x = (RNG.standard_normal((400, 30)) + y[:, None]).astype(np.float32)
    assert Ross().estimate(x, y).nats == Ross().estimate(x.astype(np.float64), y).nats


def test_degenerate_inputs_are_named_or_flagged():
    x, y = RNG.standard_normal((30, 2)), np.arange(30) % 2
    assert Ross().estimate(np.ones((30, 2)), y).reason == "constant state"
    assert KSG().estimate(x, np.ones(30)).reason == "constant output"
    assert KSG().estimate(np.ones(30), x).nats == 0.0
    assert Ross().estimate(x, np.ones(30, dtype=int)).reason == "a single class"
    assert Ross().estimate(x, np.r_[1, np.zeros(29, dtype=int)]).reason == rare_class(None)
    few = KSG(k=5).estimate(x, x[:, 0], np.r_[np.zeros(27), [1, 2, 3]])
    assert few.reason == "fewer than k other groups"
    with pytest.raises(ValueError, match="classes"):
        KSG().estimate(x, ["a", "b"] * 15)
    with pytest.raises(ValueError, match="k must"):
        Ross(k=0)
    with pytest.raises(ValueError, match="algorithm"):
        KSG(algorithm=3)


def test_small_classes_use_all_their_rows():
    # As scikit-learn: a class of two rows has one neighbour to use.
    y = np.r_[np.zeros(30, dtype=int), [1, 1]]
    x = RNG.standard_normal(32)
    assert Ross(k=5).estimate(x, y).nats == pytest.approx(_signed_mi_cd(x, y, 5), abs=1e-9)


def _signed_mi_cd(x, y, k):
    z = rescale(x[:, None])
    parts = []
    for label in np.unique(y):
        member = np.flatnonzero(y == label)
        near = min(k, len(member) - 1)
        for i in member:
            radius = np.sort(np.abs(z[member] - z[i])[:, 0])[near]
            inside = (np.abs(z - z[i])[:, 0] <= radius).sum() - 1
            parts.append(digamma(len(y)) + digamma(near) - digamma(len(member)) - digamma(inside))
    return np.mean(parts)


def test_local_values_are_public_for_prepared_arrays():
    y = np.arange(50) % 2
    x = rescale(RNG.standard_normal((50, 2)))
    np.testing.assert_array_equal(ross_local(x, y, 3), Ross().estimate(x, y).local)
