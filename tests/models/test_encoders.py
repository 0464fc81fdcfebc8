"""Encoders: padding never changes a real state."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mi_attention.models.encoders import ENCODERS, BiLstmEncoder, CnnEncoder, Encoder, MlpEncoder, register_encoder

NAMES = ("embedding", "mlp", "cnn", "bilstm")
every = pytest.mark.parametrize("name", NAMES)
LENGTHS = torch.tensor([5, 1, 9, 3, 7])


def build(name: str, size: int = 6, units: int = 8) -> Encoder:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return ENCODERS[name](size, units)


def padded(width: int = 9, filler: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    values = torch.randn(5, 9, 6, generator=torch.Generator().manual_seed(0))
    wide = torch.full((5, width, 6), filler)
    wide[:, :9] = values
    mask = torch.arange(width) < LENGTHS[:, None]
    return wide.masked_fill(~mask[..., None], filler), mask


def test_names_cover_every_built_in_encoder() -> None:
    assert set(NAMES) == set(ENCODERS)


@every
@pytest.mark.parametrize("width", [9, 10, 31])
@pytest.mark.parametrize("filler", [0.0, 1e3])
def test_padding_never_changes_a_state(name, width, filler) -> None:
    encoder = build(name)
    embedded, mask = padded(width, filler)
    states = encoder(embedded, mask)
    assert states.shape == (5, width, encoder.hidden)
    assert bool((states[~mask] == 0).all())
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(embedded[row : row + 1, :length], torch.ones(1, length, dtype=torch.bool))
        torch.testing.assert_close(states[row, :length], alone[0], atol=1e-5, rtol=0)


@every
def test_padding_gets_no_gradient(name) -> None:
    encoder = build(name)
    embedded, mask = padded(12)
    embedded.requires_grad_()
    encoder(embedded, mask).square().sum().backward()
    assert bool((embedded.grad[~mask] == 0).all())
    assert bool((embedded.grad[mask].abs().sum(dim=-1) > 0).all())


@every
def test_gradcheck(name) -> None:
    encoder = build(name, size=2, units=4).double()
    embedded, mask = padded()
    short = embedded[:2, :5, :2].double().contiguous().requires_grad_()
    assert torch.autograd.gradcheck(lambda values: encoder(values, mask[:2, :5]), (short,), eps=1e-6, atol=1e-5)


@every
def test_only_positionwise_encoders_do_not_mix_positions(name) -> None:
    encoder = build(name)
    embedded, mask = padded()
    changed = embedded.clone()
    changed[2, 4] += 1.0
    moved = (encoder(changed, mask) - encoder(embedded, mask)).abs().sum(dim=-1)[2] > 0
    # Row 2 has nine positions. CNN windows reach 3 to each side; the BiLSTM reaches all.
    reached = {"embedding": [4], "mlp": [4], "cnn": list(range(1, 8)), "bilstm": list(range(9))}[name]
    assert moved.nonzero().flatten().tolist() == reached
    assert encoder.positionwise == (reached == [4])


def test_bilstm_equals_the_bidirectional_lstm_of_torch_on_packed_sequences() -> None:
    encoder = build("bilstm")
    assert isinstance(encoder, BiLstmEncoder)
    reference = nn.LSTM(6, 8, batch_first=True, bidirectional=True)
    own = dict(encoder.forward_reader.named_parameters())
    own |= {f"{name}_reverse": value for name, value in encoder.backward_reader.named_parameters()}
    reference.load_state_dict(own)
    embedded, mask = padded(12)
    packed = nn.utils.rnn.pack_padded_sequence(embedded, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(reference(packed)[0], batch_first=True, total_length=12)
    torch.testing.assert_close(encoder(embedded, mask), expected, atol=1e-6, rtol=0)


def test_mlp_by_hand() -> None:
    encoder = MlpEncoder(1, 1)
    nn.init.constant_(encoder.linear.weight, 2.0)
    nn.init.constant_(encoder.linear.bias, -1.0)
    states = encoder(torch.tensor([[[1.0], [7.0]]]), torch.tensor([[True, False]]))
    torch.testing.assert_close(states, torch.tensor([[[torch.tanh(torch.tensor(1.0))], [0.0]]]))


def test_cnn_windows_by_hand() -> None:
    # All filters are sums: filter k at position t is the sum of the inputs within k // 2 of t.
    encoder = CnnEncoder(1, 4)
    for convolution in encoder.convolutions:
        nn.init.constant_(convolution.weight, 1.0)
        nn.init.constant_(convolution.bias, 0.0)
    values = torch.tensor([1.0, 10.0, 100.0, 1000.0, 9e9]).view(1, 5, 1)
    states = encoder(values, torch.tensor([[True, True, True, True, False]]))
    expected = [[1, 11, 111, 1111], [10, 111, 1111, 1111], [100, 1110, 1111, 1111], [1000, 1100, 1110, 1111], [0] * 4]
    torch.testing.assert_close(states[0], torch.tensor(expected, dtype=torch.float32))


@pytest.mark.parametrize("name", ["cnn", "bilstm"])
def test_a_hole_in_the_mask_is_refused_where_it_would_not_mean_removal(name) -> None:
    embedded, mask = padded()
    mask[2, 4] = False
    with pytest.raises(ValueError, match="real position after a masked one"):
        build(name)(embedded, mask)
    with pytest.raises(ValueError, match="mask has dtype"):
        build(name)(embedded, mask.long())


@every
def test_an_empty_row_is_zeros_and_leaves_the_others_alone(name) -> None:
    encoder = build(name)
    embedded, mask = padded()
    gone = mask.clone()
    gone[1] = False
    states = encoder(embedded, gone)
    assert bool((states[1] == 0).all())
    assert torch.equal(states[[0, 2, 3, 4]], encoder(embedded, mask)[[0, 2, 3, 4]])


def test_cnn_needs_a_multiple_of_four() -> None:
    with pytest.raises(ValueError, match="units is 6"):
        CnnEncoder(3, 6)


def test_an_encoder_of_ones_own_can_be_registered() -> None:
    @register_encoder("double_for_test")
    class Double(Encoder):
        def __init__(self, embedding_size: int, units: int) -> None:
            super().__init__()
            self.hidden = embedding_size

        def forward(self, embedded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return 2 * embedded * mask[..., None]

    try:
        embedded, mask = padded()
        assert torch.equal(ENCODERS["double_for_test"](6, 0)(embedded, mask), 2 * embedded)
    finally:
        ENCODERS.remove("double_for_test")
    with pytest.raises(ValueError, match="unknown encoder 'double_for_test'"):
        ENCODERS["double_for_test"]
    with pytest.raises(NotImplementedError, match="must define forward"):
        Encoder()(embedded, mask)
