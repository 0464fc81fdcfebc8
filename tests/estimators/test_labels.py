import numpy as np
import pandas as pd
import pytest
import torch

from mi_attention.estimators import Copula, Gaussian, Mixture, Probe, choose, class_entropy, mutual_information
from mi_attention.estimators.discrete import joint_symbols
from mi_attention.estimators.labels import as_classes, as_continuous, is_discrete
from mi_attention.estimators.samples import as_groups

RNG = np.random.default_rng(0)
CODES = np.concatenate([[0, 1, 2], RNG.integers(0, 3, 117)])
X = RNG.standard_normal((120, 4)) + CODES[:, None]
WORDS = np.array(["cat", "ant", "bee"])[CODES]

FORMS = {
    "list": CODES.tolist(),
    "int8": CODES.astype(np.int8),
    "unsigned": CODES.astype(np.uint16),
    "whole floats": CODES.astype(np.float32),
    "column": CODES[:, None],
    "torch": torch.tensor(CODES),
    "torch float": torch.tensor(CODES, dtype=torch.float32),
    "strings": WORDS,
    "objects": WORDS.astype(object),
    "string list": WORDS.tolist(),
    "categorical": pd.Categorical(WORDS),
    "series": pd.Series(WORDS, dtype="category"),
    "negative": -5 * CODES,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_container_of_labels_gives_the_same_result(form):
    expected = Probe().estimate(X, CODES)
    found = Probe().estimate(X, FORMS[form])
    assert found.nats == pytest.approx(expected.nats, abs=1e-10)
    np.testing.assert_allclose(found.local, expected.local, atol=1e-9)


def test_booleans_are_two_classes():
    two = CODES > 0
    assert Probe().estimate(X, two).nats == pytest.approx(Probe().estimate(X, two.astype(int)).nats, abs=1e-12)
    assert Probe().estimate(X, torch.tensor(two)).n == 120


def test_float_labels_with_many_values_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"120 distinct float values.*numpy\.digitize"):
        as_classes(RNG.standard_normal(120), 120)
    with pytest.raises(ValueError, match="continuous output"):
        as_classes(np.arange(1000.0), 1000)  # whole, but every value its own class
    with pytest.raises(ValueError, match=r"21 distinct float values in 2100 rows.*integers \(astype\(int\)\)"):
        as_classes(np.arange(2100) % 21 * 1.0, 2100)
    assert len(as_classes(np.arange(2000) % 20 * 1.0, 2000).classes) == 20
    assert len(as_classes(np.arange(2100) % 21, 2100).classes) == 21
    assert not is_discrete(RNG.standard_normal(120))
    assert is_discrete(np.array([0.0, 1.0] * 30))
    assert is_discrete(np.array([0.5, 1.5] * 30))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_float_label_names_the_row(bad):
    labels = CODES.astype(float)
    labels[7] = bad
    with pytest.raises(ValueError, match="row 7"):
        as_classes(labels, 120)
    with pytest.raises(ValueError, match="row 7"):
        as_continuous(labels, 120)


def test_missing_object_label_names_the_row():
    labels = WORDS.astype(object)
    labels[5] = None
    with pytest.raises(ValueError, match="missing at row 5"):
        as_classes(labels, 120)


MISSING = {
    "None": np.array(["a", None, "b"], dtype=object),
    "pandas.NA": pd.Series(["a", None, "b"], dtype="string"),
    "NaT": np.array(["a", pd.NaT, "b"], dtype=object),
    "NaN beside names": ["a", float("nan"), "b"],
    "None beside numbers": [1, None, 2],
}


@pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING)
def test_a_missing_entry_is_no_class_and_no_group(labels):
    with pytest.raises(ValueError, match=r"y is missing at row 1; remove that row or give it a class of its own"):
        as_classes(labels, 3)
    with pytest.raises(ValueError, match=r"y is missing at row 1"):
        is_discrete(labels)
    with pytest.raises(ValueError, match=r"groups is missing at row 1; name the instance of every row"):
        as_groups(labels, 3)
    if not isinstance(labels, list):
        with pytest.raises(ValueError, match="x is missing at row 1"):
            Mixture().estimate(labels, np.arange(3))
        with pytest.raises(ValueError, match="x in column 0 is missing at row 1"):
            joint_symbols(labels)


