# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts by comparators as frontends write them: every formula that is an order by keys is known."""

import math

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import shoal.jax
from jax_import_testing import compare_with_jax, run

BF16 = ml_dtypes.bfloat16
# Ties, zeros of both signs, NaNs of both signs.
FLOATS = np.array([2, 0.0, 1, np.nan, -0.0, 2, -1, -np.nan, 1, np.inf], BF16)
NUMBERS = np.array([3, 1, 2, 3, 1, 0, 2, 3, 1, 2], np.int32)


class Body:
    """The ops of a comparator of bf16 %a, %b and i32 %i, %j."""

    def __init__(self):
        self.lines, self.count = [], 0

    def op(self, name, operands, types, attributes=""):
        self.count += 1
        result = f"%v{self.count}"
        self.lines.append(f'{result} = "stablehlo.{name}"({", ".join(operands)}) {attributes} : {types}')
        return result

    def compare(self, direction, left, right, kind="FLOAT", element="bf16"):
        attributes = (
            f"<{{comparison_direction = #stablehlo<comparison_direction {direction}>,"
            f" compare_type = #stablehlo<comparison_type {kind}>}}>"
        )
        types = f"(tensor<{element}>, tensor<{element}>) -> tensor<i1>"
        return self.op("compare", [left, right], types, attributes)

    def logic(self, name, *operands):
        types = ", ".join(["tensor<i1>"] * len(operands))
        return self.op(name, operands, f"({types}) -> tensor<i1>")

    def select(self, *operands):
        return self.op("select", operands, "(tensor<i1>, tensor<i1>, tensor<i1>) -> tensor<i1>")


def int_compare(body, direction, left="%i", right="%j"):
    return body.compare(direction, left, right, "SIGNED", "i32")


def by_select(body):
    """The larger float first, of equal ones the smaller number."""
    equal, greater = body.compare("EQ", "%a", "%b"), body.compare("GT", "%a", "%b")
    return body.select(equal, int_compare(body, "LT"), greater)


def not_equal(body):
    unequal, greater = body.compare("NE", "%a", "%b"), body.compare("LT", "%b", "%a")
    return body.select(unequal, greater, body.logic("not", int_compare(body, "GE")))


def guarded(body):
    """a >= b and (a > b or i < j)."""
    inner = body.logic("or", body.compare("GT", "%a", "%b"), int_compare(body, "LT"))
    return body.logic("and", inner, body.compare("GE", "%a", "%b"))


def is_nan(body, value):
    return body.compare("NE", value, value)


def nan_greatest(body):
    """PyTorch's: a is NaN and b is not, or a > b."""
    number = body.logic("not", is_nan(body, "%b"))
    only = body.logic("and", is_nan(body, "%a"), number)
    return body.logic("or", only, body.compare("GT", "%a", "%b"))


def nan_last(body):
    """Descending, with NaNs behind."""
    number = body.logic("not", is_nan(body, "%a"))
    only = body.logic("and", is_nan(body, "%b"), number)
    return body.logic("or", only, body.compare("GT", "%a", "%b"))


def nan_first_ascending(body):
    number = body.logic("not", is_nan(body, "%b"))
    only = body.logic("and", is_nan(body, "%a"), number)
    return body.logic("or", only, body.compare("LT", "%a", "%b"))


def in_f32(body):
    wide = [body.op("convert", [v], "(tensor<bf16>) -> tensor<f32>") for v in ("%a", "%b")]
    return body.compare("GT", *wide, element="f32")


def in_bits(body):
    """The bits as an integer that is ordered as the floats are in IEEE 754's total order."""

    def ordered(value):
        word = body.op("bitcast_convert", [value], "(tensor<bf16>) -> tensor<i16>")
        zero, most = (
            body.op("constant", [], "() -> tensor<i16>", f"<{{value = dense<{n}> : tensor<i16>}}>")
            for n in (0, 32767)
        )
        flipped = body.op("xor", [word, most], "(tensor<i16>, tensor<i16>) -> tensor<i16>")
        negative = body.compare("LT", word, zero, "SIGNED", "i16")
        types = "(tensor<i1>, tensor<i16>, tensor<i16>) -> tensor<i16>"
        return body.op("select", [negative, flipped, word], types)

    return body.compare("GT", ordered("%a"), ordered("%b"), "SIGNED", "i16")


def total(body):
    return body.compare("GT", "%a", "%b", "TOTALORDER")


def total_then_numbers(body):
    """Three cases by two selects."""
    less = body.compare("LT", "%a", "%b", "TOTALORDER")
    greater = body.compare("GT", "%a", "%b", "TOTALORDER")
    true, false = (
        body.op("constant", [], "() -> tensor<i1>", f"<{{value = dense<{n}> : tensor<i1>}}>")
        for n in ("true", "false")
    )
    return body.select(less, true, body.select(greater, false, int_compare(body, "GT")))


def numbers_alone(body):
    """i is odd before even ones, which a predicate says."""
    one = body.op("constant", [], "() -> tensor<i32>", "<{value = dense<1> : tensor<i32>}>")
    odd = []
    for value in ("%i", "%j"):
        low = body.op("and", [value, one], "(tensor<i32>, tensor<i32>) -> tensor<i32>")
        odd.append(int_compare(body, "EQ", low, one))
    return body.logic("and", odd[0], body.logic("not", odd[1]))


