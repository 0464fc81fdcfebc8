"""The command line: quick help, one-line errors, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mi_attention import cli
from mi_attention.statistics import power_table


def test_help_answers_without_torch():
    code = "import sys; from mi_attention.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert found.returncode == 0
    for command in ("demo", "study", "report", "verify", "power", "estimate", "data"):
        assert command in found.stdout


def test_estimate(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    np.save(tmp_path / "x.npy", rng.standard_normal((400, 8)) + 2.0 * y[:, None])
    np.save(tmp_path / "y.npy", y)
    assert cli.main(["estimate", str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), "--permutations", "0"]) == 0
    shown = capsys.readouterr().out
    assert "mutual information" in shown
    assert "nats" in shown
    assert "probe" in shown
    np.save(tmp_path / "one.npy", np.zeros(400, dtype=int))
    assert cli.main(["estimate", str(tmp_path / "x.npy"), str(tmp_path / "one.npy")]) == 1
    assert "single class" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["studdy", "x"], "studdy"),
        (["study"], "file"),
        (["study", "nothing.toml"], "there is no study file nothing.toml"),
        (["report", "nowhere"], "study.json is missing"),
        (["estimate", "a.npy", "b.npy"], "there is no file a.npy"),
        (["estimate", "a.npy", "b.npy", "--seeed", "1"], "seeed"),
    ],
)
def test_errors_are_one_line_and_exit_2(tokens, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(tokens) == 2
    shown = capsys.readouterr().err.strip().splitlines()
    assert len(shown) == 1
    assert message in shown[0]


def test_a_pickle_is_not_opened(tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert cli.main(["estimate", str(tmp_path / "x.npy"), str(tmp_path / "x.npy")]) == 2
    assert "not a plain .npy array" in capsys.readouterr().err


def test_data_list(capsys):
    assert cli.main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    for name in ("docstrings", "digits", "planted/xor"):
        assert name in shown


def test_power_is_that_of_the_statistics(capsys):
    arguments = ["power", "5", "8", "--difference", "0.05", "--seed-spread", "0.04", "--family-size", "3"]
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    found = power_table([5, 8], difference=0.05, seed_spread=0.04, family_size=3)
    for row in found.to_dict("records"):
        assert f"{row['power']:.2f}" in shown
    assert "5 seeds cannot reject in a family of 3: it needs 7" in shown
    assert cli.main(["power", "5", "--difference", "-1", "--seed-spread", "0.04"]) == 2
    assert "difference is -1" in capsys.readouterr().err


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == "0.1.0"


def test_the_study_of_the_readme_can_be_planned(tmp_path, capsys):
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    (study,) = re.findall(r"```toml\n(.*?)```", readme, flags=re.DOTALL)
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    rows = [{"text": f"word{i % 7} thing{i % 5} {i}", "label": ("good", "bad")[i % 2]} for i in range(200)]
    (tmp_path / "sst2.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "glove.txt").write_text("".join(f"word{i} " + "0.5 " * 49 + f"{i}\n" for i in range(7)))
    assert cli.main(["study", str(tmp_path / "study.toml"), "--dry-run"]) == 0
    # 2 encoders, 3 scores, 2 normalisers at 2 temperatures, 8 seeds.
    assert "192 cells" in capsys.readouterr().err


def test_a_dry_run_says_what_would_be_done(tmp_path, capsys):
    (tmp_path / "s.toml").write_text('name = "s"\n[[data]]\nname = "digits"\n')
    assert cli.main(["study", str(tmp_path / "s.toml"), "--output", str(tmp_path / "out"), "--dry-run"]) == 0
    assert "6 cells" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
