"""Neural lower bounds of mutual information: MINE, NWJ, InfoNCE and SMILE, all units trained as one batch of critics.

``Neural`` is the estimator; it loads torch at its first estimate. The bounds themselves are pure functions of a score
matrix in ``mi_attention.estimators.neural.losses``, which imports torch.
"""

from mi_attention.estimators.neural.estimator import Neural
from mi_attention.estimators.neural.options import CriticOptions

__all__ = ["CriticOptions", "Neural"]
