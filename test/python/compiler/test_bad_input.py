# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input gets one clear error, a non-zero exit, and neither crash nor hang."""

import os
import re
import subprocess
import time

import numpy as np
import pytest
from moe_program import Layer, Layout, program_text
from shoal_testing import mpi_environment, mpirun, save_inputs, shoalc

MESH = 'shoal.mesh @mesh = <["x" = 2, "y" = 2]>\n'


def function(*lines, argument="tensor<8x6xf32>", result="tensor<8x6xf32>"):
    body = "\n  ".join(lines)
    head = f"func.func @f(%x: {argument}) -> {result} {{"
    return f"{MESH}{head}\n  {body}\n  return %y : {result}\n}}\n"


def split(dim, partitions):
    attributes = f"{{dim = {dim}, num_partitions = {partitions}}}"
    return function(f"%y = shoal.split %x {attributes} : tensor<8x6xf32>")


def constraint(sharding):
    return function(f"%y = shoal.sharding_constraint %x {sharding} : tensor<8x6xf32>")


def shard(devices):
    attribute = f"{{device_assignment = dense<{devices}> : tensor<2x2xi64>}}"
    return function(f"%y = shoal.shard %x {attribute} : tensor<8x6xf32>")


def einsum(spec):
    operands = "(tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>"
    return function(f'%y = shoal.einsum "{spec}" %x, %x : {operands}')


# {case: (program, what the error names)}
BAD_PROGRAMS = {
    "split-dimension-out-of-range": (split(2, 2), "2"),
    "split-dimension-negative": (split(-1, 2), "-1"),
    "more-partitions-than-devices": (split(0, 8), "8"),
    "axis-used-twice": (constraint('<@mesh, [{"x"}, {"x"}]>'), '"x"'),
    "unknown-axis": (constraint('<@mesh, [{"z"}, {}]>'), '"z"'),
    "unknown-mesh": (constraint('<@lattice, [{"x"}, {}]>'), "lattice"),
    "sharding-of-another-rank": (constraint('<@mesh, [{"x"}]>'), "1"),
    "repeated-device": (shard("[[0, 1], [1, 3]]"), "1"),
    "unknown-device": (shard("[[0, 1], [2, 7]]"), "7"),
    "einsum-letter-with-two-sizes": (einsum("AB,BA->AB"), "[AB]"),
    "einsum-malformed": (einsum("AB,AB-AB"), "AB,AB-AB"),
    "einsum-unknown-result-letter": (einsum("AB,AB->AC"), "C"),
    "not-mlir": ("this is not a program", ""),
    "no-function": (MESH, ""),
}


def error_lines(text):
    return [line for line in text.splitlines() if re.search(r"\berror\b:", line)]


def expect_one_error(ended, fragment):
    assert ended.code == 1, f"exit {ended.code}\n{ended.stderr}"
    assert "Stack dump" not in ended.stderr
    errors = error_lines(ended.stderr)
    assert len(errors) == 1, ended.stderr
    assert re.search(fragment, errors[0].split("error:", 1)[1]), errors[0]


@pytest.mark.parametrize("case", BAD_PROGRAMS)
def test_bad_program_gets_one_error_with_its_place(case, tmp_path):
    text, fragment = BAD_PROGRAMS[case]
    source = tmp_path / "bad.mlir"
    source.write_text(text)
    ended = shoalc(source, tmp_path / "bad")
    expect_one_error(ended, fragment)
    if case != "no-function":
        assert re.search(r"bad\.mlir:\d+:\d+: error:", ended.stderr), ended.stderr
    assert not (tmp_path / "bad").exists()


def test_missing_source_is_an_error(tmp_path):
    ended = shoalc(tmp_path / "nowhere.mlir", tmp_path / "out")
    assert ended.code == 1 and "nowhere.mlir" in ended.stderr


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """(executable, its inputs) for two devices."""
    directory = tmp_path_factory.mktemp("layer")
    source, program = directory / "layer.mlir", directory / "layer"
    layout = Layout("ep2", {"expert": 2}, {"x": ("split", 0, 2)})
    source.write_text(program_text(Layer(), layout))
    shoalc(source, program).expect_success()
    return program, Layer().inputs()


def expect_runtime_error(ended, *fragments):
    """A line on stderr has all the fragments, and rank 0 alone wrote it."""
    assert ended.code != 0
    assert "Segmentation" not in ended.stderr
    lines = [
        line
        for line in ended.stderr.splitlines()
        if all(fragment in line for fragment in fragments)
    ]
    assert len(lines) == 1, ended.stderr


def test_wrong_world_size(layer):
    program, _ = layer
    ended = mpirun(3, program, "--random-inputs=1")
    expect_runtime_error(ended, "error", "2", "3")


def test_missing_input(layer, tmp_path):
    program, inputs = layer
    flags = save_inputs(tmp_path, {n: a for n, a in inputs.items() if n != "wi"})
    expect_runtime_error(mpirun(2, program, *flags), "error", "wi")


def truncated(path):
    path.write_bytes(path.read_bytes()[:-7])


def empty(path):
    path.write_bytes(b"")


def not_npy(path):
    path.write_text("x = 1\n" * 100)


def wrong_type(path):
    np.save(path, np.load(path).astype(np.float64))


def wrong_shape(path):
    np.save(path, np.load(path)[:, :-1])


def wrong_rank(path):
    np.save(path, np.load(path)[0])


def absent(path):
    path.unlink()


@pytest.mark.parametrize(
    "spoil", (truncated, empty, not_npy, wrong_type, wrong_shape, wrong_rank, absent)
)
def test_spoilt_input_file(layer, spoil, tmp_path):
    program, inputs = layer
    flags = save_inputs(tmp_path, inputs)
    spoil(tmp_path / "wi.npy")
    expect_runtime_error(mpirun(2, program, *flags), "error", "wi.npy")


def test_unwritable_output_directory(layer, tmp_path):
    program, _ = layer
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    ended = mpirun(2, program, "--random-inputs=1", "--output-dir", blocked / "out")
    expect_runtime_error(ended, "error", "a-file")


def ranks_of(program):
    """Process ids of the running ranks of a program."""
    found = subprocess.run(
        ["pgrep", "-f", f"^{program} "], capture_output=True, text=True
    )
    return [int(pid) for pid in found.stdout.split()]


def test_a_killed_rank_ends_the_run_within_ten_seconds(layer):
    program, _ = layer
    command = ["mpirun", "-n", "2", str(program), "--random-inputs=1"]
    process = subprocess.Popen(
        [*command, "--repeat", "100000000"],
        env=mpi_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 20
        while len(ranks := ranks_of(program)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(ranks) == 2 and process.poll() is None
        time.sleep(0.5)
        os.kill(ranks[-1], 9)
        assert process.wait(timeout=10) != 0
        assert ranks_of(program) == []
    finally:
        process.kill()
        process.wait()
