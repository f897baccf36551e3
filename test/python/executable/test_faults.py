# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank that does not go on ends its job, with a message that says which, where and in which step."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from fault_jobs import read_until
from paths import BUILD, PATHS, SUPPORT
from shoal_testing import BIN, TARGET, is_running, mpi_environment

if TARGET != "cpu":
    pytest.skip("GPUs have a watchdog of their own: test_cuda.py", allow_module_level=True)

import shoal
from shoal.executable import launch


def start(*command, **environment):
    return subprocess.Popen(
        [str(part) for part in command],
        env=mpi_environment() | {"PYTHONPATH": os.pathsep.join(PATHS)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*command, **environment):
    process = start(*command, **environment)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def job(fault, **environment):
    """What a job prints, and how long it lasts behind the fault."""
    process = start("mpirun", "-n", 4, sys.executable, SUPPORT / "fault_ranks.py", fault, **environment)
    processes, read, missing = read_until(process.stdout, 5)
    assert not missing, (missing, process.communicate())
    begin = time.monotonic()
    out, err = process.communicate(timeout=60)
    seconds = time.monotonic() - begin
    deadline = time.monotonic() + 2
    while any(map(is_running, processes.values())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, processes.values()))
    return process.returncode, read + out, err, seconds


@pytest.mark.alone
def test_a_rank_that_is_stopped_is_named_with_the_collective_and_its_line(tmp_path):
    record = tmp_path / "record.jsonl"
    code, _, err, seconds = job(
        "stop", SHOAL_COLLECTIVE_TIMEOUT="2", SHOAL_FLIGHT_RECORDER=str(record)
    )
    assert code != 0 and seconds < 2 + 4, (seconds, err)
    (line,) = [line for line in err.splitlines() if line.startswith("error: rank")]
    assert re.match(
        r"error: rank 2 \(process \d+\) has not run for \d s: rank [013] waits for it in "
        r"(\w+ over \{.*\} at .*:\d+:\d+|an agreement of all ranks), step [56]$", line
    ), line  # fmt: skip
    assert re.search(r"^  rank 2: step [56], .*; the process is stopped$", err, re.MULTILINE)
    assert re.search(r"^  rank 2: step 5, behind \w+ over \{\"data\"\} at .*\.py:\d+:\d+; the process", err, re.MULTILINE)
    entries = [json.loads(text) for text in record.read_text().splitlines()]
    assert {entry["rank"] for entry in entries} == {0, 1, 2, 3}
    assert any(".py:" in entry["loc"] and entry["kind"] == "all_reduce" for entry in entries)


@pytest.mark.alone
@pytest.mark.parametrize(
    "fault, message, limit",
    [
        ("exit", r"error: rank 2 \(process \d+\) has left the program: rank \d waits for it in", 5),
        ("raise", r"ValueError: of rank 2\n.*error: rank 2 ends the job: ValueError", 5),
    ],
)
def test_a_rank_that_ends_ends_the_others(fault, message, limit):
    code, _, err, seconds = job(fault)
    assert code != 0 and seconds < limit and re.search(message, err, re.DOTALL), err


@pytest.mark.alone
@pytest.mark.parametrize(
    "fault, message",
    [
        ("first-exit", r"error: rank 2 \(process \d+\) has left the program: rank 0 waits for it"),
        ("first-raise", r"ValueError: of rank 2\n.*error: rank 2 ends the job: ValueError"),
    ],
)
def test_a_rank_that_ends_in_front_of_its_first_program_ends_the_others(fault, message):
    begin = time.monotonic()
    code, out, err = run("mpirun", "-n", 4, sys.executable, SUPPORT / "fault_ranks.py", fault)
    assert code != 0 and "step 1" not in out and time.monotonic() - begin < 20, (out, err)
    assert re.search(message, err, re.DOTALL), err


@pytest.mark.alone
@pytest.mark.parametrize("fault, code", [("fork", 3), ("fork-raise", 1)])
def test_a_child_of_a_rank_ends_by_itself(fault, code):
    ended, out, err, _ = job(fault)
    assert ended == 0 and f"child ended with {code}\n" in out and "done\n" in out, err


