# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""float8_e4m3fn and float8_e5m2: conversions as ml_dtypes makes them, and products."""

import ml_dtypes
import numpy as np
import pytest

import shoal
from shoal_testing import BIN, ROOT, load_results, mpirun, needs_emulation, relative_difference
from shoal_testing import run, save_inputs, shoal_run, shoalc

TYPES = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
WIDE = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


def numbers(dtype):
    """What rounds in every way: all of the type's numbers, what lies between, and beyond."""
    every = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    finite = np.unique(every[np.isfinite(every)])
    between = (finite[1:] + finite[:-1]) / 2
    edges = [464, 464.1, 61439, 61440, 1e30, -1e30, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        random = np.random.default_rng(1).integers(0, 2**32, 2000, dtype=np.uint32)
        random = random.view(np.float32).astype(np.float64)
        nearby = between.astype(np.float32)
        above = np.nextafter(nearby, np.float32(np.inf), dtype=np.float32)
        below = np.nextafter(nearby, np.float32(-np.inf), dtype=np.float32)
    return np.concatenate([every, between, above, below, random, edges])


def conversion_text(element, count):
    """From and to each wide type."""
    narrow = f"tensor<{count}x{element}>"
    arguments = [f'%codes: tensor<256x{element}> {{shoal.name = "codes"}}']
    body, results, types = [], [], []
    for wide in WIDE:
        arguments.append(f'%x_{wide}: tensor<{count}x{wide}> {{shoal.name = "x_{wide}"}}')
        body.append(f"  %n_{wide} = arith.truncf %x_{wide} : tensor<{count}x{wide}> to {narrow}")
        codes = f"tensor<256x{element}>"
        body.append(f"  %w_{wide} = arith.extf %codes : {codes} to tensor<256x{wide}>")
        results += [f"%n_{wide}", f"%w_{wide}"]
        types += [narrow, f"tensor<256x{wide}>"]
    returned = "\n".join([*body, f"  return {', '.join(results)} : {', '.join(types)}"])
    return f"func.func @f({', '.join(arguments)}) -> ({', '.join(types)}) {{\n{returned}\n}}\n"


def conversion_inputs(dtype):
    values = numbers(dtype)
    with np.errstate(all="ignore"):
        wide = {f"x_{name}": values.astype(np.float32).astype(kind) for name, kind in WIDE.items()}
        wide["x_f64"] = values * (1 + 2.0**-40)  # not over f32
    return {"codes": np.arange(256, dtype=np.uint8).view(dtype), **wide}


def same(actual, expected):
    """Equal numbers with equal signs, or two NaNs."""
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    return (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))


def expect_conversions(dtype, inputs, outputs):
    outputs = list(outputs)
    for number, (name, kind) in enumerate(WIDE.items()):
        narrow, wide = outputs[2 * number], outputs[2 * number + 1]
        with np.errstate(all="ignore"):
            given = inputs[f"x_{name}"]
            expected = given.astype(dtype)
            if name == "f64":  # that of ml_dtypes is over f32
                expected = nearest(given, dtype)
            wrong = ~same(narrow.view(dtype), expected)
            found = (name, given[wrong][:5], narrow.view(dtype)[wrong][:5], expected[wrong][:5])
            assert not wrong.any(), found
            assert same(wide.view(kind), inputs["codes"].astype(kind)).all(), name


def nearest(values, dtype):
    """Rounded once: an f32 on the way has an odd last bit where it is not exact."""
    rounded = values.astype(np.float32)
    inexact = np.isfinite(values) & (rounded.astype(np.float64) != values)
    bits = rounded.view(np.uint32)
    towards_zero = np.where(np.abs(rounded) > np.abs(values), bits - 1, bits)
    sticky = np.where(inexact, towards_zero | 1, bits).astype(np.uint32)
    return sticky.view(np.float32).astype(dtype)


@pytest.mark.parametrize("element", TYPES)
def test_conversions_in_the_interpreter(element, tmp_path):
    dtype = TYPES[element]
    inputs = conversion_inputs(dtype)
    source = tmp_path / "f.mlir"
    source.write_text(conversion_text(element, inputs["x_f32"].size))
    flags = save_inputs(tmp_path, inputs)
    shoal_run(source, "--devices=0", "--output-dir", tmp_path / "out", *flags).expect_success()
    names = [f"result{i}" for i in range(2 * len(WIDE))]
    expect_conversions(dtype, inputs, load_results(tmp_path / "out", names).values())


