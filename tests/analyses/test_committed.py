"""The committed results: the page says what the claims say, these what the rows say, and no text of others is there."""

from __future__ import annotations

import html
import importlib.util
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mi_attention.study.answers import CONFIRMATORY, apart, verdict_of
from mi_attention.study.claims import load_claims
from mi_attention.study.story import claim_lines, write_story

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = load_claims(ROOT / "analyses" / "claims.toml")


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "results" / name / "claim.json").read_text(encoding="utf-8"))
    return found


def test_the_page_is_made_of_the_claims(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("story", ROOT / "analyses" / "story.py")
    assert spec is not None
    assert spec.loader is not None
    story = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(story)
    assert set(story.ORDER) == set(CLAIMS)
    made = write_story(
        ROOT / "results", story.ORDER, before=story.BEFORE, after=story.AFTER, target=tmp_path / "page.md"
    )
    assert made.read_text(encoding="utf-8") == (ROOT / "results" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_every_claim_has_come_to_what_its_rows_say(name: str) -> None:
    table = pd.read_parquet(ROOT / "results" / name / "table.parquet")
    claims = {claim["claim"]: claim for claim in read(name)["claims"]}
    assert list(claims) == [claim.claim for claim in CLAIMS[name].claims]
    for words, claim in claims.items():
        rows = table[table["claim"] == words]
        assert claim["verdict"] == verdict_of(rows)
        assert claim["parts"] == apart(rows)
        own = rows[rows["part"] == CONFIRMATORY]
        assert [contrast["contrast"] for contrast in claim["contrasts"]] == own["contrast"].tolist()
        assert (own["n_seeds"].dropna() == 8).all()


def test_p_of_the_page_is_that_of_the_verdict_and_never_0() -> None:
    shown = {"finding": "", "direction": "greater", "p_adjusted": 0.9, "p_against_adjusted": 1e-5}
    page = {"title": "t", "question": "q", "doubt": "d", "caption": "", "conclusion": ""}
    for verdict, said in (("contradicted", "< 0.001"), ("supported", "0.900"), ("undecided", "0.900")):
        claim = {
            "claim": "c",
            "verdict": verdict,
            "status": "confirmatory",
            "contrasts": [shown | {"verdict": verdict}],
        }
        text = html.unescape("\n".join(claim_lines("n", page | {"claims": [claim]}, ["more.csv"])))
        assert said in text
        assert "[more.csv](n/more.csv)" in text


def test_a_small_difference_is_no_fault_of_things_claimed_to_be_alike() -> None:
    contrast = {"verdict": "supported", "size": "too small to matter", "direction": "greater", "finding": "as claimed"}
    page = {"title": "t", "question": "q", "doubt": "d", "caption": "", "conclusion": "", "claims": []}
    for direction, said in (("greater", True), ("equivalent", False)):
        claim = {"claim": "c", "verdict": "supported", "status": "confirmatory"}
        lines = claim_lines("n", page | {"claims": [claim | {"contrasts": [contrast | {"direction": direction}]}]})
        assert any("too small to matter" in line for line in lines) == said


def test_the_committed_demo_shows_no_text_of_others() -> None:
    page = (ROOT / "results" / "demo" / "report.html").read_text(encoding="utf-8")
    assert "Texts are not shown, as was asked for." in page
