"""Public bug reports about mutual information estimators (CASES M), each with the right value.

M3, M5, M13, M15, M16, M21, M25 and M32 are numbers the collection does not have.
"""

import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

from mi_attention.estimators import (
    KSG,
    NPEET,
    Copula,
    HighDimensionWarning,
    Mixture,
    Probe,
    ProbeKNN,
    Ross,
    SmallSampleWarning,
    estimator_names,
    make_estimator,
    mutual_information,
)
from mi_attention.estimators.permutation import permutation_test
from mi_attention.interface import Unit

# Neighbours in many columns are tried on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::mi_attention.estimators.HighDimensionWarning")


@pytest.mark.parametrize("estimator", [Probe(), Ross(), KSG()])
def test_m1_a_constant_feature_has_exactly_no_information(estimator):
    y = (np.arange(10**6) < 100).astype(int)
    estimate = estimator.estimate(np.ones(10**6), y)
    assert estimate.nats == 0.0
    assert estimate.reason == "constant state"
    assert estimate.status == "ok"
    assert not estimate.local.any()
    # c34: one constant column beside a varying one is left out, not fed to neighbours
    if isinstance(estimator, Ross):
        x = np.random.default_rng(0).standard_normal((500, 1))
        both = np.hstack([x, np.full((500, 1), 1e8 + 0.1)])
        assert Ross().estimate(both, y[:500] ^ (x[:, 0] > 0)).nats == Ross().estimate(x, y[:500] ^ (x[:, 0] > 0)).nats


def test_m2_duplicates_need_no_noise():
    # y ± with means 1.5 apart: 0.246 nats by quadrature before rounding to one decimal
    values = []
    for seed in range(12):
        r = np.random.default_rng(seed)
        y = r.integers(0, 2, 1000)
        values.append(Ross().estimate(np.round(y * 1.5 + r.standard_normal(1000), 1), y).nats)
    assert 0.2 < np.mean(values) < 0.26
    assert np.isfinite(values).all()


@pytest.mark.parametrize("estimator", [Probe(), Ross()])
def test_m4_all_singletons_are_undefined(estimator):
    estimate = estimator.estimate(np.random.default_rng(0).standard_normal(6), np.arange(6))
    assert (estimate.status, bool(np.isnan(estimate.nats))) == ("undefined", True)
    estimate = estimator.estimate(np.random.default_rng(0).standard_normal(12), np.arange(12))
    assert estimate.status == "undefined"
    assert estimate.reason.startswith("class has fewer than 2 rows: merge or remove it")
    assert np.isnan(estimate.nats)


@pytest.mark.parametrize("estimator", [Probe(), Ross(), NPEET()])
def test_m6_a_single_class_has_ceiling_zero(estimator):
    # H(Y) = 0 leaves nothing to find; the sample cannot say more, so the value itself is undefined.
    estimate = estimator.estimate(np.random.default_rng(0).standard_normal(50), np.zeros(50, dtype=int))
    assert (estimate.status, estimate.reason, estimate.ceiling) == ("undefined", "a single class", 0.0)


def test_m7_tiny_samples_warn_or_are_refused():
    r = np.random.default_rng(0)
    assert Probe().estimate([1.0, 2.0], [0, 1]).status == "undefined"
    for estimator in (Probe(), Ross(k=3)):
        with pytest.warns(SmallSampleWarning, match="only 10 independent rows"):
            estimator.estimate(r.standard_normal(10), np.arange(10) % 2)
    with pytest.warns(SmallSampleWarning):
        KSG().estimate(r.standard_normal(10), r.standard_normal(10))


@pytest.mark.parametrize("estimator", [Ross(k=5), KSG(k=5), NPEET(k=5)])
def test_m8_k_of_n_or_more_is_an_error(estimator):
    with pytest.raises(ValueError, match="k=5 needs more than 5 rows"):
        estimator.estimate(np.arange(5.0), np.array([0, 1, 0, 1, 0]))


