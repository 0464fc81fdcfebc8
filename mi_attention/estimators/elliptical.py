"""Gaussian and Student t copulas: degrees of freedom by held-out likelihood, the level without first-order bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, polygamma, psi
from scipy.stats import t as student

from mi_attention.estimators.calibration import calibrate, shuffled_partners
from mi_attention.estimators.samples import cluster_standard_error, count_independent
from mi_attention.estimators.scores import agreeing_ranks, rank_resolution, untied
from mi_attention.interface import IntArray

__all__ = [
    "DEGREES",
    "EllipticalCopula",
    "chance_spread",
    "fit_elliptical",
    "full_rank",
    "gaussian_information",
    "grouped_information",
    "optimism_share",
    "pair_information",
    "student_excess",
]

Matrix = NDArray[np.float64]

# Degrees of freedom tried, from the Gaussian down; the search stops where the likelihood falls, and refines once.
DEGREES = (np.inf, 64.0, 32.0, 16.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.7)
SCATTER_STEPS = 8
# Standard errors by which a copula must fall short before it is taken to claim too much.
EVIDENCE = 3.0
# Share of rows that agree in rank above which ranks do not tell how strong the dependence is.
AGREEING_SHARE = 0.5
# Directions with less than this share of the largest eigenvalue are rounding.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class EllipticalCopula:
    """A fitted copula.

    Attributes:
        degrees: Degrees of freedom; infinite for the Gaussian.
        information: I(x; y) in nats under it.
        local: ``(n,)`` held-out log ratio log c(x, y) − log c(x) − log c(y) in nats.
        refitted: Whether ``information`` and ``local`` are those of the ratio refitted to joint and independent
            pairs, because it over-claimed.
    """

    degrees: float
    information: float
    local: Matrix
    refitted: bool


def full_rank(x: Matrix) -> Matrix:
    """``(n, rank)`` the centred rows in whitened principal axes; columns that others determine are gone."""
    centred = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(x))
    kept = values > RANK_TOLERANCE * values.max()
    return np.asarray(centred @ (vectors[:, kept] / np.sqrt(values[kept])))


def pair_information(x: Matrix, y: Matrix) -> Matrix:
    """``(r,)`` plug-in values −½ log(1 − ρ_i²) of the canonical pairs in nats, the strongest first.

    Args:
        x: ``(n, d)``.
        y: ``(n, dy)``; n must exceed the rank of both together.

    Returns:
        Infinity for a pair whose directions determine each other.

    Raises:
        ValueError: too few rows.
    """
    return _pairs(full_rank(x), full_rank(y))


def _pairs(white_x: Matrix, white_y: Matrix) -> Matrix:
    n, joint = len(white_x), white_x.shape[1] + white_y.shape[1]
    if n <= joint + 1:
        raise ValueError(f"{n} rows cannot give a covariance of {joint} columns; use the held-out value")
    squared = np.linalg.svd(white_x.T @ white_y / n, compute_uv=False) ** 2
    determined = squared > 1 - RANK_TOLERANCE
    return np.asarray(np.where(determined, np.inf, -0.5 * np.log1p(-np.where(determined, 0.0, squared))))


def gaussian_information(x: Matrix, y: Matrix, corrected: bool = True, most: float = np.inf) -> float:
    """−½ Σ log(1 − ρ_i²) over canonical correlations in nats, exactly unbiased for independent Gaussian rows.

    The mean of the log determinant of a sample covariance is known (Misra, Singh, Demchuk, 2005): that of d columns
    and n rows is high by Σ_{i=1}^{d} ψ((n − i)/2) − d log((n − 1)/2). The corrections of x, y and both together are
    taken off, as Ince et al. (2017) do.

    Args:
        x: ``(n, d)``.
        y: ``(n, dy)``; n must exceed the rank of both together.
        corrected: Take the bias off; False gives the plug-in value, for rows that are not independent.
        most: Nats that a single pair counts for at most.

    Returns:
        Infinity where one determines a direction of the other.

    Raises:
        ValueError: too few rows.
    """
    white_x, white_y = full_rank(x), full_rank(y)
    plain = float(np.minimum(_pairs(white_x, white_y), most).sum())
    if not corrected or plain == np.inf:
        return plain
    return plain - _information_bias(len(x), white_x.shape[1], white_x.shape[1] + white_y.shape[1])


def grouped_information(x: Matrix, y: Matrix, fold: IntArray, independent: int) -> float:
    """Gaussian information in nats of rows that share groups, from the in-sample and the held-out value.

    The in-sample value is high and the held-out log ratio under unshrunk Gaussians of the other folds is low, whatever
    the dependence of the rows. Between them lies the level at the share of their distance that belongs to the first
    (``optimism_share``).

    Args:
        x: ``(n, d)``.
        y: ``(n, dy)``.
        fold: ``(n,)``, whole groups in one.
        independent: Number of groups; those outside a fold must exceed the rank of x and y together by 2.
    """
    plain = gaussian_information(x, y, corrected=False)
    white_x, white_y = full_rank(x), full_rank(y)
    both, width = np.hstack([white_x, white_y]), white_x.shape[1]
    held_out = 0.0
    for index in range(int(fold.max()) + 1):
        train, held = both[fold != index], both[fold == index]
        centre = train.mean(axis=0)
        covariance = (train - centre).T @ (train - centre) / len(train)
        for sign, columns in ((1, slice(None)), (-1, slice(width)), (-1, slice(width, None))):
            rows = (held - centre)[:, columns]
            held_out += sign * float(_log_density(rows, covariance[columns, columns], np.inf).sum()) / len(both)
    share = optimism_share(independent, int(fold.max()) + 1, width, both.shape[1])
    return plain - share * (plain - held_out)


def optimism_share(independent: int, folds: int, width: int, columns: int) -> float:
    """Share of the distance from the in-sample to the held-out Gaussian value that is too much in the first.

    Both biases are known for independent Gaussian rows. Rows of one group count as copies of one row; where they are
    not, both biases shrink and their shares stay about the same, one half in the limit.

    Args:
        independent: Number of groups.
        folds: Number of folds; the groups outside one must exceed ``columns`` by 2.
        width: d.
        columns: d + dy.
    """
    high = _information_bias(independent, width, columns)
    return high / (high + _cost(independent - -(-independent // folds), width, columns))


def chance_spread(n: int, width: int, other: int) -> float:
    """Standard deviation in nats of ``gaussian_information`` of n independent rows of independent x and y.

    Exact: exp(−2 I) is Wilks' Λ, a product of Beta variables with parameters (n − d − i)/2 and d/2, i = 1 … dy (Wilks,
    1932). Near independence it is what the pointwise values do not show.

    Args:
        n: Independent rows, more than d + dy + 1.
        width: d.
        other: dy.
    """
    i = np.arange(1, other + 1)
    return float(np.sqrt((polygamma(1, (n - width - i) / 2) - polygamma(1, (n - i) / 2)).sum()) / 2)


def student_excess(degrees: float, width: int, other: int) -> float:
    """What the shared scale of a multivariate t adds to the Gaussian value, in nats.

    h(ν, d) + h(ν, dy) − h(ν, d + dy), with h the entropy of the standard t of that dimension without its determinant
    (Czyż et al., 2023, who give the information of the multivariate t).

    Args:
        degrees: ν, positive; infinite gives 0.
        width: d.
        other: dy.
    """
    if not np.isfinite(degrees):
        return 0.0

    def entropy(d: int) -> float:
        half = degrees / 2
        shape = gammaln(half) - gammaln(half + d / 2) + d / 2 * np.log(degrees * np.pi)
        return float(shape + (half + d / 2) * (psi(half + d / 2) - psi(half)))

    return entropy(width) + entropy(other) - entropy(width + other)


def fit_elliptical(
    scores: Matrix, width: int, fold: IntArray, seed: int, groups: IntArray | None
) -> EllipticalCopula | None:
    """The elliptical copula with the best held-out likelihood, unless it over-claims; None where no copula holds.

    Ranks are a lattice, not a density: with strong dependence most ranks of x and y agree, the scatter of heavy tails
    collapses on the rows where they do, and its likelihood grows without end. Hence no copula holds where the best one
    gives its strongest pair, with what the shared scale adds, more than ranks can show (``rank_resolution``), and where
    most ranks of a column of x and one of y agree. Tied scores sit on points too: degrees of freedom are chosen on
    scores whose ties are broken at random.

    The likelihood compared is that of the copula of all columns, which is proper: the log ratio of x and y would
    reward margins that fit badly. It can still prefer a scale that x and y share where each has heavy tails of its
    own, and the closed form would then read independent vectors as dependent. Hence a copula over-claims where its
    held-out log ratio falls short of the closed form by more than estimating the scatter costs, or where pairs of
    different rows look too much like joint ones (``calibration``). Then the t or the Gaussian counts, whichever tells
    joint and independent pairs apart better when refitted; and refitted if it over-claims. A refitted ratio above the
    closed form that it replaces comes of pairs that are all told apart, where its slope has no limit: it does not
    count, and where none is left the closed form or the held-out value of the Gaussian does, whichever is lower.

    The level of a copula that does not is its closed form. If rows are independent its sampling bias is taken off
    exactly (``gaussian_information``); with groups it lies between the in-sample and the held-out value, at the share
    of their distance that the first is too high by (``optimism_share``).

    Args:
        scores: ``(n, d + dy)`` normal scores of x and y, no column determined by the others.
        width: d.
        fold: ``(n,)`` which fold holds a row out.
        seed: Of the independent pairs.
        groups: ``(n,)`` instance of each row, or None.
    """
    try:
        return _fit(scores, width, fold, seed, groups)
    except np.linalg.LinAlgError:
        # The scatter of some training rows has no inverse: without the rows of one fold the ranks coincide.
        return None


def _fit(scores: Matrix, width: int, fold: IntArray, seed: int, groups: IntArray | None) -> EllipticalCopula | None:
    uniform = ndtr(scores)
    loose = untied(scores, np.random.default_rng([seed, 6]))
    most = rank_resolution(count_independent(len(scores), groups))

    def attempt(degrees: float) -> tuple[float, Matrix]:
        likelihood, ratio = _held_out(scores, uniform, degrees, width, fold)
        if loose is not scores:
            likelihood = _held_out(loose, ndtr(loose), degrees, width, fold)[0]
        return likelihood, ratio

    # A few rows that are far off in rank hide from the correlation that all others agree.
    agreeing = agreeing_ranks(loose[:, :width], loose[:, width:])
    if agreeing > AGREEING_SHARE or _strongest(scores, uniform, DEGREES[0], width) > most:
        return None
    tried = {DEGREES[0]: attempt(DEGREES[0])}
    best = DEGREES[0]
    for degrees in DEGREES[1:]:
        tried[degrees] = attempt(degrees)
        if tried[degrees][0] <= tried[best][0]:
            break
        best = degrees
        if _strongest(scores, uniform, best, width) > most:
            return None
    # The optimum lies between the neighbours of the best: try the geometric mean with each.
    if np.isfinite(best):
        place = DEGREES.index(best)
        for neighbour in (DEGREES[place - 1], DEGREES[min(place + 1, len(DEGREES) - 1)]):
            middle = float(np.sqrt(best * neighbour)) if np.isfinite(neighbour) else 2 * best
            tried.setdefault(middle, attempt(middle))
        best = max(tried, key=lambda degrees: tried[degrees][0])
        if _strongest(scores, uniform, best, width) > most:
            return None
    pieces, folds = count_independent(len(scores), groups), int(fold.max()) + 1
    partners = shuffled_partners(fold, groups, np.random.default_rng([seed, 5]))
    found = []
    for degrees in dict.fromkeys((best, np.inf)):
        local = tried[degrees][1]
        apart = np.stack([_held_out(scores, uniform, degrees, width, fold, row)[1] for row in partners])
        calibration = calibrate(local, apart, partners >= 0, groups)
        level = _closed_form(scores, uniform, degrees, width, corrected=groups is None)
        short = level - float(local.mean()) - _cost(int(pieces * (1 - 1 / folds)), width, scores.shape[1])
        over = calibration.overclaims or short > EVIDENCE * cluster_standard_error(local, groups)
        if over:
            refitted = EllipticalCopula(degrees, float(calibration.ratio.mean()), calibration.ratio, True)
            if refitted.information <= level:
                found.append((calibration.likelihood, refitted))
            continue
        if groups is not None:
            level -= optimism_share(pieces, folds, width, scores.shape[1]) * (level - float(local.mean()))
        found.append((calibration.likelihood, EllipticalCopula(degrees, level, local, False)))
    if not found:
        # The Gaussian was the last that was tried.
        return EllipticalCopula(degrees, min(level, float(local.mean())), local, False)
    if not found[0][1].refitted:
        return found[0][1]
    return max(found, key=lambda pair: pair[0])[1]


def _held_out(
    scores: Matrix, uniform: Matrix, degrees: float, width: int, fold: IntArray, partner: IntArray | None = None
) -> tuple[float, Matrix]:
    """Mean held-out log likelihood of the copula and ``(n,)`` log ratios; of x with y of its partner if given."""
    values = _quantiles(scores, uniform, degrees)
    likelihood, ratio = np.empty((2, len(values)))
    for index in range(int(fold.max()) + 1):
        held = np.flatnonzero(fold == index)
        train = fold != index
        scatter = _scatter(values[train], scores[train], degrees)
        x, y = values[held, :width], values[held if partner is None else np.maximum(partner[held], 0), width:]
        both = _log_density(np.hstack([x, y]), scatter, degrees)
        ratio[held] = both - _log_density(x, scatter[:width, :width], degrees)
        ratio[held] -= _log_density(y, scatter[width:, width:], degrees)
        margins = sum(_log_density(values[held, j, None], np.eye(1), degrees) for j in range(values.shape[1]))
        likelihood[held] = both - margins
    return float(likelihood.mean()), ratio


def _closed_form(scores: Matrix, uniform: Matrix, degrees: float, width: int, corrected: bool) -> float:
    values = _weighted(scores, uniform, degrees)
    level = gaussian_information(values[:, :width], values[:, width:], corrected=corrected)
    return level + student_excess(degrees, width, scores.shape[1] - width)


def _strongest(scores: Matrix, uniform: Matrix, degrees: float, width: int) -> float:
    """Nats of the strongest pair of the copula, with what the shared scale adds."""
    values = _weighted(scores, uniform, degrees)
    pair = float(pair_information(values[:, :width], values[:, width:]).max())
    return pair + student_excess(degrees, width, scores.shape[1] - width)


def _weighted(scores: Matrix, uniform: Matrix, degrees: float) -> Matrix:
    """Rows weighted as the scatter weights them: a sample whose covariance is the scatter."""
    values = _quantiles(scores, uniform, degrees)
    if not np.isfinite(degrees):
        return values
    return np.asarray(values * np.sqrt(_weights(values, _scatter(values, scores, degrees), degrees))[:, None])


def _quantiles(scores: Matrix, uniform: Matrix, degrees: float) -> Matrix:
    return np.asarray(student.ppf(uniform, degrees)) if np.isfinite(degrees) else scores


def _information_bias(n: int, width: int, columns: int) -> float:
    bias = _determinant_bias(n, width) + _determinant_bias(n, columns - width) - _determinant_bias(n, columns)
    return bias / 2


def _determinant_bias(n: int, d: int) -> float:
    return float(psi((n - np.arange(1, d + 1)) / 2).sum() - d * np.log((n - 1) / 2))


def _cost(n: int, width: int, columns: int) -> float:
    """Nats that a held-out Gaussian log ratio loses in expectation because its covariance comes from n rows."""

    def loss(d: int) -> float:
        # E tr(S⁻¹Σ) and E log|S| of a Wishart matrix with n degrees of freedom.
        return float(n * d / (n - d - 1) + psi((n + 1 - np.arange(1, d + 1)) / 2).sum() + d * np.log(2 / n))

    return (loss(columns) - loss(width) - loss(columns - width)) / 2


def _weights(values: Matrix, scatter: Matrix, degrees: float) -> Matrix:
    distance = np.einsum("nd,nd->n", values, np.linalg.solve(scatter, values.T).T)
    return np.asarray((degrees + values.shape[1]) / (degrees + distance))


def _scatter(values: Matrix, scores: Matrix, degrees: float) -> Matrix:
    """Maximum likelihood scatter about 0 by reweighting, with unit diagonal as a copula has it."""
    scatter = scores.T @ scores / len(scores)
    for _ in range(SCATTER_STEPS if np.isfinite(degrees) else 0):
        weighted = values * _weights(values, scatter, degrees)[:, None]
        scatter = values.T @ weighted / len(values)
    size = np.sqrt(np.diag(scatter))
    return np.asarray(scatter / np.outer(size, size))


def _log_density(values: Matrix, scatter: Matrix, degrees: float) -> Matrix:
    d = values.shape[1]
    factor = np.linalg.cholesky(scatter)
    distance = np.square(np.linalg.solve(factor, values.T)).sum(axis=0)
    determinant = np.log(np.diag(factor)).sum()
    if not np.isfinite(degrees):
        return np.asarray(-0.5 * distance - determinant - d / 2 * np.log(2 * np.pi))
    half = degrees / 2
    constant = gammaln(half + d / 2) - gammaln(half) - d / 2 * np.log(degrees * np.pi)
    return np.asarray(constant - determinant - (half + d / 2) * np.log1p(distance / degrees))
