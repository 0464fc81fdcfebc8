from itertools import product

import numpy as np
import pytest

from mi_attention.data import keyword, keywords, load, majority, noisy_keyword, xor
from mi_attention.data.information import entropy, table_information
from mi_attention.data.planted_rules import expected_winner_share

LN2 = np.log(2)
MEMBERS = [keyword, noisy_keyword, keywords, xor, majority]


def plug_in(x, y):
    table = np.zeros((x.max() + 1, y.max() + 1))
    np.add.at(table, (x, y), 1.0)
    return table_information(table / table.sum())


def by_position(split):
    return split.token_ids.reshape(len(split), -1)


def test_keyword_truth_by_hand():
    data = keyword(100, length=5)
    # The word names the class, so I = H(Y) = ln 2 there; everything else is independent of the class.
    assert data.truth == pytest.approx([0, 0, LN2, 0, 0], abs=1e-12)
    assert data.joint_truth == pytest.approx(LN2, abs=1e-12)


def test_keyword_truth_follows_the_balance():
    data = keyword(100, length=3, position=0, balance=[0.9, 0.1])
    assert data.truth == pytest.approx([0.3250829733914482, 0, 0], abs=1e-12)


def test_keyword_anywhere_truth_by_hand():
    # x_t holds the keyword with probability 1/4 whatever the class: I = H(Y) / 4.
    data = keyword(100, length=4, classes=3, position="anywhere")
    assert data.truth == pytest.approx([np.log(3) / 4] * 4, abs=1e-12)
    assert data.joint_truth == pytest.approx(np.log(3), abs=1e-12)
    assert data.train.rationale.reshape(-1, 4).sum(axis=1).tolist() == [1.0] * len(data.train)


def test_noisy_keyword_truth_by_hand():
    # Binary symmetric channel: ln 2 − H(.2), H(.2) = −.2 ln .2 − .8 ln .8 = .5004024235.
    data = noisy_keyword(100, length=3, flip=0.2)
    assert data.truth == pytest.approx([0, LN2 - 0.5004024235381879, 0], abs=1e-12)
    assert noisy_keyword(100, flip=0.5).truth == pytest.approx(np.zeros(10), abs=1e-15)
    # A word that is always wrong is as good as one that is always right, for two classes.
    assert noisy_keyword(100, flip=1.0).joint_truth == pytest.approx(LN2, abs=1e-12)


def test_signal_to_noise_is_another_name_for_flip():
    # ratio 4 : 1 of right to wrong is flip = 1/5.
    by_ratio = noisy_keyword(200, signal_to_noise=4.0, seed=3)
    assert by_ratio.truth == pytest.approx(noisy_keyword(200, flip=0.2, seed=3).truth, abs=1e-15)
    with pytest.raises(ValueError, match="not both"):
        noisy_keyword(signal_to_noise=4.0, flip=0.2)


def test_keywords_joint_by_hand():
    # Two binary channels with error .1: outcomes (0,0),(1,1) agree. P(agree right) = .81, wrong .01, mixed .18;
    # mixed outcomes say nothing, agreeing ones leave H(.01/.82): I = .82 (ln 2 − H(1/82)).
    data = keywords(100, length=4, flips=(0.1, 0.1))
    assert data.joint_truth == pytest.approx(0.82 * (LN2 - entropy([1 / 82, 81 / 82])), abs=1e-12)
    single = LN2 - entropy([0.1, 0.9])
    assert sorted(data.truth) == pytest.approx([0, 0, single, single], abs=1e-12)


def test_keywords_joint_too_large_to_enumerate_is_none_with_a_reason():
    data = keywords(50, length=30, flips=(0.4,) * 21)
    assert data.joint_truth is None
    assert "not enumerated" in data.provenance["joint_truth"]
    assert (data.truth > 0).sum() == 21


@pytest.mark.parametrize("balance", [None, [0.8, 0.2]])
def test_xor_alone_nothing_together_everything(balance):
    data = xor(60_000, balance=balance, fractions=(1, 0, 0), fillers=2)
    words = by_position(data.train)
    first, second = data.provenance["informative"]
    label = data.train.label
    assert data.truth.tolist() == [0.0] * 10
    assert plug_in(words[:, first], label) < 1e-4
    assert plug_in(words[:, second], label) < 1e-4
    assert plug_in(words[:, first] * 100 + words[:, second], label) == pytest.approx(data.joint_truth, abs=0.01)
    if balance is None:
        assert data.joint_truth == pytest.approx(LN2, abs=1e-12)


@pytest.mark.parametrize(("voters", "classes"), [(1, 2), (3, 2), (4, 2), (4, 3), (5, 3), (3, 4)])
def test_expected_winner_share_by_enumeration(voters, classes):
    shares = []
    for votes in product(range(classes), repeat=voters):
        counts = np.bincount(votes, minlength=classes)
        if (counts == counts.max()).sum() == 1:
            shares.append(counts.max() / voters)
    assert expected_winner_share(voters, classes) == pytest.approx(np.mean(shares), abs=1e-14)