@pytest.mark.parametrize("estimator", [KSG(), KSG(algorithm=2)])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_m10_scale_of_one_side_does_not_matter(estimator, scale):
    r = np.random.default_rng(0)
    a = r.standard_normal(4000)
    b = 0.8 * a + 0.6 * r.standard_normal(4000)
    assert estimator.estimate(scale * a, b).nats == pytest.approx(0.5108, abs=0.03)
    assert estimator.estimate(scale * a, b).nats == pytest.approx(estimator.estimate(a, b).nats, abs=1e-9)


def test_m12_integers_and_floats_agree():
    r = np.random.default_rng(0)
    x = np.array([*range(100), 1000])
    y = x + 0.3 * r.standard_normal(101)
    for estimator in (KSG(), KSG(algorithm=2)):
        assert estimator.estimate(x, y).nats == estimator.estimate(x.astype(float), y).nats
        assert estimator.estimate(x, y).nats == pytest.approx(3.15, abs=0.2)


@pytest.mark.parametrize("estimator", [Probe(), Ross(), KSG()])
def test_m14_float32_is_as_good_as_its_digits(estimator):
    r = np.random.default_rng(0)
    y = np.arange(300) % 2
    x = np.round(1.5 * y + r.standard_normal(300), 1).astype(np.float32)
    assert estimator.estimate(x, y).nats == pytest.approx(estimator.estimate(x.astype(np.float64), y).nats, abs=1e-12)


@pytest.mark.parametrize("make", [Ross, KSG, NPEET])
def test_m18_k_has_an_effect(make):
    r = np.random.default_rng(0)
    y = np.arange(300) % 2
    x = r.standard_normal(300) + y
    assert len({make(k=k).estimate(x, y).nats for k in (1, 3, 9)}) == 3


@pytest.mark.parametrize("estimator", [Ross(), KSG(), KSG(algorithm=2), Probe()])
def test_m19_values_at_independence_are_signed_and_centred(estimator):
    r = np.random.default_rng(0)
    values = []
    for _ in range(40):
        y = r.integers(0, 2, 300) if isinstance(estimator, (Ross, Probe)) else r.standard_normal(300)
        values.append(estimator.estimate(r.standard_normal(300), y).nats)
    # A held-out bound is below the truth in expectation, so more of the probe's values are negative.
    assert 0.2 <= np.mean(np.array(values) < 0) <= (0.95 if isinstance(estimator, Probe) else 0.8)
    assert abs(np.mean(values)) < 0.015


def test_m20_information_does_not_exceed_the_entropy_of_the_class():
    r = np.random.default_rng(0)
    x, y = r.standard_normal((1000, 128)), r.integers(0, 4, 1000)
    probe, ross = Probe().estimate(x, y), Ross().estimate(x, y)
    assert abs(probe.nats) < 0.02
    assert abs(ross.nats) < 0.05
    with pytest.warns(UserWarning, match="use Probe"):
        peer = NPEET().estimate(x, y)
    assert peer.nats > peer.ceiling  # the fault this stands for


def test_m4_symbols_that_all_occur_once_are_undefined():
    estimate = make_estimator("discrete").estimate(list("abcdef"), list("uvwxyz"))
    assert (estimate.status, estimate.reason) == (
        "undefined",
        "no value of x occurs in two rows: merge values, or add rows",
    )
    assert mutual_information(list("abcdef"), list("uvwxyz")).status == "undefined"


def test_m20_no_correction_of_counts_exceeds_the_entropies():
    # Four pairs of equal symbols in eight rows: Miller and Madow would add 3/16 to log 4.
    x = np.repeat(list("abcd"), 2)
    with pytest.warns(SmallSampleWarning):
        assert make_estimator("discrete").estimate(x, x).nats == pytest.approx(np.log(4), abs=1e-12)


def test_m20_ross_exceeds_the_entropy_by_its_digamma_bias_at_most():
    # local <= psi(N) - psi(N_y), so the mean is at most sum_c p_c (psi(N) - psi(N p_c)), about H + (C - 1)/2N
    y = np.arange(200) % 4
    estimate = Ross().estimate(np.eye(4)[y] + 1e-3 * np.random.default_rng(0).standard_normal((200, 4)), y)
    assert estimate.ceiling < estimate.nats < estimate.ceiling + 3 / 400 + 1e-4


