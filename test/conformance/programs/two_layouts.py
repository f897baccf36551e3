# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of little, read in two layouts: made in both, or of what is moved for them."""

import jax
import jax.numpy as jnp
from catalogue import P, program

ROWS_AND_COLUMNS = "f32[512@x,512] f32[512,512@x]"


def _typed(key):
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def _both(value, a, b):
    return a * value, b * value


@program("x=8", "f32[512@x]", out=P("x"))
def jacobians(x):
    return jax.jacrev(jnp.sin)(x), jax.jacfwd(jnp.sin)(x)


@program("x=8", "f32[512@x]", out=(P("x"), P(None, "x")))
def diagonal(x):
    return jnp.diag(x), jnp.diag(x) * 2


@program("x=8", ROWS_AND_COLUMNS)
def causal_mask_of_two(a, b):
    mask = jnp.tril(jnp.ones((512, 512), bool))
    return jnp.where(mask, a, -1e9), jnp.where(mask, b, -1e9)


@program("x=8", ROWS_AND_COLUMNS)
def sliding_window(a, b):
    i, j = jnp.arange(512)[:, None], jnp.arange(512)[None]
    return _both(((i >= j) & (i - j < 8)).astype(a.dtype), a, b)


@program("x=8", ROWS_AND_COLUMNS)
def iota(a, b):
    return _both(jax.lax.broadcasted_iota(jnp.float32, (512, 512), 1), a, b)


@program("x=8", ROWS_AND_COLUMNS)
def distances(a, b):
    return _both(-jnp.abs(jnp.arange(512.0)[:, None] - jnp.arange(512.0)[None]), a, b)


@program("x=8", "f32[8@x,64,512] f32[8,64@x,512] f32[8]")
def slopes_of_heads(a, b, slope):
    return _both(slope[:, None, None] * -jnp.abs(jnp.arange(64.0)[:, None] - jnp.arange(512.0)), a, b)


@program("x=8", ROWS_AND_COLUMNS)
def sines_of_positions(a, b):
    rate = 1e4 ** (-jnp.arange(256.0) / 256)
    angle = jnp.arange(512.0)[:, None] * rate
    return _both(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=1), a, b)


@program("x=2 y=4", "f32[512@x,8@y,16] f32[512,8@x+y,16]")
def rotary_tables(q, k):
    angle = jnp.arange(512.0)[:, None] * 1e4 ** (-jnp.arange(8.0) / 8)
    sin, cos = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]

    def turn(x):
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

    return turn(q), turn(k)


@program("x=8", "f32[512@x,512] f32[512,512@x] i32[512]<512")
def rotary_of_positions(a, b, positions):
    return _both(jnp.cos(positions[:, None] * 1e4 ** (-jnp.arange(512.0) / 512)), a, b)


@program("x=8", f"key {ROWS_AND_COLUMNS}")
def dropout_of_two(key, a, b):
    keep = jax.random.bernoulli(_typed(key), 0.9, (512, 512))
    return jnp.where(keep, a / 0.9, 0), jnp.where(keep, b / 0.9, 0)


@program("x=8", f"key {ROWS_AND_COLUMNS}")
def dropout_as_a_factor(key, a, b):
    return _both(jax.random.bernoulli(_typed(key), 0.9, (512, 512)).astype(a.dtype) / 0.9, a, b)


@program("x=8", f"key {ROWS_AND_COLUMNS}")
def noise(key, a, b):
    scale = jax.random.uniform(_typed(key), (512, 512))
    return a + scale, b + scale


@program("x=8", "key", out=(P("x"), P(None, "x")))
def initial_weights(key):
    w = jax.random.normal(_typed(key), (512, 512)) * 0.02
    return w, w


@program("x=8", "f32[512@x,512] f32[512,512@x] i32[512]<512")
def one_hots(a, b, labels):
    return _both(jax.nn.one_hot(labels, 512), a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] i32[512@x]<512")
def one_hots_of_split_labels(a, b, labels):
    return _both(jax.nn.one_hot(labels, 512), a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] i32[512@x]<512")
def smoothed_labels(a, b, labels):
    return _both(jax.nn.one_hot(labels, 512) * 0.9 + 0.1 / 512, a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] i32[512]<4")
def segments_of_two(a, b, segment):
    same = segment[:, None] == segment[None]
    return jnp.where(same, a, 0), jnp.where(same, b, 0)


@program("x=8", "f32[512@x,512] f32[512,512@x] i32[512@x]<512")
def lengths(a, b, length):
    return _both((jnp.arange(512) < length[:, None]).astype(a.dtype), a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] pred[512@x,512]")
def mask_that_is_given(a, b, mask):
    return _both(mask.astype(a.dtype), a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] f32[512@x]")
def gathered_norm(a, b, x):
    return _both(jnp.broadcast_to(jax.lax.rsqrt(x * x + 1e-6)[:, None], (512, 512)), a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] f32[512@x] f32[512]")
def outer_product_of_two(a, b, x, y):
    return _both(x[:, None] * y, a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] bf16[512@x,512]")
def widened(a, b, x):
    return _both(x.astype(jnp.float32), a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] i8[512@x,512] f32[512]")
def weights_of_bytes(a, b, w, scale):
    return _both(w.astype(jnp.float32) * scale, a, b)


@program("x=8", "f32[512@x,512] f32[512@x,512] i8[512,512@x] f32[512@x]")
def products_with_weights_of_bytes(a, b, w, scale):
    whole = w.astype(jnp.float32) * scale
    return a @ whole, b @ whole.T


@program("x=8", f"{ROWS_AND_COLUMNS} f32[]")
def scaled_identity(a, b, scale):
    return a + scale * jnp.eye(512), b - scale * jnp.eye(512)


@program("x=8", ROWS_AND_COLUMNS)
def grid(a, b):
    x, y = jnp.meshgrid(jnp.linspace(-1, 1, 512), jnp.linspace(-1, 1, 512))
    return _both(x * x + y * y, a, b)


@program("x=8", "f32[512@x,512] f32[512,512@x] f32[8]")
def bias_of_buckets(a, b, table):
    bucket = jnp.clip(jnp.abs(jnp.arange(512)[:, None] - jnp.arange(512)) // 8, 0, 7)
    return a + table[bucket], b + table[bucket]


@program("x=8", "f32[512@x,512] f32[512,512@x] f32[512,512]")
def gradient_of_masked_products(a, b, w):
    def loss(w):
        masked = jnp.where(jnp.tril(jnp.ones((512, 512), bool)), w, 0)
        return jnp.sum(jnp.sin(a @ masked)) + jnp.sum(jnp.cos(masked @ b))

    return jax.grad(loss)(w)


@program("x=2 y=4", "f32[8@x,4@y,32,8] f32[8@x,32,32@y]")
def causal_attention_and_scores(q, scores):
    mask = jnp.tril(jnp.ones((32, 32), bool))
    inner = jnp.where(mask, jnp.einsum("bhqd,bhkd->bhqk", q, q), -1e9)
    return jax.nn.softmax(inner), jnp.where(mask, scores, 0)
