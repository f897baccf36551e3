# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a pool does when something ends: a worker, mpirun, the process that has it."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from executable_cases import DOUBLED, ENDLESS, FAIL_ON_ZERO, FAILING, identity
from paths import PATHS
from shoal_testing import ROOT, is_running, run

import shoal

# Each counts the seconds until something has ended.
pytestmark = pytest.mark.alone
X = np.arange(4, dtype=np.float32)
SOON = 5.0  # seconds: two on a machine that has nothing else to do


@pytest.fixture(scope="module")
def pool():
    with shoal.launch(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def executables():
    return {"same": shoal.compile_text(identity("f32")), "endless": shoal.compile_text(ENDLESS)}


@pytest.fixture
def same(pool, executables):
    return pool.load(executables["same"])


@pytest.fixture
def endless(pool, executables):
    return pool.load(executables["endless"])


def processes_of(pool):
    """Those of the workers, then mpirun's."""
    workers = pool._workers
    return [*(connection.process for connection in workers._connections), workers._process.pid]


def wait_for_end(processes, seconds=SOON):
    end = time.monotonic() + seconds
    while running := [process for process in processes if is_running(process)]:
        assert time.monotonic() < end, f"still running: {running}"
        time.sleep(0.01)


def leftovers():
    """Files that Open MPI makes, where other jobs of this machine do not hide them."""
    segments = {str(path) for path in Path("/dev/shm").glob("*")}
    return segments | {str(path) for path in Path("/tmp").glob("ompi.*/pid.*")}


def after(seconds, call):
    timer = threading.Timer(seconds, call)
    timer.start()
    return timer


def expect_it_works(same, array=X):
    np.testing.assert_array_equal(same.run([array])[0], X)


def test_arrays_outlive_the_processes(pool, same):
    (kept,) = same.run([X])
    old = processes_of(pool)
    os.kill(old[1], signal.SIGKILL)
    wait_for_end(old)
    starts = pool.starts
    expect_it_works(same, kept)
    assert pool.starts == starts + 1
    np.testing.assert_array_equal(kept, X)


@pytest.mark.parametrize(
    ("which", "number", "message"),
    [
        (0, signal.SIGKILL, r"device 0 \(process {0}\) was ended by signal 9 \(SIGKILL\)"),
        (1, signal.SIGSEGV, r"device 1 \(process {1}\) was ended by signal 11 \(SIGSEGV\)"),
        (2, signal.SIGKILL, "mpirun has ended|has ended"),
    ],
)
def test_a_process_that_ends_in_a_step(pool, same, endless, which, number, message):
    (kept,) = same.run([X])
    expect_it_works(same, kept)
    pool.ready()
    old = processes_of(pool)
    killed = []
    timer = after(0.3, lambda: (killed.append(time.monotonic()), os.kill(old[which], number)))
    with pytest.raises(shoal.RunError, match=message.format(*old)):
        endless.run([np.ones(2, np.float32)])
    assert time.monotonic() - killed[0] < SOON
    timer.join()
    wait_for_end(old)
    expect_it_works(same, kept)


def test_the_end_of_a_worker_is_noticed_in_time(pool, endless):
    """Also where mpirun does not say how it was, and has to be ended."""
    pool.ready()
    *workers, mpirun = processes_of(pool)
    os.kill(mpirun, signal.SIGSTOP)
    killed = []
    timer = after(0.2, lambda: (killed.append(time.monotonic()), os.kill(workers[1], 9)))
    with pytest.raises(shoal.RunError, match=rf"device 1 \(process {workers[1]}\) has ended"):
        endless.run([np.ones(2, np.float32)])
    assert time.monotonic() - killed[0] < 2
    timer.join()
    wait_for_end([*workers, mpirun], 1)


TALK = """
#include <stdio.h>
int talk(void) {
  for (int i = 0; i < 20000; ++i)
    fputs("something\\n", stderr);
  puts("called");
  return fflush(stdout);
}
"""


def test_a_step_that_ends_the_job(pool, same, tmp_path, capsys):
    """What the runtime says is the error. What functions write goes where it should before."""
    text = FAIL_ON_ZERO.replace("? 42 : 0", "? 42 : talk()").replace('.h"', '.h"\nint talk(void);')
    (tmp_path / "fail.c").write_text(text + TALK)
    run("cc", "-c", "-fPIC", f"-I{ROOT}/include", tmp_path / "fail.c", "-o", tmp_path / "fail.o")
    text = FAILING.replace('"d" = 4', '"d" = 2')
    failing = pool.load(shoal.compile_text(text, link=tmp_path / "fail.o"))
    for _ in range(3):
        failing.run([X + 1])
    end, shown = time.monotonic() + SOON, ""
    while shown.count("called") < 6 and time.monotonic() < end:
        expect_it_works(same)
        shown += capsys.readouterr().out
    assert shown.split() == ["called"] * 6
    assert len(pool._workers.stderr) <= 1 << 16
    with pytest.raises(shoal.RunError, match='custom_call "fail_on_zero".*42') as raised:
        failing.run([0 * X])
    assert raised.value.stderr
    expect_it_works(same)


def test_donated_arrays_are_gone_after_a_failure(pool, same):
    taking = pool.load(shoal.compile_text(DOUBLED.replace('"d" = 4', '"d" = 2')))
    (given,) = taking.run([np.ones((8, 3), np.float32)])
    pool.ready()
    stopped = processes_of(pool)[0]
    os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(shoal.RunError, match=r"did not end in 0\.3 s"):
        taking.run([given], timeout=0.3)
    assert given.is_deleted and not is_running(stopped)
    expect_it_works(same)


def test_a_time_out(pool, same, endless):
    old = processes_of(pool)
    begin = time.monotonic()
    with pytest.raises(shoal.RunError, match=r"did not end in 0\.2 s"):
        endless.run([np.ones(2, np.float32)], timeout=0.2)
    assert time.monotonic() - begin < SOON
    wait_for_end(old, 1)
    expect_it_works(same)
    with pytest.raises(shoal.InputError, match="timeout: expected more than 0 s"):
        same.run([X], timeout=0)


def test_ctrl_c_ends_a_step_that_does_not_end(pool, same, endless):
    timer = after(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        endless.run([np.ones(2, np.float32)])
    assert time.monotonic() - begin < 0.3 + SOON
    timer.join()
    expect_it_works(same)


def test_ctrl_c_waits_for_a_step_that_ends(pool, same):
    """A stopped worker goes on within the time that a step has after a Ctrl-C."""
    pool.ready()
    stopped, starts = processes_of(pool)[1], pool.starts
    os.kill(stopped, signal.SIGSTOP)
    timers = [
        after(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)),
        after(0.4, lambda: os.kill(stopped, signal.SIGCONT)),
    ]
    with pytest.raises(KeyboardInterrupt):
        same.run([X])
    for timer in timers:
        timer.join()
    expect_it_works(same)
    assert pool.starts == starts


@pytest.mark.parametrize("rest", ["another call", "other work"])
def test_ctrl_c_does_not_lose_what_a_step_was_given(pool, rest):
    """Its result alone holds that: the interrupt comes when the caller has it."""
    doubled = pool.load(shoal.compile_text(DOUBLED.replace('"d" = 4', '"d" = 2')))
    (state,) = doubled.run([np.ones((8, 3), np.float32)])
    stopped = processes_of(pool)[1]
    os.kill(stopped, signal.SIGSTOP)
    timers = [
        after(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)),
        after(0.2, lambda: os.kill(stopped, signal.SIGCONT)),
    ]
    came = False
    try:
        (state,) = doubled.run([state])
        came = True
        if rest == "another call":
            doubled.run([state])
        time.sleep(5)
    except KeyboardInterrupt:
        assert came
    for timer in timers:
        timer.join()
    np.testing.assert_array_equal(state, np.full((8, 3), 4))
    np.testing.assert_array_equal(doubled.run([state])[0], np.full((8, 3), 8))


