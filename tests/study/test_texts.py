"""Words beside the positions of a cell: those the attention could weigh, or none."""

from __future__ import annotations

import numpy as np
import pytest

from mi_attention.data import Sequences
from mi_attention.interface import AttentionRecord
from mi_attention.study.cell import _predictions
from mi_attention.study.config import DataConfig
from mi_attention.study.store import CellStore
from mi_attention.study.texts import MOST_INSTANCES, MOST_WORDS, _is_carried, _NotAligned, _said, _spread, _words


def pairs(segment, label):
    lengths = [len(one) for one in segment]
    flat = np.concatenate(segment).astype(np.int8)
    return Sequences(
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        label=np.array(label),
        token_ids=np.arange(len(flat), dtype=np.int32),
        segment=flat,
        tokens=tuple(f"{'ab'[side]}{place}" for place, side in enumerate(flat)),
    )


def test_the_first_texts_of_pairs_are_recognised_by_their_lengths():
    # The second pair has no first text, so the record has no such instance.
    split = pairs([[0, 0, 1], [1, 1], [0, 1]], [5, 6, 7])
    words, label = _words([split, split], np.array([2, 1, 2, 1]))
    assert words == ["a0", "a1", "a5", "a0", "a1", "a5"]
    assert label.tolist() == [5, 7, 5, 7]
    words, label = _words([split], np.array([3, 2, 2]))
    assert words == list(split.tokens)
    assert label.tolist() == [5, 6, 7]


def test_lengths_that_fit_neither_are_refused():
    split = pairs([[0, 0, 1], [0, 1]], [0, 1])
    for lengths in ([3], [2, 2], [3, 2, 1]):
        with pytest.raises(_NotAligned, match="not those of the texts"):
            _words([split], np.array(lengths))


@pytest.mark.parametrize(("n", "length"), [(1, 5), (199, 3), (200, 3), (5000, 40), (500, 2000), (3, 10 * MOST_WORDS)])
def test_what_is_shown_is_bounded_and_spread_over_all(n, length):
    lengths = np.full(n, length)
    kept = _spread(lengths)
    assert len(np.unique(kept)) == len(kept) <= min(n, MOST_INSTANCES)
    assert lengths[kept].sum() <= MOST_WORDS or len(kept) == 1
    assert kept[0] == 0
    if len(kept) > 1:
        assert kept[-1] == n - 1
        assert np.ptp(np.diff(kept)) <= 1
    if n * length <= MOST_WORDS and n <= MOST_INSTANCES:
        assert len(kept) == n


def test_predictions_and_their_probability_reach_the_texts(tmp_path):
    record = AttentionRecord.from_arrays(
        np.ones((3, 2, 1)), np.full((3, 2), 0.5), np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]]), label=[1, 1, 0]
    )
    frame = _predictions(record)
    assert frame["prediction"].tolist() == [1, 0, 0]
    np.testing.assert_allclose(frame["probability"], [0.8, 0.6, 0.5], rtol=1e-6)
    store = CellStore(tmp_path)
    store.write("new", {"predictions": frame}, {}, "s")
    store.write("old", {"notes": frame}, {}, "s")
    said = _said(store.read("new"), np.array([0, 2]))
    assert said["prediction"].tolist() == [1, 0]
    np.testing.assert_allclose(said["probability"], [0.8, 0.5], rtol=1e-6)
    assert _said(store.read("old"), np.array([0])) == {}


def test_only_what_the_package_brings_is_shown_unasked():
    assert all(_is_carried(DataConfig(name=name)) for name in ("docstrings", "planted/xor"))
    others = [DataConfig(name="hub/sst2"), DataConfig(name="my_corpus"), DataConfig(path="docstrings.jsonl")]
    assert not any(map(_is_carried, others))
