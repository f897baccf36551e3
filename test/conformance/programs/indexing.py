# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers, scatters, slices at places that data decides."""

import jax
import jax.numpy as jnp
from catalogue import P, at, program


@program("x=2 y=4", "f32[32,16@y] i32[8@x,4]<32")
def embedding(table, ids):
    return table[ids]


@program("x=8", "f32[32@x,16] i32[8]<32")
def embedding_of_split_vocabulary(table, ids):
    return table[ids]


@program("x=2 y=4", "f32[32@y,16] i32[8@x,4]<32", out=P("x", None, None))
def embedding_of_split_vocabulary_and_batch(table, ids):
    return jnp.take(table, ids, axis=0)


@program("x=8", "f32[16@x,8] i32[16@x]<8")
def take_along_rows(x, i):
    return jnp.take_along_axis(x, i[:, None], axis=1)


@program("x=8", "f32[16@x,8] i32[4]<8")
def gather_columns(x, i):
    return x[:, i]


@program("x=8", "f32[16@x,8] i32[5]<16 i32[5]<8")
def gather_points(x, i, j):
    return x[i, j]


@program("x=8", "f32[16@x,8] i32[]<12")
def dynamic_slices(x, i):
    return jax.lax.dynamic_slice(x, (i, 2), (4, 3)), jax.lax.dynamic_index_in_dim(x, i, 1)


@program("x=8", "f32[16@x,8] f32[16@x,2] i32[]<6")
def dynamic_update(x, y, i):
    return jax.lax.dynamic_update_slice(x, y, (0, i))


@program("x=8", "f32[16@x,8] f32[2,8] i32[]<14")
def dynamic_update_of_split_rows(x, y, i):
    return jax.lax.dynamic_update_slice(x, y, (i, 0))


@program("x=8", "f32[4,16@x,8] f32[4,1,8] i32[]<16")
def key_value_cache(cache, new, position):
    return jax.lax.dynamic_update_slice(cache, new, (0, position, 0))


@program("x=8", "f32[16@x,4] i32[6]<16 f32[6,4]")
def scatter_add(x, i, updates):
    return x.at[i].add(updates)


@program("x=8", "f32[16,4] i32[24@x]<16 f32[24@x,4]")
def scatter_add_of_split_updates(x, i, updates):
    return x.at[i].add(updates)


@program("x=8", "f32[16@x,4] i32[]<16")
def scatter_set(x, i):
    return x.at[i].set(1.0), x.at[:, 2].set(0.0), x.at[2:5].multiply(3.0)


@program("x=8", "f32[16@x,4] i32[6]<16 f32[6,4]")
def scatter_extremes(x, i, updates):
    return x.at[i].max(updates), x.at[i].min(updates)


@program("x=8", "f32[24@x,4] i32[24@x]<6")
def segment_sum(x, ids):
    return jax.ops.segment_sum(x, ids, num_segments=6)


@program("x=8", "f32[24@x] i32[24@x]<6")
def segment_max(x, ids):
    return jax.ops.segment_max(x, ids, num_segments=6)


@program("x=4 y=2", "i32[16@x,4]<10")
def one_hot(i):
    return at(jax.nn.one_hot(i, 10), "x", None, "y")


@program("x=8", "f32[16@x,8] i32[16@x]<8")
def pick_label_scores(x, labels):
    return x[jnp.arange(16), labels]


@program("x=8", "f32[16@x,4] i32[16]<16")
def permute_rows(x, order):
    return x[order]


@program("x=8", "f32[8@x,6,4] i32[8@x,3]<6")
def batched_gather(x, i):
    return jax.vmap(lambda rows, places: rows[places])(x, i)


@program("x=8", "f32[8@x,6] i32[8@x,3]<6 f32[8@x,3]")
def batched_scatter(x, i, updates):
    return jax.vmap(lambda row, places, new: row.at[places].add(new))(x, i, updates)


@program("x=8", "f32[16@x,4] pred[16@x]")
def mask_rows(x, mask):
    return jnp.where(mask[:, None], x, 0), jnp.sum(x, axis=0, where=mask[:, None])


@program("x=8", "f32[16@x] f32[6]")
def interpolation(y, places):
    return jnp.interp(places, jnp.arange(16.0), y)


@program("x=8", "f32[16@x] i32[5]<16")
def gather_out_of_range(x, i):
    return jnp.take(x, i * 2, mode="fill", fill_value=-1), jnp.take(x, i * 2, mode="clip")