SCRIPT = """
import os, signal, sys, threading, time
import numpy as np, shoal
pool = shoal.launch(2)
programs = [shoal.load(path) for path in sys.argv[1:]]
same = pool.load(programs[0])
x = np.arange(4, dtype=np.float32)
(y,) = same.run([x])
workers = pool._workers
print(*(worker.process for worker in workers._connections), workers._process.pid, flush=True)
def endless():
    pool.load(programs[1]).run([np.ones(2, np.float32)])
"""


@pytest.fixture(scope="module")
def started(executables, tmp_path_factory):
    """Starts a process that has a pool; returns it and the pool's processes."""
    folder = tmp_path_factory.mktemp("programs")
    for name, executable in executables.items():
        executable.save(folder / name)

    def start(code, **options):
        with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
            process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT + code, *(folder / name for name in executables)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                **options,
            )
        return process, [int(word) for word in process.stdout.readline().split()]

    return start


@pytest.mark.parametrize("code", ["time.sleep(60)", "print('go', flush=True); endless()"])
def test_all_ends_with_the_process_that_is_killed(started, code):
    before = leftovers()
    process, workers = started(code)
    if "endless" in code:
        process.stdout.readline()
        time.sleep(1)
    process.kill()
    process.communicate()
    wait_for_end(workers)
    time.sleep(0.1)
    assert not {path for path in leftovers() - before if str(workers[2]) in path}


