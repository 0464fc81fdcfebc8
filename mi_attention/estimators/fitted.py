"""A probe fitted once, to be evaluated on rows it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.estimators.axes import Axes
from mi_attention.estimators.labels import as_classes
from mi_attention.estimators.members import LinearFits
from mi_attention.estimators.reading import Reading
from mi_attention.estimators.samples import as_states, check_finite, row_blocks
from mi_attention.estimators.stack import smoothed_log_probabilities
from mi_attention.estimators.subspace import Subspaces
from mi_attention.interface import FloatArray, IntArray

__all__ = ["FittedProbe"]


@dataclass(frozen=True, eq=False)
class FittedProbe:
    """A conditional distribution q(class | state) and the class distribution p it was trained with.

    Attributes:
        classes: ``(C,)`` class labels, sorted; the columns of every ``(n, C)`` result.
        log_prior: ``(C,)`` log share of each class in the training rows.
        centre: ``(d,)`` subtracted from states first.
        scale: ``(d,)`` by which they are divided then.
        fits: The fitted members, each with one part.
        reading: What stands on the members' evidence; None where the states were constant.
        axes: Principal axes, None for a linear reader.
        subspace: The directions beyond the means of the classes, None for a linear reader.
        smoothing: Weight of the prior mixed into q: 1 over the number of independent training rows.
    """

    classes: NDArray[Any]
    log_prior: FloatArray
    centre: FloatArray
    scale: FloatArray
    fits: tuple[LinearFits, ...]
    reading: Reading | None
    axes: Axes | None
    subspace: Subspaces | None
    smoothing: float

    def log_probabilities(self, x: ArrayLike) -> FloatArray:
        """``(n, C)`` log q(class | x) in nats of states ``(n, d)``, read in blocks.

        Raises:
            ValueError: wrong width, NaN or infinity.
        """
        states = as_states(x)
        if states.shape[1] != len(self.centre):
            raise ValueError(f"x has {states.shape[1]} columns but the probe was fitted on {len(self.centre)}")
        check_finite(states)
        result = np.empty((len(states), len(self.classes)))
        for start, stop in row_blocks(len(states), max(states.shape[1], 4 * len(self.classes))):
            block = np.subtract(states[start:stop], self.centre, dtype=np.float64) / self.scale
            scores = np.zeros((len(self.classes), stop - start))
            if self.reading is not None:
                block = block if self.axes is None else self.axes.cut(block)
                evidence = np.stack([fit.evidence(block, [0])[0] for fit in self.fits])
                at = None if self.subspace is None else self.subspace.coordinates(block, 0)
                scores = self.reading.scores(evidence, at)
            result[start:stop] = smoothed_log_probabilities(scores, self.log_prior, self.smoothing).T
        return result

    def support(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """``(n,)`` log q(y|x) − log p(y) in nats; the mean over fresh rows is a lower bound in expectation.

        Raises:
            ValueError: a class of y that the probe was not trained on.
        """
        logs = self.log_probabilities(x)
        codes = self._codes(y, len(logs))
        return np.asarray(logs[np.arange(len(logs)), codes] - self.log_prior[codes])

    def informativeness(self, x: ArrayLike) -> FloatArray:
        """``(n,)`` KL(q(·|x) ‖ p) in nats, at least 0."""
        logs = self.log_probabilities(x)
        return np.asarray((np.exp(logs) * (logs - self.log_prior)).sum(axis=1))

    def _codes(self, y: ArrayLike, n: int) -> IntArray:
        labels = as_classes(y, n)
        place = np.searchsorted(self.classes, labels.classes)
        known = np.append(self.classes, self.classes[-1:])[place] == labels.classes
        if not known.all():
            raise ValueError(
                f"y has class {labels.classes[~known][0]}, which the probe was not trained on: {self.classes}"
            )
        return np.asarray(place[labels.codes], dtype=np.int64)
