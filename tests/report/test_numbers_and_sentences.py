import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mi_attention.report import (
    format_count,
    format_interval,
    format_number,
    format_p,
    format_setting,
    format_share,
    sentence,
)

ROW = {
    "estimate": 0.312,
    "ci_low": 0.281,
    "ci_high": 0.339,
    "n_seeds": 4,
    "n_instances": 2693,
    "estimand": "pointwise",
    "measure": "kendall_tau_b",
    "order": "informativeness",
    "null_mean": 0.02,
    "p": 0.001,
}


def test_numbers_as_text():
    assert [format_number(v) for v in (0.3149, -0.004, -0.0, 1234.5, math.inf, -math.inf, math.nan)] == [
        "0.31",
        "0.00",
        "0.00",
        "1,234.50",
        "inf",
        "-inf",
        "undefined",
    ]
    assert format_number(-0.5, 0) == "0"
    assert format_interval(0.31, 0.28, 0.34) == "0.31 [0.28, 0.34]"
    assert format_interval(0.31, math.nan, math.nan) == "0.31"
    assert format_interval(math.nan, math.nan, math.nan) == "undefined"
    assert [format_p(p) for p in (0.0009, 0.001, 0.04, 1.0, math.nan)] == [
        "<.001",
        ".001",
        ".040",
        "1.000",
        "undefined",
    ]
    assert format_p(0.0009, equals=True) == "< .001"
    assert format_count(2693) == "2,693"
    assert [format_setting(v) for v in (0.5, 1.0, 12345)] == ["0.5", "1", "12345"]
    assert [format_share(s) for s in (0.0, 0.001, 0.13, 0.999, 1.0)] == [
        "0 %",
        "less than 1 %",
        "13 %",
        "more than 99 %",
        "100 %",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: format_number(1.0, -1),
        lambda: format_interval(0.1, 0.2, 0.1),
        lambda: format_interval(0.1, math.nan, 0.1),
        lambda: format_p(1.2),
        lambda: format_count(1.5),
        lambda: format_share(-0.1),
    ],
)
def test_numbers_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"got|bound|upside"):
        wrong()


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_text_of_a_number_is_within_half_a_digit(value, digits):
    text = format_number(value, digits)
    assert abs(float(text.replace(",", "")) - value) <= 0.5 * 10.0**-digits * (1 + 1e-9) + 1e-9
    assert not text.startswith("-") or float(text.replace(",", "")) < 0


def test_agreement_sentence():
    assert sentence(pd.DataFrame([ROW])) == (
        "Over 4 seeds and 2,693 instances, tau-b between attention and pointwise informativeness was "
        "0.31 [0.28, 0.34] (partner null 0.02, one-sided p = .001)."
    )


def test_a_null_that_is_no_partner_null_is_not_called_so():
    assert "(mean under the null 0.02," in sentence(ROW | {"null": "circular shifts of the profile"})
    for null in ("attention of another instance of the same length", "", None, np.nan):
        assert "(partner null 0.02," in sentence(ROW | {"null": null})


def test_sentence_of_one_seed_says_so_and_gives_no_interval():
    row = {**ROW, "n_seeds": 1, "n_instances": 1, "ci_low": np.nan, "ci_high": np.nan, "p": np.nan, "null_mean": np.nan}
    assert sentence(pd.Series(row)) == (
        "Over 1 seed and 1 instance, tau-b between attention and pointwise informativeness was 0.31."
    )


