# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops, branches, calls."""

import jax
import jax.numpy as jnp
from catalogue import at, program


@program("x=2 y=4", "f32[8@x,16] f32[3,16,16@y]")
def scan_over_layers(x, weights):
    def layer(x, w):
        return jnp.tanh(at(x @ w, "x", "y")), None

    return jax.lax.scan(layer, x, weights)[0]


@program("x=8", "f32[16@x,4] f32[5,4]")
def scan_with_outputs(x, steps):
    def step(carry, y):
        carry = carry * 0.5 + y
        return carry, carry.sum()

    return jax.lax.scan(step, x, steps)


@program("x=8", "f32[16,4] f32[16@x,4]")
def scan_over_split_dimension(x, y):
    return jax.lax.scan(lambda c, row: (c + row, c.max()), x[0], y)


@program("x=8", "f32[16@x,4]")
def counted_loop(x):
    return jax.lax.fori_loop(0, 5, lambda i, v: v * 1.1 + i, x)


@program("x=8", "f32[16@x]")
def while_of_data(x):
    def more(state):
        return state[1].max() < 100.0

    return jax.lax.while_loop(more, lambda s: (s[0] + 1, s[1] * 2), (0, jnp.abs(x) + 1))


@program("x=8", "f32[16@x,4] pred[]")
def conditional(x, flag):
    return jax.lax.cond(flag, lambda v: v * 2, lambda v: v - v.mean(), x)


@program("x=8", "f32[16@x,4] i32[]<3")
def switch(x, index):
    branches = [lambda v: v + 1, lambda v: v.sum(0) + v, lambda v: v[::-1]]
    return jax.lax.switch(index, branches, x)


@program("x=8", "f32[16@x,4]")
def calls(x):
    inner = jax.jit(lambda v: jnp.sin(v) * 2)
    return inner(inner(x)) + inner(x[::-1])


@program("x=8", "f32[16@x,4]")
def checkpointed(x):
    return jax.checkpoint(lambda v: jnp.sin(v @ v.T))(x)


@program("x=8", "f32[16@x,4] f32[8,4]")
def mapped(x, y):
    return jax.lax.map(lambda row: (x @ row).sum(), y)


@program("x=8", "f32[4,16@x] f32[16,16]")
def recurrent_network(x, w):
    def step(state, row):
        state = jnp.tanh(w @ state + row)
        return state, state

    return jax.lax.scan(step, jnp.zeros(16), x)


@program("x=8", "f32[8@x,12]")
def nested_loops(x):
    def outer(i, v):
        return jax.lax.fori_loop(0, 3, lambda j, u: u * 0.9 + j * i, v)

    return jax.lax.fori_loop(0, 4, outer, x)


@program("x=8", "f32[16@x,4]")
def unrolled_scan(x):
    return jax.lax.scan(lambda c, _: (c * 0.9, c.sum()), x, None, length=6, unroll=2)


@program("x=4 y=2", "f32[16@x,8]")
def loop_with_collective(x):
    def body(_, v):
        return at(v, "x", None) - at(v, "x", None).mean(0)

    return jax.lax.fori_loop(0, 3, body, x)


@program("x=8", "f32[16@x,16] f32[16]")
def conjugate_gradient(a, b):
    matrix = a @ a.T + 16 * jnp.eye(16)

    def step(_, state):
        x, r, p = state
        q = matrix @ p
        alpha = (r @ r) / (p @ q)
        rest = r - alpha * q
        return x + alpha * p, rest, rest + (rest @ rest) / (r @ r) * p

    return jax.lax.fori_loop(0, 5, step, (jnp.zeros(16), b, b))[0]
