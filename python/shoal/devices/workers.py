# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes of a pool: started, asked, waited for, ended."""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from shoal.devices import wire
from shoal.devices.memory import Memory
from shoal.devices.wire import Message
from shoal.errors import RunError
from shoal.executable import launch
from shoal.executable.host import Host, answer_request
from shoal.executable.interrupts import CtrlCWatch

WORKER = Path(__file__).parent.parent / "bin/shoal-worker"

_START = 60.0  # seconds that processes have to start
_GRACE = 1.0  # seconds that a step has to end after a Ctrl-C, or processes once they may
_QUICK = 0.2  # seconds after which a call looks for a Ctrl-C by a process of its own
_TAIL = 1 << 16  # bytes of stderr that are kept
_RECEIVE = 1 << 18  # bytes that are received at once

# Where one worker has ended mpirun waits a second before it kills the others.
_ENVIRONMENT = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}

# Ended when Python does, and not by children of os.fork.
_alive: weakref.WeakSet[Workers] = weakref.WeakSet()


class Reply(NamedTuple):
    """What a worker says when it has done what it was asked, or why it has not."""

    kind: int
    body: bytes

    @property
    def has_failed(self) -> bool:
        return self.kind == Message.FAILED

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


class Workers:
    """Processes that mpirun has started, one for each device. One call at a time.

    They end when they are told to, when one of them does, and when this process
    does, however that comes.
    """

    def __init__(self, count: int, memory: Memory):
        """RunError where they do not start."""
        self._connections: list[_Connection] = []
        self._by_file: dict[int, _Connection] = {}
        self._poll = select.poll()
        self._owner = os.getpid()
        self._is_ended = False
        self._leftovers: _Leftovers | None = None
        name = f"shoal-{secrets.token_hex(16)}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            # An abstract name: there is no file that could be left.
            listener.bind(f"\0{name}")
            listener.listen(count)
            listener.setblocking(False)
            self._process = _start(count, name)
            self._output = _Output(self._process, self._poll)
            _alive.add(self)
            try:
                self._accept(listener, count)
                self._share(memory)
            except TimeoutError:
                self.kill()
                raise RunError(f"processes did not start in {_START:g} s", self.stderr) from None
            except BaseException:
                self.kill()
                raise

    # Starting

    def _accept(self, listener: socket.socket, count: int) -> None:
        """Waits until all have said what rank they are."""
        pending: dict[int, _Connection] = {}
        ranks: dict[int, _Connection] = {}
        self._poll.register(listener, select.POLLIN)
        with _Patience(_START) as patience:
            while len(ranks) < count:
                for file, _ in patience.poll(self._poll):
                    if file == listener.fileno():
                        connected = listener.accept()[0]
                        if not _is_of_same_user(connected):
                            connected.close()
                            continue
                        connection = _Connection(connected)
                        pending[connection.file] = connection
                        self._connections.append(connection)
                        self._poll.register(connection.socket, select.POLLIN)
                    elif file in pending:
                        if pending[file].greet():
                            ranks[pending[file].rank] = pending[file]
                    elif not self._output.read(file):
                        raise self._end_of(None)
        self._poll.unregister(listener)
        self._connections = [ranks[rank] for rank in range(count)]
        self._by_file = {connection.file: connection for connection in self._connections}
        self._leftovers = _Leftovers(self._connections[0].process)

    def _share(self, memory: Memory) -> None:
        message = wire.pack(Message.MEMORY, [memory.size])
        for connection in self._connections:
            socket.send_fds(connection.socket, [message], [memory.file])
        for reply in self._replies(None, _START):
            if reply.has_failed:
                raise RunError(reply.text)

    # Calls

    @property
    def stderr(self) -> str:
        return self._output.tail

    @property
    def is_alive(self) -> bool:
        """Whether a call has a chance: none has ended so far."""
        if self._is_ended:
            return False
        for file, _ in self._poll.poll(0):
            # Workers say nothing without being asked.
            if file in self._by_file or not self._output.read(file):
                self.kill()
                return False
        return True

    def post(self, message: bytes, ranks: Iterable[int] | None = None) -> None:
        """For messages that are not answered; to all, or to these."""
        chosen = self._connections
        for connection in chosen if ranks is None else [chosen[rank] for rank in ranks]:
            connection.send(message)

    def call(
        self,
        message: bytes,
        *,
        host: Host | None = None,
        timeout: float | None = None,
        on_interrupt: Callable[[], None] | None = None,
    ) -> list[Reply]:
        """Asks all and returns what each answers.

        RunError where one has ended, or does not answer in `timeout` seconds: then
        all are ended. KeyboardInterrupt, where they are if they do not answer soon.

        on_interrupt: called on a Ctrl-C instead, where they answer soon.
        """
        self._output.forget()
        sent = False
        try:
            self.post(message)
            sent = True
            return self._replies(host, timeout)
        except KeyboardInterrupt:
            replies = self._settle(host) if sent else None
            if replies is None:
                self.kill()
            if replies is None or on_interrupt is None:
                raise
            on_interrupt()
            return replies
        except TimeoutError:
            self.kill()
            raise RunError(f"did not end in {timeout:g} s", self.stderr) from None
        except OSError:
            # One has ended, or another thread has ended them all, as Python's end does.
            raise self._end_of(None) from None
        except BaseException:
            self.kill()
            raise

    def _replies(self, host: Host | None, timeout: float | None) -> list[Reply]:
        """One of each worker; answers what the program asks meanwhile."""
        with _Patience(timeout) as patience:
            while any(connection.reply is None for connection in self._connections):
                for file, _ in patience.poll(self._poll):
                    connection = self._by_file.get(file)
                    if connection is None:
                        if not self._output.read(file):
                            raise self._end_of(None)
                    else:
                        self._receive(connection, host)
        self._output.read_all()
        replies = []
        for connection in self._connections:
            assert connection.reply is not None
            replies.append(connection.reply)
            connection.reply = None
        return replies

    def _receive(self, connection: _Connection, host: Host | None) -> None:
        messages = connection.receive()
        if messages is None:
            raise self._end_of(connection)
        for kind, body in messages:
            if kind == Message.HOST_CALL and host is not None:
                connection.send(wire.pack(Message.ANSWER, tail=answer_request(host, body)))
            else:
                connection.reply = Reply(kind, body)

    def _settle(self, host: Host | None) -> list[Reply] | None:
        """What they answer in the moment that a step has after a Ctrl-C."""
        with contextlib.suppress(BaseException):  # another Ctrl-C, among others
            return self._replies(host, _GRACE)
        return None

    # Ends

    def _end_of(self, connection: _Connection | None) -> RunError:
        """What to say of a worker that has ended; all others end with it."""
        # mpirun says how, as soon as it has ended the others.
        self._wait(_GRACE)
        self.kill()
        return RunError(_explain(self.stderr, connection, self._connections), self.stderr)

    def close(self, seconds: float = launch.GRACE) -> None:
        """Lets them end by themselves, and by force those that do not in so many seconds."""
        if self._is_ended or os.getpid() != self._owner:
            return
        with contextlib.suppress(OSError):
            self.post(wire.pack(Message.BYE))
            self._wait(seconds)
        self.kill()

    def kill(self) -> None:
        """Ends them now; once more is nothing."""
        if self._is_ended or os.getpid() != self._owner:
            return
        self._is_ended = True
        _alive.discard(self)
        # A worker ends when its connection does, mpirun when the workers have.
        self._disconnect()
        if not self._by_file:
            self._process.terminate()
        self._wait(_GRACE)
        launch.kill_session(self._process.pid)
        self._process.wait()
        self._output.close()
        if self._leftovers is not None:
            self._leftovers.remove()

    def _wait(self, seconds: float) -> None:
        """Until mpirun has ended, or so long."""
        end = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < end:
            self._output.wait(0.01)
        self._output.read_all()

    def _disconnect(self) -> None:
        for connection in self._connections:
            with contextlib.suppress(KeyError, OSError):
                self._poll.unregister(connection.socket)
            connection.socket.close()

    def abandon(self) -> None:
        """In a child of os.fork: they are its parent's, and end with that alone."""
        self._is_ended = True
        for connection in self._connections:
            connection.socket.close()
        self._output.close()


