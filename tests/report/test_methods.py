import re

import pandas as pd
import pytest

from mi_attention.report import (
    METHODS,
    REFERENCES,
    Method,
    Usage,
    bibtex,
    cite,
    cited,
    methods_paragraph,
    reference_list,
)

FRAME = pd.DataFrame(
    {
        "data": ["digits", "hub/sst2"],
        "encoder": ["mlp", "bilstm"],
        "score": ["deep(depth=3)", "additive, frozen: attention"],
        "normalizer": ["softmax", "sparsemax"],
        "measure": ["kendall_tau_b", "top_3_above_chance"],
        "signature": ["probe|members=linear|seed=0|n:600", "ksg1|k=3"],
        "interval": ["seeds crossed with instances", "seeds"],
        "null": ["attention of another instance of the same length, one map for all seeds", ""],
        "test": ["exact sign flip of the mean difference, two-sided", None],
    }
)


def test_usage_is_read_off_the_tables():
    usage = Usage.from_frames(FRAME, audits=["erasure"])
    assert usage == Usage(
        data=("digits", "sst2"),
        encoders=("mlp", "bilstm"),
        scores=("deep", "additive"),
        normalizers=("softmax", "sparsemax"),
        estimators=("probe", "ksg"),
        measures=("kendall_tau_b", "top_k"),
        tests=("crossed_interval", "seed_interval", "partner_null", "sign_flip"),
        audits=("erasure",),
    )
    with pytest.raises(ValueError, match="no kind 'models'"):
        Usage.from_frames(FRAME, models=["x"])


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("t, seeds crossed with instances, error of the profile included", ("crossed_interval",)),
        ("percentile bootstrap, seeds crossed with instances (too narrow)", ("crossed_bootstrap",)),
        ("percentile bootstrap, instances of one run", ("instance_interval",)),
        ("t, seeds on the instances given", ("seed_interval",)),
        ("seeds, on the instances given", ("seed_interval",)),
        ("noncentral t, seeds on the instances given", ()),
        ("instances of one run", ("run_interval",)),
        ("t, instances of one run, error of the profile included", ("run_interval",)),
        ("bootstrap over instances, MI error included", ("instance_interval",)),
        ("circular shifts of the profile, one for all runs, greater", ("shift_null",)),
        ("permuted blocks of 3 positions, one for all runs, greater", ("block_null",)),
        ("Friedman, permutation within blocks", ("friedman",)),
        ("Page's trend, rising (one-sided)", ("page",)),
        ("equivalence within ±0.05: two one-sided t", ("equivalence",)),
        ("coefficient, clustered by run and instance", ("cluster_robust",)),
        ("Wilcoxon signed rank, two-sided (check)", ("wilcoxon",)),
        ("BCa widened for few seeds, seeds on the instances given", ("bca",)),
        ("slopes of opposite sign at both ends (Lind and Mehlum), two-sided", ("turning_point",)),
        ("noncentral t", ()),
    ],
)
def test_phrases_of_the_statistics_are_understood(words, names):
    assert Usage.from_frames(pd.DataFrame({"test": [words]})).tests == names


def test_paragraph_and_entries_are_of_what_was_used_and_nothing_else():
    usage = Usage(estimators=("ross",), measures=("kendall_tau_b",), scores=("additive", "deep"))
    assert methods_paragraph(usage) == (
        "Attention scores are additive (Bahdanau et al., 2015) and deep (Pavlopoulos et al., 2017). Mutual "
        "information, in nats, is estimated by nearest neighbours within and between classes (Ross, 2014; Gao "
        "et al., 2017). Orders and weights are summarised by Kendall's tau-b (Kendall, 1945)."
    )
    keys = ["bahdanau2015", "gao2017", "kendall1945", "pavlopoulos2017", "ross2014"]
    assert cited(usage) == keys
    assert re.findall(r"^@\w+\{(\w+),", bibtex(cited(usage)), flags=re.MULTILINE) == keys
    latex = methods_paragraph(usage, latex=True)
    assert sorted(key for group in re.findall(r"\\citep\{([^}]*)\}", latex) for key in group.split(",")) == keys
    assert methods_paragraph(Usage()) == ""
    assert bibtex(cited(Usage())) == ""


def test_unknown_names_are_said_and_can_be_described():
    usage = Usage(data=("my corpus", "digits"), estimators=("mine_own",))
    with pytest.raises(ValueError, match=r"data: 'my corpus'; estimators: 'mine_own'; describe them"):
        methods_paragraph(usage)
    with pytest.raises(ValueError, match="no words and references"):
        cited(usage)
    assert usage.unknown() == [("data", "my corpus"), ("estimators", "mine_own")]
    assert usage.known() == Usage(data=("digits",))
    extra = {"data": {"my corpus": Method("letters, 50 % of them", ())}, "estimators": {"mine_own": Method("ours")}}
    described = methods_paragraph(usage, extra=extra)
    assert described.startswith("The data are letters, 50 % of them; and handwritten digits, row by row (Alpaydin")
    assert described.endswith("is estimated by ours.")
    assert r"50 \% of them" in methods_paragraph(usage, latex=True, extra=extra)
    with pytest.raises(ValueError, match=r"extra has kinds \['models'\]"):
        methods_paragraph(Usage(), extra={"models": {}})


def test_every_reference_of_a_method_exists_and_none_is_idle():
    used = {key for methods in METHODS.values() for method in methods.values() for key in method.references}
    assert set(REFERENCES) == used


def test_entries_are_well_formed():
    text = bibtex(REFERENCES)
    assert text.isascii()
    assert len(re.findall(r"^@", text, flags=re.MULTILINE)) == len(REFERENCES)
    for key, entry in zip(sorted(REFERENCES), text.split("\n\n"), strict=True):
        work = REFERENCES[key]
        assert entry.startswith(f"@{work.kind}{{{key},\n")
        assert entry.count("{") == entry.count("}")
        assert f"year = {{{work.year}}}" in entry
        assert str(work.year) in key
        place = {"article": "journal", "inproceedings": "booktitle", "book": "publisher"}.get(work.kind)
        assert place is None or f"  {place} = " in entry
        assert all("," in author for author in work.authors)
    assert '{\\"o}gbauer' in text
    assert "{\\L}ukasz" in text


def test_titles_keep_their_capitals():
    assert "title = {On variational bounds of mutual information}" in bibtex(["poole2019"])
    assert "with {V}-usable" in bibtex(["ethayarajh2022"])
    assert "Gaussian" in re.findall(r"\{(\w+)\}", bibtex(["ince2017"]))


def test_citations_and_lists():
    assert cite(["jain2019", "kim2014", "jain2019"]) == "(Jain and Wallace, 2019; Kim, 2014)"
    assert cite(["jain2019"], latex=True) == r"\citep{jain2019}"
    assert cite([]) == cite([], latex=True) == ""
    assert reference_list(["kendall1945", "jain2019"])[1] == (
        "M. G. Kendall (1945). The treatment of ties in ranking problems. Biometrika 33, 239–251."
    )
    assert not any("??" in text or "?." in text for text in reference_list(REFERENCES))
    with pytest.raises(ValueError, match=r"no references \['nobody2000'\]"):
        bibtex(["nobody2000"])
