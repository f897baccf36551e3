# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports programs of PyTorch and compares what the interpreter makes of them with torch, or with kept results."""

import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

from shoal_testing import load_results, save_inputs, shoal_run

# Of floats by the size of their significand; torch's functions are not correctly rounded.
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


def run(text, inputs, outputs, devices=0):
    """The results by name of an imported program in the interpreter.

    outputs: TensorSpecs by name. Files of .npy have no bfloat16: its bits are kept.
    """
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "program.mlir"
        source.write_text(text)
        stored = {name: _stored(array) for name, array in inputs.items()}
        flags = save_inputs(directory, stored)
        out = Path(directory) / "out"
        shoal_run(source, f"--devices={devices}", "--output-dir", out, *flags).expect_success()
        results = load_results(out, outputs)
    return {name: _read(results[name], spec.dtype) for name, spec in outputs.items()}


def _stored(array):
    array = np.asarray(array)
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def _read(array, dtype):
    # The interpreter's integers have no sign of their own.
    is_viewed = dtype == ml_dtypes.bfloat16 or dtype.kind == "u"
    return array.view(dtype) if array.dtype.itemsize == dtype.itemsize and is_viewed else array


def differences(actual, expected):
    """A line for each result that differs, of arrays by name."""
    return [
        f"{name}: {actual[name].ravel()[:8]}, torch has {value.ravel()[:8]}"
        for name, value in expected.items()
        if not agrees(actual[name], value)
    ]


def agrees(actual, expected):
    """Integers, infinities and where NaNs are must be the same."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if expected.dtype.kind in "biu":
        return bool((actual == expected).all())
    tolerance = TOLERANCE[str(expected.dtype)]
    a, b = np.float64(actual), np.float64(expected)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    scale = max(np.abs(b[finite]).max(initial=0.0), 1e-30)
    return bool((np.abs(a - b)[finite] <= tolerance * np.maximum(np.abs(b[finite]), scale * 0.1) + 1e-30).all())
