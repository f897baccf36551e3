# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cannot be imported: one exception, which names the ops and JAX's lines."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import shoal.jax
from shoal.errors import ShoalError, UnsupportedError

MATRIX = jnp.ones((4, 4))


def problems(program, *arguments):
    with pytest.raises(UnsupportedError) as caught:
        shoal.jax.import_stablehlo(jax.jit(program).lower(*arguments))
    return str(caught.value).splitlines()


def line_of(program, offset):
    return f"{__file__}:{program.__code__.co_firstlineno + offset}:"


def decompositions(x):
    a = jnp.linalg.cholesky(x)
    return a, jnp.linalg.qr(x), jnp.sin(x)


def test_all_ops_are_listed_with_their_lines():
    found = problems(decompositions, MATRIX)
    assert found[0].startswith(line_of(decompositions, 1))
    assert "stablehlo.custom_call @lapack_spotrf_ffi (tensor<4x4xf32>) ->" in found[0]
    assert found[0].endswith("is not supported")
    assert all(line.startswith(line_of(decompositions, 2)) for line in found[1:])
    assert any("@lapack_sgeqrf_ffi" in line for line in found[1:])
    assert not any("sine" in line for line in found)


def fourier(x):
    return abs(jnp.fft.fft(x))


def test_complex_numbers_also_behind_calls():
    found = problems(fourier, MATRIX)
    assert all(line.startswith(line_of(fourier, 1)) for line in found)
    assert any("stablehlo.fft" in line for line in found)
    assert any("elements of complex<f32>" in line for line in found)
    assert not any("func.call" in line for line in found)


def test_types():
    found = problems(lambda x: x.astype(jnp.float8_e4m3fnuz).astype(jnp.float32), MATRIX)
    assert (
        "elements of f8E4M3FNUZ in tensor<4x4xf8E4M3FNUZ>; of 8 bits there are f8E4M3FN and f8E5M2"
    ) in found[0]
    found = problems(lambda x: x + x, jnp.ones(3, jnp.int4))
    assert "elements of i4 in tensor<3xi4>" in found[-1]


def test_an_unsupported_op_many_times_is_listed_once():
    found = problems(lambda x: [lax.linalg.cholesky(x) for _ in range(3)], MATRIX)
    assert len(found) == 1


def test_comparators_that_are_no_order():
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    %less = stablehlo.compare LT, %sum, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    with pytest.raises(UnsupportedError, match="comparator is not an order"):
        shoal.jax.import_stablehlo(text)


@pytest.mark.parametrize(
    "program, message",
    [
        ("hello", "not a StableHLO program: .*custom op 'hello' is unknown"),
        ("func.func @main() { stablehlo.what }", "custom op 'stablehlo.what' is unknown"),
        (b"\xff\xfe", "neither MLIR bytecode nor UTF-8 text"),
        (b"ML\xefRxxxx", "not a StableHLO program"),
        (b"ML\xefR\rStableHLO_v1.15.0\x00", "not a StableHLO program"),
        ("module {}", "the program has no public function"),
        ("func.func private @f(tensor<4xf32>)", "the program has no public function"),
        (
            "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
            r"func.func is not supported: tensor<\?xf32> has no static shape",
        ),
        (
            "func.func private @f(tensor<4xf32>) -> tensor<4xf32>\n"
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %y = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
            "  return %y : tensor<4xf32> }",
            "func.func is not supported: it has no body",
        ),
        (5, "is text, bytes or a module but got <class 'int'>"),
    ],
)
def test_bad_programs(program, message):
    with pytest.raises(ShoalError, match=message):
        shoal.jax.import_stablehlo(program)


def test_supported_ops():
    ops = shoal.jax.supported_ops()
    assert ops == sorted(set(ops))
    assert {"stablehlo.add", "chlo.erf", "func.call", "stablehlo.while"} <= set(ops)
    assert "stablehlo.cholesky" not in ops
