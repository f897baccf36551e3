# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices, reversals, concatenations, pads and reshapes that few rows cross devices for."""

import jax
import jax.numpy as jnp
from catalogue import P, at, program
from jax import lax


@program("x=8", "f32[16@x,4]", out=P())
def slice_to_one_row(x):
    return x[5:6]


@program("x=8", "f32[16@x,4]")
def slice_to_one_row_freely(x):
    return x[15:16] * 2


@program("x=2 y=4", "f32[8@x,16@y]", out=P("x"))
def slice_to_one_column(x):
    return x[:, 7:8]


@program("x=2 y=4", "f32[4@x,2]", out=P("x"))
def slice_of_the_middle(x):
    return x[1:3]


@program("x=8", "f32[16@x,4]")
def slice_of_an_uneven_split(x):
    return jnp.sin(x[1:])[2:]


@program("x=4 y=2", "f32[16@x,4]", out=P("x"))
def slice_of_the_last_half(x):
    return x[8:]


@program("x=4 y=2", "f32[16@x,4]", out=P("x"))
def slice_with_strides(x):
    return x[1::2]


@program("x=4 y=2", "f32[24@x,4]", out=P("x"))
def slice_with_strides_of_three(x):
    return x[::3]


@program("x=8", "f32[16@x]", out=P("x"))
def rotation_by_one(x):
    return jnp.concatenate([x[1:], x[:1]])


@program("x=8", "f32[16@x]", out=P("x"))
def rotation_by_shard(x):
    return jnp.concatenate([x[-2:], x[:-2]])


@program("x=4 y=2", "f32[16@x,2]", out=P("x"))
def rotation_by_more_than_a_shard(x):
    return jnp.concatenate([x[5:], x[:5]])


@program("x=2 y=4", "f32[16@y,8@x]", out=P("y", "x"))
def rotation_of_both(x):
    x = jnp.concatenate([x[-1:], x[:-1]])
    return jnp.concatenate([x[:, 1:], x[:, :1]], axis=1)


@program("x=8", "f32[16@x]", out=P("x"))
def rotation_and_sum(x):
    return x + jnp.concatenate([x[1:], x[:1]]) + jnp.concatenate([x[-1:], x[:-1]])


@program("x=4 y=2", "f32[8@x]")
def rotation_of_an_uneven_split(x):
    x = jnp.sin(x[1:])
    return jnp.concatenate([x[1:], x[:1]])


@program("x=8", "f32[16@x,3]", out=P("x"))
def shift_with_zeros(x):
    return jnp.concatenate([jnp.zeros((1, 3), x.dtype), x[:-1]])


@program("x=8", "f32[16@x,3]", out=P("x"))
def shift_by_pad(x):
    return jnp.pad(x[1:], ((0, 1), (0, 0)))


@program("x=8", "f32[16@x,3] f32[1,3]", out=P("x"))
def next_rows_and_a_last_one(x, last):
    return jnp.concatenate([x[1:], last])


@program("x=2 y=4", "f32[4@x]", out=P("x"))
def reversal_of_two_shards(x):
    return x[::-1]


@program("x=4 y=2", "f32[16@x,4]", out=P("x"))
def reversal_of_four_shards(x):
    return x[::-1]


@program("x=4 y=2", "f32[8@x]")
def reversal_of_an_uneven_split(x):
    return x[1:7][::-1]


@program("x=2 y=2 z=2", "f32[8@x,8@y,8@z]", out=P("x", "y", "z"))
def reversal_of_all_three(x):
    return x[::-1, ::-1, ::-1]


@program("x=2 y=4", "f32[8@x,12@y]", out=P("x", "y"))
def reversal_of_both(x):
    return x[::-1, ::-1]


@program("x=8", "f32[16@x,4] f32[16@x,4]", out=P("x"))
def concatenation_of_equal_halves(x, y):
    return jnp.concatenate([x, y])


@program("x=2 y=4", "f32[4@x] f32[4@x]", out=P("x"))
def concatenation_over_two(x, y):
    return jnp.concatenate([x, y])


@program("x=4 y=2", "f32[12@x,2] f32[4@x,2]", out=P("x"))
def concatenation_of_unequal_parts(x, y):
    return jnp.concatenate([x, y])


@program("x=4 y=2", "f32[12@x,2] f32[4,2]", out=P("x"))
def concatenation_of_whole_rows(x, y):
    return jnp.concatenate([x, y])


