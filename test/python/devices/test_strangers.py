# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What anybody on the network or the machine can do to a pool and to a run: nothing."""

import os
import select
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
from executable_cases import ENDLESS, identity
from paths import PATHS
from shoal_testing import TARGET

import shoal
from shoal.devices import meeting
from shoal.devices.strangers import Strangers
from shoal.executable import launch

if TARGET != "cpu":
    pytest.skip("of CPUs' programs", allow_module_level=True)

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def strangers():
    """Of a pool that starts: who connects, and what becomes of it."""
    made = meeting.NodesMeeting(1, "localhost")
    poll = select.poll()
    with meeting.contextlib.closing(made), Strangers(made, poll) as found:
        word, port, *addresses = made.environment["SHOAL_PARENT"].split()
        assert addresses and len(word) == 64

        def look():
            """The workers that have shown up."""
            heard = [found.hear(file) for file, _ in poll.poll(100)]
            return [worker for worker in heard if worker]

        def connect():
            return meeting.socket.create_connection((addresses[-1], int(port)), timeout=5)

        yield look, connect, word


def looked_at(look, times=5):
    return [worker for _ in range(times) for worker in look()]


def test_who_does_not_know_the_word_is_not_admitted(strangers):
    look, connect, word = strangers
    for said, expected in ((word[:32], word[32:]), (word[32:], ""), ("0" * 32, "")):
        with connect() as worker:
            worker.sendall(said.encode())
            admitted = looked_at(look)
            assert len(admitted) == bool(expected)
            for accepted in admitted:
                accepted.close()
            assert worker.recv(100).decode() == expected


def test_nobody_waits_for_who_says_nothing(strangers):
    """More of them than there is room for, some by a part of the word, and one that comes again."""
    look, connect, word = strangers
    silent = [connect() for _ in range(300)]
    for number, one in enumerate(silent):
        one.sendall(word[: number % 32].encode())
        if number % 50 == 0:
            look()
    begin = time.monotonic()
    with connect() as worker:
        worker.sendall(word[:10].encode())
        assert not looked_at(look, 310)
        worker.sendall(word[10:32].encode())
        (accepted,) = looked_at(look)
        assert worker.recv(100).decode() == word[32:]
        accepted.close()
    assert time.monotonic() - begin < 40
    for one in silent:
        one.close()


# Ports

LISTENS = "0A"


def ports_of(processes):
    """(address, port) of each TCP port that these processes listen at, as /proc has them."""
    inodes = set()
    for process in processes:
        for file in Path(f"/proc/{process}/fd").iterdir():
            try:
                inodes.add(os.readlink(file).removeprefix("socket:[").removesuffix("]"))
            except OSError:
                continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and fields[9] in inodes:
                address, port = fields[1].split(":")
                size = len(address) // 4
                words = [bytes.fromhex(address[8 * i : 8 * i + 8])[::-1] for i in range(size // 2)]
                family = socket.AF_INET if table == "tcp" else socket.AF_INET6
                found.append((socket.inet_ntop(family, b"".join(words)), int(port, 16)))
    return found


def test_a_pool_is_on_the_loopback_alone_and_a_byte_there_is_nothing():
    with shoal.launch(2) as pool:
        same = pool.load(shoal.compile_text(identity("f32")))
        workers = [connection.process for connection in pool._workers._connections]
        assert ports_of(workers) == []
        ports = ports_of([pool._workers._process.pid])
        assert ports and {address for address, _ in ports} <= {"127.0.0.1", "::1"}
        strangers = [socket.create_connection(port) for port in ports]
        for stranger in strangers:
            stranger.sendall(b"x")
        for _ in range(20):
            (result,) = same.run([X])
            assert np.array_equal(result.numpy(), X)
    for stranger in strangers:
        stranger.close()


def test_an_mpirun_that_does_not_end_is_an_error(monkeypatch, tmp_path):
    """As one does that somebody of this machine is connected to."""
    stuck = tmp_path / "mpirun"
    stuck.write_text("#!/bin/sh\nsleep 0.1\nexec sleep 1000\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(launch, "GRACE", 0.5)
    monkeypatch.setattr(launch, "find_mpirun", lambda: str(stuck))
    executable = shoal.compile_text(identity("f32"))
    with pytest.raises(shoal.RunError, match="mpirun does not end, though its processes have"):
        executable.run([X])


def test_what_the_user_says_of_the_network_is_not_changed(monkeypatch):
    assert launch.environment(2)["OMPI_MCA_btl"] == "self,vader"
    assert "OMPI_MCA_btl" not in launch.environment(2, is_one_machine=False)
    monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")
    assert launch.environment(2)["OMPI_MCA_btl"] == "self,tcp"
    assert launch.environment(2)["OMPI_MCA_oob_tcp_if_include"] == "lo"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert not launch.is_lonely() and "OMPI_MCA_oob_tcp_if_include" not in launch.environment(2)


# Ends

START = {
    "a pool": "shoal.launch(2); time.sleep(60)",
    "a run": f"shoal.compile_text({ENDLESS!r}).run()",
}


def with_mark(mark):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def left_with(mark, seconds=20):
    """Of those with the mark; none where none is seen for half a second, as one in the middle of exec has no mark."""
    end = time.monotonic() + seconds
    quiet_since = time.monotonic()
    while time.monotonic() < end:
        if found := with_mark(mark):
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since > 0.5:
            return []
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1, 0.2, 0.4, 0.8])
@pytest.mark.parametrize("what", START)
def test_nothing_is_left_of_a_process_that_is_killed_while_something_starts(what, delay):
    mark = uuid.uuid4().hex
    script = f"import time, shoal; print('go', flush=True); {START[what]}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), "SHOAL_TEST_MARK": mark}
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout.readline() == b"go\n"
    time.sleep(delay)
    process.kill()
    process.communicate()
    assert left_with(mark) == []