@pytest.mark.parametrize(
    "code",
    [
        "pass",
        "sys.exit(3)",
        "threading.Thread(target=endless, daemon=True).start(); time.sleep(1)",
        "threading.Thread(target=lambda: [endless() for _ in range(9)], daemon=True).start(); time.sleep(0.1)",
        "threading.Thread(target=lambda: [same.run([x]) for _ in iter(int, 1)], daemon=True).start(); time.sleep(0.1)",
        "threading.Thread(target=lambda: shoal.launch(2), daemon=True).start(); time.sleep(0.3)",
        "del pool, same, y; import gc; gc.collect(); raise ValueError",
    ],
)
def test_all_ends_with_python(started, code):
    process, workers = started(code)
    _, stderr = process.communicate(timeout=60)
    wait_for_end(workers)
    assert "Exception ignored" not in stderr and "Warning" not in stderr
    # What the main thread, or one that was in a call, hears of.
    raised = re.findall(r"^\S*Error", stderr, re.M)
    assert set(raised) <= ({"shoal.errors.RunError"} if "daemon" in code else {"ValueError"}), stderr


def test_a_child_has_neither_the_processes_nor_their_end(started):
    code = """
child = os.fork()
if child == 0:
    try:
        pool.turn = None  # which a thread had that the child lacks
        same.run([x])
    except shoal.RunError as error:
        print(error)
    pool.close()
    own = shoal.devices.devices_of(2)
    print(own.load(programs[0]).run([x])[0].tolist(), flush=True)
    sys.exit()
os.waitpid(child, 0)
print(same.run([y])[0].tolist(), pool.starts, flush=True)
if os.fork() == 0:
    time.sleep(20)
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    process, workers = started(code)
    lines = [process.stdout.readline().strip() for _ in range(3)]
    assert lines == [
        "these devices are those of the process that was forked",
        "[0.0, 1.0, 2.0, 3.0]",
        "[0.0, 1.0, 2.0, 3.0] 1",
    ]
    # The second child has the parent's files, but not the workers' connections.
    wait_for_end(workers)
    process.wait()


def test_ctrl_c_in_another_thread(started):
    """The terminal signals the whole group; the main thread waits for the other."""
    code = """
program, done = pool.load(programs[1]), threading.Event()
def work():
    try:
        print("go", flush=True)
        program.run([np.ones(2, np.float32)])
    except KeyboardInterrupt:
        print("interrupted", same.run([y])[0].tolist(), flush=True)
    done.set()
threading.Thread(target=work).start()
while not done.is_set():
    try:
        done.wait()
    except KeyboardInterrupt:
        pass
"""
    process, _ = started(code, start_new_session=True)
    process.stdout.readline()
    time.sleep(0.7)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=20)
    assert stdout == "interrupted [0.0, 1.0, 2.0, 3.0]\n", stderr


def test_a_pool_that_does_not_start(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(shoal.RunError, match="cannot find mpirun"):
        shoal.launch(2)
    mpirun = tmp_path / "mpirun"
    mpirun.write_text("#!/bin/sh\necho no such host >&2\nexit 1\n")
    mpirun.chmod(0o755)
    with pytest.raises(shoal.RunError, match=re.compile("mpirun has ended.*no such host", re.S)):
        shoal.launch(2)
    monkeypatch.setenv("PMIX_RANK", "0")
    with pytest.raises(shoal.RunError, match="this process is one of an MPI job"):
        shoal.launch(2)


def test_processes_killed_at_random(pool, same):
    """SHOAL_KILLS says how many."""
    from pool_kills import kill_at_random

    kill_at_random(pool, same, int(os.environ.get("SHOAL_KILLS", "10")), random.Random(1))


def test_more_processes_than_start_are_refused_at_once():
    cores = len(os.sched_getaffinity(0))
    begin = time.monotonic()
    with pytest.raises(shoal.RunError, match=f"{65 * cores} devices are as many processes, and this machine has cores for {64 * cores}"):
        shoal.launch(65 * cores)
    assert time.monotonic() - begin < 10


def test_a_node_without_an_address_is_named():
    with pytest.raises(shoal.RunError, match='nodes: this machine knows no address of "no-such-node.invalid"$'):
        shoal.launch(2, nodes="localhost,no-such-node.invalid")
