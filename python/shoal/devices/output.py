# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the processes of a pool write."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from shoal.devices.connection import Connection
from shoal.errors import RunError

_TAIL = 1 << 16  # bytes of stderr that are kept
_MUCH = 1000  # pieces


class Output:
    """What mpirun and its processes write: stdout goes to sys.stdout, of stderr the end is kept.

    error: what follows the first "error: " on stderr in a call, to the end of the line.
    """

    def __init__(self, process: subprocess.Popen[bytes], poll: select.poll):
        assert process.stdout is not None and process.stderr is not None
        self._pipes = {pipe.fileno(): pipe for pipe in (process.stdout, process.stderr)}
        self._stdout = process.stdout.fileno()
        self.forget()
        self._polls = (poll, select.poll())
        self._written = self._polls[1]
        for file in self._pipes:
            os.set_blocking(file, False)
            for own in self._polls:
                own.register(file, select.POLLIN)

    @property
    def tail(self) -> str:
        return self._tail.decode(errors="replace")

    def forget(self) -> None:
        """In front of a call."""
        self.error = ""
        self._tail = self._line = b""

    def read(self, file: int) -> bool:
        """Reads what is there; False at the end."""
        try:
            content = os.read(file, _TAIL)
        except BlockingIOError:
            return True
        if not content:
            self._forget_file(file)
            return False
        if file == self._stdout:
            _show(content.decode(errors="replace"))
        else:
            self._tail = (self._tail + content)[-_TAIL:]
            if not self.error:
                self._look_for_error(content)
        return True

    def _look_for_error(self, content: bytes) -> None:
        """One process may have said why all end, and others much more since."""
        *lines, self._line = (self._line + content).split(b"\n")
        self._line = self._line[:_TAIL]
        for line in lines:
            # mpirun cuts what processes write into pieces: half a line of another
            # one may be in front.
            _, mark, text = line.partition(b"error: ")
            if mark:
                self.error = text.decode(errors="replace")
                return

    def read_all(self) -> None:
        """What is there by now; of one who writes without an end, much of it."""
        for _ in range(_MUCH):
            if not any([self.read(file) for file, _ in self._written.poll(0)]):
                return

    def wait(self, seconds: float) -> None:
        """Until something is written, or so long."""
        ready = self._written.poll(1000 * seconds)
        ended = [file for file, _ in ready if not self.read(file)]
        if ended or not self._pipes:
            time.sleep(seconds)

    def close(self) -> None:
        for file, pipe in self._pipes.items():
            self._forget_file(file)
            pipe.close()

    def _forget_file(self, file: int) -> None:
        for poll in self._polls:
            with contextlib.suppress(KeyError):
                poll.unregister(file)


def _show(text: str) -> None:
    try:
        sys.stdout.write(text)
    except OSError as error:  # not one of the processes'
        raise RunError(f"cannot show what a program prints: {error}") from error


_LOST = re.compile(r"Remote daemon: \S+ on node (\S+)")
_SIGNALLED = re.compile(r"process rank (\d+) with PID \d+ on node \S+ exited on\s+signal (\d+)")


def explain(
    output: Output, connection: Connection | None, connections: Sequence[Connection]
) -> str:
    """Why a worker has ended, by its own words, mpirun's, or those that are there."""
    if output.error:
        return output.error
    if found := _SIGNALLED.search(output.tail):
        rank, number = map(int, found.groups())
        name = next((other.name for other in connections if other.rank == rank), f"device {rank}")
        return f"{name} was ended by {_signal_name(number)}"
    if found := _LOST.search(output.tail):
        return f"node {found[1]} is lost: it is off, or the network to it is cut"
    if connection is not None and connection.is_lost:
        return f"node {connection.node} is lost: {connection.name} does not answer"
    if connection is not None:
        what = f"{connection.name} has ended"
    else:
        what = "mpirun has ended"
    lines = [line for line in output.tail.splitlines() if line.strip()]
    return "\n".join([what, *lines[-10:]])


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"
