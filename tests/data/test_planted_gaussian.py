import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mi_attention.data import gaussian
from mi_attention.data.planted_gaussian import gaussian_information


def at(split, t, length, dimension):
    return split.vectors.reshape(len(split), length, dimension)[:, t]


@pytest.mark.parametrize(("classes", "balance"), [(2, None), (2, [0.8, 0.2]), (4, [0.4, 0.3, 0.2, 0.1])])
def test_truth_equals_what_the_right_model_finds_on_a_big_sample(classes, balance):
    # For equal covariances logistic regression is the right model: H(Y) − held-out cross-entropy is the
    # information, up to a fit error of about (C − 1)(E + 1) / 2N < 1e-3 and a standard error near 4e-3.
    data = gaussian(
        (20_000, 0, 20_000), length=3, classes=classes, dimension=4, separations=[0, 1, 2.5], balance=balance, seed=2
    )
    p = np.array(data.provenance["balance"])
    for t in range(3):
        model = LogisticRegression(C=1e6).fit(at(data.train, t, 3, 4), data.train.label)
        posterior = model.predict_proba(at(data.test, t, 3, 4))
        label = data.test.label
        estimate = np.mean(np.log(posterior[np.arange(len(label)), label]) - np.log(p[label]))
        assert estimate == pytest.approx(data.truth[t], abs=0.015)


def test_joint_truth_equals_logistic_regression_on_the_whole_sequence():
    data = gaussian((20_000, 0, 20_000), length=2, classes=3, dimension=2, separations=[1.0, 1.5], seed=4)
    flat = {name: split.vectors.reshape(len(split), -1) for name, split in data.splits.items()}
    model = LogisticRegression(C=1e6).fit(flat["train"], data.train.label)
    label = data.test.label
    estimate = np.mean(np.log(model.predict_proba(flat["test"])[np.arange(len(label)), label])) + np.log(3)
    assert estimate == pytest.approx(data.joint_truth, abs=0.015)
    # Distances add in squares: 1² + 1.5² = 3.25.
    assert data.joint_truth == pytest.approx(gaussian_information(np.sqrt(3.25), np.full(3, 1 / 3)), abs=1e-12)


def test_means_have_the_distances_asked_for_and_noise_is_white():
    data = gaussian((60_000, 0, 0), length=2, classes=3, dimension=5, separations=[0.0, 3.0], seed=0)
    vectors = at(data.train, 1, 2, 5)
    means = np.stack([vectors[data.train.label == c].mean(axis=0) for c in range(3)])
    # Standard error of a distance is about sqrt(2 / 20000) = .01.
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(means[a] - means[b]) == pytest.approx(3.0, abs=0.05)
    residual = vectors - means[data.train.label]
    assert np.cov(residual.T) == pytest.approx(np.eye(5), abs=0.03)


def test_truth_ignores_the_dimension_and_rises_with_separation():
    small, large = gaussian(50, dimension=1), gaussian(50, dimension=64)
    assert np.array_equal(small.truth, large.truth)
    assert small.truth[0] == 0.0
    assert (np.diff(small.truth) > 0).all()


def test_contract():
    data = gaussian(500, length=6, dimension=7, seed=9)
    assert data.vocabulary is None
    assert data.aligned
    assert data.train.vectors.shape == (300 * 6, 7)
    assert data.train.vectors.dtype == np.float32
    assert data.provenance["informative"] == [1, 2, 3, 4, 5]
    assert data.fingerprint == gaussian(500, length=6, dimension=7, seed=9).fingerprint
    # Values lie on a grid, so that the last bits of a platform cannot change the fingerprint.
    assert np.array_equal(data.train.vectors * 2**16, np.rint(data.train.vectors * 2**16))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": 4, "dimension": 2}, "dimension"),
        ({"separations": [1.0]}, "separations"),
        ({"length": 2, "separations": [1.0, -1.0]}, "separations"),
        ({"length": 2, "separations": [1.0, np.inf]}, "separations"),
        ({"length": 0}, "length"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        gaussian(**options)