def test_undefined_results_are_sentences_too():
    row = {**ROW, "estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan, "reason": "constant attention"}
    assert sentence(row).endswith("pointwise informativeness is undefined: constant attention.")
    assert sentence({**row, "reason": ""}).endswith("pointwise informativeness is undefined.")
    assert sentence({**ROW, "undefined_share": 0.13}).endswith(
        "; it was undefined for 13 % of the instances, which are left out."
    )


def test_other_kinds_and_controls():
    assert "(output: label)" in sentence({**ROW, "output": "label"})
    assert "adjusted p = .020 in family F1, split-half reliability 0.60, ceiling 0.90)" in sentence(
        {**ROW, "p_adjusted": 0.02, "family": "F1", "reliability": 0.6, "ceiling": 0.9}
    )
    information = {"estimate": 0.28, "n_seeds": 3, "unit": "rank 1", "output": "prediction", "ceiling": 0.69}
    assert sentence(information, "information") == (
        "Over 3 seeds, the mutual information of rank 1 with the prediction was 0.28 nats of at most 0.69."
    )
    skew = {"estimate": 0.42, "n_seeds": 3, "measure": "normalized_skew", "normalizer": "gumbel", "temperature": 0.5}
    assert sentence(skew, "concentration") == (
        "Over 3 seeds, the normalised skew of gumbel attention at temperature 0.5 was 0.42."
    )
    contrast = {**ROW, "estimate": -0.1, "ci_low": -0.2, "ci_high": 0.0, "first": "additive", "second": "deep"}
    assert "the difference in tau-b between additive and deep was -0.10 [-0.20, 0.00]" in sentence(contrast, "contrast")


def test_data_is_never_run_as_a_template():
    assert "{{ 7 * 7 }}" in sentence({**ROW, "data": "{{ 7 * 7 }}"})


def test_bad_input():
    with pytest.raises(ValueError, match="one row, got 2"):
        sentence(pd.DataFrame([ROW, ROW]))
    with pytest.raises(ValueError, match="kind must be one of"):
        sentence(ROW, "story")
    with pytest.raises(ValueError, match="needs a column estimate"):
        sentence({"n_seeds": 1})
    with pytest.raises(ValueError, match="'n_seeds' is undefined"):
        sentence({name: value for name, value in ROW.items() if name != "n_seeds"})


CLAIM = {
    **{"estimate": 0.12, "ci_low": 0.05, "ci_high": 0.2, "n_seeds": 8, "measure": "kendall_tau_b"},
    **{"claim": "Additive agrees more", "verdict": "supported", "direction": "greater"},
}


def test_claims_are_judged_in_words():
    contrast = {**CLAIM, "first": "additive", "second": "scaled dot", "p_adjusted": 0.012, "reliability": 0.61}
    controls = {"ceiling": 0.8, "control_gold_label": 0.2, "control_uniform_attention": np.nan, "control_random": 0.0}
    assert sentence({**contrast, **controls}, "claim") == (
        "“Additive agrees more” is supported: over 8 seeds, the difference in tau-b between additive and scaled dot "
        "was 0.12 [0.05, 0.20] (adjusted p = .012, split-half reliability 0.61, ceiling 0.80); "
        "beside it gold label 0.20, random 0.00."
    )
    against = {**contrast, "verdict": "contradicted", "estimate": -0.1, "ci_low": -0.2, "ci_high": -0.01}
    assert "is contradicted by the data: over 8 seeds" in sentence(against, "claim")
    agreement = {**CLAIM, "estimand": "pointwise", "order": "informativeness", "verdict": "undecided"}
    assert sentence(agreement, "claim") == (
        "“Additive agrees more” is left undecided by the data: over 8 seeds, tau-b between attention and pointwise "
        "informativeness was 0.12 [0.05, 0.20]."
    )
    gone = {**CLAIM, "estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan, "verdict": "undecided", "reason": "x"}
    assert sentence(gone, "claim").endswith("the tau-b is undefined: x.")


def test_controls_stand_beside_other_sentences_too():
    assert sentence({**ROW, "control_gold_label": 0.25}).endswith("p = .001); beside it gold label 0.25.")


@pytest.mark.parametrize(
    ("verdict", "changes"),
    [
        ("supported", {"ci_low": -0.01}),
        ("supported", {"direction": "less"}),
        ("supported", {"reference": 0.1}),
        ("supported", {"direction": "equivalent", "margin": 0.05}),
        ("supported", {"ci_low": np.nan, "ci_high": np.nan}),
        ("contradicted", {}),
        ("contradicted", {"direction": "different"}),
        ("contradicted", {"direction": "equivalent", "margin": 0.2}),
        ("contradicted", {"ci_low": -0.3, "ci_high": 0.03, "estimate": 0.0}),
    ],
)
def test_a_verdict_must_follow_from_its_interval(verdict, changes):
    with pytest.raises(ValueError, match=r"does not follow from|needs an interval"):
        sentence({**CLAIM, "verdict": verdict, **changes}, "claim")


@pytest.mark.parametrize(
    ("verdict", "changes"),
    [
        ("supported", {"reference": 0.04}),
        ("supported", {"direction": "different"}),
        ("supported", {"direction": "less", "estimate": -0.1, "ci_low": -0.2, "ci_high": -0.01}),
        ("supported", {"direction": "equivalent", "margin": 0.2}),
        ("supported", {"direction": None, "ci_low": -0.1}),
        ("contradicted", {"direction": "less"}),
        # An effect above the margin was claimed, and the interval ends below it.
        ("contradicted", {"ci_low": -0.03, "ci_high": 0.04, "estimate": 0.0, "margin": 0.05}),
        ("contradicted", {"direction": "equivalent", "margin": 0.05}),
        ("undecided", {"ci_low": np.nan, "ci_high": np.nan}),
    ],
)
def test_verdicts_that_follow_are_said(verdict, changes):
    assert "Additive agrees more" in sentence({**CLAIM, "verdict": verdict, **changes}, "claim")


def test_bad_claims():
    with pytest.raises(ValueError, match="verdict, one of"):
        sentence({**CLAIM, "verdict": "true"}, "claim")
    with pytest.raises(ValueError, match="says what was claimed"):
        sentence({**CLAIM, "claim": ""}, "claim")
    with pytest.raises(ValueError, match="direction must be one of"):
        sentence({**CLAIM, "direction": "up"}, "claim")


def test_rows_of_the_statistics_are_sentences():
    row = {
        "quantity": "mean difference",
        **{"estimate": 0.12, "ci_low": 0.05, "ci_high": 0.2, "level": 0.95, "effect_unit": "tau"},
        **{"n_seeds": 8, "n_instances": 600, "n_data": 3, "test": "exact sign flip, two-sided", "p": 0.008},
        **{"p_adjusted": 0.016, "family": "F1", "degenerate_share": 0.1, "reason": ""},
    }
    assert sentence(row, "result") == (
        "Over 8 seeds, 600 instances and 3 data sets, the mean difference was 0.12 [0.05, 0.20] (95 % interval, "
        "p = .008 by exact sign flip, two-sided, adjusted p = .016 in family F1); "
        "it was undefined for 10 % of the values, which are left out."
    )
    missing = {"n_seeds": pd.NA, "n_instances": pd.NA, "n_data": pd.NA, "family": pd.NA, "test": pd.NA}
    bare = sentence({**row, **missing, "effect_unit": "nats", "degenerate_share": np.nan}, "result")
    assert bare == ("The mean difference was 0.12 [0.05, 0.20] nats (95 % interval, p = .008, adjusted p = .016).")
    claim = {**row, "claim": "It differs", "verdict": "supported", "direction": "different", "data": "sst2"}
    assert sentence({**claim, "n_data": pd.NA}, "claim").startswith(
        "“It differs” is supported: over 8 seeds and 600 instances of sst2, the mean difference was 0.12 [0.05"
    )


ERASURE = {"estimand": "erasure", "measure": "area", "order": "informativeness minus attention", "output": "prediction"}
ERASURE |= {"state": "hidden", "n_seeds": 3, "n_instances": 600}


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((0.03, 0.02, 0.05), "sooner than"),
        ((-0.1, -0.15, -0.04), "later than"),
        ((0.01, -0.02, 0.04), "neither clearly sooner nor clearly later than"),
        ((0.01, np.nan, np.nan), "neither clearly sooner nor clearly later than"),
    ],
)
def test_erasure_is_sooner_or_later_where_the_interval_says_so(interval, words):
    row = ERASURE | dict(zip(("estimate", "ci_low", "ci_high"), interval, strict=True))
    text = sentence(row, "erasure")
    start = "Over 3 seeds and 600 instances, erasing positions in the order of pointwise informativeness changed the "
    assert text.startswith(f"{start}prediction {words} erasing in attention's own: the difference of the areas")
    assert text.endswith(f"was {format_interval(*interval)}.")


def test_erasure_in_other_orders_and_undefined():
    row = ERASURE | {"estimate": -0.1, "ci_low": -0.2, "ci_high": -0.05}
    assert "in a random order changed" in sentence(row | {"order": "random minus attention", "output": ""}, "erasure")
    assert "in the order of some thing (output: label) changed the prediction later" in sentence(
        row | {"order": "some_thing minus attention", "output": "label"}, "erasure"
    )
    undefined = row | {"estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan, "reason": "no head"}
    assert sentence(undefined, "erasure").endswith("cannot be compared with erasing in attention's own: no head.")