@pytest.mark.parametrize("estimator", [Probe(), Ross(), KSG(), KSG(algorithm=2)])
@pytest.mark.parametrize("digits", [0, 1, 12])
def test_m26_local_values_average_to_the_raw_value(estimator, digits):
    r = np.random.default_rng(0)
    y = np.arange(300) % 2
    estimate = estimator.estimate(np.round(r.standard_normal((300, 2)) + y[:, None], digits), y)
    raw = estimate.nats if estimate.lower_bound is None else estimate.lower_bound
    assert estimate.local.mean() == raw
    assert estimate.local.shape == (300,)


@pytest.mark.parametrize("estimator", [Probe(), Ross(), KSG(), NPEET()])
def test_m37_two_calls_give_one_number_and_leave_the_global_generator_alone(estimator):
    r = np.random.default_rng(0)
    y = np.arange(200) % 2
    x = np.round(r.standard_normal(200) + y, 1)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = estimator.estimate(x, y), estimator.estimate(x, y)
    assert first.nats == second.nats
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_c34_a_vector_is_not_a_sum_of_its_coordinates():
    # Two copies of one noisy bit-bearing column hold what one holds, not twice that.
    r = np.random.default_rng(0)
    y = np.arange(1500) % 2
    x = r.standard_normal((1500, 1)) + 2 * y[:, None]
    for estimator in (Probe(), Ross()):
        single, double = estimator.estimate(x, y).nats, estimator.estimate(np.hstack([x, x]), y).nats
        assert double == pytest.approx(single, abs=0.005)
    assert mutual_information(x, y).nats <= mutual_information(x, y).ceiling


# --- the other numbers, in order --------------------------------------------------------------------------------------


def test_m1_a_balanced_constant_position_has_nothing_either():
    y = np.arange(2000) % 2
    for estimator in (Probe(), Ross(), make_estimator("mixture")):
        assert estimator.estimate(np.full((2000, 3), 1e8 + 0.1), y).nats == 0.0


def test_m2_duplicates_are_finite_for_both_kinds_of_output():
    # x and y agree up to rounding to one decimal; entropies of such data are -inf, their information is not
    r = np.random.default_rng(0)
    a = r.standard_normal(3000)
    b = 0.8 * a + 0.6 * r.standard_normal(3000)
    for estimator in (KSG(), KSG(algorithm=2), make_estimator("mixture")):
        found = estimator.estimate(np.round(a, 1), np.round(b, 1) + 1e-9)
        assert found.nats == pytest.approx(0.5108, abs=0.06)
        assert np.isfinite(found.local).all()


def test_m7_two_rows_do_not_read_ln_2():
    # a plug-in value of two different rows of two classes is ln 2 = H(Y), whatever they are
    assert Probe().estimate([0, 1], [0, 1]).status == "undefined"
    with pytest.raises(ValueError, match="lower k or add rows"):
        Ross().estimate([0, 1], [0, 1])
    for x, y in (([0, 1], [0, 1]), (["a", "b"], [0, 1]), (list("abcdef"), list("uvwxyz"))):
        assert make_estimator("discrete").estimate(x, y).status == "undefined"
    assert mutual_information(["a", "b"], [0, 1]).status == "undefined"
    test = permutation_test(make_estimator("discrete"), [0, 1], [0, 1], permutations=19, seed=0)
    assert np.isnan(test.p)
    assert test.reason.startswith("no value of x occurs in two rows")
    with pytest.warns(SmallSampleWarning, match="use a permutation test"):
        test = permutation_test(make_estimator("discrete"), [0, 0, 1], [0, 0, 1], permutations=19, seed=0)
    assert test.p >= 0.2  # one of three arrangements


