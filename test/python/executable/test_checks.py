# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that look at their values: what makes a NaN, what differs between devices."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paths import PATHS, ROOT
from shoal_testing import BIN, TARGET, mpi_environment

if TARGET != "cpu":
    pytest.skip("programs for CPUs are checked", allow_module_level=True)

import shoal
from shoal import P

HERE = Path(__file__)
MESH = shoal.Mesh(x=2)


def line_of(text):
    """The number of the one line of this file that ends with the comment."""
    (number,) = (n for n, line in enumerate(HERE.read_text().splitlines(), 1) if line.endswith("# " + text))
    return number


def jitted(function, *shardings, **options):
    options = {"check_finite": True} | options
    return shoal.jit(function, mesh=MESH, in_shardings=shardings, **options)


def array(**changes):
    x = np.arange(1, 33, dtype=np.float32).reshape(8, 4)
    for index, value in changes.items():
        x[tuple(map(int, index[1:]))] = value
    return x


def fails(step, *arguments):
    with pytest.raises(shoal.RunError) as error:
        step(*arguments)
    return str(error.value)


def fused(x):
    y = x * 2.0 + 1.0
    z = shoal.sqrt(y)  # the root
    return shoal.sum(z * 3.0 - 1.0)


def test_an_op_that_is_fused_is_named_with_its_line_and_element():
    step = jitted(fused, P("x"))
    assert np.isfinite(float(step(array())))
    message = fails(step, array(_53=-7.0))
    assert re.search(
        rf"step 2: math\.sqrt at .*test_checks\.py:{line_of('the root')}:\d+ makes NaN: "
        r"element \[5, 3\] of tensor 8x4 f32, on rank 1$", message
    ), message  # fmt: skip
    # The step behind is as if nothing had been.
    assert np.isfinite(float(step(array())))


def test_the_first_op_of_the_program_is_named_whichever_rank_makes_it():
    def two(x):
        y = shoal.log(x)  # first
        return shoal.sum(shoal.sqrt(y))

    # Rank 1 has -inf of the logarithm, rank 0 NaN of the root.
    message = fails(jitted(two, P("x")), array(_62=0.0, _00=0.5))
    assert f"test_checks.py:{line_of('first')}:" in message
    assert "makes infinity: element [6, 2]" in message and "on rank 1" in message


def test_nan_alone():
    def shifted(x):
        return shoal.log(x) - shoal.log(x * 2.0)  # inf - inf

    step = jitted(shifted, P("x"), check_finite="nan")
    message = fails(step, array(_10=0.0))
    assert f"test_checks.py:{line_of('inf - inf')}:" in message and "arith.subf" in message


def test_infinities_of_constants_and_inputs_are_meant():
    def attention(x, mask):
        scores = shoal.where(x > 3.0, x, float("-inf")) + mask
        return shoal.softmax(scores, axis=1)

    mask = np.where(np.eye(8, 4), -np.inf, 0).astype(np.float32)
    step = jitted(attention, P("x"), P())
    assert np.isfinite(np.asarray(step(array(_00=9.0), mask))).all()
    # A row of which all is masked has no softmax.
    message = fails(step, array(_03=0.0), mask)
    assert "makes NaN: element [0, 0]" in message


def test_an_input_that_holds_nan_is_named_as_one():
    message = fails(jitted(fused, P("x")), array(_41=np.nan))
    assert re.search(r'step 1: input ".*" holds NaN: element \[4, 1\] of tensor 8x4 f32, on rank 1', message), message


def test_a_loop_says_its_iteration():
    def looped(x):
        def body(i, x):
            return shoal.fori_loop(0, 3, lambda j, x: shoal.sqrt(x - 1.0), x)  # inner

        return shoal.sum(shoal.fori_loop(0, 4, body, x))

    start = np.full((8, 4), 1e30, np.float32)
    step = jitted(looped, P("x"))
    values, counts = start[0, 0], (0, 0)
    for i in range(4):
        for j in range(3):
            if values - np.float32(1) < 0:
                counts = (i, j)
                break
            values = np.sqrt(values - np.float32(1))
        else:
            continue
        break
    message = fails(step, start)
    inner = line_of("inner")
    assert re.search(
        rf":{inner}:\d+ makes NaN: element \[0, 0\] .* in iteration {counts[1]} of the loop at .*, in iteration {counts[0]} of the loop",
        message,
    ), message


def test_padding_is_not_looked_at():
    """Of 7 rows over 2 devices: the row behind is of whatever bits."""

    def uneven(x):
        return shoal.sum(shoal.log(x) / x)

    step = jitted(uneven, P("x"))
    x = np.arange(1, 8, dtype=np.float32)
    np.testing.assert_allclose(step(x), np.sum(np.log(x) / x), rtol=1e-5)
    assert "element [6]" in fails(step, np.float32([1, 2, 3, 4, 5, 6, 0]))


def test_products_and_collectives_are_checked():
    def product(x, w):
        return shoal.sum(x @ w)  # the product

    step = jitted(product, P(None, "x"), P("x"))
    big = np.full((4, 4), 3e38, np.float32)
    message = fails(step, big, big)
    assert f"test_checks.py:{line_of('the product')}:" in message and "makes infinity" in message


