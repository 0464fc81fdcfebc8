import numpy as np
import pandas as pd
import pytest
import torch

from mi_attention.estimators import Probe, class_entropy
from mi_attention.estimators.labels import as_classes, as_continuous, is_discrete

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


def test_wrong_length_is_named():
    with pytest.raises(ValueError, match=r"y must be \(120,\)"):
        as_classes(CODES[:50], 120)
    with pytest.raises(ValueError, match="dtype complex128"):
        as_classes(CODES + 1j, 120)


def test_class_entropy_by_hand():
    # two classes at 1/4 and 3/4: -(1/4 ln 1/4 + 3/4 ln 3/4) = ln 4 - 3/4 ln 3
    assert class_entropy(["a", "b", "b", "b"]) == pytest.approx(np.log(4) - 0.75 * np.log(3))
    assert class_entropy([1, 1, 1]) == 0.0
