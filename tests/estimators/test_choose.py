import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

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
        (RNG.integers(0, 4, 200).astype(str), Y, None, Discrete()),
        (RNG.integers(0, 30, 200).astype(str), Y, None, Mixture()),
        (RNG.integers(0, 30, (200, 2)).astype(str), Y, None, Mixture()),
        (np.arange(200).astype(str), Y, None, Discrete()),
        (RNG.integers(0, 4, 200).astype(str), Y, np.arange(200) // 20, Discrete()),
        (RNG.integers(0, 4, 10)[np.arange(200) // 20].astype(str), Y, np.arange(200) // 20, Mixture()),
        (RNG.standard_normal(200), RNG.standard_normal(200), None, Copula(seed=3)),
        (RNG.standard_normal((200, 300)), RNG.standard_normal(200), None, Copula(seed=3)),
        (RNG.standard_normal((200, 3)), RNG.standard_normal((200, 7)), None, Copula(seed=3)),
        (np.maximum(RNG.standard_normal(200), 0), RNG.standard_normal(200), None, Mixture()),
        (RNG.standard_normal((200, 1)), np.round(RNG.standard_normal(200), 1), None, Mixture()),
        (np.maximum(RNG.standard_normal((200, 2)), 0), RNG.standard_normal(200), None, Copula(seed=3)),
        (RNG.standard_normal(200), np.round(RNG.standard_normal((200, 2)), 1), None, Copula(seed=3)),
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


def test_neighbours_for_a_second_look_count_what_is_tied():
    x, y = np.maximum(RNG.standard_normal((200, 2)), 0), RNG.standard_normal(200)
    assert Mixture() in [other for other, _ in choose(x, y).alternatives]
    assert Copula() in [other for other, _ in choose(x[:, 0], y).alternatives]


def test_values_that_several_columns_determine_are_not_lost():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((600, 3))
    assert 2.2 < mutual_information(x, np.floor(25 * ndtr(x[:, 0])), seed=0).nats < 3.3


@pytest.mark.parametrize("dtype", [float, int, bool])
def test_classes_in_several_columns_are_told_to_become_codes(dtype):
    codes = np.arange(200) % 3
    x = RNG.standard_normal((200, 3)) + 5 * np.eye(3)[codes]
    for ask in (choose, mutual_information):
        with pytest.raises(ValueError, match=r"y holds 3 classes in 3 columns .* numpy\.unique\(y, axis=0"):
            ask(x, np.eye(3)[codes].astype(dtype))
    back = np.unique(np.eye(3)[codes], axis=0, return_inverse=True)[1]
    assert mutual_information(x, back).nats == pytest.approx(np.log(3), abs=0.02)


def test_one_class_is_called_one():
    choice = choose(RNG.standard_normal((60, 3)), np.zeros(60, dtype=int))
    assert str(choice).endswith("y has a single class: any estimator of its information is undefined")


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
    with pytest.raises(ValueError, match="x must be"):
        choose(RNG.standard_normal((1, 50, 3)), np.arange(50) % 2)
    with pytest.raises(ValueError, match="y must be"):
        choose(RNG.standard_normal((50, 2)), Y)
    with pytest.raises(ValueError, match="x is empty"):
        choose(np.zeros((0, 2)), np.zeros(0, dtype=int))


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_types_of_tokens_over_texts(share):
    # 20 texts of 100 tokens: a token is its class in a share of the rows and any of 50 else.
    table = np.full((50, 2), (1 - share) / 100)
    table[[0, 1], [0, 1]] += share / 2
    truth = float((table * np.log(table / (table.sum(axis=1, keepdims=True) * table.sum(axis=0)))).sum())
    rng, values = np.random.default_rng(2), []
    for _ in range(10):
        y = rng.integers(0, 2, 2000)
        tokens = np.where(rng.random(2000) < share, y, rng.integers(0, 50, 2000)).astype(str)
        found = mutual_information(tokens, y, np.arange(2000) // 100)
        assert found.signature.startswith("discrete|")
        assert abs(found.nats - truth) < 4 * found.standard_error
        values.append(found.nats)
    assert np.mean(values) == pytest.approx(truth, abs=0.01)
    reason = choose(tokens, y, np.arange(2000) // 100).reason
    assert reason.startswith("x has 50 values and y 2 classes: 100 cells for 2000 rows, as sure as ")


def test_strings_in_too_few_rows_are_no_confident_number():
    assert mutual_information(["a", "b"], [0, 1]).status == "undefined"
    assert mutual_information(list("abcdef"), list("uvwxyz")).status == "undefined"
    assert mutual_information(list("ab") * 20, [0, 0, 1, 1] * 10, ["text"] * 40).status == "undefined"
    rare = np.r_[np.arange(60), RNG.integers(0, 60, 40)].astype(str)
    choice = choose(rare, Y[:100])
    assert choice.reason.endswith("60 values and y 2 classes: 120 cells for 100 rows: too few for a table of counts")
    assert choice.alternatives[0][0] == Discrete()
    assert mutual_information(rare, Y[:100]).status == "undefined"
    # Two strings a row are one symbol.
    words = RNG.integers(0, 6, (300, 2)).astype(str)
    assert abs(mutual_information(words, np.arange(300) % 4).nats) < 0.1


def test_frames_of_numbers_and_booleans_are_numbers():
    frame = pd.DataFrame({"length": RNG.standard_normal(200), "first": RNG.random(200) < 0.5})
    assert choose(frame, Y) == choose(frame.astype(float), Y)
    assert mutual_information(frame, Y).nats == mutual_information(frame.astype(float), Y).nats
    counts = pd.DataFrame({"one": RNG.integers(0, 3, 200), "two": RNG.random(200) < 0.5})
    assert choose(counts, Y).estimator == Discrete()
    with pytest.raises(ValueError, match="x in column 0 holds 200 distinct float values"):
        choose(frame.assign(word=["a", "b"] * 100), Y)


@pytest.mark.filterwarnings("ignore::mi_attention.estimators.SmallSampleWarning")
def test_strings_of_few_pairs_need_no_full_table():
    # 80 words of two rows each in one class each: 320 cells, of which 80 are what there is.
    words = np.repeat(np.arange(80), 2)
    found = mutual_information(words.astype(str), words % 4)
    assert found.signature.startswith("discrete|")
    assert found.nats == pytest.approx(np.log(4), abs=1e-9)
    assert mutual_information(words.astype(str), words.astype(str)).nats == pytest.approx(np.log(80), abs=1e-9)
    # The same words beside classes that have nothing to do with them: too little rather than too much.
    values = [mutual_information(words.astype(str), RNG.permutation(words % 4)).nats for _ in range(20)]
    assert -0.2 < np.mean(values) < 0.01
