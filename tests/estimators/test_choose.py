import numpy as np
import pytest

from mi_attention.estimators.choose import choose
from mi_attention.estimators.copula import Copula
from mi_attention.estimators.discrete import Discrete
from mi_attention.estimators.dispatch import mutual_information
from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.mixture import Mixture
from mi_attention.estimators.probe import Probe
from mi_attention.estimators.regression import Regression
from mi_attention.estimators.ross import Ross

RNG = np.random.default_rng(0)
Y = np.arange(200) % 2


@pytest.mark.parametrize(
    ("x", "y", "groups", "wanted"),
    [
        (RNG.standard_normal((200, 2)), Y, None, Ross()),
        (RNG.standard_normal((200, 5)).astype(np.float32), Y == 1, None, Ross()),
        (np.maximum(RNG.standard_normal((200, 2)), 0), Y, None, Mixture()),
        (np.round(RNG.standard_normal(200), 1), np.array(["a", "b"])[Y], None, Mixture()),
        (RNG.standard_normal((200, 6)), Y, None, Probe(seed=3)),
        (RNG.standard_normal((50, 2)), Y[:50], None, Probe(seed=3)),
        (RNG.standard_normal((200, 2)), Y, np.arange(200) // 10, Probe(seed=3)),
        (RNG.standard_normal((200, 2)), np.zeros(200, dtype=int), None, Probe(seed=3)),
        (RNG.integers(0, 4, 200), Y, None, Discrete()),
        (RNG.integers(0, 2, (200, 3)), Y, None, Discrete()),
        (np.array(["a", "b"] * 100), Y, None, Discrete()),
        (np.arange(200), Y, None, Ross()),
        (RNG.standard_normal(200), RNG.standard_normal(200), None, Copula(seed=3)),
        (RNG.standard_normal((200, 300)), RNG.standard_normal(200), None, Copula(seed=3)),
        (RNG.standard_normal((200, 3)), RNG.standard_normal((200, 7)), None, Copula(seed=3)),
        (np.maximum(RNG.standard_normal((200, 2)), 0), RNG.standard_normal(200), None, Mixture()),
        (RNG.standard_normal(200), np.round(RNG.standard_normal((200, 2)), 1), None, Mixture()),
        (np.maximum(RNG.standard_normal((200, 20)), 0), RNG.standard_normal(200), None, Copula(seed=3)),
    ],
)
def test_the_rule(x, y, groups, wanted):
    choice = choose(x, y, groups, seed=3)
    assert choice.estimator == wanted
    assert choice.reason
    assert str(choice).startswith(f"{wanted.signature}: ")
    assert wanted not in [other for other, _ in choice.alternatives]


def test_a_second_look_is_offered():
    x, y = RNG.standard_normal((200, 2)), RNG.standard_normal(200)
    kinds = [type(other) for other, _ in choose(x, y).alternatives]
    assert Regression in kinds
    assert KSG in kinds
    assert KSG not in [type(other) for other, _ in choose(np.hstack([x] * 4), y).alternatives]
    assert [type(other) for other, _ in choose(x, Y).alternatives] == [Probe]
    assert "3 columns together, 200 rows" in choose(x, y).reason


def test_people_in_a_hurry_get_the_same():
    x = RNG.standard_normal((300, 9))
    y = x[:, 0] + RNG.standard_normal(300)
    found = mutual_information(x, y, seed=1)
    assert found.nats == Copula(seed=1).estimate(x, y).nats
    assert found.nats == pytest.approx(0.5 * np.log(2), abs=0.15)
    assert mutual_information(x, np.zeros(300, dtype=int)).reason == "a single class"
    names = np.array(["a", "b", "c"])[np.arange(300) % 3]
    assert mutual_information(names, names).nats == pytest.approx(np.log(3), abs=0.01)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="got dtype"):
        choose(np.array(["a"] * 50), RNG.standard_normal(50))
    with pytest.raises(ValueError, match="y must be"):
        choose(RNG.standard_normal((50, 2)), Y)
    with pytest.raises(ValueError, match="x is empty"):
        choose(np.zeros((0, 2)), np.zeros(0, dtype=int))
