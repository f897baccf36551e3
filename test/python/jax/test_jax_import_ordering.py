# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Orders of imported programs."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shoal.jax
from jax_import_testing import compare_with_jax, run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
WITH_NAN = X.copy()
WITH_NAN[0, 1, 2], WITH_NAN[1, :, 0], WITH_NAN[1, 2, 0] = np.nan, 0, -0.0
N = RNG.integers(-100, 100, (3, 4, 5)).astype(np.int32)


def orders(x, n):
    u = lax.bitcast_convert_type(n, jnp.uint32)
    less = lax.sort((n % 3, x, n), 1, num_keys=2)
    return {
        "sort": jnp.sort(x, 1),
        "signed_sort": lax.sort((x, n), 1, num_keys=1),
        "descending": jnp.sort(x, 2, descending=True),
        "argsort": jnp.argsort(x, 1),
        "argsort_descending": jnp.argsort(x, descending=True),
        "unsigned": jnp.sort(u),
        "bools": jnp.sort(n > 0),
        "two_keys": less,
        "top_k": lax.top_k(x, 3),
        "top_k_u": lax.top_k(u, 2),
        "approximate": lax.approx_max_k(x, 2),
        "approximate_min": lax.approx_min_k(x[2], 2),
        "unique": jnp.unique(n % 7, size=9),
        "median": jnp.median(n, 1),
        "lexsort": jnp.lexsort((x[0, 0], n[0, 0] % 2)),
    }


def test_orders():
    compare_with_jax(orders, WITH_NAN, N)


def sort_text(body):
    """A sort of floats and integers by a comparator, as other frontends write them."""
    return f"""
func.func @main(%x: tensor<8xf32>, %n: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {{
  %0:2 = "stablehlo.sort"(%x, %n) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    {body}
    stablehlo.return %less : tensor<i1>
  }}) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}}"""


def compared(name, direction, left, right, kind):
    element = "i32" if kind == "SIGNED" else "f32"
    types = f"(tensor<{element}>, tensor<{element}>) -> tensor<i1>"
    return f"%{name} = stablehlo.compare {direction}, {left}, {right}, {kind} : {types}\n"


FLOATS = np.array([1, -0.0, 0.0, np.nan, -np.inf, 1, -0.0, -1], np.float32)
FLOATS[3] = -FLOATS[3]  # NaN with its sign bit set
NUMBERS = np.array([3, 1, 2, 3, 1, 2, 1, 3], np.int32)


BITS = """%zero = stablehlo.constant dense<0> : tensor<i32>
%most = stablehlo.constant dense<2147483647> : tensor<ui32>
"""


def bits_in_order(of):
    """A float's bits as an integer in the order of the floats, as XLA writes its total order."""
    return f"""%s{of} = stablehlo.bitcast_convert %{of} : (tensor<f32>) -> tensor<i32>
%u{of} = stablehlo.bitcast_convert %{of} : (tensor<f32>) -> tensor<ui32>
%m{of} = stablehlo.subtract %most, %u{of} : tensor<ui32>
%f{of} = stablehlo.bitcast_convert %m{of} : (tensor<ui32>) -> tensor<i32>
%n{of} = stablehlo.compare LT, %s{of}, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
%k{of} = stablehlo.select %n{of}, %f{of}, %s{of} : tensor<i1>, tensor<i32>
"""


def sizes(of):
    return f"%k{of} = stablehlo.abs %{of} : tensor<f32>\n"


@pytest.mark.parametrize(
    "body, order",
    [
        (compared("less", "GT", "%i", "%j", "SIGNED"), [0, 3, 7, 2, 5, 1, 4, 6]),
        (compared("less", "LT", "%j", "%i", "SIGNED"), [0, 3, 7, 2, 5, 1, 4, 6]),
        (compared("less", "LT", "%a", "%b", "TOTALORDER"), [3, 4, 7, 1, 6, 2, 0, 5]),
        (
            compared("first", "GT", "%i", "%j", "SIGNED")
            + compared("same", "EQ", "%i", "%j", "SIGNED")
            + compared("second", "LT", "%a", "%b", "TOTALORDER")
            + "%both = stablehlo.and %same, %second : tensor<i1>\n"
            + "%less = stablehlo.or %first, %both : tensor<i1>",
            [3, 7, 0, 2, 5, 4, 1, 6],
        ),
        (
            BITS + bits_in_order("a") + bits_in_order("b")
            + compared("less", "LT", "%ka", "%kb", "SIGNED"),
            [3, 4, 7, 1, 6, 2, 0, 5],
        ),
        (
            BITS + bits_in_order("b") + bits_in_order("a")
            + compared("first", "LT", "%i", "%j", "SIGNED")
            + compared("same", "EQ", "%i", "%j", "SIGNED")
            + compared("second", "GT", "%ka", "%kb", "SIGNED")
            + "%both = stablehlo.and %same, %second : tensor<i1>\n"
            + "%less = stablehlo.or %first, %both : tensor<i1>",
            [1, 6, 4, 5, 2, 0, 7, 3],
        ),
        (
            sizes("a") + sizes("b") + compared("less", "GT", "%ka", "%kb", "FLOAT"),
            [3, 4, 0, 5, 7, 1, 2, 6],
        ),
    ],
    ids=["descending", "swapped", "total-order", "two-directions", "bits", "bits-behind", "sizes"],
)
def test_comparators_of_others(body, order):
    text = shoal.jax.import_stablehlo(sort_text(body))
    results = run(text, {"arg0": FLOATS, "arg1": NUMBERS}, ["result0", "result1"])
    np.testing.assert_array_equal(results["result1"], NUMBERS[order])
    np.testing.assert_array_equal(results["result0"].view(np.int32), FLOATS[order].view(np.int32))