INFINITE = """
func.func @infinite(%x: tensor<4xf32> {shoal.name = "x"}) -> tensor<4xf32> {
  %y = math.log %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@pytest.mark.alone
@pytest.mark.parametrize("starter", ["mpirun", "starter"])
def test_mpirun_ends_where_it_would_hang(tmp_path, starter):
    """One that starts a rank and does nothing then, as Open MPI's sometimes when a job fails; no other program is ended."""
    (tmp_path / "infinite.mlir").write_text(INFINITE)
    np.save(tmp_path / "x.npy", np.zeros(4, np.float32))
    subprocess.run([BIN / "shoalc", tmp_path / "infinite.mlir", "--check-finite", "-o", tmp_path / "infinite"], check=True)
    (tmp_path / starter).write_text('#!/bin/sh\n"$@" &\necho $!\nsleep 8\n')
    (tmp_path / starter).chmod(0o755)
    process = start(tmp_path / starter, tmp_path / "infinite", f"--input=x={tmp_path / 'x.npy'}")
    out, err = process.communicate(timeout=60)
    assert "math.log" in err, err
    assert process.returncode == (-signal.SIGKILL if starter == "mpirun" else 0)
    assert not is_running(int(out.split()[0]))


@pytest.mark.alone
@pytest.mark.parametrize("starter", ["mpirun", "starter"])
def test_mpirun_ends_where_it_would_hang_without_a_program(tmp_path, starter):
    """The same of ranks of Python, of which none has a program open."""
    (tmp_path / starter).write_text('#!/bin/sh\n"$@" &\nsleep 8\n')
    (tmp_path / starter).chmod(0o755)
    code = "from shoal.executable.launcher import make_sure_it_ends; make_sure_it_ends()"
    process = start(tmp_path / starter, sys.executable, "-c", code)
    _, err = process.communicate(timeout=60)
    assert not err, err
    assert process.returncode == (-signal.SIGKILL if starter == "mpirun" else 0)


@pytest.mark.alone
def test_ranks_that_are_in_different_collectives():
    """One computes a shape of its own, which the others are not asked for."""
    code, _, err, seconds = job("shape", SHOAL_COLLECTIVE_TIMEOUT="2")
    assert code != 0 and seconds < 2 + 4, (seconds, err)
    assert re.search(r"^error: ranks wait for each other, for 2 s in ", err, re.MULTILINE), err
    assert re.search(r"^  rank 2: step 5, in a call of mpi4py since 2 s", err, re.MULTILINE), err


