"""The figures of a study: that the causal check is among them, and shows the pooled curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mi_attention.report import ONE_COLUMN, TWO_COLUMNS
from mi_attention.study.drawings import _erasure, drawings_of


@pytest.fixture(scope="module")
def drawings(undisturbed, tmp_path_factory):
    return drawings_of(undisturbed[1], tmp_path_factory.mktemp("figures"))


def test_erasure_stands_beside_the_agreement(drawings):
    assert [drawing.stem.name for drawing in drawings] == [
        "agreement-planted-keyword",
        "erasure-planted-keyword",
        "rank-planted-keyword",
        "concentration",
    ]


def test_its_lines_are_the_pooled_curves_about_the_prediction(drawings, undisturbed):
    drawing = drawings[1]
    orders = {"informativeness", "attention", "random", "attended head evidence"}
    assert set(drawing.frame["order"]) == orders
    figure = drawing.make(drawing.frame)
    assert figure.get_size_inches()[0] == ONE_COLUMN
    curves = undisturbed[1].long_table("erasure_curves")
    chosen = curves[(curves["score"] == "additive") & (curves["quantity"] == "change")]
    own = chosen[(chosen["order"] == "informativeness") & (chosen["output"] == "prediction")]
    own = own[own["state"] == "hidden"].sort_values("share")
    (line,) = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(line.get_ydata(), own["estimate"])
    permuted = chosen[(chosen["order"] == "attention") & (chosen["output"] == "permuted attention")]
    kept = drawing.frame[(drawing.frame["order"] == "attention") & (drawing.frame["score"] == "additive")]
    assert len(kept) == len(permuted) == len(own)
    assert not np.array_equal(kept["estimate"], permuted["estimate"])


def test_more_panels_take_both_columns(drawings):
    frame = drawings[1].frame
    parts = [frame.assign(encoder=name) for name in ("mlp", "cnn", "bilstm")]
    assert _erasure(frame).get_size_inches()[0] == ONE_COLUMN
    assert _erasure(pd.concat(parts)).get_size_inches()[0] == TWO_COLUMNS
