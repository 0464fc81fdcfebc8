import json
import subprocess
import sys

import pytest

from mi_attention.data import Dataset, TextOptions, available, dataset_from_rows, keyword, load, loading, register


@pytest.fixture
def sources(monkeypatch):
    monkeypatch.setattr(loading, "_SOURCES", dict(loading._SOURCES))


def test_every_planted_name_loads_the_same_as_its_function():
    names = [name for name, _ in available() if name.startswith("planted/")]
    assert names == [
        f"planted/{kind}" for kind in ("gaussian", "keyword", "keywords", "majority", "noisy_keyword", "xor")
    ]
    for name in names:
        data = load(name, n=60, seed=4)
        assert data.name == name
        assert data.truth is not None
        json.dumps(data.provenance)
    assert load("planted/keyword", n=60, seed=4).fingerprint == keyword(60, seed=4).fingerprint


def test_list_has_a_line_for_each():
    listed = dict(available())
    assert {"digits", "docstrings", "hub/NAME"} <= set(listed)
    assert all(len(line) > 10 and "\n" not in line for line in listed.values())


def test_paths_are_known_by_their_suffix(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a", "label": 0}\n{"text": "b", "label": 1}\n')
    (tmp_path / "v.txt").write_text("a 1 2\n")
    assert load(path, fractions=(1, 0, 0)).fingerprint == load(str(path), fractions=(1, 0, 0)).fingerprint
    grown = load(path, fractions=(1, 0, 0), vectors=tmp_path / "v.txt", vectors_seed=2)
    assert grown.pretrained.shape == (4, 2)
    with pytest.raises(FileNotFoundError):
        load("absent.parquet")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("digit", {}, r"unknown data set 'digit' \(did you mean 'digits'\?\); known: digits, docstrings"),
        ("xor", {}, "did you mean 'planted/xor'"),
        ("unlike anything", {}, "unknown data set 'unlike anything'; known"),
        ("hub/", {}, "unknown data set"),
        ("digits", {"fraction": 1}, r"no option 'fraction' \(did you mean 'fractions'\?\); it has: fractions"),
        ("planted/xor", {"flip": 1}, "no option 'flip'"),
    ],
)
def test_unknown_names_and_options(name, options, message):
    with pytest.raises(ValueError, match=message):
        load(name, **options)


@pytest.mark.usefixtures("sources")
def test_a_source_is_added_by_one_function():
    @register("mine/short")
    def short(*, n: int = 40) -> Dataset:
        """Short sequences of my own."""
        return keyword(n, length=2)

    assert len(load("mine/short", n=20).train) == 12
    assert dict(available())["mine/short"] == "Short sequences of my own."
    with pytest.raises(ValueError, match="registered already"):
        register("mine/short")
    for bad in ("x.csv", "hub/x", ""):
        with pytest.raises(ValueError, match="choose another"):
            register(bad)


def test_fingerprints_are_the_same_in_another_process():
    options = {"digits": {}, "planted/gaussian": {"n": 200}, "planted/keywords": {"n": 200}}
    program = (
        f"from mi_attention.data import load\nfor name, o in {options!r}.items(): print(load(name, **o).fingerprint)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    own = [load(name, **chosen).fingerprint for name, chosen in options.items()]
    assert done.stdout.split() == own
    assert len(set(own)) == 3


# Written down, so that a change of content or of hashing is noticed: change it knowingly.
def test_fingerprint_of_a_fixed_set_is_known():
    rows = [{"text": "Good film", "label": "pos"}, {"text": "été", "label": "neg"}]
    assert (
        dataset_from_rows(rows, name="x", options=TextOptions(fractions=(1, 0, 0))).fingerprint[:16]
        == "abffa0a46d5e8803"
    )


def test_listing_loads_no_heavy_library():
    program = (
        "import sys; from mi_attention.data import available; available();"
        "print([m for m in ('torch', 'pandas', 'sklearn', 'pyarrow', 'scipy', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.strip() == "[]"
