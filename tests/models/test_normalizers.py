"""Every normaliser has the properties of an attention distribution."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from mi_attention.models.normalizers import (
    NORMALIZERS,
    Normalizer,
    entmax,
    gumbel_noise,
    gumbel_softmax,
    gumbel_softmax_samples,
    register_normalizer,
    softmax,
    sparsemax,
    uniform,
)

# Every member with every option that changes its arithmetic; the built-in names are checked to be covered.
VARIANTS: list[tuple[str, dict[str, object]]] = [
    ("softmax", {}),
    ("gumbel_softmax", {}),
    ("gumbel_softmax", {"hard": True}),
    ("gumbel_softmax", {"evaluation": "samples", "samples": 5}),
    ("gumbel_softmax", {"evaluation": "samples", "samples": 5, "hard": True}),
    ("sparsemax", {}),
    ("entmax", {}),
    ("entmax", {"alpha": 1.0}),
    ("entmax", {"alpha": 1.2}),
    ("entmax", {"alpha": 2.0}),
    ("entmax", {"alpha": 3.0}),
    ("uniform", {}),
]
SAMPLED = {"evaluation": "samples"}.items()
# Deterministic functions of the logits alone, so that limits and symmetries hold exactly.
NOISE_FREE = [(name, options) for name, options in VARIANTS if not (options.items() >= SAMPLED)]
SMOOTH = [(name, options) for name, options in NOISE_FREE if name != "uniform" and not options.get("hard")]


def identify(variant: object) -> str:
    return str(variant).replace(" ", "")


every = pytest.mark.parametrize("variant", VARIANTS, ids=identify)
noise_free = pytest.mark.parametrize("variant", NOISE_FREE, ids=identify)
smooth = pytest.mark.parametrize("variant", SMOOTH, ids=identify)


def apply(variant: tuple[str, dict[str, object]], logits: torch.Tensor, mask: torch.Tensor, temperature: float = 1.0):
    name, options = variant
    return Normalizer(name, temperature, options).eval()(logits, mask)


def random_case(seed: int, rows: int = 7, width: int = 9, scale: float = 2.0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(rows, width, generator=generator)
    mask = torch.rand(rows, width, generator=generator) < 0.7
    mask[:, 0] |= ~mask.any(dim=1)
    return logits, mask


def test_variants_cover_every_built_in_normalizer() -> None:
    assert {name for name, _ in VARIANTS} == set(NORMALIZERS)


@every
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    width=st.integers(1, 12),
    scale=st.sampled_from([1e-3, 1.0, 50.0]),
    temperature=st.sampled_from([1e-40, 1e-3, 0.5, 1.0, 7.0, 1e35]),
)
def test_weights_sum_to_one_over_the_mask(variant, seed, width, scale, temperature) -> None:
    logits, mask = random_case(seed, width=width, scale=scale)
    weights = apply(variant, logits, mask, temperature)
    assert weights.dtype == logits.dtype
    assert bool((weights >= 0).all())
    assert bool((weights[~mask] == 0).all())
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(weights)), atol=2e-6, rtol=0)


@every
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("garbage", [float("nan"), float("inf"), -float("inf"), 1e38])
def test_masked_logits_have_no_influence_and_no_gradient(variant, garbage, training) -> None:
    name, options = variant
    normalizer = Normalizer(name, 0.7, options).train(training)
    logits, mask = random_case(3)
    results = []
    for filler in (0.0, garbage):
        filled = logits.masked_fill(~mask, filler).requires_grad_()
        weights = normalizer(filled, mask, torch.Generator().manual_seed(1))
        if weights.requires_grad:
            (weights * torch.arange(9.0)).sum().backward()
            assert torch.isfinite(filled.grad).all()
            assert bool((filled.grad[~mask] == 0).all())
        results.append(weights.detach())
    assert torch.equal(*results)


@every
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), temperature=st.sampled_from([0.3, 1.0, 4.0]))
def test_masking_equals_removing(variant, seed, temperature) -> None:
    logits, mask = random_case(seed, rows=1)
    weights = apply(variant, logits, mask, temperature)
    removed = logits[mask][None]
    alone = apply(variant, removed, torch.ones_like(removed, dtype=torch.bool), temperature)
    torch.testing.assert_close(weights[mask], alone[0], atol=1e-6, rtol=0)


@noise_free
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_permutation_equivariance(variant, seed) -> None:
    logits, mask = random_case(seed)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(
        apply(variant, logits[:, order], mask[:, order]), apply(variant, logits, mask)[:, order], atol=1e-6, rtol=0
    )


@noise_free
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.floats(-100, 100))
def test_adding_a_constant_to_all_logits_changes_nothing(variant, seed, shift) -> None:
    logits, mask = random_case(seed)
    logits, shift = logits.double(), float(shift)
    torch.testing.assert_close(apply(variant, logits + shift, mask), apply(variant, logits, mask), atol=1e-9, rtol=0)


@noise_free
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_weights_follow_the_order_of_the_logits(variant, seed) -> None:
    logits, mask = random_case(seed)
    weights = apply(variant, logits, mask)
    for row in range(len(logits)):
        ordered = weights[row][mask[row]][logits[row][mask[row]].argsort()]
        assert bool((ordered.diff() >= -1e-7).all())


@pytest.mark.parametrize("temperature", [1e-40, 1e-200, 1e-12])
@pytest.mark.parametrize("variant", [v for v in NOISE_FREE if v[0] != "uniform"], ids=identify)
def test_temperature_to_zero_is_argmax_with_ties_shared(variant, temperature) -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0, -2.0, 9.0], [0.0, 0.5, 0.25, 0.125, 9.0], [4.0, 4.0, 4.0, 4.0, 9.0]])
    mask = torch.tensor([[True, True, True, True, False]] * 3)
    # By hand: the largest real logits are the two 3s, the 0.5, and all four 4s.
    expected = torch.tensor([[0, 0.5, 0.5, 0, 0], [0, 1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25, 0]])
    torch.testing.assert_close(apply(variant, logits, mask, temperature), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("temperature", [1e8, 1e40, 1e200])
@pytest.mark.parametrize("variant", [v for v in NOISE_FREE if not v[1].get("hard")], ids=identify)
def test_temperature_to_infinity_is_uniform_over_the_mask(variant, temperature) -> None:
    logits, mask = random_case(4)
    expected = mask / mask.sum(dim=1, keepdim=True)
    torch.testing.assert_close(apply(variant, logits, mask, temperature), expected, atol=1e-6, rtol=0)


@smooth
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_lower_temperature_is_more_concentrated(variant, seed) -> None:
    # z / t majorises z / s for t < s: every partial sum of sorted weights is at least as large.
    logits, mask = random_case(seed)
    sharp, flat = (apply(variant, logits, mask, temperature).sort(descending=True).values for temperature in (0.5, 1.0))
    assert bool((sharp.cumsum(dim=1) - flat.cumsum(dim=1) >= -2e-6).all())


@every
@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf"), 1e-310])
def test_bad_temperature_is_rejected(variant, temperature) -> None:
    name, options = variant
    logits, mask = random_case(0)
    with pytest.raises(ValueError, match="temperature is"):
        Normalizer(name, temperature, options)
    with pytest.raises(ValueError, match="temperature is"):
        NORMALIZERS[name].function(logits, mask, temperature, **options)


@every
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_logit_that_is_no_number_is_rejected_by_place(variant, value) -> None:
    logits, mask = random_case(0)
    mask[2, 3] = True
    logits[2, 3] = value
    with pytest.raises(ValueError, match=r"logits\[2, 3\]"):
        apply(variant, logits, mask)


@every
def test_bad_shapes_and_masks_are_rejected(variant) -> None:
    logits, mask = random_case(0)
    with pytest.raises(ValueError, match=r"mask.*dtype"):
        apply(variant, logits, mask.float())
    with pytest.raises(ValueError, match=r"must both be \(B, T\)"):
        apply(variant, logits, mask[:, :-1])
    with pytest.raises(ValueError, match=r"must both be \(B, T\)"):
        apply(variant, logits[0], mask[0])


@every
@pytest.mark.parametrize("training", [False, True])
def test_a_fully_masked_row_is_zero_and_leaves_the_others_alone(variant, training) -> None:
    name, options = variant
    normalizer = Normalizer(name, 0.5, options).train(training)
    logits, mask = random_case(5)
    gone = mask.clone()
    gone[[0, 4]] = False
    results = []
    for chosen in (mask, gone):
        leaf = logits.clone().requires_grad_()
        weights = normalizer(leaf, chosen, torch.Generator().manual_seed(0))
        if weights.requires_grad:
            (weights * torch.arange(9.0)).sum().backward()
        results.append((weights.detach(), leaf.grad))
    (whole, whole_grad), (rest, rest_grad) = results
    others = [1, 2, 3, 5, 6]
    assert bool((rest[[0, 4]] == 0).all())
    assert torch.equal(rest[others], whole[others])
    if rest_grad is not None:
        assert bool((rest_grad[[0, 4]] == 0).all())
        assert torch.equal(rest_grad[others], whole_grad[others])
    nothing = normalizer(logits, torch.zeros_like(mask), torch.Generator().manual_seed(0))
    assert bool((nothing == 0).all())


@every
def test_one_position_gets_all_the_weight(variant) -> None:
    one = torch.tensor([[-3.0]])
    assert apply(variant, one, torch.tensor([[True]])).item() == 1.0


@smooth
@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.5])
def test_gradcheck(variant, temperature) -> None:
    # Distinct logits with distances that no sparse map sees as a boundary of its support.
    logits = torch.tensor([[0.3, -0.9, 0.81, 0.07, 0.55], [1.7, 0.2, -0.4, 0.85, 1.15]], dtype=torch.float64)
    mask = torch.tensor([[True, True, True, False, True], [True, False, True, True, True]])
    assert torch.autograd.gradcheck(
        lambda values: apply(variant, values, mask, temperature), (logits.requires_grad_(),), eps=1e-6, atol=1e-5
    )


@smooth
def test_extreme_temperature_has_a_finite_gradient_without_ties(variant) -> None:
    logits = torch.tensor([[1.0, 2.0, 0.0]], requires_grad=True)
    apply(variant, logits, torch.ones(1, 3, dtype=torch.bool), 1e-40)[0, 0].backward()
    assert torch.equal(logits.grad, torch.zeros(1, 3))


def test_softmax_by_hand() -> None:
    # exp(ln 1), exp(ln 3) at temperature 1: 1/4, 3/4. At temperature 1/2 the powers are squared: 1/10, 9/10.
    logits = torch.tensor([[0.0, math.log(3.0), 100.0]])
    mask = torch.tensor([[True, True, False]])
    torch.testing.assert_close(softmax(logits, mask, 1.0), torch.tensor([[0.25, 0.75, 0.0]]))
    torch.testing.assert_close(softmax(logits, mask, 0.5), torch.tensor([[0.1, 0.9, 0.0]]))


def test_sparsemax_by_hand() -> None:
    # z = (1, 0.6, -1): support {1, 0.6}, threshold (1.6 - 1) / 2 = 0.3, so (0.7, 0.3, 0).
    logits, mask = torch.tensor([[1.0, 0.6, -1.0]]), torch.ones(1, 3, dtype=torch.bool)
    torch.testing.assert_close(sparsemax(logits, mask), torch.tensor([[0.7, 0.3, 0.0]]))


def test_entmax_at_one_and_a_half_by_hand() -> None:
    # p_i = [z_i / 2 - t]_+^2 with sum 1. z = (1, 0.2): with a = z / 2 = (.5, .1), (.5 - t)^2 + (.1 - t)^2 = 1
    # gives 2 t^2 - 1.2 t - .74 = 0, t = (1.2 - sqrt(1.44 + 5.92)) / 4.
    threshold = (1.2 - math.sqrt(1.44 + 5.92)) / 4
    expected = torch.tensor([[(0.5 - threshold) ** 2, (0.1 - threshold) ** 2]])
    torch.testing.assert_close(entmax(torch.tensor([[1.0, 0.2]]), torch.ones(1, 2, dtype=torch.bool)), expected)


def test_entmax_joins_softmax_and_sparsemax() -> None:
    logits, mask = random_case(8)
    torch.testing.assert_close(entmax(logits, mask, alpha=1.0), softmax(logits, mask))
    for alpha in (1 + 1e-9, 1 + 1e-7, 1 + 1e-5):
        torch.testing.assert_close(entmax(logits, mask, alpha=alpha), softmax(logits, mask), atol=1e-4, rtol=0)
    torch.testing.assert_close(entmax(logits, mask, alpha=2.0), sparsemax(logits, mask))


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_exact_and_bisection_algorithms_agree(alpha) -> None:
    logits, mask = random_case(9)
    near = math.nextafter(alpha, 3.0)
    torch.testing.assert_close(
        entmax(logits.double(), mask, alpha=alpha), entmax(logits.double(), mask, alpha=near), atol=1e-9, rtol=0
    )


@pytest.mark.parametrize("alpha", [0.5, float("nan"), float("inf")])
def test_bad_alpha_is_rejected(alpha) -> None:
    logits, mask = random_case(0)
    with pytest.raises(ValueError, match="alpha is"):
        entmax(logits, mask, alpha=alpha)


def test_uniform_by_hand() -> None:
    mask = torch.tensor([[True, False, True], [True, True, True]])
    expected = torch.tensor([[0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    torch.testing.assert_close(uniform(torch.randn(2, 3, generator=torch.Generator().manual_seed(0)), mask), expected)


def test_gumbel_noise_has_the_right_distribution() -> None:
    noise = gumbel_noise((200_000,), torch.Generator().manual_seed(0), torch.float64)
    # Mean Euler's constant, variance pi^2 / 6 (standard error of the mean .003).
    assert float(noise.mean()) == pytest.approx(np.euler_gamma, abs=0.012)
    assert float(noise.var()) == pytest.approx(math.pi**2 / 6, rel=0.03)
    assert torch.isfinite(noise).all()


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("temperature", [0.05, 0.5, 1.0, 5.0])
def test_gumbel_argmax_follows_softmax_of_the_logits_at_every_temperature(temperature, hard) -> None:
    draws = 20_000
    logits = torch.tensor([0.0, 1.0, -0.5, 0.7]).expand(draws, -1).double()
    mask = torch.tensor([True, True, False, True]).expand(draws, -1)
    weights = gumbel_softmax(logits, mask, temperature, torch.Generator().manual_seed(11), hard=hard)
    counts = torch.bincount(weights.argmax(dim=1), minlength=4).numpy()
    expected = softmax(logits[:1], mask[:1])[0].numpy() * draws
    assert counts[2] == 0
    # The seed is fixed, so the p-value is one number; 0.001 would show a wrong temperature at once.
    assert chisquare(counts[[0, 1, 3]], expected[[0, 1, 3]]).pvalue > 0.001
    if temperature != 1.0:
        wrong = softmax(logits[:1], mask[:1], temperature)[0].numpy() * draws
        assert chisquare(counts[[0, 1, 3]], wrong[[0, 1, 3]]).pvalue < 1e-10


def test_hard_gumbel_is_one_hot_in_training_with_a_soft_gradient() -> None:
    logits, mask = random_case(6)
    hard = Normalizer("gumbel_softmax", 0.8, {"hard": True}).train()
    soft = Normalizer("gumbel_softmax", 0.8).train()
    gradients = []
    for normalizer in (hard, soft):
        leaf = logits.clone().requires_grad_()
        weights = normalizer(leaf, mask, torch.Generator().manual_seed(2))
        if normalizer is hard:
            assert bool(((weights == 0) | (weights == 1)).all())
            assert bool((weights.sum(dim=1) == 1).all())
        (weights * torch.arange(9.0)).sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(*gradients)


def test_gumbel_draws_noise_in_training_and_none_at_evaluation() -> None:
    logits, mask = random_case(6)
    normalizer = Normalizer("gumbel_softmax", 0.5)
    first, same, other = (normalizer(logits, mask, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    with pytest.raises(ValueError, match="generator is None"):
        normalizer(logits, mask)
    normalizer.eval()
    assert torch.equal(normalizer(logits, mask), softmax(logits, mask, 0.5))
    assert torch.equal(normalizer(logits, mask, torch.Generator().manual_seed(5)), softmax(logits, mask, 0.5))


def test_no_normalizer_touches_the_global_generator() -> None:
    logits, mask = random_case(6)
    before = torch.get_rng_state()
    for (name, options), training in itertools.product(VARIANTS, (False, True)):
        Normalizer(name, 1.0, options).train(training)(logits, mask, torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)


def test_sampled_evaluation_is_the_mean_of_draws_and_flatter_than_one() -> None:
    logits, mask = random_case(6)
    draws = torch.stack(
        list(gumbel_softmax_samples(logits, mask, 0.5, samples=64, generator=torch.Generator().manual_seed(3)))
    )
    assert draws.shape == (64, 7, 9)
    assert bool((draws.std(dim=0)[mask] > 0)[mask.sum(dim=1).repeat_interleave(mask.sum(dim=1)) > 1].all())
    mean = gumbel_softmax(logits, mask, 0.5, evaluation="samples", samples=64, sample_seed=3)
    torch.testing.assert_close(mean, draws.mean(dim=0))
    assert bool((mean.amax(dim=1) <= draws.amax(dim=2).mean(dim=0) + 1e-6).all())
    # At a low temperature draws are nearly one-hot, so their mean nears softmax at temperature 1.
    many = gumbel_softmax(logits.double(), mask, 0.01, evaluation="samples", samples=4000)
    torch.testing.assert_close(many, softmax(logits.double(), mask, 1.0), atol=0.035, rtol=0)


@pytest.mark.parametrize("width", [9, 40, 200])
def test_sampled_evaluation_does_not_depend_on_batch_or_padding(width) -> None:
    logits, mask = random_case(6)
    wide = torch.zeros(7, width)
    wide[:, :9] = logits
    wide_mask = torch.zeros(7, width, dtype=torch.bool)
    wide_mask[:, :9] = mask
    options = {"evaluation": "samples", "samples": 8}
    batched = gumbel_softmax(wide, wide_mask, 0.5, **options)
    for row in range(7):
        alone = gumbel_softmax(logits[row : row + 1], mask[row : row + 1], 0.5, **options)
        torch.testing.assert_close(batched[row : row + 1, :9], alone, atol=1e-6, rtol=0)


def test_unknown_options_name_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"no option 'alhpa'; did you mean 'alpha'"):
        Normalizer("entmax", 1.0, {"alhpa": 1.5})
    with pytest.raises(ValueError, match=r"did you mean 'sparsemax'"):
        Normalizer("sparsmax")
    with pytest.raises(ValueError, match="evaluation is 'mean'"):
        gumbel_softmax(*random_case(0), evaluation="mean")
    with pytest.raises(ValueError, match="samples is 0"):
        gumbel_softmax(*random_case(0), evaluation="samples", samples=0)


def test_a_registered_function_works_and_a_taken_name_does_not() -> None:
    @register_normalizer("top_one_for_test")
    def top_one(logits, mask, temperature, generator=None, floor=0.0):
        return softmax(logits, mask, 1e-40)

    try:
        logits, mask = random_case(1)
        assert torch.equal(
            Normalizer("top_one_for_test", 1.0, {"floor": 0.1}).eval()(logits, mask).sum(1), torch.ones(7)
        )
        with pytest.raises(ValueError, match="registered already"):
            register_normalizer("softmax")(top_one)
        with pytest.raises(ValueError, match="must be logits, mask, temperature"):
            register_normalizer("another")(lambda z, mask, temperature: z)
    finally:
        NORMALIZERS.remove("top_one_for_test")


def test_repr_says_what_it_is() -> None:
    assert repr(Normalizer("entmax", 0.5, {"alpha": 1.2})) == "Normalizer('entmax', temperature=0.5, alpha=1.2)"
