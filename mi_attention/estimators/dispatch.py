"""One function for people in a hurry, by a rule that can be read."""

from __future__ import annotations

from numpy.typing import ArrayLike

from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.labels import as_classes, as_continuous, is_discrete
from mi_attention.estimators.probe import Probe
from mi_attention.estimators.ross import Ross
from mi_attention.estimators.samples import as_states
from mi_attention.interface import MIEstimate

__all__ = ["CLASS_ROWS", "LOW_DIMENSION", "mutual_information"]

# Up to this many columns neighbours are near enough for nearest-neighbour estimates.
LOW_DIMENSION = 5
# Rows a class needs for them.
CLASS_ROWS = 30


def mutual_information(x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, seed: int = 0) -> MIEstimate:
    """Estimate I(x; y) in nats with the estimator that suits the data; the signature says which it was.

    The rule:

    - y of classes (integers, strings, booleans, categoricals; floats that repeat, see ``labels``):
      x of at most 5 columns and at least 30 rows in every class → ``Ross(k=5)``, which sees any dependence; else →
      ``Probe``, which sees what a linear reader can use. In low dimension with smooth dependence both agree:
      ``Probe`` is the cross-check.
    - y continuous, at most 5 columns of x and y together → ``KSG(k=5)``.
    - y continuous in higher dimension is refused: neighbours stay nats too low there. Bin y at quantiles you declare.

    Args:
        x: ``(n, d)`` or ``(n,)`` states.
        y: ``(n,)`` classes or values, or ``(n, dy)`` values.
        groups: ``(n,)`` the instance of each row where rows share instances.
        seed: Of the probe's folds.

    Raises:
        ValueError: bad input, or a continuous y in high dimension.
    """
    states = as_states(x)
    n, width = states.shape
    if is_discrete(y):
        counts = as_classes(y, n).counts
        if width <= LOW_DIMENSION and len(counts) > 1 and int(counts.min()) >= CLASS_ROWS:
            return Ross(k=5).estimate(states, y, groups)
        return Probe(seed=seed).estimate(states, y, groups)
    joint = width + as_continuous(y, n).shape[1]
    if joint > LOW_DIMENSION:
        raise ValueError(
            f"y is continuous and x and y have {joint} columns together; nearest neighbours stay far too low above "
            f"{LOW_DIMENSION}: bin y at quantiles you declare (numpy.digitize) and estimate again, or call KSG yourself"
        )
    return KSG(k=5).estimate(states, y, groups)
