# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shard_map: parts that are written for one device, with collectives."""

import jax
import jax.numpy as jnp
from catalogue import P, on_devices, program


@program("x=8", "f32[16@x,4]")
def manual_sum(x):
    manual = lambda x: jax.lax.psum(x.sum(0), "x")
    return on_devices(manual, lambda x: x.sum(0), P("x"), P())(x)


@program("x=2 y=4", "f32[8@x,16@y] f32[16@y,8]")
def manual_matmul(x, w):
    manual = lambda x, w: jax.lax.psum(x @ w, "y")
    return on_devices(manual, jnp.matmul, (P("x", "y"), P("y", None)), P("x"))(x, w)


@program("x=2 y=4", "f32[8@x,16@y]")
def manual_gather(x):
    manual = lambda x: jax.lax.all_gather(x, "y", axis=1, tiled=True) * 2
    return on_devices(manual, lambda x: x * 2, P("x", "y"), P("x"))(x)


@program("x=8", "f32[16@x,8]")
def manual_all_to_all(x):
    manual = lambda x: jax.lax.all_to_all(x, "x", 1, 0, tiled=True)
    return on_devices(manual, lambda x: x, P("x"), P(None, "x"))(x)


@program("x=8", "f32[16@x,8]")
def manual_reduce_scatter(x):
    manual = lambda x: jax.lax.psum_scatter(x.sum(0), "x", tiled=True)
    return on_devices(manual, lambda x: x.sum(0), P("x"), P("x"))(x)


@program("x=8", "f32[16@x,4]")
def manual_ring_shift(x):
    manual = lambda x: jax.lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
    return on_devices(manual, lambda x: jnp.roll(x, 2, 0), P("x"), P("x"))(x)


@program("x=8", "f32[16@x,4]")
def manual_shift_without_wrap(x):
    manual = lambda x: jax.lax.ppermute(x, "x", [(i, i + 1) for i in range(7)])
    whole = lambda x: jnp.roll(x, 2, 0).at[:2].set(0)
    return on_devices(manual, whole, P("x"), P("x"))(x)


@program("x=2 y=4", "f32[8@x,8@y]")
def manual_butterfly(x):
    manual = lambda x: x + jax.lax.ppermute(x, "y", [(i, i ^ 1) for i in range(4)])
    whole = lambda x: x + x.reshape(8, 2, 2, 2)[:, :, ::-1].reshape(8, 8)
    return on_devices(manual, whole, P("x", "y"), P("x", "y"))(x)


@program("x=8", "f32[8@x]")
def manual_reversal(x):
    manual = lambda x: jax.lax.ppermute(x, "x", [(i, 7 - i) for i in range(8)])
    return on_devices(manual, lambda x: x[::-1], P("x"), P("x"))(x)


@program("x=8", "f32[16@x,4]")
def manual_permute_of_some(x):
    """One keeps its own, and who is sent nothing has zeros."""
    pairs = [(0, 5), (5, 1), (3, 3), (6, 0)]
    manual = lambda x: jax.lax.ppermute(x, "x", pairs)

    def whole(x):
        rows = x.reshape(8, 2, 4)
        sources, targets = map(jnp.array, zip(*pairs))
        return jnp.zeros_like(rows).at[targets].set(rows[sources]).reshape(16, 4)

    return on_devices(manual, whole, P("x"), P("x"))(x)


@program("x=2 y=4", "f32[8@x+y,6]")
def manual_permute_over_two_axes(x):
    """Devices are turned by threes, which is no shift along axes; and the gradient, which turns back."""
    pairs = [(i, 3 * i % 8) for i in range(8)]
    manual = lambda x: jax.lax.ppermute(x, ("x", "y"), pairs)
    whole = lambda x: x[jnp.array([3 * i % 8 for i in range(8)])]
    permuted = on_devices(manual, whole, P(("x", "y")), P(("x", "y")))
    return jax.value_and_grad(lambda x: (permuted(x) ** 3).sum())(x)


@program("x=2 y=4", "f32[8@x,8@y]")
def manual_axis_index(x):
    def manual(x):
        return x + jax.lax.axis_index("x") * 10 + jax.lax.axis_index("y")

    def whole(x):
        rows, columns = jnp.arange(8) // 4, jnp.arange(8) // 2
        return x + rows[:, None] * 10 + columns

    return on_devices(manual, whole, P("x", "y"), P("x", "y"))(x)


@program("x=2 y=4", "f32[8@x,16] f32[16,8@y]")
def manual_over_one_axis(x, w):
    """The compiler partitions along the other axis."""

    def manual(x, w):
        return jax.lax.pmean(x.mean(0), "x")[:8] + jax.lax.axis_index("x") + x @ w

    def whole(x, w):
        return x.mean(0)[:8] + jnp.repeat(jnp.arange(2.0), 4)[:, None] + x @ w

    return on_devices(manual, whole, (P("x"), P()), P("x"), axis_names={"x"})(x, w)


@program("x=8", "f32[16@x,4] u32[16@x]")
def manual_extremes(x, i):
    def manual(x, i):
        return jax.lax.pmax(x.max(), "x"), jax.lax.pmin(x.min(), "x"), jax.lax.pmax(i.max(), "x")

    whole = lambda x, i: (x.max(), x.min(), i.max())
    return on_devices(manual, whole, (P("x"), P("x")), P())(x, i)


