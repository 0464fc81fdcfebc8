"""``mi-attention estimate``: what it prints, what it refuses, how it exits."""

import re

import numpy as np
import pytest

from mi_attention import cli
from mi_attention.estimators import Probe, Ross
from mi_attention.estimators.choose import choose
from mi_attention.estimators.permutation import permutation_test
from mi_attention.estimators.subsamples import subsample_interval


@pytest.fixture
def saved(tmp_path):
    """Saves arrays and returns their paths as text."""

    def save(**arrays):
        paths = []
        for name, array in arrays.items():
            np.save(tmp_path / f"{name}.npy", array)
            paths.append(str(tmp_path / f"{name}.npy"))
        return paths

    return save


def run(capsys, *tokens):
    code = cli.main(["estimate", *tokens])
    shown = capsys.readouterr()
    lines = {}
    for line in shown.out.splitlines():
        lines.setdefault(line[:21].strip(), line[22:])  # the first of several advices
    return code, lines, shown.err


def data(n=120, width=3, strength=1.0):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.standard_normal((n, width)) + strength * y[:, None], y


def test_every_number_is_what_the_library_says(saved, capsys):
    x, y = data(strength=0.3)
    code, lines, told = run(capsys, *saved(x=x, y=y), "--estimator", "ross", "--permutations", "39", "--seed", "3")
    assert code == 0
    found = Ross().estimate(x, y)
    bounds = subsample_interval(Ross(), found, x, y, seed=3)
    test = permutation_test(Ross(), x, y, permutations=39, seed=3)
    assert lines["mutual information"] == f"{found.nats:.4f} nats"
    assert lines["95 % interval"] == f"{bounds.low:.4f} to {bounds.high:.4f} nats"
    assert lines["standard error"] == f"{bounds.standard_error:.4f} nats, from disjoint thirds of the rows"
    assert lines["p-value"] == f"{test.p:.3g} (39 label permutations)"
    assert test.p != permutation_test(Ross(), x, y, permutations=39, seed=0).p
    assert lines["ceiling H(Y)"] == "0.6931 nats"
    limit = re.fullmatch(
        r"(\S+) nats \(linear dependence, seen in half of 20 planted draws\)", lines["detection limit"]
    )
    assert 0.01 < float(limit[1]) < 0.4
    assert lines["rows"] == "120, independent"
    assert lines["signature"] == found.signature
    advice = choose(x, y)
    assert lines["advice"] == f"{advice.estimator.signature}: {advice.reason}"
    assert "held-out lower bound" not in lines
    assert "warning" not in told


def test_same_seed_same_output_and_another_seed_another(saved, capsys):
    paths = saved(**dict(zip("xy", data(n=60, strength=0.2), strict=True)))
    options = ["--estimator", "ross", "--permutations", "19"]
    first, again, other = (run(capsys, *paths, *options, "--seed", seed)[1] for seed in "112")
    assert first == again
    assert first["detection limit"] != other["detection limit"]


def test_a_probe_shows_its_bound_and_its_seed(saved, capsys):
    x, y = data()
    paths = saved(x=x, y=y)
    _, lines, _ = run(capsys, *paths, "--estimator", "probe", "--permutations", "0", "--seed", "4")
    found = Probe(seed=4).estimate(x, y)
    assert lines["held-out lower bound"] == f"{found.lower_bound:.4f} nats"
    assert lines["signature"] == found.signature


def test_groups_go_into_the_test_and_the_count_of_rows(saved, capsys):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    y = np.where(groups % 2 == 0, "no", "yes")
    x = rng.standard_normal((30, 2))[groups] + 0.3 * rng.standard_normal((120, 2))
    x_path, y_path, g_path = saved(x=x, y=y, g=groups)
    code, lines, _ = run(capsys, x_path, y_path, "--groups", g_path, "--estimator", "ross", "--permutations", "19")
    assert code == 0
    assert lines["rows"] == "120 in 30 independent groups"
    assert lines["p-value"].endswith("(19 label permutations by group)")
    assert float(lines["p-value"].split()[0]) > 0.05  # states of an instance agree, labels know nothing of them


def test_labels_that_cannot_be_permuted_leave_the_estimate(saved, capsys):
    x, y = data(n=60)
    groups = np.repeat(np.arange(10), np.arange(1, 11) + (np.arange(10) == 9) * 5)
    x_path, y_path, g_path = saved(x=x, y=y, g=groups)
    code, lines, _ = run(capsys, x_path, y_path, "--groups", g_path, "--estimator", "probe")
    assert code == 0
    assert "nats" in lines["mutual information"]
    assert lines["p-value"].startswith("undefined: groups cannot be permuted")
    assert lines["detection limit"] == lines["p-value"]


def test_the_default_is_what_choose_advises(saved, capsys):
    for x, y in (data(), data(width=9), (np.arange(200) % 3, np.arange(200) % 2)):
        _, lines, _ = run(capsys, *saved(x=x, y=y), "--permutations", "0", "--seed", "2")
        assert lines["signature"] == choose(x, y, seed=2).estimator.signature
        assert lines["advice"].startswith(f"{lines['signature']}: ")


