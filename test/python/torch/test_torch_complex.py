# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex tensors of PyTorch beside torch: arithmetic, Fourier transforms, parameters, steps. Skipped where torch is not installed."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_comparing import compare_with_torch  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import UnsupportedError  # noqa: E402

GENERATOR = torch.Generator().manual_seed(3)


def floats(*shape):
    return torch.randn(shape, generator=GENERATOR)


def pairs(results):
    return {name: torch.view_as_real(z.resolve_conj()) for name, z in results.items()}


def arithmetic(x, y, r):
    a, b = torch.view_as_complex(x), torch.view_as_complex(y)
    numbers = {
        "add": a + b, "add_real": a + r, "real_add": r + a, "sub": a - b, "alpha": torch.sub(a, b, alpha=2), "rsub": 1.5 - a, "mul": a * b,
        "mul_real": a * r, "number": a * 2.5, "i": a * 1j, "plus_i": a + (1 + 2j), "div": a / b, "div_real": a / r, "inverse": 1 / a, "neg": -a,
        "conj": a.conj() * b, "exp": a.exp(), "sum": a.sum(0), "mean": a.mean(-1), "cumsum": a.cumsum(0), "where": torch.where(r > 0, a, b),
        "fill": a.masked_fill(r > 0, 0), "mm": a.transpose(0, 1) @ b, "einsum": torch.einsum("ij,kj->ik", a, b), "outer": torch.outer(a[0], b[1]),
        "polar": torch.polar(r.abs(), r), "complex": torch.complex(r, r * 2), "power": torch.exp(1j * r),
    }  # fmt: skip
    real = {"abs": a.abs(), "angle": a.angle(), "real": a.real * b.imag, "eq": a == a.clone(), "ne": a != b, "zero": torch.zeros_like(a).abs()}
    return {**pairs(numbers), **real}


def test_arithmetic():
    compare_with_torch(arithmetic, floats(4, 6, 2), floats(4, 6, 2), floats(4, 6))


def places(x, r):
    a = torch.view_as_complex(x)
    return pairs({
        "cat": torch.cat([a, r.to(a.dtype)]), "stack": torch.stack([a, a.conj()], 1), "index": a[torch.tensor([1, 0])], "flip": a.flip(0).roll(1, 1),
        "reshape": a.reshape(-1, 2), "select": a[1], "expand": a[:, None].expand(4, 3, 6), "split": a.split(2, 1)[1], "full": torch.full_like(a, 2 + 1j),
        "ones": torch.ones_like(a) - a, "zeros": torch.zeros_like(a) + a, "wide": a.to(torch.complex128).to(torch.complex64),
    })  # fmt: skip


def test_places():
    compare_with_torch(places, floats(4, 6, 2), floats(4, 6))


def transforms(x, z):
    c, fft = torch.view_as_complex(z), torch.fft
    made = {
        "fft": fft.fft(x), "ortho": fft.fft(c, norm="ortho"), "ifft": fft.ifft(c), "fft2": fft.fft2(c), "fftn": fft.fftn(x, dim=(0, 1)),
        "rfft": fft.rfft(x), "rfft_n": fft.rfft(x, n=5), "rfft2": fft.rfft2(x), "ihfft": fft.ihfft(x),
    }  # fmt: skip
    real = {"irfft": fft.irfft(c), "odd": fft.irfft(c, n=9), "irfft2": fft.irfft2(c, norm="forward"), "fnet": fft.fftn(x, dim=(0, 1)).real}
    return {**pairs(made), **real}


def test_fourier_transforms():
    compare_with_torch(transforms, floats(4, 6), floats(4, 6, 2))


class Filter(torch.nn.Module):
    """With a complex parameter, a complex buffer, and a complex argument."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.proj = torch.nn.Linear(16, 16)
        self.filter = torch.nn.Parameter(torch.randn(9, 16, dtype=torch.complex64) * 0.3)
        self.register_buffer("turns", torch.polar(torch.ones(16, 2), torch.arange(32.0).reshape(16, 2) / 7))

    def forward(self, x, other):
        z = torch.view_as_complex(self.proj(x).unflatten(-1, (4, 2, 2))) * self.turns[None, :, None]
        y = torch.view_as_real(z).flatten(-3) + (other * 1j).real.mean()
        return torch.fft.irfft(torch.fft.rfft(y, dim=1, norm="ortho") * self.filter, n=16, dim=1, norm="ortho")


@pytest.mark.parametrize("mesh, places", [(None, {}), (shoal.Mesh(d=2), {"inputs": {"x": P("d")}, "params": {"filter": P(None, "d")}})])
def test_calls(mesh, places):
    module, x, other = Filter(), floats(4, 16, 16), torch.view_as_complex(floats(3, 2))
    expected = module(x, other).detach()
    exe = st.compile(module, (x, other), mesh=mesh, **places)
    torch.testing.assert_close(exe(x, other), expected)
    torch.testing.assert_close(exe(x.numpy(), other.numpy()), expected)


def test_states_are_complex():
    module, x, other = Filter(), floats(4, 16, 16), torch.view_as_complex(floats(3, 2))
    call = st.jit(module)
    call(x, other)
    Filter().load_state_dict(call.state_dict())
    torch.testing.assert_close(call.state_dict(), dict(module.state_dict()))


def test_steps():
    module, batch = Filter(), {"x": floats(4, 16, 16), "other": torch.view_as_complex(floats(3, 2))}
    twin = copy.deepcopy(module)

    def loss(module, batch):
        return module(**batch).square().mean()

    step = st.train_step(module, loss, torch.optim.AdamW(module.parameters(), lr=1e-2), batch)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(twin, batch)
        value.backward()
        optimizer.step()
        np.testing.assert_allclose(step(batch)["loss"], value.item(), rtol=1e-5)
    torch.testing.assert_close(step.state_dict()["filter"], twin.filter.detach(), rtol=1e-4, atol=1e-5)


def test_results_are_real():
    with pytest.raises(UnsupportedError, match='result "result0" is not supported: complex elements; return torch.view_as_real of it'):
        st.compile(lambda x: torch.fft.fft(x), (floats(4),))
