# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and windows of imported programs, and their gradients."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_import_testing import compare_with_jax

RNG = np.random.default_rng(1)
X = RNG.standard_normal((2, 9, 8, 6)).astype(np.float32)
K = RNG.standard_normal((3, 2, 6, 4)).astype(np.float32)
DEPTHWISE = RNG.standard_normal((3, 3, 2, 6)).astype(np.float32)
conv = partial(lax.conv_general_dilated, dimension_numbers=("NHWC", "HWIO", "NHWC"))


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


def without_space(x, w):
    """Products of rows, in groups of features and of the batch."""
    product = partial(lax.conv_general_dilated, window_strides=(), padding=())
    turned = lax.ConvDimensionNumbers((1, 0), (0, 1), (1, 0))
    return {
        "plain": product(x, w),
        "turned": product(x.T, w, dimension_numbers=turned),
        "features": product(x, w[:, :3], feature_group_count=2),
        "batch": product(x, w, batch_group_count=4),
        "halves": product(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)),
        "gradients": jax.grad(lambda a, b: jnp.sin(product(a, b)).sum(), (0, 1))(x, w),
    }


def test_convolutions_without_spatial_dimensions():
    compare_with_jax(without_space, X[0, :8, 0], X[1, :8, 0])


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


WINDOWS = [convolutions, convolution_gradients, pools]


@pytest.mark.parametrize("program", WINDOWS, ids=lambda p: p.__name__)
def test_windows(program):
    compare_with_jax(program, X, K, DEPTHWISE)