def test_no_permutations_no_test(saved, capsys):
    code, lines, _ = run(capsys, *saved(**dict(zip("xy", data(), strict=True))), "--permutations", "0")
    assert code == 0
    assert "p-value" not in lines
    assert "detection limit" not in lines
    assert "95 % interval" in lines


def test_too_few_permutations_for_a_limit_say_so(saved, capsys):
    paths = saved(**dict(zip("xy", data(), strict=True)))
    _, lines, _ = run(capsys, *paths, "--estimator", "ross", "--permutations", "9")
    assert lines["p-value"] == "0.1 (9 label permutations)"
    assert lines["detection limit"] == "undefined: no threshold: too few permutations for a p of .05"


def test_undefined_and_constant(saved, capsys):
    x, y = data()
    x_path, one, still = saved(x=x, one=np.zeros_like(y), still=np.ones_like(x))
    code, lines, _ = run(capsys, x_path, one, "--estimator", "probe")
    assert code == 1
    assert lines["mutual information"] == "undefined: a single class"
    assert lines["ceiling H(Y)"] == "0.0000 nats"
    y_path = saved(y=y)[0]
    code, lines, _ = run(capsys, still, y_path, "--estimator", "probe", "--permutations", "19")
    assert code == 0
    assert lines["mutual information"] == "0.0000 nats"
    assert lines["note"] == "constant state"
    assert lines["p-value"] == "1 (19 label permutations)"
    assert "detection limit" not in lines


def test_a_continuous_output(saved, capsys):
    rng = np.random.default_rng(0)
    y = rng.standard_normal(150)
    x_path, y_path, two = saved(x=y + 0.5 * rng.standard_normal(150), y=y, two=np.stack([y, y**2], axis=1))
    code, lines, _ = run(capsys, x_path, y_path, "--estimator", "ksg", "--permutations", "19")
    assert code == 0
    assert "ceiling H(Y)" not in lines
    assert lines["p-value"].startswith("0.05 ")
    code, lines, _ = run(capsys, x_path, two, "--estimator", "ksg", "--permutations", "19")
    assert code == 0
    assert lines["detection limit"] == "undefined: y has 2 columns; ask for it column by column"


def test_intervals_of_neighbours_come_from_parts_of_the_rows(saved, capsys):
    x, y = data()
    paths = saved(x=x, y=y)
    _, lines, _ = run(capsys, *paths, "--estimator", "ross", "--permutations", "0")
    assert "thirds" in lines["standard error"]
    _, lines, _ = run(capsys, *paths, "--estimator", "probe", "--permutations", "0")
    assert "thirds" not in lines["standard error"]
    few = saved(few=x[:25], labels=y[:25])
    _, lines, _ = run(capsys, *few, "--estimator", "ross", "--permutations", "0")
    why = "too small, rows taken for independent: fewer than 30 independent rows to take apart"
    assert lines["standard error"] == f"{Ross().estimate(x[:25], y[:25]).standard_error:.4f} nats, {why}"


def test_below_the_detection_limit_the_interval_is_no_promise(saved, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    paths = saved(x=rng.standard_normal((120, 3)), y=y)
    _, lines, _ = run(capsys, *paths, "--estimator", "ross", "--permutations", "19")
    assert lines["95 % interval"].endswith("below the detection limit more may be there")
    strong = saved(strong=rng.standard_normal((120, 2)) + 6 * y[:, None])
    _, lines, _ = run(capsys, *strong, paths[1], "--estimator", "ross", "--permutations", "19")
    assert lines["95 % interval"].endswith(" nats")


def test_strings_kept_as_objects_are_told_how_to_be_saved(tmp_path, capsys):
    path = tmp_path / "y.npy"
    np.save(path, np.array(["a", "b"] * 20, dtype=object), allow_pickle=True)
    x = tmp_path / "x.npy"
    np.save(x, np.arange(40.0))
    code, _, told = run(capsys, str(x), str(path))
    assert code == 2
    assert "array.astype(str)" in told


def test_a_warning_is_said_once(saved, capsys):
    x, y = data(n=16)
    code, _, told = run(capsys, *saved(x=x, y=y), "--estimator", "ross", "--permutations", "19")
    assert code == 0
    assert told.count("only 16 independent rows") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--permutations", "-1"], "permutations is -1"),
        (["--seed", "-1"], "seed is -1"),
        (["--estimator", "prob"], "estimator 'prob' is unknown; choose one of"),
        (["--groups", "nowhere.npy"], "there is no file nowhere.npy"),
    ],
)
def test_wrong_options_are_one_line_and_exit_2(saved, capsys, options, message):
    code, lines, told = run(capsys, *saved(**dict(zip("xy", data(), strict=True))), *options)
    assert (code, lines) == (2, {})
    assert message in told.strip().splitlines()[-1]


def test_arrays_that_do_not_fit_are_named(saved, capsys):
    x, y = data()
    x_path, y_path, short = saved(x=x, y=y, short=y[:-1])
    code, _, told = run(capsys, x_path, short, "--estimator", "probe")
    assert (code, "y must be (120,)" in told) == (2, True)
    code, _, told = run(capsys, x_path, y_path, "--groups", short, "--estimator", "probe")
    assert (code, "groups must be (120,)" in told) == (2, True)
