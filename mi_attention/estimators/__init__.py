"""Mutual information between a hidden state and an output, in nats.

**Which one when** (``choose(x, y)`` applies these rules and says why)

- ``Probe``: y of classes, x of any dimension; the default for hidden states. ``lower_bound`` is the held-out
  H(Y) − cross-entropy: a lower bound in expectation, the information *usable* by its readers. ``nats`` is the same with
  the bias of training removed: an estimate, at most H(Y). ``Probe(members=("linear", "smooth", "sharp", "plain"))`` is
  a linear reader.
- ``Ross``: y of classes, x of up to about 5 columns. An estimate that sees any dependence; signed, never clipped.
- ``Mixture``: discrete, continuous or mixed x and y, few columns; ties need no noise.
  ``ConditionalMixture`` gives I(x; y | z).
- ``KSG``: continuous y, few columns. An estimate that sees any dependence; signed, unbounded.
- ``Copula``: continuous y (one column or several), x of any dimension; the default there. An estimate, not a bound,
  and of up to about log n nats a pair of directions: ``reason`` says where ranks cannot show more.
- ``Regression``: continuous y; a held-out lower bound, the information usable by a regression.
- ``Gaussian``: the linear-Gaussian part alone; blind to anything else. ``Discrete``: x and y of few values, with
  a correction by whole groups where rows share instances.
- ``ProbeKNN``: Ross on the probe's out-of-fold logits; it shares the probe and is no independent witness.
- ``Neural``: MINE, NWJ, InfoNCE and SMILE, held out, to compare with published numbers; each states its ceiling. At
  (128, 2000) and two balanced classes mean tau of eight designs is .79 (InfoNCE), .67, .68 (NWJ) and .62 (SMILE), the
  probe's .95, mean RMSE .14 to .18 against .03; at (256, 2000) tau is .37 to .41 against .95.
- ``NPEET`` and ``ScikitLearn``: to compare with published numbers. NPEET warns above d = 8.

**What every result says**: ``nats`` with ``standard_error``, ``ceiling`` H(Y), ``local`` values whose mean is the raw
value, and ``status``: a single class, a class in one group only and, for what is fitted and held out, fewer than 10
independent rows are *undefined* with the reason, never 0. A constant state is exactly 0 and flagged in ``reason``.
Values are signed: near independence many are negative, and clipping them would tie all weak positions and bias their
mean. ``interval`` gives an interval, ``subsample_interval`` that of neighbours, whose rows are no independent terms,
``permutation_test`` a p-value with labels permuted by instance, ``detection_limit`` what could have been found at all
in so many rows.

**Rows that share an instance** need ``groups``: folds, neighbours and standard errors then go by instance. Without it
contextual states of one instance give its label away, and random labels read as information.

**How the probe works.** Four linear discriminants are fitted outside each of ten folds and stacked: one with the oracle
approximating shrinkage, which needs no fourth moments and did as well as Ledoit-Wolf or better, one with much more, one
with a tenth of it and one with next to none. Around that, the few directions in which classes differ in covariance or
mean (higher-order orthogonal iteration on whitened class covariances) give features to Gaussians, one a class, and to a
quadratic logistic correction; a last stack with coefficients of at least 0 decides, unit by unit, what each of them is
worth. Models that learn with coefficients of free sign learn from features of fits that saw none of the rows they are
tested on (but for the scale of features and the frame in which subspaces are compared). In fewer than 16 rows a column
everything is read again along the principal axes that stand out, where at most half do, as in correlated states. In
fewer than 8 rows a column the linear discriminants come first, alone, and everything is read along all axes, .6 and
half of them, those of largest variance. The best of the further readings whose held-out gain over the first is beyond
chance (2.3 % for all of them together) takes its place.

**Measured** at d = 128, N = 2000 on designs with known information (``tests/benchmarks/accuracy.py``), 20 positions
from 0 to .75 H(Y), draws 201 to 205; mean Kendall tau of ``nats`` with the truth / mean RMSE in nats / coverage of the
95 % interval (``results/accuracy/required.md``):

===================================== ================= =================
design                                2 classes         4 classes
===================================== ================= =================
differences in mean                   1.0 / .012 / 1.0  1.0 / .018 / 1.0
half of the positions antipodal (XOR) .95 / .021 / .92  .96 / .032 / .95
the same with t(3) nuisance           .96 / .020 / .95  .97 / .031 / .95
the same in states of 20 factors      .97 / .017 / .88  .98 / .029 / .94
means, XOR, scales, three components  .91 / .041 / .87  .93 / .067 / .87
===================================== ================= =================

At independence ``nats`` was 0 within .001 on average, also with grouped rows.

``Probe(members=("linear", "smooth", "sharp", "plain"))`` orders the last four with .15 to .27 (draw 101, mean of 2 and
4 classes).

**Discriminants or ridge-logistic regression?** Mean held-out nats over 6 data sets of 2 classes each at d = 128, same
folds and same stack coefficient (``tests/benchmarks/linear_probe.py``):

================== ===== ======== =========== ========== ==========
states             N     one LDA  LDA stack   ridge .01  ridge .1
================== ===== ======== =========== ========== ==========
Gaussian           2000  .245     .245        .247       .226
Gaussian           800   .214     .214        .212       .174
t(3) noise         2000  .240     .241        .221       .124
t(3) noise         800   .192     .196        .177       .088
tanh features      2000  .210     .227        .217       .228
tanh features      800   .183     .214        .191       .214
ReLU features      2000  .211     .229        .218       .229
ReLU features      800   .169     .205        .173       .204
gated features     2000  .202     .218        .207       .218
gated features     800   .185     .209        .183       .206
spectrum           2000  .010     .247        .003       .001
spectrum           800   .000     .210        .000       .000
================== ===== ======== =========== ========== ==========

The stack of discriminants is at each line within .003 of the best, where each penalty of the logistic and a single
shrinkage lose somewhere, and it needs no iteration over rows. *Spectrum* is a label in the last direction of Gaussian
states whose standard deviations go from e^2.5 to e^-2.5: any strong pull towards the sphere hides it.

**Failure modes**

- The probe sees class differences in mean and covariance, and what quadratic functions of a few coordinates make of
  them. At 2000 rows of 128 columns classes that differ in covariance alone (XOR) are found from .08 nats (2 classes)
  or .16 (4 classes) beside positions that differ in mean, and from .14 or .27 among four kinds of signal
  (``results/accuracy/required_detection.csv``); single states of classes of three components read as little as half of
  what they hold, and four classes of very different spread .8.
- Information is lost in few rows. At d = 256 and two balanced classes differences in mean are found from .05 to .16
  nats at N = 500, .05 to .11 at 1000, .03 to .11 at 2000; XOR from .46 or not at all, from .19 to .25, from .08 to .14,
  but from .08 at all three in states of 20 factors. Mean tau of eight designs: .50, .86, .95; with four classes .60,
  .88, .96 (``results/accuracy/accuracy.md``, one draw a cell). In fewer than 8 rows a column, where no curved reading
  is better beyond chance, the value is that of a linear reader; the readings along fewer axes take those of largest
  variance: what other kinds of dependence hold in axes of smaller variance needs more rows. At d = 256 no estimator of
  another kind is ahead in RMSE where there is information (but by .001 on XOR of four 80/20 classes at 500, which
  nothing orders). In tau some are by more than .011, which is one of 190 pairs: at N = 500 several on means and XOR
  with t(3) nuisance (logistic regression .36 and an MLP .34 against .30 with 80/20 classes; NWJ .34, MINE .33, logistic
  regression .32 and SMILE .31 against .28 with balanced ones), Ross on the same of four classes (.27 against .20) and
  on four 80/20 classes of states of 20 factors (.76 against .60), NWJ and SMILE on means and XOR of four 80/20 classes
  (.32 against .30); at 1000 logistic regression on differences in mean of 80/20 classes (.97 against .95, RMSE .10
  against .02); XOR at 500 rows is ordered by nobody (tau up to .28). At 2000 rows of 128 columns logistic regression
  orders differences in mean of four 80/20 classes better (1.0 against .98, RMSE .07 against .01), and it and an MLP
  those of two classes after a nonlinear map of every coordinate (.94 and .96 against .92, RMSE .10 and .13 against
  .07). The linear reader has the better level on differences in mean by up to .007 and orders them better with 80/20
  classes at 500 (.86 against .80); ``ProbeKNN``, which reads the same logits, orders scales, three components and XOR
  better in 500 rows (.63, .60, .28 against .58, .48, 0), and means and XOR of 80/20 classes in 1000 (.73 against .62),
  at a lower level.
- The 95 % interval of ``nats`` knows nothing of information that the reader misses. At (128, 2000) and balanced classes
  it covers .80 to 1.0 of lin, xor, mixed, all4, heavy and lowrank, .60 and .80 (2 and 4 classes) of three components,
  .90 and .75 of scales; of the same after a nonlinear map of every coordinate 0 to .85, and of classes of 80 and 20 %
  .05 (XOR) to .95; of rows in groups .90. At d = 256 its mean over eight designs is .49 at N = 500, .79 at 1000, .88 at
  2000, and with 80/20 classes .38, .57, .64; in groups .25, .55, .78.
- ``nats`` uses the in-sample likelihood to estimate the bias; it is not a bound. Report ``lower_bound`` beside it.
- Nearest neighbours in high dimension stay far too low (half a nat at d = 128, whatever N). Principal components before
  them throw away the directions of small variance that carry the label.
- Floats of more than 20 values, whole or not, are a continuous output and refused by classifiers: use ``Copula`` or
  ``Regression``, or bin them at quantiles you declare. More classes than that must be integers or names; amounts in
  integers go to ``Copula`` as floats.

References: Kraskov, Stögbauer, Grassberger (2004); Chen et al. (2010); Ross (2014); Gao et al. (2017); Xu et al.
(2020).
"""

