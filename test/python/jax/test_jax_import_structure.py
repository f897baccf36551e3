# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes, places of elements and constants of imported programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_import_testing import compare_with_jax

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
PLACES = np.array([0, 2, -1, 7], np.int32)


def shapes(x, i):
    return {
        "transpose": x.transpose(2, 0, 1),
        "reshape": x.reshape(5, 12),
        "flip": jnp.flip(x, (0, 2)),
        "roll": jnp.roll(x, 1, 1),
        "pad": lax.pad(x, jnp.float32(7), ((1, -1, 1), (-1, 0, 0), (0, 0, 2))),
        "reflect": jnp.pad(x, 1, mode="reflect"),
        "stack": jnp.stack([x, x], 2),
        "repeat": jnp.repeat(x, 2, 1),
        "broadcast": jnp.broadcast_to(x[0], (2, 4, 5)),
        "stride": x[..., ::-2],
        "tril": jnp.tril(x),
        "one_hot": jax.nn.one_hot(i, 5),
        "linspace": jnp.linspace(0, 1, 4),
    }


def constants(x, i):
    """Of every width; long ones are spelled as bytes."""
    del x
    numbers = np.arange(300).reshape(30, 10) * 37 % 251
    types = "bool int8 uint8 int16 int32 uint32 float16 float32 bfloat16".split()
    return {name: jnp.asarray(numbers % 3 - 1, name)[i] for name in types}


@pytest.mark.parametrize("program", [shapes, constants], ids=lambda p: p.__name__)
def test_structure(program):
    compare_with_jax(program, X, PLACES)