def total_key(x):
    bits = int(np.float32(x).view(np.int32))
    return bits if bits >= 0 else bits ^ 0x7FFFFFFF


def descending(x, nan=-math.inf):
    return nan if math.isnan(x) else -x


CASES = {
    by_select: lambda x, n: (descending(x), n),
    not_equal: lambda x, n: (descending(x), n),
    guarded: lambda x, n: (descending(x), n),
    nan_greatest: lambda x, n: (0 if math.isnan(x) else 1, descending(x, 0)),
    nan_last: lambda x, n: (1 if math.isnan(x) else 0, descending(x, 0)),
    nan_first_ascending: lambda x, n: (0, 0) if math.isnan(x) else (1, x),
    in_f32: lambda x, n: (0 if math.isnan(x) else 1, descending(x, 0)),
    in_bits: lambda x, n: -total_key(x),
    total: lambda x, n: -total_key(x),
    total_then_numbers: lambda x, n: (total_key(x), -n),
    numbers_alone: lambda x, n: n % 2 == 0,
}
# What their comparators leave open: where NaNs go, or how they are split.
WITHOUT_NAN = (by_select, not_equal, guarded)


def sort_text(write, count):
    body = Body()
    less = write(body)
    inner = "\n    ".join(body.lines)
    types = f"(tensor<{count}xbf16>, tensor<{count}xi32>, tensor<{count}xi32>)"
    return f"""
func.func @main(%x: tensor<{count}xbf16>, %n: tensor<{count}xi32>, %p: tensor<{count}xi32>) -> {types} {{
  %0:3 = "stablehlo.sort"(%x, %n, %p) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>, %i: tensor<i32>, %j: tensor<i32>, %p0: tensor<i32>, %p1: tensor<i32>):
    {inner}
    stablehlo.return {less} : tensor<i1>
  }}) : {types} -> {types}
  return %0#0, %0#1, %0#2 : tensor<{count}xbf16>, tensor<{count}xi32>, tensor<{count}xi32>
}}"""


@pytest.mark.parametrize("write", CASES, ids=lambda write: write.__name__)
def test_orders_by_formulas(write):
    kept = ~np.isnan(FLOATS.astype(np.float32)) if write in WITHOUT_NAN else slice(None)
    floats, numbers = FLOATS[kept], NUMBERS[kept]
    places = np.arange(len(floats), dtype=np.int32)
    key = CASES[write]
    order = sorted(places, key=lambda p: key(float(floats[p]), int(numbers[p])))
    text = shoal.jax.import_stablehlo(sort_text(write, len(floats)))
    inputs = {"arg0": floats, "arg1": numbers, "arg2": places}
    results = run(text, inputs, ["result0", "result1", "result2"])
    np.testing.assert_array_equal(results["result2"], order)
    np.testing.assert_array_equal(results["result1"], numbers[order])
    np.testing.assert_array_equal(results["result0"].view(np.uint16), floats[order].view(np.uint16))


def mixed_operands(body):
    number = body.op("convert", ["%i"], "(tensor<i32>) -> tensor<bf16>")
    return body.compare("LT", number, "%b")


def a_sum(body):
    total = body.op("add", ["%a", "%b"], "(tensor<bf16>, tensor<bf16>) -> tensor<bf16>")
    return body.compare("LT", total, "%a")


def either(body):
    return body.logic("or", body.compare("LT", "%a", "%b"), int_compare(body, "LT"))


def one_side(body):
    return body.logic("xor", is_nan(body, "%a"), int_compare(body, "LT"))


@pytest.mark.parametrize("write", [mixed_operands, a_sum, either, one_side])
def test_what_is_no_order_is_refused(write):
    with pytest.raises(shoal.UnsupportedError, match="its comparator is not an order"):
        shoal.jax.import_stablehlo(sort_text(write, 8))


ROWS = np.random.default_rng(0).integers(-3, 4, (5, 16)).astype(BF16)
KEYS = np.random.default_rng(1).integers(0, 3, (5, 16)).astype(np.int32)


def jax_orders(x, n):
    return {
        "top_k": lax.top_k(x, 5),
        "argsort": jnp.argsort(x, stable=True),
        "argsort_descending": jnp.argsort(x, stable=True, descending=True),
        "argsort_unstable": jnp.sort(x, stable=False, descending=True),
        "three_keys": lax.sort((n % 2, x, n, x + 1), num_keys=3),
        "eight_keys": lax.sort((n % 2, x > 0, n % 3, jnp.round(x), n > 1, n % 2, n, x, x + 1), num_keys=8),
        "bools": lax.sort((x > 0, n), num_keys=2),
        "halves": lax.top_k(x.astype(jnp.float16), 3),
        "lexsort": jnp.lexsort((n[0], x[0])),
    }


def test_orders_of_jax_with_ties():
    compare_with_jax(jax_orders, ROWS, KEYS)


def test_a_comparator_that_orders_nothing_moves_nothing():
    def write(body):
        return body.op("constant", [], "() -> tensor<i1>", "<{value = dense<false> : tensor<i1>}>")

    text = shoal.jax.import_stablehlo(sort_text(write, 10))
    assert "shoal.sort" not in text