def _is_of_same_user(connected: socket.socket) -> bool:
    """Anybody on the machine may try the name."""
    form = struct.Struct("3i")
    peer = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, form.size)
    return form.unpack(peer)[1] == os.getuid()


class _Connection:
    """A worker's socket."""

    def __init__(self, connected: socket.socket):
        self.socket = connected
        self.file = connected.fileno()
        self.rank = -1
        self.process = 0
        self.reply: Reply | None = None
        self._splitter = wire.Splitter()
        self._writable = select.poll()
        self._writable.register(connected, select.POLLOUT)
        connected.setblocking(False)

    def greet(self) -> bool:
        """Reads the worker's first message, if it is there; RunError where it is another's."""
        messages = self.receive()
        if messages is None:
            raise RunError("a process ended while it started")
        for kind, body in messages:
            version, self.rank, _, self.process = wire.words_of(body)
            if kind != Message.HELLO or version != wire.VERSION:
                raise RunError(
                    f"expected workers of version {wire.VERSION} but {WORKER} has {version}"
                )
            return True
        return False

    def send(self, message: bytes) -> None:
        """Waits while the worker has too much to read; BrokenPipeError where it does not read."""
        view = memoryview(message)
        while view:
            try:
                view = view[self.socket.send(view, socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                if not self._writable.poll(1000 * _START):
                    raise BrokenPipeError from None
            except ConnectionResetError:
                raise BrokenPipeError from None

    def receive(self) -> list[tuple[int, bytes]] | None:
        """Messages that are whole by now, None at the end."""
        try:
            content = self.socket.recv(_RECEIVE)
        except BlockingIOError:
            return []
        except ConnectionResetError:
            return None
        return self._splitter.split(content) if content else None


class _Leftovers:
    """Files of Open MPI that stay where mpirun is killed: it does not ask for names of ours."""

    def __init__(self, worker: int):
        self._folder, self._job = "", 0
        with contextlib.suppress(OSError, ValueError):
            variables = dict(
                entry.split("=", 1)
                for entry in Path(f"/proc/{worker}/environ").read_text().split("\0")
                if "=" in entry
            )
            self._folder = variables.get("OMPI_MCA_orte_jobfam_session_dir", "")
            self._job = int(variables.get("PMIX_NAMESPACE", "0"))

    def remove(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        for segment in Path("/dev/shm").glob(f"vader_segment.*.{self._job:x}.*"):
            segment.unlink(missing_ok=True)


class _Output:
    """What mpirun and its processes write: stdout goes to sys.stdout, of stderr the end is kept."""

    def __init__(self, process: subprocess.Popen[bytes], poll: select.poll):
        assert process.stdout is not None and process.stderr is not None
        self._pipes = {pipe.fileno(): pipe for pipe in (process.stdout, process.stderr)}
        self._stdout = process.stdout.fileno()
        self._tail = b""
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
        self._tail = b""

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
            sys.stdout.write(content.decode(errors="replace"))
        else:
            self._tail = (self._tail + content)[-_TAIL:]
        return True

    def read_all(self) -> None:
        for file in self._pipes:
            while True:
                before = len(self._tail)
                if not self.read(file) or len(self._tail) == before:
                    break

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


class _Patience:
    """Waits for as long as a call may take; TimeoutError, KeyboardInterrupt.

    Python tells its main thread of a Ctrl-C; another one has to look for it, if
    the call is a long one.
    """

    def __init__(self, seconds: float | None):
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._watch: CtrlCWatch | None = None
        self._is_main = threading.current_thread() is threading.main_thread()
        self._watch_from = math.inf if self._is_main else time.monotonic() + _QUICK

    def __enter__(self) -> _Patience:
        return self

    def __exit__(self, *error: object) -> None:
        if self._watch is not None:
            self._watch.__exit__(None, None, None)

    def poll(self, poll: select.poll) -> list[tuple[int, int]]:
        """What has happened, at least one thing."""
        while True:
            events = poll.poll(self._milliseconds())
            if events:
                return events
            now = time.monotonic()
            if now >= self._end:
                raise TimeoutError
            if self._watch is None and now >= self._watch_from:
                self._watch = CtrlCWatch().__enter__()
            if self._watch is not None and self._watch.came:
                raise KeyboardInterrupt

    def _milliseconds(self) -> float | None:
        """Until there is something else to do."""
        if self._is_main and self._end == math.inf:
            return None
        left = max(self._end - time.monotonic(), 0)
        return math.ceil(1000 * (left if self._is_main else min(left, _QUICK)))


def _start(count: int, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [launch.find_mpirun(), "-n", str(count), str(WORKER), f"--parent={name}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={**_ENVIRONMENT, **launch.environment(count)},
        # A Ctrl-C is this process' to handle.
        start_new_session=True,
    )


_SIGNALLED = re.compile(r"process rank (\d+) with PID \d+ on node \S+ exited on\s+signal (\d+)")


def _explain(
    stderr: str, connection: _Connection | None, connections: list[_Connection]
) -> str:
    """Why a worker has ended, by its own words, mpirun's, or those that are there."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    for line in lines:
        if line.startswith("error: "):
            return line.removeprefix("error: ")
    if found := _SIGNALLED.search(stderr):
        rank, number = map(int, found.groups())
        process = next((other.process for other in connections if other.rank == rank), 0)
        return f"device {rank} (process {process}) was ended by {_signal_name(number)}"
    if connection is not None:
        what = f"device {connection.rank} (process {connection.process}) has ended"
    else:
        what = "mpirun has ended"
    return "\n".join([what, *lines[-10:]])


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"


def end_all() -> None:
    """Of this process, which ends."""
    for workers in list(_alive):
        workers.close(_GRACE)


def _abandon_all() -> None:
    for workers in list(_alive):
        workers.abandon()
    _alive.clear()


os.register_at_fork(after_in_child=_abandon_all)
