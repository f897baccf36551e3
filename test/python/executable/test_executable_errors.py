# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is wrong is one clear exception, and nothing is left behind."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from executable_cases import ENDLESS, SCALED, scaled_inputs
from paths import PATHS, ROOT
from shoal_testing import mpi_environment

import shoal


@pytest.fixture(scope="module")
def scaled():
    return shoal.compile_text(SCALED)


@pytest.fixture(scope="module")
def endless():
    return shoal.compile_text(ENDLESS)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"x": np.zeros((8, 4), np.float32)}, r'"x": expected shape \[8, 3\] but got \[8, 4\]'),
        ({"x": np.zeros((8, 3))}, '"x": expected float32 but got float64'),
        ({"x": np.zeros((8, 3), np.int32)}, '"x": expected float32 but got int32'),
        ({"x": "text"}, '"x": expected float32 but got <U4'),
        ({"x": [[1.0], [2.0, 3.0]]}, '"x": '),
        ({"x": None}, '"x": expected float32 but got object'),
        ({"w": 1.0}, r'"w": expected shape \[3\] but got \[\]'),
        ({"z": np.zeros(3)}, r"inputs unknown: z \(the program has x, w\)"),
    ],
)
def test_arrays_that_do_not_fit(scaled, change, message):
    with pytest.raises(shoal.InputError, match=message) as caught:
        scaled.run({**scaled_inputs(), **change})
    assert isinstance(caught.value, ValueError)


def test_inputs_of_another_number_or_kind(scaled):
    x = scaled_inputs()["x"]
    for inputs, message in [
        ({"x": x}, "inputs missing: w"),
        ([x], "expected 2 inputs but got 1"),
        ((), "expected 2 inputs but got 0"),
        (x, "expected the inputs as a list, tuple or dict but got ndarray"),
        ("xw", "but got str"),
    ]:
        with pytest.raises(shoal.InputError, match=re.escape(message)):
            scaled.run(inputs)
    with pytest.raises(shoal.InputError, match="repeat: expected at least 1 but got 0"):
        scaled.run(scaled_inputs(), repeat=0)
    with pytest.raises(shoal.InputError, match="inputs unknown: z"):
        scaled.run({"z": x}, random_inputs=1)
    with pytest.raises(shoal.InputError, match="expected a dict by name"):
        scaled.run([x], random_inputs=1)


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("repeat", 1.5, "expected a whole number but got 1.5"),
        ("repeat", True, "expected a whole number but got True"),
        ("repeat", "3", "expected a whole number but got '3'"),
        ("repeat", 2**63, "expected at most 9223372036854775807 but got 9223372036854775808"),
        ("warmup", -1, "expected at least 0 but got -1"),
        ("warmup", None, "expected a whole number but got None"),
        ("random_inputs", -1, "expected at least 0 but got -1"),
        ("random_inputs", 1.0, "expected a whole number but got 1.0"),
        ("timeout", float("nan"), "expected more than 0 s, and None for no end, but got nan"),
        ("timeout", float("inf"), "but got inf"),
        ("timeout", 0, "but got 0"),
        ("timeout", -1.5, "but got -1.5"),
        ("timeout", True, "expected a number of seconds or None but got True"),
        ("timeout", "10", "expected a number of seconds or None but got '10'"),
        ("stats", 1, "expected a dict to fill but got 1"),
        ("stats", [], r"expected a dict to fill but got \[\]"),
    ],
)
def test_what_a_run_is_asked_for(scaled, name, value, message):
    with pytest.raises(shoal.InputError, match=f"^{name}: .*{message}"):
        scaled.run(scaled_inputs(), **{name: value})


def test_numbers_of_numpy_are_numbers(scaled):
    scaled.run(scaled_inputs(), repeat=np.int32(2), timeout=np.float64(1e9), warmup=np.int64(0))


def test_masked_arrays_are_refused(scaled):
    """Their masks would be lost: the numbers behind them are no numbers to compute with."""
    x = np.ma.masked_less(scaled_inputs()["x"], 3)
    for masked in (x, list(x)):
        with pytest.raises(shoal.InputError, match='input "x": a masked array: .*filled'):
            scaled.run({**scaled_inputs(), "x": masked})
    scaled.run({**scaled_inputs(), "x": x.filled(0)})
    with pytest.raises(shoal.TraceTypeError, match="a masked array; fill it by .filled()"):
        shoal.trace(lambda y: y + shoal.sum(np.ma.masked_less([1.0], 2)), [np.zeros(3)])


