# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes of a pool: started, asked, waited for, ended."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence

from shoal.devices import wire
from shoal.devices.connection import Connection, Reply
from shoal.devices.interrupts import Patience
from shoal.devices.leftovers import Leftovers
from shoal.devices.meeting import Meeting
from shoal.devices.memory import Memory
from shoal.devices.output import Output, explain
from shoal.devices.strangers import Strangers
from shoal.devices.wire import Message
from shoal.errors import RunError
from shoal.executable import launch
from shoal.executable.host_calls import HostCalls, answer_request

_START = 60.0  # seconds that processes have to start
_GRACE = 1.0  # seconds that a step has to end after a Ctrl-C, or processes once they may
# A worker's end is an exception within two seconds, whatever mpirun does: seconds that this
# has to say what has happened, and then to end by itself.
_TO_EXPLAIN = 0.8
_TO_END = 0.5
_PYTHON_ENDS = "Python ends, and with it the devices"

# Ended when Python does, and not by children of os.fork.
_alive: weakref.WeakSet[Workers] = weakref.WeakSet()
_python_ends = threading.Event()


class Workers:
    """Processes that mpirun has started, one for each device. One call at a time.

    They end when they are told to, when one of them does, and when this process
    does, however that comes.
    """

    def __init__(self, count: int, memory: Memory, meeting: Meeting):
        """RunError where they do not start."""
        # Of the thread that waits for them or ends them: no other polls or reads what they write.
        self._reading = threading.RLock()
        with self._reading:
            self._start(count, memory, meeting)

    def _start(self, count: int, memory: Memory, meeting: Meeting) -> None:
        self._connections: list[Connection] = []
        self._by_file: dict[int, Connection] = {}
        self._poll = select.poll()
        self._owner = os.getpid()
        self._is_ended = False
        self._leftovers: Leftovers | None = None
        with contextlib.closing(meeting):
            if _python_ends.is_set():
                raise RunError(_PYTHON_ENDS)
            self._launcher = launch.Launcher(
                meeting.command, meeting.environment, is_lonely=meeting.is_lonely, bufsize=0
            )
            self._process = self._launcher.process
            self._output = Output(self._process, self._poll)
            _alive.add(self)
            try:
                self._accept(meeting, count)
                self._share(memory)
            except TimeoutError:
                self.kill()
                raise RunError(f"processes did not start in {_START:g} s", self.stderr) from None
            except ConnectionError:  # one has ended, to which something was being sent
                raise self._end_of(None) from None
            except RunError as error:
                self.kill()
                # ssh may know a name that nobody else does: only what has failed is explained by it.
                if meeting.unknown:
                    names = ", ".join(f'"{name}"' for name in meeting.unknown)
                    raise RunError(f"nodes: this machine knows no address of {names}", error.stderr) from None
                raise
            except BaseException:
                self.kill()
                raise

    # Starting

    def _accept(self, meeting: Meeting, count: int) -> None:
        """Waits until all have said what rank they are."""
        pending: dict[int, Connection] = {}
        ranks: dict[int, Connection] = {}
        with Patience(_START) as patience, Strangers(meeting, self._poll) as strangers:
            while len(ranks) < count:
                for file, _ in patience.poll(self._poll):
                    if file in strangers:
                        if connected := strangers.hear(file):
                            self._admit(connected, meeting, pending)
                    elif file in pending:
                        self._greet(pending[file], ranks)
                    elif not self._output.read(file):
                        raise self._end_of(None)
        self._connections = [ranks[rank] for rank in range(count)]
        self._by_file = {connection.file: connection for connection in self._connections}
        if not meeting.names_nodes:
            self._leftovers = Leftovers(self._connections[0].process)

    def _admit(
        self, connected: socket.socket, meeting: Meeting, pending: dict[int, Connection]
    ) -> None:
        connection = Connection(connected, names_node=meeting.names_nodes)
        pending[connection.file] = connection
        self._connections.append(connection)
        self._poll.register(connection.socket, select.POLLIN)

    def _greet(self, connection: Connection, ranks: dict[int, Connection]) -> None:
        """Adds a worker that has said who it is."""
        messages = connection.receive()
        if messages is None:
            raise self._end_of(None)
        for message in messages:
            connection.greet(*message)
            ranks[connection.rank] = connection

    def _share(self, memory: Memory) -> None:
        memory.prepare([connection.share for connection in self._connections])
        message = wire.pack(Message.MEMORY, [memory.size])
        for connection in self._connections:
            if memory.file < 0:
                connection.send(message)
            else:
                socket.send_fds(connection.socket, [message], [memory.file])
        for reply in self._replies(self._connections, None, _START):
            if reply.has_failed:
                raise RunError(reply.text)

    # Calls

    @property
    def stderr(self) -> str:
        return self._output.tail

    @property
    def is_alive(self) -> bool:
        """Whether a call has a chance: none has ended so far."""
        with self._reading:
            if not self._is_ended and self._sees_end():
                self.kill()
            return not self._is_ended

    def expect_alive(self) -> None:
        """RunError with the reason where one has ended since the last call."""
        with self._reading:
            if not self._is_ended and self._sees_end():
                raise self._end_of(None)

    def _sees_end(self) -> bool:
        # Workers say nothing without being asked.
        return any(
            file in self._by_file or not self._output.read(file) for file, _ in self._poll.poll(0)
        )

    def tell(self, message: bytes, ranks: Iterable[int] | None = None) -> None:
        """Sends what is not answered, to all or to these. That one has ended the next call finds."""
        with contextlib.suppress(OSError):
            for connection in self._choose(ranks):
                connection.send(message)

    def call(
        self,
        message: bytes,
        *,
        host_calls: HostCalls | None = None,
        timeout: float | None = None,
        on_interrupt: Callable[[], None] | None = None,
        ranks: Iterable[int] | None = None,
    ) -> list[Reply]:
        """Asks all, or these, and returns what each answers.

        RunError where one has ended, or does not answer in `timeout` seconds: then
        all are ended. KeyboardInterrupt, where they are if they do not answer soon.

        on_interrupt: called on a Ctrl-C instead, where they answer soon.
        """
        with self._reading:
            return self._call(message, host_calls, timeout, on_interrupt, ranks)

    def _call(
        self,
        message: bytes,
        host_calls: HostCalls | None,
        timeout: float | None,
        on_interrupt: Callable[[], None] | None,
        ranks: Iterable[int] | None,
    ) -> list[Reply]:
        self._output.forget()
        sent, asked = False, self._choose(ranks)
        try:
            for connection in asked:
                connection.send(message)
            sent = True
            return self._replies(asked, host_calls, timeout)
        except KeyboardInterrupt:
            replies = self._settle(asked, host_calls) if sent else None
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
            # One has ended, to which something was being sent.
            raise self._end_of(None) from None
        except BaseException:
            self.kill()
            raise

    def _choose(self, ranks: Iterable[int] | None) -> list[Connection]:
        chosen = self._connections
        return chosen if ranks is None else [chosen[rank] for rank in ranks]

    def _replies(
        self, asked: Sequence[Connection], host_calls: HostCalls | None, timeout: float | None
    ) -> list[Reply]:
        """One of each that was asked; answers what the program asks meanwhile."""
        with Patience(timeout) as patience:
            while None in [connection.reply for connection in asked]:
                for file, _ in patience.poll(self._poll):
                    connection = self._by_file.get(file)
                    if connection is None:
                        if not self._output.read(file):
                            raise self._end_of(None)
                    else:
                        self._receive(connection, host_calls)
        self._output.read_all()
        replies = []
        for connection in asked:
            assert connection.reply is not None
            replies.append(connection.reply)
            connection.reply = None
        return replies

    def _receive(self, connection: Connection, host_calls: HostCalls | None) -> None:
        messages = connection.receive()
        if messages is None:
            raise self._end_of(connection)
        for kind, body in messages:
            if kind == Message.HOST_CALL and host_calls is not None:
                connection.send(wire.pack(Message.ANSWER, tail=answer_request(host_calls, body)))
            else:
                connection.reply = Reply(kind, body)

    def _settle(
        self, asked: Sequence[Connection], host_calls: HostCalls | None
    ) -> list[Reply] | None:
        """What they answer in the moment that a step has after a Ctrl-C."""
        with contextlib.suppress(BaseException):  # another Ctrl-C, among others
            return self._replies(asked, host_calls, _GRACE)
        return None

    # Ends

    def _end_of(self, connection: Connection | None) -> RunError:
        """What to say of a worker that has ended; all others end with it."""
        if _python_ends.is_set():
            self.kill()
            return RunError(_PYTHON_ENDS, self.stderr)
        # mpirun says how, as soon as it has ended the others.
        self._wait(_TO_EXPLAIN)
        self.kill()
        return RunError(explain(self._output, connection, self._connections), self.stderr)

    def close(self, seconds: float = launch.GRACE) -> None:
        """Lets them end by themselves, and by force those that do not in so many seconds."""
        if self._is_ended or os.getpid() != self._owner:
            return
        with self._reading:
            if not self._is_ended:  # by the thread that had them before
                self.tell(wire.pack(Message.BYE))
                self._wait(seconds)
                self.kill()

    def end_with_python(self) -> None:
        """Ends them whatever another thread does with them, which hears of it; that one may have the
        turn, and as a daemon it is not waited for."""
        if self._is_ended or os.getpid() != self._owner:
            return
        if not self._reading.acquire(timeout=_GRACE):
            # It is in a call, and ends them when it reads that they have gone: this thread has to
            # leave what it polls alone.
            for connection in list(self._connections):
                with contextlib.suppress(OSError):
                    connection.socket.shutdown(socket.SHUT_RDWR)
            if not self._reading.acquire(timeout=_TO_EXPLAIN + _TO_END):
                # Or in a function that the program calls, from which it need not come back.
                launch.kill_session(self._process.pid)
                return
        try:
            self.close(_GRACE)
        finally:
            self._reading.release()

    def kill(self) -> None:
        """Ends them now; once more is nothing."""
        if self._is_ended or os.getpid() != self._owner:
            return
        with self._reading:
            self._kill()

    def _kill(self) -> None:
        if self._is_ended:  # by the thread that had them before
            return
        self._is_ended = True
        _alive.discard(self)
        # A worker ends when its connection does, mpirun when the workers have.
        self._disconnect()
        if not self._by_file:
            self._process.terminate()
        self._wait(_TO_END)
        launch.kill_session(self._process.pid)
        self._process.wait()
        self._launcher.close()
        self._output.close()
        if self._leftovers is not None and self._process.returncode < 0:
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
        self._launcher.close()  # the parent has this pipe, too
        self._output.close()


def end_all() -> None:
    """Of this process, which ends: none start from here on."""
    _python_ends.set()
    for workers in list(_alive):
        workers.end_with_python()


def _abandon_all() -> None:
    for workers in list(_alive):
        workers.abandon()
    _alive.clear()


os.register_at_fork(after_in_child=_abandon_all)
