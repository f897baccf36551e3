# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers, scatters and slices of imported programs."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shoal.jax
from jax_import_testing import compare_with_jax, run
from shoal.errors import UnsupportedError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
PLACES = np.array([0, 2, -1, 7], np.int32)


def gathers(x, i):
    return {
        "take": jnp.take(x, i, 0),
        "clip": jnp.take(x, i, 1, mode="clip"),
        "wrap": jnp.take(x, i, 1, mode="wrap"),
        "fill": x.at[i].get(mode="fill", fill_value=9.0),
        "two": x[i, i],
        "mixed": x[:, i, 1],
        "along": jnp.take_along_axis(x, jnp.abs(i[:3])[:, None, None] % 4, 1),
        "batched": jax.vmap(lambda row, j: row[j])(x, i[:3]),
        "unsigned": x[i.astype(jnp.uint8)],
        "slice": lax.dynamic_slice(x, (i[1], i[0], i[3]), (2, 2, 2)),
        "slice_unsigned": lax.dynamic_slice_in_dim(x, i[3].astype(jnp.uint8) + 193, 2, 1),
        "update": lax.dynamic_update_slice(x, x[:2, :2, :2], (i[3], i[1], i[2])),
        "gradient": jax.grad(lambda a: (jnp.take(a, i, 0, mode="clip") ** 2).sum())(x),
    }


def scatters(x, i):
    n = (x * 10).astype(jnp.int32)
    return {
        "set": x.at[i].set(1.0),
        "add": x.at[i].add(2.0),
        "subtract": x.at[i].subtract(1.0),
        "multiply": x.at[:, i].mul(3.0),
        "divide": x.at[i].divide(2.0),
        "min": x.at[i].min(0.0),
        "max": x.at[i].max(0.0),
        "drop": x.at[0, i].set(jnp.arange(20.0).reshape(4, 5), mode="drop"),
        "apply": x.at[jnp.array([0, 1])].apply(jnp.sin),
        "apply_as_often_as_named": x.at[jnp.array([1, 0, 1, -3, 9])].apply(jnp.sin),
        "apply_of_places": x.at[:, i].apply(lambda a: 1.5 * a + 1),
        "apply_to_one": x.at[i[0]].apply(jnp.sin),
        "apply_to_different_ones": x.at[jnp.array([0, 2])].apply(jnp.sin, unique_indices=True),
        "apply_of_complex_numbers": lax.complex(x, -x).at[jnp.array([1, 1])].apply(jnp.exp),
        "multiply_one": lax.complex(x, -x).at[i[1]].multiply(2 - 1j),
        "multiply_different_ones": lax.complex(x, -x).at[jnp.array([0, 2])].multiply(2j, unique_indices=True),
        "batched": jax.vmap(lambda row, j: row.at[j].add(1.0))(x, i[:3]),
        "unsigned": n.astype(jnp.uint32).at[i].max(5),
        "unsigned_places": n.at[i.astype(jnp.uint8)].add(5),
        "bools": (x > 0).at[i].set(True),
        "bf16": x.astype(jnp.bfloat16).at[i].add(1),
        "segments": jax.ops.segment_sum(x, i[:3] % 3, 3),
        "segment_max": jax.ops.segment_max(x, i[:3] % 3, 3),
        "counts": jnp.bincount(jnp.abs(n).ravel() % 5, length=5),
    }


def _windows(x, starts, size, scatter, mode=None):
    """A window of `size` at each start in dimensions 0 and 1, some partly outside."""
    numbers = lax.ScatterDimensionNumbers((1, 2, 3), (), (0, 1))
    updates = jnp.arange(float(len(starts) * size[0] * size[1] * 5)) + 1
    updates = updates.reshape(len(starts), *size, 5)
    return scatter(x, starts, updates, numbers, mode=mode)


def partial_windows(x, i):
    starts = jnp.stack([i[:3], jnp.array([2, -1, 3])], -1)
    inner = lax.GatherDimensionNumbers((1, 2, 3), (), (0, 1))
    sizes = (2, 3, 5)

    def gathered(a, mode):
        return lax.gather(a, starts, inner, sizes, mode=mode, fill_value=0)

    return {
        "add": _windows(x, starts, (2, 3), lax.scatter_add),
        "set": _windows(x, starts, (2, 3), lax.scatter),
        "max": _windows(x, starts, (2, 1), lax.scatter_max),
        "clip": _windows(x, starts, (2, 3), lax.scatter_add, "clip"),
        "narrow": _windows(x, starts.astype(jnp.int8), (2, 3), lax.scatter_add),
        "unsigned": _windows(x, starts.astype(jnp.uint8), (2, 3), lax.scatter_add),
        "rows": lax.scatter_add(
            x, i[:, None], jnp.ones((4, 2, 4, 5)),
            lax.ScatterDimensionNumbers((1, 2, 3), (), (0,)),
        ),
        "fill": gathered(x, "fill"),
        "gradient_of_fill": jax.grad(lambda a: (gathered(a, "fill") ** 2).sum())(x),
        "gradient_of_clip": jax.grad(lambda a: (gathered(a, "clip") ** 2).sum())(x),
    }


