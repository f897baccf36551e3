# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops with windows against NumPy: in the interpreter and as executables."""

from dataclasses import replace

import numpy as np
import pytest
from shoal_testing import TARGET, load_results, mpirun, run, save_inputs, shoal_run, shoalc
from window_cases import (
    RANDOM_CASES,
    Convolution,
    Dim,
    Program,
    ReduceWindow,
    SelectAndScatter,
)


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


THREADS = ["--threads=3"] if TARGET == "cpu" else []


# What is large is cut into tiles for threads and for transposed operands. Of these NumPy's loops
# would take minutes: the interpreter, which the tests above compare with them, says what is right.


def compare_executable(text, arrays, names, folder):
    """The results of the program's executable, of several threads on a CPU, and of the interpreter are the same bits."""
    source, made, said = folder / "large.mlir", folder / "made", folder / "said"
    source.write_text(text)
    shoalc(source, folder / "large").expect_success()
    flags = save_inputs(folder, arrays)
    shoal_run(source, *flags, "--output-dir", said).expect_success()
    run(folder / "large", *flags, "--output-dir", made, *THREADS).expect_success()
    expected, actual = load_results(said, names), load_results(made, names)
    for name in names:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)


def compare_cases(cases, folder):
    program = Program(cases, np.random.default_rng(7))
    names = [f"y{c}" for c in range(len(cases))]
    compare_executable(program.text(), program.inputs(), names, folder)


POOLS = {
    "three_by_two": Dim(rows=0, size=3, stride=2, high=1),
    "two_by_two": Dim(rows=0, size=2, stride=2),
    "three_by_one": Dim(rows=0, size=3, low=1, high=1),
    "five_by_three": Dim(rows=0, size=5, stride=3, low=2, high=2),
}


@pytest.mark.parametrize("pool", POOLS)
def test_large_pools_and_their_gradients(pool, tmp_path):
    """A network's first pools, in 48 sizes: of (8, 16, 16, 64) the gradient was not compiled."""
    cases = []
    for rows in (7, 14, 16, 28):
        for features in (3, 32, 64):
            slid = replace(POOLS[pool], rows=rows)
            dims = [Dim(8), slid, slid, Dim(features)]
            cases += [ReduceWindow("max", dims), SelectAndScatter("max", dims)]
    compare_cases(cases, tmp_path)


@pytest.mark.parametrize("element", ["f32", "i32"])
def test_large_windows_of_other_kinds(element, tmp_path):
    dense = [Dim(8), Dim(61)]
    slid = Dim(rows=300, size=4, stride=3, low=2, high=5)
    cases = [
        ReduceWindow("sum", [Dim(300, size=7, low=3, high=3), Dim(257)], element),
        ReduceWindow("min", [Dim(130, size=3, gap=2, base=2, low=-1), *dense], element),
        ReduceWindow("max", [Dim(40, size=3), Dim(40, size=3, stride=2), Dim(64)], element),
        SelectAndScatter("min", [slid, Dim(257)], last=True, element=element),
        SelectAndScatter("max", [Dim(8), Dim(100, size=4, low=1), Dim(90, size=2)], element=element),
        # Patches in both orders, and of a kernel that is read from its end.
        Convolution([replace(slid, reverse=True)], batch=16, features=8, element=element),
        Convolution(
            [Dim(40, size=3, gap=2, reverse=True), Dim(40, size=3, stride=2)],
            batch=4,
            features=16,
            orders=("01bf", "io01", "fb10"),
            element=element,
        ),
        # Loops, see test_executable.
        Convolution([Dim(2000, size=90, reverse=True)], 1, 1, 4, element=element),
    ]
    compare_cases(cases, tmp_path)


MOVED = """
func.func @main(%x: tensor<520x386xf32> {shoal.name = "x"})
    -> (tensor<520x386xf32> {shoal.name = "rows"}, tensor<386x520xf32> {shoal.name = "columns"},
        tensor<1041x386xf32> {shoal.name = "padded"}, tensor<256x128xf32> {shoal.name = "slice"},
        tensor<520x386xf32> {shoal.name = "sums"}, tensor<521x386xf32> {shoal.name = "odd"}) {
  %zero = arith.constant dense<1.0> : tensor<f32>
  %r = shoal.reverse %x dims = [0] : tensor<520x386xf32>
  %rows = arith.addf %r, %x : tensor<520x386xf32>
  %t = shoal.transpose %x permutation = [1, 0] : tensor<520x386xf32> -> tensor<386x520xf32>
  %both = shoal.reverse %t dims = [0, 1] : tensor<386x520xf32>
  %columns = arith.mulf %both, %t : tensor<386x520xf32>
  %p = shoal.pad %r, %zero low = [1, 0] high = [1, 0] interior = [1, 0] : tensor<520x386xf32>, tensor<f32> -> tensor<1041x386xf32>
  %padded = arith.addf %p, %p : tensor<1041x386xf32>
  %slice = shoal.slice %rows starts = [5, 1] limits = [517, 385] strides = [2, 3] : tensor<520x386xf32> -> tensor<256x128xf32>
  %c = shoal.cumulative sum %r dim = 0 {reverse} : tensor<520x386xf32>
  %sums = arith.addf %c, %x : tensor<520x386xf32>
  // A prime number of rows.
  %q = shoal.pad %x, %zero low = [0, 0] high = [1, 0] interior = [0, 0] : tensor<520x386xf32>, tensor<f32> -> tensor<521x386xf32>
  %o = shoal.reverse %q dims = [0] : tensor<521x386xf32>
  %odd = arith.addf %o, %q : tensor<521x386xf32>
  return %rows, %columns, %padded, %slice, %sums, %odd : tensor<520x386xf32>, tensor<386x520xf32>, tensor<1041x386xf32>, tensor<256x128xf32>, tensor<520x386xf32>, tensor<521x386xf32>
}
"""


def test_large_moved_rows(tmp_path):
    x = np.random.default_rng(0).integers(-9, 10, (520, 386)).astype(np.float32)
    names = ["rows", "columns", "padded", "slice", "sums", "odd"]
    compare_executable(MOVED, {"x": x}, names, tmp_path)
    rows = np.load(tmp_path / "made" / "rows.npy")
    np.testing.assert_array_equal(rows, x[::-1] + x)
