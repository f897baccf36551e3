# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports JAX programs and compares what the interpreter makes of them with JAX."""

import inspect
import tempfile
from pathlib import Path

import jax
import ml_dtypes
import numpy as np
from jax.sharding import AbstractMesh, AxisType

import shoal.jax
from shoal.jax.locations import legal_name
from shoal_testing import load_results, save_inputs, shoal_run

# Of floats by the size of their significand; XLA's functions are not correctly rounded.
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}
# Conversions to 8 bits are.
TOLERANCE |= {"float8_e4m3fn": 0, "float8_e5m2": 0}


def auto_mesh(sizes, names):
    """An AbstractMesh as JAX 0.10 makes it: from 0.11 on its axes are Explicit unless it is said."""
    return AbstractMesh(sizes, names, axis_types=(AxisType.Auto,) * len(names))


def compare_with_jax(program, *arguments, lower=lambda traced: traced.lower()):
    """Asserts that every result of a function is that of JAX on one device.

    Integers, infinities and where NaNs are must be the same; so must the sign
    of a zero in results whose name begins with `signed`.
    """
    traced = jax.jit(program, keep_unused=True).trace(*arguments)
    expected = _flat("result", traced.lower().compile()(*arguments))
    lowered = lower(traced)
    names = inspect.signature(program).parameters
    inputs = {}
    for name, argument in zip(names, arguments, strict=True):
        inputs |= _flat(name, argument)
    actual = run(shoal.jax.import_stablehlo(lowered), inputs, expected)
    wrong = [
        f"{name}: {actual[name].ravel()[:8]}, JAX has {value.ravel()[:8]}"
        for name, value in expected.items()
        if not _agrees(name, _as(actual[name], value.dtype), value)
    ]
    assert not wrong, "\n".join(wrong)


def run(text, inputs, names):
    """The results by name of an imported program in the interpreter, on one device."""
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "program.mlir"
        source.write_text(text)
        flags = save_inputs(directory, {name: _as_stored(a) for name, a in inputs.items()})
        out = Path(directory) / "out"
        shoal_run(source, "--devices=0", "--output-dir", out, *flags).expect_success()
        return load_results(out, names)


def _flat(root, tree):
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {legal_name(root + jax.tree_util.keystr(path)): np.asarray(a) for path, a in leaves}


def _as_stored(array):
    """The bits as a file holds them: unsigned integers have those of signed ones."""
    if array.dtype.kind == "u":
        return array.view(array.dtype.str.replace("u", "i"))
    return array


def _as(array, dtype):
    """What a file holds as JAX's type: bf16 lies there as its bits."""
    return array.view(dtype) if array.dtype.itemsize == np.dtype(dtype).itemsize else array


def _agrees(name, actual, expected):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if expected.dtype.kind == "c":
        halves = zip((actual.real, actual.imag), (expected.real, expected.imag))
        return all(_agrees(name, *half) for half in halves)
    own = (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn)
    is_float = expected.dtype.kind == "f" or expected.dtype in own
    if not is_float:
        return np.array_equal(actual, expected)
    tolerance = TOLERANCE[expected.dtype.name]
    actual, expected = np.float64(actual), np.float64(expected)
    is_zero = expected == 0
    signs = np.array_equal(np.signbit(actual[is_zero]), np.signbit(expected[is_zero]))
    is_close = np.allclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return is_close and (signs or not name.startswith("result.signed"))
