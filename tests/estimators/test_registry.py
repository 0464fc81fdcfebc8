import numpy as np
import pytest

from mi_attention.estimators import Probe, Ross, estimator_names, make_estimator, mutual_information, register_estimator
from mi_attention.interface import MIEstimate, MIEstimator

RNG = np.random.default_rng(0)


class Always:
    """A user's estimator."""

    def __init__(self, value=0.5):
        self.value = value

    signature = "always"

    def estimate(self, x, y, groups=None):
        n = len(y)
        return MIEstimate(self.value, None, np.full(n, self.value), 0.0, n, None, "ok", "", self.signature)

    def estimate_many(self, units):
        return [self.estimate(unit.x, unit.y) for unit in units]


@pytest.fixture
def names(monkeypatch):
    monkeypatch.setattr("mi_attention.estimators.registry._FACTORIES", dict.fromkeys(["probe"], Probe) | {"ross": Ross})


@pytest.mark.usefixtures("names")
def test_a_users_estimator_joins_by_name():
    register_estimator("always", Always)
    assert "always" in estimator_names()
    assert make_estimator("always", value=0.1).estimate(np.ones((3, 1)), np.ones(3)).nats == 0.1
    with pytest.raises(ValueError, match="taken"):
        register_estimator("always", Always)
    register_estimator("always", lambda: Always(0.9), replace=True)
    assert make_estimator("always").estimate(np.ones((3, 1)), np.ones(3)).nats == 0.9
    register_estimator("broken", dict)
    with pytest.raises(ValueError, match="without signature"):
        make_estimator("broken")
    with pytest.raises(ValueError, match="empty"):
        register_estimator("", Always)


@pytest.mark.parametrize("name", ["probe", "probe-knn", "ross", "ksg", "mixture", "npeet"])
def test_every_member_follows_the_protocol(name):
    estimator = make_estimator(name)
    assert isinstance(estimator, MIEstimator)
    assert estimator == make_estimator(name)
    y = np.arange(60) % 2
    x = RNG.standard_normal((2, 60, 2))
    assert [e.nats for e in estimator.estimate_many(x, y)] == [estimator.estimate(unit, y).nats for unit in x]


@pytest.mark.parametrize("name", ["copula", "gaussian", "regression", "discrete", "scikit-learn"])
def test_members_for_other_outputs_and_states_follow_it_too(name):
    estimator = make_estimator(name, seed=1)
    assert isinstance(estimator, MIEstimator)
    x, y = RNG.standard_normal((2, 60, 1)), RNG.standard_normal(60)
    if name == "discrete":
        x, y = x > 0, y > 0
    assert [e.nats for e in estimator.estimate_many(x, y)] == [estimator.estimate(unit, y).nats for unit in x]


def test_unknown_names_and_options_are_named():
    with pytest.raises(ValueError, match=r"choose one of copula, discrete, gaussian, ksg, .*probe, .*ross"):
        make_estimator("prob")
    with pytest.raises(ValueError, match="does not take these options"):
        make_estimator("ross", neighbours=3)
    assert make_estimator("ross", k=7) == Ross(k=7)


def test_xor_of_two_positions_is_seen_together_only():
    # Two fair bits a, b and y = a xor b: each alone carries 0, together ln 2.
    a, b = RNG.integers(0, 2, (2, 2000))
    noise = 0.1 * RNG.standard_normal((2000, 2))
    states = np.stack([a, b], axis=1) + noise
    for column in (0, 1):
        alone = mutual_information(states[:, column], a ^ b)
        assert abs(alone.nats) < 3 * alone.standard_error + 0.01
    assert mutual_information(states, a ^ b).nats == pytest.approx(np.log(2), abs=0.01)
