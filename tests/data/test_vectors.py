import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mi_attention.data import Vocabulary, align_vectors, attach_vectors, dataset_from_rows, keyword, read_vectors
from mi_attention.data.planted_gaussian import gaussian

VOCABULARY = Vocabulary(("<pad>", "<unk>", "good", "bad", "Film", "zzz"))


def text_file(folder, content):
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def test_glove_text_word2vec_text_and_npz_agree(tmp_path):
    lines = "good 1 2 3\n. . . 4 5 6\nfilm -1 0.5 1e-2\n"
    expected = np.array([[1, 2, 3], [4, 5, 6], [-1, 0.5, 0.01]], dtype=np.float32)
    words = ("good", ". . .", "film")
    plain = read_vectors(text_file(tmp_path, lines))
    assert plain.words == words
    assert np.array_equal(plain.vectors, expected)
    headed = read_vectors(text_file(tmp_path, "3 3\n" + lines.replace("\n", " \n")))
    assert headed.words == words
    assert np.array_equal(headed.vectors, expected)
    for kind in ("U", "S"):
        np.savez(tmp_path / "v.npz", words=np.array(words, dtype=kind), vectors=expected)
        stored = read_vectors(tmp_path / "v.npz")
        assert stored.words == words
        assert np.array_equal(stored.vectors, expected)


def test_words_that_are_numbers_or_odd_spaces_are_words(tmp_path):
    found = read_vectors(text_file(tmp_path, "1990 1 2\na\xa0b 3 4\n\x85 5 6\n2 7 8\n"))
    assert found.words == ("1990", "a\xa0b", "\x85", "2")
    assert found.vectors[:, 0].tolist() == [1, 3, 5, 7]


def test_first_line_of_two_numbers_is_a_vector_in_one_dimension(tmp_path):
    found = read_vectors(text_file(tmp_path, "5 7\nword 3\n"))
    assert found.words == ("5", "word")
    assert found.vectors.tolist() == [[7], [3]]


def test_first_of_repeated_words_stays_and_is_counted(tmp_path):
    found = read_vectors(text_file(tmp_path, "a 1 2\nb 3 4\na 5 6\n"))
    assert found.words == ("a", "b")
    assert found.repeated == 1
    assert found.vectors[0].tolist() == [1, 2]


