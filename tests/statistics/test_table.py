import numpy as np
import pandas as pd
import pytest

from mi_attention.statistics import (
    RESULT_COLUMNS,
    attention_order,
    bootstrap_means,
    combined_shift_null,
    crossed_bootstrap,
    crossed_interval,
    paired_contrast,
    partner_null,
    result_table,
    seed_interval,
    shift_null,
    split_half,
    tau_ceiling,
)

rng = np.random.default_rng(0)
VALUES = rng.standard_normal((6, 30))
PROFILES = rng.standard_normal((2, 6, 12))
RESULTS = [
    crossed_interval(VALUES),
    crossed_bootstrap(VALUES, rng=0, n_resamples=100),
    seed_interval(VALUES[:, 0]),
    paired_contrast(VALUES[:, 0], VALUES[:, 1]),
    bootstrap_means(lambda m: m[:, 0], VALUES, rng=0, n_resamples=100),
    shift_null(*PROFILES),
    combined_shift_null([tuple(PROFILES), tuple(PROFILES)]),
    partner_null(PROFILES[0].ravel(), PROFILES[1].ravel(), np.arange(0, 73, 12), rng=0, n_resamples=50),
    split_half(VALUES, rng=0),
    tau_ceiling(VALUES + np.arange(6)[:, None], rng=0),
    crossed_interval(np.full((2, 3), np.nan)),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_makes_one_row_of_the_same_types(result: object) -> None:
    table = result.table(signature="made so", ceiling=0.7)
    assert list(table.columns) == list(RESULT_COLUMNS)
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(RESULT_COLUMNS)
    assert len(table) == 1
    assert (table["signature"].iloc[0], table["ceiling"].iloc[0]) == ("made so", 0.7)
    assert pd.notna(table["quantity"].iloc[0])
    estimate = next(getattr(result, name) for name in ("estimate", "statistic", "tau") if hasattr(result, name))
    np.testing.assert_equal(table["estimate"].iloc[0], estimate)
    if hasattr(result, "p"):
        assert (table["p"].iloc[0], table["smallest_p"].iloc[0]) == (result.p, result.smallest_p)
        assert pd.notna(table["test"].iloc[0])


def test_absent_entries_are_missing_and_facts_replace_entries() -> None:
    found = crossed_interval(VALUES)
    null = shift_null(*PROFILES)
    row = found.table(p=null.p, test="joint shift", effect_unit="tau").iloc[0]
    assert (row["estimate"], row["p"], row["test"]) == (found.estimate, null.p, "joint shift")
    assert np.isnan(row["p_adjusted"])
    assert pd.isna(row["n_data"])
    assert pd.isna(row["family"])
    assert row["reason"] == ""


def test_types_do_not_depend_on_the_rows_and_survive_a_file(tmp_path: object) -> None:
    table = result_table([{"estimate": 1, "n_seeds": 3}, {"test": "x", "gap": 2}], extra={"gap": "float64"})
    empty = result_table([], extra={"gap": "float64"})
    assert table.dtypes.equals(empty.dtypes)
    table.to_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), table)


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown columns \['estimat'\]"):
        result_table([{"estimat": 1.0}])


def test_degenerate_share_counts_what_was_left_out() -> None:
    values = VALUES.copy()
    values[2, :3] = np.nan
    assert crossed_interval(values).table()["degenerate_share"].iloc[0] == 3 / 30
    attention = np.vstack([np.full((1, 12), 1 / 12), PROFILES[1]])
    found = shift_null(PROFILES[0][:1], [attention_order(attention)])
    assert found.table()["degenerate_share"].iloc[0] == 1 / 7
