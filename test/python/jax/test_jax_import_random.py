# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of imported programs."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_import_testing import compare_with_jax

RNG = np.random.default_rng(1)
X = RNG.standard_normal((2, 9, 8, 6)).astype(np.float32)


def random_numbers(x):
    key = jax.random.key(3)
    return {
        "uniform": jax.random.uniform(key, (3, 4)),
        "normal": jax.random.normal(key, (5,)),
        "bf16": jax.random.normal(key, (5,), jnp.bfloat16),
        "integers": jax.random.randint(key, (5,), 0, 100),
        "bernoulli": jax.random.bernoulli(key, 0.3, (7,)),
        "categorical": jax.random.categorical(key, x[0]),
        "permutation": jax.random.permutation(key, 6),
        "split": jax.random.key_data(jax.random.split(key, 3)),
        "bytes": jax.random.bits(key, (5,), jnp.uint8),
    }


def test_random_numbers():
    compare_with_jax(random_numbers, X[0])


def generators(state):
    algorithms = lax.RandomAlgorithm
    return {
        f"{name}_{number}_{jnp.dtype(type)}": lax.rng_bit_generator(
            state, shape, dtype=type, algorithm=algorithm
        )
        for name, algorithm in {
            "default": algorithms.RNG_DEFAULT,
            "fry": algorithms.RNG_THREE_FRY,
        }.items()
        for number, shape in enumerate([(7,), (3, 5), ()])
        for type in (jnp.uint32, jnp.uint8)
    }


def wide_generators(state):
    fry = lax.RandomAlgorithm.RNG_THREE_FRY
    return {
        "default": lax.rng_bit_generator(state, (7,), dtype=jnp.uint64),
        "fry": lax.rng_bit_generator(state, (3, 5), dtype=jnp.uint64, algorithm=fry),
    }


def test_bit_generators():
    compare_with_jax(generators, np.array([3, 2**32 - 1, 2**32 - 2, 2**32 - 1], np.uint32))


def test_bit_generators_of_64_bits():
    with jax.enable_x64(True):  # the counter wraps
        compare_with_jax(wide_generators, np.array([5, 2**64 - 2], np.uint64))
