import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from mi_attention.statistics import crossed_interval, factorial_model


def design(seeds: int = 10, instances: int = 15) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    common = 0.2 * rng.standard_normal(seeds)
    rows = []
    for score in ("additive", "dot"):
        for encoder in ("bilstm", "mlp"):
            for seed in range(seeds):
                effect = common[seed] + 0.2 * rng.standard_normal()
                for instance in range(instances):
                    tau = effect + 0.3 * (score == "dot") + 0.1 * np.sin(instance) + 0.2 * rng.standard_normal()
                    rows.append((score, encoder, f"{score} {encoder} {seed}", seed, instance, tau))
    return pd.DataFrame(rows, columns=["the score", "encoder", "run", "seed", "instance", "tau"])


def fit(frame: pd.DataFrame, **options: object) -> pd.DataFrame:
    arguments = {"value": "tau", "factors": ["the score", "encoder"], "run": "run", "seed": "seed"}
    return factorial_model(frame, **{**arguments, "instance": "instance", **options})


def table(frame: pd.DataFrame, score: str, encoder: str) -> np.ndarray:
    """``(S, N)`` values of one combination."""
    own = frame[(frame["the score"] == score) & (frame["encoder"] == encoder)]
    return own.pivot_table(index="seed", columns="instance", values="tau").to_numpy()


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


@pytest.mark.parametrize("seeds", [3, 8])
def test_coefficients_have_the_crossed_intervals_of_their_contrasts(seeds: int) -> None:
    frame = design(seeds)
    found = fit(frame).set_index("quantity")
    a, b, c, d = (table(frame, score, encoder) for score in ("additive", "dot") for encoder in ("bilstm", "mlp"))
    for name, values in (
        ("intercept", a),
        ("encoder[mlp]", b - a),
        ("the score[dot]", c - a),
        ("the score[dot]:encoder[mlp]", d - c - b + a),
    ):
        expected = crossed_interval(values)
        row = found.loc[name, ["estimate", "ci_low", "ci_high"]].astype(float)
        np.testing.assert_allclose(row, [expected.estimate, expected.ci_low, expected.ci_high])
    assert (found["n_seeds"] == seeds).all()
    assert (found["n_runs"] == 4 * seeds).all()
    assert (found["n_instances"] == 15).all()


def test_a_slope_has_the_crossed_interval_of_the_slopes_of_each_seed_and_instance() -> None:
    # The slope differs from seed to seed: nine runs of three seeds are three slopes, not nine runs.
    rng = np.random.default_rng(1)
    at = np.array([-1.0, 0.0, 1.0])
    values = rng.standard_normal((3, 1, 1)) * at[:, None] + 0.1 * rng.standard_normal((3, 3, 12))
    seed, temperature, instance = (axis.ravel() for axis in np.indices(values.shape))
    frame = pd.DataFrame({"seed": seed, "at": at[temperature], "instance": instance, "tau": values.ravel()})
    frame["run"] = 3 * seed + temperature
    found = fit(frame, factors=["at"]).set_index("quantity").loc["at"]
    expected = crossed_interval((values[:, 2] - values[:, 0]) / 2)
    assert found["estimate"] == pytest.approx(expected.estimate)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((expected.ci_low, expected.ci_high))


def test_with_undefined_values_the_error_is_that_of_clusters() -> None:
    # Instances vary next to nothing once their common part is taken off: the error is that of clusters of seeds.
    frame = design(8, 400).rename(columns={"the score": "score"})
    frame["tau"] -= 0.1 * np.sin(frame["instance"])
    frame = frame[np.random.default_rng(2).random(len(frame)) < 0.8]
    found = fit(frame, factors=["score", "encoder"])
    model = smf.ols("tau ~ C(score) * C(encoder)", frame)
    covariance = model.fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(frame["seed"])[0]}).cov_params()
    half = np.sqrt(np.diag(covariance)) * 2.364624251592785  # t of 7 degrees of freedom
    np.testing.assert_allclose(found["ci_high"] - found["estimate"], half, rtol=0.03)


def test_seeds_that_lack_a_combination_are_left_out_and_counted() -> None:
    frame = design()
    lacking = frame[~((frame["seed"] == 3) & (frame["encoder"] == "mlp"))]
    found = fit(lacking)
    whole = fit(frame[frame["seed"] != 3])
    np.testing.assert_allclose(found["ci_low"], whole["ci_low"])
    assert (found["n_seeds"] == 9).all()
    assert found["reason"].str.contains("1 of 10 seeds lack a combination").all()
    assert found["degenerate_share"].iloc[0] == pytest.approx(1 / 19)


def test_what_only_rounding_varies_has_no_interval() -> None:
    frame = design()
    rounded = np.random.default_rng(3).random(len(frame)) < 0.5
    frame["tau"] = np.where(rounded, 0.1 + 0.2, 0.3) + 0.4 * (frame["encoder"] == "mlp")
    found = fit(frame)
    assert found["reason"].str.contains("no spread").all()
    assert found[["p", "ci_low", "ci_high"]].isna().all(axis=None)
    assert found["estimate"].iloc[2] == pytest.approx(0.4)


def test_numeric_factors_rows_in_any_order_and_missing_values() -> None:
    frame = design().assign(temperature=lambda f: np.tile([0.0, 1.0, 2.0], len(f) // 3))
    found = fit(frame, factors=["the score", "temperature"])
    assert list(found["quantity"]) == ["intercept", "the score[dot]", "temperature", "the score[dot]:temperature"]
    shuffled = fit(frame.sample(frac=1, random_state=1), factors=["the score", "temperature"])
    np.testing.assert_allclose(found["p"], shuffled["p"])
    missing = frame.copy()
    missing.loc[::4, "tau"] = np.nan
    assert (fit(missing)["degenerate_share"] == 0.25).all()


def test_few_seeds_carry_their_caveat() -> None:
    assert (fit(design()).reason == "").all()
    assert fit(design(seeds=8)).reason.str.contains("8 seeds: .* seed means are primary").all()


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
    with pytest.raises(ValueError, match="0 of 20 seeds have rows in every combination"):
        fit(frame.assign(seed=frame["seed"] + 10 * (frame["encoder"] == "mlp")))