def test_options_that_do_not_exist():
    with pytest.raises(TypeError, match="no_such_option"):
        shoal.compile_text(SCALED, no_such_option=1)
    with pytest.raises(ValueError, match='expected "cpu" or "cuda" but got \'tpu\''):
        shoal.compile_text(SCALED, "tpu")
    with pytest.raises(TypeError):
        shoal.compile_text(SCALED, combine_bytes="many")
    with pytest.raises(shoal.CompileError, match="there is no function \"g\""):
        shoal.compile_text(SCALED, entry="g")
    with pytest.raises(shoal.CompileError, match="there is no file"):
        shoal.compile_text(SCALED, link=["/no/such/file.o"])


def children(pattern):
    found = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True).stdout
    return [int(pid) for pid in found.split()]


def expect_gone(exe):
    deadline = time.monotonic() + 15
    while running := children(str(exe.program)):
        assert time.monotonic() < deadline, f"still running: {running}"
        time.sleep(0.1)


def test_time_out_ends_all(endless):
    x = [np.ones(2, np.float32)]
    start = time.monotonic()
    with pytest.raises(shoal.RunError, match=r"did not end in 1\.5 s"):
        endless.run(x, timeout=1.5)
    assert time.monotonic() - start < 15
    expect_gone(endless)


RUN_SAVED = """
import sys
import numpy as np, shoal
exe = shoal.load(sys.argv[1])
print(exe.program, flush=True)
exe.run([np.ones(2, np.float32)])
"""


def start_endless(endless, folder, script):
    """The process, in a group of its own, and the path of its program once the ranks run."""
    endless.save(folder / "endless.shoal")
    process = subprocess.Popen(
        [sys.executable, "-c", script, folder / "endless.shoal"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**mpi_environment(), "PYTHONPATH": os.pathsep.join(PATHS)},
        start_new_session=True,
    )
    program = process.stdout.readline().strip()
    deadline = time.monotonic() + 30
    while len(children(f"^{program}")) < 2:  # the ranks
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    return process, program


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_and_a_kill_end_all(endless, tmp_path, how):
    process, program = start_endless(endless, tmp_path, RUN_SAVED)
    process.send_signal(how)
    _, stderr = process.communicate(timeout=30)
    if how == signal.SIGINT:
        assert "KeyboardInterrupt" in stderr
    deadline = time.monotonic() + 15
    while children(program):
        assert time.monotonic() < deadline, "still running"
        time.sleep(0.1)


RUN_IN_THREAD = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np, shoal
exe = shoal.load(sys.argv[1])
print(exe.program, flush=True)
with ThreadPoolExecutor() as pool:
    pool.submit(exe.run, [np.ones(2, np.float32)]).result()
"""


def test_ctrl_c_ends_runs_in_threads(endless, tmp_path):
    """The main thread waits for the pool, and the terminal signals the whole group."""
    process, program = start_endless(endless, tmp_path, RUN_IN_THREAD)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in stderr
    assert not children(program)


def test_a_name_too_long_for_a_file_fails_before_the_steps():
    name = "n" * 300
    text = SCALED.replace('shoal.name = "sum"', f'shoal.name = "{name}"')
    with pytest.raises(shoal.RunError, match=f'output "{name}": .*File name too long'):
        shoal.compile_text(text).run(scaled_inputs(), repeat=10**12, timeout=20)


def test_a_failing_program_says_why(tmp_path):
    source = tmp_path / "fail.c"
    source.write_text(
        '#include "shoal/Runtime/CustomCall.h"\n'
        "int fail(const shoal_custom_call *call) { return 42; }\n"
    )
    include = ROOT / "include"
    subprocess.run(
        ["cc", "-c", "-fPIC", f"-I{include}", source, "-o", tmp_path / "fail.o"], check=True
    )
    exe = shoal.compile_text(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        '  %y = shoal.custom_call "fail"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n'
        "  return %y : tensor<4xf32>\n}",
        link=tmp_path / "fail.o",
    )
    with pytest.raises(shoal.RunError, match='custom_call "fail".*42') as caught:
        exe.run([np.ones(4, np.float32)], timeout=60)
    assert "error: " in caught.value.stderr


def test_no_mpirun(scaled, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(shoal.RunError, match="cannot find mpirun: install openmpi-bin"):
        scaled.run(scaled_inputs())


def test_inside_an_mpi_job(scaled, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    with pytest.raises(shoal.RunError, match=r"use Executable\.open"):
        scaled.run(scaled_inputs())
