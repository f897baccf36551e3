# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that JAX does not write on CPUs: random numbers of their own, normalisation, sizes as operands."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import shoal
import shoal.jax
from jax_import_testing import auto_mesh, run

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def program(arguments, results, body):
    """A module of one function: types of arguments and results, and its ops, which end in %r0, ..."""
    inputs = ", ".join(f"%a{i}: tensor<{type}>" for i, type in enumerate(arguments))
    types = ", ".join(f"tensor<{type}>" for type in results)
    names = ", ".join(f"%r{i}" for i in range(len(results)))
    return f"func.func @main({inputs}) -> ({types}) {{\n{body}\nreturn {names} : {types}\n}}"


def evaluate(text, *arrays):
    inputs = {f"arg{i}": array for i, array in enumerate(arrays)}
    imported = shoal.jax.import_stablehlo(text)
    count = text.count("%r", text.index("return %r"))
    names = [f"result{i}" for i in range(count)]
    found = run(imported, inputs, names)
    return [found[name] for name in names]


# Random numbers


def draw(name, kind, element, shape):
    sizes = shape.split("x")
    return f"""
%{name}_shape = stablehlo.constant dense<[{", ".join(sizes)}]> : tensor<{len(sizes)}xi64>
%{name} = "stablehlo.rng"(%a0, %a1, %{name}_shape)
  <{{rng_distribution = #stablehlo<rng_distribution {kind}>}}>
  : (tensor<{element}>, tensor<{element}>, tensor<{len(sizes)}xi64>) -> tensor<{shape}x{element}>"""


@pytest.mark.parametrize(
    "element, dtype",
    [("f32", np.float32), ("f64", np.float64), ("bf16", ml_dtypes.bfloat16), ("f16", np.float16)],
)
def test_uniform_floats(element, dtype):
    text = program([element] * 2, [f"40x50x{element}"], draw("r0", "UNIFORM", element, "40x50"))
    (found,) = evaluate(text, np.array(-2, dtype), np.array(4, dtype))
    found = found.view(dtype).astype(np.float64)
    assert found.min() >= -2 and found.max() < 4
    assert abs(found.mean() - 1) < 0.2 and abs(found.std() - 6 / 12**0.5) < 0.1
    assert len(np.unique(found)) > (100 if element == "bf16" else 700)


@pytest.mark.parametrize(
    "element, dtype", [("f32", np.float32), ("f64", np.float64), ("bf16", ml_dtypes.bfloat16)]
)
def test_normal_floats(element, dtype):
    text = program([element] * 2, [f"60x50x{element}"], draw("r0", "NORMAL", element, "60x50"))
    (found,) = evaluate(text, np.array(3, dtype), np.array(2, dtype))
    scaled = (found.view(dtype).astype(np.float64) - 3) / 2
    assert abs(scaled.mean()) < 0.06 and abs(scaled.std() - 1) < 0.05
    within = [(abs(scaled) < bound).mean() for bound in (1, 2, 3)]
    np.testing.assert_allclose(within, [0.683, 0.954, 0.997], atol=0.03)


@pytest.mark.parametrize("element, low, high", [("i32", -3, 4), ("ui8", 3, 250), ("i64", 0, 2**40)])
def test_uniform_integers(element, low, high):
    dtype = np.dtype(f"int{element[-2:].lstrip('i')}")
    text = program([element] * 2, [f"3000x{element}"], draw("r0", "UNIFORM", element, "3000"))
    bounds = (np.array(n).astype(dtype) for n in (low, high))
    (found,) = evaluate(text, *bounds)
    found = found.view("uint8").astype(np.int64) if element == "ui8" else found
    assert found.min() >= low and found.max() < high
    assert abs(found.mean() - (low + high - 1) / 2) < 0.05 * (high - low)
    if high - low < 300:
        assert len(np.unique(found)) == high - low


LOOP = """
%zero = stablehlo.constant dense<0> : tensor<i32>
%none = stablehlo.constant dense<0.0> : tensor<3x100xf32>
%loop:2 = stablehlo.while(%i = %zero, %x = %none) : tensor<i32>, tensor<3x100xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %row = func.call @noise(%a0, %a1) : (tensor<f32>, tensor<f32>) -> tensor<1x100xf32>
    %y = stablehlo.dynamic_update_slice %x, %row, %i, %zero
      : (tensor<3x100xf32>, tensor<1x100xf32>, tensor<i32>, tensor<i32>) -> tensor<3x100xf32>
    stablehlo.return %next, %y : tensor<i32>, tensor<3x100xf32>
  }
%r0 = stablehlo.reshape %loop#1 : (tensor<3x100xf32>) -> tensor<3x100xf32>
%r1 = call @noise(%a0, %a1) : (tensor<f32>, tensor<f32>) -> tensor<1x100xf32>
%r2 = call @noise(%a0, %a1) : (tensor<f32>, tensor<f32>) -> tensor<1x100xf32>"""


