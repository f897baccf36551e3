# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops with windows against NumPy: in the interpreter and as executables."""

import numpy as np
import pytest
from shoal_testing import load_results, mpirun, run, save_inputs, shoal_run, shoalc
from window_cases import RANDOM_CASES, Convolution, Dim, Program


def random_program(name, seed, element="f32", count=25):
    rng = np.random.default_rng(seed)
    return Program([RANDOM_CASES[name](rng, element=element) for _ in range(count)], rng)


def check_results(program, actual, expected):
    for c, case in enumerate(program.cases):
        assert actual[f"y{c}"].shape == expected[f"y{c}"].shape, case
        np.testing.assert_allclose(
            actual[f"y{c}"], expected[f"y{c}"], rtol=1e-6, err_msg=str(case)
        )


@pytest.mark.parametrize("element", ["f32", "i32"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", RANDOM_CASES)
def test_interpreter(name, seed, element, tmp_path):
    program = random_program(name, seed, element)
    source = tmp_path / "windows.mlir"
    source.write_text(program.text())
    arrays = program.inputs()
    flags = save_inputs(tmp_path, arrays)
    shoal_run(source, *flags, "--output-dir", tmp_path).expect_success()
    expected = program.expected(arrays)
    check_results(program, load_results(tmp_path, expected), expected)


MESHES = {
    "x2": {"x": 2},
    "x4": {"x": 4},
    "x2y3": {"x": 2, "y": 3},
    "x7": {"x": 7},
    "x2y2z2": {"x": 2, "y": 2, "z": 2},
}


def sharding(dims):
    text = ", ".join(f"{{{', '.join(axes)}}}" for axes in dims)
    return f", shoal.sharding = #shoal.sharding<@mesh, [{text}]>"


def shard_randomly(program, mesh):
    """Most operands and results: each axis on a random dimension, or on none."""
    rng = program.rng
    for c, case in enumerate(program.cases):
        for place, shape in [*enumerate(case.operands), ("result", case.result)]:
            dims = [[] for _ in shape]
            for axis in rng.permutation(list(mesh)):
                dim = int(rng.integers(-1, len(shape)))
                if dim >= 0:
                    dims[dim].append(f'"{axis}"')
            if rng.random() < 0.8:
                program.annotations[(c, place)] = sharding(dims)


def shard_together(program, mesh):
    """Each axis on dimensions of operands and result that belong together, so
    that the op is split there."""
    rng = program.rng
    for c, case in enumerate(program.cases):
        dims = {n: [[] for _ in shape] for n, shape in enumerate(case.operands)}
        dims["result"] = [[] for _ in case.result]
        splits = case.splits()
        for axis in rng.permutation(list(mesh)):
            for place, dim in splits[rng.integers(len(splits))]:
                dims[place][dim].append(f'"{axis}"')
        for place, lists in dims.items():
            program.annotations[(c, place)] = sharding(lists)


def add_mesh(program, mesh):
    sizes = ", ".join(f'"{axis}" = {size}' for axis, size in mesh.items())
    program.header = f"shoal.mesh @mesh = <[{sizes}]>\n"


@pytest.mark.parametrize("shard", [shard_randomly, shard_together])
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", RANDOM_CASES)
def test_partitioned(name, mesh, shard, tmp_path):
    program = random_program(name, seed=100)
    add_mesh(program, MESHES[mesh])
    shard(program, MESHES[mesh])
    source = tmp_path / "windows.mlir"
    source.write_text(program.text())
    flags = save_inputs(tmp_path, program.inputs())
    shoal_run(source, *flags, "--compare", "--tolerance=1e-6").expect_success()


@pytest.mark.parametrize("element", ["f32", "i32"])
@pytest.mark.parametrize("name", RANDOM_CASES)
def test_executable(name, element, tmp_path):
    program = random_program(name, 200, element, count=12)
    if name == "convolution":
        # Its patches would be 37 times as large as the operands: loops.
        long = Dim(rows=300, size=90)
        program.cases.append(Convolution([long], 1, 1, 1, element=element))
    source = tmp_path / "windows.mlir"
    source.write_text(program.text())
    shoalc(source, tmp_path / "windows").expect_success()
    arrays = program.inputs()
    flags = save_inputs(tmp_path, arrays)
    run(tmp_path / "windows", *flags, "--output-dir", tmp_path).expect_success()
    expected = program.expected(arrays)
    check_results(program, load_results(tmp_path, expected), expected)


@pytest.mark.parametrize("name", RANDOM_CASES)
def test_ranks(name, tmp_path):
    program = random_program(name, 300, "i32", count=12)
    mesh = {"x": 2, "y": 2}
    add_mesh(program, mesh)
    shard_together(program, mesh)
    source = tmp_path / "windows.mlir"
    source.write_text(program.text())
    shoalc(source, tmp_path / "windows").expect_success()
    arrays = program.inputs()
    flags = [*save_inputs(tmp_path, arrays), "--output-dir", tmp_path]
    mpirun(4, tmp_path / "windows", *flags).expect_success()
    expected = program.expected(arrays)
    check_results(program, load_results(tmp_path, expected), expected)
