# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements and compute nothing."""

import jax
import jax.numpy as jnp
from catalogue import P, at, program


@program("x=2 y=4", "f32[8@x,16@y]")
def transposes(x):
    return x.T, jnp.swapaxes(x.reshape(2, 4, 16), 0, 2)


@program("x=8", "f32[16@x,6]")
def reshape_merges(x):
    return x.reshape(96)


@program("x=4 y=2", "f32[16@x,8@y]")
def reshape_splits(x):
    return x.reshape(4, 4, 2, 4)


@program("x=8", "f32[16@x,6]")
def reshape_across(x):
    return x.reshape(6, 16)


@program("x=8", "f32[16@x,6]", out=P(None, "x"))
def reshape_to_other_rows(x):
    return x.reshape(12, 8)


@program("x=8", "f32[16@x]")
def broadcasts(x):
    return jnp.broadcast_to(x, (4, 16)), jnp.broadcast_to(x[:, None], (16, 3))


@program("x=8", "f32[16@x,4] f32[8@x,4]")
def concatenate_along_split(x, y):
    return jnp.concatenate([x, y, x])


@program("x=8", "f32[16@x,4] f32[16@x,6]")
def concatenate_along_whole(x, y):
    return jnp.concatenate([x, y], axis=1)


@program("x=8", "f32[16@x,4] f32[16@x,4]")
def stacks(x, y):
    return jnp.stack([x, y]), jnp.stack([x, y], axis=1)


@program("x=4 y=2", "f32[16@x,8@y]")
def slices(x):
    return x[2:14], x[:, ::2], x[4:12, 2:6], x[::-1]


@program("x=8", "f32[16@x,4]")
def slice_one_row(x):
    return x[5], x[-1], x[:, 2]


@program("x=4 y=2", "f32[8@x,8@y]")
def pads(x):
    return jnp.pad(x, ((1, 2), (0, 3))), jnp.pad(x, 1, mode="edge")


@program("x=8", "f32[8@x,4] f32[]")
def interior_padding(x, value):
    return jax.lax.pad(x, value, ((1, 0, 2), (-1, 1, 0)))


@program("x=4 y=2", "f32[8@x,8@y]")
def rolls_and_flips(x):
    return jnp.roll(x, 3, axis=0), jnp.flip(x, 1), jnp.rot90(x)


@program("x=8", "f32[16@x,4]")
def tiles_and_repeats(x):
    return jnp.tile(x, (2, 3)), jnp.repeat(x, 2, axis=0)


@program("x=8", "")
def iotas():
    return at(jnp.arange(16), "x"), at(jnp.eye(8), "x"), at(jnp.linspace(0, 1, 24), "x")


@program("x=8", "f32[16@x,4]")
def splits(x):
    a, b = jnp.split(x, 2)
    c, d = jnp.split(x, 2, axis=1)
    return a + b, c * d


@program("x=8", "f32[16@x,8]", out=P(None, "x"))
def all_to_all_by_annotation(x):
    return x * 2


@program("x=2 y=4", "f32[8@x+y,8]", out=P(("y", "x"), None))
def order_of_axes_changes(x):
    return x + 1


@program("x=2 y=4", "f32[8@x,8@y]", out=P(None, ("x", "y")))
def axes_gather_on_one_dimension(x):
    return x + 1


@program("x=2 y=2 z=2", "f32[8@x+y,8@z]", out=P("z", ("y", "x")))
def three_axes_change_places(x):
    return x + 1


@program("x=8", "f32[16@x,16]", out=P())
def gathered_by_annotation(x):
    return x - 1


@program("x=2 y=4", "f32[16,16@y]", out=P("x", "y"))
def sliced_by_annotation(x):
    return x - 1


@program("x=8", "f32[8@x,3] f32[8@x,5]")
def tree_of_results(x, y):
    return {"a": x, "b": [y, (x.sum(), y.mean())]}


@program("x=8", "f32[4,16]")
def tensors_of_odd_shapes(x):
    y = at(x.reshape(64)[:55].reshape(5, 11), None, "x")
    return y.T * 2, y.sum(0)


@program("x=8", "f32[8@x,1] f32[1,8]")
def squeeze_and_expand(x, y):
    return jnp.squeeze(x, 1), jnp.squeeze(y, 0) + jnp.expand_dims(x[:, 0], 1)


@program("x=8", "f32[0,4] f32[16@x,4]")
def empty_tensors(x, y):
    return jnp.concatenate([x, y]), x.sum()


@program("x=8", "f32[]")
def scalars(x):
    return x * 2, jnp.full((16,), x), jnp.sin(x)
