"""The verdict of a declared contrast: what its test and its interval allow, and nothing for what came late."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mi_attention.study.verdicts import contrast_sentences

ROW = {
    "family": "scores",
    "status": "confirmatory",
    "contrast": "additive − scaled_dot",
    "first": "additive",
    "second": "scaled_dot",
    "data": "averaged",
    "measure": "kendall_tau_b",
    "quantity": "mean difference",
    "estimate": 0.1,
    "ci_low": 0.04,
    "ci_high": 0.16,
    "level": 0.95,
    "n_seeds": 6,
    "test": "exact sign flip",
    "p": 0.03125,
    "p_adjusted": 0.03125,
    "margin": np.nan,
    "rejected": "yes",
    "effect_unit": "tau",
    "reason": "",
    "claim": "They differ",
}


def told(**changes):
    (sentence,) = contrast_sentences(pd.DataFrame([ROW | changes]))
    return sentence


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "supported"),
        ({"estimate": -0.1, "ci_low": -0.16, "ci_high": -0.04}, "supported"),
        ({"rejected": "no"}, "undecided"),
        ({"rejected": ""}, "undecided"),
        # The test rejects and the interval does not: nothing is claimed.
        ({"ci_low": -0.01}, "undecided"),
        ({"ci_low": np.nan, "ci_high": np.nan}, "undecided"),
        ({"margin": 0.2}, "supported"),
        ({"margin": 0.2, "rejected": "no"}, "undecided"),
        ({"margin": 0.12}, "undecided"),
        ({"margin": 0.03, "rejected": "no"}, "contradicted"),
        ({"margin": 0.03, "rejected": "no", "estimate": -0.1, "ci_low": -0.16, "ci_high": -0.04}, "contradicted"),
        ({"status": "exploratory: declared when 12 cells were finished"}, ""),
    ],
)
def test_verdicts(changes, verdict):
    assert told(**changes).verdict == verdict


def test_what_is_said():
    sentence = told()
    assert sentence.heading == "They differ (confirmatory)"
    assert sentence.text == (
        "“additive − scaled_dot: a difference” is supported: over 6 seeds, the difference in tau-b between additive "
        "and scaled_dot was 0.10 [0.04, 0.16] (95 % interval, p = .031 by exact sign flip, adjusted p = .031 in "
        "family scores)."
    )
    assert "a difference below 0.2”" in told(margin=0.2).text
    assert "6 seeds of docstrings" in told(data="docstrings").text
    assert told(claim="").heading == "additive − scaled_dot (confirmatory)"
    undefined = told(estimate=np.nan, ci_low=np.nan, ci_high=np.nan, p=np.nan, rejected="", reason="no common seed")
    assert undefined.text.endswith("is undefined: no common seed.")
    assert undefined.verdict == "undecided"


def test_one_sentence_a_contrast():
    rows = pd.DataFrame([ROW, ROW | {"quantity": "d_z"}, ROW | {"contrast": "deep − additive"}])
    assert len(contrast_sentences(rows)) == 2
    assert contrast_sentences(rows.head(0)) == []
