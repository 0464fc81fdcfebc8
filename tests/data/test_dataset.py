import numpy as np
import pytest

from mi_attention.data import Dataset, Sequences, Vocabulary


def sequences():
    return Sequences(
        offsets=np.array([0, 2, 3, 6]),
        label=np.array([0, 1, 1]),
        token_ids=np.arange(10, 16, dtype=np.int32),
        segment=np.array([0, 1, 0, 0, 0, 1], dtype=np.int8),
        rationale=np.linspace(0, 1, 6, dtype=np.float32),
        tokens=tuple("abcdef"),
        identifier=np.array([7, 8, 9]),
    )


def test_vocabulary_orders_by_count_then_code_point():
    vocabulary = Vocabulary.build(["b", "a", "c", "c", "B"])
    assert vocabulary.tokens == ("<pad>", "<unk>", "c", "B", "a", "b")


def test_vocabulary_min_count_and_max_size_are_inclusive():
    words = ["x"] * 3 + ["y"] * 2 + ["z"]
    assert Vocabulary.build(words, min_count=2).tokens[2:] == ("x", "y")
    assert Vocabulary.build(words, max_size=1).tokens[2:] == ("x",)
    assert Vocabulary.build(words, min_count=1, max_size=3).tokens[2:] == ("x", "y", "z")


def test_vocabulary_never_encodes_a_text_as_padding():
    vocabulary = Vocabulary.build(["<pad>", "<unk>", "word", "<pad>"])
    assert vocabulary.tokens == ("<pad>", "<unk>", "word")
    assert vocabulary.encode(["<pad>", "<unk>", "word", "other"]).tolist() == [1, 1, 2, 1]
    assert vocabulary.encode([]).dtype == np.int32


def test_vocabulary_folds_case_only_if_asked():
    assert Vocabulary.build(["The", "the"]).tokens[2:] == ("The", "the")
    folded = Vocabulary.build(["The", "the"], lowercase=True)
    assert folded.tokens[2:] == ("the",)
    assert folded.encode(["THE"]).tolist() == [2]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Vocabulary(("<pad>",)), "padding and the unknown"),
        (lambda: Vocabulary(("<pad>", "<unk>", "a", "a")), "'a' more than once"),
        (lambda: Vocabulary.build([], min_count=0), "min_count"),
        (lambda: Vocabulary.build([], max_size=0), "max_size"),
    ],
)
def test_vocabulary_refuses(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_take_keeps_every_column_in_line():
    taken = sequences().take([2, 0, 2])
    assert taken.offsets.tolist() == [0, 3, 5, 8]
    assert taken.tokens == tuple("defabdef")
    assert taken.token_ids.tolist() == [13, 14, 15, 10, 11, 13, 14, 15]
    assert taken.segment.tolist() == [0, 0, 1, 0, 1, 0, 0, 1]
    assert taken.label.tolist() == [1, 0, 1]
    assert taken.identifier.tolist() == [9, 7, 9]
    assert np.array_equal(taken.rationale, sequences().rationale[[3, 4, 5, 0, 1, 3, 4, 5]])


def test_take_nothing():
    empty = sequences().take([])
    assert len(empty) == 0
    assert empty.offsets.tolist() == [0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"offsets": [0, 2, 2]}, "sequence 1 has no position"),
        ({"offsets": [1, 2, 3]}, "start with 0"),
        ({"token_ids": None}, "exactly one"),
        ({"vectors": np.zeros((3, 2))}, "exactly one"),
        ({"rationale": np.zeros(2)}, "rationale has 2 rows"),
        ({"label": np.zeros(3, dtype=int)}, "label has 3 entries"),
    ],
)
def test_sequences_refuse(columns, message):
    good = {"offsets": [0, 1, 3], "label": np.array([0, 1]), "token_ids": np.array([2, 3, 4])}
    with pytest.raises(ValueError, match=message):
        Sequences(**{key: np.asarray(v) if isinstance(v, list) else v for key, v in (good | columns).items()})


def test_require_names_what_is_missing_and_the_remedy():
    only_test = Dataset(name="hat", train=None, dev=None, test=sequences(), classes=("0", "1"))
    assert only_test.require("test") is only_test.test
    with pytest.raises(ValueError, match=r"'hat' has no train split \(it has: test\).*vocabulary="):
        only_test.require("train")
    with pytest.raises(ValueError, match="dev_fraction"):
        only_test.require("dev")
    with pytest.raises(ValueError, match="split must be one of"):
        only_test.require("validation")
