"""Extras in a study: checked when the file is read, part of a cell's key, pooled over seeds, and named by families."""

from __future__ import annotations

import tomllib
from typing import get_args

import numpy as np
import pytest

from mi_attention.agreement.extras import EXTRAS
from mi_attention.study.config import MeasureConfig, StudyConfig
from mi_attention.study.contrasts import contrasts_of
from mi_attention.study.families import Family
from mi_attention.study.grid import cells_of
from mi_attention.study.run import plan_study, run_study
from mi_attention.study.store import CellStore
from mi_attention.study.tables import collect

FAMILY = {"name": "f", "factor": "encoder", "contrasts": [["mlp", "embedding"]]}
STUDY = """
name = "extras"
seeds = [0, 1, 2, 3, 4, 5]

[[data]]
name = "planted/keyword"
n = [100, 60, 60]

[model]
encoder = ["mlp", "embedding"]
units = 4

[training]
epochs = 1

[analysis]
alignments = ["position", "instance"]
extras = ["preservation", "redundancy", "contextualisation", "geometry", "rationale"]
ranks = 2
null_draws = 19
estimator_options = { members = ["linear"], folds = 4 }
"""


def with_families(estimands, **changes):
    content = tomllib.loads(STUDY)
    content["analysis"]["families"] = [
        FAMILY | {"name": estimand, "estimand": estimand, "output": "label"} | changes for estimand in estimands
    ]
    return StudyConfig.model_validate(content)


def test_the_names_are_those_of_compare_and_wrong_ones_or_absent_alignments_are_refused():
    annotation = MeasureConfig.model_fields["extras"].annotation
    assert get_args(get_args(annotation)[0]) == EXTRAS
    with pytest.raises(ValueError, match="preservation"):
        MeasureConfig(extras=("preserved",))
    with pytest.raises(ValueError, match="'rationale', which needs 'instance' in alignments"):
        MeasureConfig(extras=("rationale",), alignments=("position",))
    single = tomllib.loads(STUDY)
    single["analysis"]["extras"] = "geometry"
    assert StudyConfig.model_validate(single).analysis.extras == ("geometry",)


def test_a_cell_with_extras_is_another_cell():
    content = tomllib.loads(STUDY)
    facts = {0: ("d", "f", "")}
    keys = {cell.key for cell in cells_of(StudyConfig.model_validate(content), facts)}
    content["analysis"]["extras"] = []
    assert keys.isdisjoint({cell.key for cell in cells_of(StudyConfig.model_validate(content), facts)})


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"estimand": "preservation"}, ("attended_excess", "mutual information", "prediction", "hidden")),
        (
            {"estimand": "preservation", "measure": "context_share", "state": "context", "output": "label"},
            ("context_share", "mutual information", "label", "context"),
        ),
        ({"estimand": "redundancy"}, ("unique_share", "mutual information", "label", "hidden")),
        (
            {"estimand": "contextualisation"},
            ("embedding_gap_share", "mutual information", "prediction", "hidden minus embedding"),
        ),
        ({"estimand": "geometry"}, ("conicity", "", "", "hidden")),
        ({"estimand": "rationale"}, ("auc", "attention", "", "")),
        (
            {"estimand": "rationale", "order": "informativeness", "output": "label", "state": "hidden"},
            ("auc", "informativeness", "label", "hidden"),
        ),
    ],
)
def test_families_name_their_rows(changes, key):
    family = Family.model_validate(FAMILY | changes)
    assert family.row_key("prediction") == (changes["estimand"], *key)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study = with_families(["preservation", "redundancy", "contextualisation"])
    folder = tmp_path_factory.mktemp("extras")
    plan = plan_study(study, folder, workers=1)
    assert not run_study(plan, folder).failed
    store = CellStore(folder / "cells")
    return study, collect(plan.cells, store), store


def test_every_extra_is_pooled_over_seeds_and_kept_by_seed(finished):
    _, tables, _ = finished
    pooled = tables.agreement[tables.agreement["estimand"].isin(EXTRAS)]
    assert set(pooled["estimand"]) == set(EXTRAS)
    label = pooled[(pooled["output"] == "label") | pooled["estimand"].isin(["geometry"])]
    assert (label["n_seeds"] == 6).all()
    assert (label["interval"].str.startswith("seeds crossed with instances") | label["ci_low"].isna()).all()
    keys = ["encoder", "estimand", "measure", "order", "output", "state"]
    runs = tables.seeds[tables.seeds["estimand"].isin(EXTRAS)]
    means = runs.groupby(keys)["estimate"].mean()
    counts = runs.groupby(keys)["seed"].nunique()
    assert (counts == 6).all()
    pooled_means = pooled.set_index(keys)["estimate"]
    whole = pooled_means[pooled["n_instances"].to_numpy() == 120]
    np.testing.assert_allclose(whole, means[whole.index], atol=1e-9)


def test_undefined_runs_are_left_out_of_the_interval_and_named(finished):
    _, tables, _ = finished
    rows = tables.agreement[
        tables.agreement["n_seeds"].between(2, 5) & (tables.agreement["estimand"] == "preservation")
    ]
    # A model of one epoch says one class throughout in some seeds.
    assert len(rows)
    assert (rows["reason"] == "a single class").all()
    assert rows["ci_low"].notna().all()


def test_states_that_are_their_embeddings_have_no_gap_in_any_seed_and_families_compare_by_seed(finished):
    study, tables, store = finished
    gaps = tables.seeds[(tables.seeds["estimand"] == "contextualisation") & (tables.seeds["encoder"] == "embedding")]
    assert (gaps["estimate"].dropna() == 0).all()
    contrasts = contrasts_of(study, tables, [], store)
    first = contrasts[contrasts["quantity"] == "mean difference"].set_index("family")
    assert set(first.index) == {"preservation", "redundancy", "contextualisation"}
    assert (first["n_seeds"] == 6).all()
    assert (first["effect_unit"] == "share of H(Y)").all()
    own = tables.seeds[
        (tables.seeds["measure"] == "embedding_gap_share")
        & (tables.seeds["order"] == "mutual information")
        & (tables.seeds["output"] == "label")
    ].pivot(index="seed", columns="encoder", values="estimate")
    assert first.loc["contextualisation", "estimate"] == pytest.approx((own["mlp"] - own["embedding"]).mean())