def test_majority_truth_by_hand():
    # Three voters: of the four sequences won by a class, one has 3 votes and three have 2: a voter agrees
    # with probability (3 + 3·2) / (4·3) = .75, so I = ln 2 − H(.25).
    data = majority(100, length=3)
    assert data.truth == pytest.approx([LN2 - entropy([0.25, 0.75])] * 3, abs=1e-12)
    assert data.joint_truth == pytest.approx(LN2, abs=1e-12)


@pytest.mark.parametrize(("length", "classes"), [(3, 2), (6, 2), (7, 3), (9, 5)])
def test_majority_label_is_the_only_winner(length, classes):
    data = majority((3000, 0, 0), length=length, classes=classes)
    counts = (by_position(data.train)[:, :, None] == np.arange(2, 2 + classes)).sum(axis=1)
    assert (counts.argmax(axis=1) == data.train.label).all()
    assert ((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("make", MEMBERS)
@pytest.mark.parametrize(("classes", "balance"), [(2, None), (3, [0.5, 0.3, 0.2])])
def test_truth_equals_plug_in_of_a_big_sample(make, classes, balance):
    options = {"position": "anywhere"} if make is noisy_keyword else {}
    data = make(
        (120_000, 0, 0),
        length=5,
        classes=classes,
        balance=balance,
        fillers=3,
        seed=5,
        **{**options, **({"flips": (0.05, 0.3)} if make is keywords else {})},
    )
    words = by_position(data.train)
    estimates = np.array([plug_in(words[:, t], data.train.label) for t in range(5)])
    # Plug-in bias is about (K − 1)(C − 1) / 2N < 1e-4 here, its standard error below 2e-3.
    assert estimates == pytest.approx(data.truth, abs=6e-3)


@pytest.mark.parametrize("make", MEMBERS)
def test_labels_follow_the_balance(make):
    data = make((40_000, 0, 0), length=5, balance=[0.7, 0.3], **({"flips": (0.1,)} if make is keywords else {}))
    # Standard error .0023.
    assert data.train.label.mean() == pytest.approx(0.3, abs=0.012)


@pytest.mark.parametrize("make", MEMBERS)
def test_same_seed_same_data_and_splits_have_streams_of_their_own(make):
    first, again, other = make(200, seed=1), make(200, seed=1), make(200, seed=2)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    small, large = make((50, 10, 30), seed=1), make((500, 10, 30), seed=1)
    assert np.array_equal(small.test.token_ids, large.test.token_ids)
    assert not np.array_equal(small.train.token_ids[:100], small.test.token_ids[:100])


@pytest.mark.parametrize("make", MEMBERS)
def test_shape_and_contract(make):
    data = make(500, length=8)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 300, "dev": 50, "test": 150}
    assert data.aligned
    assert data.truth.shape == (8,)
    identifiers = np.concatenate([split.identifier for split in data.splits.values()])
    assert len(set(identifiers.tolist())) == 500
    for split in data.splits.values():
        assert (split.lengths == 8).all()
        assert split.token_ids.min() >= 2
        assert split.token_ids.max() < len(data.vocabulary)
        assert data.vocabulary.encode(split.tokens).tolist() == split.token_ids.tolist()
        assert (split.rationale.reshape(-1, 8).any(axis=0).nonzero()[0] == sorted(data.provenance["informative"])).all()


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (keyword, {"classes": 1}, "classes"),
        (keyword, {"balance": [0.5, 0.6]}, "balance"),
        (keyword, {"balance": [1.0, 0.0]}, "balance"),
        (keyword, {"classes": 3, "balance": [0.5, 0.5]}, "each of the 3 classes"),
        (keyword, {"position": 10}, "position"),
        (keyword, {"position": "somewhere"}, "anywhere"),
        (keyword, {"length": 0}, "length"),
        (keyword, {"fillers": 0}, "fillers"),
        (keyword, {"n": 0}, "n must"),
        (keyword, {"n": (1, 2)}, "n must"),
        (keyword, {"n": (0, 0, 0)}, "n must"),
        (keyword, {"fractions": (0.5, 0.5, 0.5)}, "fractions"),
        (noisy_keyword, {"flip": 1.5}, "flip"),
        (noisy_keyword, {"signal_to_noise": -1}, "signal_to_noise"),
        (keywords, {"flips": (0.1, -0.1)}, "flip"),
        (keywords, {"flips": ()}, "flips"),
        (keywords, {"flips": (0.1, 0.2), "positions": [1]}, "flips has 2"),
        (keywords, {"flips": (0.1, 0.2), "positions": [1, 1]}, "distinct"),
        (xor, {"length": 1}, "length"),
        (xor, {"positions": [1, 2, 3]}, "two"),
        (majority, {"positions": []}, "positions"),
    ],
)
def test_bad_arguments_are_named(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_majority_with_few_voters():
    data = load("planted/majority", n=100, length=6, positions=[4, 1, 2])
    assert (data.truth > 0).nonzero()[0].tolist() == [1, 2, 4]


def test_fractions_do_not_lose_rows_to_binary_digits():
    # 100 · .29 is 28.99… in binary.
    data = keyword(100, fractions=(0.42, 0.29, 0.29))
    assert [len(split) for split in data.splits.values()] == [42, 29, 29]
