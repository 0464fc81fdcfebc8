import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from mi_attention.estimators.scikit_learn import ScikitLearn

RNG = np.random.default_rng(0)


def test_values_are_its_own():
    x, y = RNG.standard_normal(300), np.arange(300) % 3
    x = x + y
    assert ScikitLearn().estimate(x, y).nats == pytest.approx(
        mutual_info_classif(x[:, None], y, random_state=0)[0], abs=1e-12
    )
    z = x + RNG.standard_normal(300)
    assert ScikitLearn(k=5, seed=2).estimate(x, z).nats == pytest.approx(
        mutual_info_regression(x[:, None], z, n_neighbors=5, random_state=2)[0], abs=1e-12
    )
    found = ScikitLearn().estimate(x, np.array(["a", "b", "c"])[y])
    assert found.nats == ScikitLearn().estimate(x, y).nats
    assert np.isnan(found.local).all()
    assert "no pointwise values" in found.reason
    assert found.ceiling == pytest.approx(np.log(3))


def test_a_vector_is_refused_with_the_remedy():
    x, y = RNG.standard_normal((60, 2)), np.arange(60) % 2
    with pytest.raises(ValueError, match=r"x has 2 columns .* use Probe or Ross for classes, Copula"):
        ScikitLearn().estimate(x, y)
    with pytest.raises(ValueError, match=r"y has 2 columns .* use Copula or KSG"):
        ScikitLearn().estimate(x[:, 0], x)
    with pytest.raises(ValueError, match="groups"):
        ScikitLearn().estimate(x[:, 0], y, np.arange(60))
    with pytest.raises(ValueError, match="k=60"):
        ScikitLearn(k=60).estimate(x[:, 0], y)
    with pytest.raises(ValueError, match="has one row"):
        ScikitLearn().estimate(x[:6, 0], np.arange(6))


def test_constant_and_undefined():
    y = (np.arange(20_000) < 10).astype(int)
    found = ScikitLearn().estimate(np.ones(20_000), y)
    assert (found.nats, found.reason) == (0.0, "constant state")
    assert ScikitLearn().estimate(RNG.standard_normal(50), np.zeros(50, dtype=int)).reason == "a single class"