def test_only_wanted_words_are_kept(tmp_path):
    path = text_file(tmp_path, "a 1 2\nb 3 4\nc 5 6\n")
    assert read_vectors(path, {"c", "x"}).words == ("c",)
    np.savez(tmp_path / "v.npz", words=np.array(["a", "b", "c"]), vectors=np.eye(3, dtype=np.float16))
    kept = read_vectors(tmp_path / "v.npz", {"c", "x"})
    assert kept.words == ("c",)
    assert kept.vectors.dtype == np.float32


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("word\n", "at least one number"),
        ("a 1 2\nb 1 x\n", "line 2: the last 2 fields must be numbers"),
        ("a 1 2\nb 1 nan\n", "'b' has NaN"),
    ],
)
def test_malformed_text(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_vectors(text_file(tmp_path, content))


def test_short_line_far_down_is_named(tmp_path):
    with pytest.raises(ValueError, match="line 301: 2 fields, but a word and 2 numbers"):
        read_vectors(text_file(tmp_path, "".join(f"w{i} 1 2\n" for i in range(300)) + "short 1\n"))


def test_malformed_npz(tmp_path):
    path = tmp_path / "v.npz"
    np.savez(path, words=np.array(["a", "b"]))
    with pytest.raises(ValueError, match="no array 'vectors'"):
        read_vectors(path)
    np.savez(path, words=np.array(["a", "b"]), vectors=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="to match words"):
        read_vectors(path)
    np.savez(path, words=np.array([1, 2]), vectors=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="array of strings"):
        read_vectors(path)
    np.savez(path, words=np.array(["a", "b"], dtype=object), vectors=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="unpickled; save it as"):
        read_vectors(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"v\.npz"):
        read_vectors(path)
    with pytest.raises(FileNotFoundError):
        read_vectors(tmp_path / "absent.npz")


def test_alignment_coverage_and_random_rows(tmp_path):
    source = read_vectors(text_file(tmp_path, "good 1 2\nfilm 3 4\nbad 5 6\nother 100 100\n"))
    vectors, coverage = align_vectors(VOCABULARY, source, seed=3)
    assert vectors.dtype == np.float32
    assert vectors[0].tolist() == [0, 0]
    assert vectors[2:5].tolist() == [[1, 2], [5, 6], [3, 4]]
    # "Film" is found as "film" only; "zzz" is missing. Values found are 1 … 6: variance 35/12.
    assert (coverage.found, coverage.found_in_lowercase, coverage.missing) == (2, 1, 1)
    assert coverage.deviation == pytest.approx(np.sqrt(35 / 12), rel=1e-5)
    assert (vectors[[1, 5]] != 0).all()
    again, _ = align_vectors(VOCABULARY, source, seed=3)
    other, _ = align_vectors(VOCABULARY, source, seed=4)
    assert np.array_equal(vectors, again)
    assert not np.array_equal(vectors[5], other[5])
    assert np.array_equal(vectors[2:5], other[2:5])


def test_random_rows_have_the_deviation_of_the_vectors(tmp_path):
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "v.npz", words=np.array(["a"]), vectors=0.4 * generator.standard_normal((1, 300)))
    vocabulary = Vocabulary(("<pad>", "<unk>", "a", *(f"w{i}" for i in range(200))))
    vectors, coverage = align_vectors(vocabulary, read_vectors(tmp_path / "v.npz"))
    # 60,000 draws: relative standard error .003.
    assert vectors[3:].std() == pytest.approx(coverage.deviation, rel=0.015)
    assert vectors[3:].mean() == pytest.approx(0, abs=0.01)


def test_no_overlap_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no word of the vocabulary"):
        align_vectors(VOCABULARY, read_vectors(text_file(tmp_path, "other 1 2\n")))


def test_attach_tells_what_it_did_and_changes_the_fingerprint(tmp_path):
    rows = [{"text": "good film", "label": 1}, {"text": "bad film", "label": 0}]
    data = dataset_from_rows(rows, name="x")
    path = text_file(tmp_path, "good 1 2\nfilm 3 4\n")
    grown = attach_vectors(data, path, seed=1)
    assert grown.pretrained.shape == (len(data.vocabulary), 2)
    assert grown.provenance["vectors"]["found"] + grown.provenance["vectors"]["missing"] == len(data.vocabulary) - 2
    assert len({data.fingerprint, grown.fingerprint, attach_vectors(data, path, seed=2).fingerprint}) == 3
    assert grown.fingerprint == attach_vectors(data, path, seed=1).fingerprint
    with pytest.raises(ValueError, match="made of vectors already"):
        attach_vectors(gaussian(50), path)
    with pytest.raises(ValueError, match="no word of the vocabulary"):
        attach_vectors(keyword(50), path)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n"), min_size=1, max_size=8)
        .map(str.strip)
        .filter(bool),
        min_size=1,
        max_size=10,
        unique=True,
    ),
    st.integers(2, 6),
)
def test_any_words_survive_the_text_format(tmp_path_factory, words, dimension):
    # A word without spaces comes first, since the shortest line says what the dimension is.
    words = ["plain", *(word for word in words if word != "plain")]
    vectors = np.arange(len(words) * dimension, dtype=np.float32).reshape(len(words), dimension)
    lines = (f"{word} {' '.join(map(str, vector))}\n" for word, vector in zip(words, vectors, strict=True))
    found = read_vectors(text_file(tmp_path_factory.mktemp("vectors"), "".join(lines)))
    assert found.words == tuple(words)
    assert np.array_equal(found.vectors, vectors)
