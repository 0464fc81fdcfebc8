"""The table of declared contrasts: hand-made runs give hand-made differences, tests and corrections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mi_attention.study.config import StudyConfig
from mi_attention.study.contrasts import contrasts_of
from mi_attention.study.declared import declare, family_content
from mi_attention.study.groups import GROUP_COLUMNS
from mi_attention.study.store import CellStore
from mi_attention.study.tables import StudyTables

# Of runs that have no value of single instances.
NOWHERE = CellStore("nowhere")
SEEDS = list(range(8))
SCORES = ("additive", "deep", "scaled_dot")


def study(**family):
    facts = {"name": "scores", "factor": "score", "contrasts": [["additive", "deep"], ["additive", "scaled_dot"]]}
    return StudyConfig.model_validate(
        {
            "name": "s",
            "seeds": SEEDS,
            "data": [{"name": "digits"}],
            "model": {"encoder": ["mlp", "bilstm"], "score": list(SCORES)},
            "analysis": {"claims": ["c"], "families": [facts | family]},
        }
    )


def value(encoder, score, seed):
    """Additive is about .2 above deep in every run, and around scaled_dot on both sides; bilstm differs by seed."""
    base = 0.3 + 0.01 * seed + (0.05 * seed if encoder == "bilstm" else 0.0)
    return {
        "additive": base,
        "deep": base - 0.2 + 0.001 * (seed * 3 % 8 - 3.5),
        "scaled_dot": base + 0.1 * (-1) ** seed,
    }[score]


def tables(left_out=()):
    rows = [
        {
            "data": "digits",
            "encoder": encoder,
            "score": score,
            "normalizer": "softmax",
            "temperature": 1.0,
            "freeze": "none",
            "seed": seed,
            "estimand": estimand,
            "measure": measure,
            "order": order,
            "output": output,
            "state": state,
            "estimate": value(encoder, score, seed) * (1 if output == "prediction" else 2),
            "unit": "tau",
        }
        for encoder in ("mlp", "bilstm")
        for score in SCORES
        for seed in SEEDS
        for estimand, measure, order, output, state in (
            ("pointwise", "kendall_tau_b", "informativeness", "prediction", "hidden"),
            ("pointwise", "kendall_tau_b", "informativeness", "label", "hidden"),
            ("concentration", "normalized_skew", "attention", "", ""),
        )
        if (encoder, score, seed) not in left_out
    ]
    empty = [pd.DataFrame() for _ in range(6)]
    return StudyTables(*empty, output="prediction", seeds=pd.DataFrame(rows))


def first_rows(found):
    return found[~found.duplicated(["family", "contrast"])].set_index("contrast")


def test_differences_are_paired_by_seed_and_corrected_within_the_family(tmp_path):
    one = study(where={"encoder": "mlp"})
    found = first_rows(contrasts_of(one, tables(), declare(one, tmp_path, 0), NOWHERE))
    assert list(found.index) == ["additive − deep", "additive − scaled_dot"]
    clear, none = found.iloc[0], found.iloc[1]
    assert clear["estimate"] == pytest.approx(0.2)
    # All eight differences have one sign: 2 of 2^8 patterns. Holm doubles the smaller p of two.
    assert clear["p"] == pytest.approx(2 / 256)
    assert clear["p_adjusted"] == pytest.approx(4 / 256)
    assert clear["rejected"] == "yes"
    assert none["estimate"] == pytest.approx(0.0, abs=1e-12)
    assert none["p"] == none["p_adjusted"] == pytest.approx(1.0)
    assert none["rejected"] == "no"
    assert (found["n_seeds"] == 8).all()
    assert (found["status"] == "confirmatory").all()
    assert (found["encoder"] == "mlp").all()
    assert (found["score"] == "contrasted").all()
    assert (found["effect_unit"] == "tau").all()


def test_averaging_is_seed_by_seed():
    one = study(average=["encoder"], contrasts=[["additive", "scaled_dot"]])
    found = contrasts_of(one, tables(), [], NOWHERE)
    row = found.iloc[0]
    expected = [
        np.mean(
            [value(encoder, "additive", seed) - value(encoder, "scaled_dot", seed) for encoder in ("mlp", "bilstm")]
        )
        for seed in SEEDS
    ]
    assert row["estimate"] == pytest.approx(np.mean(expected), abs=1e-12)
    assert row["encoder"] == "averaged"
    assert row["status"] == "exploratory: not declared before this report"


def test_other_outputs_and_tables_by_name():
    label = contrasts_of(study(output="label", where={"encoder": "mlp"}), tables(), [], NOWHERE)
    assert label.iloc[0]["output"] == "label"
    assert label.iloc[0]["estimate"] == pytest.approx(0.4)
    skew = contrasts_of(study(estimand="concentration", where={"encoder": "mlp"}), tables(), [], NOWHERE)
    assert skew.iloc[0]["measure"] == "normalized_skew"
    assert skew.iloc[0]["estimate"] == pytest.approx(0.4)


def test_equivalence_needs_the_whole_interval_inside_the_margin():
    pair = [["additive", "deep"]]
    wide = study(contrasts=pair, where={"encoder": "mlp"}, test="equivalence", margin=0.3)
    noisy = tables()
    rng = np.random.default_rng(0)
    noisy.seeds["estimate"] += rng.normal(0, 0.01, len(noisy.seeds))
    inside = contrasts_of(wide, noisy, [], NOWHERE).iloc[0]
    assert inside["rejected"] == "yes"
    assert "within ±0.3" in inside["test"]
    assert inside["level"] == pytest.approx(0.9)
    # t tests have no smallest p; that of sign flips would refuse large families at eight seeds.
    assert np.isnan(inside["smallest_p"])
    narrow = study(contrasts=pair, where={"encoder": "mlp"}, test="equivalence", margin=0.1)
    outside = contrasts_of(narrow, noisy, [], NOWHERE).iloc[0]
    assert outside["rejected"] == "no"
    assert outside["margin"] == 0.1


def test_an_unfinished_study_says_what_it_cannot_show():
    left_out = {("mlp", "deep", seed) for seed in SEEDS[3:]}
    found = first_rows(contrasts_of(study(where={"encoder": "mlp"}), tables(left_out), [], NOWHERE))
    row = found.iloc[0]
    assert row["n_seeds"] == 3
    assert row["estimate"] == pytest.approx(0.2005)
    # The other contrast still has eight seeds and could be rejected; nothing is corrected for what is not there.
    assert row["p"] == pytest.approx(2 / 8)
    nothing = contrasts_of(
        study(where={"encoder": "mlp"}), StudyTables(*[pd.DataFrame()] * 6, output="prediction"), [], NOWHERE
    )
    assert nothing["p_adjusted"].isna().all()
    assert nothing["estimate"].isna().all()
    assert nothing["rejected"].eq("").all()
    assert nothing.iloc[0]["reason"]


def test_a_declaration_does_not_depend_on_what_was_left_at_its_default():
    said = family_content(study(), study().analysis.families[0])["measured"]
    assert said == {}
    changed = study().model_copy(update={"analysis": study().analysis.model_copy(update={"ranks": 7})})
    assert family_content(changed, changed.analysis.families[0])["measured"] == {"ranks": 7}


def test_a_late_family_is_exploratory(tmp_path):
    one = study()
    found = contrasts_of(one, tables(), declare(one, tmp_path, 5), NOWHERE)
    assert (found["status"] == "exploratory: declared when 5 cells were finished").all()


def test_a_study_without_families_has_no_table():
    plain = StudyConfig.model_validate({"name": "s", "data": [{"name": "digits"}]})
    assert len(contrasts_of(plain, tables(), [], NOWHERE)) == 0


def stored(tmp_path, scores):
    """Runs whose instances are kept: ``scores`` has a function (seed, instance numbers) → values for every score."""
    store, runs = CellStore(tmp_path / "cells"), []
    for score, make in scores.items():
        for seed in SEEDS:
            values = make(seed, np.arange(40))
            frames = [
                pd.DataFrame({"instance": np.arange(40)[::-1], "value": values[::-1]}).assign(
                    estimand=estimand, measure=measure, order=order, output=output, state=state
                )
                for estimand, measure, order, output, state in (
                    ("pointwise", "kendall_tau_b", "informativeness", "prediction", "hidden"),
                    ("pointwise", "kendall_tau_b", "random", "", ""),
                )
            ]
            frames[1]["value"] = 9.0
            store.write(f"{score}{seed}", {"instances": pd.concat(frames)}, {}, "signature")
            labels = dict(zip(GROUP_COLUMNS, ("digits", "mlp", score, "softmax", 1.0, "none"), strict=True))
            runs.append(labels | {"seed": seed, "status": "ok", "key": f"{score}{seed}"})
    return pd.DataFrame(runs), store


def test_both_sides_are_on_the_instances_that_both_have_in_every_seed(tmp_path):
    def whole(seed, i):
        return i / 40 + 0.001 * seed

    def holes(seed, i):
        # As high as the other, but without an order where values are low.
        return np.where(i < 12, np.nan, whole(seed, i) - 0.01 * (1 + seed % 3))

    runs, store = stored(tmp_path, {"additive": whole, "deep": holes, "scaled_dot": whole})
    known = replace(tables(), runs=runs)
    found = first_rows(contrasts_of(study(where={"encoder": "mlp"}), known, [], store))
    row = found.loc["additive − deep"]
    assert row["estimate"] == pytest.approx(np.mean([0.01 * (1 + seed % 3) for seed in SEEDS]))
    assert (row["n_instances"], row["degenerate_share"]) == (28, pytest.approx(0.3))
    assert found.loc["additive − scaled_dot", "estimate"] == pytest.approx(0.0)
    rows = contrasts_of(study(where={"encoder": "mlp"}), known, [], store)
    assert "mean difference (new instances too)" in set(rows["quantity"])


def test_over_several_encoders_instances_are_averaged_first(tmp_path):
    runs, store = stored(tmp_path, {"additive": lambda s, i: i / 40 + s, "deep": lambda s, i: i / 80 + s})
    other = runs.assign(encoder="bilstm")
    one = study(average=["encoder"], contrasts=[["additive", "deep"]])
    row = first_rows(contrasts_of(one, replace(tables(), runs=pd.concat([runs, other])), [], store)).iloc[0]
    assert row["estimate"] == pytest.approx(np.arange(40).mean() / 80)
    assert row["n_instances"] == 40


def test_over_several_data_sets_each_is_compared_on_its_own_instances(tmp_path):
    def first(seed, i):
        return i / 40 + seed

    def second(seed, i):
        # Undefined where values are low: by the means of the runs it would be ahead.
        return np.where(i < 12, np.nan, first(seed, i) - 0.02)

    runs, store = stored(tmp_path, {"additive": first, "deep": second})
    # The other data set has cells of its own: the same, the first half of its instances the only ones.
    for score, make in {"additive": first, "deep": first}.items():
        for seed in SEEDS:
            frame = pd.DataFrame({"instance": np.arange(20), "value": make(seed, np.arange(20))}).assign(
                estimand="pointwise",
                measure="kendall_tau_b",
                order="informativeness",
                output="prediction",
                state="hidden",
            )
            store.write(f"other{score}{seed}", {"instances": frame}, {}, "signature")
    other = runs.assign(data="planted", key="other" + runs["key"])
    facts = study(average=["data"], contrasts=[["additive", "deep"]], where={"encoder": ["mlp"]}).model_dump()
    facts["data"] = [{"name": "digits"}, {"name": "planted/keyword", "title": "planted"}]
    found = contrasts_of(StudyConfig.model_validate(facts), replace(tables(), runs=pd.concat([runs, other])), [], store)
    row = found.iloc[0]
    assert row["estimate"] == pytest.approx((0.02 + 0.0) / 2)
    assert row["n_data"] == 2
    assert "mean difference (new instances too)" not in set(found["quantity"])


def test_a_damaged_cell_is_not_passed_over(tmp_path):
    runs, store = stored(tmp_path, {"additive": lambda s, i: i / 40, "deep": lambda s, i: i / 80})
    path = tmp_path / "cells" / "deep3.cell"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="deep3"):
        contrasts_of(study(where={"encoder": "mlp"}), replace(tables(), runs=runs), [], store)
