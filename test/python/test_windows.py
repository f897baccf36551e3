# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops with windows against NumPy: in the interpreter and as executables."""

import numpy as np
import pytest
from shoal_testing import load_results, run, save_inputs, shoal_run, shoalc
from window_cases import RANDOM_CASES, Program

CASES_A_PROGRAM = 25


def random_program(name, seed, element="f32"):
    rng = np.random.default_rng(seed)
    cases = [RANDOM_CASES[name](rng, element=element) for _ in range(CASES_A_PROGRAM)]
    return Program(cases, rng)


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
