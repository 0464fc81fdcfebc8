"""Public bug reports about mutual information estimators (CASES M), each with the right value."""

import numpy as np
import pytest

from mi_attention.estimators import KSG, NPEET, Probe, Ross, SmallSampleWarning, mutual_information


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
    assert estimate.status == "undefined"
    assert estimate.reason == "class has fewer than 2 rows"
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