def test_m7_a_permutation_test_is_honest_about_ten_rows():
    r = np.random.default_rng(0)
    rejected = 0
    for seed in range(60):
        with pytest.warns(SmallSampleWarning):
            test = permutation_test(Ross(), r.standard_normal(10), np.arange(10) % 2, permutations=19, seed=seed)
        rejected += test.p <= 0.05
    assert rejected / 60 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.parametrize("estimator", [Probe(), Ross(), KSG()])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_m9_nan_and_infinity_name_the_row(estimator, bad):
    r = np.random.default_rng(0)
    x, y = r.standard_normal((40, 2)), r.standard_normal(40) if isinstance(estimator, KSG) else np.arange(40) % 2
    x[11, 1] = bad
    with pytest.raises(ValueError, match="row 11, column 1"):
        estimator.estimate(x, y)
    with pytest.raises(ValueError, match="y is NaN or infinite at row 3"):
        KSG().estimate(x[:, 0], np.where(np.arange(40) == 3, bad, r.standard_normal(40)))


@pytest.mark.parametrize("estimator", [Probe(), Ross(), KSG(), KSG(algorithm=2)])
def test_m10_offset_and_scale_of_the_state_do_not_matter(estimator):
    r = np.random.default_rng(0)
    x = r.standard_normal((500, 2))
    y = x[:, 0] + r.standard_normal(500) if isinstance(estimator, KSG) else (x[:, 0] > 0).astype(int)
    plain = estimator.estimate(x, y).nats
    # 1e8 leaves 8 digits of a float64
    assert estimator.estimate(x + 1e8, y).nats == pytest.approx(plain, abs=1e-5)
    assert estimator.estimate(x * [1e6, 1e-6], y).nats == pytest.approx(plain, abs=1e-9)


def test_m11_both_directions_agree():
    r = np.random.default_rng(0)
    c = r.standard_normal(600)
    d = (c + r.standard_normal(600) > 0).astype(int)
    e = np.round(c + r.standard_normal(600))
    mixture, discrete = make_estimator("mixture"), make_estimator("discrete")
    assert mixture.estimate(c, d).nats == pytest.approx(mixture.estimate(d, c).nats, abs=1e-12)
    assert discrete.estimate(e, d).nats == pytest.approx(discrete.estimate(d, e.astype(int)).nats, abs=1e-12)
    for ksg in (KSG(), KSG(algorithm=2)):
        other = c + r.standard_normal(600)
        assert ksg.estimate(c, other).nats == pytest.approx(ksg.estimate(other, c).nats, abs=1e-12)


