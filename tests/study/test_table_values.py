"""Every number of a study's tables is computed from the right cells: each is computed here again from the store."""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mi_attention.statistics import (
    AttentionOrder,
    crossed_interval,
    joint_bootstrap_interval,
    partner_null,
    seed_interval,
    shift_null,
)
from mi_attention.study.config import StudyConfig
from mi_attention.study.run import plan_study, run_study
from mi_attention.study.store import CellStore
from mi_attention.study.summary import rank_summary, summary
from mi_attention.study.tables import GROUP_COLUMNS, ROW_KEY, collect

SEEDS, DRAWS, MAIN, PERMUTED = (0, 1, 2), 99, "prediction", "permuted attention"
KEYWORDS, WORDS = "planted/keywords", "words"
GROUPS = [(data, temperature) for data in (KEYWORDS, WORDS) for temperature in (0.5, 1.0)]
# Exact, or up to the rounding of a sum taken in another order.
CLOSE = {"rtol": 0, "atol": 1e-12}
# Rows that are means over instances, where cells have values by instance.
BY_INSTANCE = ("pointwise", "instance")


def write_words(path):
    """Texts of 2 to 12 random words of which one usually gives the class away."""
    rng = np.random.default_rng(0)
    rows = []
    for split, count in (("train", 150), ("dev", 60), ("test", 120)):
        for _ in range(count):
            label = int(rng.integers(2))
            words = [f"w{word}" for word in rng.choice(8, size=rng.integers(2, 13))]
            if rng.random() < 0.9:
                words[rng.integers(len(words))] = ("bad", "good")[label]
            rows.append({"text": " ".join(words), "label": label, "split": split})
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A study of two data sets, two temperatures and three seeds: its cells as stored, and its tables."""
    folder = tmp_path_factory.mktemp("values")
    write_words(folder / "words.jsonl")
    study = StudyConfig.model_validate(
        {
            "name": "values",
            "seeds": SEEDS,
            "data": [
                {"name": KEYWORDS, "n": [150, 60, 120]},
                {"path": str(folder / "words.jsonl"), "title": WORDS},
            ],
            "model": {"encoder": "mlp", "score": "additive", "units": 8, "temperature": [0.5, 1.0]},
            "training": {"epochs": 2, "learning_rate": 0.02},
            "analysis": {
                "alignments": ["position", "rank", "instance"],
                "null_draws": DRAWS,
                "estimator_options": {"members": ["linear", "smooth"], "folds": 5},
            },
        }
    )
    plan = plan_study(study, folder / "out", workers=1)
    assert run_study(plan, folder / "out").failed == {}
    store = CellStore(folder / "out" / "cells")
    members = {
        group: [
            next(
                store.read(cell.key)
                for cell in plan.cells
                if (cell.data_name, cell.classifier.temperature, cell.training.seed) == (*group, seed)
            )
            for seed in SEEDS
        ]
        for group in GROUPS
    }
    assert len({found.key for group in members.values() for found in group}) == len(plan.cells) == 12
    return SimpleNamespace(
        cells=plan.cells,
        store=store,
        members=members,
        tables=collect(plan.cells, store, null_draws=DRAWS),
        narrow=collect(plan.cells, store, confidence=0.5, null_draws=DRAWS),
    )


def of_group(frame, group):
    return frame[(frame["data"] == group[0]) & (frame["temperature"] == group[1])]


@cache
def keyed(found, table):
    """A stored table with the columns of a row's key, absent ones empty: key → its rows."""
    frame = found.table(table)
    frame = frame.assign(**{name: frame[name].fillna("") if name in frame else "" for name in ROW_KEY})
    return dict(iter(frame.groupby(list(ROW_KEY))))


def matching(frame, key):
    return frame[np.logical_and.reduce([frame[name] == value for name, value in zip(ROW_KEY, key, strict=True)])]


def stacked(members, key):
    """``(S, N)`` values behind a row, one row a seed, one column an instance."""
    columns = []
    for found in members:
        part = keyed(found, "instances")[key].set_index("instance")["value"]
        assert part.index.is_unique
        columns.append(part.reindex(range(180)).to_numpy())
    return np.stack(columns)


