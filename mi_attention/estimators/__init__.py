"""Mutual information between a hidden state and an output, in nats.

**Which one when**

=================== ============================ =======================================================================
estimator           for                          what the number is
=================== ============================ =======================================================================
``Probe``           classes, x of any dimension  ``lower_bound``: held-out H(Y) − cross-entropy, a lower bound in
                    (hidden states: the default) expectation and *usable* information of a linear reader; ``nats``: the
                    same with the bias of training removed, an estimate, at most H(Y)
``Ross``            classes, d up to about 5     estimate, sees any dependence; signed, never clipped
``KSG``             continuous y, few columns    estimate, sees any dependence; signed, unbounded
``NPEET``           published numbers            NPEET's own value; warns above d = 8
``mutual_information``  people in a hurry        whichever of the first three the data suit, by a documented rule
=================== ============================ =======================================================================

**What every result says**: ``nats`` with ``standard_error``, ``ceiling`` H(Y), ``local`` values whose mean is the raw value,
and ``status``: a single class or a class in one group only is *undefined*, with the reason, never 0. A constant state is
exactly 0 and flagged in ``reason``. Values are signed: near independence about half are negative, and clipping them would tie all
weak positions and bias their mean.

**Rows that share an instance** need ``groups``: folds, neighbours and standard errors then go by instance. Without it contextual
states of one instance give its label away, and random labels read as information.

**Measured** (class-conditional Gaussians, d = 128, N = 2000, 20 positions of known and different MI, linear class differences, one
draw each; Kendall tau with the truth / RMSE in nats):

======================== ============= ============= ==============
\\                        2 classes     4 classes     2 cl., t(3)
======================== ============= ============= ==============
Probe ``lower_bound``    .99 / .022    .97 / .058    1.0 / .024
Probe ``nats``           .99 / .006    .97 / .015    1.0 / .012
======================== ============= ============= ==============

**Shrunk discriminants or ridge-logistic regression?** Both were measured on the same folds (held-out nats, mean over positions;
λ chosen by hand for the logistic). The stack of two shrinkages, one near the covariance and one near the sphere, is as good as
or better than either alone and needs no iteration over rows:

============================ ======== =========== ========== =============
data (2 classes)             one LDA  LDA stack   ridge .01  ridge .1
============================ ======== =========== ========== =============
Gaussian, N=2000, d=128      .331     .331        .330       .306
t(3) nuisance, same          .330     .330        .318       .221
tanh features, N=2000        .211     .234        .224       .237
ReLU features, N=800         .182     .213        .191       .208
============================ ======== =========== ========== =============

**Failure modes**

- The probe is linear: an XOR-like state reads 0. That is what a linear reader can use of it, not what it holds.
- MI below about .1 nats cannot be told from 0 at N = 500, d = 256; say the standard error beside every value.
- ``nats`` uses the in-sample likelihood to estimate the bias; it is not a bound. Report ``lower_bound`` too.
- With few groups and many rows a group, the correction of ``nats`` is rough; trust ``lower_bound``.
- Nearest neighbours in high dimension: half a nat low at d = 128, whatever N. PCA before them throws the label's directions away.
- A float output with many values is refused by classifiers: bin it at declared quantiles.

References: Ross (2014); Kraskov, Stögbauer, Grassberger (2004); Gao et al. (2017); Xu et al. (2020); Chen et al. (2010).
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
