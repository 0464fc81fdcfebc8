import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from mi_attention.statistics import factorial_model


def design(seeds: int = 6, instances: int = 15) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for score in ("additive", "dot"):
        for encoder in ("bilstm", "mlp"):
            for seed in range(seeds):
                effect = 0.2 * rng.standard_normal()
                for instance in range(instances):
                    tau = effect + 0.3 * (score == "dot") + 0.1 * np.sin(instance) + 0.2 * rng.standard_normal()
                    rows.append((score, encoder, f"{score} {encoder} {seed}", instance, tau))
    return pd.DataFrame(rows, columns=["the score", "encoder", "run", "instance", "tau"])


def fit(frame: pd.DataFrame, **options: object) -> pd.DataFrame:
    arguments = {"value": "tau", "factors": ["the score", "encoder"], "run": "run", "instance": "instance"}
    return factorial_model(frame, **{**arguments, **options})


def test_coefficients_are_cell_differences() -> None:
    frame = design()
    found = fit(frame).set_index("quantity")["estimate"]
    means = frame.groupby(["the score", "encoder"])["tau"].mean()
    base = means["additive", "bilstm"]
    assert found["intercept"] == pytest.approx(base)
    assert found["the score[dot]"] == pytest.approx(means["dot", "bilstm"] - base)
    assert found["encoder[mlp]"] == pytest.approx(means["additive", "mlp"] - base)
    interaction = means["dot", "mlp"] - means["dot", "bilstm"] - means["additive", "mlp"] + base
    assert found["the score[dot]:encoder[mlp]"] == pytest.approx(interaction)


def test_errors_are_the_largest_of_three_clusterings() -> None:
    frame = design().rename(columns={"the score": "score"})
    found = fit(frame, factors=["score", "encoder"])
    model = smf.ols("tau ~ C(score) * C(encoder)", frame)
    run, instance = (pd.factorize(frame[name])[0] for name in ("run", "instance"))
    errors = []
    for groups in (np.column_stack([run, instance]), run, instance):
        covariance = model.fit(cov_type="cluster", cov_kwds={"groups": groups}).cov_params()
        errors.append(np.diag(covariance))
    half = np.sqrt(np.max(errors, axis=0)) * 2.144786687916925  # t of 14 degrees of freedom: 15 instances, 24 runs
    np.testing.assert_allclose(found["ci_high"] - found["estimate"], half, rtol=1e-8)


def test_numeric_factors_rows_in_any_order_and_missing_values() -> None:
    frame = design().assign(temperature=lambda f: np.tile([0.0, 1.0, 2.0], len(f) // 3))
    found = fit(frame, factors=["the score", "temperature"])
    assert list(found["quantity"]) == ["intercept", "the score[dot]", "temperature", "the score[dot]:temperature"]
    shuffled = fit(frame.sample(frac=1, random_state=1), factors=["the score", "temperature"])
    np.testing.assert_allclose(found["p"], shuffled["p"])
    missing = frame.copy()
    missing.loc[::4, "tau"] = np.nan
    assert (fit(missing)["degenerate_share"] == 0.25).all()


def test_few_runs_carry_their_caveat() -> None:
    assert (fit(design()).reason == "").all()
    assert fit(design(seeds=2)).reason.str.contains("8 runs: .* seed means are primary").all()


def test_bad_input() -> None:
    frame = design()
    with pytest.raises(ValueError, match=r"columns \['nothing'\]"):
        fit(frame, factors=["nothing"])
    with pytest.raises(ValueError, match="single level"):
        fit(frame[frame["encoder"] == "mlp"])
    with pytest.raises(ValueError, match="not every combination"):
        fit(frame[(frame["encoder"] == "mlp") | (frame["the score"] == "dot")])
    with pytest.raises(ValueError, match="missing values"):
        fit(frame.assign(encoder=frame["encoder"].where(frame["encoder"] == "mlp")))
    with pytest.raises(ValueError, match="1 instances"):
        fit(frame.assign(instance=0))
