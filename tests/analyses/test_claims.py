"""The claims as they are written down: complete, possible in the grid, and dated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mi_attention.study.claim_contrasts import GROUPING, claim_contrasts
from mi_attention.study.claims import RowKey, declare_claims, load_claims
from mi_attention.study.collection import Collection, load_collection

ANALYSES = Path(__file__).resolve().parents[2] / "analyses"
SCRIPTS = sorted(path.stem for path in ANALYSES.glob("*.py") if path.stem not in ("demo", "grid", "story"))

SMALL = """
[rows]
tau = { estimand = "pointwise", measure = "kendall_tau_b", output = "label" }

[controls.usual]
random = { order = "random" }

[ties]
title = "Ties"
question = "Are they?"
doubt = "More of them."

[[ties.claims]]
claim = "They are"
studies = ["core"]
row = "tau"
direction = "greater"
matters = 0.05
controls = "usual"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "claims.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """The grid as it is where all files of data are there; their content is not looked at."""
    data = tmp_path_factory.mktemp("data")
    missing = load_collection(ANALYSES / "grid").missing
    for text in missing:
        path = data / text.partition(": ")[2]
        path.parent.mkdir(exist_ok=True)
        path.touch()
        (data / "_vectors").mkdir(exist_ok=True)
        (data / "_vectors" / "glove_wink_100d_40k_f16.npz").touch()
    (data / "imdb5k").mkdir(exist_ok=True)
    (data / "imdb5k" / "imdb5k.jsonl").touch()
    found = load_collection(ANALYSES / "grid", data)
    assert not found.missing
    return found


def test_every_script_has_claims_and_is_short() -> None:
    assert sorted(load_claims(ANALYSES / "claims.toml")) == SCRIPTS
    for path in ANALYSES.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 150, path


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_contrast_is_in_the_grid_and_could_be_decided(name: str, collection: Collection) -> None:
    for claim in load_claims(ANALYSES / "claims.toml")[name].claims:
        members = collection.of(claim.studies).members
        combinations = list(
            dict.fromkeys(
                tuple({**combination, "variant": member.variant}[factor] for factor in GROUPING)
                for member in members
                for combination in member.study.grid()
            )
        )
        contrasts = claim_contrasts(claim, combinations)
        assert contrasts, claim.claim
        assert all(contrast.sides for contrast in contrasts), claim.claim
        # Eight seeds carry six sign flips; two one-sided t tests have no such limit.
        assert claim.direction == "equivalent" or len(contrasts) <= 6, (claim.claim, len(contrasts))
        assert all(len(member.study.seeds) == 8 for member in members)


def test_words_of_claims_are_all_different() -> None:
    words = [claim.claim for question in load_claims(ANALYSES / "claims.toml").values() for claim in question.claims]
    assert len(set(words)) == len(words)
    assert not [text for text in words if text.endswith(".")]


def test_rows_and_controls_may_be_called_by_name(tmp_path: Path) -> None:
    (claim,) = load_claims(written(tmp_path, SMALL))["ties"].claims
    assert claim.row == RowKey(estimand="pointwise", measure="kendall_tau_b", output="label")
    assert claim.controls == {"random": {"order": "random"}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('row = "tau"', 'row = "gone"', "row"),
        ("matters = 0.05", "matters = 0", "matters"),
        ("matters = 0.05", 'matters = 0.05\nfactor = "score"', "factor and contrasts belong together"),
        ("matters = 0.05", 'matters = 0.05\nminus = { place = "x" }', "no entry 'place'"),
        ("matters = 0.05", "matters = 0.05\nmargin = 1", "margin"),
        (
            "matters = 0.05",
            'matters = 0.05\nreference = 0.5\nfactor = "score"\ncontrasts = [["a", "b"]]',
            "a reference is for estimates",
        ),
        (
            "matters = 0.05",
            'matters = 0.05\naverage = ["score"]\nfactor = "score"\ncontrasts = [["a", "b"]]',
            "'score' cannot stand in where or average",
        ),
        ('direction = "greater"', 'direction = "up"', "direction"),
        ('doubt = "More of them."', 'doubt = "More of them."\nconclusion = "7 of 9"', "conclusion"),
        ("[ties]", "[ties", "not TOML"),
    ],
)
def test_a_wrong_claim_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load_claims(written(tmp_path, SMALL.replace(old, new)))


def test_main_stands_for_the_output_asked_for() -> None:
    key = RowKey(estimand="pointwise", measure="kendall_tau_b", output="main minus permuted attention", state="hidden")
    assert key.of("prediction")[3] == "prediction minus permuted attention"
    assert RowKey(estimand="a", measure="b", output="the remains").of("prediction")[3] == "the remains"


def test_what_is_claimed_late_is_exploratory_for_ever(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    first = declare_claims(load_claims(path), tmp_path, {})
    assert first == {"They are": "confirmatory"}
    moved = written(tmp_path, SMALL.replace("matters = 0.05", "matters = 0.01"))
    changed = declare_claims(load_claims(moved), tmp_path, {"core": 7, "other": 5})
    assert changed == {"They are": "exploratory: claimed when 7 of its cells were finished"}
    # The first is still known as it was, with more cells finished.
    again = declare_claims(load_claims(written(tmp_path, SMALL)), tmp_path, {"core": 9})
    assert again == {"They are": "confirmatory"}
    moved = written(tmp_path, SMALL.replace("matters = 0.05", "matters = 0.01"))
    assert declare_claims(load_claims(moved), tmp_path, {}) == changed
    assert len(json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))) == 2


def test_what_is_said_of_its_history_changes_nothing_of_a_claim(tmp_path: Path) -> None:
    declare_claims(load_claims(written(tmp_path, SMALL)), tmp_path, {})
    wider = written(tmp_path, SMALL.replace("matters = 0.05", 'matters = 0.05\nwidened = "b was added"'))
    assert declare_claims(load_claims(wider), tmp_path, {"core": 9}) == {"They are": "confirmatory, but b was added"}
    late = written(tmp_path, SMALL.replace("matters = 0.05", 'matters = 0.05\nexploratory = "thought of late"'))
    for folder in (tmp_path, tmp_path / "fresh"):
        folder.mkdir(exist_ok=True)
        # Wherever it is settled, also where no run was there.
        assert declare_claims(load_claims(late), folder, {}) == {"They are": "exploratory: thought of late"}
    assert len(json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))) == 1


def test_a_damaged_declaration_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "claims.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="restore it"):
        declare_claims(load_claims(written(tmp_path, SMALL)), tmp_path, {})
    assert (tmp_path / "claims.json").read_text(encoding="utf-8") == "{"
