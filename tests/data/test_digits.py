import numpy as np
import pytest
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

from mi_attention.data import load_digits


def test_rows_of_pixels_are_those_of_the_source():
    data, source = load_digits(), datasets.load_digits()
    assert data.aligned
    assert data.classes == tuple("0123456789")
    for split in data.splits.values():
        assert (split.lengths == 8).all()
        images = split.vectors.reshape(len(split), 64) * 16
        assert np.array_equal(images, source.data[split.identifier])
        assert np.array_equal(split.label, source.target[split.identifier])
        assert split.vectors.min() == 0.0
        assert split.vectors.max() == 1.0


def test_split_is_fixed_complete_and_stratified():
    data = load_digits()
    identifiers = np.concatenate([split.identifier for split in data.splits.values()])
    assert sorted(identifiers.tolist()) == list(range(1797))
    shares = {name: np.bincount(split.label, minlength=10) for name, split in data.splits.items()}
    total = sum(shares.values())
    assert np.abs(shares["train"] - 0.6 * total).max() <= 1.5
    assert np.abs(shares["test"] - 0.3 * total).max() <= 1.0
    assert data.fingerprint == load_digits().fingerprint
    assert data.fingerprint != load_digits(fractions=(0.5, 0.2, 0.3)).fingerprint


def test_labels_belong_to_the_images():
    data = load_digits()
    flat = {name: split.vectors.reshape(len(split), -1) for name, split in data.splits.items()}
    model = LogisticRegression(max_iter=200).fit(flat["train"], data.train.label)
    assert model.score(flat["test"], data.test.label) > 0.93


def test_no_dev_split_if_its_share_is_zero():
    assert load_digits(fractions=(0.7, 0.0, 0.3)).dev is None
    with pytest.raises(ValueError, match="fractions"):
        load_digits(fractions=(0.7, 0.7, -0.4))
