# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts, scans, selections and reductions along a dimension, whole and split.

NumPy says what the global program gives; the partitioned one gives the same on
every layout, in the interpreter and, for a sample, under mpirun.
"""

import numpy as np
import pytest
from ordering_cases import Program, add_along, add_reduction_of_pairs, add_unsigned_maximum, numbers
from shoal_testing import mpirun, save_inputs, shoal_run, shoalc

# mesh, shape, dimension, axes of each dimension
LAYOUTS = {
    "even": ({"x": 4}, (3, 32), 1, [(), ("x",)]),
    "uneven": ({"x": 4}, (5, 37), 1, [(), ("x",)]),
    "first-dim": ({"x": 4}, (37, 6), 0, [("x",), ()]),
    "empty-shards": ({"x": 8}, (33, 9), 0, [("x",), ()]),
    "more-shards-than-rows": ({"x": 8}, (9, 3), 1, [(), ("x",)]),
    "two-axes": ({"x": 2, "y": 3}, (4, 41), 1, [(), ("y", "x")]),
    "both-dims": ({"x": 2, "y": 4}, (5, 30), 1, [("x",), ("y",)]),
    "other-dim": ({"x": 4}, (7, 5), 1, [("x",), ()]),
    "partly-replicated": ({"x": 2, "y": 2}, (3, 23), 1, [(), ("y",)]),
    "line": ({"x": 4}, (61,), 0, [("x",)]),
}


def check(results, directory):
    for number, (_, _, expected, _) in enumerate(results):
        actual = np.load(directory / f"result{number}.npy")
        np.testing.assert_array_equal(actual, expected, err_msg=f"result{number}")


def build(layout):
    mesh, shape, dim, axes = LAYOUTS[layout]
    program = Program(mesh)
    add_along(program, shape, dim, axes)
    if len(shape) == 2:
        add_reduction_of_pairs(program, numbers(shape, seed=7), [0, 1], axes)
        add_unsigned_maximum(program, numbers(shape, np.int32, seed=8), [0, 1], axes)
    return program


@pytest.mark.parametrize("layout", LAYOUTS)
def test_split_dimensions(layout, tmp_path):
    program = build(layout)
    source = tmp_path / "program.mlir"
    source.write_text(program.text())
    flags = save_inputs(tmp_path, program.inputs)
    devices = int(np.prod(list(program.mesh.values())))
    for count in (0, devices):
        output = tmp_path / f"devices{count}"
        shoal_run(source, *flags, f"--devices={count}", "--output-dir", output).expect_success()
        check(program.results, output)


@pytest.mark.parametrize("layout", ["first-dim", "more-shards-than-rows"])
def test_executable(layout, tmp_path):
    program = build(layout)
    source, output = tmp_path / "program.mlir", tmp_path / "out"
    source.write_text(program.text())
    flags = save_inputs(tmp_path, program.inputs)
    shoalc(source, tmp_path / "program").expect_success()
    devices = int(np.prod(list(program.mesh.values())))
    mpirun(devices, tmp_path / "program", *flags, "--output-dir", output).expect_success()
    check(program.results, output)
