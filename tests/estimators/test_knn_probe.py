"""Ross on the probe's out-of-fold logits."""

import numpy as np
import pytest

from mi_attention.estimators import Probe, Ross, make_estimator
from mi_attention.estimators.probe_knn import ProbeKNN, out_of_fold_logits


def test_logits_by_hand():
    probabilities = np.array([[0.2, 0.8], [0.5, 0.5]])
    np.testing.assert_allclose(
        out_of_fold_logits(probabilities, np.array([0.25, 0.75])), [[np.log(4) - np.log(3)], [-np.log(3)]]
    )
    three = out_of_fold_logits(np.array([[0.2, 0.3, 0.5]]), np.full(3, 1 / 3))
    np.testing.assert_allclose(three, np.log([[0.2, 0.3, 0.5]]) - np.log([0.2, 0.3, 0.5]).mean())
    assert np.isfinite(out_of_fold_logits(np.array([[0.0, 1.0]]), np.array([0.5, 0.5]))).all()


def test_it_is_ross_on_the_logits_of_the_same_folds():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    x = rng.standard_normal((300, 20))
    x[:, 0] += y
    probe = Probe(seed=4)
    logits = out_of_fold_logits(probe.cross_fitted_probabilities(x, y), np.full(3, 1 / 3))
    found = ProbeKNN(k=5, probe=probe).estimate(x, y)
    np.testing.assert_array_equal(found.local, Ross(k=5).estimate(logits, y).local)
    assert found.lower_bound is None
    assert found.signature == f"probe-knn|k=5|{probe.signature}"


@pytest.mark.parametrize("classes", [2, 4])
def test_levels_of_hidden_positions(classes, hidden_positions):
    x, y, truth = hidden_positions(classes, n=1000, width=32, units=4)
    values = np.array([estimate.nats for estimate in ProbeKNN().estimate_many(x, y)])
    # As the held-out bound, it loses what the probe loses by training on finite data.
    np.testing.assert_allclose(values, truth, atol=0.12)
    assert (np.diff(values) > 0).all()


def test_nothing_is_read_where_nothing_is():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    values = [ProbeKNN().estimate(rng.standard_normal((400, 30)), rng.permutation(y)).nats for _ in range(15)]
    assert abs(np.mean(values)) < 0.02


def test_groups_reach_folds_and_neighbours():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 10)
    x = rng.standard_normal((80, 16))[groups] + 1e-3 * rng.standard_normal((800, 16))
    values = []
    for _ in range(4):
        y = rng.permutation(np.arange(80) % 2)[groups]
        values.append(ProbeKNN().estimate(x, y, groups).nats)
        assert ProbeKNN().estimate(x, y).nats > 0.2
    assert abs(np.mean(values)) < 0.1


def test_undefined_and_bad_input_are_the_probe_s():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3))
    single = ProbeKNN().estimate(x, np.zeros(40, dtype=int))
    assert (single.status, single.reason) == ("undefined", "a single class")
    assert single.signature.startswith("probe-knn|")
    constant = ProbeKNN().estimate(np.ones((40, 3)), np.arange(40) % 2)
    assert (constant.nats, constant.reason) == (0.0, "constant state")
    with pytest.raises(ValueError, match="row 5"):
        ProbeKNN().estimate(np.where(np.arange(40)[:, None] == 5, np.nan, x), np.arange(40) % 2)
    with pytest.raises(ValueError, match="k must"):
        ProbeKNN(k=0)


def test_a_seed_reaches_the_folds():
    x, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    named = make_estimator("probe-knn", seed=1)
    assert named.signature == ProbeKNN(probe=Probe(seed=1)).signature
    assert named.estimate(x, y).nats == ProbeKNN(probe=Probe(seed=1)).estimate(x, y).nats
    assert named.estimate(x, y).nats != ProbeKNN().estimate(x, y).nats
    assert ProbeKNN(probe=Probe(seed=2)).probe.seed == 2