def counted(x, i):
    """Indices with components that count along a dimension of their own."""
    n = jnp.arange(3)
    j = jnp.abs(i[:3]) % 4
    return {
        "rows": x[n, j],
        "negative": x[n, -j - 1],
        "more_columns": x[n[:, None], jnp.stack([j, j], 1)],
        "second": x[j % 3, :, np.arange(3)],
        "two": x[n[:, None], jnp.arange(4), j[:, None]],
        "all": x[n, n],
        "fewer": x[jnp.arange(2), j[:2]],
        "fill": x.at[n, i[:3]].get(mode="fill", fill_value=7.0),
        "add": x.at[n, j].add(1.0),
        "set": x.at[n, :, j].set(2.0),
        "drop": x.at[n, i[:3]].add(1.0, mode="drop"),
        "gradient": jax.grad(lambda a: (a[n, j] ** 2).sum())(x),
    }


def whole(x, i):
    """Windows that take all of some dimensions, whose places are named nevertheless."""
    rows = lax.ScatterDimensionNumbers((1, 2, 3), (), (0, 1, 2))
    all_of_it = lax.ScatterDimensionNumbers((1, 2, 3), (), (1, 0))
    starts = jnp.stack([i[:3], jnp.array([0, 0, 1]), jnp.array([0, -1, 0])], -1)
    numbers = lax.GatherDimensionNumbers((1, 2, 3), (), (2, 0, 1))

    def one(a, j):
        return jax.vmap(lambda row: row[j])(a)

    return {
        "row": x[i[1]],
        "of_each": one(x, i[1]),
        "gradient": jax.grad(lambda a: (one(a, i[0]) ** 2).sum() + (a[i[1]] ** 3).sum())(x),
        "set": jax.vmap(lambda row: row.at[i[1]].set(1.0))(x),
        "clamped": lax.gather(x, starts, numbers, (1, 4, 5), mode="clip"),
        "add": lax.scatter_add(x, starts, jnp.ones((3, 1, 4, 5)), rows),
        "max": lax.scatter_max(x, starts[:, :2], jnp.ones((3, 3, 4, 5)), all_of_it),
    }


PROGRAMS = [gathers, scatters, partial_windows, counted, whole]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_indexing(program):
    compare_with_jax(program, X, PLACES)


def test_counting_components_are_batching_dims():
    """Of x[arange(n), i], the component that counts is left out of the indices."""

    def program(x, i):
        return x[jnp.arange(3), i[:3]], x.at[jnp.arange(3), i[:3]].add(1.0)

    text = shoal.jax.import_stablehlo(jax.jit(program).lower(X, PLACES))
    lines = [line for line in text.splitlines() if "gather" in line or "scatter" in line]
    assert len(lines) == 2
    for line, name in zip(lines, ("operand_batching_dims", "input_batching_dims")):
        assert re.search(rf"{name}\W+(= )?\W*(array<i64: 0>|\[0\])", line), line


def test_places_of_whole_dimensions_are_left_out():
    """JAX names three places in each row's x[j]: 0 in the dimensions of which it takes all."""

    def program(x, j):
        return jax.vmap(lambda row: row[j])(x), jax.vmap(lambda row: row.at[j].add(1.0))(x)

    text = shoal.jax.import_stablehlo(jax.jit(program).lower(X, np.int32(1)))
    lines = re.findall(r".*shoal\.(?:gather|scatter).*", text)
    assert len(lines) == 2
    for line, name in zip(lines, ("start_index_map", "scatter_dims_to_operand_dims")):
        assert re.search(rf"{name}\W+(= )?\W*(array<i64: 1>|\[1\])", line), line


def scatter_of_two(first, second):
    """Rows of a table and of a line at the same places, each combined in its own way."""
    return f"""sdy.mesh @m = <["x"=2]>
func.func @main(%t: tensor<4x2xf32>, %l: tensor<4x2xi32>, %u: tensor<3x2xf32>, %v: tensor<3x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {{
  %i = stablehlo.constant dense<[[1], [1], [3]]> : tensor<3x1xi32>
  %0:2 = "stablehlo.scatter"(%t, %l, %i, %u, %v) <{{scatter_dimension_numbers =
      #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %x = {first} : tensor<f32>
    %z = sdy.sharding_constraint %x <@m, []> : tensor<f32>
    %y = {second} : tensor<i32>
    stablehlo.return %z, %y : tensor<f32>, tensor<i32>
  }}) : (tensor<4x2xf32>, tensor<4x2xi32>, tensor<3x1xi32>, tensor<3x2xf32>, tensor<3x2xi32>)
      -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<4x2xi32>
}}"""


def test_scatter_of_two_operands_and_annotations_in_its_region():
    text = scatter_of_two("stablehlo.add %c, %a", "stablehlo.maximum %b, %d")
    table, line = np.ones((4, 2), np.float32), np.full((4, 2), 5, np.int32)
    rows, numbers = np.float32([[1, 2], [3, 4], [5, 6]]), np.int32([[1, 9], [7, 2], [5, 6]])
    inputs = {"t": table, "l": line, "u": rows, "v": numbers}
    inputs = {f"arg{i}": array for i, array in enumerate(inputs.values())}
    results = run(shoal.jax.import_stablehlo(text), inputs, ["result0", "result1"])
    np.add.at(table, [1, 1, 3], rows)
    np.maximum.at(line, [1, 1, 3], numbers)
    np.testing.assert_array_equal(results["result0"], table)
    np.testing.assert_array_equal(results["result1"], line)


def test_scatters_that_mix_operands_are_refused():
    text = scatter_of_two("stablehlo.add %c, %a", "stablehlo.convert %b")
    shoal.jax.import_stablehlo(text.replace("convert %b", "add %b, %d"))
    mixed = text.replace("stablehlo.convert %b :", "stablehlo.convert %a : (tensor<f32>) ->")
    with pytest.raises(UnsupportedError, match="operand 1 is combined with others, and elements may have several updates"):
        shoal.jax.import_stablehlo(mixed)
