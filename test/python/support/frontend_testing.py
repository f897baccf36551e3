# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running what the frontend traces, and comparing it with NumPy."""

import os

import numpy as np

import shoal
from shoal.frontend.pytrees import flatten, unflatten
from shoal.frontend.tracing import trace_program
from shoal_testing import save_inputs, shoal_run


def evaluate(tmp_path, function, *args, mesh=None, devices=0, **options):
    """The function's results by the interpreter, in its structure, on one device or several."""
    program = trace_program(function, args, mesh, **options)
    source = tmp_path / "program.mlir"
    source.write_text(program.text)
    arrays = dict(zip(program.inputs, flatten(args)[0]))
    inputs = save_inputs(tmp_path, {name: as_saved(array) for name, array in arrays.items()})
    flags = [f"--devices={devices}", *inputs, "--output-dir", tmp_path / "out"]
    shoal_run(source, *flags).expect_success()
    results = [
        np.load(tmp_path / "out" / f"{name}.npy").view(spec.dtype)
        for name, spec in program.outputs.items()
    ]
    return unflatten(program.out_tree, results)


def as_saved(array):
    """Files have no unsigned integers and no bfloat16, but their bits."""
    array = np.asarray(array)
    if array.dtype.kind == "u":
        return array.view(f"i{array.dtype.itemsize}")
    return array.view("V2") if array.dtype == shoal.bfloat16 else array


def assert_same(name, actual, expected, dtype=None, tolerance=2e-6):
    """Equal shapes, types and elements; floats within a tolerance, NaN where NaN is."""
    expected = np.asarray(expected)
    dtype = expected.dtype if dtype is None else np.dtype(dtype)
    assert actual.shape == expected.shape, f"{name}: {actual.shape} != {expected.shape}"
    assert actual.dtype == dtype, f"{name}: {actual.dtype} != {dtype}"
    actual, expected = np.float64(actual), np.float64(expected)
    message = f"{name}: {actual} != {expected}"
    assert np.array_equal(np.isfinite(actual), np.isfinite(expected)), message
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite], message)
    scale = max(np.max(np.abs(expected[finite]), initial=0.0), 1e-30)
    difference = np.max(np.abs(actual[finite] - expected[finite]), initial=0.0) / scale
    assert difference <= tolerance, f"{message}, by {difference}"


def assert_leaves_same(actual, expected, tolerance):
    """Of two trees of one structure, by JAX's names of places."""
    import jax

    places = jax.tree_util.tree_leaves_with_path(expected)
    for (path, leaf), made in zip(places, jax.tree.leaves(actual), strict=True):
        assert_same(jax.tree_util.keystr(path), np.asarray(made), np.asarray(leaf), None, tolerance)


def assert_cases(tmp_path, cases, *args, tolerance=2e-6):
    """Each case, a function of a module and the arrays, is the same of shoal and of NumPy.

    Floats of 64 bits, which NumPy makes where Shoal stays narrow, are compared
    as what Shoal makes; `test_promotion` checks the types.
    """
    traced = evaluate(
        tmp_path,
        lambda *values: {name: case(shoal, *values) for name, case in cases.items()},
        *args,
    )
    for name, case in cases.items():
        expected = np.asarray(case(np, *args))
        assert_same(name, traced[name], expected, traced[name].dtype, tolerance)


if os.environ.get("SHOAL_WORLD") == "jax":
    from jax_world import World, evaluate

    shoal = World()
