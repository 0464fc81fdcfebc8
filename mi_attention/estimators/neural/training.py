"""Training of many critics as one: batched products, one optimiser, and a stop of its own for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mi_attention.estimators.neural.critics import Parameters, initial_parameters, score
from mi_attention.estimators.neural.held_out import judge_both_sides
from mi_attention.estimators.neural.losses import moving_log_average, row_log_means
from mi_attention.estimators.neural.objective import row_terms, training_objective
from mi_attention.estimators.neural.options import COMPARED, VALIDATION_COMPARED, CriticOptions
from mi_attention.estimators.neural.parts import CriticBatch, Sample

__all__ = ["HeldOut", "cross_fitted_terms", "train_critics"]

# Longest gradient of one critic. Adam hardly sees the length; this stops the spikes of exp T.
GRADIENT_LENGTH = 1.0

# Of Adam. A gradient that is 0 but for rounding, as that of InfoNCE's constant, must not become a step of full length:
# rounding differs with the number of critics in a product.
EPSILON = 1e-6


class HeldOut(NamedTuple):
    """What the critics of a unit say of rows they have not seen.

    Attributes:
        value: The bound in nats.
        local: ``(n,)`` terms of the rows in nats; their mean is ``value`` but for rounding.
    """

    value: float
    local: NDArray[np.float64]


def cross_fitted_terms(options: CriticOptions, units: Sequence[Sequence[Sample]]) -> list[HeldOut]:
    """The bound of every unit and the terms of its rows, each judged by a critic that has not seen its group.

    Of the critics of a fold, one a view, the one with the most information about the validation rows judges.

    Neither the global generator of torch nor its number of threads is used or changed, and gradients are recorded
    whatever the caller's mode.

    Args:
        options: What to train.
        units: The views of every unit: samples of the same rows, outputs, groups and folds. All of equal widths and
            numbers of classes; numbers of rows may differ.
    """
    samples = [view for views in units for view in views]
    with torch.inference_mode(False), torch.enable_grad():
        batch = CriticBatch(options, samples)
        parameters, gain = train_critics(options, batch)
        chosen = _best_views(batch, gain, [len(views) for views in units])
        parameters = {name: value[chosen] for name, value in parameters.items()}
        judged = judge_both_sides(options, batch, parameters, chosen, batch.test, COMPARED)
    flat = np.zeros((2, int(batch.start[-1])))
    rows, valid, learned = batch.test.rows[chosen], batch.test.valid[chosen], gain[chosen] > 0
    for values, found in zip(flat, judged[:2], strict=True):
        # A constant critic has no information but for rounding, which would part ties.
        found[~learned] = 0.0
        values[rows[valid].numpy()] = found[valid].numpy()
    results, start = [], 0
    for views in units:
        # Every row is judged in one of its views and 0 in the others.
        terms, shares = flat[:, start : start + len(views) * len(views[0].x)].reshape(2, len(views), -1).sum(axis=1)
        results.append(_held_out(terms, shares))
        start += len(views) * len(views[0].x)
    return results


def _best_views(batch: CriticBatch, gain: Tensor, views: Sequence[int]) -> Tensor:
    """``(K,)`` critics, one of each unit and fold: those of the largest gain, of equal ones the first view."""
    unit_of = np.repeat(np.arange(len(views)), views)
    best: dict[tuple[int, int], int] = {}
    for m, (sample, fold) in enumerate(batch.owner):
        key = (int(unit_of[sample]), fold)
        if key not in best or gain[m] > gain[best[key]]:
            best[key] = m
    return torch.tensor(list(best.values()))


def _held_out(terms: NDArray[np.float64], shares: NDArray[np.float64]) -> HeldOut:
    value = float(terms.mean())
    if not shares.any():
        return HeldOut(value, terms)
    local = terms + shares
    return HeldOut(value, local + (value - local.mean()))


def train_critics(options: CriticOptions, batch: CriticBatch) -> tuple[Parameters, Tensor]:
    """Parameters of every critic at its best look at the validation rows, and ``(M,)`` its criterion there.

    The criterion is 0, that of a constant critic, where nothing better was found.

    Critics of one fold start alike and see batches of the same places, so a critic's result does not depend on which
    others are trained beside it. One that found nothing better for ``patience`` steps leaves the batch.
    """
    parameters = _start(options, batch)
    best = {name: value.detach().clone() for name, value in parameters.items()}
    best_value, best_step = torch.zeros(len(batch), dtype=torch.float64), torch.zeros(len(batch), dtype=torch.int64)
    active = torch.arange(len(batch))
    optimizer = torch.optim.Adam(list(parameters.values()), lr=options.learning_rate, eps=EPSILON, fused=True)
    shrinkage = _shrinkage(options, batch, parameters)
    log_average: Tensor | None = None
    places = _Places(options, batch)
    for step in range(1, options.steps + 1):
        inputs = batch.training_inputs(active, places.draw(active), options.bound == "infonce")
        terms = row_terms(options, score(batch.critic, parameters, inputs.x, inputs.y), inputs)
        rows = row_log_means(options.bound, terms.log_sums, terms.totals)
        if options.bound == "mine":
            log_average = moving_log_average(log_average, rows, options.average_rate)
        optimizer.zero_grad()
        torch.autograd.backward(-training_objective(options, terms, rows, log_average).sum())
        _shorten(parameters)
        optimizer.step()
        with torch.no_grad():
            for name, factor in shrinkage.items():
                parameters[name].mul_(factor)
        if step % options.interval and step < options.steps:
            continue
        held = batch.validation
        value = judge_both_sides(options, batch, parameters, active, held, VALIDATION_COMPARED, shares=False)[2]
        better = value > best_value[active]
        for name, now in parameters.items():
            best[name][active[better]] = now.detach()[better]
        best_value[active[better]], best_step[active[better]] = value[better], step
        going = step - best_step[active] < options.patience
        if not going.any():
            break
        if not going.all():
            active = active[going]
            shrinkage = {name: factor[going] for name, factor in shrinkage.items()}
            log_average = None if log_average is None else log_average[going]
            _keep(parameters, optimizer, going)
    return best, best_value


def _start(options: CriticOptions, batch: CriticBatch) -> Parameters:
    made = {
        fold: initial_parameters(
            batch.critic,
            batch.width_x,
            batch.width_y,
            options.hidden,
            np.random.default_rng([options.seed, 1, fold]),
        )
        for fold in {fold for _, fold in batch.owner}
    }
    stacked = {name: np.stack([made[fold][name] for _, fold in batch.owner]) for name in made[batch.owner[0][1]]}
    return {name: torch.from_numpy(value).requires_grad_() for name, value in stacked.items()}


def _shrinkage(options: CriticOptions, batch: CriticBatch, parameters: Parameters) -> Parameters:
    """Factors ``(M, 1, 1)`` of decoupled weight decay for all weights, stronger the more columns a row has."""
    columns = batch.width_x + (0 if batch.classes else batch.width_y)
    decay = options.weight_decay * columns / torch.tensor(batch.n_train, dtype=torch.float32)
    factor = (1 - options.learning_rate * decay).clamp(min=0.0)[:, None, None]
    return {name: factor for name in parameters if not name.endswith("_bias")}


class _Places:
    """Batches of places among the training rows: endless permutations, shared by critics of a fold and a size."""

    def __init__(self, options: CriticOptions, batch: CriticBatch) -> None:
        keys = [(fold, size) for (_, fold), size in zip(batch.owner, batch.n_train, strict=True)]
        self.kinds = sorted(set(keys))
        self.kind = torch.tensor([self.kinds.index(key) for key in keys])
        self.sources = [np.random.default_rng([options.seed, 2, fold]) for fold, _ in self.kinds]
        self.left = [np.zeros(0, dtype=np.int64) for _ in self.kinds]
        self.size = options.batch

    def draw(self, active: Tensor) -> Tensor:
        """``(A, B)`` places of the next batch."""
        drawn = np.empty((len(self.kinds), self.size), dtype=np.int64)
        for i, (_, n) in enumerate(self.kinds):
            if len(self.left[i]) < self.size:
                # The rest of a permutation is dropped, so that a batch holds no row twice unless there are too few.
                fresh = [self.sources[i].permutation(n) for _ in range(-(-self.size // n))]
                self.left[i] = np.concatenate(fresh)
            drawn[i], self.left[i] = self.left[i][: self.size], self.left[i][self.size :]
        return torch.from_numpy(drawn)[self.kind[active]]


@torch.no_grad()
def _shorten(parameters: Parameters) -> None:
    """Cut the gradient of every critic to ``GRADIENT_LENGTH``; one that is not finite becomes 0."""
    gradients = [value.grad for value in parameters.values() if value.grad is not None]
    length = torch.stack([gradient.flatten(1).square().sum(dim=1) for gradient in gradients]).sum(dim=0).sqrt()
    factor = (GRADIENT_LENGTH / length).clamp(max=1.0)
    broken = ~torch.isfinite(length)
    for gradient in gradients:
        gradient.mul_(factor[:, None, None])
        if broken.any():
            gradient[broken] = 0.0


def _keep(parameters: Parameters, optimizer: torch.optim.Optimizer, going: Tensor) -> None:
    """Drop the critics that have stopped from the parameters and from the moments of Adam."""
    for name, value in parameters.items():
        kept = value.detach()[going].requires_grad_()
        state = optimizer.state.pop(value)
        optimizer.state[kept] = {key: one if key == "step" else one[going] for key, one in state.items()}
        parameters[name] = kept
    optimizer.param_groups[0]["params"] = list(parameters.values())
