"""Tests, halves, intervals and detection limits that any estimator takes."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtri

from mi_attention.estimators import KSG, NPEET, Probe, Ross, make_estimator
from mi_attention.estimators.detection import detection_limit, information_of_spacing, intraclass_correlation
from mi_attention.estimators.folds import rare_class
from mi_attention.estimators.halves import split_half
from mi_attention.estimators.intervals import interval
from mi_attention.estimators.permutation import label_permutations, null_quantile, permutation_test, statistic_of
from mi_attention.interface import MIEstimate

FAST = Probe(folds=3, members=("linear",))
STEADY = Probe(folds=5, members=("linear",))


class Agreement:
    """Share of rows where x and y are equal: a statistic whose permutation distribution is known by hand."""

    signature = "agreement"

    def __init__(self):
        self.seen = []

    def estimate(self, x, y, groups=None):
        self.seen.append(np.array(y))
        local = (np.asarray(x)[:, 0] == y).astype(float)
        value = float(local.mean())
        return MIEstimate(value, None, local, 0.1, len(y), None, "ok", "", self.signature, groups=groups)

    def estimate_many(self, units):
        return [self.estimate(unit.x, unit.y, unit.groups) for unit in units]


def contextual(instances, rows, rng, *, shared=0.9, width=3):
    """States of one instance nearly coincide, and its label is drawn without looking at them."""
    y = rng.permutation(np.arange(instances) % 2)
    groups = np.repeat(np.arange(instances), rows)
    x = np.sqrt(shared) * np.repeat(rng.standard_normal((instances, width)), rows, axis=0)
    return x + np.sqrt(1 - shared) * rng.standard_normal((instances * rows, width)), y[groups], groups


# --- which labels move ------------------------------------------------------------------------------------------------


def test_p_by_hand():
    # Labels 1 1 1 0 0 0 and states equal to them: only the arrangement seen (1 of 20) reaches a share of 1.
    y = np.array([1, 1, 1, 0, 0, 0])
    test = permutation_test(Agreement(), y.astype(float), y, permutations=999, seed=0)
    assert test.observed == 1.0
    assert test.p == (1 + (test.null == 1).sum()) / 1000
    assert abs((test.null == 1).mean() - 1 / 20) < 3 * np.sqrt(0.05 * 0.95 / 999)
    # hypergeometric: 1 - k/3 with k of 3 ones moved away, probabilities 1 9 9 1 of 20
    shares = [(np.isclose(test.null, 1 - k / 3)).mean() for k in range(4)]
    np.testing.assert_allclose(shares, np.array([1, 9, 9, 1]) / 20, atol=0.05)
    assert (test.statistic, test.reason) == ("raw", "")


def test_rows_without_groups_are_all_exchanged():
    index = next(label_permutations(np.arange(50), None, seed=0))
    np.testing.assert_array_equal(np.sort(index), np.arange(50))
    assert (index != np.arange(50)).any()


def test_constant_labels_of_groups_move_as_one_whatever_the_sizes():
    groups = np.array([2, 0, 0, 1, 2, 2, 3, 0])
    labels = np.array(["a", "b", "b", "a", "a", "a", "c", "b"])
    seen = set()
    draws = label_permutations(labels, groups, seed=0)
    for _ in range(200):
        moved = labels[next(draws)]
        by_group = [set(moved[groups == g]) for g in range(4)]
        assert all(len(each) == 1 for each in by_group)
        flat = tuple(each.pop() for each in by_group)
        assert sorted(flat) == ["a", "a", "b", "c"]
        seen.add(flat)
    assert len(seen) == 12  # 4!/2! arrangements, all reached


@pytest.mark.parametrize("groups", [[5, 5, 9, 9], ["b", "b", "a", "a"], np.array([-1, -1, 7, 7])])
def test_groups_of_permutations_may_have_any_names(groups):
    drawn = label_permutations([0, 0, 1, 1], groups, seed=0)
    seen = {tuple(np.array([0, 0, 1, 1])[next(drawn)].tolist()) for _ in range(20)}
    assert seen == {(0, 0, 1, 1), (1, 1, 0, 0)}
    with pytest.raises(ValueError, match=r"groups must be \(5,\)"):
        next(label_permutations(np.arange(5), groups, seed=0))


def test_label_vectors_are_exchanged_between_groups_of_one_size():
    # groups of 2, 2, 3, 3 and 1 rows, interleaved; labels vary within groups
    groups = np.array([0, 2, 1, 2, 0, 3, 1, 3, 2, 3, 4])
    labels = np.array([0, 10, 2, 11, 1, 20, 3, 21, 12, 22, 99])
    draws = label_permutations(labels, groups, seed=0)
    seen = set()
    for _ in range(60):
        moved = labels[next(draws)]
        vectors = [tuple(int(v) for v in moved[groups == g]) for g in range(5)]
        assert {vectors[0], vectors[1]} == {(0, 1), (2, 3)}
        assert {vectors[2], vectors[3]} == {(10, 11, 12), (20, 21, 22)}
        assert vectors[4] == (99,)
        seen.add(tuple(vectors))
    assert len(seen) == 4


def test_labels_that_cannot_move_are_refused_with_the_remedy():
    y, groups = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="same number of rows from every group"):
        permutation_test(Agreement(), np.zeros(6), y, groups, permutations=9, seed=0)
    with pytest.raises(ValueError, match="groups cannot be permuted"):  # both groups hold the vector 0 1
        permutation_test(Agreement(), np.zeros(4), [0, 1, 0, 1], [0, 0, 1, 1], permutations=9, seed=0)


def test_labels_of_which_most_cannot_move_warn():
    y = np.array([0, 1, 1, 0, 0, 1, 1, 0, 1])
    groups = np.array([0, 0, 1, 1, 2, 2, 2, 2, 2])
    with pytest.warns(UserWarning, match="5 of 9 rows .* take the same number of rows"):
        permutation_test(Agreement(), np.zeros(9), y, groups, permutations=3, seed=0)


def test_outputs_of_several_columns_move_by_row():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((80, 2))
    x = y[:, :1] + 0.1 * rng.standard_normal((80, 1))
    test = permutation_test(KSG(), x, y, permutations=19, seed=0)
    assert test.p == 0.05
    assert test.observed > 1 > test.quantile


# --- the result -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [FAST, Ross()])
def test_same_seed_same_result_and_more_draws_begin_with_the_same(estimator):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 2)), np.arange(60) % 2
    x.flags.writeable = y.flags.writeable = False
    first = permutation_test(estimator, x, y, permutations=12, seed=3)
    again = permutation_test(estimator, x.tolist(), [str(label) for label in y], permutations=24, seed=3)
    np.testing.assert_allclose(first.null, again.null[:12], atol=1e-12)
    other = permutation_test(estimator, x, y, permutations=12, seed=4)
    assert (np.sort(first.null) != np.sort(other.null)).any()
    assert first.estimate.nats == estimator.estimate(x, y).nats


def test_batches_change_nothing_and_are_reported(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 2)), np.arange(40) % 2
    whole = permutation_test(FAST, x, y, permutations=15, seed=0)
    monkeypatch.setattr("mi_attention.estimators.permutation.CHUNK_NUMBERS", 4 * x.size)
    told = []
    pieces = permutation_test(FAST, x, y, permutations=15, seed=0, watch=lambda done, of: told.append((done, of)))
    np.testing.assert_allclose(pieces.null, whole.null, atol=1e-12)
    assert told == [(4, 15), (8, 15), (12, 15), (15, 15)]


def test_the_statistic_is_the_bound_else_the_raw_value():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 2)), np.arange(60) % 2
    probe, ross, npeet = (e.estimate(x, y) for e in (FAST, Ross(), NPEET()))
    assert statistic_of(probe) == (probe.lower_bound, "lower_bound")
    assert statistic_of(probe, "nats") == (probe.nats, "nats")
    assert statistic_of(ross) == (ross.local.mean(), "raw")
    assert statistic_of(npeet) == (npeet.nats, "nats")
    assert permutation_test(FAST, x, y, permutations=3, seed=0, statistic="nats").observed == probe.nats


def test_undefined_and_constant():
    x = np.random.default_rng(0).standard_normal((30, 2))
    undefined = permutation_test(FAST, x, np.zeros(30, dtype=int), permutations=9, seed=0)
    assert (np.isnan(undefined.p), undefined.reason) == (True, "a single class")
    assert undefined.estimate.status == "undefined"
    constant = permutation_test(FAST, np.ones((30, 2)), np.arange(30) % 2, permutations=9, seed=0)
    assert (constant.p, constant.observed) == (1.0, 0.0)


def test_null_draws_without_a_value_are_left_out():
    class Sometimes(Agreement):
        def estimate(self, x, y, groups=None):
            if y[0] == 1:
                return MIEstimate.undefined("never where the first label is 1", n=len(y), signature="sometimes")
            return super().estimate(x, y, groups)

    y = np.array([0, 1, 1, 0, 0, 1])
    test = permutation_test(Sometimes(), y.astype(float), y, permutations=200, seed=0)
    # of 20 arrangements the 10 with first label 0 remain, one of them as good as the one seen
    assert 60 < test.null.size < 140
    assert test.p == pytest.approx(0.1, abs=0.09)


@pytest.mark.parametrize(("level", "draws", "rank"), [(0.95, 199, 10), (0.95, 19, 1), (0.9, 99, 10), (0.99, 999, 10)])
def test_the_null_quantile_is_where_p_crosses(level, draws, rank):
    null = np.random.default_rng(0).permutation(draws).astype(float)
    quantile = null_quantile(null, level)
    assert quantile == draws - rank
    for observed, significant in ((quantile + 0.5, True), (quantile - 0.5, False)):
        p = (1 + (null >= observed).sum()) / (1 + draws)
        assert (p <= 1 - level + 1e-12) is np.bool_(significant)


def test_too_few_draws_have_no_quantile():
    assert null_quantile(np.zeros(18)) == np.inf
    with pytest.raises(ValueError, match="level is 95"):
        null_quantile(np.zeros(18), 95)
    with pytest.raises(ValueError, match="without NaN"):
        null_quantile([0.0, np.nan])


def test_wrong_options_are_named():
    x, y = np.random.default_rng(0).standard_normal((30, 2)), np.arange(30) % 2
    with pytest.raises(ValueError, match="permutations is 0"):
        permutation_test(FAST, x, y, permutations=0, seed=0)
    with pytest.raises(ValueError, match="statistic is 'mean'"):
        permutation_test(FAST, x, y, seed=0, statistic="mean")


# --- calibration ------------------------------------------------------------------------------------------------------


def p_values(estimator, draw, simulations, seed, use_groups=True):
    """p of fresh data; 19 permutations make the level exactly .05."""
    found = []
    for index in range(simulations):
        x, y, groups = draw(np.random.default_rng([seed, index]))
        test = permutation_test(estimator, x, y, groups if use_groups else None, permutations=19, seed=index)
        found.append(test.p)
    return np.array(found)


def assert_level(p):
    """Share of p ≤ .05, and the mean of p, which is uniform on .05, .10 … 1, within three standard errors."""
    assert abs((p <= 0.05).mean() - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / len(p))
    assert abs(p.mean() - 0.525) <= 3 * np.sqrt((20**2 - 1) / 12 / 20**2 / len(p))


def independent(rng, n=40, width=3):
    return rng.standard_normal((n, width)), rng.permutation(np.arange(n) % 2), None


@pytest.mark.parametrize("estimator", [FAST, Ross()], ids=["probe", "ross"])
def test_level_with_independent_rows(estimator):
    assert_level(p_values(estimator, independent, 60, 1))


@pytest.mark.parametrize("estimator", [FAST, Ross(k=5)], ids=["probe", "ross"])
def test_level_with_grouped_rows_holds_by_group_and_not_by_row(estimator):
    def draw(rng):
        return contextual(24, 4, rng)

    assert_level(p_values(estimator, draw, 60, 2))
    assert (p_values(estimator, draw, 12, 3, use_groups=False) <= 0.05).mean() > 0.3


def test_level_where_labels_vary_within_groups():
    # Each instance has a label profile and states of its own: exchangeable between instances only.
    def draw(rng):
        x, _, groups = contextual(20, 4, rng, shared=0.98)
        lean = np.repeat(rng.choice([0.03, 0.97], 20), 4)
        return x, (rng.random(80) < lean).astype(int), groups

    assert_level(p_values(FAST, draw, 60, 4))
    assert (p_values(FAST, draw, 20, 5, use_groups=False) <= 0.05).mean() > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "simulations"), [(STEADY, 1000), (Ross(), 1000), (Probe(), 150)])
@pytest.mark.parametrize("grouped", [False, True])
def test_level_long(estimator, simulations, grouped):
    """Purpose: the level of the permutation test within .02, with the estimators as people use them."""

    def draw(rng):
        return contextual(30, 5, rng) if grouped else independent(rng, 100, 4)

    assert_level(p_values(estimator, draw, simulations, 6))


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("target", "of"), [(0.0, "lower_bound"), (0.2, "nats")])
def test_intervals_cover_on_linear_gaussian_states(classes, target, of):
    """Purpose: 95 % intervals of the default estimator cover the truth in at least 90 % of 100 fresh data sets."""
    spacing, covered = spacing_of(target, classes), []
    for seed in range(100):
        rng = np.random.default_rng([7, seed])
        y = rng.integers(0, classes, 1000)
        x = rng.standard_normal((1000, 32))
        x[:, 0] += spacing * y
        found = interval(Probe().estimate(x, y), of=of)
        covered.append(found.low <= target <= found.high)
    assert np.mean(covered) >= 0.9


def spacing_of(target, classes):
    if target == 0:
        return 0.0
    return brentq(lambda s: information_of_spacing(s, np.full(classes, 1 / classes)) - target, 0.0, 8.0)


# --- halves -----------------------------------------------------------------------------------------------------------


def test_halves_are_disjoint_by_group_and_balanced():
    x, y, groups = contextual(40, 3, np.random.default_rng(0))
    halves = split_half(FAST, x, y, groups, seed=0)
    assert not set(groups[halves.in_first]) & set(groups[~halves.in_first])
    assert y[halves.in_first].mean() == y[~halves.in_first].mean() == 0.5
    assert halves.in_first.sum() == 60
    by_hand = FAST.estimate(x[halves.in_first], y[halves.in_first], groups[halves.in_first])
    assert halves.first == by_hand.lower_bound
    assert halves.second == halves.estimates[1].lower_bound
    other = split_half(FAST, 2 * x + 1, y, groups, seed=0)
    np.testing.assert_array_equal(other.in_first, halves.in_first)
    assert (split_half(FAST, x, y, groups, seed=1).in_first != halves.in_first).any()


def test_halves_of_local_average_to_the_whole():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(101)
    x = y + rng.standard_normal(101)
    halves = split_half(KSG(), x, y, seed=0, refit=False)
    whole = KSG().estimate(x, y)
    share = halves.in_first.mean()
    assert abs(halves.in_first.sum() - 50.5) == 0.5
    assert share * halves.first + (1 - share) * halves.second == pytest.approx(whole.nats, abs=1e-12)
    assert halves.estimates == ()
    assert halves.first != halves.second


def test_halves_take_several_columns_of_integers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 1000, (120, 2))
    x = y[:, 0] + rng.standard_normal(120)
    groups = np.repeat(np.arange(40), 3)
    for instances in (None, groups):
        halves = split_half(KSG(), x, y, instances, seed=0)
        as_floats = split_half(KSG(), x, y.astype(float), instances, seed=0)
        assert (halves.first, halves.second) == (as_floats.first, as_floats.second)
        assert halves.reason == ""


def test_halves_without_a_value_say_why():
    x, y = np.random.default_rng(0).standard_normal((40, 2)), np.r_[np.zeros(38, int), 1, 1]
    halves = split_half(FAST, x, y, seed=0)  # one row of class 1 in each half
    assert (np.isnan(halves.first), halves.reason) == (True, rare_class(None))
    with pytest.raises(ValueError, match="two independent rows"):
        split_half(FAST, x, y, np.zeros(40, int), seed=0)


def test_refitted_halves_of_a_profile_agree_where_information_differs():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    pairs = np.array(
        [
            (h.first, h.second)
            for h in (
                split_half(FAST, rng.standard_normal((600, 3)) + strength * y[:, None], y, seed=0)
                for strength in (0.0, 0.3, 0.6, 0.9)
            )
        ]
    )
    assert (np.diff(pairs, axis=0) > 0).all()


# --- intervals --------------------------------------------------------------------------------------------------------


def test_interval_by_hand():
    local = np.array([0.1, 0.2, 0.3, 0.4])
    estimate = MIEstimate(0.25, None, local, 0.05, 4, None, "ok", "", "hand")
    found = interval(estimate)
    # t quantile .975 with 3 degrees of freedom: 3.18245
    assert (found.low, found.high) == pytest.approx((0.25 - 0.05 * 3.182446, 0.25 + 0.05 * 3.182446), abs=1e-6)
    paired = MIEstimate(0.25, None, local, 0.05, 4, None, "ok", "", "hand", groups=np.array([0, 0, 1, 1]))
    assert interval(paired).high - 0.25 == pytest.approx(0.05 * 12.7062, abs=1e-5)  # 1 degree of freedom
    assert interval(estimate, 0.5).high < found.high


def test_the_level_of_a_probe_has_the_wider_interval():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    estimate = Probe().estimate(rng.standard_normal((200, 20)) + 0.5 * y[:, None], y)
    level, bound = interval(estimate), interval(estimate, of="lower_bound")
    assert level.high - level.low > bound.high - bound.low
    assert (level.low + level.high) / 2 == pytest.approx(estimate.nats)
    assert (bound.low + bound.high) / 2 == pytest.approx(estimate.lower_bound)


def test_an_interval_reaches_zero_at_least():
    negative = MIEstimate(-0.2, None, np.full(50, -0.2), 0.01, 50, None, "ok", "", "hand")
    found = interval(negative)
    assert (found.low < -0.2, found.high) == (True, 0.0)


def test_intervals_that_do_not_exist_say_why():
    x, y = np.random.default_rng(0).standard_normal((60, 1)), np.arange(60) % 2
    assert interval(FAST.estimate(x, np.zeros(60, int))).reason == "a single class"
    assert interval(NPEET().estimate(x, y)).reason == "the estimator gives no standard error"
    with pytest.raises(ValueError, match="has no lower bound"):
        interval(Ross().estimate(x, y), of="lower_bound")
    with pytest.raises(ValueError, match="level is 95"):
        interval(Ross().estimate(x, y), 95)


# --- detection limit --------------------------------------------------------------------------------------------------


def test_information_of_spacing_is_the_quadrature_on_a_line(line_information):
    for spacing, prior in ((0.3, [0.5, 0.5]), (1.5, [0.8, 0.2]), (2.0, [0.25] * 4), (0.0, [0.5, 0.5])):
        right = line_information(spacing * np.arange(len(prior)), np.array(prior))
        assert information_of_spacing(spacing, prior) == pytest.approx(right, abs=1e-7)
    assert information_of_spacing(30.0, [0.25] * 4) == pytest.approx(np.log(4))


def test_intraclass_correlation_is_the_share_of_variance_between_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(2000), rng.integers(1, 6, 2000))
    for share in (0.0, 0.4, 1.0):
        x = np.sqrt(share) * rng.standard_normal((2000, 2))[groups]
        x = x + np.sqrt(1 - share) * rng.standard_normal((len(groups), 2))
        assert intraclass_correlation(x * [1, 1e3] + 1e4, groups) == pytest.approx(share, abs=0.03)
    assert intraclass_correlation(np.ones((4, 1)), np.array([0, 0, 1, 1])) == 0.0
    assert intraclass_correlation(rng.standard_normal((4, 1)), np.arange(4)) == 0.0


def quick_limit(estimator, x, y, groups=None, draws=8):
    threshold = permutation_test(estimator, x, y, groups, permutations=39, seed=0).quantile
    return detection_limit(estimator, x, y, groups, seed=0, threshold=threshold, draws=draws)


def test_detection_limits_order_as_they_must():
    rng = np.random.default_rng(0)

    def limit(n, width, minority, estimator=STEADY):
        y = (np.arange(n) < minority * n).astype(int)
        return quick_limit(estimator, rng.standard_normal((n, width)), y).nats

    small, large, wide, uneven = limit(100, 2, 0.5), limit(800, 2, 0.5), limit(100, 20, 0.5), limit(100, 2, 0.1)
    assert 0.001 < large < small < wide < np.log(2)
    assert 0.01 < uneven < 0.325  # H(Y) of 10 %
    assert limit(200, 1, 0.5, Ross()) > large


def test_contextual_rows_tell_less_than_as_many_independent_ones():
    rng = np.random.default_rng(0)
    x, y, groups = contextual(40, 8, rng)
    grouped = quick_limit(STEADY, x, y, groups)
    assert grouped.correlation == pytest.approx(0.9, abs=0.05)
    assert grouped.nats > 2 * quick_limit(STEADY, rng.standard_normal((320, 3)), y).nats


class Gauss(Agreement):
    """−½ log(1 − r²) of one column and y: the information itself where both are normal."""

    def estimate(self, x, y, groups=None):
        self.seen.append(np.array(x))
        value = float(-0.5 * np.log1p(-(np.corrcoef(np.asarray(x)[:, 0], y)[0, 1] ** 2)))
        return MIEstimate(value, None, np.full(len(y), value), 0.1, len(y), None, "ok", "", "gauss", groups=groups)


def test_planted_rows_of_a_continuous_output_have_the_information_they_should():
    rng = np.random.default_rng(0)
    spy, y = Gauss(), np.exp(rng.standard_normal(400))  # known through its normal scores alone
    for information in (0.05, 0.5):
        scores = ndtri((np.argsort(np.argsort(y)) + 0.5) / 400)
        limit = detection_limit(spy, rng.standard_normal((400, 1)), scores, seed=0, threshold=information, draws=60)
        assert limit.nats == pytest.approx(information, rel=0.12)
    assert np.mean([x.std() for x in spy.seen]) == pytest.approx(1.0, abs=0.05)
    spy.seen.clear()
    skewed = detection_limit(spy, rng.standard_normal((400, 1)), y, seed=0, threshold=0.05, draws=20)
    assert skewed.nats > 0.05  # the correlation with y itself is smaller than with its scores


def test_planted_rows_of_a_group_correlate_as_those_given():
    rng = np.random.default_rng(0)
    x, y, groups = contextual(100, 6, rng, shared=0.7)
    spy = Gauss()
    found = detection_limit(spy, x, y, groups, seed=0, threshold=0.01, draws=4)
    planted = [intraclass_correlation(each, groups) for each in spy.seen[-4:]]
    assert found.correlation == pytest.approx(0.7, abs=0.07)
    assert np.mean(planted) == pytest.approx(found.correlation, abs=0.07)


def test_symbols_have_no_detection_limit():
    y = np.arange(60) % 2
    words = np.array(["a", "b", "c"])[np.random.default_rng(0).integers(0, 3, 60)]
    symbols = make_estimator("discrete")
    assert "states are symbols" in detection_limit(symbols, words, y, seed=0, threshold=0.1).reason
    counts = np.arange(60) % 3
    assert "no Gaussian states can be planted" in detection_limit(symbols, counts, y, seed=0, threshold=0.1).reason
    assert permutation_test(symbols, words, y, permutations=9, seed=0).null.size == 9


def test_many_classes_are_planted_in_blocks_of_equal_share():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(400) % 40)
    x = rng.standard_normal((400, 1))
    sure = detection_limit(Agreement(), x, y, seed=0, threshold=-1.0, draws=2).nats  # always found: the least planted
    never = detection_limit(Agreement(), x, y, seed=0, threshold=2.0, draws=2).nats
    assert sure == pytest.approx(1e-4, rel=0.1)
    assert never == np.inf

    class Spread(Agreement):
        """Sum of squares between means of y's eighths: what a shift of blocks moves."""

        def estimate(self, x, y, groups=None):
            means = [np.asarray(x)[np.asarray(y) // 5 == block].mean() for block in range(8)]
            value = float(np.var(means))
            return MIEstimate(value, None, np.full(len(y), value), 0.1, len(y), None, "ok", "", "spread")

    # means 0, s .. 7s have variance 5.25 s², and the noise of a mean of 50 rows adds 1/50
    for spacing in (0.5, 3.0):
        limit = detection_limit(Spread(), x, y, seed=0, threshold=5.25 * spacing**2 + 0.02, draws=60).nats
        assert limit == pytest.approx(information_of_spacing(spacing, [1 / 8] * 8), rel=0.1)


def test_limits_that_do_not_exist():
    x, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    assert detection_limit(FAST, x, np.zeros(40, int), seed=0).reason == "a single class"
    assert detection_limit(FAST, np.ones((40, 2)), y, seed=0).reason == "constant state"
    assert "too few permutations" in detection_limit(FAST, x, y, seed=0, threshold=np.inf).reason
    assert detection_limit(FAST, x, y, seed=0, threshold=5.0, draws=3).nats == np.inf
    with pytest.raises(ValueError, match="draws is 0"):
        detection_limit(FAST, x, y, seed=0, draws=0)
    with pytest.raises(ValueError, match="2 columns"):
        detection_limit(KSG(), x, x, seed=0)


def found_at_limit(estimator, continuous, *, draws, data_sets, permutations, n=100, width=2):
    """Share of fresh data sets with the limit's information whose permutation test rejects."""
    rng = np.random.default_rng(11)
    y = rng.standard_normal(n) if continuous else np.arange(n) % 2
    # the mean of four data sets, since the quantile of one varies by a quarter
    thresholds = [
        permutation_test(estimator, rng.standard_normal((n, width)), y, permutations=permutations, seed=seed).quantile
        for seed in range(4)
    ]
    x, threshold = rng.standard_normal((n, width)), float(np.mean(thresholds))
    limit = detection_limit(estimator, x, y, seed=0, threshold=threshold, draws=draws).nats
    spacing, found = spacing_of(limit, 2), []
    for index in range(data_sets):
        rng = np.random.default_rng([12, index])
        x = rng.standard_normal((n, width))
        if continuous:
            y = rng.standard_normal(n)
            x[:, 0] = np.exp(-limit) * x[:, 0] + np.sqrt(1 - np.exp(-2 * limit)) * y
        else:
            x[:, 0] += spacing * y
        found.append(permutation_test(estimator, x, y, permutations=permutations, seed=index).p <= 0.05)
    return float(np.mean(found))


def test_half_the_draws_are_found_at_the_limit():
    # The limit's own error (40 draws) and the simulation's (60 tests) together: 3 · √(.5²/40 + .5²/60) = .31
    assert abs(found_at_limit(FAST, continuous=False, draws=40, data_sets=60, permutations=39) - 0.5) < 0.31


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "continuous"), [(FAST, False), (Ross(), False), (KSG(), True)])
def test_half_the_draws_are_found_at_the_limit_long(estimator, continuous):
    """Purpose: the detection limit is what it says, for three families, with 200 tests each."""
    found = found_at_limit(estimator, continuous, draws=200, data_sets=200, permutations=99)
    assert abs(found - 0.5) < 3 * np.sqrt(0.25 / 200 + 0.25 / 200)
