"""The public text sets of ../shared/data through the file reader; counts are those of its README."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mi_attention.data import Vocabulary, attach_vectors, load, read_rows

FOLDER = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"

COUNTS = {
    "ag_news": (6046, 769, 785, 4),
    "imdb5k": (3488, 500, 996, 2),
    "snli_devtest": (7945, 1895, 9824, 3),
    "sst2": (6920, 872, 1821, 2),
    "trec6": (4838, 543, 500, 6),
    "yelp_hat_p1": (0, 0, 300, 2),
}

pytestmark = pytest.mark.shared_data


def path_of(name):
    path = FOLDER / name / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"needs the text set {name} in ../shared/data")
    return path


@cache
def loaded(name):
    return load(path_of(name))


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_tokens(name):
    data = loaded(name)
    found = tuple(len(data.splits[split]) if split in data.splits else 0 for split in ("train", "dev", "test"))
    assert (*found, len(data.classes)) == COUNTS[name]
    assert data.dropped == {}
    rows = list(read_rows(path_of(name)))
    for split in data.splits.values():
        for i in (0, len(split) // 2, len(split) - 1):
            row = rows[split.identifier[i]]
            parts = [row[key].split(" ") for key in ("text", "text_b") if key in row]
            own = slice(split.offsets[i], split.offsets[i + 1])
            assert list(split.tokens[own]) == [token for part in parts for token in part]
            assert data.classes[split.label[i]] == str(row["label"])


def test_sst2_evidence_stands_at_its_tokens_and_vectors_attach():
    data = loaded("sst2")
    rows = list(read_rows(path_of("sst2")))
    for split in data.splits.values():
        expected = np.concatenate([np.asarray(rows[i]["rationale"], dtype=np.float32) for i in split.identifier])
        assert np.array_equal(split.rationale, expected)
    vectors = FOLDER / "_vectors" / "glove_wink_100d_40k_f16.npz"
    if not vectors.is_file():
        pytest.skip("needs the word vectors in ../shared/data/_vectors")
    grown = attach_vectors(data, vectors)
    assert grown.pretrained.shape == (len(data.vocabulary), 100)
    told = grown.provenance["vectors"]
    assert told["found"] / (len(data.vocabulary) - 2) > 0.8
    with np.load(vectors) as stored:
        row = stored["words"].tolist().index("film")
        assert np.array_equal(
            grown.pretrained[data.vocabulary.index["film"]], stored["vectors"][row].astype(np.float32)
        )


def test_snli_is_pairs():
    data = loaded("snli_devtest")
    for split in data.splits.values():
        starts = split.offsets[:-1]
        assert (split.segment[starts] == 0).all()
        assert (split.segment[split.offsets[1:] - 1] == 1).all()
        # Segments never fall inside a sequence.
        falls = np.flatnonzero(np.diff(split.segment.astype(int)) < 0) + 1
        assert np.isin(falls, starts).all()


def test_yelp_hat_needs_a_model_trained_elsewhere():
    data = load(path_of("yelp_hat_p1"), rationale="rationale_soft")
    with pytest.raises(ValueError, match=r"'yelp_hat_p1' has no train split \(it has: test\)"):
        data.require("train")
    assert set(np.unique(data.test.rationale)) <= {np.float32(v) for v in (0, 0.33, 0.5, 0.67, 1)}
    other = loaded("sst2")
    encoded = load(path_of("yelp_hat_p1"), vocabulary=other.vocabulary, classes=other.classes)
    assert (encoded.test.token_ids != Vocabulary.UNKNOWN).mean() > 0.5
    assert encoded.classes == other.classes
