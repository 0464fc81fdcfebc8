import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.data import TextOptions, Vocabulary, dataset_from_rows


def read(rows, **options):
    return dataset_from_rows(rows, name="rows", options=TextOptions.of(**options))


def row(text, label=0, split="train", **more):
    return {"text": text, "label": label, "split": split, **more}


PAIR = [row("a b", 0), row("c d", 1)]


def texts(split):
    return [" ".join(split.tokens[a:b]) for a, b in zip(split.offsets[:-1], split.offsets[1:], strict=True)]


def test_boundary_lengths_are_kept():
    # Lengths 3, 4, 5: without limits all stay, with limits 3 to 5 too (a known loader keeps only 4).
    rows = [row(" ".join("abcde"[:n]), n % 2) for n in (3, 4, 5)]
    for options in ({}, {"min_length": 3, "max_length": 5}):
        data = read(rows, dev_fraction=0, **options)
        assert data.train.lengths.tolist() == [3, 4, 5]
        assert data.dropped == {}
        assert data.provenance["truncated"] == {"texts": 0, "tokens": 0}


def test_length_limits_drop_and_cut_with_counts():
    rows = [row(" ".join("abcdefgh"[:n]), n % 2) for n in (1, 2, 3, 8)]
    cut = read(rows, min_length=2, max_length=3, dev_fraction=0)
    assert cut.train.lengths.tolist() == [2, 3, 3]
    assert cut.dropped == {"shorter than min_length 2": 1}
    assert cut.provenance["truncated"] == {"texts": 1, "tokens": 5}
    left_out = read(rows, min_length=2, max_length=3, too_long="drop", dev_fraction=0)
    assert left_out.train.lengths.tolist() == [2, 3]
    assert left_out.dropped == {"shorter than min_length 2": 1, "longer than max_length 3": 1}


def test_what_is_left_out_is_counted_by_reason_and_identifiers_are_row_numbers():
    rows = [
        row("good one", 0),
        row("", 1),
        row("   ", 1),
        row(None, 1),
        row(float("nan"), 1),
        row("unlabelled", None),
        row("unlabelled", -1),
        row("good two", 1),
    ]
    data = read(rows, dev_fraction=0)
    assert data.dropped == {"empty text": 2, "no text": 2, "no label": 2}
    assert data.train.identifier.tolist() == [0, 7]
    assert data.provenance["rows"] == 8


def test_nothing_left_is_an_error():
    with pytest.raises(ValueError, match=r"no row of 'rows' can be used.*empty text"):
        read([row("", 0), row(" ", 1)])
    with pytest.raises(ValueError, match="no rows"):
        read([])


def test_double_spaces_are_empty_tokens_so_that_evidence_stays_aligned():
    data = read([row("a  b", 0, rationale=[1, 0, 0.5]), row("c d", 1, rationale=[0, 0])], dev_fraction=0)
    assert data.train.tokens == ("a", "", "b", "c", "d")
    assert data.train.rationale.tolist() == [1.0, 0.0, 0.5, 0.0, 0.0]


def test_word_tokenizer_and_case():
    data = read([row("Good, good.", 0), row("BAD", 1)], tokenizer="word", dev_fraction=0)
    assert data.train.tokens == ("Good", ",", "good", ".", "BAD")
    assert data.vocabulary.tokens[2:] == ("good", ",", ".", "bad")
    assert data.train.token_ids.tolist() == [2, 3, 2, 4, 5]
    cased = read([row("Good good", 0), row("BAD", 1)], lowercase=False, dev_fraction=0)
    assert set(cased.vocabulary.tokens[2:]) == {"Good", "good", "BAD"}


def test_vocabulary_comes_from_train_only():
    rows = [row("a b", 0), row("a c", 1), row("a zzz", 0, "dev"), row("yyy", 1, "test")]
    data = read(rows)
    assert set(data.vocabulary.tokens[2:]) == {"a", "b", "c"}
    assert data.dev.token_ids.tolist() == [2, Vocabulary.UNKNOWN]
    assert data.test.token_ids.tolist() == [Vocabulary.UNKNOWN]
    assert data.test.tokens == ("yyy",)
    assert read(rows, min_count=2).vocabulary.tokens[2:] == ("a",)
    assert read(rows, max_size=1).vocabulary.tokens[2:] == ("a",)


def test_test_only_rows_say_so_and_take_another_vocabulary():
    trained = read([row("good film", 1), row("bad film", 0)], dev_fraction=0)
    rows = [row("a good film", 1, "test"), row("a bad film", 0, "test")]
    alone = read(rows)
    with pytest.raises(ValueError, match=r"no train split.*vocabulary="):
        alone.require("train")
    assert (alone.test.token_ids == Vocabulary.UNKNOWN).all()
    data = read(rows, vocabulary=trained.vocabulary, classes=trained.classes)
    assert [data.vocabulary.tokens[i] for i in data.test.token_ids[:3]] == ["<unk>", "good", "film"]


