"""Mutual information between a hidden state and an output, in nats.

**Which one when**

- ``Probe``: y of classes, x of any dimension; the default for hidden states. ``lower_bound`` is the held-out
  H(Y) − cross-entropy: a lower bound in expectation, *usable* information of a linear reader. ``nats`` is the same with
  the bias of training removed: an estimate, at most H(Y).
- ``Ross``: y of classes, x of up to about 5 columns. An estimate that sees any dependence; signed, never clipped.
- ``KSG``: continuous y, few columns. An estimate that sees any dependence; signed, unbounded.
- ``NPEET``: to compare with published numbers. Warns above d = 8.
- ``mutual_information(x, y)``: one of the first three, by a rule its docstring states.

**What every result says**: ``nats`` with ``standard_error``, ``ceiling`` H(Y), ``local`` values whose mean is the raw
value, and ``status``: a single class, or a class in one group only, is *undefined* with its reason, never 0. A constant
state is exactly 0 and flagged in ``reason``. Values are signed: near independence many are negative, and clipping them
would tie all weak positions and bias their mean.

**Rows that share an instance** need ``groups``: folds, neighbours and standard errors then go by instance. Without it
contextual states of one instance give its label away, and random labels read as information.

**Measured** on class-conditional Gaussians, d = 128, N = 2000, 20 positions of known and different MI, linear class
differences, one draw each; Kendall tau with the truth / RMSE in nats:

===================== ============= ============= ======================
value                 2 classes     4 classes     2 classes, t(3) noise
===================== ============= ============= ======================
Probe ``lower_bound`` .99 / .022    .97 / .058    1.0 / .024
Probe ``nats``        .99 / .006    .97 / .015    1.0 / .012
===================== ============= ============= ======================

Grouped rows (200 to 2000 instances of 10 or 20 contextual rows, d = 64 or 128, true MI 0, .11 and .34, mean of 3
draws): ``nats`` was 0 within .002, and low by up to .03 at both others; ``lower_bound`` low by up to .08 and .12.

**Discriminants or ridge-logistic regression?** Mean held-out nats over 6 data sets of 2 classes each at d = 128, same
folds and same stack coefficient (``tests/benchmarks/linear_probe.py``):

================== ===== ======== =========== ========== ==========
states             N     one LDA  LDA stack   ridge .01  ridge .1
================== ===== ======== =========== ========== ==========
Gaussian           2000  .245     .245        .247       .226
Gaussian           800   .214     .214        .212       .173
t(3) noise         2000  .240     .240        .221       .124
t(3) noise         800   .192     .192        .176       .087
tanh features      2000  .210     .227        .217       .228
tanh features      800   .184     .215        .192       .215
ReLU features      2000  .211     .229        .218       .229
ReLU features      800   .169     .205        .173       .204
gated features     2000  .202     .218        .206       .218
gated features     800   .185     .208        .183       .206
================== ===== ======== =========== ========== ==========

The stack of a lightly and a strongly shrunk discriminant is at each line within .003 of the best, where each penalty of
the logistic loses somewhere, and it needs no iteration over rows: the probe is that stack. Shrinkage is the oracle
approximating one, which needs no fourth moments and did as well as Ledoit-Wolf or better; weights against outlying rows
gained nothing for linear members and were left out.

**Failure modes**

- The probe is linear: an XOR-like state reads 0. That is what a linear reader can use of it, not what it holds.
- Weak information is lost in few rows: at N = 500, d = 256 less than about .1 nats reads as nothing.
- ``nats`` uses the in-sample likelihood to estimate the bias; it is not a bound. Report ``lower_bound`` beside it.
- Nearest neighbours in high dimension stay far too low (half a nat at d = 128, whatever N). Principal components before
  them throw away the directions of small variance that carry the label.
- A float output with many values is refused by classifiers: bin it at quantiles you declare.

References: Kraskov, Stögbauer, Grassberger (2004); Chen et al. (2010); Ross (2014); Gao et al. (2017); Xu et al.
(2020).
"""

from mi_attention.estimators.dispatch import mutual_information
from mi_attention.estimators.fitted import FittedProbe
from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.labels import ClassLabels, as_classes, class_entropy
from mi_attention.estimators.levels import level_standard_error
from mi_attention.estimators.npeet import NPEET
from mi_attention.estimators.probe import Probe
from mi_attention.estimators.registry import estimator_names, make_estimator, register_estimator
from mi_attention.estimators.ross import Ross
from mi_attention.estimators.samples import SmallSampleWarning, cluster_standard_error

__all__ = [
    "KSG",
    "NPEET",
    "ClassLabels",
    "FittedProbe",
    "Probe",
    "Ross",
    "SmallSampleWarning",
    "as_classes",
    "class_entropy",
    "cluster_standard_error",
    "estimator_names",
    "level_standard_error",
    "make_estimator",
    "mutual_information",
    "register_estimator",
]
