# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Donated inputs: results are made in their memory, and steps repeat."""

import json

import numpy as np
import pytest

from shoal_testing import load_results, mpirun, run, save_inputs, shoalc

# The momentum is read before and behind its update; the cache is written in
# place; "late" is still read when its result is made.
PROGRAM = """
shoal.mesh @mesh = <["x" = 2]>
func.func @main(
    %w: tensor<8x6xf32> {{shoal.name = "w", {donated} shoal.sharding = #shoal.sharding<@mesh, [{{"x"}}, {{}}]>}},
    %m: tensor<8x6xf32> {{shoal.name = "m", {donated} shoal.sharding = #shoal.sharding<@mesh, [{{"x"}}, {{}}]>}},
    %late: tensor<6x6xf32> {{shoal.name = "late", {donated} shoal.sharding = #shoal.sharding<@mesh, [{{}}, {{}}]>}})
    -> (tensor<8x6xf32> {{shoal.sharding = #shoal.sharding<@mesh, [{{"x"}}, {{}}]>}},
        tensor<8x6xf32> {{shoal.sharding = #shoal.sharding<@mesh, [{{"x"}}, {{}}]>}},
        tensor<6x6xf32> {{shoal.sharding = #shoal.sharding<@mesh, [{{}}, {{}}]>}}) {{
  %g = shoal.einsum "BI,IJ->BJ" %w, %late : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %half = arith.constant dense<0.5> : tensor<8x6xf32>
  %decayed = arith.mulf %m, %half : tensor<8x6xf32>
  %sum = arith.addf %decayed, %g : tensor<8x6xf32>
  %new = arith.subf %w, %sum : tensor<8x6xf32>
  %square = shoal.einsum "IJ,JK->IK" %late, %late : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  return %new, %sum, %square : tensor<8x6xf32>, tensor<8x6xf32>, tensor<6x6xf32>
}}
"""


def compile_program(folder, donated):
    source = folder / f"program{donated}.mlir"
    source.write_text(PROGRAM.format(donated="shoal.donated," if donated else ""))
    program = folder / f"program{donated}"
    report = folder / f"report{donated}.json"
    shoalc(source, program, f"--stats={report}").expect_success()
    return program, json.loads(report.read_text())


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("donation")
    return compile_program(folder, True), compile_program(folder, False)


def test_results_lie_in_donated_inputs(programs):
    (program, report), (plain, plain_report) = programs
    # Less than both results have: the gradient now needs memory of its own.
    assert report["peak_bytes_per_device"] < plain_report["peak_bytes_per_device"]
    described = run(program, "--describe").expect_success().stdout
    assert described.count(", donated") == 3
    assert "in the memory of w" in described and "in the memory of m" in described
    assert "in the memory of late" not in described
    assert "donated" not in run(plain, "--describe").expect_success().stdout


@pytest.mark.parametrize("flags", [[], ["--repeat=3"], ["--repeat=2", "--warmup=2"]])
def test_every_step_begins_with_the_inputs(programs, flags, tmp_path):
    (program, _), _ = programs
    rng = np.random.default_rng(0)
    arrays = {
        "w": rng.standard_normal((8, 6), dtype=np.float32),
        "m": rng.standard_normal((8, 6), dtype=np.float32),
        "late": rng.standard_normal((6, 6), dtype=np.float32),
    }
    inputs = save_inputs(tmp_path, arrays)
    mpirun(2, program, *inputs, *flags, "--output-dir", tmp_path / "out").expect_success()
    new, momentum, square = load_results(tmp_path / "out", [f"result{i}" for i in range(3)]).values()
    expected = arrays["m"] / 2 + arrays["w"] @ arrays["late"]
    assert np.allclose(momentum, expected, rtol=1e-5, atol=1e-5)
    assert np.allclose(new, arrays["w"] - expected, rtol=1e-5, atol=1e-5)
    assert np.allclose(square, arrays["late"] @ arrays["late"], rtol=1e-5, atol=1e-5)
