"""Families: expanded over the grid, refused where they could never reject, frozen when they are first met."""

from __future__ import annotations

import json

import pytest

from mi_attention.study.config import StudyConfig, load_study
from mi_attention.study.declared import declarations, declare
from mi_attention.study.families import Family, expand
from mi_attention.study.grid import cells_of

GRID = [
    {"data": data, "encoder": encoder, "score": score, "normalizer": "softmax", "temperature": t, "freeze": "none"}
    for data in ("a", "b")
    for encoder in ("mlp", "bilstm")
    for score in ("additive", "dot", "deep(depth=3)")
    for t in (0.5, 1.0)
]


def family(**changes):
    return Family.model_validate({"name": "f", "factor": "score", "contrasts": [["additive", "dot"]]} | changes)


def test_one_contrast_a_combination_of_the_other_factors():
    found = expand(family(), GRID)
    assert len(found) == 2 * 2 * 2
    first = found[0]
    assert first.name == "additive − dot (a, mlp, 0.5)"
    assert [side["score"] for side in (*first.first, *first.second)] == ["additive", "dot"]
    assert first.shared == {
        "data": "a",
        "encoder": "mlp",
        "normalizer": "softmax",
        "temperature": 0.5,
        "freeze": "none",
    }


def test_where_keeps_levels_and_average_takes_means():
    found = expand(family(where={"data": "a", "temperature": [1]}), GRID)
    assert [contrast.name for contrast in found] == ["additive − dot (mlp)", "additive − dot (bilstm)"]
    averaged = expand(family(average=["data", "encoder", "temperature"]), GRID)
    assert [contrast.name for contrast in averaged] == ["additive − dot"]
    assert len(averaged[0].first) == len(averaged[0].second) == 8
    for left, right in zip(averaged[0].first, averaged[0].second, strict=True):
        assert {**left, "score": ""} == {**right, "score": ""}
    two = expand(
        family(contrasts=[["additive", "dot"], ["dot", "deep(depth=3)"]], average=["data", "temperature"]), GRID
    )
    assert len(two) == 4


def test_only_combinations_that_both_levels_have_are_compared():
    grid = [
        g | {"normalizer": n} for g in GRID for n in ("softmax", "uniform") if n == "softmax" or g["temperature"] == 1
    ]
    found = expand(family(factor="normalizer", contrasts=[["softmax", "uniform"]]), grid)
    assert {contrast.shared["temperature"] for contrast in found} == {1.0}
    with pytest.raises(ValueError, match="no combination of the study has both"):
        expand(family(factor="normalizer", contrasts=[["softmax", "uniform"]], where={"temperature": 0.5}), grid)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contrasts": [["additive", "additive"]]}, "different pairs of different levels"),
        ({"contrasts": [["additive", "dot"], ["dot", "additive"]]}, "different pairs"),
        ({"where": {"score": "dot"}}, "'score' cannot stand in where"),
        ({"test": "equivalence"}, "needs a margin"),
        ({"margin": 0.05}, "has none"),
        ({"margin": -1.0, "test": "equivalence"}, "greater than 0"),
    ],
)
def test_families_that_contradict_themselves(changes, message):
    with pytest.raises(ValueError, match=message):
        family(**changes)


def test_an_unknown_level_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"score 'dott' is not in the study, which has additive, dot, deep\(depth=3\)"):
        expand(family(contrasts=[["additive", "dott"]]), GRID)


TOML = """
name = "s"
seeds = [0, 1, 2, 3, 4, 5, 6, 7]
[[data]]
name = "digits"
[model]
encoder = ["mlp", "bilstm"]
score = ["additive", "deep", "scaled_dot"]
[analysis]
claims = ["Additive attention agrees more."]
exploratory = "temperature"
[[analysis.families]]
name = "scores"
factor = "score"
contrasts = [["additive", "deep"], ["additive", "scaled_dot"], ["deep", "scaled_dot"]]
"""


def load(tmp_path, text):
    (tmp_path / "s.toml").write_text(text)
    return load_study(tmp_path / "s.toml")


