"""The few directions in which classes differ in more than their means, found from covariances of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dtrtri

from mi_attention.estimators.axes import PrincipalRows
from mi_attention.estimators.discriminant import oracle_approximating_shrinkage
from mi_attention.estimators.moments import Parts, split_rows
from mi_attention.interface import IntArray

__all__ = ["RANK", "Subspaces", "align_to", "fit_subspaces", "is_whole"]

# Directions sought. Four take in two antipodal pairs and the scales of three directions with one to spare; the order of
# the directions lets the models on top use fewer.
RANK = 4
# Up to this many coordinates there is nothing to search for: all of them are the subspace.
ALL_COORDINATES = 6
# Higher-order orthogonal iterations; the subspace no longer moves after five to eight.
ITERATIONS = 8
# Numbers of class covariances held at once: 8 MiB.
PART_NUMBERS = 2**20
# Classes beyond the commonest are compared as one: the memory of their covariances grows with their number.
COMPARED_CLASSES = 8


# Of every class: counts, first and second moments.
_Moments: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Subspaces:
    """One subspace for each training part.

    Attributes:
        centre: ``(P, k)`` mean of the class means along the principal axes.
        projection: ``(P, k, r)`` from centred rows to coordinates of unit variance within classes.
    """

    centre: NDArray[np.float64]
    projection: NDArray[np.float64]

    def coordinates(self, block: NDArray[np.float64], part: int) -> NDArray[np.float64]:
        """``(b, r)`` coordinates of cut rows ``(b, k)``."""
        return np.asarray((block - self.centre[part]) @ self.projection[part])

    def coordinates_of_all(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """``(P, b, r)`` coordinates of cut rows ``(b, k)`` in every part's subspace."""
        parts, width, rank = self.projection.shape
        flat = block @ np.moveaxis(self.projection, 0, 1).reshape(width, parts * rank)
        shift = np.matmul(self.centre[:, None], self.projection)
        return np.asarray(np.moveaxis(flat.reshape(len(block), parts, rank), 1, 0) - shift)


