# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What JAX leaves to LAPACK, of imported programs."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shoal.jax
from jax_import_testing import compare_with_jax, run
from shoal.errors import UnsupportedError

RNG = np.random.default_rng(0)
A = RNG.standard_normal((2, 5, 5)).astype(np.float32)
POSITIVE = A @ A.transpose(0, 2, 1) + 5 * np.eye(5, dtype=np.float32)
B = RNG.standard_normal((2, 5, 3)).astype(np.float32)


def factors(a):
    return {
        "lower": jnp.linalg.cholesky(a),
        "upper": jnp.linalg.cholesky(a, upper=True),
        "one": jnp.linalg.cholesky(a[0]),
        "none": jnp.linalg.cholesky(a[:, :0, :0]),
        "as_it_is": lax.linalg.cholesky(a + jnp.triu(a, 1), symmetrize_input=False),
    }


def test_cholesky():
    """Also of a matrix that is not positive definite, beside one that is."""
    mixed = POSITIVE.copy()
    mixed[1] -= 20 * np.eye(5, dtype=np.float32)
    compare_with_jax(factors, POSITIVE)
    compare_with_jax(factors, mixed)


def solutions(a, b):
    options = itertools.product((True, False), repeat=4)
    return [
        lax.linalg.triangular_solve(
            a, b if left else b.transpose(0, 2, 1), left_side=left, lower=lower, transpose_a=turned,
            unit_diagonal=unit,
        )
        for left, lower, turned, unit in options
    ]  # fmt: skip


def test_triangular_solve():
    """The other triangle is not read."""
    compare_with_jax(solutions, POSITIVE / 4, B)
    unread = np.where(np.tril(np.ones((5, 5), bool)), POSITIVE, np.nan).astype(np.float32)
    compare_with_jax(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), unread, B)


def test_gradients_and_doubles():
    def loss(a, b):
        return jnp.sin(jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b)).sum()

    compare_with_jax(lambda a, b: jax.grad(loss, (0, 1))(a, b), POSITIVE[0], B[0])
    with jax.enable_x64(True):
        compare_with_jax(factors, POSITIVE.astype(np.float64))


OPS = """
func.func @main(%a: tensor<5x5xf32>, %b: tensor<5x3xf32>) -> (tensor<5x5xf32>, tensor<5x3xf32>) {
  %0 = "stablehlo.cholesky"(%a) {lower = true} : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %1 = "stablehlo.triangular_solve"(%0, %b) <{left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<5x5xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  return %0, %1 : tensor<5x5xf32>, tensor<5x3xf32>
}
"""


def test_ops_of_stablehlo():
    inputs = {"arg0": POSITIVE[0], "arg1": B[0]}
    results = run(shoal.jax.import_stablehlo(OPS), inputs, ["result0", "result1"])
    factor = np.linalg.cholesky(POSITIVE[0].astype(np.float64))
    np.testing.assert_allclose(np.tril(results["result0"]), factor, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(results["result1"], np.linalg.solve(factor.T, B[0]), rtol=1e-4, atol=1e-5)


def test_options_of_lapack_that_are_none():
    text = """func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 63 : ui8}}
    : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>) loc("model.py":3:4)
  return %0#0 : tensor<2x2xf32> }"""
    with pytest.raises(UnsupportedError, match=r"model.py:3:4: .*uplo is '\?', not one of L, U"):
        shoal.jax.import_stablehlo(text)
