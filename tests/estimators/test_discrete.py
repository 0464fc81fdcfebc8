import numpy as np
import pytest

from mi_attention.estimators import interval
from mi_attention.estimators.discrete import Discrete, effective_rows
from mi_attention.estimators.samples import SmallSampleWarning


def from_table(table):
    """x and y whose counts are exactly the table."""
    x, y = np.indices(np.shape(table))
    return np.repeat(x.ravel(), np.ravel(table)), np.repeat(y.ravel(), np.ravel(table))


def test_binary_symmetric_channel():
    # Equal inputs, flip probability .1: I = log 2 − H(.1) = .6931 − .3251 = .3681 nats.
    x, y = from_table([[450, 50], [50, 450]])
    found = Discrete(correction="none").estimate(x, y)
    assert found.nats == pytest.approx(np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1), abs=1e-12)
    # All 4 pairs of 2 × 2 values occur: minus (4 − 2 − 2 + 1)/2n = 1/2000.
    assert Discrete().estimate(x, y).nats == pytest.approx(found.nats - 1 / 2000, abs=1e-12)
    # The pointwise values are log 1.8 and log .2; their variance is p(1 − p) log² 9.
    assert found.standard_error == pytest.approx(np.sqrt(0.09 / 999) * np.log(9), rel=1e-9)
    assert found.ceiling == pytest.approx(np.log(2))


def test_the_correction_removes_the_bias_at_independence():
    rng = np.random.default_rng(0)
    values = {"none": [], "miller-madow": []}
    for _ in range(300):
        x, y = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
        for correction, found in values.items():
            found.append(Discrete(correction=correction).estimate(x, y).nats)
    # Plug-in: (4 − 1)(3 − 1)/2n = .015.
    assert np.mean(values["none"]) == pytest.approx(0.015, abs=0.002)
    assert np.mean(values["miller-madow"]) == pytest.approx(0.0, abs=0.0015)
    assert min(values["none"]) >= 0


def test_symmetric_and_the_same_from_any_container():
    rng = np.random.default_rng(1)
    c, d = rng.integers(0, 3, 500), rng.integers(0, 2, 500)
    d = np.where(rng.random(500) < 0.5, c % 2, d)
    plain = Discrete().estimate(c, d)
    assert Discrete().estimate(d, c).nats == pytest.approx(plain.nats, abs=1e-12)
    names = np.array(["x", "y", "z"])[c]
    for x, y in ((names, d == 1), (c.tolist(), d.astype(str)), (c.astype(float), d[:, None]), (2 - c, 1 - d)):
        assert Discrete().estimate(x, y).nats == pytest.approx(plain.nats, abs=1e-12)


def test_columns_together_are_one_symbol():
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 4000))
    assert abs(Discrete().estimate(a, a ^ b).nats) < 0.005
    both = Discrete().estimate(np.stack([a, b], axis=1), a ^ b)
    assert both.nats == pytest.approx(np.log(2), abs=0.001)
    # Many columns do not overflow the code of a row.
    wide = np.repeat(np.stack([a, b], axis=1), 40, axis=1)
    assert Discrete(correction="none").estimate(wide, a ^ b).nats == pytest.approx(
        Discrete(correction="none").estimate(np.stack([a, b], axis=1), a ^ b).nats, abs=1e-12
    )


def test_groups_widen_the_error():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(100), 10)
    x = rng.integers(0, 2, 100)[groups]
    y = np.where(rng.random(100) < 0.3, 1 - rng.integers(0, 2, 100), x[::10])[groups]
    alone, grouped = Discrete().estimate(x, y), Discrete().estimate(x, y, groups)
    assert grouped.standard_error > 3 * alone.standard_error
    # Ten equal rows are one: the bias of 100 rows comes off, not that of 1000.
    assert grouped.nats == pytest.approx(Discrete().estimate(x[::10], y[::10]).nats, abs=0.002)


def planted(values, classes, share, n, rng):
    """x that equals y in a share of the rows and is any of its values else."""
    y = rng.integers(0, classes, n)
    return np.where(rng.random(n) < share, y, rng.integers(0, values, n)), y