def test_a_family_that_could_never_reject_is_refused_with_the_seeds_it_needs(tmp_path):
    # 6 contrasts at 8 seeds: 6 · 2^-7 = .047 ≤ .05; a seventh, or a seed less, could never be rejected.
    assert len(load(tmp_path, TOML).analysis.families) == 1
    with pytest.raises(ValueError, match=r"'scores' of 6 contrasts could never reject.*with 7 seeds.*needs 8 seeds"):
        load(tmp_path, TOML.replace(", 6, 7]", ", 6]"))
    with pytest.raises(ValueError, match=r"of 9 contrasts.*needs 9 seeds, or at most 6 contrasts"):
        load(tmp_path, TOML.replace('["mlp", "bilstm"]', '["mlp", "bilstm", "cnn"]'))
    few = TOML.replace(", 2, 3, 4, 5, 6, 7]", "]") + 'test = "equivalence"\nmargin = 0.05\n'
    assert load(tmp_path, few).analysis.families[0].margin == 0.05
    with pytest.raises(ValueError, match="needs at least 2 seeds"):
        load(tmp_path, few.replace("[0, 1]", "[0]"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("factor =", "facter ="), r"unknown key 'analysis\.families\.0\.facter'; did you mean 'factor'\?"),
        (('"deep"], ["add', '"deeep"], ["add'), "score 'deeep' is not in the study"),
        (("claims = [", 'familys = "x"\nclaims = ['), r"did you mean 'families'\?"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        load(tmp_path, TOML.replace(*change))


def test_two_families_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="two families are called 'scores'"):
        load(
            tmp_path, TOML + TOML[TOML.index("[[analysis.families]]") :].replace('factor = "score"', 'factor = "score"')
        )


def test_what_is_declared_does_not_change_the_cells(tmp_path):
    study = load(tmp_path, TOML)
    bare = StudyConfig.model_validate(study.model_dump() | {"analysis": study.analysis.measured.model_dump()})
    sources = {0: ("digits", "abc", "")}
    assert [cell.key for cell in cells_of(study, sources)] == [cell.key for cell in cells_of(bare, sources)]


def test_the_grid_of_a_study_is_that_of_its_cells(tmp_path):
    study = load(tmp_path, TOML)
    model = study.model.model_copy(
        update={
            "normalizer": (*study.model.normalizer, study.model.normalizer[0].model_copy(update={"name": "uniform"}))
        }
    )
    study = study.model_copy(update={"model": model.model_copy(update={"temperature": (0.5, 1.0)})})
    cells = cells_of(study, {0: ("digits", "abc", "")})
    found = [tuple(value for name, value in cell.labels.items() if name != "seed") for cell in cells]
    assert list(dict.fromkeys(found)) == [tuple(combination.values()) for combination in study.grid()]


def test_declarations_are_kept_as_they_were_first_met(tmp_path):
    study = load(tmp_path, TOML)
    first = declare(study, tmp_path, 0)
    assert [(found.kind, found.status) for found in first] == [("claim", "confirmatory"), ("family", "confirmatory")]
    # Met again later, they are still the ones that were there before.
    assert declare(study, tmp_path, 30) == first == declarations(tmp_path)
    # Another test, another seed, another measure, another grid: another family, and a late one.
    for change in (
        ("[0, 1, 2, 3, 4, 5, 6, 7]", "[0, 1, 2, 3, 4, 5, 6, 7, 8]"),
        ('factor = "score"', 'factor = "score"\nestimand = "instance"'),
        ("[analysis]", "[analysis]\nranks = 4"),
        ('"bilstm"]', '"cnn"]'),
    ):
        late = declare(load(tmp_path, TOML.replace(*change)), tmp_path, 30)[-1]
        assert late.status == "exploratory: declared when 30 cells were finished"
    assert len(declarations(tmp_path)) == 2 + 4
    (tmp_path / "analysis.json").write_text(json.dumps([{"kind": "claim"}]))
    with pytest.raises(ValueError, match=r"analysis\.json is damaged"):
        declarations(tmp_path)
