import math

import pytest

from mi_attention.data.labels import encode_labels


def encode(values, classes=None, missing_label=-1):
    return encode_labels(values, classes=classes, missing_label=missing_label)


@pytest.mark.parametrize(
    ("values", "numbers", "names"),
    [
        ([0, 1, 0], [0, 1, 0], ("0", "1")),
        ([True, False], [1, 0], ("0", "1")),
        (["neg", "pos", "neg"], [0, 1, 0], ("neg", "pos")),
        # Strings of whole numbers sort as numbers: "10" after "9".
        (["9", "10", "9"], [0, 1, 0], ("9", "10")),
        ([1.0, 2.0], [0, 1], ("1", "2")),
        ([4, 2, 7], [1, 0, 2], ("2", "4", "7")),
        ([0, None, 1, math.nan, "", -1], [0, None, 1, None, None, None], ("0", "1")),
        (["a", "b", "-1"], [0, 1, None], ("a", "b")),
        ([" a ", "b"], [0, 1], ("a", "b")),
    ],
)
def test_classes_are_the_sorted_distinct_labels(values, numbers, names):
    assert encode(values) == (numbers, names)


def test_given_classes_are_looked_up_or_indexed():
    assert encode([1, 0, "1", "b", None], ["a", "b"]) == ([1, 0, 1, 1, None], ("a", "b"))
    # Only one class occurs here, but both are named.
    assert encode([1, 1], ["a", "b"]) == ([1, 1], ("a", "b"))
    with pytest.raises(ValueError, match=r"label 2 of row 1 is outside"):
        encode([0, 2], ["a", "b"])
    with pytest.raises(ValueError, match=r"label 'c' of row 0 is not in classes"):
        encode(["c"], ["a", "b"])


def test_minus_one_is_a_class_if_said_so_and_never_lost_in_silence():
    assert encode([-1, 1], missing_label=None) == ([0, 1], ("-1", "1"))
    with pytest.raises(ValueError, match="missing_label=None"):
        encode([-1, 1, -1])


def test_a_string_may_stand_for_no_label():
    assert encode(["a", "b", "?"], missing_label="?") == ([0, 1, None], ("a", "b"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, "a"], "mix strings"),
        ([0.5, 1], "row 0 must be a whole number"),
        ([[1], 0], "row 0"),
        ([3, 3], "all labelled rows have the label 3"),
        ([None, None], "no row has a label"),
        ([], "no row has a label"),
    ],
)
def test_refuses(values, message):
    with pytest.raises(ValueError, match=message):
        encode(values)