def per_seed(members, key, name):
    """``(S,)`` a column of the row in each run, NaN for a run that has no such row."""
    rows = [keyed(found, "agreement").get(key) for found in members]
    assert {len(part) for part in rows if part is not None} == {1}
    return np.array([np.nan if part is None or name not in part else part[name].iloc[0] for part in rows], dtype=float)


def profile_variance(members, output, state):
    """Sample variance of the draws averaged over seeds draw by draw, and whether all seeds have them."""
    columns = []
    for found in members:
        frame = found.table("profile_error")
        if not len(frame):
            return 0.0, False
        part = frame[(frame["output"] == output) & (frame["state"] == state)].set_index("draw")["value"]
        columns.append(part)
    lengths = {len(column) for column in columns}
    if lengths != {200}:
        return 0.0, False
    means = [sum(column[draw] for column in columns) / len(columns) for draw in range(200)]
    centre = sum(means) / 200
    return sum((mean - centre) ** 2 for mean in means) / 199, True


def rows_of(tables, group, estimands):
    frame = of_group(tables.agreement, group)
    return frame[frame["estimand"].isin(estimands)]


def key_of(row):
    return tuple(row[name] for name in ROW_KEY)


def the_row(tables, group, *key):
    found = matching(of_group(tables.agreement, group), key)
    assert len(found) == 1
    return found.iloc[0]


def clipped(row, low, high):
    """A tau does not leave [−1, 1], a difference of two not [−2, 2], however wide the interval of few seeds is."""
    if row["unit"] != "tau":
        return low, high
    widest = 2.0 if " minus " in row["output"] or " minus " in row["order"] else 1.0
    return max(low, -widest) if low == low else low, min(high, widest) if high == high else high


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("name", "level"), [("tables", 0.95), ("narrow", 0.5)])
def test_rows_of_instances_are_the_crossed_interval_of_their_own_values(done, group, name, level):
    members = done.members[group]
    rows = rows_of(getattr(done, name), group, BY_INSTANCE)
    rows = rows[[all(key_of(row) in keyed(found, "instances") for found in members) for _, row in rows.iterrows()]]
    with_error = 0
    for _, row in rows.iterrows():
        key = key_of(row)
        values = stacked(members, key)
        variance = 0.0
        if key[:3] == ("instance", "kendall_tau_b", "mutual information"):
            variance, complete = profile_variance(members, row["output"], row["state"])
            with_error += complete
        expected = crossed_interval(values, level=level, profile_variance=variance)
        complete = ~np.isnan(values).any(axis=0)
        if np.isfinite(values).any(axis=1).all():
            np.testing.assert_allclose(row["estimate"], values[:, complete].mean(), err_msg=str(key), **CLOSE)
            np.testing.assert_allclose(row["undefined_share"], 1 - complete.mean(), err_msg=str(key), **CLOSE)
            assert (row["n_seeds"], row["n_instances"]) == (3, complete.sum()), key
        np.testing.assert_allclose(
            [row["estimate"], row["ci_low"], row["ci_high"]],
            [expected.estimate, *clipped(row, expected.ci_low, expected.ci_high)],
            err_msg=str(key),
            **CLOSE,
        )
        assert row["interval"].startswith(expected.scope)
    assert len(rows) >= 27
    assert with_error >= 4