@pytest.mark.parametrize("element", TYPES)
def test_conversions_in_executables(element, tmp_path):
    dtype = TYPES[element]
    inputs = conversion_inputs(dtype)
    source, executable = tmp_path / "f.mlir", tmp_path / "f"
    source.write_text(conversion_text(element, inputs["x_f32"].size))
    shoalc(source, executable).expect_success()
    flags = save_inputs(tmp_path, inputs)
    mpirun(1, executable, "--output-dir", tmp_path / "out", *flags).expect_success()
    names = [f"result{i}" for i in range(2 * len(WIDE))]
    expect_conversions(dtype, inputs, load_results(tmp_path / "out", names).values())


def test_files_of_bits_of_numbers_and_of_f32(tmp_path):
    """What NumPy, which has no such types, can store."""
    source = tmp_path / "f.mlir"
    type = "tensor<3xf8E5M2>"
    source.write_text(f"func.func @f(%x: {type}) -> {type} {{\n  return %x : {type}\n}}\n")
    x = np.array([0.5, -1.75, 57344], ml_dtypes.float8_e5m2)
    np.save(tmp_path / "f4.npy", x.astype(np.float32))
    np.save(tmp_path / "u1.npy", x.view(np.uint8))
    np.save(tmp_path / "f1.npy", x)
    np.save(tmp_path / "i4.npy", x.astype(np.int32))
    for name in ("f4", "u1", "f1"):
        flags = ("--input", f"arg0={tmp_path}/{name}.npy", "--output-dir", tmp_path / name)
        shoal_run(source, "--devices=0", *flags).expect_success()
        result = np.load(tmp_path / name / "result0.npy")
        assert np.array_equal(result.view(np.uint8), x.view(np.uint8))
    failed = shoal_run(source, "--devices=0", "--input", f"arg0={tmp_path}/i4.npy")
    assert failed.code != 0 and "element type is '<i4', expected f8E5M2" in failed.stderr


def scaled(x, w, a, b):
    y = shoal.einsum("ij,jk->ik", x, w)
    return y * a * b, shoal.einsum("ij,jk->ki", x, w, dtype="float16"), x.T, shoal.sum(x)


def test_frontend():
    generator = np.random.default_rng(2)
    x = generator.standard_normal((16, 32)).astype(ml_dtypes.float8_e4m3fn)
    w = generator.standard_normal((32, 16)).astype(ml_dtypes.float8_e5m2)
    a, b = np.float32(0.25), np.float32(3)
    exe = shoal.compile(scaled, (x, w, a, b))
    y, half, transposed, total = exe.run((x, w, a, b))
    product = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(y, product * 0.75, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(half, product.T, rtol=1e-3, atol=1e-3)
    assert half.dtype == np.float16 and transposed.dtype == x.dtype
    assert np.array_equal(transposed.view(np.uint8), x.T.view(np.uint8))
    np.testing.assert_allclose(total, x.astype(np.float64).sum(), rtol=1e-5)


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x, w: x + w, "have no common type; convert one of them with .astype"),
        (lambda x, w: x * np.ones((4, 4), np.float32), "have no common type"),
        (lambda x, w: shoal.einsum("ij,jk->ik", x, w, dtype=x.dtype), "cannot be float8_e4m3fn"),
        (lambda x, w: shoal.cumsum(x, 0), "cumsum: sum of float8_e4m3fn, which would round"),
    ],
)
def test_frontend_errors(function, message):
    x, w = np.ones((4, 4), ml_dtypes.float8_e4m3fn), np.ones((4, 4), ml_dtypes.float8_e5m2)
    with pytest.raises(shoal.ShoalError, match=message):
        shoal.compile(function, (x, w))


@needs_emulation
def test_products_on_devices_with_and_without_eight_bits(tmp_path):
    """sm_80 multiplies the same numbers as bf16; scales apply to sums of f32."""
    source, executable = ROOT / "test/Execution/cuda-float8.mlir", tmp_path / "f"
    target = ("--target=cuda", "--cuda-arch=emulated")
    compiled = run(BIN / "shoalc", source, "-o", executable, *target).expect_success()
    assert compiled.stderr.count("remark: a product of f8 by floats of 16 bits") == 2
    for capability in ("90", "80"):
        command = ("env", f"SHOAL_EMULATED_CAPABILITY={capability}", executable)
        flags = ("--random-inputs=1", "--output-dir", tmp_path / capability)
        run(*command, *flags).expect_success()
    names = ["result0", "result2", "result4", "result5", "result6", "result7"]
    old, new = load_results(tmp_path / "80", names), load_results(tmp_path / "90", names)
    for name in names:
        assert relative_difference(old[name], new[name]) < 1e-5
