# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of dynamic shapes whose sizes the program says."""

import numpy as np
import pytest

import shoal.jax
from jax_import_testing import run
from shoal.errors import UnsupportedError

X = np.arange(24, dtype=np.float32).reshape(4, 6)

TEXT = """
func.func @main(%x: tensor<4x6xf32>) -> (tensor<2x3x8xf32>, tensor<6x8xf32>, tensor<2x2xf32>, tensor<3x4xi32>) {
  %s = stablehlo.constant dense<[3, 8]> : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<3x8xf32>
  %d = stablehlo.constant dense<[2, 3, 8]> : tensor<3xi64>
  %1 = stablehlo.dynamic_broadcast_in_dim %0, %d, dims = [1, 2] : (tensor<3x8xf32>, tensor<3xi64>) -> tensor<2x3x8xf32>
  %z = stablehlo.constant dense<9.0> : tensor<f32>
  %l = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
  %h = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %i = stablehlo.constant dense<0> : tensor<2xi64>
  %2 = stablehlo.dynamic_pad %x, %z, %l, %h, %i
    : (tensor<4x6xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<6x8xf32>
  %b = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
  %e = stablehlo.constant dense<[4, 6]> : tensor<2xi64>
  %t = stablehlo.constant dense<[2, 2]> : tensor<2xi64>
  %3 = stablehlo.real_dynamic_slice %x, %b, %e, %t
    : (tensor<4x6xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
  %n = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %4 = stablehlo.dynamic_iota %n, dim = 1 : (tensor<2xi64>) -> tensor<3x4xi32>
  return %1, %2, %3, %4 : tensor<2x3x8xf32>, tensor<6x8xf32>, tensor<2x2xf32>, tensor<3x4xi32>
}
"""


def test_sizes_that_are_constants():
    results = run(shoal.jax.import_stablehlo(TEXT), {"arg0": X}, [f"result{i}" for i in range(4)])
    np.testing.assert_array_equal(results["result0"], np.broadcast_to(X.reshape(3, 8), (2, 3, 8)))
    np.testing.assert_array_equal(results["result1"], np.pad(X, ((1, 1), (0, 2)), constant_values=9))
    np.testing.assert_array_equal(results["result2"], X[::2, 2:6:2])
    np.testing.assert_array_equal(results["result3"], np.broadcast_to(np.arange(4), (3, 4)))


def test_places_that_are_arguments():
    text = """func.func @main(%x: tensor<4x6xf32>, %b: tensor<2xi64>) -> tensor<2x2xf32> {
  %e = stablehlo.constant dense<[4, 6]> : tensor<2xi64>
  %3 = stablehlo.real_dynamic_slice %x, %b, %e, %e
    : (tensor<4x6xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32> }"""
    with pytest.raises(UnsupportedError, match="its shape is known at run time alone"):
        shoal.jax.import_stablehlo(text)
