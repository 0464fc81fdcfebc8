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


@pytest.mark.parametrize("name", ["probe", "ross", "ksg", "npeet"])
def test_every_member_follows_the_protocol(name):
    estimator = make_estimator(name)
    assert isinstance(estimator, MIEstimator)
    assert estimator == make_estimator(name)
    y = np.arange(60) % 2
    x = RNG.standard_normal((2, 60, 2))
    assert [e.nats for e in estimator.estimate_many(x, y)] == [estimator.estimate(unit, y).nats for unit in x]


def test_unknown_names_and_options_are_named():
    with pytest.raises(ValueError, match="choose one of ksg, npeet, probe, ross"):
        make_estimator("prob")
    with pytest.raises(ValueError, match="does not take these options"):
        make_estimator("ross", neighbours=3)
    assert make_estimator("ross", k=7) == Ross(k=7)


def test_the_rule_for_people_in_a_hurry():
    y = np.arange(200) % 2
    assert mutual_information(RNG.standard_normal((200, 2)), y).signature == "ross|k=5"
    assert mutual_information(RNG.standard_normal((200, 6)), y, seed=3).signature == Probe(seed=3).signature
    assert (
        mutual_information(RNG.standard_normal((50, 2)), np.arange(50) % 2).signature == Probe().signature
    )  # 25 a class
    assert mutual_information(RNG.standard_normal((200, 2)), RNG.standard_normal(200)).signature == "ksg1|k=5"
    assert mutual_information(RNG.standard_normal((200, 2)), np.zeros(200, dtype=int)).reason == "a single class"
    with pytest.raises(ValueError, match=r"bin y at quantiles"):
        mutual_information(RNG.standard_normal((200, 5)), RNG.standard_normal(200))


def test_xor_of_two_positions_is_seen_together_only():
    # Two fair bits a, b and y = a xor b: each alone carries 0, together ln 2.
    a, b = RNG.integers(0, 2, (2, 2000))
    noise = 0.1 * RNG.standard_normal((2000, 2))
    states = np.stack([a, b], axis=1) + noise
    for column in (0, 1):
        alone = mutual_information(states[:, column], a ^ b)
        assert abs(alone.nats) < 3 * alone.standard_error + 0.01
    assert mutual_information(states, a ^ b).nats == pytest.approx(np.log(2), abs=0.01)
