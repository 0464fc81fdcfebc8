"""Gumbel-softmax: softmax of logits to which Gumbel noise was added."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from mi_attention.models.normalizers.masking import check_shapes, finish, prepare
from mi_attention.models.normalizers.registry import register_normalizer

__all__ = ["gumbel_noise", "gumbel_softmax", "gumbel_softmax_samples"]

# Noise of sampled evaluation is drawn in blocks of this many positions, so that the noise of a position
# does not depend on how many come after it.
_BLOCK = 64


def gumbel_noise(shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard Gumbel noise −log(E), E exponential of rate 1, on the generator's device."""
    exponential = torch.empty(shape, dtype=dtype, device=generator.device).exponential_(generator=generator)
    # A single-precision exponential can round to 0, whose logarithm is not finite.
    return -exponential.clamp(min=torch.finfo(dtype).tiny).log()


def _hard(weights: Tensor, *, shared: bool) -> Tensor:
    """One-hot forward, soft backward (the straight-through estimator of Jang et al. 2017, section 2.2)."""
    largest = weights.amax(dim=1, keepdim=True)
    if shared:
        chosen = (weights == largest).to(weights.dtype)
        one_hot = chosen / chosen.sum(dim=1, keepdim=True)
    else:
        one_hot = torch.zeros_like(weights).scatter_(1, weights.argmax(dim=1, keepdim=True), 1.0)
    return one_hot.detach() + (weights - weights.detach())


def _weigh(logits: Tensor, mask: Tensor, temperature: float, *, hard: bool, shared: bool) -> Tensor:
    scaled, _ = prepare(logits, mask, temperature)
    weights = torch.softmax(scaled, dim=1)
    return finish(_hard(weights, shared=shared) if hard else weights, mask, logits.dtype)


def gumbel_softmax_samples(
    logits: Tensor, mask: Tensor, temperature: float, *, samples: int, generator: torch.Generator, hard: bool = False
) -> Iterator[Tensor]:
    """Draw weights ``samples`` times, for a mean and its spread.

    All rows share the draws: the k-th real position of every row gets the same noise, drawn in double
    precision on the generator's device. So a text's weights depend neither on its batch nor on its
    padding, nor on masked positions before it.

    Args:
        logits: ``(B, T)``.
        mask: ``(B, T)`` bool.
        temperature: τ > 0.
        samples: Draws, at least 1.
        generator: Source of the noise; a CPU generator gives the same noise for every device.
        hard: Draws are one-hot.

    Yields:
        ``(B, T)`` weights, ``samples`` times.

    Raises:
        ValueError: If ``samples`` is below 1, and as ``gumbel_softmax``.
    """
    if samples < 1:
        raise ValueError(f"samples is {samples}; at least one draw is needed")
    check_shapes(logits, mask)
    rank = (mask.cumsum(dim=1) - 1).clamp(min=0)
    blocks = -(-mask.shape[1] // _BLOCK)
    # One stream a block: block b is the b-th draw of fixed size, whatever the number of blocks.
    noise = torch.cat([gumbel_noise((_BLOCK, samples), generator, torch.float64) for _ in range(max(1, blocks))]).to(
        device=logits.device, dtype=logits.dtype
    )
    for sample in range(samples):
        yield _weigh(logits + noise[:, sample][rank], mask, temperature, hard=hard, shared=False)


@register_normalizer("gumbel_softmax")
def gumbel_softmax(
    logits: Tensor,
    mask: Tensor,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    hard: bool = False,
    evaluation: str = "noise_free",
    samples: int = 32,
    sample_seed: int = 0,
) -> Tensor:
    """Normalise by softmax((z + g) / τ) with standard Gumbel noise g on the real positions.

    Jang, Gu and Poole (2017), "Categorical reparameterization with Gumbel-softmax", equation 2, and
    Maddison, Mnih and Teh (2017). For every τ the position of the largest weight is a draw from
    softmax(z) at temperature 1, not at τ: the temperature only says how near to one-hot a draw is.

    With a ``generator`` (training) one draw is returned. Without one (evaluation) the result is
    deterministic: by default softmax(z / τ), with ``evaluation="samples"`` the mean of seeded draws. The
    mean is flatter than single draws are; ranks of near-equal logits in a single draw are random.

    Args:
        logits: ``(B, T)``.
        mask: ``(B, T)`` bool.
        temperature: τ > 0.
        generator: Source of noise in training; None at evaluation.
        hard: Weights are one-hot in the forward pass and soft in the backward pass. At noise-free
            evaluation they are the argmax with ties shared.
        evaluation: ``"noise_free"`` or ``"samples"``.
        samples: Draws of ``evaluation="samples"``.
        sample_seed: Their seed.

    Returns:
        ``(B, T)`` weights; a fully masked row is all zeros.

    Raises:
        ValueError: On a temperature that is not positive, a NaN logit, an unknown ``evaluation``,
            ``samples`` below 1, or wrong shapes.
    """
    if evaluation not in ("noise_free", "samples"):
        raise ValueError(f"evaluation is {evaluation!r}; it must be 'noise_free' or 'samples'")
    if generator is not None:
        noise = gumbel_noise(tuple(logits.shape), generator, logits.dtype).to(logits.device)
        return _weigh(logits + noise, mask, temperature, hard=hard, shared=False)
    if evaluation == "noise_free":
        return _weigh(logits, mask, temperature, hard=hard, shared=True)
    draws = gumbel_softmax_samples(
        logits, mask, temperature, samples=samples, generator=torch.Generator().manual_seed(sample_seed), hard=hard
    )
    total = torch.zeros_like(logits)
    for draw in draws:
        total = total + draw
    return total / samples