def planted_information(values, classes, share):
    """I(x; y) in nats of ``planted``, from its table."""
    table = np.full((values, classes), (1 - share) / (values * classes))
    table[np.arange(classes), np.arange(classes)] += share / classes
    return float((table * np.log(table / (table.sum(axis=1, keepdims=True) * table.sum(axis=0)))).sum())


@pytest.mark.parametrize("share", [0.0, 0.4, 0.7])
@pytest.mark.parametrize(
    ("shared", "instances", "rows", "values", "classes", "within"),
    [
        ("nothing", 5, 200, 8, 2, 0.015),
        ("nothing", 20, 100, 50, 2, 0.008),
        ("nothing", 50, 40, 50, 4, 0.015),
        ("the class", 20, 100, 50, 2, 0.015),
        ("everything", 100, 20, 8, 3, 0.05),
        ("everything", 400, 5, 8, 3, 0.025),
    ],
)
def test_with_groups_the_value_is_right_whatever_their_rows_share(
    shared, instances, rows, values, classes, within, share
):
    rng = np.random.default_rng(11)
    groups = np.repeat(np.arange(instances), rows)
    truth, found = planted_information(values, classes, share), []
    for _ in range(20):
        if shared == "everything":
            x, y = (side[groups] for side in planted(values, classes, share, instances, rng))
        else:
            x, y = planted(values, classes, share, len(groups), rng)
        if shared == "the class":
            y = rng.integers(0, classes, instances)[groups]
            x = np.where(rng.random(len(y)) < share, y, rng.integers(0, values, len(y)))
        found.append(Discrete().estimate(x, y, groups))
    nats = np.array([each.nats for each in found])
    assert np.mean(nats) == pytest.approx(truth, abs=within)
    covered = [interval(each).low <= truth <= interval(each).high for each in found]
    assert np.mean(covered) >= 0.8
    assert np.mean([each.standard_error for each in found]) < 6 * nats.std() + 0.002


def test_the_correction_by_group_is_the_jackknife_of_unequal_groups():
    rng = np.random.default_rng(5)
    groups = rng.permutation(np.repeat(np.arange(12), np.arange(10, 34, 2)))
    x, y = planted(5, 3, 0.5, len(groups), rng)
    plug_in = Discrete(correction="none")
    value, n = plug_in.estimate(x, y).nats, len(groups)
    left = np.array([plug_in.estimate(x[groups != g], y[groups != g]).nats for g in range(12)])
    size = np.bincount(groups)
    wanted = 12 * value - ((1 - size / n) * left).sum()
    found = Discrete().estimate(x, y, groups)
    assert found.nats == pytest.approx(wanted, abs=1e-12)
    assert found.local.mean() == pytest.approx(wanted, abs=1e-12)
    assert found.signature == "discrete|correction=miller-madow|jackknife"
    pseudo = n / size * value - (n / size - 1) * left
    error = np.sqrt((np.square(pseudo - wanted) / (n / size - 1)).mean())
    assert error <= found.standard_error < 1.2 * error
    # Names and order of groups and rows change nothing.
    order = rng.permutation(n)
    again = Discrete().estimate(x[order], y[order], [f"text {900 - g}" for g in groups[order]])
    assert again.nats == pytest.approx(wanted, abs=1e-12)


def test_effective_rows_are_those_that_are_not_copies():
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(200), 10)
    cells, own = rng.integers(0, 12, 2000), rng.integers(0, 12, 200)
    assert effective_rows(cells, None) == 2000
    assert effective_rows(cells, groups) == pytest.approx(2000, rel=0.1)
    # Of copies every share has the variance of one of 200 rows.
    assert effective_rows(own[groups], groups) == pytest.approx(199, rel=1e-9)
    assert effective_rows(np.tile(np.arange(10), 200), groups) == 2000
    x, y = rng.integers(0, 20, 40), rng.integers(0, 2, 40)
    with pytest.warns(SmallSampleWarning, match=r"^39 independent rows for \d\d x 2 cells"):
        Discrete().estimate(x.repeat(50), y.repeat(50), np.arange(40).repeat(50))


