import numpy as np
import pandas as pd
import pytest

from mi_attention.report import range_sentence, sentence

ROWS = pd.DataFrame(
    {
        "data": "docstrings",
        "encoder": ["mlp", "mlp", "bilstm"],
        "temperature": [0.5, 1.0, 1.0],
        "estimand": "pointwise",
        "measure": "kendall_tau_b",
        "order": "informativeness",
        "output": "prediction",
        "state": "hidden",
        "estimate": [0.25, -0.02, 0.1],
        "ci_low": [0.2, -0.15, np.nan],
        "ci_high": [0.3, 0.1, np.nan],
        "n_seeds": 6,
        "n_instances": [240, 240, 240],
    },
    # What filtering leaves, and twice the same label: places count, not labels.
    index=[7, 7, 9],
)
LABELS = ["encoder", "temperature"]


def test_lowest_and_highest_with_their_own_intervals():
    assert range_sentence(ROWS, LABELS) == (
        "Over 6 seeds and 240 instances of docstrings, tau-b between attention and pointwise informativeness was "
        "lowest at -0.02 [-0.15, 0.10] (mlp, temperature 1) and highest at 0.25 [0.20, 0.30] (mlp, temperature 0.5)."
    )


def test_counts_that_differ_are_not_said():
    text = range_sentence(ROWS.assign(n_seeds=[6, 5, 6], data=["a", "b", "a"]), ["encoder"])
    assert text.startswith("Over 240 instances, tau-b")


def test_undefined_rows_are_counted_and_never_an_extreme():
    rows = ROWS.copy()
    rows["estimate"] = [0.25, np.nan, 0.1]
    text = range_sentence(rows, ["encoder"])
    assert "lowest at 0.10 (bilstm)" in text
    assert text.endswith("; it is undefined in 1 of 3 rows.")
    rows["estimate"] = [np.nan, np.nan, 0.1]
    assert "informativeness was 0.10 (bilstm); it is undefined in 2 of 3 rows." in range_sentence(rows, ["encoder"])
    rows["estimate"] = np.nan
    assert range_sentence(rows, ["encoder"]).endswith("is undefined in all 3 rows.")


def test_one_row_reads_as_its_sentence():
    assert range_sentence(ROWS.head(1), LABELS) == sentence(ROWS.head(1))


def test_what_has_no_range_is_refused():
    with pytest.raises(ValueError, match="of one measure"):
        range_sentence(ROWS.assign(measure=["kendall_tau_b", "somers_d", "somers_d"]), LABELS)
    with pytest.raises(ValueError, match="lacks rows"):
        range_sentence(ROWS.head(0), LABELS)
    with pytest.raises(ValueError, match=r"lacks \['score'\]"):
        range_sentence(ROWS, ["score"])


def test_a_range_of_areas_says_what_they_are_less_of():
    rows = pd.DataFrame(
        {"estimand": "erasure", "measure": "area", "order": "random minus attention", "n_seeds": 3, "output": ""}
        | {"encoder": ["mlp", "cnn"], "estimate": [-0.2, -0.1], "ci_low": [-0.3, -0.2], "ci_high": [-0.1, 0.0]}
    )
    assert range_sentence(rows, ["encoder"]) == (
        "Over 3 seeds, the area under the curve of erasing in a random order less that of attention's own was lowest "
        "at -0.20 [-0.30, -0.10] (mlp) and highest at -0.10 [-0.20, 0.00] (cnn)."
    )
    one = rows.head(1).assign(n_instances=9)
    assert range_sentence(one, ["encoder"]) == sentence(one, "erasure")
