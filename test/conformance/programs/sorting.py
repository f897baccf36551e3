# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting, searching, the largest few."""

import jax
import jax.numpy as jnp
from catalogue import program


@program("x=8", "f32[16@x,12]")
def sort_rows(x):
    return jnp.sort(x, axis=1), jnp.sort(x, axis=1, descending=True)


@program("x=8", "f32[16@x,4]")
def sort_split_dimension(x):
    return jnp.sort(x, axis=0)


@program("x=8", "i32[64@x]")
def sort_integers(x):
    return jnp.sort(x)


@program("x=8", "f32[16@x,8]")
def argsort(x):
    return jnp.argsort(x, axis=1), jnp.argsort(x, axis=0)


@program("x=8", "i32[16@x]<4 f32[16@x]")
def sort_by_key(keys, values):
    return jax.lax.sort((keys, values), num_keys=1)


@program("x=8", "i32[16@x]<4 f32[16@x]")
def sort_by_two_keys(keys, values):
    return jnp.lexsort((values, keys))


@program("x=8", "f32[16@x,12]")
def top_k(x):
    return jax.lax.top_k(x, 3)


@program("x=8", "f32[4,32@x]")
def top_k_of_split_dimension(x):
    return jax.lax.top_k(x, 2)


@program("x=8", "f32[16] f32[24@x]")
def searchsorted(x, values):
    return jnp.searchsorted(jnp.sort(x), values)


@program("x=8", "i32[24@x]<10")
def unique_with_size(x):
    return jnp.unique(x, size=10, fill_value=-1)


@program("x=8", "u32[24@x]")
def sort_unsigned(x):
    return jnp.sort(x)


@program("x=8", "bf16[8@x,16]")
def sort_bfloat16(x):
    return jnp.sort(x, axis=1)
