# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jax.random: the same numbers on any number of devices."""

import jax
import jax.numpy as jnp
from catalogue import P, at, program


def _typed(key):
    return jax.random.wrap_key_data(key, impl="threefry2x32")


@program("x=8", "key", out=P("x", None))
def uniform(key):
    return jax.random.uniform(_typed(key), (16, 8))


@program("x=8", "key", out=P("x", None))
def normal(key):
    return jax.random.normal(_typed(key), (16, 8))


@program("x=8", "key")
def split_and_fold(key):
    a, b = jax.random.split(_typed(key))
    return jax.random.key_data(a), jax.random.bits(jax.random.fold_in(b, 3), (16,))


@program("x=8", "key", out=P("x"))
def integers(key):
    return jax.random.randint(_typed(key), (32,), 0, 100)


@program("x=8", "key f32[16@x,8]")
def dropout(key, x):
    keep = jax.random.bernoulli(_typed(key), 0.9, x.shape)
    return jnp.where(keep, x / 0.9, 0)


@program("x=8", "key f32[16@x,8]")
def categorical(key, logits):
    return jax.random.categorical(_typed(key), logits)


@program("x=8", "key", out=P("x"))
def permutation(key):
    return jax.random.permutation(_typed(key), 32)


@program("x=8", "key")
def other_distributions(key):
    key = _typed(key)
    shape = (16,)
    return jax.random.exponential(key, shape), jax.random.gumbel(key, shape)


@program("x=8", "key", out=P("x"))
def truncated_normal(key):
    return jax.random.truncated_normal(_typed(key), -2, 2, (32,))


@program("x=2 y=4", "key", out={"wi": P("x", "y"), "wo": P("y", "x")})
def initialised_parameters(key):
    first, second = jax.random.split(_typed(key))
    wi = jax.nn.initializers.lecun_normal()(first, (16, 32))
    return {"wi": wi, "wo": jax.nn.initializers.he_uniform()(second, (32, 16))}


@program("x=8", "key")
def bfloat16_normal(key):
    return at(jax.random.normal(_typed(key), (16, 8), jnp.bfloat16), "x", None)


@program("x=8", "key f32[16@x,8]")
def random_in_a_loop(key, x):
    def step(carry, key):
        return carry + jax.random.normal(key, carry.shape), None

    return jax.lax.scan(step, x, jax.random.split(_typed(key), 3))[0]
