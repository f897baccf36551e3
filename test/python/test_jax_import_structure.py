# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, orders, indexing and shapes of imported programs."""

import jax
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


def reductions(x, n):
    u, b = lax.bitcast_convert_type(n, jnp.uint32), n > 0
    results = {"any": b.any(1), "all": b.all(0)}
    for kind in ("sum", "prod", "max", "min"):
        reduce = getattr(jnp, kind)
        results |= {
            f"f_{kind}": reduce(x, 1),
            f"i_{kind}": reduce(n, (0, 2)),
            f"u_{kind}": reduce(u),
        }
    for axis in (0, 2):
        for name, value in {"f": x, "i": n, "u": u, "b": b}.items():
            results[f"argmax_{name}{axis}"] = jnp.argmax(value, axis)
            results[f"argmin_{name}{axis}"] = jnp.argmin(value, axis)
    return results | {
        "argmax_u8": lax.argmax(x, 1, jnp.uint8),
        "initial": jnp.max(x, 1, initial=0.5),
        "initial_sum": jnp.sum(n, initial=7),
        "initial_unsigned": jnp.max(u, 1, initial=jnp.uint32(2**31)),
        "bits": lax.reduce(n, jnp.int32(-8), lax.bitwise_and, (0,)),
        "xor": lax.reduce(n, jnp.int32(3), lax.bitwise_xor, (0,)),
        "pairs": lax.reduce(
            (x, n),
            (jnp.float32(0), jnp.int32(0)),
            lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])),
            (1,),
        ),
    }


def scans(x, n):
    results = {}
    for kind in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        scan = getattr(lax, kind)
        results |= {kind: scan(x, 1), f"{kind}_reverse": scan(x, 2, reverse=True)}
    u = lax.bitcast_convert_type(n, jnp.uint32)
    return results | {
        "unsigned": lax.cummax(u, 1),
        "integers": lax.cumsum(n, 0),
        "associative": lax.associative_scan(jnp.add, n),
    }


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


@pytest.mark.parametrize("program", [reductions, scans, orders], ids=lambda p: p.__name__)
def test_along_dimensions(program):
    compare_with_jax(program, WITH_NAN, N)


def test_general_forms_are_recognised():
    """Regions of JAX's are ops of Shoal's, that split at less cost."""
    text = shoal.jax.import_stablehlo(jax.jit(reductions).lower(WITH_NAN, N))
    assert text.count('"shoal.argmax"') == 9 and text.count('"shoal.argmin"') == 8
    assert text.count('"shoal.reduce_region"') == 2  # the exclusive or and the pairs
    text = shoal.jax.import_stablehlo(jax.jit(scans).lower(WITH_NAN, N))
    assert text.count('"shoal.cumulative"') == 10 and '"shoal.reduce_window"' not in text


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
        "batched": jax.vmap(lambda row, j: row.at[j].add(1.0))(x, i[:3]),
        "unsigned": n.astype(jnp.uint32).at[i].max(5),
        "unsigned_places": n.at[i.astype(jnp.uint8)].add(5),
        "bools": (x > 0).at[i].set(True),
        "bf16": x.astype(jnp.bfloat16).at[i].add(1),
        "segments": jax.ops.segment_sum(x, i[:3] % 3, 3),
        "segment_max": jax.ops.segment_max(x, i[:3] % 3, 3),
        "counts": jnp.bincount(jnp.abs(n).ravel() % 5, length=5),
    }


def shapes(x, i):
    return {
        "transpose": x.transpose(2, 0, 1),
        "reshape": x.reshape(5, 12),
        "flip": jnp.flip(x, (0, 2)),
        "roll": jnp.roll(x, 1, 1),
        "pad": lax.pad(x, jnp.float32(7), ((1, -1, 1), (-1, 0, 0), (0, 0, 2))),
        "reflect": jnp.pad(x, 1, mode="reflect"),
        "stack": jnp.stack([x, x], 2),
        "repeat": jnp.repeat(x, 2, 1),
        "broadcast": jnp.broadcast_to(x[0], (2, 4, 5)),
        "stride": x[..., ::-2],
        "tril": jnp.tril(x),
        "one_hot": jax.nn.one_hot(i, 5),
        "linspace": jnp.linspace(0, 1, 4),
    }


def constants(x, i):
    """Of every width; long ones are spelled as bytes."""
    del x
    numbers = np.arange(300).reshape(30, 10) * 37 % 251
    types = "bool int8 uint8 int16 int32 uint32 float16 float32 bfloat16".split()
    return {name: jnp.asarray(numbers % 3 - 1, name)[i] for name in types}


@pytest.mark.parametrize(
    "program", [gathers, scatters, shapes, constants], ids=lambda p: p.__name__
)
def test_places(program):
    compare_with_jax(program, X, PLACES)


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
    ],
    ids=["descending", "swapped", "total-order", "two-directions"],
)
def test_comparators_of_others(body, order):
    text = shoal.jax.import_stablehlo(sort_text(body))
    results = run(text, {"arg0": FLOATS, "arg1": NUMBERS}, ["result0", "result1"])
    np.testing.assert_array_equal(results["result1"], NUMBERS[order])
    np.testing.assert_array_equal(results["result0"].view(np.int32), FLOATS[order].view(np.int32))
