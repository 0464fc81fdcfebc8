import json
import logging
import sys
from collections import Counter

import numpy as np
import pytest

from mi_attention.data import load_docstrings
from mi_attention.data.cache import default_cache_dir
from mi_attention.data.masking import ALIASES, MASK, PACKAGES, masked_tokens
from mi_attention.data.source_code import first_paragraphs, source_files

SMALL = {"packages": ("numpy", "pandas"), "per_class": 60}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def small(cache):
    return load_docstrings(cache_dir=cache, **SMALL)


def texts(data):
    for split in data.splits.values():
        for a, b, label in zip(split.offsets[:-1], split.offsets[1:], split.label, strict=True):
            yield split.tokens[a:b], int(label)


def test_classes_are_balanced_in_every_split(small):
    assert small.classes == ("numpy", "pandas")
    for split in small.splits.values():
        counts = np.bincount(split.label, minlength=2)
        assert counts[0] == counts[1] > 0
    assert {name: len(split) for name, split in small.splits.items()} == {"train": 72, "dev": 12, "test": 36}


def test_lengths_names_and_duplicates(small):
    found = list(texts(small))
    assert all(6 <= len(tokens) <= 40 for tokens, _ in found)
    assert len({tokens for tokens, _ in found}) == len(found)
    for tokens, _ in found:
        assert not any(name in token for token in tokens for name in PACKAGES)
        assert not ALIASES & set(tokens)
        assert all(token == token.lower() for token in tokens)
    assert small.provenance["texts_also_in_train"] == {"dev": 0, "test": 0}


def test_what_was_left_out_and_the_versions_are_told(small):
    assert set(small.provenance["versions"]) == {"numpy", "pandas"}
    assert small.provenance["versions"]["numpy"] == np.__version__
    assert small.dropped["shorter or longer than asked"] > 0
    json.dumps(small.provenance)


def test_cache_answers_the_same_and_without_reading(small, cache, monkeypatch):
    monkeypatch.setattr("mi_attention.data.docstrings._collect", None)
    assert load_docstrings(cache_dir=cache, **SMALL).fingerprint == small.fingerprint


@pytest.mark.parametrize("damage", ["not json", "truncated", "changed", "other key", "wrong shape"])
def test_damaged_cache_is_made_anew(small, cache, tmp_path, damage, caplog):
    source = next(cache.glob("docstrings-*.json"))
    content = source.read_text()
    stored = json.loads(content)
    if damage == "changed":
        stored["value"]["rows"][0]["text"] += " more"
    elif damage == "other key":
        stored["key"]["per_class"] = 61
    damaged = {
        "not json": "\x00",
        "truncated": content[: len(content) // 2],
        "wrong shape": "[]",
    }.get(damage, json.dumps(stored))
    path = tmp_path / source.name
    path.write_text(damaged)
    with caplog.at_level(logging.WARNING):
        assert load_docstrings(cache_dir=tmp_path, **SMALL).fingerprint == small.fingerprint
    assert "made anew" in caplog.text
    assert json.loads(path.read_text()) == json.loads(content)
    assert list(tmp_path.iterdir()) == [path]


def test_cache_folder_that_cannot_be_written_is_no_error(small, tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with caplog.at_level(logging.WARNING):
        assert load_docstrings(cache_dir=blocked / "cache", **SMALL).fingerprint == small.fingerprint
    assert "cannot be" in caplog.text


def test_versions_part_cache_and_fingerprint(small, cache, monkeypatch):
    monkeypatch.setattr("mi_attention.data.docstrings.installed_version", lambda package: "0.0")
    other = load_docstrings(cache_dir=cache, **SMALL)
    # The same texts, but of versions that claim to be others: results are not to be compared.
    assert other.train.tokens == small.train.tokens
    assert other.fingerprint != small.fingerprint
    assert len(list(cache.glob("docstrings-*.json"))) == 2


def test_split_of_a_text_does_not_depend_on_how_many_are_read(small, cache):
    larger = load_docstrings(cache_dir=cache, packages=("numpy", "pandas"), per_class=90)
    home = {text: name for name, split in larger.splits.items() for text in split_texts(split)}
    for name, split in small.splits.items():
        assert all(home.get(text, name) == name for text in split_texts(split))


def split_texts(split):
    return [split.tokens[a:b] for a, b in zip(split.offsets[:-1], split.offsets[1:], strict=True)]


def test_user_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / "mi_attention"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_cache_dir() == tmp_path / "home" / ".cache" / "mi_attention"


def test_masking_by_hand():
    assert masked_tokens("Convert to NumPy array, e.g. np.asarray (to_numpy, Scikit-Learn's).") == [
        "convert", "to", MASK, "array", ",", "e", ".", "g", ".", MASK, ".", "asarray", "(", MASK, ",", MASK, ")", ".",
    ]  # fmt: skip
    assert masked_tokens("learn a series") == ["learn", "a", "series"]


SOURCE = '''
"""Module text is not a function's."""
def public(x):
    """First
    paragraph.

    Second paragraph.
    """
    def inner():
        """Inner functions are not public."""
def _private():
    """Hidden."""
async def later():
    r"""One\\_line \\d."""
class Shown:
    """Class text is not taken."""
    def method(self):
        """A method."""
    def _hidden(self):
        """Hidden."""
class _Concealed:
    def method(self):
        """Hidden."""
def bare(): pass
def old():
    "Bad escape \\d stays quiet."
'''


def test_first_paragraphs_of_public_functions(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    assert list(first_paragraphs(path)) == [
        "First paragraph.",
        "One\\_line \\d.",
        "A method.",
        "Bad escape \\d stays quiet.",
    ]
    path.write_text("def broken(:\n")
    with pytest.raises(ValueError, match="does not parse"):
        list(first_paragraphs(path))


def test_packages_are_found_without_importing_them():
    before = "statsmodels" in sys.modules
    files = source_files("statsmodels")
    assert ("statsmodels" in sys.modules) == before
    assert len(files) > 100
    assert not any("tests" in path.parts[path.parts.index("statsmodels") :] for path in files)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"packages": ("numpy",)}, "two or more"),
        ({"packages": "numpy"}, "two or more"),
        ({"packages": ("numpy", "torch")}, "'torch'"),
        ({"per_class": 5}, "per_class"),
        ({"min_tokens": 9, "max_tokens": 8}, "min_tokens"),
        ({"fractions": (1, 1, 1)}, "fractions"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        load_docstrings(**options)


def test_missing_package_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install scikit-learn"):
        load_docstrings(cache_dir=tmp_path, packages=("sklearn", "numpy"), per_class=20)


@pytest.mark.slow
def test_default_is_learnable_by_a_bag_of_words(cache):
    from sklearn.linear_model import LogisticRegression

    data = load_docstrings(cache_dir=cache)
    assert [len(data.splits[name]) for name in ("train", "dev", "test")] == [1200, 200, 600]
    bags = {}
    for name in ("train", "test"):
        split = data.splits[name]
        bags[name] = np.zeros((len(split), len(data.vocabulary)))
        np.add.at(bags[name], (np.repeat(np.arange(len(split)), split.lengths), split.token_ids), 1.0)
    model = LogisticRegression(max_iter=500).fit(bags["train"], data.train.label)
    # Five balanced classes: chance is .2.
    assert model.score(bags["test"], data.test.label) > 0.65
    assert Counter(label for _, label in texts(data)) == dict.fromkeys(range(5), 400)
