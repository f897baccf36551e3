# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PyTorch beside the same of JAX, by the same shardings: equal bytes, an even share of the work. Skipped where torch is not installed."""

import functools
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
HEADS, EXPERTS, CAPACITY = 8, 8, 16


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
        return x + self.network(F.rms_norm(x, (width,), self.norm2, 1e-6))

    def network(self, h):
        return self.down(F.silu(self.gate(h)) * self.up(h))


class Routed(Block):
    """Mixtral's: in the network's place experts, of which each token has two, on rows that are sorted by expert."""

    def __init__(self, width=64, hidden=128):
        super().__init__(width, hidden)
        del self.gate, self.up, self.down
        self.router = torch.nn.Linear(width, EXPERTS, bias=False)
        self.into = torch.nn.Parameter(torch.randn(EXPERTS, width, 2 * hidden) * 0.1)
        self.out = torch.nn.Parameter(torch.randn(EXPERTS, hidden, width) * 0.1)

    def network(self, h):
        tokens = h.reshape(-1, h.shape[-1])
        weights, chosen = torch.softmax(self.router(tokens), -1).topk(2, -1)
        weights, chosen = weights / weights.sum(-1, keepdim=True), chosen.reshape(-1)
        order = torch.argsort(chosen, stable=True)
        ends = F.one_hot(chosen, EXPERTS).sum(0).cumsum(0, dtype=torch.int32)
        grouped = torch.ops.transformers.grouped_mm_fallback
        gate, up = grouped(tokens[order // 2], self.into, ends).chunk(2, -1)
        made = grouped(F.silu(gate) * up, self.out, ends)[torch.argsort(order)]
        return (made.reshape(-1, 2, h.shape[-1]) * weights[..., None]).sum(1).reshape(h.shape)


def argsort(keys):
    """With places of 32 bits in what is sorted, as the frontend's, and of 64 behind it, as torch's."""
    return jax.lax.sort((keys, jnp.arange(keys.size, dtype=jnp.int32)), num_keys=1)[1].astype(jnp.int64)


def routed(p, h):
    """`Routed.network` by JAX, with integers of 64 bits."""
    tokens = h.reshape(-1, h.shape[-1])
    weights, chosen = jax.lax.top_k(jax.nn.softmax(jnp.einsum("tm,em->te", tokens, p["router.weight"]), -1), 2)
    weights, chosen = weights / weights.sum(-1, keepdims=True), chosen.astype(jnp.int64).reshape(-1)
    order = argsort(chosen)
    sizes = jax.nn.one_hot(chosen, EXPERTS, dtype=jnp.int64).sum(0).astype(jnp.int32)
    gate, up = jnp.split(jax.lax.ragged_dot(tokens[order // 2], p["into"], sizes), 2, -1)
    made = jax.lax.ragged_dot(jax.nn.silu(gate) * up, p["out"], sizes)[argsort(order)]
    return (made.reshape(-1, 2, h.shape[-1]) * weights[..., None]).sum(1).reshape(h.shape)


def dense(p, h):
    """`Block.network` by JAX."""
    gate, up = (jnp.einsum("bsm,om->bso", h, p[f"{name}.weight"]) for name in ("gate", "up"))
    return jnp.einsum("bsm,om->bso", jax.nn.silu(gate) * up, p["down.weight"])


def block(network, p, x):
    rows, length, width = x.shape

    def norm(x, weight):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight

    def linear(name, h):
        return jnp.einsum("bsm,om->bso", h, p[f"{name}.weight"])

    h = norm(x, p["norm1"])
    q, k, v = (jnp.swapaxes(linear(name, h).reshape(rows, length, HEADS, -1), 1, 2) for name in "qkv")
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / float(np.sqrt(width // HEADS))
    scores = jnp.where(jnp.arange(length)[:, None] >= jnp.arange(length), scores, -jnp.inf)
    seen = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)
    x = x + linear("o", jnp.swapaxes(seen, 1, 2).reshape(rows, length, width))
    return x + network(p, norm(x, p["norm2"]))


def bars(ours, theirs, is_one_program=True):
    """The same bytes in the same collectives; products in equal parts; no more memory.

    is_one_program: whether what is searched finds the same, though softmax and norms are one op here and several there.
    """
    sent, others = (exe.stats["bytes_sent_per_device"] for exe in (ours, theirs))
    assert sum(sent.values()) <= 1.01 * sum(others.values())
    if is_one_program:
        assert sent == others and ours.stats["collectives"] == theirs.stats["collectives"]
    assert ours.stats["einsum_flops_ratio"] <= 1.02
    assert ours.stats["peak_bytes_per_device"] <= 1.05 * theirs.stats["peak_bytes_per_device"]


def test_gshards_layer():
    torch.manual_seed(0)
    layer, x = GShard(EXPERTS, 32, 128, CAPACITY), torch.randn(8, 64, 32)
    ours = st.compile(layer, (x,), mesh=shoal.Mesh(x=8), params={"wi": P("x"), "wo": P("x")}, inputs=P("x"), outputs=P("x"))
    mesh = AbstractMesh((8,), ("x",))
    split, whole = NamedSharding(mesh, Spec("x")), NamedSharding(mesh, Spec())
    arrays = [tensor.detach().numpy() for tensor in (layer.gate, layer.wi, layer.wo, x)]
    theirs = shoal.jax.compile(gshard, *arrays, in_shardings=(whole, split, split, split), out_shardings=split, mesh=mesh)
    bars(ours, theirs)
    assert ours.stats["bytes_sent_per_device"] == {"all_to_all": 28672} and ours.stats["collectives"] == {"all_to_all": 2}


def both(module, network, axes, plan, x):
    """A block by torch and by JAX, on a mesh whose first axis has the rows; plan: by the first letters of names."""
    mesh = AbstractMesh(tuple(axes.values()), tuple(axes))
    rows = next(iter(axes))
    ours = st.compile(module, (x,), mesh=shoal.Mesh(**axes), params={f"{name}*": P(*spec) for name, spec in plan.items()}, inputs=P(rows), outputs=P(rows))
    params = {name: tensor.detach().numpy() for name, tensor in module.named_parameters()}
    specs = {name: next(spec for start, spec in plan.items() if name.startswith(start)) for name in params}
    places = {name: NamedSharding(mesh, Spec(*spec)) for name, spec in specs.items()}
    split = NamedSharding(mesh, Spec(rows))
    with jax.enable_x64(True):
        theirs = shoal.jax.compile(functools.partial(block, network), params, x.numpy(), in_shardings=(places, split), out_shardings=split, mesh=mesh)
    return ours, theirs


COLUMNS, ROWS = ("model",), (None, "model")
ATTENTION = {"q.": COLUMNS, "k.": COLUMNS, "v.": COLUMNS, "o.": ROWS, "norm": ()}


@pytest.mark.parametrize("data, model", [(2, 4), (4, 2), (1, 8)])
def test_a_block_of_llama(data, model):
    module, x = Block(), torch.randn(4, 16, 64)
    plan = {**ATTENTION, "gate.": COLUMNS, "up.": COLUMNS, "down.": ROWS}
    ours, theirs = both(module, dense, {"data": data, "model": model}, plan, x)
    bars(ours, theirs)
    assert ours.stats["collectives"] == {"all_reduce": 2}
    np.testing.assert_allclose(ours(x), module(x).detach(), atol=1e-5)


@pytest.mark.parametrize("axes, experts", [({"data": 2, "model": 4}, ("model",)), ({"data": 4, "model": 2}, ("model",)), ({"expert": 4, "model": 2}, ("expert",))])
def test_a_block_of_mixtral(axes, experts):
    pytest.importorskip("transformers.integrations.moe")
    module, x = Routed(), torch.randn(4, 16, 64)
    ours, theirs = both(module, routed, axes, {**ATTENTION, "router.": (), "into": experts, "out": experts}, x)
    bars(ours, theirs, is_one_program=axes == {"data": 2, "model": 4})
    np.testing.assert_allclose(ours(x), module(x).detach(), atol=1e-5)