@pytest.mark.parametrize("group", GROUPS)
def test_profile_error_is_in_the_interval_of_instance_rows(done, group):
    members = done.members[group]
    variances = set()
    for output, state in ((MAIN, "hidden"), (MAIN, "embedding"), (f"{MAIN} minus {PERMUTED}", "hidden")):
        key = ("instance", "kendall_tau_b", "mutual information", output, state)
        variance, complete = profile_variance(members, output, state)
        assert complete
        assert variance > 0
        variances.add(round(variance, 12))
        without, row = crossed_interval(stacked(members, key), 0.5), the_row(done.narrow, group, *key)
        # Else the tests above could not see it left out. (Not always wider: it brings degrees of freedom too.)
        assert abs((row["ci_high"] - row["ci_low"]) - (without.ci_high - without.ci_low)) > 1e-6
    assert len(variances) == 3


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("name", "level"), [("tables", 0.95), ("narrow", 0.5)])
def test_rows_of_runs_are_the_interval_over_seeds_with_the_error_they_share(done, group, name, level):
    rows = getattr(done, name).agreement
    rows = of_group(rows, group)
    without = [
        not all(key_of(row) in keyed(found, "instances") for found in done.members[group]) for _, row in rows.iterrows()
    ]
    rows = rows[without]
    intervals = shared = 0
    for _, row in rows.iterrows():
        key = key_of(row)
        estimates = per_seed(done.members[group], key, "estimate")
        expected = seed_interval(estimates, level=level)
        draws = [keyed(found, "resamples").get(key) for found in done.members[group]]
        if any(part is not None for part in draws):
            count = int(np.nanmax(per_seed(done.members[group], key, "n_instances")))
            # A run without an order has no draws, and is left out: the others keep the error they share.
            nothing = np.full(200, np.nan)
            values = np.stack(
                [nothing if part is None else part.set_index("draw")["value"].sort_index() for part in draws]
            )
            assert (np.isnan(values).any(axis=1) == np.isnan(estimates)).all()
            expected = joint_bootstrap_interval(estimates, values, n_instances=count, level=level)
            assert row["interval"].startswith(expected.scope)
            shared += 1
        np.testing.assert_allclose(
            [row["estimate"], row["ci_low"], row["ci_high"], row["n_seeds"]],
            [expected.estimate, *clipped(row, expected.ci_low, expected.ci_high), expected.n_seeds],
            err_msg=str(key_of(row)),
            **CLOSE,
        )
        intervals += not np.isnan(expected.ci_low)
    assert set(rows["estimand"]) >= {"position", "rank"}
    assert intervals >= 10
    assert shared >= 5


def test_less_confidence_gives_narrower_intervals_around_the_same_estimates(done):
    for name in ("agreement", "concentration", "training"):
        wide, narrow = getattr(done.tables, name), getattr(done.narrow, name)
        np.testing.assert_array_equal(wide["estimate"], narrow["estimate"])
        known = wide["ci_low"].notna()
        assert known.mean() > 0.5
        low, high = wide["ci_low"] - narrow["ci_low"], wide["ci_high"] - narrow["ci_high"]
        # Equal only where both ends of a tau stand at −1 or 1.
        assert (low[known] <= 0).all()
        assert (high[known] >= 0).all()
        assert (low[known] < 0).mean() > 0.8


@pytest.mark.parametrize("group", GROUPS)
def test_reliability_and_ceiling_are_means_over_seeds(done, group):
    seen = {"reliability": 0, "ceiling": 0}
    for _, row in of_group(done.tables.agreement, group).iterrows():
        for name in seen:
            values = per_seed(done.members[group], key_of(row), name)
            values = values[~np.isnan(values)]
            expected = values.mean() if len(values) else np.nan
            np.testing.assert_allclose(row[name], expected, err_msg=f"{name} of {key_of(row)}", **CLOSE)
            seen[name] += len(values) == 3
    assert seen["reliability"] >= 3
    reliable = rows_of(done.tables, group, ["pointwise"]).dropna(subset="reliability")
    assert set(reliable["output"]) >= {MAIN, "label"}
    assert reliable["reliability"].nunique() >= 2


@pytest.mark.parametrize("group", GROUPS)
def test_the_partner_null_of_a_pointwise_row_is_joint_over_seeds_and_of_its_own_information(done, group):
    frames = [found.table("positions").sort_values(["instance", "position"]) for found in done.members[group]]
    offsets = np.concatenate([[0], np.cumsum(frames[0].groupby("instance").size())])
    assert len(offsets) == 181
    expected = {}
    for output, state, column in (
        (MAIN, "hidden", "informativeness"),
        ("label", "hidden", "informativeness_label"),
        (MAIN, "embedding", "informativeness_embedding"),
    ):
        expected[output, state] = partner_null(
            np.stack([frame[column] for frame in frames]),
            np.stack([frame["attention"] for frame in frames]),
            offsets,
            rng=0,
            n_resamples=DRAWS,
        )
        row = the_row(done.tables, group, "pointwise", "kendall_tau_b", "informativeness", output, state)
        null = expected[output, state]
        np.testing.assert_allclose(
            [row["null_mean"], row["p"], row["smallest_p"]], [null.null_mean, null.p, 1 / (1 + DRAWS)], **CLOSE
        )
        assert row["null"].startswith("attention of another instance of the same length, one map for all seeds")
        # Joint: not the mean of what each run found by itself.
        key = ("pointwise", "kendall_tau_b", "informativeness", output, state)
        assert null.n_runs == 3
        assert abs(row["p"] - per_seed(done.members[group], key, "p").mean()) > 1e-9 or row["p"] in (1, 1 / (1 + DRAWS))
    assert len({round(null.null_mean, 9) for null in expected.values()}) == 3
    pointwise = rows_of(done.tables, group, ["pointwise"])
    with_null = pointwise[pointwise["p"].notna()]
    assert set(zip(with_null["order"], with_null["output"], with_null["state"], strict=True)) == {
        ("informativeness", output, state) for output, state in expected
    }


