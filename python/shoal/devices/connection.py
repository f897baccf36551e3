# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pool's end of the socket to a worker."""

from __future__ import annotations

import os
import select
import socket
import struct
from typing import NamedTuple

from shoal.devices import wire
from shoal.devices.wire import Message
from shoal.errors import RunError

_RECEIVED_AT_ONCE = 1 << 18  # bytes
_HELLO = 5 * 8  # bytes of a first message's words
_STUCK = 60.0  # seconds in which a worker reads nothing of a message


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


class Connection:
    """A worker's socket."""

    def __init__(self, connected: socket.socket, *, names_node: bool = False):
        """names_node: whether `name` says where the worker is."""
        self._names_node = names_node
        self.socket = connected
        self.file = connected.fileno()
        self.rank = -1
        self.process = 0
        self.node = ""
        # What its machine has for it, in bytes.
        self.share = 0
        # Whether its machine does not answer.
        self.is_lost = False
        self.reply: Reply | None = None
        self._splitter = wire.Splitter()
        self._writable = select.poll()
        self._writable.register(connected, select.POLLOUT)
        connected.setblocking(False)

    def greet(self, kind: int, body: bytes) -> None:
        """For a worker's first message; RunError where it is another version's."""
        (version,) = wire.words_of(body[:8])
        if kind != Message.HELLO or version != wire.VERSION:
            raise RunError(f"expected workers of version {wire.VERSION} but got {version}")
        _, self.rank, _, self.process, self.share = wire.words_of(body[:_HELLO])
        self.node = body[_HELLO:].decode(errors="replace")

    @property
    def name(self) -> str:
        where = f" on {self.node}" if self._names_node else ""
        return f"device {self.rank} (process {self.process}{where})"

    def send(self, message: bytes) -> None:
        """Waits while the worker has too much to read; BrokenPipeError where it does not read."""
        view = memoryview(message)
        while view:
            try:
                view = view[self.socket.send(view, socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                if not self._writable.poll(1000 * _STUCK):
                    raise BrokenPipeError from None
            except OSError as error:
                self.is_lost = not isinstance(error, (ConnectionResetError, BrokenPipeError))
                raise BrokenPipeError from None

    def receive(self) -> list[tuple[int, bytes]] | None:
        """Messages that are whole by now, None at the end."""
        try:
            content = self.socket.recv(_RECEIVED_AT_ONCE)
        except BlockingIOError:
            return []
        except OSError as error:
            self.is_lost = not isinstance(error, ConnectionResetError)
            return None
        return self._splitter.split(content) if content else None


def is_of_same_user(connected: socket.socket) -> bool:
    """Anybody on the machine may try the name."""
    form = struct.Struct("3i")
    peer = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, form.size)
    return form.unpack(peer)[1] == os.getuid()