@program("x=8", "f32[16@x,8]")
def manual_softmax(x):
    def manual(x):
        top = jax.lax.pmax(x.max(0), "x")
        e = jnp.exp(x - top)
        return e / jax.lax.psum(e.sum(0), "x")

    return on_devices(manual, lambda x: jax.nn.softmax(x, 0), P("x"), P("x"))(x)


@program("x=8", "f32[16@x,8] f32[8,16]")
def manual_within_automatic(x, w):
    manual = lambda x: x - jax.lax.pmean(x.mean(0), "x")
    return on_devices(manual, lambda x: x - x.mean(0), P("x"), P("x"))(jnp.tanh(x)) @ w


@program("x=8", "f32[8@x,8,4] f32[8@x,4,4]")
def manual_experts(x, w):
    """Tokens to their experts and back, by hand."""

    def manual(x, w):
        received = jax.lax.all_to_all(x, "x", 1, 0, tiled=True)
        return jax.lax.all_to_all(received @ w[0], "x", 0, 1, tiled=True)

    whole = lambda x, w: jnp.einsum("gem,emh->geh", x, w)
    return on_devices(manual, whole, (P("x"), P("x")), P("x"))(x, w)


@program("x=8", "f32[16@x,4]")
def manual_loop(x):
    def manual(x):
        def step(i, state):
            total, moving = state
            moving = jax.lax.ppermute(moving, "x", [(i, (i + 1) % 8) for i in range(8)])
            return total + moving, moving

        return jax.lax.fori_loop(0, 7, step, (x, x))[0]

    whole = lambda x: jnp.tile(x.reshape(8, 2, 4).sum(0), (8, 1))
    return on_devices(manual, whole, P("x"), P("x"))(x)


@program("x=8", "f32[16@x,4]", gspmd=True)
def manual_sum_by_gspmd(x):
    manual = lambda x: x / jax.lax.psum(x.sum(0), "x")
    return on_devices(manual, lambda x: x / x.sum(0), P("x"), P("x"))(x)


@program("x=2 y=4", "f32[8@x,16] f32[16,8@y]", gspmd=True)
def manual_over_one_axis_by_gspmd(x, w):
    manual = lambda x, w: jax.lax.pmean(x, "x") @ w
    whole = lambda x, w: (x[:4] + x[4:]) / 2 @ w
    return on_devices(manual, whole, (P("x"), P()), P(), axis_names={"x"})(x, w)


@program("x=8", "f32[16@x,4] f32[4,4]", tolerance=1e-4)
def gradient_of_manual(x, w):
    def loss(w):
        manual = lambda x, w: jnp.tanh(x @ w)
        return on_devices(manual, manual, (P("x"), P()), P("x"))(x, w).sum()

    return jax.grad(loss)(w)


@program("x=2 y=2 z=2", "f32[8@x+z,8@y]")
def manual_over_two_of_three_axes(x):
    manual = lambda x: jax.lax.psum(x, ("x", "z"))
    whole = lambda x: jnp.tile(x.reshape(4, 2, 8).sum(0), (4, 1))[:2]
    return on_devices(manual, whole, P(("x", "z"), "y"), P(None, "y"))(x)


def _within(inner, in_specs, out_specs, axis):
    """`inner` under shard_map along one more axis of the mesh around it."""
    return jax.shard_map(
        inner, in_specs=in_specs, out_specs=out_specs, axis_names={axis}, check_vma=False
    )


def _nested_matmul(x, w):
    """Rows over "x" outside, the contraction over "y" inside; sums over both and place."""

    def inner(x, w):
        product = jax.lax.psum(x @ w, "y")
        scale = jax.lax.psum(jnp.abs(x).sum(), ("x", "y"))
        return product / scale + jax.lax.axis_index("x") * 10 + jax.lax.axis_index("y") * 0

    def outer(x, w):
        x = x - jax.lax.pmean(x.mean(0), "x")
        return _within(inner, (P(None, "y"), P("y")), P(), "y")(x, w)

    def whole(x, w):
        x = x - x.mean(0)
        return x @ w / jnp.abs(x).sum() + jnp.repeat(jnp.arange(2.0), 4)[:, None] * 10

    return on_devices(outer, whole, (P("x"), P()), P("x"), axis_names={"x"})(x, w)


@program("x=2 y=4", "f32[8@x,16] f32[16@y,8]")
def manual_in_manual(x, w):
    return _nested_matmul(x, w)


@program("x=2 y=4", "f32[8@x,16] f32[16@y,8]", gspmd=True)
def manual_in_manual_by_gspmd(x, w):
    return _nested_matmul(x, w)


@program("x=2 y=2 z=2", "f32[8@x,8] f32[8,16@z]")
def manual_in_manual_beside_automatic(x, w):
    """A gather along "y" in a region along "x"; the columns over "z" are the compiler's."""

    def inner(x, w):
        product = jnp.tanh(jax.lax.all_gather(x, "y", axis=1, tiled=True) @ w)
        return product - jax.lax.pmax(product.max(0), ("x", "y"))

    def outer(x, w):
        return _within(inner, (P(None, "y"), P()), P(), "y")(x * 2, w)

    def whole(x, w):
        product = jnp.tanh(x * 2 @ w)
        return product - product.max(0)

    return on_devices(outer, whole, (P("x"), P()), P("x"), axis_names={"x"})(x, w)