def test_groups_too_few_and_different_for_their_correction_are_undefined():
    # Each text by itself says all, in opposite senses: what the pooled table says (nothing) cannot be corrected.
    x = np.tile([0, 1], 100)
    y, groups = np.r_[x[:100], 1 - x[:100]], np.repeat([0, 1], 100)
    with pytest.warns(SmallSampleWarning, match="3 independent rows"):
        found = Discrete().estimate(x, y, groups)
    assert found.status == "undefined"
    assert found.reason.startswith("a correction of 0.693 nats for rows that share groups, at a plug-in value of 0.000")
    with pytest.warns(SmallSampleWarning, match="3 independent rows"):
        assert abs(Discrete(correction="none").estimate(x, y, groups).nats) < 1e-12


def test_a_value_below_zero_has_an_error_that_reaches_zero():
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(3), 30)
    for _ in range(60):
        found = Discrete().estimate(rng.integers(0, 3, 90), rng.integers(0, 2, 90), groups)
        assert found.status == "undefined" or found.nats + found.standard_error >= -1e-12


def test_symbols_that_never_occur_twice_say_nothing():
    y = np.arange(6) % 2
    for x, label, name in ((list("abcdef"), y, "x"), (y, list("uvwxyz"), "y"), (list("abcdef"), list("uvwxyz"), "x")):
        for correction in ("none", "miller-madow"):
            found = Discrete(correction=correction).estimate(x, label)
            assert (found.status, found.reason) == (
                "undefined",
                f"no value of {name} occurs in two rows: merge values, or add rows",
            )
    # The name of a text is no symbol that two texts share, however many rows it has.
    texts = np.repeat(np.arange(30), 4)
    found = Discrete().estimate(texts, np.arange(120) % 2, texts)
    assert found.reason == "no value of x occurs in two groups: merge values, or add groups"
    assert Discrete().estimate(np.zeros(40, int), np.arange(40) % 2, np.zeros(40, int)).reason == "constant state"


@pytest.mark.filterwarnings("ignore::mi_attention.estimators.SmallSampleWarning")
def test_no_correction_raises_the_value_above_the_entropies():
    rng = np.random.default_rng(8)

    def entropy(codes):
        share = np.unique(codes, return_counts=True)[1] / len(codes)
        return -(share * np.log(share)).sum()

    for _ in range(100):
        n, values, classes = int(rng.integers(4, 80)), int(rng.integers(2, 30)), int(rng.integers(2, 8))
        x, y = planted(max(values, classes), classes, rng.choice([0.0, 0.9, 1.0]), n, rng)
        for groups in (None, rng.integers(0, max(2, n // 3), n)):
            for first, second in ((x, y), (y, x)):
                found = Discrete().estimate(first, second, groups)
                if found.status == "ok":
                    assert found.nats <= min(entropy(x), entropy(y)) + 1e-12
                    assert found.nats <= found.ceiling + 1e-12
                    assert np.isfinite(found.local).all()
                    assert found.local.mean() == pytest.approx(found.nats, abs=1e-12)
    # Equal x and y say their entropy, and the correction, which would add to it, adds nothing.
    same = np.repeat(np.arange(40), 3)
    assert Discrete().estimate(same, same).nats == pytest.approx(np.log(40), abs=1e-12)


def test_sparse_cells_warn_and_measurements_are_refused():
    rng = np.random.default_rng(4)
    with pytest.warns(SmallSampleWarning, match="merge rare values"):
        Discrete().estimate(np.arange(60) % 30, np.arange(60) % 4)
    with pytest.raises(ValueError, match="x in column 1 holds 50 distinct float values"):
        Discrete().estimate(np.stack([np.arange(50) % 2, rng.standard_normal(50)], axis=1), np.arange(50) % 2)
    with pytest.raises(ValueError, match="y holds 50 distinct float"):
        Discrete().estimate(np.arange(50) % 2, rng.standard_normal(50))
    with pytest.raises(ValueError, match="correction must be"):
        Discrete(correction="jackknife")


def test_undefined_and_constant():
    y = np.arange(100) % 2
    assert Discrete().estimate(y, np.zeros(100, dtype=int)).reason == "a single class"
    constant = Discrete().estimate(np.full(100, "a"), y)
    assert (constant.nats, constant.reason) == (0.0, "constant state")
