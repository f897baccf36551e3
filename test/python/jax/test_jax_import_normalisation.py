# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch normalisation as one op, of imported programs."""

import jax
import numpy as np
import pytest

import shoal.jax
from jax_import_testing import run
from shoal.errors import UnsupportedError

RNG = np.random.default_rng(0)
X, G = (RNG.standard_normal((4, 3, 5)).astype(np.float32) for _ in range(2))
SCALE, OFFSET = (RNG.standard_normal(3).astype(np.float32) for _ in range(2))
EPSILON = 0.01

TEXT = """
func.func @main(%x: tensor<4x3x5xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %g: tensor<4x3x5xf32>)
    -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5xf32>, tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 0.01 : f32, feature_index = 1 : i64}>
    : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  %1 = "stablehlo.batch_norm_inference"(%x, %s, %o, %o, %0#2) <{epsilon = 0.01 : f32, feature_index = 1 : i64}>
    : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3x5xf32>
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %0#1, %0#2, %g) <{epsilon = 0.01 : f32, feature_index = 1 : i64}>
    : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2, %1, %2#0, %2#1, %2#2
    : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5xf32>, tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>
}
"""


def normal(x, scale, offset, mean, variance):
    spread = lambda v: v[None, :, None]  # noqa: E731
    return (x - spread(mean)) / (spread(variance) + EPSILON) ** 0.5 * spread(scale) + spread(offset)


def training(x, scale, offset):
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    return normal(x, scale, offset, mean, variance), mean, variance


def test_training_inference_and_gradient():
    results = run(
        shoal.jax.import_stablehlo(TEXT),
        {"arg0": X, "arg1": SCALE, "arg2": OFFSET, "arg3": G},
        [f"result{i}" for i in range(7)],
    )
    trained, mean, variance = training(X, SCALE, OFFSET)
    _, pull_back = jax.vjp(lambda *a: training(*a)[0], X, SCALE, OFFSET)
    expected = [trained, mean, variance, normal(X, SCALE, OFFSET, OFFSET, variance), *pull_back(G)]
    for number, value in enumerate(expected):
        np.testing.assert_allclose(results[f"result{number}"], value, rtol=1e-4, atol=1e-5)


def test_of_floats_of_eight_bits():
    text = TEXT.replace("xf32>", "xf8E5M2>")
    with pytest.raises(UnsupportedError, match="of elements of f8E5M2"):
        shoal.jax.import_stablehlo(text)
