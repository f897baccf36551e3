# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and pooling of the frontend, against loops, NumPy and JAX."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 4, 6)).astype(np.float32)


def conv_by_loops(x, kernel, stride, low):
    """ "b0f,0io->b0f", window by window."""
    rows = (x.shape[1] + sum(low) - len(kernel)) // stride + 1
    x = np.pad(x, ((0, 0), low, (0, 0)))
    windows = [x[:, r * stride : r * stride + len(kernel)] for r in range(rows)]
    return np.stack([np.einsum("bki,kio->bo", w, kernel) for w in windows], 1)


def test_convolution(tmp_path):
    kernel = RNG.standard_normal((3, 6, 2)).astype(np.float32)

    def run(x, kernel):
        spec = "b0f,0io->b0f"
        return (
            shoal.conv(x, kernel, spec),
            shoal.conv(x, kernel, spec, strides=2, padding="SAME"),
            shoal.conv(x, kernel, spec, padding=[(2, 1)]),
            shoal.conv(x.transpose(0, 2, 1), kernel, "bf0,0io->fb0", window_dilation=[1]),
        )

    valid, same, padded, moved = evaluate(tmp_path, run, X, kernel)
    assert_same("valid", valid, conv_by_loops(X, kernel, 1, (0, 0)), np.float32, 1e-5)
    assert_same("same", same, conv_by_loops(X, kernel, 2, (0, 1)), np.float32, 1e-5)
    assert_same("padded", padded, conv_by_loops(X, kernel, 1, (2, 1)), np.float32, 1e-5)
    assert_same("moved", moved, valid.transpose(2, 0, 1), np.float32, 1e-5)


def test_convolution_is_jaxs(tmp_path):
    jax = pytest.importorskip("jax")
    x = RNG.standard_normal((2, 9, 8, 4)).astype(np.float32)
    kernel = RNG.standard_normal((3, 2, 2, 6)).astype(np.float32)
    options = dict(strides=(2, 1), window_dilation=(2, 1), base_dilation=(1, 2))
    padding = [(2, 1), (0, 3)]

    def run(x, kernel):
        return shoal.conv(
            x, kernel, "b01f,01io->b01f", feature_groups=2, padding=padding, **options
        )

    expected = jax.lax.conv_general_dilated(
        x,
        kernel,
        (2, 1),
        padding,
        lhs_dilation=(1, 2),
        rhs_dilation=(2, 1),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=2,
    )
    assert_same("conv", evaluate(tmp_path, run, x, kernel), expected, np.float32, 1e-5)


def test_pooling(tmp_path):
    u = RNG.integers(0, 2**32, (1, 6), np.uint32)

    def run(x, u):
        window = (1, 2, 2)
        return {
            "max": shoal.max_pool(x, window, window),
            "min": shoal.min_pool(x, window, window),
            "avg": shoal.avg_pool(x, (1, 3, 1), padding="SAME"),
            "unsigned": shoal.max_pool(u, (1, 2), (1, 2)),
            "and": shoal.reduce_window(u, "and", (1, 6)),
            "any": shoal.reduce_window(x > 0, "or", (1, 4, 1)),
        }

    actual = evaluate(tmp_path, run, X, u)
    blocks = X.reshape(3, 2, 2, 3, 2)
    assert_same("max", actual["max"], blocks.max((2, 4)))
    assert_same("min", actual["min"], blocks.min((2, 4)))
    sums = sum(np.pad(X, ((0, 0), (1, 1), (0, 0)))[:, i : i + 4] for i in range(3))
    assert_same("avg", actual["avg"], sums / np.float32([2, 3, 3, 2])[:, None])
    assert_same("unsigned", actual["unsigned"], u.reshape(1, 3, 2).max(2))
    assert_same("and", actual["and"], np.bitwise_and.reduce(u, 1, keepdims=True))
    assert_same("any", actual["any"], (X > 0).any(1, keepdims=True))
