"""From a held-out and an in-sample value to a level: an estimate with the first-order bias of training removed.

Fitting p parameters to n rows makes the held-out value too low and the in-sample value too high by about
p/2n each, so that their mean is right to first order. What remains falls as 1/n², and the same mean at half
the rows tells how large it is.
"""

from __future__ import annotations

import numpy as np

from mi_attention.interface import MIEstimate

__all__ = ["corrected_level", "gate", "level_standard_error"]

# Share of the correction that counts as uncertain; picked by experiment, for intervals that cover 90 % and more of
# linear and antipodal designs at 2000 rows of 128 dimensions.
CORRECTION_UNCERTAINTY = 0.7
# Held-out value, in standard errors, at which half of the correction is believed.
HALF_TRUST = 2.0


def gate(value: float, standard_error: float) -> float:
    """Trust in [0, 1) that there is something to correct: t⁴/(1 + t⁴), t = max(value, 0) / (2 standard errors)."""
    if not value > 0:
        return 0.0
    if not standard_error > 0:
        return 1.0
    fourth = (value / (HALF_TRUST * standard_error)) ** 4
    return fourth / (1 + fourth)


def corrected_level(
    *,
    held_out: float,
    in_sample: float,
    held_out_half: float,
    in_sample_half: float,
    folds: int,
    standard_error: float,
    ceiling: float,
) -> float:
    """The gated, capped level in nats.

    With mid the mean of the held-out and in-sample values at ``folds`` folds and mid2 the same at two, the level is
    held_out + gate · (mid + r/(4 − r) · (mid − mid2) − held_out), r = (1 − 1/folds)⁻², and never above the ceiling.
    It equals the held-out value where that is not positive, so it keeps its sign and makes no ties.

    Args:
        held_out: Mean held-out log ratio in nats.
        in_sample: The same on the training rows of each fit.
        held_out_half: Held out, trained on half the rows.
        in_sample_half: In sample, trained on half the rows.
        folds: Number of folds behind ``held_out``.
        standard_error: Of ``held_out``.
        ceiling: H(Y).
    """
    mid = (held_out + in_sample) / 2
    if folds > 2:
        ratio = (1 - 1 / folds) ** -2
        mid += ratio / (4 - ratio) * (mid - (held_out_half + in_sample_half) / 2)
    return float(min(ceiling, held_out + gate(held_out, standard_error) * (mid - held_out)))


def level_standard_error(estimate: MIEstimate) -> float:
    """Standard error of ``nats`` of a probe, larger than that of its held-out value.

    Returns:
        sqrt(se² + (0.7 (nats − lower_bound))²); NaN where the estimate is undefined. The share 0.7 was picked on draws
        of 2000 rows of 128 dimensions; what intervals cover on draws 201 to 205, which had no part in that, is in
        ``results/accuracy/required.md``.
    """
    if estimate.status != "ok" or estimate.lower_bound is None:
        return float("nan")
    correction = CORRECTION_UNCERTAINTY * (estimate.nats - estimate.lower_bound)
    return float(np.hypot(estimate.standard_error, correction))