def stored_profile(found, output, state, alignment="position"):
    frame = found.table("profile")
    chosen = (frame["alignment"] == alignment) & (frame["output"] == output) & (frame["state"] == state)
    return frame[chosen].sort_values("unit_index")


@pytest.mark.parametrize("group", GROUPS)
def test_the_shift_null_of_a_position_row_is_joint_over_seeds_and_of_its_own_profile(done, group):
    checked = 0
    for _, row in rows_of(done.tables, group, ["position"]).iterrows():
        if row["measure"] != "kendall_tau_b" or row["order"] != "mutual information":
            assert np.isnan(row["p"])
            continue
        parts = [stored_profile(found, row["output"], row["state"]) for found in done.members[group]]
        if not any(len(part) for part in parts):
            # A difference of two profiles, or a control that these cells do not have.
            assert np.isnan(row["p"])
            continue
        nats, attention = (np.stack([part[name] for part in parts]) for name in ("nats", "attention"))
        null = shift_null(nats, attention)
        np.testing.assert_allclose(
            [row["null_mean"], row["p"], row["smallest_p"]], [null.null_mean, null.p, null.smallest_p], **CLOSE
        )
        assert row["null"] == "circular shifts of the profile, one shift for all seeds"
        checked += 1
    assert checked == 5


def stored_order(found):
    frame = found.table("attention_order").sort_values("pair")
    pairs = frame["value"].to_numpy()
    positions = next(t for t in range(2, 200) if t * (t - 1) // 2 == len(pairs))
    counts = int(frame["n_instances"].iloc[0]), int(frame["n_undefined"].iloc[0])
    return AttentionOrder(pairs, np.full(positions, np.nan), *counts)


@pytest.mark.parametrize("group", GROUPS)
def test_the_shift_null_of_an_instance_row_is_joint_over_seeds(done, group):
    orders = [stored_order(found) for found in done.members[group]]
    for _, row in rows_of(done.tables, group, ["instance"]).iterrows():
        if row["output"] not in (MAIN, "label") or row["order"] != "mutual information":
            assert np.isnan(row["p"])
            continue
        nats = np.stack([stored_profile(found, row["output"], row["state"])["nats"] for found in done.members[group]])
        null = shift_null(nats, orders)
        np.testing.assert_allclose(
            [row["null_mean"], row["p"], row["smallest_p"]], [null.null_mean, null.p, null.smallest_p], **CLOSE
        )


def test_profile_rows_are_the_stored_ones_under_the_labels_of_their_cell(done):
    total = 0
    for group, members in done.members.items():
        for seed, found in zip(SEEDS, members, strict=True):
            frame = of_group(done.tables.profile, group)
            frame = frame[frame["seed"] == seed].reset_index(drop=True)
            stored = found.table("profile")
            pd.testing.assert_frame_equal(frame[list(stored.columns)], stored, check_dtype=False)
            assert (frame["encoder"] == "mlp").all()
            assert (frame["score"] == "additive").all()
            total += len(stored)
    assert len(done.tables.profile) == total


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("name", "level"), [("tables", 0.95), ("narrow", 0.5)])
def test_concentration_rows_are_the_crossed_interval_of_their_own_values(done, group, name, level):
    frame = of_group(getattr(done, name).concentration, group)
    assert set(frame["measure"]) == set(done.members[group][0].table("concentration")["measure"])
    for _, row in frame.iterrows():
        values = stacked(done.members[group], ("concentration", row["measure"], "attention", "", ""))
        expected = crossed_interval(values, level=level)
        np.testing.assert_allclose(
            [row["estimate"], row["ci_low"], row["ci_high"]],
            [expected.estimate, expected.ci_low, expected.ci_high],
            err_msg=row["measure"],
            **CLOSE,
        )
        np.testing.assert_allclose(row["undefined_share"], expected.n_instances_left_out / 180, **CLOSE)


