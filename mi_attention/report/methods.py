r"""A methods paragraph, and the references of exactly what was used.

What was used is read off the tables: their signatures name the estimators, their columns the measures, tests, models
and data. Each name has words and references here; a name that has none is an error and not a silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import pandas as pd

from mi_attention.report.latex import escape_latex
from mi_attention.report.references import cite

__all__ = ["METHODS", "Method", "Usage", "cited", "methods_paragraph"]


@dataclass(frozen=True)
class Method:
    """How a paper names a method, and whom it cites for it.

    Attributes:
        words: A noun phrase that fits into a list.
        references: Keys of ``REFERENCES``.
    """

    words: str
    references: tuple[str, ...] = ()


METHODS: Mapping[str, Mapping[str, Method]] = {
    "data": {
        "digits": Method("handwritten digits, row by row", ("alpaydin1998",)),
        "docstrings": Method("docstrings of installed Python packages"),
        "planted/gaussian": Method("generated sequences of Gaussian vectors with known information"),
        "planted/keyword": Method("generated sequences with one keyword"),
        "planted/keywords": Method("generated sequences with keywords of graded information"),
        "planted/majority": Method("generated sequences of votes"),
        "planted/noisy_keyword": Method("generated sequences with a noisy keyword"),
        "planted/xor": Method("generated sequences whose evidence is joint (XOR)"),
        "sst2": Method("SST-2", ("socher2013",)),
        "imdb": Method("IMDb reviews", ("maas2011",)),
        "imdb5k": Method("a subset of IMDb reviews", ("maas2011",)),
        "ag_news": Method("AG News", ("zhang2015",)),
        "snli_devtest": Method("the development and test parts of SNLI", ("bowman2015",)),
        "snli": Method("SNLI", ("bowman2015",)),
        "subj": Method("subjectivity sentences", ("pang2004",)),
        "trec6": Method("TREC questions", ("li2002",)),
        "movie_rationales": Method("film reviews with annotated rationales", ("zaidan2007",)),
        "agreement_linzen": Method("sentences for number agreement", ("linzen2016",)),
        "yelp_hat_p1": Method("Yelp reviews with human attention", ("sen2020",)),
        "yelp_hat_p6": Method("Yelp reviews with human attention", ("sen2020",)),
    },
    "encoders": {
        "embedding": Method("word embeddings"),
        "mlp": Method("a layer that sees one position at a time", ("jain2019",)),
        "cnn": Method("a convolutional encoder", ("kim2014", "jain2019")),
        "bilstm": Method("a bidirectional LSTM", ("hochreiter1997", "schuster1997")),
    },
    "scores": {
        "additive": Method("additive", ("bahdanau2015",)),
        "deep": Method("deep", ("pavlopoulos2017",)),
        "scaled_dot": Method("scaled dot-product", ("vaswani2017",)),
    },
    "normalizers": {
        "softmax": Method("softmax"),
        "gumbel_softmax": Method("Gumbel-softmax", ("jang2017", "maddison2017")),
        "sparsemax": Method("sparsemax", ("martins2016",)),
        "entmax": Method("α-entmax", ("peters2019",)),
        "uniform": Method("uniform weights", ("wiegreffe2019",)),
    },
    "estimators": {
        "probe": Method(
            "a stack of regularised classifiers, cross-fitted by instance, whose held-out log-likelihood bounds the "
            "information from below",
            ("xu2020", "ethayarajh2022", "wolpert1992"),
        ),
        "ross": Method("nearest neighbours within and between classes", ("ross2014", "gao2017")),
        "probe-knn": Method("nearest neighbours on the cross-fitted outputs of the probe", ("ross2014",)),
        "ksg": Method("nearest neighbours of continuous vectors", ("kraskov2004",)),
        "mixture": Method("nearest neighbours of mixed vectors", ("gao2017",)),
        "conditional-mixture": Method("nearest neighbours given a third vector", ("frenzel2007", "mesner2021")),
        "npeet": Method("the package NPEET", ("kraskov2004",)),
        "discriminant": Method("a quadratic discriminant with shrunk covariances", ("chen2010",)),
        "discrete": Method("counts of discrete values, corrected for bias (by group)", ("cover2006",)),
        "gaussian": Method("canonical correlations of Gaussian vectors", ("cover2006",)),
        "copula": Method("an elliptical copula with neighbours beyond it", ("ince2017", "kraskov2004")),
        "mine": Method("the Donsker–Varadhan bound of a neural critic (MINE)", ("belghazi2018",)),
        "nwj": Method("the NWJ bound of a neural critic", ("nguyen2010", "poole2019")),
        "infonce": Method("the InfoNCE bound of a neural critic", ("oord2018",)),
        "smile": Method("the SMILE estimate of a neural critic", ("song2020",)),
    },
    "measures": {
        "kendall_tau_b": Method("Kendall's tau-b", ("kendall1945",)),
        "weighted_tau": Method("the weighted tau", ("vigna2015",)),
        "somers_d": Method("Somers' d", ("somers1962",)),
        "top_k": Method("the overlap of the top k positions above chance"),
        "first_rank": Method("the information of the most attended state"),
        "normalized_skew": Method("the skewness of the weights over its maximum", ("joanes1998",)),
        "normalized_entropy": Method("the entropy of the weights over that of uniform weights", ("shannon1948",)),
        "gini": Method("the Gini coefficient"),
        "effective_support": Method("the exponential of the entropy", ("shannon1948",)),
        "max_weight": Method("the largest weight"),
        "zero_share": Method("the share of weights that are exactly 0"),
        "tied_pair_share": Method("the share of tied pairs of weights"),
        "total_variation": Method("the total variation distance"),
        "jensen_shannon": Method("the Jensen–Shannon divergence", ("lin1991",)),
    },
    "tests": {
        "crossed_interval": Method("t intervals for seeds crossed with instances", ("owen2007", "satterthwaite1946")),
        "crossed_bootstrap": Method("the bootstrap of seeds crossed with instances", ("owen2007",)),
        "seed_interval": Method("t intervals over seeds"),
        "run_interval": Method("t intervals over the instances of one run"),
        "instance_interval": Method("bootstrap intervals over instances"),
        "bca": Method("bias-corrected and accelerated bootstrap intervals", ("efron1987",)),
        "shift_null": Method("a null of common circular shifts of the information profile", ("phipson2010",)),
        "block_null": Method("a null of common permutations of blocks of the information profile", ("phipson2010",)),
        "position_null": Method("a null of common permutations of positions", ("phipson2010",)),
        "partner_null": Method("a null with the attention of another instance of the same length", ("phipson2010",)),
        "permutation_null": Method("permutations of the labels by instance", ("phipson2010",)),
        "sign_flip": Method("sign-flip tests of paired differences over seeds, exact up to 24 seeds", ("fisher1935",)),
        "wilcoxon": Method("the signed-rank test", ("wilcoxon1945",)),
        "holm": Method("Holm's correction within declared families", ("holm1979",)),
        "benjamini_hochberg": Method("the Benjamini–Hochberg correction", ("benjamini1995",)),
        "benjamini_yekutieli": Method("the Benjamini–Yekutieli correction", ("benjamini2001",)),
        "friedman": Method("the Friedman test", ("friedman1937",)),
        "page": Method("Page's trend test", ("page1963",)),
        "jonckheere": Method("the Jonckheere–Terpstra test", ("jonckheere1954",)),
        "theil_sen": Method("Theil–Sen slopes", ("sen1968",)),
        "turning_point": Method("the test of a turning point by slopes at both ends", ("lind2010",)),
        "equivalence": Method("two one-sided tests at a margin fixed beforehand", ("schuirmann1987",)),
        "cluster_robust": Method("a linear model with two-way clustered errors", ("cameron2011",)),
        "ceiling": Method(
            "the tau that attention in perfect order would reach at this measurement error", ("louis1984",)
        ),
    },
    "audits": {
        "erasure": Method("erasure of attention weights", ("serrano2019",)),
        "leave_one_out": Method("leaving one word out", ("jain2019",)),
        "gradient": Method("gradients", ("jain2019",)),
        "integrated_gradients": Method("integrated gradients", ("sundararajan2017",)),
        "permutation": Method("permuted weights", ("jain2019",)),
        "adversary": Method("adversarial attention", ("jain2019", "wiegreffe2019")),
        "uniform": Method("uniform attention", ("wiegreffe2019",)),
        "guide": Method("attention guided by another model's weights", ("wiegreffe2019",)),
        "rollout": Method("attention rollout", ("abnar2020",)),
        "flow": Method("attention flow", ("abnar2020",)),
        "conicity": Method("the conicity of states", ("mohankumar2020",)),
    },
}
"""Kind → name → method; the names are those of configurations, signatures and table columns."""

_SENTENCES = {
    "data": "The data are {}.",
    "encoders": "Hidden states come from {}.",
    "scores": "Attention scores are {}.",
    "normalizers": "Attention weights are normalised by {}.",
    "estimators": "Mutual information, in nats, is estimated by {}.",
    "measures": "Orders and weights are summarised by {}.",
    "tests": "Uncertainty and evidence are given by {}.",
    "audits": "Beside these stand {}.",
}
_COLUMNS = {"data": "data", "encoder": "encoders", "score": "scores", "normalizer": "normalizers"}
# Phrases by which tables say how an interval, a null or a test was made.
_PHRASES = {
    r"t, seeds crossed with instances|^seeds crossed with instances": "crossed_interval",
    r"percentile bootstrap, (?=.*crossed)": "crossed_bootstrap",
    r"percentile bootstrap, instances|bootstrap over instances": "instance_interval",
    r"^seeds$|^(t, )?seeds,? on the instances given": "seed_interval",
    r"^(t, )?instances of one run": "run_interval",
    r"bca\b": "bca",
    r"attention of another instance": "partner_null",
    r"circular shifts": "shift_null",
    r"permuted blocks": "block_null",
    r"permuted positions": "position_null",
    r"sign.flip": "sign_flip",
    r"wilcoxon": "wilcoxon",
    r"friedman": "friedman",
    r"page's trend": "page",
    r"jonckheere": "jonckheere",
    r"theil.sen": "theil_sen",
    r"lind and mehlum": "turning_point",
    r"two one-sided": "equivalence",
    r"clustered by (run|seed) and instance": "cluster_robust",
}


@dataclass(frozen=True)
class Usage:
    """What a result rests on, by kind; the names are keys of ``METHODS[kind]``.

    Attributes:
        data: Data sets.
        encoders: Encoders.
        scores: Scoring functions.
        normalizers: Normalisers.
        estimators: Estimators of mutual information.
        measures: Measures of agreement and concentration.
        tests: Intervals, nulls, tests and corrections.
        audits: Tests of the literature.
    """

    data: tuple[str, ...] = ()
    encoders: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    normalizers: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    audits: tuple[str, ...] = ()

    @classmethod
    def from_frames(cls, *frames: pd.DataFrame, **more: Iterable[str]) -> Usage:
        """What tidy tables say was used.

        Read are ``data``, ``encoder``, ``score``, ``normalizer``, ``measure``, the estimator at the head of
        ``signature``, and from ``quantity``, ``interval``, ``null`` and
        ``test`` the phrases of our own procedures. A setting in
        brackets (``deep(depth=3)``), after a comma or a hub's prefix is left off a name.

        Args:
            *frames: Result tables; columns that are absent are not read.
            **more: Kind → further names, for what no table says.

        Raises:
            ValueError: if ``more`` has an unknown kind.
        """
        found: dict[str, dict[str, None]] = {field.name: {} for field in fields(cls)}
        for frame in frames:
            for column, kind in _COLUMNS.items():
                found[kind] |= dict.fromkeys(_plain(value) for value in _values(frame, column))
            found["measures"] |= dict.fromkeys(_measure(value) for value in _values(frame, "measure"))
            found["estimators"] |= dict.fromkeys(_estimator(value) for value in _values(frame, "signature"))
            for column in ("quantity", "interval", "null", "test"):
                found["tests"] |= dict.fromkeys(name for value in _values(frame, column) for name in _tests(value))
            # In a profile a ceiling is H(Y); beside a reliability it is that of tau.
            if {"ceiling", "reliability"} <= set(frame.columns) and frame["ceiling"].notna().any():
                found["tests"] |= {"ceiling": None}
        for kind, names in more.items():
            if kind not in found:
                raise ValueError(f"there is no kind {kind!r} of methods; kinds are {sorted(found)}")
            found[kind] |= dict.fromkeys(names)
        return cls(**{kind: tuple(names) for kind, names in found.items()})

    def unknown(self, extra: Mapping[str, Mapping[str, Method]] | None = None) -> list[tuple[str, str]]:
        """(Kind, name) of what neither ``METHODS`` nor ``extra`` describes, such as an author's own data."""
        known = _known(extra)
        return [
            (field.name, name)
            for field in fields(self)
            for name in getattr(self, field.name)
            if name not in known[field.name]
        ]

    def known(self, extra: Mapping[str, Mapping[str, Method]] | None = None) -> Usage:
        """The same without what is unknown; say ``unknown()`` beside the paragraph."""
        lost = set(self.unknown(extra))
        kept = {f.name: tuple(n for n in getattr(self, f.name) if (f.name, n) not in lost) for f in fields(self)}
        return Usage(**kept)


