# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, scans over prefixes, statistics, softmax."""

import jax
import jax.numpy as jnp
from catalogue import P, at, program


@program("x=2 y=4", "f32[8@x,16@y]", out=P())
def sum_of_all(x):
    return x.sum()


@program("x=2 y=4", "f32[8@x,16@y]", out=(P("x"), P("y")))
def sums_by_dimension(x):
    return x.sum(1), x.sum(0)


@program("x=2 y=4", "f32[8@x,16@y]")
def means_and_variances(x):
    return x.mean(), x.var(1), x.std(0)


@program("x=8", "f32[16@x,4]")
def extremes(x):
    return x.max(), x.min(0), x.max(1)


@program("x=8", "i32[16@x,4]")
def integer_reductions(x):
    return x.sum(), x.prod(1), x.max(0), x.min()


@program("x=8", "u32[16@x,4]")
def unsigned_reductions(x):
    return x.sum(0), x.max(0), x.min(0)


@program("x=8", "f32[16@x]")
def product(x):
    return x.prod()


@program("x=8", "pred[16@x,4]")
def any_all_count(x):
    return x.any(), x.all(0), jnp.count_nonzero(x)


@program("x=8", "f32[16@x,8]")
def argmax_and_argmin(x):
    return x.argmax(1), x.argmin(0), x.argmax()


@program("x=8", "f32[4,16@x]", out=P(None, "x"))
def softmax_over_split(x):
    return jax.nn.softmax(x, axis=1)


@program("x=4 y=2", "f32[8@x,16@y]", out=P("x", "y"))
def log_softmax(x):
    return jax.nn.log_softmax(x)


@program("x=8", "f32[16@x,8]")
def logsumexp(x):
    return jax.nn.logsumexp(x, axis=0), jax.nn.logsumexp(x)


@program("x=8", "f32[16@x,32] f32[32] f32[32]")
def layer_norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-6) * scale + bias


@program("x=2 y=4", "f32[16@x,32@y] f32[32@y]")
def rms_norm_over_split(x, scale):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


@program("x=8", "f32[16@x,6]")
def cumulative_sums(x):
    return jnp.cumsum(x, 0), jnp.cumsum(x, 1), jnp.cumprod(x, 1)


@program("x=8", "f32[4,16@x]")
def cumulative_extremes(x):
    return jax.lax.cummax(x, axis=1), jax.lax.cummin(x, axis=0), jax.lax.cumlogsumexp(x, axis=1)


@program("x=8", "f32[16@x]")
def cumulative_reversed(x):
    return jax.lax.cumsum(x, reverse=True)


@program("x=8", "f32[16@x,4]")
def reduce_with_own_combiner(x):
    return jax.lax.reduce(x, jnp.float32(1), lambda a, b: a * b, (1,))


@program("x=8", "f32[16@x,4] i32[16@x,4]")
def reduce_of_pairs(x, i):
    def larger(a, b):
        takes = a[0] >= b[0]
        return jnp.where(takes, a[0], b[0]), jnp.where(takes, a[1], b[1])

    return jax.lax.reduce((x, i), (-jnp.inf, jnp.int32(0)), larger, (0,))


@program("x=8", "f32[16@x,4]")
def uneven_reduction(x):
    return at(x[:11], "x", None).sum(0), at(x[:3], "x", None).max(0)


@program("x=8", "bf16[32@x,8]")
def bfloat16_sum(x):
    return x.sum(0), x.mean()


@program("x=8", "f32[16@x,8]")
def median_and_quantile(x):
    return jnp.median(x, axis=1), jnp.quantile(x, 0.3, axis=0)


@program("x=8", "f32[16@x] f32[16@x]>0")
def weighted_average(x, w):
    return jnp.average(x, weights=w), jnp.cov(jnp.stack([x, w]))


@program("x=8", "i32[64@x]<10")
def histogram(x):
    return jnp.bincount(x, length=10)


@program("x=8", "f32[8@x,16]")
def differences(x):
    return jnp.diff(x), jnp.diff(x, axis=0), jnp.gradient(x, axis=1)


@program("x=8", "f32[8@x,16]")
def associative_scan(x):
    return jax.lax.associative_scan(jnp.multiply, x, axis=1)
