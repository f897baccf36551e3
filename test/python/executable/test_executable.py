# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling texts and running executables from Python."""

import re

import ml_dtypes
import numpy as np
import pytest
from executable_cases import SCALED, UNEVEN, identity, scaled_inputs, scaled_outputs
from shoal_testing import BIN, run

import shoal
from shoal.executable import CallStructure, partition_text, statistics_of_text


@pytest.fixture(scope="module")
def scaled():
    return shoal.compile_text(SCALED)


def expect_scaled(actual, inputs):
    for name, expected in scaled_outputs(**inputs).items():
        np.testing.assert_array_equal(actual[name], expected)


def test_describes_itself(scaled):
    assert (scaled.name, scaled.devices) == ("scaled", 4)
    x, w = scaled.inputs
    assert (x.name, x.shape, x.local_shape, x.dtype) == ("x", (8, 3), (2, 3), np.float32)
    assert x.sharding == '<@mesh, [{"d"}, {}]>'
    assert (w.shape, w.local_shape) == ((3,), (3,))
    assert [tensor.name for tensor in scaled.outputs] == ["y", "sum"]
    assert scaled.text == SCALED
    assert scaled.stats["collectives"] == {"all_reduce": 1}
    assert scaled.stats["bytes_sent_per_device"] == {"all_reduce": 18}


PRODUCTS = """
func.func @main(%x: tensor<4x64x96xf32>, %w: tensor<4x96x48xf32>, %b: tensor<64x48xbf16>, %i: tensor<5x6xi32>)
    -> (tensor<4x64x48xf32>, tensor<48x48xbf16>, tensor<5x5xi32>) {
  %0 = shoal.einsum "emk,ekn->emn" %x, %w : (tensor<4x64x96xf32>, tensor<4x96x48xf32>) -> tensor<4x64x48xf32>
  %1 = shoal.einsum "km,kn->mn" %b, %b : (tensor<64x48xbf16>, tensor<64x48xbf16>) -> tensor<48x48xbf16>
  %2 = shoal.einsum "mk,nk->mn" %i, %i : (tensor<5x6xi32>, tensor<5x6xi32>) -> tensor<5x5xi32>
  return %0, %1, %2 : tensor<4x64x48xf32>, tensor<48x48xbf16>, tensor<5x5xi32>
}
"""


def test_describe_says_how_products_are_computed(tmp_path):
    source = tmp_path / "products.mlir"
    source.write_text(PRODUCTS)
    run(BIN / "shoalc", source, "-o", tmp_path / "program").expect_success()
    described = run(tmp_path / "program", "--describe").expect_success().stdout
    # By BLAS, or as the CPU and the build have it by oneDNN (docs/internals/Products.md).
    library = "(BLAS gemm|oneDNN)"
    narrow = f"(oneDNN in bf16|{library} in f32; packs operand 0, operand 1 and the result)"
    expected = [
        rf":4:8: 4 times \[64, 96\] x \[96, 48\], {library} in f32",
        rf":5:8: \[48, 64\] x \[64, 48\], {narrow}",
        ":6:8: loops in i32",
    ]
    lines = sorted(described.split("products on the CPU:\n")[1].splitlines())
    for line, rest in zip(lines, expected, strict=True):
        assert re.fullmatch(re.escape(f"  {source}") + rest, line), line


def test_spmd_is_the_program_of_one_device(scaled):
    text = scaled.spmd()
    assert "tensor<2x3xf32>" in text and "spmd.all_reduce" in text
    assert partition_text(SCALED) == text
    assert "loc(" not in text and "loc(" in scaled.spmd(locations=True)
    assert statistics_of_text(SCALED)["collectives"] == scaled.stats["collectives"]


def test_runs_by_name_and_by_order(scaled):
    inputs = scaled_inputs()
    expect_scaled(scaled.run(inputs), inputs)
    expect_scaled(scaled.run(list(inputs.values())), inputs)


def test_layouts_of_arrays_do_not_matter(scaled):
    inputs = scaled_inputs()
    strided = {
        "x": np.asfortranarray(inputs["x"]),
        "w": np.repeat(inputs["w"], 2)[::2].astype(">f4"),
    }
    expect_scaled(scaled.run(strided), inputs)


def test_measures(scaled):
    stats = {}
    scaled.run(scaled_inputs(), repeat=3, warmup=1, stats=stats)
    assert stats["devices"] == 4 and stats["collectives"] == {"all_reduce": 1}
    assert 0 < stats["step_seconds"]["min"] <= stats["step_seconds"]["max"]


def test_makes_up_inputs(scaled):
    w = scaled_inputs()["w"]
    first = scaled.run({"w": w}, random_inputs=7)
    again = scaled.run({"w": w}, random_inputs=7)
    np.testing.assert_array_equal(first["y"], again["y"])
    np.testing.assert_allclose(first["sum"], first["y"].sum(0), rtol=1e-5)
    assert scaled.run(random_inputs=7)["y"].shape == (8, 3)


def test_uneven_shards():
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    outputs = shoal.compile_text(UNEVEN).run([x])
    np.testing.assert_array_equal(outputs["y"], 2 * x)
    np.testing.assert_array_equal(outputs["sum"], 2 * x.sum(0))