def methods_paragraph(
    usage: Usage, *, latex: bool = False, extra: Mapping[str, Mapping[str, Method]] | None = None
) -> str:
    r"""A paragraph that names what was used, with its references.

    Args:
        usage: What was used.
        latex: Escape the words and cite by ``\citep`` (natbib), to stand beside ``bibtex(cited(usage))``.
        extra: Kind → name → method, for an author's own data, estimators or models; wins over ``METHODS``.

    Returns:
        The paragraph; empty if nothing was used.

    Raises:
        ValueError: for a name without a description.
    """
    known = _checked(usage, extra)
    sentences = []
    for kind, template in _SENTENCES.items():
        # Two names may be one method (two parts of one data set).
        items = dict.fromkeys(known[kind][name] for name in getattr(usage, kind))
        if items:
            sentences.append(template.format(_listed([_phrase(method, latex) for method in items])))
    return " ".join(sentences)


def cited(usage: Usage, *, extra: Mapping[str, Mapping[str, Method]] | None = None) -> list[str]:
    """Keys of the references of what was used, sorted: the argument of ``bibtex`` and ``reference_list``.

    Raises:
        ValueError: as ``methods_paragraph``.
    """
    known = _checked(usage, extra)
    methods = [known[field.name][name] for field in fields(usage) for name in getattr(usage, field.name)]
    return sorted({key for method in methods for key in method.references})