def test_split_names_are_known_or_must_be_said():
    rows = [row("a", 0, "training"), row("b", 1, "validation"), row("c", 0, "TEST")]
    assert [len(read(rows).splits[name]) for name in ("train", "dev", "test")] == [1, 1, 1]
    odd = [row("a", 0, "fold1"), row("b", 1, "fold1"), row("c", 1, "extra")]
    with pytest.raises(ValueError, match="row 0 has the unknown split 'fold1'"):
        read(odd)
    data = read(odd, splits={"fold1": "train", "extra": None}, dev_fraction=0)
    assert len(data.train) == 2
    assert data.dropped == {"split 'extra' left out": 1}
    with pytest.raises(ValueError, match="splits maps 'fold1' to 'training'"):
        read(odd, splits={"fold1": "training"})
    with pytest.raises(ValueError, match="row 1 has no split"):
        read([row("a", 0), row("b", 1, None)])


def many(n, split="train"):
    return [row(f"text number {i}", i % 2, split) for i in range(n)]


def test_dev_is_carved_from_train_never_from_test_and_said():
    rows = many(300) + [row(f"other {i}", i % 2, "test") for i in range(50)]
    data = read(rows)
    assert len(data.test) == 50
    assert len(data.train) + len(data.dev) == 300
    # Binomial(300, .1): mean 30, deviation 5.
    assert 12 <= len(data.dev) <= 48
    assert set(data.dev.identifier.tolist()) <= set(range(300))
    assert "carved from train" in data.provenance["split"]
    assert read(rows, dev_fraction=0).dev is None
    assert "carved" not in read([*rows, row("d", 1, "dev")]).provenance["split"]


def test_hash_split_depends_on_the_text_alone():
    rows = [{key: value for key, value in r.items() if key != "split"} for r in many(400)]
    data = read(rows, fractions=(0.5, 0.2, 0.3))
    # Binomial deviations are 10, 8 and 9.
    assert [len(data.splits[name]) for name in ("train", "dev", "test")] == pytest.approx([200, 80, 120], abs=35)
    chosen = {text: name for name, split in data.splits.items() for text in texts(split)}
    backwards = read(rows[::-1][:200], fractions=(0.5, 0.2, 0.3))
    for name, split in backwards.splits.items():
        assert all(chosen[text] == name for text in texts(split))
    # A split column is used if it is there, and may be ignored.
    assert set(read(many(400), split=None).splits) == {"train", "dev", "test"}


def test_duplicates_stay_in_one_split_and_given_overlap_is_counted():
    rows = [{"text": f"t {i % 5}", "label": i % 2} for i in range(100)]
    data = read(rows, fractions=(0.4, 0.3, 0.3))
    seen = [set(texts(split)) for split in data.splits.values()]
    assert sum(map(len, seen)) == 5
    given = read([row("same", 0), row("own", 1), row("same", 0, "test"), row("new", 1, "test")], dev_fraction=0)
    assert given.provenance["texts_also_in_train"] == {"dev": 0, "test": 1}


def test_pairs_are_one_sequence_with_segments():
    rows = [row("a b", 0, text_b="c"), row("d", 1, text_b="e f g")]
    data = read(rows, dev_fraction=0)
    assert data.train.tokens == tuple("abcdefg")
    assert data.train.segment.tolist() == [0, 0, 1, 0, 1, 1, 1]
    parted = read(rows, dev_fraction=0, separator="[SEP]")
    assert parted.train.tokens == ("a", "b", "[SEP]", "c", "d", "[SEP]", "e", "f", "g")
    assert parted.train.segment.tolist() == [0, 0, 0, 1, 0, 0, 1, 1, 1]
    assert read(rows, dev_fraction=0, text_b=None).train.segment is None
    assert read(PAIR, dev_fraction=0).train.segment is None


def test_pairs_are_cut_text_by_text_and_missing_halves_are_counted():
    rows = [
        row("a b c d", 0, text_b="e f g"),
        row("a", 1, text_b="b"),
        row("a", 1, text_b=None),
        row("a", 1, text_b=" "),
    ]
    data = read(rows, max_length=2, dev_fraction=0)
    assert data.train.tokens == ("a", "b", "e", "f", "a", "b")
    assert data.train.segment.tolist() == [0, 0, 1, 1, 0, 1]
    assert data.provenance["truncated"] == {"texts": 1, "tokens": 3}
    assert data.dropped == {"no text_b": 1, "empty text_b": 1}