def test_a_call_nests_as_it_says():
    structure = CallStructure(
        {"tuple": [{"dict": {"b": "*", "a": "*"}}, None]}, {"list": ["*", {"tuple": ["*"]}]}
    )
    exe = shoal.compile_text(SCALED, structure=structure)
    inputs = scaled_inputs()
    y, (total,) = exe.run(({"a": inputs["w"], "b": inputs["x"]}, None))
    expect_scaled({"y": y, "sum": total}, inputs)
    with pytest.raises(shoal.InputError, match=r"inputs\[0\]: expected a dict of \['a', 'b'\]"):
        exe.run(({"a": inputs["w"]}, None))
    with pytest.raises(shoal.InputError, match=r"inputs\[1\]: expected None but got int"):
        exe.run(({"a": inputs["w"], "b": inputs["x"]}, 3))
    # By order or name, as without a structure.
    x, w = inputs.values()
    for flat in ([x, w], (x, w), {"w": w, "x": x}):
        assert all(one is other for one, other in zip(exe.flatten(flat), (x, w), strict=True))
    with pytest.raises(shoal.InputError, match=r"inputs missing: w \(the program has x, w\)"):
        exe.flatten({"x": x})
    for other in ([x], {"x": x, "z": w}, {}, [x, None], x):
        with pytest.raises(shoal.InputError, match="^inputs"):
            exe.flatten(other)


TYPES = {
    "f32": (np.float32, [0.5, -1.0, np.inf, 1e-40]),
    "f64": (np.float64, [0.1, -1.0, 1e300, 5e-324]),
    "bf16": (ml_dtypes.bfloat16, [0.5, -1.0, 3e38, 256.0]),
    "f16": (np.float16, [0.5, -1.0, 65504.0, 6e-8]),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, [0.5, -1.0, 448.0, 2.0**-9]),
    "f8E5M2": (ml_dtypes.float8_e5m2, [0.5, -1.0, 57344.0, np.inf]),
    "i64": (np.int64, [2**63 - 1, -(2**63), 0, -1]),
    "i32": (np.int32, [2**31 - 1, -(2**31), 0, -1]),
    "i16": (np.int16, [2**15 - 1, -(2**15), 0, -1]),
    "i8": (np.int8, [127, -128, 0, -1]),
    "i1": (np.bool_, [True, False, False, True]),
    "i64 unsigned": (np.uint64, [2**64 - 1, 2**63, 0, 1]),
    "i32 unsigned": (np.uint32, [2**32 - 1, 2**31, 0, 1]),
    "i16 unsigned": (np.uint16, [2**16 - 1, 2**15, 0, 1]),
    "i8 unsigned": (np.uint8, [255, 128, 0, 1]),
    'i8 codes = "i4"': (ml_dtypes.int4, [7, -8, 0, -1]),
    'i8 codes = "ui2"': (ml_dtypes.uint2, [3, 2, 0, 1]),
    'i8 codes = "f8E4M3FNUZ"': (ml_dtypes.float8_e4m3fnuz, [0.5, -1.0, 240.0, 2.0**-10]),
    'i8 codes = "f4E2M1FN"': (ml_dtypes.float4_e2m1fn, [0.5, -1.0, 6.0, 0.0]),
}


def test_every_type_comes_back():
    """One program with an argument of each type, whose shards all devices have."""
    arguments, results, types = [], [], []
    for number, element in enumerate(TYPES):
        element, _, said = element.partition(" ")
        mark = f" {{shoal.{said}}}" if said else ""
        arguments.append(f"%x{number}: tensor<4x{element}>{mark}")
        results.append(f"tensor<4x{element}>{mark}")
        types.append(f"tensor<4x{element}>")
    names = ", ".join(f"%x{number}" for number in range(len(TYPES)))
    exe = shoal.compile_text(
        f"func.func @f({', '.join(arguments)}) -> ({', '.join(results)}) {{\n"
        f"  return {names} : {', '.join(types)}\n}}"
    )
    arrays = [np.array(values, dtype) for dtype, values in TYPES.values()]
    for array, result in zip(arrays, exe.run(arrays).values(), strict=True):
        assert result.dtype == array.dtype
        np.testing.assert_array_equal(result, array)


def test_unsigned_integers_stay_unsigned_in_shards():
    exe = shoal.compile_text(identity("i32", attribute=", shoal.unsigned"))
    assert exe.inputs[0].dtype == exe.outputs[0].dtype == np.uint32
    assert "shoal.unsigned" in exe.spmd()


def test_numbers_do_for_scalars():
    exe = shoal.compile_text(
        "func.func @f(%x: tensor<f32>, %i: tensor<i8>, %b: tensor<i1>)"
        " -> (tensor<f32>, tensor<i8>, tensor<i1>) {"
        " return %x, %i, %b : tensor<f32>, tensor<i8>, tensor<i1> }"
    )
    assert [array.item() for array in exe.run([1.5, -3, True]).values()] == [1.5, -3, True]
    with pytest.raises(shoal.InputError, match='input "arg1"'):
        exe.run([1.5, 300, True])
