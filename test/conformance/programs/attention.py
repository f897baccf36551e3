# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in its variants."""

import jax
import jax.numpy as jnp
from catalogue import P, program

HEADS = "f32[4@x,16,4@y,8] f32[4@x,16,4@y,8] f32[4@x,16,4@y,8]"


def attend(q, k, v, mask=None):
    """q, k, v: (batch, length, heads, depth)."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


@program("x=2 y=4", HEADS)
def attention_over_heads(q, k, v):
    return attend(q, k, v)


@program("x=2 y=4", HEADS, out=P("x", None, "y", None))
def causal_attention(q, k, v):
    return attend(q, k, v, jnp.tril(jnp.ones((16, 16), bool)))


@program("x=2 y=4", "f32[4@x,16@y,4,8] f32[4@x,16@y,4,8] f32[4@x,16@y,4,8]")
def attention_over_sequence(q, k, v):
    return attend(q, k, v)


@program("x=2 y=4", "f32[4@x,1,4@y,8] f32[4@x,16,4@y,8] f32[4@x,16,4@y,8] i32[]<16")
def decoding_step(q, k, v, position):
    return attend(q, k, v, jnp.arange(16) <= position)


@program("x=2 y=4", "f32[4@x,16,8@y,8] f32[4@x,16,2,8] f32[4@x,16,2,8]")
def grouped_query_attention(q, k, v):
    q = q.reshape(4, 16, 2, 4, 8)
    scores = jnp.einsum("bqghd,bkgd->bghqk", q, k)
    out = jnp.einsum("bghqk,bkgd->bqghd", jax.nn.softmax(scores), v)
    return out.reshape(4, 16, 8, 8)


@program("x=2 y=4", "f32[4@x,16,8@y,8] f32[4@x,16,8] f32[4@x,16,8]")
def multi_query_attention(q, k, v):
    scores = jnp.einsum("bqhd,bkd->bhqk", q, k)
    return jnp.einsum("bhqk,bkd->bqhd", jax.nn.softmax(scores), v)


@program("x=2 y=4", HEADS)
def dot_product_attention(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


@program("x=2 y=4", "f32[4@x,16,4@y,8]")
def rotary_embedding(x):
    angles = jnp.arange(16)[:, None] / 10000.0 ** (jnp.arange(4) / 4)
    sin, cos = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


@program("x=2 y=4", HEADS)
def attention_with_linear_bias(q, k, v):
    slopes = 2.0 ** -jnp.arange(1, 5)
    distance = jnp.arange(16)[:, None] - jnp.arange(16)
    bias = -jnp.abs(distance) * slopes[:, None, None]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) + bias
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


@program("x=2 y=4", HEADS)
def sliding_window_attention(q, k, v):
    distance = jnp.arange(16)[:, None] - jnp.arange(16)
    return attend(q, k, v, (distance >= 0) & (distance < 4))


@program("x=8", "f32[8@x,16,2,4] f32[8@x,16,2,4] f32[8@x,16,2,4]")
def chunked_attention(q, k, v):
    """Softmax in one pass over blocks of keys."""

    def chunk(state, block):
        largest, total, out = state
        keys, values = block
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys)
        top = jnp.maximum(largest, scores.max(-1))
        weights = jnp.exp(scores - top[..., None])
        scale = jnp.exp(largest - top)
        out = out * scale[..., None] + jnp.einsum("bhqk,bkhd->bhqd", weights, values)
        return (top, total * scale + weights.sum(-1), out), None

    blocks = [t.reshape(8, 4, 4, 2, 4).swapaxes(0, 1) for t in (k, v)]
    start = (jnp.full((8, 2, 16), -jnp.inf), jnp.zeros((8, 2, 16)), jnp.zeros((8, 2, 16, 4)))
    _, total, out = jax.lax.scan(chunk, start, tuple(blocks))[0]
    return out / total[..., None]


@program("x=2 y=4", HEADS, tolerance=1e-4)
def gradient_of_attention(q, k, v):
    return jax.grad(lambda *a: jnp.sum(attend(*a) ** 2), argnums=(0, 1, 2))(q, k, v)


@program("x=8", "f32[8@x,16,16] f32[8@x,16,16]")
def linear_attention(q, k):
    key = jax.nn.elu(k) + 1
    state = jnp.einsum("bkd,bke->bde", key, k)
    return jnp.einsum("bqd,bde->bqe", jax.nn.elu(q) + 1, state)


@program("x=2 y=4", "f32[4@x,8,32] f32[4@x,16,32] f32[32,64@y] f32[32,64@y] f32[32,64@y]")
def cross_attention(x, memory, wq, wk, wv):
    q, k, v = x @ wq, memory @ wk, memory @ wv
    heads = lambda t: t.reshape(4, -1, 8, 8)
    return attend(heads(q), heads(k), heads(v)).reshape(4, 8, 64)