def fit_subspaces(rows: PrincipalRows, codes: IntArray, parts: Parts | None) -> Subspaces:
    """Directions in which the classes differ most in covariance and mean, for every training part.

    With B whitening the (shrunk) covariance within classes, D_c = sqrt(p_c) Bᵀ(S_c − S̄)B and m_c = sqrt(p_c) Bᵀ(mean of
    class c − mean), the information of nearly equal Gaussian classes is Σ_c |D_c|²/4 + |m_c|²/2. The subspace U that
    keeps most of it comes by higher-order orthogonal iteration: U becomes the leading left singular vectors of
    [D_1 U … D_C U, √2 m_1 … √2 m_C], from the leading directions of Σ_c D_c². Directions come strongest first.

    Where there are at most 6 coordinates, all of them are the subspace, in every part.

    Args:
        rows: The unit's rows along their principal axes.
        codes: ``(n,)`` classes.
        parts: Training parts, or None for one part that holds all rows.

    References:
        De Lathauwer, De Moor, Vandewalle (2000), On the best rank-1 and rank-(R1, …, RN) approximation of tensors.
    """
    if is_whole(rows):
        count = 1 if parts is None else parts.count
        projection = np.broadcast_to(np.diag(1.0 / rows.axes.spread), (count, rows.width, rows.width))
        return Subspaces(centre=np.zeros((count, rows.width)), projection=projection)
    compared = _compared(codes)
    cells = _cell_moments(rows, compared, int(compared.max()) + 1, parts)
    members = np.ones((1, 1)) if parts is None else parts.of_cells().astype(np.float64)
    # Few parts at a time: a covariance of every class in dozens of parts would not fit where states are wide.
    size = max(1, PART_NUMBERS // cells[2][0].size)
    found = [_subspaces_of(members[i : i + size], cells, rows.axes.spread) for i in range(0, len(members), size)]
    return Subspaces(
        centre=np.concatenate([one.centre for one in found]),
        projection=np.concatenate([one.projection for one in found]),
    )


def _subspaces_of(members: NDArray[np.float64], cells: _Moments, spread: NDArray[np.float64]) -> Subspaces:
    """Subspaces of the parts that consist of these cells ``(P, cells)``."""
    counts, means, covariances = _class_moments(members, cells)
    share = counts / counts.sum(axis=1, keepdims=True)
    within = np.einsum("pc,pcij->pij", share, covariances)
    whitening = _whitening(within, counts.sum(axis=1) - counts.shape[1])
    # Single precision from here on: directions are noisy in the second digit, and there are dozens of parts.
    narrow = whitening.astype(np.float32)
    covariances -= within[:, None]
    differences = np.empty(covariances.shape, dtype=np.float32)
    # Weighted by their shares, differences sum to 0, so that those of the commonest class need no products.
    commonest = int(share.mean(axis=0).argmax())
    others = [label for label in range(share.shape[1]) if label != commonest]
    differences[:, others] = np.matmul(
        np.matmul(np.swapaxes(narrow, 1, 2)[:, None], covariances[:, others].astype(np.float32)), narrow[:, None]
    )
    relative = (share[:, others] / share[:, [commonest]]).astype(np.float32)
    differences[:, commonest] = -np.einsum("pc,pcij->pij", relative, differences[:, others])
    share = share.astype(np.float32)
    differences *= np.sqrt(share)[..., None, None]
    centred = means - np.einsum("pc,pck->pk", share, means)[:, None]
    shifts = np.swapaxes(np.matmul(centred, whitening) * np.sqrt(2 * share)[..., None], 1, 2).astype(np.float32)
    directions = _leading_directions(differences, shifts, min(RANK, len(spread)))
    return Subspaces(centre=means.mean(axis=1) * spread, projection=np.matmul(whitening, directions) / spread[:, None])


def is_whole(rows: PrincipalRows) -> bool:
    """Whether the subspace is all coordinates."""
    return rows.width <= ALL_COORDINATES


def align_to(
    reference: NDArray[np.float64], spread: NDArray[np.float64], projection: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The projection ``(k, r)`` turned within its subspace towards a reference (orthogonal Procrustes).

    Args:
        reference: ``(k, r)``.
        spread: ``(k,)`` standard deviation of the rows, on which both should agree, along each axis.
        projection: ``(k, r)``.
    """
    left, _, right = np.linalg.svd((projection * spread[:, None] ** 2).T @ reference)
    return np.asarray(projection @ (left @ right))


def _compared(codes: IntArray) -> IntArray:
    """Codes with all but the commonest classes put together as the last."""
    counts = np.bincount(codes)
    if len(counts) <= COMPARED_CLASSES:
        return codes
    order = np.argsort(-counts, kind="stable")
    place = np.full(len(counts), COMPARED_CLASSES - 1)
    place[order[: COMPARED_CLASSES - 1]] = np.arange(COMPARED_CLASSES - 1)
    return np.asarray(place[codes], dtype=np.int64)


def _cell_moments(rows: PrincipalRows, codes: IntArray, classes: int, parts: Parts | None) -> _Moments:
    """Counts ``(cells, C)``, sums ``(cells, C, k)`` and sums of squares ``(cells, C, k, k)`` of unit-variance rows."""
    cells, width = 1 if parts is None else 2 * parts.folds, rows.width
    counts = np.zeros((cells, classes))
    sums = np.zeros((cells, classes, width))
    scatter = np.zeros((cells, classes, width, width))
    for start, stop, block in rows.blocks():
        for cell, label, piece in split_rows(block / rows.axes.spread, codes[start:stop], classes, parts, start, stop):
            counts[cell, label] += len(piece)
            sums[cell, label] += piece.sum(axis=0)
            scatter[cell, label] += piece.T @ piece
    return counts, sums, scatter


def _class_moments(members: NDArray[np.float64], cells: _Moments) -> _Moments:
    """Counts ``(P, C)``, means ``(P, C, k)`` and covariances ``(P, C, k, k)`` of the classes in every part."""
    counts, sums, scatter = (np.tensordot(members, one, axes=1) for one in cells)
    # A class without rows in a part is taken to be like all rows there: it differs in nothing.
    seen = counts > 0
    rows_of = np.where(seen, counts, counts.sum(axis=1, keepdims=True))
    sums = np.where(seen[..., None], sums, sums.sum(axis=1, keepdims=True))
    scatter = np.where(seen[..., None, None], scatter, scatter.sum(axis=1, keepdims=True))
    means = sums / rows_of[..., None]
    scatter /= rows_of[..., None, None]
    scatter -= means[..., :, None] * means[..., None, :]
    return counts, means, scatter


def _whitening(within: NDArray[np.float64], samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """``(P, k, k)`` B with Bᵀ S B = I for the shrunk covariance S."""
    width = within.shape[-1]
    rho = oracle_approximating_shrinkage(within, np.maximum(samples, 1.0)) if width > 1 else np.zeros(len(within))
    level = np.trace(within, axis1=1, axis2=2) / width
    shrunk = within * (1 - rho)[:, None, None]
    diagonal = np.arange(width)
    # A little of the unit variance of the principal axes keeps classes without any spread invertible.
    shrunk[:, diagonal, diagonal] += (rho * level + 1e-6)[:, None]
    # The transpose of a lower factor is an upper one in the order of LAPACK.
    return np.stack([dtrtri(factor.T, lower=0)[0] for factor in np.linalg.cholesky(shrunk)])


def _leading_directions(
    differences: NDArray[np.float32], shifts: NDArray[np.float32], rank: int
) -> NDArray[np.float64]:
    """``(P, k, rank)`` orthonormal directions, strongest first."""
    parts, classes, width, _ = differences.shape
    energy = np.matmul(differences, differences).sum(axis=1)
    directions = np.stack([_leading_eigenvectors(one, rank) for one in energy])
    for _ in range(ITERATIONS):
        spread = np.matmul(differences, directions[:, None])
        flat = np.moveaxis(spread, 1, 2).reshape(parts, width, classes * rank)
        both = np.concatenate([flat, shifts], axis=2)
        directions = np.linalg.svd(both, full_matrices=False)[0][..., :rank]
    return np.asarray(directions, dtype=np.float64)


def _leading_eigenvectors(energy: NDArray[np.float32], rank: int) -> NDArray[np.float32]:
    """``(k, rank)`` eigenvectors of the largest eigenvalues of a symmetric matrix."""
    width = len(energy)
    # A quarter of the time of all of them.
    leading = eigh(energy, subset_by_index=(width - rank, width - 1), check_finite=False)[1]
    # Of eigenvalues that rounding cannot tell apart, as in fewer rows than columns, LAPACK leaves out some.
    if leading.shape[1] < rank:
        leading = np.linalg.eigh(energy)[1][:, width - rank :]
    return np.asarray(leading, dtype=np.float32)