def test_the_environment_asks_for_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, shoal\n"
        "step = shoal.jit(lambda x: shoal.log(x), mesh=shoal.Mesh(x=2), in_shardings=(shoal.P('x'),))\n"
        "try: step(np.float32([1, -1]))\n"
        "except shoal.RunError as error: print(error)\n"
        "else: print('nothing')\n"
    )
    for value, text in (("nan", "math.log"), ("0", "nothing")):
        environment = mpi_environment() | {"PYTHONPATH": os.pathsep.join(PATHS), "SHOAL_CHECK_FINITE": value}
        done = subprocess.run(
            [sys.executable, script], env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        assert text in done.stdout


def test_an_option_that_is_none():
    with pytest.raises(ValueError, match="check_finite: expected"):
        jitted(fused, P("x"), check_finite="some")


PROGRAM = """
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @total(%x: tensor<4096xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{}]>},
                 %w: tensor<4x4096xf32> {shoal.name = "w", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4xf32> {
  %y = shoal.einsum "ik,k->i" %w, %x : (tensor<4x4096xf32>, tensor<4096xf32>) -> tensor<4xf32>
  %z = math.log %y : tensor<4xf32>
  return %z : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def total(tmp_path_factory):
    folder = tmp_path_factory.mktemp("total")
    (folder / "total.mlir").write_text(PROGRAM)
    command = [BIN / "shoalc", folder / "total.mlir", "--check-finite", "--check-replicas", "-o", folder / "total"]
    subprocess.run(command, check=True)
    return folder / "total"


def mpirun(*commands):
    """Of each rank."""
    words = ["mpirun"]
    for command in commands:
        words += [*([":"] if len(words) > 1 else []), "-n", "1", *map(str, command)]
    done = subprocess.run(words, env=mpi_environment(), capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_an_executable_tells_once(total, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(4096, np.float32))
    w = np.ones((4, 4096), np.float32)
    np.save(tmp_path / "w.npy", w)
    run = [total, f"--input=x={tmp_path / 'x.npy'}", f"--input=w={tmp_path / 'w.npy'}"]
    assert mpirun(*[run] * 4)[0] == 0
    w[3] = 0
    np.save(tmp_path / "w.npy", w)
    code, err = mpirun(*[run] * 4)
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 1
    assert re.match(
        r"error: step 1: math\.log at .*total\.mlir:6:\d+ makes infinity: element \[3\] of tensor 4 f32, on rank [23]$", line
    ), line  # fmt: skip


def test_replicas_that_differ_are_named(total, tmp_path):
    """Files that are the same at their ends: only the values tell."""
    x = np.ones(4096, np.float32)
    np.save(tmp_path / "x.npy", x)
    x[2000] += 1e-6
    np.save(tmp_path / "other.npy", x)
    np.save(tmp_path / "w.npy", np.ones((4, 4096), np.float32))
    run, other = (
        [total, f"--input=x={tmp_path / name}", f"--input=w={tmp_path / 'w.npy'}"] for name in ("x.npy", "other.npy")
    )
    code, err = mpirun(run, run, run, other)
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 1
    assert re.match(
        r'error: step 1: input "x" at .*total\.mlir:3:\d+: replicas differ: rank 3 holds another shard of '
        r"tensor 4096 f32 than ranks 0, 1, 2$", line
    ), line  # fmt: skip


DRIFT = """
#include "shoal/Runtime/CustomCall.h"
#include <stdlib.h>
#include <string.h>
int drift(const shoal_custom_call *call) {
  static int calls;
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  float *out = call->results[0].data;
  memcpy(out, call->operands[0].data, 8 * sizeof(float));
  if (++calls == 3 && rank && rank[0] == '1')
    out[5] += 1e-6f;
  return 0;
}
"""

LOOP = """
shoal.mesh @mesh = <["x" = 3]>
func.func @loop(%x: tensor<8xf32> {shoal.name = "x"}) -> tensor<8xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %five = arith.constant dense<5> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<8xf32> cond {
    %more = arith.cmpi slt, %i, %five : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %s = math.sqrt %a : tensor<8xf32>
    %b = shoal.custom_call "drift"(%s) : (tensor<8xf32>) -> tensor<8xf32>
    shoal.yield %next, %b : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}
"""


def test_a_call_that_is_no_function_of_its_operands_is_found_in_its_iteration(tmp_path):
    (tmp_path / "drift.c").write_text(DRIFT)
    (tmp_path / "loop.mlir").write_text(LOOP)
    include = ROOT / "include"
    subprocess.run(["cc", "-c", f"-I{include}", tmp_path / "drift.c", "-o", tmp_path / "drift.o"], check=True)
    program = tmp_path / "loop"
    command = [BIN / "shoalc", tmp_path / "loop.mlir", "--check-replicas", "--link", tmp_path / "drift.o", "-o", program]
    subprocess.run(command, check=True)
    code, err = mpirun(*[[program, "--random-inputs=1"]] * 3)
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 1
    assert re.match(
        r"error: step 1: shoal\.custom_call at .*loop\.mlir:13:\d+, in iteration 2 of the loop at .*loop\.mlir:7:\d+: "
        r"replicas differ: rank 1 holds another shard of tensor 8 f32 than ranks 0, 2$", line
    ), line  # fmt: skip