@pytest.mark.parametrize("estimator", [Probe(), Ross()])
def test_m12_integers_and_floats_agree_for_classes(estimator):
    x = np.array([*range(100), 1000])
    y = (x // 50) % 2
    assert estimator.estimate(x, y).nats == estimator.estimate(x.astype(float), y).nats


def test_m17_negative_names_of_discrete_values_change_nothing():
    r = np.random.default_rng(0)
    x, y = r.integers(0, 3, 300), r.integers(0, 2, 300)
    plain = make_estimator("discrete").estimate(x, y).nats
    assert make_estimator("discrete").estimate(x - 5, -7 * y).nats == pytest.approx(plain, abs=1e-12)
    assert Ross().estimate(x - 5, -7 * y).nats == pytest.approx(Ross().estimate(x, y).nats, abs=1e-12)
    # by hand: x says nothing of y, in a full table
    x, y = np.repeat([-1, -2], 20), np.tile([-3, 4], 20)
    assert abs(make_estimator("discrete", correction="none").estimate(x, y).nats) < 1e-15


def test_m22_a_near_deterministic_line_keeps_its_information():
    # I = ½ log(1 + 1/s²) = 4.605 nats at s = .01; a sum of three entropies misses it by .45
    values = []
    for seed in range(5):
        r = np.random.default_rng(seed)
        x = r.standard_normal(4000)
        values.append(KSG().estimate(x, x + 0.01 * r.standard_normal(4000)).nats)
    assert np.mean(values) == pytest.approx(4.605, abs=0.1)


def test_m22_the_plug_in_is_the_sum_of_entropies_exactly():
    r = np.random.default_rng(0)
    x, y = r.integers(0, 4, 500), r.integers(0, 3, 500)

    def entropy(codes):
        share = np.unique(codes, return_counts=True)[1] / len(codes)
        return -(share * np.log(share)).sum()

    right = entropy(x) + entropy(y) - entropy(10 * x + y)
    assert make_estimator("discrete", correction="none").estimate(x, y).nats == pytest.approx(right, abs=1e-12)


def test_m23_the_unit_is_the_nat():
    # a fair bit that is known: ln 2 = .693 nats, not 1 bit
    y = np.arange(400) % 2
    r = np.random.default_rng(0)
    x = y + 0.01 * r.standard_normal(400)
    for estimator in (Probe(), Ross(), make_estimator("mixture")):
        assert estimator.estimate(x, y).nats == pytest.approx(np.log(2), abs=0.01)
    assert "nats" in repr(Ross().estimate(x, y))


def test_m24_a_negative_entropy_of_the_state_is_no_matter():
    # h(x) of a state with standard deviation 1e-3 is -5.5 nats; I(x; y) is what it is at scale 1
    r = np.random.default_rng(0)
    y = np.arange(1000) % 2
    x = r.standard_normal(1000) + 2 * y
    assert Ross().estimate(1e-3 * x, y).nats == pytest.approx(Ross().estimate(x, y).nats, abs=1e-9)
    assert Ross().estimate(1e-3 * x, y).nats > 0.2


def test_m27_sixteen_correlated_pairs_are_not_underestimated():
    # -8 log(1 - .5²) = 2.301 nats; nearest neighbours in 32 dimensions read .7
    r = np.random.default_rng(0)
    a = r.standard_normal((5000, 16))
    b = 0.5 * a + np.sqrt(0.75) * r.standard_normal((5000, 16))
    found = make_estimator("gaussian").estimate(a, b)
    assert found.nats == pytest.approx(2.301, abs=0.07)
    assert found.lower_bound < found.nats


def test_m28_a_label_is_no_coordinate():
    # four classes, all but certain in 128 dimensions: about H(Y) = 1.386 nats; a one-hot label in KSG reads .01
    r = np.random.default_rng(0)
    y = r.integers(0, 4, 1000)
    x = r.standard_normal((1000, 128))
    x[:, :4] += 4 * np.eye(4)[y]
    found = Probe().estimate(x, y)
    assert found.ceiling - 0.1 < found.nats <= found.ceiling
    for one, other in ((x, y), (y, x), (x, y.astype(float))):
        with pytest.raises(ValueError, match=r"4 classes beside 128 columns.*use Probe"):
            KSG().estimate(one, other)
    low = KSG().estimate(x[:, :2], y)
    assert low.reason == "4 classes taken for a coordinate: use Ross or Mixture"
    assert "classes" not in KSG().estimate(x[:, :2], np.arange(1000)).reason


@pytest.mark.parametrize("estimator", [Ross(), KSG(), Mixture()], ids=lambda e: e.signature)
@pytest.mark.filterwarnings("default::mi_attention.estimators.HighDimensionWarning")
def test_m27_neighbours_in_many_columns_say_so(estimator):
    r = np.random.default_rng(0)
    x, y = r.standard_normal((60, 6)), np.arange(60) % 2
    output = r.standard_normal(60) if isinstance(estimator, KSG) else y
    with pytest.warns(HighDimensionWarning, match=r"in 6 columns: .* use (Probe|Copula)") as told:
        estimator.estimate(x, output)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.estimate(x[:, :5], output)
        estimator.estimate(np.hstack([x[:, :5], np.ones((60, 1))]), output)


def test_m27_the_probe_in_front_of_neighbours_is_no_reason_to_warn():
    r = np.random.default_rng(0)
    y = np.arange(140) % 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProbeKNN(probe=Probe(folds=3, members=("linear",))).estimate(r.standard_normal((140, 8)), y)


@pytest.mark.parametrize("estimator", [Ross(), Probe(), Copula(), make_estimator("neural")], ids=lambda e: e.signature)
def test_m9_the_unit_is_named(estimator):
    r = np.random.default_rng(0)
    y = r.standard_normal(100) if isinstance(estimator, Copula) else np.arange(100) % 2
    x = [r.standard_normal((100, 4)) for _ in range(3)]
    x[2][11, 1] = np.nan
    units = [Unit(each, y, name=f"position {index + 5}") for index, each in enumerate(x)]
    with pytest.raises(ValueError, match=r"^unit 2 \(position 7\): x is nan at row 11, column 1"):
        estimator.estimate_many(units)
    with pytest.raises(ValueError, match=r"^unit 2: x is nan at row 11"):
        estimator.estimate_many(np.stack(x), y)
    with pytest.raises(ValueError, match=r"^x is nan at row 11"):
        estimator.estimate(x[2], y)


@pytest.mark.slow
def test_m29_mine_settles_near_the_truth():
    """Purpose: a trained bound comes to one value, from two starts, and not above the truth by more than its error."""
    r = np.random.default_rng(0)
    a = r.standard_normal(4000)
    b = 0.8 * a + 0.6 * r.standard_normal(4000)
    found = [make_estimator("neural", bound="mine", seed=seed).estimate(a, b) for seed in (0, 1)]
    for each in found:
        assert 0.43 < each.nats < 0.5108 + 3 * each.standard_error
    assert found[0].nats == pytest.approx(found[1].nats, abs=0.03)


def test_m30_a_gaussian_value_is_labelled_blind_and_a_donut_shows_it():
    r = np.random.default_rng(0)
    angle = r.uniform(0, 2 * np.pi, 2000)
    x, y = np.cos(angle) + 0.1 * r.standard_normal(2000), np.sin(angle) + 0.1 * r.standard_normal(2000)
    gaussian = make_estimator("gaussian")
    assert abs(gaussian.estimate(x, y).nats) < 0.01
    assert KSG().estimate(x, y).nats > 0.5
    assert "Blind" in type(gaussian).__doc__


def test_m31_states_are_vectors():
    r = np.random.default_rng(0)
    x, y = r.standard_normal((200, 3)), np.arange(200) % 2
    z = x[:, :2] + r.standard_normal((200, 2))
    assert KSG().estimate(x, z).nats != KSG().estimate(x[:, 0], z).nats
    for estimator in (Probe(), Ross(), make_estimator("mixture")):
        assert estimator.estimate(x, y).nats != estimator.estimate(x[:, 0], y).nats


def test_m33_memory_grows_with_the_rows_and_not_with_their_square():
    r = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    for width, estimator, output in (
        (1, Ross(), y),
        (2, Ross(), y),
        (1, KSG(), r.standard_normal(20_000)),
        (8, Ross(), y),
    ):
        x = r.standard_normal((20_000, width))
        tracemalloc.start()
        estimator.estimate(x, output)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * 20_000**2 / 20  # all distances would be 3.2 GB


def test_m34_m35_nothing_foreign_is_loaded():
    code = (
        "import sys, mi_attention.estimators; sys.exit(bool({'jax', 'jpype', 'pyopencl', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("algorithm", [1, 2])
def test_m36_ksg_converges_to_the_truth(algorithm):
    # libKSG reads .70 to .74 for a true .5108, whatever N
    for n, draws, within in ((1000, 6, 0.05), (10_000, 2, 0.025)):
        values = []
        for seed in range(draws):
            r = np.random.default_rng(seed)
            a = r.standard_normal(n)
            values.append(KSG(algorithm=algorithm).estimate(a, 0.8 * a + 0.6 * r.standard_normal(n)).nats)
        assert np.mean(values) == pytest.approx(0.5108, abs=within)


def test_m37_every_registered_estimator_has_its_seed_in_the_signature_or_none():
    for name in estimator_names():
        with_seed = {make_estimator(name, seed=seed).signature for seed in (0, 1)}
        assert len(with_seed) == (2 if "seed" in make_estimator(name).signature else 1)
