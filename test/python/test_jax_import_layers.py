# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products, windows, control flow, gradients and random numbers of imported programs."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shoal.jax
from jax_import_testing import compare_with_jax
from shoal.jax.lowering import lower

RNG = np.random.default_rng(1)
X = RNG.standard_normal((2, 9, 8, 6)).astype(np.float32)
K = RNG.standard_normal((3, 2, 6, 4)).astype(np.float32)
DEPTHWISE = RNG.standard_normal((3, 3, 2, 6)).astype(np.float32)
conv = partial(lax.conv_general_dilated, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def products(x, k, g):
    del k, g
    a, b = x[0], x[1]
    dims = (((2,), (2,)), ((0,), (0,)))
    dot = partial(lax.dot_general, dimension_numbers=dims)
    half = jnp.bfloat16
    return {
        "batch": jnp.einsum("abcd,abce->acde", x, x),
        "matrix": a[0] @ b[0].T,
        "vector": a[0, 0] @ b[0, 0],
        "outer": jnp.outer(a[0, 0], b[0, 0]),
        "trace": jnp.einsum("ii->i", a[0, :6]),
        "bf16": dot(a.astype(half), b.astype(half)),
        "bf16_f32": dot(a.astype(half), b.astype(half), preferred_element_type=jnp.float32),
        "mixed": dot(a, b.astype(half), preferred_element_type=jnp.float32),
        "i8": dot(
            (a * 30).astype(jnp.int8), (b * 30).astype(jnp.int8), preferred_element_type=jnp.int32
        ),
        "u8": dot(
            (abs(a) * 60).astype(jnp.uint8),
            (abs(b) * 60).astype(jnp.uint8),
            preferred_element_type=jnp.uint32,
        ),
        "bools": jnp.einsum("ij,kj->ik", a[0] > 0, b[0] > 0.3),
        "algorithm": dot(a, b, precision="F32_F32_F32"),
        "ragged": lax.ragged_dot(a[0], jnp.ones((3, 6, 4)), jnp.array([1, 2, 3])),
    }


def convolutions(x, k, g):
    nchw, oihw = x.transpose(0, 3, 1, 2), k.transpose(3, 2, 0, 1)
    dims3 = ("NHWDC", "HWDIO", "NHWDC")
    return {
        "same": conv(x, k, (1, 1), "SAME"),
        "strides": conv(x, k, (2, 3), "VALID"),
        "dilated": conv(x, k, (1, 1), ((1, 2), (0, -1)), rhs_dilation=(2, 1)),
        "transposed": lax.conv_transpose(
            x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        "groups": conv(x, g, (1, 1), "SAME", feature_group_count=3),
        "nchw": lax.conv(nchw, oihw, (1, 1), "SAME"),
        "bf16": lax.conv(nchw.astype(jnp.bfloat16), oihw.astype(jnp.bfloat16), (1, 1), "SAME"),
        "one": lax.conv_general_dilated(
            x[:, :, 0], k[:, 0], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        ),
        "three": lax.conv_general_dilated(
            x[..., None, :], k[:, :, None], (1, 1, 1), "SAME", dimension_numbers=dims3
        ),
    }


def convolution_gradients(x, k, g):
    def gradients(kernel, *arguments, **options):
        def loss(a, b):
            return jnp.sin(conv(a, b, *arguments, **options)).sum()

        return jax.grad(loss, (0, 1))(x, kernel)

    return {
        "strides": gradients(k, (2, 1), "SAME"),
        "dilated": gradients(k, (1, 2), "SAME", rhs_dilation=(2, 1)),
        "groups": gradients(g, (1, 1), "SAME", feature_group_count=3),
    }


def max_pool(x, padding="VALID", size=2, stride=2):
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)


def mean_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 2, 1, 1), "SAME")


def pools(x, k, g):
    del k, g
    window = ((1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return {
        "max": max_pool(x, "SAME", 3, 1),
        "mean": mean_pool(x),
        "dilated": lax.reduce_window(
            x, jnp.inf, lax.min, *window[:2], "VALID", window_dilation=(1, 2, 1, 1)
        ),
        "initial": lax.reduce_window(
            x, 2.0, lax.mul, *window[:2], [(0, 0), (1, 1), (0, 0), (0, 0)], (1, 2, 1, 1)
        ),
        "unsigned": lax.reduce_window(
            abs(x * 9).astype(jnp.uint32), jnp.uint32(0), lax.max, *window
        ),
        "bools": lax.reduce_window(x > 0, False, lax.bitwise_or, *window),
        "pairs": lax.reduce_window(
            (x, x * 2),
            (jnp.float32(-jnp.inf), jnp.float32(0)),
            lambda a, b: (jnp.maximum(a[0], b[0]), a[1] + b[1]),
            *window,
        ),
        "max_gradient": jax.grad(lambda x: jnp.sin(max_pool(x, "SAME", 3, 2)).sum())(x),
        "mean_gradient": jax.grad(lambda x: jnp.sin(mean_pool(x)).sum())(x),
        "tangent": jax.jvp(max_pool, (x,), (x * 2,)),
    }


LAYERS = [products, convolutions, convolution_gradients, pools]


@pytest.mark.parametrize("program", LAYERS, ids=lambda p: p.__name__)
def test_layers(program):
    compare_with_jax(program, X, K, DEPTHWISE)


def grouped(x, w, sizes):
    def loss(x, w):
        return jnp.sin(lax.ragged_dot(x, w, sizes)).sum()

    bf16 = [x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)]
    return {
        "product": lax.ragged_dot(x, w, sizes),
        "gradients": jax.grad(loss, (0, 1))(x, w),
        "bf16": lax.ragged_dot(*bf16, sizes, preferred_element_type=jnp.float32),
    }


def batches_of_groups(x, w, sizes):
    def loss(x, w):
        return jnp.sin(jax.vmap(lax.ragged_dot)(x, w, sizes)).sum()

    return {
        "product": jax.vmap(lax.ragged_dot)(x, w, sizes),
        "gradients": jax.grad(loss, (0, 1))(x, w),
    }


def test_grouped_products():
    """As shoal.jax.compile lowers them: the groups of lax.ragged_dot are kept."""
    x, w = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 12, 4), (2, 3, 4, 5)))
    sizes = np.array([[4, 5, 2], [1, 0, 11]], np.int32)
    lowered = lower(jax.jit(grouped).trace(x[0], w[0], sizes[0]))
    assert shoal.jax.import_stablehlo(lowered).count("shoal.ragged_dot") == 5
    compare_with_jax(grouped, x[0], w[0], sizes[0], lower=lower)
    compare_with_jax(batches_of_groups, x, w, sizes, lower=lower)


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


@pytest.mark.parametrize("program", [loops, branches, random_numbers], ids=lambda p: p.__name__)
def test_control_flow(program):
    compare_with_jax(program, X[0])


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