def test_missing_whole_numbers_of_pandas_name_the_row():
    labels = pd.Series([1, None, 2], dtype="Int64")
    with pytest.raises(ValueError, match=r"y is (missing|NaN or infinite) at row 1"):
        as_classes(labels, 3)
    with pytest.raises(ValueError, match=r"groups is (missing|NaN or infinite) at row 1"):
        as_groups(labels, 3)


def test_times_that_are_missing_are_no_group():
    days = np.array(["2020-01-01", "NaT", "2020-01-01"], dtype="datetime64[D]")
    with pytest.raises(ValueError, match="groups is missing at row 1"):
        as_groups(days, 3)
    assert as_groups(np.where(np.isnat(days), days[0], days), 3).tolist() == [0, 0, 0]


def test_objects_are_read_as_what_they_hold():
    numbers = np.random.default_rng(1).standard_normal(200).astype(object)
    assert not is_discrete(numbers)
    with pytest.raises(ValueError, match="200 distinct float values"):
        as_classes(numbers, 200)
    np.testing.assert_array_equal(as_continuous(numbers, 200)[:, 0], numbers.astype(float))
    x = numbers.astype(float) + np.random.default_rng(2).standard_normal(200)
    assert Gaussian().estimate(x, numbers).nats == Gaussian().estimate(x, numbers.astype(float)).nats
    assert Mixture().estimate(x, numbers).nats == Mixture().estimate(x, numbers.astype(float)).nats
    assert as_classes(np.array([1, 1.0, 2, True], dtype=object), 4).codes.tolist() == [0, 0, 1, 0]
    assert as_classes(["a", 1, 1.0, "a"], 4).codes.tolist() == [1, 0, 0, 1]
    with pytest.raises(ValueError, match="y holds both 1 and '1'; pass entries of one type"):
        as_classes(np.array([1, "1", 2], dtype=object), 3)
    with pytest.raises(ValueError, match="dtype object"):
        as_classes(np.array([{1}, {2}], dtype=object), 2)
    assert as_groups(np.array(["a", 1, "a"], dtype=object), 3).tolist() == [0, 1, 0]


def test_amounts_in_whole_numbers_have_a_way_out():
    rng = np.random.default_rng(3)
    z = rng.standard_normal(1500)
    x, y = z + rng.standard_normal(1500), np.round(100 * z)  # I = log(2)/2, of which rounding takes nothing
    found = mutual_information(x, y)
    assert found.ceiling is None
    assert found.nats == pytest.approx(0.5 * np.log(2), abs=0.05)
    assert Copula().estimate(x, y).nats == pytest.approx(0.5 * np.log(2), abs=0.05)
    assert choose(np.outer(x, np.ones(8)), y).estimator == Copula()
    as_names = mutual_information(x, y.astype(int))
    assert as_names.status == "undefined"
    assert "amounts go to Copula as floats" in as_names.reason
    assert any(
        isinstance(other, Copula) and "astype(float)" in why for other, why in choose(x, y.astype(int)).alternatives
    )
    with pytest.raises(ValueError, match=r"amounts in whole numbers go in as y\.astype\(float\)"):
        Copula().estimate(x, y.astype(int))
    few = np.arange(1500) % 30  # names in enough rows
    assert not any(isinstance(other, Copula) for other, _ in choose(x, few).alternatives)


def test_wrong_length_is_named():
    with pytest.raises(ValueError, match=r"y must be \(120,\)"):
        as_classes(CODES[:50], 120)
    with pytest.raises(ValueError, match="dtype complex128"):
        as_classes(CODES + 1j, 120)


def test_class_entropy_by_hand():
    # two classes at 1/4 and 3/4: -(1/4 ln 1/4 + 3/4 ln 3/4) = ln 4 - 3/4 ln 3
    assert class_entropy(["a", "b", "b", "b"]) == pytest.approx(np.log(4) - 0.75 * np.log(3))
    assert class_entropy([1, 1, 1]) == 0.0
