"""The literature behind every method, as BibTeX entries and as text; nothing is cited that is not in here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from mi_attention.report.latex import escape_latex

__all__ = ["REFERENCES", "Reference", "bibtex", "cite", "reference_list"]


@dataclass(frozen=True)
class Reference:
    """One work.

    Attributes:
        kind: BibTeX entry type.
        authors: ``"Family, Given"`` each.
        title: Title, in Unicode.
        year: Year of publication.
        fields: Further BibTeX fields in order: journal or booktitle, volume, pages, doi.
    """

    kind: str
    authors: tuple[str, ...]
    title: str
    year: int
    fields: tuple[tuple[str, str], ...]

    def short(self) -> str:
        """``"Jain and Wallace, 2019"``."""
        family = [author.split(",")[0] for author in self.authors]
        names = family[0] if len(family) == 1 else " and ".join(family) if len(family) == 2 else f"{family[0]} et al."
        return f"{names}, {self.year}"


def _work(kind: str, authors: str, title: str, year: int, **fields: str) -> Reference:
    return Reference(kind, tuple(authors.split("; ")), title, year, tuple(fields.items()))


def _article(authors: str, title: str, year: int, journal: str, volume: str, pages: str, doi: str = "") -> Reference:
    more = {"doi": doi} if doi else {}
    return _work("article", authors, title, year, journal=journal, volume=volume, pages=pages, **more)


def _talk(authors: str, title: str, year: int, booktitle: str, pages: str = "", **fields: str) -> Reference:
    more = {"pages": pages} if pages else {}
    return _work("inproceedings", authors, title, year, booktitle=booktitle, **more, **fields)


_JASA = "Journal of the American Statistical Association"
_IT = "IEEE Transactions on Information Theory"
_ACL = "Proceedings of the {} Annual Meeting of the Association for Computational Linguistics"
_EMNLP = "Proceedings of the {} Conference on Empirical Methods in Natural Language Processing"
_ICML = "Proceedings of the {} International Conference on Machine Learning"
_ICLR = "International Conference on Learning Representations"
_NEURIPS = "Advances in Neural Information Processing Systems {}"

REFERENCES: dict[str, Reference] = {
    # Measures
    "kendall1945": _article(
        "Kendall, M. G.", "The treatment of ties in ranking problems", 1945, "Biometrika", "33", "239--251"
    ),
    "somers1962": _article(
        "Somers, Robert H.",
        "A new asymmetric measure of association for ordinal variables",
        1962,
        "American Sociological Review",
        "27",
        "799--811",
    ),
    "vigna2015": _talk(
        "Vigna, Sebastiano",
        "A weighted correlation index for rankings with ties",
        2015,
        "Proceedings of the 24th International Conference on World Wide Web",
        "1166--1176",
        doi="10.1145/2736277.2741088",
    ),
    "joanes1998": _article(
        "Joanes, D. N.; Gill, C. A.",
        "Comparing measures of sample skewness and kurtosis",
        1998,
        "Journal of the Royal Statistical Society: Series D (The Statistician)",
        "47",
        "183--189",
    ),
    "shannon1948": _article(
        "Shannon, C. E.",
        "A mathematical theory of communication",
        1948,
        "Bell System Technical Journal",
        "27",
        "379--423, 623--656",
    ),
    "lin1991": _article(
        "Lin, Jianhua",
        "Divergence measures based on the Shannon entropy",
        1991,
        _IT,
        "37",
        "145--151",
        "10.1109/18.61115",
    ),
    # Estimators
    "xu2020": _talk(
        "Xu, Yilun; Zhao, Shengjia; Song, Jiaming; Stewart, Russell; Ermon, Stefano",
        "A theory of usable information under computational constraints",
        2020,
        _ICLR,
    ),
    "ethayarajh2022": _talk(
        "Ethayarajh, Kawin; Choi, Yejin; Swayamdipta, Swabha",
        "Understanding dataset difficulty with V-usable information",
        2022,
        _ICML.format("39th"),
        "5988--6008",
    ),
    "wolpert1992": _article("Wolpert, David H.", "Stacked generalization", 1992, "Neural Networks", "5", "241--259"),
    "chen2010": _article(
        "Chen, Yilun; Wiesel, Ami; Eldar, Yonina C.; Hero, Alfred O.",
        "Shrinkage algorithms for MMSE covariance estimation",
        2010,
        "IEEE Transactions on Signal Processing",
        "58",
        "5016--5029",
    ),
    "ross2014": _article(
        "Ross, Brian C.",
        "Mutual information between discrete and continuous data sets",
        2014,
        "PLoS ONE",
        "9",
        "e87357",
        "10.1371/journal.pone.0087357",
    ),
    "kraskov2004": _article(
        "Kraskov, Alexander; Stögbauer, Harald; Grassberger, Peter",
        "Estimating mutual information",
        2004,
        "Physical Review E",
        "69",
        "066138",
        "10.1103/PhysRevE.69.066138",
    ),
    "gao2017": _talk(
        "Gao, Weihao; Kannan, Sreeram; Oh, Sewoong; Viswanath, Pramod",
        "Estimating mutual information for discrete-continuous mixtures",
        2017,
        _NEURIPS.format(30),
    ),
    "frenzel2007": _article(
        "Frenzel, Stefan; Pompe, Bernd",
        "Partial mutual information for coupling analysis of multivariate time series",
        2007,
        "Physical Review Letters",
        "99",
        "204101",
    ),
    "mesner2021": _article(
        "Mesner, Octavio César; Shalizi, Cosma Rohilla",
        "Conditional mutual information estimation for mixed, discrete and continuous data",
        2021,
        _IT,
        "67",
        "464--484",
    ),
    "belghazi2018": _talk(
        "Belghazi, Mohamed Ishmael; Baratin, Aristide; Rajeswar, Sai; Ozair, Sherjil; Bengio, Yoshua; "
        "Courville, Aaron; Hjelm, R Devon",
        "Mutual information neural estimation",
        2018,
        _ICML.format("35th"),
        "531--540",
    ),
    "nguyen2010": _article(
        "Nguyen, XuanLong; Wainwright, Martin J.; Jordan, Michael I.",
        "Estimating divergence functionals and the likelihood ratio by convex risk minimization",
        2010,
        _IT,
        "56",
        "5847--5861",
    ),
    "oord2018": _work(
        "misc",
        "van den Oord, Aaron; Li, Yazhe; Vinyals, Oriol",
        "Representation learning with contrastive predictive coding",
        2018,
        eprint="1807.03748",
        archiveprefix="arXiv",
    ),
    "poole2019": _talk(
        "Poole, Ben; Ozair, Sherjil; van den Oord, Aaron; Alemi, Alexander A.; Tucker, George",
        "On variational bounds of mutual information",
        2019,
        _ICML.format("36th"),
        "5171--5180",
    ),
    "song2020": _talk(
        "Song, Jiaming; Ermon, Stefano",
        "Understanding the limitations of variational mutual information estimators",
        2020,
        _ICLR,
    ),
    "cover2006": _work(
        "book",
        "Cover, Thomas M.; Thomas, Joy A.",
        "Elements of information theory",
        2006,
        edition="2",
        publisher="Wiley",
    ),
    "ince2017": _article(
        "Ince, Robin A. A.; Giordano, Bruno L.; Kayser, Christoph; Rousselet, Guillaume A.; Gross, Joachim; "
        "Schyns, Philippe G.",
        "A statistical framework for neuroimaging data analysis based on mutual information estimated via a Gaussian "
        "copula",
        2017,
        "Human Brain Mapping",
        "38",
        "1541--1573",
    ),
    # Attention
    "bahdanau2015": _talk(
        "Bahdanau, Dzmitry; Cho, Kyunghyun; Bengio, Yoshua",
        "Neural machine translation by jointly learning to align and translate",
        2015,
        _ICLR,
    ),
    "pavlopoulos2017": _talk(
        "Pavlopoulos, John; Malakasiotis, Prodromos; Androutsopoulos, Ion",
        "Deeper attention to abusive user content moderation",
        2017,
        _EMNLP.format("2017"),
        "1125--1135",
        doi="10.18653/v1/D17-1117",
    ),
    "vaswani2017": _talk(
        "Vaswani, Ashish; Shazeer, Noam; Parmar, Niki; Uszkoreit, Jakob; Jones, Llion; Gomez, Aidan N.; "
        "Kaiser, Łukasz; Polosukhin, Illia",
        "Attention is all you need",
        2017,
        _NEURIPS.format(30),
    ),
    "martins2016": _talk(
        "Martins, André F. T.; Astudillo, Ramón F.",
        "From softmax to sparsemax: a sparse model of attention and multi-label classification",
        2016,
        _ICML.format("33rd"),
        "1614--1623",
    ),
    "peters2019": _talk(
        "Peters, Ben; Niculae, Vlad; Martins, André F. T.",
        "Sparse sequence-to-sequence models",
        2019,
        _ACL.format("57th"),
        "1504--1519",
        doi="10.18653/v1/P19-1146",
    ),
    "jang2017": _talk(
        "Jang, Eric; Gu, Shixiang; Poole, Ben", "Categorical reparameterization with Gumbel-softmax", 2017, _ICLR
    ),
    "maddison2017": _talk(
        "Maddison, Chris J.; Mnih, Andriy; Teh, Yee Whye",
        "The concrete distribution: a continuous relaxation of discrete random variables",
        2017,
        _ICLR,
    ),
    "hochreiter1997": _article(
        "Hochreiter, Sepp; Schmidhuber, Jürgen",
        "Long short-term memory",
        1997,
        "Neural Computation",
        "9",
        "1735--1780",
    ),
    "schuster1997": _article(
        "Schuster, Mike; Paliwal, Kuldip K.",
        "Bidirectional recurrent neural networks",
        1997,
        "IEEE Transactions on Signal Processing",
        "45",
        "2673--2681",
    ),
    "kim2014": _talk(
        "Kim, Yoon",
        "Convolutional neural networks for sentence classification",
        2014,
        _EMNLP.format("2014"),
        "1746--1751",
        doi="10.3115/v1/D14-1181",
    ),
    # Tests of the literature
    "jain2019": _talk(
        "Jain, Sarthak; Wallace, Byron C.",
        "Attention is not explanation",
        2019,
        "Proceedings of the 2019 Conference of the North American Chapter of the Association for Computational "
        "Linguistics: Human Language Technologies, Volume 1",
        "3543--3556",
        doi="10.18653/v1/N19-1357",
    ),
    "serrano2019": _talk(
        "Serrano, Sofia; Smith, Noah A.",
        "Is attention interpretable?",
        2019,
        _ACL.format("57th"),
        "2931--2951",
        doi="10.18653/v1/P19-1282",
    ),
    "wiegreffe2019": _talk(
        "Wiegreffe, Sarah; Pinter, Yuval",
        "Attention is not not explanation",
        2019,
        "Proceedings of the 2019 Conference on Empirical Methods in Natural Language Processing and the 9th "
        "International Joint Conference on Natural Language Processing",
        "11--20",
        doi="10.18653/v1/D19-1002",
    ),
    "abnar2020": _talk(
        "Abnar, Samira; Zuidema, Willem",
        "Quantifying attention flow in transformers",
        2020,
        _ACL.format("58th"),
        "4190--4197",
        doi="10.18653/v1/2020.acl-main.385",
    ),
    "mohankumar2020": _talk(
        "Mohankumar, Akash Kumar; Nema, Preksha; Narasimhan, Sharan; Khapra, Mitesh M.; Srinivasan, Balaji Vasan; "
        "Ravindran, Balaraman",
        "Towards transparent and explainable attention models",
        2020,
        _ACL.format("58th"),
        "4206--4216",
        doi="10.18653/v1/2020.acl-main.387",
    ),
    "sundararajan2017": _talk(
        "Sundararajan, Mukund; Taly, Ankur; Yan, Qiqi",
        "Axiomatic attribution for deep networks",
        2017,
        _ICML.format("34th"),
        "3319--3328",
    ),
    # Statistics
    "satterthwaite1946": _article(
        "Satterthwaite, F. E.",
        "An approximate distribution of estimates of variance components",
        1946,
        "Biometrics Bulletin",
        "2",
        "110--114",
    ),
    "owen2007": _article(
        "Owen, Art B.", "The pigeonhole bootstrap", 2007, "The Annals of Applied Statistics", "1", "386--411"
    ),
    "efron1987": _article("Efron, Bradley", "Better bootstrap confidence intervals", 1987, _JASA, "82", "171--185"),
    "phipson2010": _article(
        "Phipson, Belinda; Smyth, Gordon K.",
        "Permutation p-values should never be zero: calculating exact p-values when permutations are randomly drawn",
        2010,
        "Statistical Applications in Genetics and Molecular Biology",
        "9",
        "39",
    ),
    "fisher1935": _work("book", "Fisher, R. A.", "The design of experiments", 1935, publisher="Oliver and Boyd"),
    "wilcoxon1945": _article(
        "Wilcoxon, Frank", "Individual comparisons by ranking methods", 1945, "Biometrics Bulletin", "1", "80--83"
    ),
    "holm1979": _article(
        "Holm, Sture",
        "A simple sequentially rejective multiple test procedure",
        1979,
        "Scandinavian Journal of Statistics",
        "6",
        "65--70",
    ),
    "benjamini1995": _article(
        "Benjamini, Yoav; Hochberg, Yosef",
        "Controlling the false discovery rate: a practical and powerful approach to multiple testing",
        1995,
        "Journal of the Royal Statistical Society: Series B",
        "57",
        "289--300",
    ),
    "benjamini2001": _article(
        "Benjamini, Yoav; Yekutieli, Daniel",
        "The control of the false discovery rate in multiple testing under dependency",
        2001,
        "The Annals of Statistics",
        "29",
        "1165--1188",
    ),
    "friedman1937": _article(
        "Friedman, Milton",
        "The use of ranks to avoid the assumption of normality implicit in the analysis of variance",
        1937,
        _JASA,
        "32",
        "675--701",
    ),
    "page1963": _article(
        "Page, Ellis Batten",
        "Ordered hypotheses for multiple treatments: a significance test for linear ranks",
        1963,
        _JASA,
        "58",
        "216--230",
    ),
    "jonckheere1954": _article(
        "Jonckheere, A. R.",
        "A distribution-free k-sample test against ordered alternatives",
        1954,
        "Biometrika",
        "41",
        "133--145",
    ),
    "sen1968": _article(
        "Sen, Pranab Kumar",
        "Estimates of the regression coefficient based on Kendall's tau",
        1968,
        _JASA,
        "63",
        "1379--1389",
    ),
    "lind2010": _article(
        "Lind, Jo Thori; Mehlum, Halvor",
        "With or without U? The appropriate test for a U-shaped relationship",
        2010,
        "Oxford Bulletin of Economics and Statistics",
        "72",
        "109--118",
    ),
    "schuirmann1987": _article(
        "Schuirmann, Donald J.",
        "A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of "
        "average bioavailability",
        1987,
        "Journal of Pharmacokinetics and Biopharmaceutics",
        "15",
        "657--680",
    ),
    "cameron2011": _article(
        "Cameron, A. Colin; Gelbach, Jonah B.; Miller, Douglas L.",
        "Robust inference with multiway clustering",
        2011,
        "Journal of Business & Economic Statistics",
        "29",
        "238--249",
    ),
    "louis1984": _article(
        "Louis, Thomas A.",
        "Estimating a population of parameter values using Bayes and empirical Bayes methods",
        1984,
        _JASA,
        "79",
        "393--398",
    ),
    # Data
    "alpaydin1998": _work(
        "misc",
        "Alpaydin, E.; Kaynak, C.",
        "Optical recognition of handwritten digits",
        1998,
        howpublished="UCI Machine Learning Repository",
    ),
    "socher2013": _talk(
        "Socher, Richard; Perelygin, Alex; Wu, Jean; Chuang, Jason; Manning, Christopher D.; Ng, Andrew; "
        "Potts, Christopher",
        "Recursive deep models for semantic compositionality over a sentiment treebank",
        2013,
        _EMNLP.format("2013"),
        "1631--1642",
    ),
    "maas2011": _talk(
        "Maas, Andrew L.; Daly, Raymond E.; Pham, Peter T.; Huang, Dan; Ng, Andrew Y.; Potts, Christopher",
        "Learning word vectors for sentiment analysis",
        2011,
        _ACL.format("49th"),
        "142--150",
    ),
    "zhang2015": _talk(
        "Zhang, Xiang; Zhao, Junbo; LeCun, Yann",
        "Character-level convolutional networks for text classification",
        2015,
        _NEURIPS.format(28),
    ),
    "bowman2015": _talk(
        "Bowman, Samuel R.; Angeli, Gabor; Potts, Christopher; Manning, Christopher D.",
        "A large annotated corpus for learning natural language inference",
        2015,
        _EMNLP.format("2015"),
        "632--642",
        doi="10.18653/v1/D15-1075",
    ),
    "pang2004": _talk(
        "Pang, Bo; Lee, Lillian",
        "A sentimental education: sentiment analysis using subjectivity summarization based on minimum cuts",
        2004,
        _ACL.format("42nd"),
        "271--278",
    ),
    "li2002": _talk(
        "Li, Xin; Roth, Dan",
        "Learning question classifiers",
        2002,
        "COLING 2002: The 19th International Conference on Computational Linguistics",
    ),
    "zaidan2007": _talk(
        "Zaidan, Omar; Eisner, Jason; Piatko, Christine",
        "Using annotator rationales to improve machine learning for text categorization",
        2007,
        "Human Language Technologies 2007: The Conference of the North American Chapter of the Association for "
        "Computational Linguistics",
        "260--267",
    ),
    "linzen2016": _article(
        "Linzen, Tal; Dupoux, Emmanuel; Goldberg, Yoav",
        "Assessing the ability of LSTMs to learn syntax-sensitive dependencies",
        2016,
        "Transactions of the Association for Computational Linguistics",
        "4",
        "521--535",
    ),
    "sen2020": _talk(
        "Sen, Cansu; Hartvigsen, Thomas; Yin, Biao; Kong, Xiangnan; Rundensteiner, Elke",
        "Human attention maps for text classification: do humans and neural networks focus on the same words?",
        2020,
        _ACL.format("58th"),
        "4596--4608",
    ),
}
"""BibTeX key → work."""


def bibtex(keys: Iterable[str]) -> str:
    """BibTeX entries of these works, sorted by key, each once.

    The entries are ASCII (accents as LaTeX commands), and titles keep their capitals.

    Raises:
        ValueError: for a key that is not in ``REFERENCES``.
    """
    return "\n".join(_entry(key, work) for key, work in _works(keys))


def reference_list(keys: Iterable[str]) -> list[str]:
    """The same works as text, one string each, in the order of ``bibtex``."""
    return [_text(work) for _, work in _works(keys)]


def cite(keys: Iterable[str], *, latex: bool = False) -> str:
    r"""``"(Jain and Wallace, 2019; Kim, 2014)"``, or ``\citep{jain2019,kim2014}`` of natbib; empty without keys.

    Raises:
        ValueError: as ``bibtex``.
    """
    listed = list(dict.fromkeys(keys))
    works = dict(_works(listed))
    if not listed:
        return ""
    return f"\\citep{{{','.join(listed)}}}" if latex else f"({'; '.join(works[key].short() for key in listed)})"


def _works(keys: Iterable[str]) -> list[tuple[str, Reference]]:
    wanted = sorted(set(keys))
    unknown = [key for key in wanted if key not in REFERENCES]
    if unknown:
        raise ValueError(f"there are no references {unknown}; known keys are {sorted(REFERENCES)}")
    return [(key, REFERENCES[key]) for key in wanted]


def _entry(key: str, work: Reference) -> str:
    fields = {"author": " and ".join(work.authors), "title": work.title, **dict(work.fields), "year": str(work.year)}
    shown = []
    for name, value in fields.items():
        text = value if name in ("doi", "eprint", "pages") else _ascii(value)
        # Styles lower the case of titles; a capital after the first letter is meant.
        text = re.sub(r"(?<!^)\b(\w*[A-Z]\w*)", r"{\1}", text) if name == "title" else text
        shown.append(f"  {name} = {{{text}}},")
    return "\n".join([f"@{work.kind}{{{key},", *shown, "}"]) + "\n"


_ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"'}


def _ascii(text: str) -> str:
    """Accented letters as LaTeX commands, all else as ``escape_latex`` has it."""
    shown = []
    for sign in text:
        parts = unicodedata.normalize("NFD", sign)
        if len(parts) == 2 and parts[1] in _ACCENTS:
            shown.append(f"{{\\{_ACCENTS[parts[1]]}{parts[0]}}}")
        else:
            shown.append({"Ł": "{\\L}", "ł": "{\\l}"}.get(sign) or escape_latex(sign))
    return "".join(shown)


def _text(work: Reference) -> str:
    fields = {name: value.replace("--", "–") for name, value in work.fields}
    names = [f"{given} {family}" for family, _, given in (author.partition(", ") for author in work.authors)]
    authors = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    place = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or fields.get("howpublished")
    place = place or f"arXiv:{fields['eprint']}"
    volume = f" {fields['volume']}" if "volume" in fields else ""
    pages = f", {fields['pages']}" if "pages" in fields else ""
    doi = f". doi:{fields['doi']}" if "doi" in fields else ""
    title = work.title if work.title.endswith("?") else f"{work.title}."
    return f"{authors} ({work.year}). {title} {place}{volume}{pages}{doi}."