@pytest.mark.parametrize("group", GROUPS)
def test_training_rows_are_the_interval_over_seeds(done, group):
    frame = of_group(done.tables.training, group)
    assert set(frame["measure"]) == {
        *(f"{split}_{score}" for split in ("dev", "test") for score in ("accuracy", "macro_f1", "majority")),
        "best_epoch",
        "train_seconds",
    }
    for _, row in frame.iterrows():
        values = [
            found.table("training").set_index("measure")["estimate"][row["measure"]] for found in done.members[group]
        ]
        expected = seed_interval(values)
        np.testing.assert_allclose(
            [row["estimate"], row["ci_low"], row["ci_high"], row["n_seeds"]],
            [expected.estimate, expected.ci_low, expected.ci_high, 3],
            **CLOSE,
        )


def test_runs_are_one_row_a_cell(done):
    runs = done.tables.runs
    assert runs["key"].tolist() == [cell.key for cell in done.cells]
    for cell, row in zip(done.cells, runs.to_dict("records"), strict=True):
        assert {name: row[name] for name in cell.labels} == cell.labels
        assert row["status"] == "ok"
        assert row["error"] == ""
        assert row["seconds"] == done.store.read(cell.key).metadata["seconds"]
    assert runs["seconds"].nunique() == 12


def test_notes_are_means_over_the_cells_of_a_data_set(done):
    expected = {}
    for (data, _), members in done.members.items():
        for found in members:
            for row in found.table("notes").to_dict("records"):
                cells, count, total = expected.get((data, row["note"]), (0, 0, 0))
                expected[data, row["note"]] = cells + 1, count + row["count"], total + row["total"]
    notes = done.tables.notes
    shown = {(row["data"], row["note"]): (row["cells"], row["count"], row["total"]) for row in notes.to_dict("records")}
    assert shown.keys() == expected.keys()
    for key, (cells, count, total) in expected.items():
        # Cells of one data set share its instances: the mean over cells says how many of these a fact concerns.
        assert shown[key] == pytest.approx((cells, count / cells, total / cells))
    assert len(notes) == len(expected)
    short = [values for (data, note), values in expected.items() if data == WORDS and "left out by rank" in note]
    # Lengths do not depend on the cell: six cells, 180 instances each.
    assert short[0][0] == 6
    assert short[0][2] == 6 * 180
    assert 0 < short[0][1] < 6 * 180


def test_every_column_of_the_summary_is_its_own_row(done):
    found = summary(done.tables)
    assert len(found) == 4
    tau = ("pointwise", "kendall_tau_b")
    for group in GROUPS:
        row = of_group(found, group).iloc[0]
        keys = {
            "tau": (*tau, "informativeness", MAIN, "hidden"),
            "permuted": (*tau, "informativeness", PERMUTED, "hidden"),
            "excess": (*tau, "informativeness", f"{MAIN} minus {PERMUTED}", "hidden"),
            "label": (*tau, "informativeness", "label", "hidden"),
            "uniform": (*tau, "informativeness", "uniform prediction", "hidden"),
            "embedding": (*tau, "informativeness", MAIN, "embedding"),
            "head": (*tau, "head evidence", "", ""),
            "random": (*tau, "random", "", ""),
        }
        rows = {name: the_row(done.tables, group, *key) for name, key in keys.items()}
        expected = {name: here["estimate"] for name, here in rows.items()}
        assert len({round(value, 9) for value in expected.values()}) == len(expected)
        main = rows["tau"]
        expected |= {"p": main["p"], "partner": main["null_mean"], "reliability": main["reliability"]}
        expected |= {name: main[name] for name in ("undefined_share", "n_seeds", "n_instances")}
        expected |= {"tau_low": main["ci_low"], "tau_high": main["ci_high"]}
        expected |= {"excess_low": rows["excess"]["ci_low"], "excess_high": rows["excess"]["ci_high"]}
        for name, table, measure in (
            ("accuracy", done.tables.training, "test_accuracy"),
            ("skew", done.tables.concentration, "normalized_skew"),
        ):
            here = of_group(table, group)
            expected[name] = here[here["measure"] == measure]["estimate"].item()
        for name, value in expected.items():
            assert row[name] == value, (group, name)
    for name in ("tau", "skew", "partner", "reliability"):
        assert found[name].nunique() == 4, name