def test_every_call_and_every_trip_draws_anew():
    noise = f"""func.func private @noise(%a0: tensor<f32>, %a1: tensor<f32>) -> tensor<1x100xf32> {{
{draw("drawn", "UNIFORM", "f32", "1x100")}
return %drawn : tensor<1x100xf32>
}}"""
    text = program(["f32"] * 2, ["3x100xf32", "1x100xf32", "1x100xf32"], LOOP) + noise
    found = evaluate(text, np.float32(0), np.float32(1))
    rows = np.concatenate(found)
    assert len(np.unique(rows)) == rows.size
    for row, again in zip(found, evaluate(text, np.float32(0), np.float32(1))):
        np.testing.assert_array_equal(row, again)


def test_every_sharding_has_the_same_random_numbers():
    def drawn(low, high, w):
        return lax.rng_uniform(low, high, (8, 12)) @ w

    low, high, w = np.float32(0), np.float32(1), np.eye(12, dtype=np.float32)
    results = []
    for spec in (P(), P("d"), P(None, "d")):
        with jax.sharding.use_abstract_mesh(auto_mesh((4,), ("d",))):
            exe = shoal.jax.compile(drawn, low, high, w, out_shardings=spec)
        results.append(np.asarray(exe.run(low, high, w)))
        assert not exe.stats["bytes_sent_per_device"].get("all_gather")
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


# Normalisation


def batch_norm(x, scale, offset):
    mean = x.mean((0, 2), keepdims=True)
    variance = ((x - mean) ** 2).mean((0, 2), keepdims=True)
    normal = (x - mean) / jnp.sqrt(variance + 1e-3)
    return normal * scale[None, :, None] + offset[None, :, None]


NORM = "<{epsilon = 0.001 : f32, feature_index = 1 : i64}>"
X, V = "tensor<4x3x5xf32>", "tensor<3xf32>"
NORMS = f"""
%t:3 = "stablehlo.batch_norm_training"(%a0, %a1, %a2) {NORM} : ({X}, {V}, {V}) -> ({X}, {V}, {V})
%r0 = stablehlo.reshape %t#0 : ({X}) -> {X}
%r1 = stablehlo.reshape %t#1 : ({V}) -> {V}
%r2 = stablehlo.reshape %t#2 : ({V}) -> {V}
%r3 = "stablehlo.batch_norm_inference"(%a0, %a1, %a2, %r1, %r2) {NORM} : ({X}, {V}, {V}, {V}, {V}) -> {X}
%g:3 = "stablehlo.batch_norm_grad"(%a0, %a1, %r1, %r2, %a3) {NORM} : ({X}, {V}, {V}, {V}, {X}) -> ({X}, {V}, {V})
%r4 = stablehlo.reshape %g#0 : ({X}) -> {X}
%r5 = stablehlo.reshape %g#1 : ({V}) -> {V}
%r6 = stablehlo.reshape %g#2 : ({V}) -> {V}"""


def test_batch_normalisation_and_its_gradient():
    x, scale, offset, slope = normal(4, 3, 5), normal(3), normal(3), normal(4, 3, 5)
    types = ["4x3x5xf32", "3xf32", "3xf32", "4x3x5xf32"]
    made = ["4x3x5xf32", "3xf32", "3xf32", "4x3x5xf32", "4x3x5xf32", "3xf32", "3xf32"]
    found = evaluate(program(types, made, NORMS), x, scale, offset, slope)
    result, pull = jax.vjp(batch_norm, x, scale, offset)
    expected = [result, x.mean((0, 2)), x.var((0, 2)), result, *pull(jnp.asarray(slope))]
    for actual, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    "shape, index, dim, batch", [((4, 5), (3,), 0, 0), ((4, 5, 2), (2, 3), 1, 0), ((2, 5, 3), (2, 4), 1, 1)]
)
def test_rows_are_selected(shape, index, dim, batch):
    x = normal(*shape)
    places = RNG.integers(0, shape[dim], index).astype(np.int32)
    if batch:
        expected = np.stack([np.take(a, p, dim - 1) for a, p in zip(x, places)])
    else:
        expected = np.take(x, places, dim)
    a, i, r = ("x".join(map(str, s)) for s in (shape, index, expected.shape))
    body = f"""%r0 = "stablehlo.torch_index_select"(%a0, %a1)
      <{{batch_dims = {batch} : i64, dim = {dim} : i64}}>
      : (tensor<{a}xf32>, tensor<{i}xi32>) -> tensor<{r}xf32>"""
    (found,) = evaluate(program([f"{a}xf32", f"{i}xi32"], [f"{r}xf32"], body), x, places)
    np.testing.assert_array_equal(found, expected)


# Sizes as operands, broadcasts


SIZES = """
%s = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
%l = stablehlo.constant dense<[3, 5]> : tensor<2xi64>
%o = stablehlo.constant dense<[1, 1]> : tensor<2xi64>
%r0 = "stablehlo.real_dynamic_slice"(%a0, %s, %l, %o)
  : (tensor<4x5xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x5xf32>
%n = stablehlo.constant dense<[20]> : tensor<1xi64>
%r1 = stablehlo.dynamic_reshape %a0, %n : (tensor<4x5xf32>, tensor<1xi64>) -> tensor<20xf32>
%b = stablehlo.constant dense<[3, 4, 5]> : tensor<3xi64>
%r2 = stablehlo.dynamic_broadcast_in_dim %a0, %b, dims = [1, 2]
  : (tensor<4x5xf32>, tensor<3xi64>) -> tensor<3x4x5xf32>"""