def _known(extra: Mapping[str, Mapping[str, Method]] | None) -> dict[str, dict[str, Method]]:
    wrong = sorted(set(extra or {}) - set(METHODS))
    if wrong:
        raise ValueError(f"extra has kinds {wrong}; kinds are {sorted(METHODS)}")
    return {kind: {**methods, **(extra or {}).get(kind, {})} for kind, methods in METHODS.items()}


def _checked(usage: Usage, extra: Mapping[str, Mapping[str, Method]] | None) -> dict[str, dict[str, Method]]:
    lost = usage.unknown(extra)
    if lost:
        shown = "; ".join(f"{kind}: {name!r}" for kind, name in lost)
        raise ValueError(
            f"there are no words and references for {shown}; describe them with extra={{kind: {{name: Method(...)}}}}, "
            "or use usage.known() and say what is left out"
        )
    return _known(extra)


def _phrase(method: Method, latex: bool) -> str:
    words = escape_latex(method.words) if latex else method.words
    citation = cite(method.references, latex=latex)
    return f"{words}{'~' if latex else ' '}{citation}" if citation else words


def _listed(phrases: list[str]) -> str:
    """Items with commas inside are set apart by semicolons."""
    if len(phrases) == 1:
        return phrases[0]
    mark = ";" if any("," in re.sub(r"\([^)]*\)|\{[^}]*\}", "", phrase) for phrase in phrases) else ","
    if len(phrases) == 2:
        return f"{phrases[0]}{mark if mark == ';' else ''} and {phrases[1]}"
    return f"{f'{mark} '.join(phrases[:-1])}{mark} and {phrases[-1]}"


def _values(frame: pd.DataFrame, column: str) -> list[str]:
    if column not in frame.columns:
        return []
    return [value for value in frame[column].dropna().unique() if isinstance(value, str) and value]


def _plain(name: str) -> str:
    return re.split(r"[(,]", name.removeprefix("hub/"), maxsplit=1)[0].strip()


def _measure(name: str) -> str:
    if name.startswith("top_"):
        return "top_k"
    return "first_rank" if name.startswith("first_rank") else name


def _estimator(signature: str) -> str:
    """``ksg1|k=3`` is of ksg and ``npeet_plus|…`` of npeet."""
    head = signature.split("|", maxsplit=1)[0]
    return re.sub(r"(?<=^ksg)\d+$", "", head).removesuffix("_plus")


def _tests(words: str) -> list[str]:
    return [name for phrase, name in _PHRASES.items() if re.search(phrase, words.lower())]