from mi_attention.estimators.choose import Choice, choose
from mi_attention.estimators.conditional import ConditionalMixture
from mi_attention.estimators.copula import Copula
from mi_attention.estimators.detection import DetectionLimit, detection_limit
from mi_attention.estimators.discrete import Discrete
from mi_attention.estimators.dispatch import mutual_information
from mi_attention.estimators.fitted import FittedProbe
from mi_attention.estimators.gaussian import Gaussian
from mi_attention.estimators.halves import HalfValues, split_half
from mi_attention.estimators.intervals import Interval, interval
from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.labels import ClassLabels, as_classes, class_entropy
from mi_attention.estimators.levels import level_standard_error
from mi_attention.estimators.mixture import Mixture
from mi_attention.estimators.neighbours import HighDimensionWarning
from mi_attention.estimators.neural import Neural
from mi_attention.estimators.npeet import NPEET
from mi_attention.estimators.permutation import (
    FixedLabelsError,
    PermutationTest,
    label_permutations,
    null_quantile,
    permutation_test,
)
from mi_attention.estimators.probe import Probe
from mi_attention.estimators.probe_knn import ProbeKNN
from mi_attention.estimators.registry import estimator_names, make_estimator, register_estimator
from mi_attention.estimators.regression import Regression
from mi_attention.estimators.ross import Ross
from mi_attention.estimators.samples import SmallSampleWarning, cluster_standard_error
from mi_attention.estimators.scikit_learn import ScikitLearn
from mi_attention.estimators.subsamples import subsample_interval
from mi_attention.estimators.summary import EstimateSummary, summarise

__all__ = [
    "KSG",
    "NPEET",
    "Choice",
    "ClassLabels",
    "ConditionalMixture",
    "Copula",
    "DetectionLimit",
    "Discrete",
    "EstimateSummary",
    "FittedProbe",
    "FixedLabelsError",
    "Gaussian",
    "HalfValues",
    "HighDimensionWarning",
    "Interval",
    "Mixture",
    "Neural",
    "PermutationTest",
    "Probe",
    "ProbeKNN",
    "Regression",
    "Ross",
    "ScikitLearn",
    "SmallSampleWarning",
    "as_classes",
    "choose",
    "class_entropy",
    "cluster_standard_error",
    "detection_limit",
    "estimator_names",
    "interval",
    "label_permutations",
    "level_standard_error",
    "make_estimator",
    "mutual_information",
    "null_quantile",
    "permutation_test",
    "register_estimator",
    "split_half",
    "subsample_interval",
    "summarise",
]
