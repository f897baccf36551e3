# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches of imported programs, and their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_import_testing import compare_with_jax

RNG = np.random.default_rng(1)
X = RNG.standard_normal((2, 9, 8, 6)).astype(np.float32)


def loops(x):
    def step(carry, row):
        return carry * 0.9 + row, carry.sum()

    return {
        "scan": lax.scan(step, x[0], x),
        "reverse": lax.scan(step, x[0], x, reverse=True),
        "gradient": jax.grad(lambda x: lax.scan(step, x[0], x)[0].sum())(x),
        "fori": lax.fori_loop(0, 5, lambda i, c: c + i, jnp.int32(0)),
        "while": lax.while_loop(
            lambda c: c[0] < 10, lambda c: (c[0] * 2 + 1, c[1] + x[0]), (0, x[1])
        ),
        "map": lax.map(jnp.sum, x),
    }


def branches(x):
    table = [lambda x: x, lambda x: x * 2, lambda x: x.at[0].set(0)]
    return {
        "cond": lax.cond(x[0, 0, 0] > 0, lambda x: x * 2, lambda x: x - 1, x),
        "switch": [lax.switch(jnp.int32(i), table, x) for i in (-1, 1, 7)],
        "gradient": jax.grad(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x).sum())(x),
        "batched": jax.vmap(lambda p, v: lax.cond(p, jnp.sin, jnp.cos, v))(x[:, 0, 0] > 0, x),
        "checkpoint": jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(x) * x)(x).sum())(x),
        "barrier": lax.optimization_barrier((x, x * 2)),
        "composite": lax.composite(lambda x: jnp.sin(x) + 1, name="shoal.test")(x),
    }


@pytest.mark.parametrize("program", [loops, branches], ids=lambda p: p.__name__)
def test_control_flow(program):
    compare_with_jax(program, X[0])
