# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PyTorch beside the same of JAX, by the same shardings: equal bytes, an even share of the work. Skipped where torch is not installed."""

import sys

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AbstractMesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as Spec  # noqa: E402
from shoal_testing import ROOT  # noqa: E402

import shoal  # noqa: E402
import shoal.jax  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402

sys.path.append(str(ROOT / "test/python/torch/data"))
from make import GShard  # noqa: E402

F = torch.nn.functional
HEADS, EXPERTS, CAPACITY = 8, 8, 64


def gshard(gate, wi, wo, x):
    """`make.GShard` by JAX."""
    weights, chosen = jax.lax.top_k(jax.nn.softmax(jnp.einsum("gsm,me->gse", x, gate), -1), 2)
    hot = jnp.swapaxes(jax.nn.one_hot(chosen, EXPERTS, dtype=jnp.int32), 1, 2).reshape(x.shape[0], -1, EXPERTS)
    place = (jnp.cumsum(hot, 1) * hot - 1).reshape(x.shape[0], 2, x.shape[1], -1)
    slots = jax.nn.one_hot(jnp.clip(place, 0, CAPACITY - 1), CAPACITY, dtype=jnp.float32)
    kept = ((place >= 0) & (place < CAPACITY))[..., None] * slots
    rows = jnp.einsum("gsec,gsm->egcm", kept.sum(1), x)
    made = jnp.einsum("egch,ehm->gecm", jax.nn.relu(jnp.einsum("egcm,emh->egch", rows, wi)), wo)
    return jnp.einsum("gsec,gecm->gsm", jnp.einsum("gskx,gksec->gsec", weights[..., None], kept), made)


class Block(torch.nn.Module):
    """Llama's: attention and a gated network, each behind a norm."""

    def __init__(self, width=64, hidden=128):
        super().__init__()
        torch.manual_seed(0)
        for name, (out, into) in {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width)}.items():
            setattr(self, name, torch.nn.Linear(into, out, bias=False))
        self.gate, self.up = torch.nn.Linear(width, hidden, bias=False), torch.nn.Linear(width, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)
        self.norm1, self.norm2 = torch.nn.Parameter(torch.ones(width)), torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        rows, length, width = x.shape
        h = F.rms_norm(x, (width,), self.norm1, 1e-6)
        q, k, v = (part(h).view(rows, length, HEADS, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(rows, length, width))
        h = F.rms_norm(x, (width,), self.norm2, 1e-6)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def block(p, x):
    rows, length, width = x.shape

    def norm(x, weight):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight

    def linear(name, h):
        return jnp.einsum("bsm,om->bso", h, p[f"{name}.weight"])

    h = norm(x, p["norm1"])
    q, k, v = (jnp.swapaxes(linear(name, h).reshape(rows, length, HEADS, -1), 1, 2) for name in "qkv")
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(width // HEADS)
    scores = jnp.where(jnp.arange(length)[:, None] >= jnp.arange(length), scores, -jnp.inf)
    seen = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)
    x = x + linear("o", jnp.swapaxes(seen, 1, 2).reshape(rows, length, width))
    h = norm(x, p["norm2"])
    return x + linear("down", jax.nn.silu(linear("gate", h)) * linear("up", h))


def sent(exe):
    return exe.stats["bytes_sent_per_device"], exe.stats["collectives"]


def test_gshards_layer():
    torch.manual_seed(0)
    layer, x = GShard(EXPERTS, 64, 256, CAPACITY), torch.randn(8, 256, 64)
    ours = st.compile(layer, (x,), mesh=shoal.Mesh(x=8), params={"wi": P("x"), "wo": P("x")}, inputs=P("x"), outputs=P("x"))
    mesh = AbstractMesh((8,), ("x",))
    split, whole = NamedSharding(mesh, Spec("x")), NamedSharding(mesh, Spec())
    arrays = [tensor.detach().numpy() for tensor in (layer.gate, layer.wi, layer.wo, x)]
    theirs = shoal.jax.compile(gshard, *arrays, in_shardings=(whole, split, split, split), out_shardings=split, mesh=mesh)
    assert sent(ours) == sent(theirs) == ({"all_to_all": 229376}, {"all_to_all": 2})
    assert ours.stats["einsum_flops_ratio"] <= 1.02


@pytest.mark.parametrize("data, model", [(2, 4), (4, 2), (1, 8)])
def test_a_block_of_llama(data, model):
    module, x = Block(), torch.randn(4, 16, 64)
    plan = {"{q,k,v,gate,up}.weight": P("model"), "{o,down}.weight": P(None, "model"), "norm*": P()}
    ours = st.compile(module, (x,), mesh=shoal.Mesh(data=data, model=model), params=plan, inputs=P("data"), outputs=P("data"))
    mesh = AbstractMesh((data, model), ("data", "model"))
    params = {name: tensor.detach().numpy() for name, tensor in module.named_parameters()}
    specs = {name: Spec("model") if name[0] in "qkvgu" else Spec(None, "model") if name[0] in "od" else Spec() for name in params}
    places = {name: NamedSharding(mesh, spec) for name, spec in specs.items()}
    rows = NamedSharding(mesh, Spec("data"))
    theirs = shoal.jax.compile(block, params, x.numpy(), in_shardings=(places, rows), out_shardings=rows, mesh=mesh)
    assert sent(ours) == sent(theirs) and sent(ours)[1] == {"all_reduce": 2}
    assert ours.stats["einsum_flops_ratio"] <= 1.02
    np.testing.assert_allclose(ours(x), module(x).detach(), atol=1e-5)