def test_sizes_that_the_program_says():
    x = normal(4, 5)
    types = ["2x5xf32", "20xf32", "3x4x5xf32"]
    found = evaluate(program(["4x5xf32"], types, SIZES), x)
    for actual, wanted in zip(found, (x[1:3], x.ravel(), np.broadcast_to(x, (3, 4, 5)))):
        np.testing.assert_array_equal(actual, wanted)


def test_sizes_that_the_program_computes_are_refused():
    body = "%r0 = stablehlo.dynamic_reshape %a0, %a1 : (tensor<4x5xf32>, tensor<1xi64>) -> tensor<20xf32>"
    text = program(["4x5xf32", "1xi64"], ["20xf32"], body)
    with pytest.raises(shoal.UnsupportedError, match="a size that the program does not say"):
        shoal.jax.import_stablehlo(text)


BROADCASTS = """
%r0 = chlo.broadcast_subtract %a0, %a1 : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
%z = chlo.broadcast_complex %a1, %a0 : (tensor<5xf32>, tensor<4x5xf32>) -> tensor<4x5xcomplex<f32>>
%c = chlo.conj %z : tensor<4x5xcomplex<f32>> -> tensor<4x5xcomplex<f32>>
%r1 = stablehlo.imag %c : (tensor<4x5xcomplex<f32>>) -> tensor<4x5xf32>
%k = "chlo.broadcast_compare"(%a0, %a1) {comparison_direction = #chlo<comparison_direction LT>}
  : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xi1>
%r2 = "chlo.broadcast_select"(%k, %a0, %a1)
  : (tensor<4x5xi1>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>"""


def test_operands_are_broadcast():
    x, row = normal(4, 5), normal(5)
    found = evaluate(program(["4x5xf32", "5xf32"], ["4x5xf32"] * 3, BROADCASTS), x, row)
    for actual, wanted in zip(found, (x - row, -x, np.minimum(x, row)), strict=True):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize(
    "op, reason",
    [
        (
            '"stablehlo.outfeed"(%a0, %t) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token',
            "a program takes its arrays",
        ),
        (
            '"stablehlo.send"(%a0, %t) <{is_host_transfer = true, channel_handle ='
            " #stablehlo.channel_handle<handle = 1, type = 2>}>"
            " : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token",
            "a program takes its arrays",
        ),
    ],
)
def test_refusals_say_why(op, reason):
    token = "%t = stablehlo.create_token : !stablehlo.token"
    body = f"{token}\n%u = {op}\n%r0 = stablehlo.negate %a0 : tensor<4xf32>"
    with pytest.raises(shoal.UnsupportedError, match=reason):
        shoal.jax.import_stablehlo(program(["4xf32"], ["4xf32"], body))


# Broadcasts over devices


def broadcast_text(groups, element):
    """Of the two groups of an inner axis, each from its own member."""
    return f"""
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%a0: tensor<8x{element}>) -> tensor<8x{element}> {{
  %0 = sdy.manual_computation(%a0) in_shardings=[<@mesh, [{{"a", "b"}}]>]
      out_shardings=[<@mesh, [{{"a", "b"}}]>] manual_axes={{"a", "b"}} (%x: tensor<2x{element}>) {{
    %y = "stablehlo.collective_broadcast"(%x) <{{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<{groups}> : tensor<{len(groups)}x{len(groups[0])}xi64>
    }}> : (tensor<2x{element}>) -> tensor<2x{element}>
    sdy.return %y : tensor<2x{element}>
  }} : (tensor<8x{element}>) -> tensor<8x{element}>
  return %0 : tensor<8x{element}>
}}"""


@pytest.mark.parametrize(
    "groups, sources",
    [([[1, 0], [3, 2]], [1, 1, 3, 3]), ([[0, 2], [1, 3]], [0, 1, 0, 1]), ([[2, 0, 1, 3]], [2] * 4)],
)
def test_a_device_sends_to_its_group(groups, sources):
    for element, dtype in (("f32", np.float32), ("i8", np.int8), ("bf16", ml_dtypes.bfloat16)):
        x = np.array([1, 2, -3, 4, -0.0, 6, 7, -8]).astype(dtype)
        text = shoal.jax.import_stablehlo(broadcast_text(groups, element))
        found = shoal.compile_text(text).run([x])["result0"]
        rows = x.reshape(4, 2)[sources].ravel()
        np.testing.assert_array_equal(found.view(np.uint8), rows.view(np.uint8))


def test_groups_that_begin_at_different_places_are_refused():
    with pytest.raises(shoal.UnsupportedError, match="begin at different places along"):
        shoal.jax.import_stablehlo(broadcast_text([[1, 0], [2, 3]], "f32"))
