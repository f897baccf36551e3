# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, pooling, and networks of them."""

import functools

import jax
import jax.numpy as jnp
from catalogue import program

NHWC = ("NHWC", "HWIO", "NHWC")


def conv(x, w, **options):
    options = {"window_strides": (1, 1), "padding": "SAME", **options}
    return jax.lax.conv_general_dilated(x, w, dimension_numbers=NHWC, **options)


def pool(x, kind=jax.lax.max, start=-jnp.inf, size=2, padding="VALID"):
    window = (1, size, size, 1)
    return jax.lax.reduce_window(x, start, kind, window, window, padding)


@program("x=8", "f32[8@x,8,8,3] f32[3,3,3,4]")
def convolution_over_batch(x, w):
    return conv(x, w)


@program("x=2 y=4", "f32[2@x,16@y,8,3] f32[3,3,3,4]")
def convolution_over_height(x, w):
    return conv(x, w)


@program("x=2 y=4", "f32[8@x,8,8,4] f32[3,3,4,8@y]")
def convolution_over_features(x, w):
    return conv(x, w)


@program("x=8", "f32[2,8,8,8@x] f32[3,3,8@x,4]")
def convolution_over_channels(x, w):
    return conv(x, w)


@program("x=4 y=2", "f32[4@x,16@y,8,2] f32[3,3,2,4]")
def convolution_with_strides(x, w):
    return conv(x, w, window_strides=(2, 2))


@program("x=8", "f32[8@x,8,8,2] f32[3,3,2,4]")
def convolution_dilated(x, w):
    return conv(x, w, rhs_dilation=(2, 2)), conv(x, w, lhs_dilation=(2, 2), padding=((1, 1), (1, 1)))


@program("x=8", "f32[8@x,8,8,4] f32[3,3,1,4]")
def convolution_depthwise(x, w):
    return conv(x, w, feature_group_count=4)


@program("x=8", "f32[4,32@x,3] f32[5,3,4]")
def convolution_of_sequences(x, w):
    return jax.lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


@program("x=8", "f32[8@x,8,8,4] f32[3,3,4,2]")
def transposed_convolution(x, w):
    return jax.lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=NHWC)


@program("x=8", "f32[8@x,8,8,4]")
def max_pooling(x):
    return pool(x), pool(x, size=3, padding="SAME")


@program("x=2 y=4", "f32[2@x,16@y,8,4]")
def average_pooling_over_height(x):
    return pool(x, jax.lax.add, 0.0) / 4


@program("x=8", "f32[8@x,16]")
def sliding_sums(x):
    return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 4), (1, 1), "VALID")


@program("x=8", "f32[8@x,8,8,3] f32[3,3,3,8] f32[3,3,8,8] f32[128,10]")
def small_network(x, w1, w2, head):
    x = pool(jax.nn.relu(conv(x, w1)))
    x = jax.nn.relu(conv(x, w2))
    return pool(x).reshape(8, -1)[:, :32] @ head[:32]


@program("x=8", "f32[8@x,8,8,3] f32[3,3,3,8]", tolerance=1e-4)
def gradient_of_convolution(x, w):
    return jax.grad(lambda x, w: jnp.sum(conv(x, w) ** 2), argnums=(0, 1))(x, w)


@program("x=2 y=4", "f32[2@x,16@y,8,3] f32[3,3,3,4]", tolerance=1e-4)
def gradient_of_convolution_over_height(x, w):
    loss = lambda x, w: jnp.sum(conv(x, w, window_strides=(2, 2)) ** 2)
    return jax.grad(loss, argnums=(0, 1))(x, w)


@program("x=8", "f32[8@x,8,8,2]")
def gradient_of_pooling(x):
    return jax.grad(lambda x: jnp.sum(pool(x) ** 2))(x)


@program("x=8", "f32[8@x,8,8,4] f32[3,3,4,4] f32[3,3,4,4] f32[4] f32[4]")
def residual_block(x, w1, w2, scale, bias):
    def norm(v):
        mean, variance = v.mean((0, 1, 2)), v.var((0, 1, 2))
        return (v - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + bias

    return jax.nn.relu(x + norm(conv(jax.nn.relu(norm(conv(x, w1))), w2)))


@program("x=2 y=2 z=2", "f32[4@x,8@y,8@z,3] f32[3,3,3,4]")
def convolution_over_two_dimensions(x, w):
    return conv(x, w)


@program("x=4 y=2", "f32[8@x,16] f32[16,4@y]")
def convolution_without_space(x, w):
    """A product of rows, and one in groups of features."""
    dims = jax.lax.ConvDimensionNumbers((0, 1), (1, 0), (0, 1))
    product = functools.partial(
        jax.lax.conv_general_dilated, window_strides=(), padding=(), dimension_numbers=dims
    )
    return product(x, w), product(x, w[:8], feature_group_count=2)


@program("x=8", "f32[8@x,8,8,3]")
def image_resize(x):
    return jax.image.resize(x, (8, 16, 16, 3), "bilinear")


@program("x=8", "f32[8@x,8,8,3] f32[4,4,3,16]")
def patches(x, w):
    return conv(x, w, window_strides=(4, 4), padding="VALID").reshape(8, 4, 16)