def test_evidence_of_pairs():
    rows = [
        row("a b", 0, text_b="c", rationale=[1, 0], rationale_b=[0.5]),
        row("d", 1, text_b="e", rationale=[0], rationale_b=[1]),
    ]
    assert read(rows, dev_fraction=0).train.rationale.tolist() == [1, 0, 0.5, 0, 1]
    assert read(rows, dev_fraction=0, separator="|").train.rationale.tolist() == [1, 0, 0, 0.5, 0, 0, 1]
    whole = [row("a b", 0, text_b="c", rationale=[1, 0, 0.5]), row("d", 1, text_b="e", rationale=[0, 1])]
    assert read(whole, dev_fraction=0).train.rationale.tolist() == [1, 0, 0.5, 0, 1]
    with pytest.raises(ValueError, match="row 0 has 2 numbers but the tokeniser finds 3 tokens of both"):
        read([row("a b", 0, text_b="c", rationale=[1, 0]), *whole])


def test_evidence_is_cut_with_its_text():
    data = read([row("a b c", 0, rationale="0 1 1"), row("d", 1, rationale="[0.25]")], max_length=2, dev_fraction=0)
    assert data.train.rationale.tolist() == [0, 1, 0.25]


@pytest.mark.parametrize(
    ("rationale", "message"),
    [
        ([1], r"rationale of row 0 has 1 numbers but the tokeniser finds 2 tokens.*whitespace"),
        ([1, 2], r"in \[0, 1\]"),
        ([1, float("nan")], r"in \[0, 1\]"),
        (["x", "y"], "list of numbers"),
        ([[1, 0]], "flat list"),
        ("1 x", "list of numbers"),
        ("[1, 0", "list of numbers"),
        (None, "row 0 of split 'train' has no rationale but others have"),
    ],
)
def test_wrong_evidence_is_an_error(rationale, message):
    rows = [row("a b", 0, rationale=rationale), row("c d", 1, rationale=[0, 1])]
    with pytest.raises(ValueError, match=message):
        read(rows, dev_fraction=0)
    assert read(rows, rationale=None, dev_fraction=0).train.rationale is None


def test_a_split_without_evidence_has_none():
    rows = [row("a b", 0, rationale=[1, 0]), row("c", 1, rationale=[1]), row("d", 1, "test", rationale=None)]
    data = read(rows, dev_fraction=0)
    assert data.train.rationale is not None
    assert data.test.rationale is None


def test_columns_may_have_other_names_and_must_then_exist():
    rows = [{"sentence": "a b", "target": "x"}, {"sentence": "c", "target": "y"}]
    data = read(rows, text="sentence", label="target", fractions=(1, 0, 0), dev_fraction=0)
    assert data.classes == ("x", "y")
    with pytest.raises(ValueError, match=r"no column 'sentance' \(did you mean 'sentence'\?\); it has"):
        read(rows, text="sentance", label="target")
    with pytest.raises(ValueError, match="no column 'fold'"):
        read(rows, text="sentence", label="target", split="fold")
    with pytest.raises(ValueError, match="text of row 0 must be a string, got int 3"):
        read([row(3, 0), row("a", 1)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokeniser": "word"}, "unknown option 'tokeniser'.*did you mean 'tokenizer'"),
        ({"tokenizer": "bpe"}, "tokenizer"),
        ({"fractions": (0.5, 0.5)}, "fractions"),
        ({"dev_fraction": 1.0}, "dev_fraction"),
        ({"min_length": 0}, "min_length"),
        ({"min_length": 5, "max_length": 4}, "min_length 5 is above"),
        ({"too_long": "cut"}, "too_long"),
        ({"classes": "ab"}, "classes"),
        ({"classes": ["a", "a"]}, "classes"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TextOptions.of(**options)


def test_fingerprint_follows_content_classes_and_tokeniser():
    base = read(PAIR, dev_fraction=0)
    assert base.fingerprint == read([dict(r) for r in PAIR], dev_fraction=0).fingerprint
    others = [
        read([row("a b", 0), row("c e", 1)], dev_fraction=0),
        read([row("a b", 1), row("c d", 0)], dev_fraction=0),
        read(PAIR, dev_fraction=0, classes=["x", "y"]),
        read(PAIR, dev_fraction=0, tokenizer="word"),
        read(PAIR, dev_fraction=0, lowercase=False),
        read([row("a b", 0), row("c d", 1, "test")]),
    ]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 7


WORDS = st.text(alphabet="abcé .,'\n", min_size=0, max_size=20)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(WORDS, st.sampled_from([0, 1, -1])), min_size=1, max_size=25),
    st.sampled_from(["whitespace", "word"]),
)
def test_every_row_is_packed_or_counted(pairs, tokenizer):
    rows = [row("fixed zero", 0), row("fixed one", 1)] + [row(text, label) for text, label in pairs]
    data = read(rows, tokenizer=tokenizer)
    kept = {
        int(i): text for split in data.splits.values() for i, text in zip(split.identifier, texts(split), strict=True)
    }
    assert len(kept) + sum(data.dropped.values()) == len(rows)
    for split in data.splits.values():
        assert np.array_equal(data.vocabulary.encode(split.tokens), split.token_ids)
    if tokenizer == "whitespace":
        assert all(rows[i]["text"] == text for i, text in kept.items())