@program("x=4 y=2", "f32[16@x,2]", out=P("x"))
def pad_on_both_sides(x):
    return jnp.pad(x, ((2, 2), (0, 0)))


@program("x=4 y=2", "f32[16@x,2]", out=P("x"))
def pad_between_rows(x):
    return lax.pad(x, 0.0, ((1, 0, 1), (0, 0, 0)))


@program("x=4 y=2", "f32[16@x,2]", out=P("x"))
def pad_between_rows_and_behind(x):
    return lax.pad(x, 0.0, ((0, 17, 2), (0, 0, 0)))[:60]


@program("x=2 y=4", "f32[8@x,8@y]", out=P("x", "y"))
def pad_between_rows_of_both(x):
    return lax.pad(x, 0.0, ((0, 1, 1), (1, 0, 1)))


@program("x=8", "f32[24@x,4]", out=P("x"))
def reshape_to_rows_of_shards(x):
    return x.reshape(8, 12)


@program("x=4 y=2", "f32[8@x,6@y]", out=P(("x", "y")))
def reshape_merges_both(x):
    return x.reshape(48)


@program("x=4 y=2", "f32[16@x,3]")
def reshape_splits_an_axis(x):
    return x.reshape(2, 8, 3)


@program("x=2 y=4", "f32[8@y+x,3]")
def reshape_splits_axes_in_another_order(x):
    return x.reshape(2, 4, 3)


@program("x=2 y=4", "f32[8@x+y,3]", out=P("x", "y"))
def reshape_splits_two_axes(x):
    return x.reshape(2, 4, 3)


@program("x=2 y=4", "f32[3,8@x]")
def reshape_merges_behind_whole_rows(x):
    return x.reshape(24) + 1


@program("x=2 y=4", "f32[2,8@y,3]")
def reshape_merges_all(x):
    return x.reshape(48)


@program("x=2 y=4", "f32[1,8@y,3]")
def reshape_drops_a_dimension(x):
    return x.reshape(24)


@program("x=2 y=4", "f32[24@x+y]", out=P("x", None, "y"))
def reshape_splits_around(x):
    return x.reshape(2, 3, 4)


@program("x=2 y=4", "f32[48@x+y]", out=P(None, "x"))
def reshape_to_other_axis(x):
    return x.reshape(3, 16)


@program("x=2 y=2 z=2", "f32[8@x,8@y,8@z]", out=P("z", "x", "y"))
def axes_all_change_places(x):
    return x * 2


@program("x=2 y=4", "f32[16@x+y,8]", out=P("y", "x"))
def axes_out_of_order(x):
    return x + 1


@program("x=2 y=4", "f32[16@x+y,8]", out=P(("y", "x")))
def axes_of_one_dimension_swapped(x):
    return x + 1


@program("x=2 y=4", "f32[8@x,24@y,4]", out=P("y", "x"))
def two_axes_change_places(x):
    return x + 1


@program("x=4 y=2", "f32[2,16@x,3] f32[3,3,4]", out=P(None, "x"))
def window_of_sequences(x, w):
    return lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"))


@program("x=4 y=2", "f32[2,16@x,3] f32[4,3,4]", out=P(None, "x"))
def window_of_sequences_with_strides(x, w):
    return lax.conv_general_dilated(x, w, (2,), ((1, 1),), dimension_numbers=("NHC", "HIO", "NHC"))


@program("x=4 y=2", "f32[2,16@x,3] f32[2,3,4]", out=P(None, "x"))
def window_that_looks_back(x, w):
    return lax.conv_general_dilated(x, w, (1,), ((1, 0),), dimension_numbers=("NHC", "HIO", "NHC"))


@program("x=2 y=4", "f32[8@x,16@y] f32[16@y,8@x]", out=P("x", "y"))
def product_of_transposed_splits(x, y):
    return x @ y


@program("x=2 y=4", "f32[16@x+y,8] f32[8,16@x+y]", out=P("x", "y"))
def product_of_rows_and_columns_of_all(x, y):
    return x @ y


@program("x=4 y=2", "f32[8@x,4]", out=P("x"))
def differences_of_neighbours(x):
    return jnp.diff(x, axis=0, prepend=0.0)


@program("x=4 y=2", "f32[256,256] f32[8@x,256]", out=P("x"))
def scale_of_whole_weights(w, x):
    largest = jnp.max(jnp.abs(w))
    return (x @ (w / largest)) * largest