def test_information_by_rank_is_the_mean_over_seeds_of_each_output(done):
    found = rank_summary(done.tables)
    outputs = {"main": MAIN, "label": "label", "uniform": "uniform prediction", "permuted": PERMUTED}
    defined = 0
    for group in GROUPS:
        row = of_group(found, group).iloc[0]
        for name, output in outputs.items():
            parts = [stored_profile(stored, output, "hidden", "rank")["nats"] for stored in done.members[group]]
            # Mean over the seeds that have a value at all.
            means = [np.mean(rank[~np.isnan(rank)]) if not np.isnan(rank).all() else None for rank in np.stack(parts).T]
            texts = ["–" if mean is None else re.sub(r"^(-?)0\.", r"\1.", f"{mean:.2f}") for mean in means]
            assert row[name].split() == [".00" if text == "-.00" else text for text in texts], (group, name)
            defined += sum(mean is not None for mean in means)
        ceilings = [stored_profile(stored, MAIN, "hidden", "rank")["ceiling"] for stored in done.members[group]]
        np.testing.assert_allclose(row["ceiling"], np.mean(ceilings), **CLOSE)
        assert len({row[name] for name in outputs}) >= 3
    assert defined > 60


@pytest.mark.parametrize("group", GROUPS)
def test_no_two_pointwise_rows_are_equal_so_that_an_exchange_would_show(done, group):
    rows = rows_of(done.tables, group, ["pointwise"])
    rows = rows[(rows["measure"] == "kendall_tau_b") & (rows["output"] != "")]
    assert len(rows) == 10
    assert rows["estimate"].nunique() == 10


def test_signatures_name_all_seeds(done):
    for group, members in done.members.items():
        frame = of_group(done.tables.agreement, group)
        whole = [all(key_of(row) in keyed(found, "agreement") for found in members) for _, row in frame.iterrows()]
        assert np.mean(whole) > 0.9
        assert frame[whole]["signature"].str.contains("seeds:0,1,2", regex=False).all()


def test_groups_do_not_mix_and_a_missing_cell_leaves_the_other_seeds(done, tmp_path):
    shutil.copytree(done.store.directory, tmp_path / "cells")
    store = CellStore(tmp_path / "cells")
    group = (WORDS, 1.0)
    (tmp_path / "cells" / f"{done.members[group][1].key}.cell").unlink()
    tables = collect(done.cells, store, null_draws=DRAWS)
    assert tables.runs["status"].value_counts().to_dict() == {"ok": 11, "missing": 1}
    missing = tables.runs[tables.runs["status"] == "missing"].iloc[0]
    assert (missing["data"], missing["temperature"], missing["seed"]) == (*group, 1)
    assert np.isnan(missing["seconds"])
    rest = [done.members[group][0], done.members[group][2]]
    key = ("pointwise", "kendall_tau_b", "informativeness", MAIN, "hidden")
    row = the_row(tables, group, *key)
    expected = crossed_interval(stacked(rest, key))
    assert row["n_seeds"] == 2
    np.testing.assert_allclose(
        [row["estimate"], row["ci_low"], row["ci_high"]],
        [expected.estimate, *clipped(row, expected.ci_low, expected.ci_high)],
        **CLOSE,
    )
    assert "seeds:0,2" in row["signature"]
    for other in GROUPS:
        if other != group:
            pd.testing.assert_frame_equal(
                of_group(tables.agreement, other).reset_index(drop=True),
                of_group(done.tables.agreement, other).reset_index(drop=True),
            )
    assert set(GROUP_COLUMNS) <= set(tables.agreement.columns)