@pytest.mark.alone
def test_a_start_that_is_a_deadlock_is_made_once_more(one, tmp_path, monkeypatch):
    """mpirun, as it is when its processes do not find each other, the first time or each time."""
    mpirun = shutil.which("mpirun")
    fake = tmp_path / "mpirun"
    fake.write_text(
        f"#!/bin/sh\nif [ -e {tmp_path}/again ]; then exec {mpirun} \"$@\"; fi\n[ -e {tmp_path}/never ] || touch {tmp_path}/again\nexec sleep 60\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(launch, "START", 3.0)
    for name, value in mpi_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.warns(RuntimeWarning, match="no process was through MPI_Init after 3 s; started again"):
        out = launch.mpirun(2, one, ["--random-inputs=1"], timeout=None)
    assert out.startswith("total: 2 devices")
    (tmp_path / "again").unlink()
    (tmp_path / "never").touch()
    with pytest.warns(RuntimeWarning), pytest.raises(shoal.RunError, match="MPI_Init after 3 s, twice"):
        launch.mpirun(2, one, ["--random-inputs=1"], timeout=None)


@pytest.mark.alone
def test_a_rank_that_is_slow_is_waited_for():
    code, out, err, _ = job("slow", SHOAL_COLLECTIVE_TIMEOUT="1")
    assert code == 0 and "done\n" in out, err


def toy(tmp_path, text, name):
    source = tmp_path / f"{name}.mlir"
    source.write_text(text)
    program = tmp_path / name
    subprocess.run([BUILD / "bin/shoalc", source, "-o", program], check=True)
    return program


PROGRAM = """
shoal.mesh @mesh = <["x" = 2]>
func.func @total(%x: tensor<8x4xf32> {shoal.name = "x"}) -> tensor<8x4xf32> {
  %c = arith.constant dense<FACTOR> : tensor<8x4xf32>
  %s = shoal.split %x {dim = 0, num_partitions = 2} : tensor<8x4xf32>
  %y = arith.mulf %s, %c : tensor<8x4xf32>
  %r = shoal.replicate %y : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
"""


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return toy(tmp_path_factory.mktemp("one"), PROGRAM.replace("FACTOR", "2.0"), "total")


def test_ranks_that_are_started_with_other_flags_files_or_programs(one, tmp_path):
    other = toy(tmp_path, PROGRAM.replace("FACTOR", "3.0"), "total")
    np.save(tmp_path / "a.npy", np.zeros((8, 4), np.float32))
    np.save(tmp_path / "b.npy", np.ones((8, 4), np.float32))
    os.mkdir(tmp_path / "elsewhere")
    np.save(tmp_path / "elsewhere/a.npy", np.zeros((8, 4), np.float32))
    a, b, same = (f"--input=x={tmp_path / name}" for name in ("a.npy", "b.npy", "elsewhere/a.npy"))
    cases = [
        ([one, "--random-inputs=1"], [one, "--random-inputs=2"],
         "rank 1 has other flags than rank 0: --repeat=1 --warmup=0 --random-inputs=2 instead of "
         "--repeat=1 --warmup=0 --random-inputs=1"),
        ([one, a, "--repeat=3"], [one, a], "rank 1 has other flags than rank 0: --repeat=1"),
        ([one, a], [one, b], 'rank 1 has another file for input "x" than rank 0'),
        ([one, a], [other, a], "rank 1 has another program than"),
        ([one, a], [one, same], None),
        ([one, a], [one, a, "--threads=2"], None),
    ]  # fmt: skip
    for first, second, message in cases:
        code, _, err = run("mpirun", "-n", 1, *first, ":", "-n", 1, *second)
        if message is None:
            assert code == 0, err
        else:
            assert code == 1 and err.count("error: ") == 1 and f"error: {message}" in err, err


@pytest.mark.alone
def test_an_executable_whose_rank_is_stopped(one, tmp_path):
    process = start("mpirun", "-n", 2, one, "--random-inputs=1", "--repeat=100000000", "--collective-timeout=1")
    time.sleep(1.5)
    children = subprocess.run(
        ["pgrep", "-P", str(process.pid), "total"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(children) == 2
    os.kill(int(children[1]), signal.SIGSTOP)
    begin = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - begin < 1 + 4
    assert re.search(r"error: rank \d \(process \d+\) has not run for \d s: rank \d waits for it in", err), err
    assert "the process is stopped" in err


@pytest.mark.parametrize("value", ["-1", "ten", ""])
def test_a_timeout_that_is_none(one, value):
    code, _, err = run("mpirun", "-n", 2, one, "--random-inputs=1", SHOAL_COLLECTIVE_TIMEOUT=value)
    assert code == 1
    assert f'SHOAL_COLLECTIVE_TIMEOUT: "{value}" is not a number of seconds' in err


@pytest.mark.alone
def test_a_worker_of_a_pool_that_is_stopped(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys, numpy as np, shoal\n"
        "from shoal import P\n"
        "from shoal.devices import devices_of\n"
        "step = shoal.jit(lambda x: x.sum(), mesh=shoal.Mesh(x=2), in_shardings=(P('x'),))\n"
        "print(float(step(np.ones(8, np.float32))))\n"
        "worker = devices_of(2)._workers\n"
        "pids = [int(p) for p in os.popen('pgrep shoal-worker -P ' + str(worker._process.pid)).read().split()]\n"
        "os.kill(pids[0], signal.SIGSTOP)\n"
        "try: step(np.ones(8, np.float32))\n"
        "except shoal.RunError as error: print('RunError', error.stderr)\n"
    )
    code, out, err = run(sys.executable, script, SHOAL_COLLECTIVE_TIMEOUT="1")
    assert code == 0 and "has not run for" in out, (out, err)
