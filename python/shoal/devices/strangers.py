# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who connects to a pool that starts, and may be anybody."""

from __future__ import annotations

import contextlib
import select
import socket
from typing import NamedTuple

from shoal.closing import Closing
from shoal.devices.meeting import Meeting

_MOST = 256  # that have not said their word; the oldest makes room for another one


class _Stranger(NamedTuple):
    socket: socket.socket
    said: bytearray


class Strangers(Closing):
    """Connections of which none is waited for: a worker says its word as soon as it is there."""

    def __init__(self, meeting: Meeting, poll: select.poll):
        """poll: where the listener is, and each of them while it is one."""
        self._meeting = meeting
        self._poll = poll
        self._by_file: dict[int, _Stranger] = {}
        poll.register(meeting.listener, select.POLLIN)

    def __contains__(self, file: int) -> bool:
        return file == self._meeting.listener.fileno() or file in self._by_file

    def hear(self, file: int) -> socket.socket | None:
        """For the listener, or one that has said something: a worker, where that is one now."""
        if file in self._by_file:
            return self._hear(self._by_file[file])
        try:
            connected = self._meeting.listener.accept()[0]
        except OSError:
            return None  # it has left again
        connected.setblocking(False)
        if len(self._by_file) == _MOST:
            self._dismiss(next(iter(self._by_file.values())))
        stranger = self._by_file[connected.fileno()] = _Stranger(connected, bytearray())
        self._poll.register(connected, select.POLLIN)
        return self._hear(stranger)

    def _hear(self, stranger: _Stranger) -> socket.socket | None:
        missing = len(self._meeting.word) - len(stranger.said)
        try:
            content = stranger.socket.recv(missing) if missing else b""
        except BlockingIOError:
            return None
        except OSError:
            content = b""
        stranger.said.extend(content)
        if len(content) < missing:
            if not content:
                self._dismiss(stranger)
            return None
        if self._meeting.admits(stranger.socket, bytes(stranger.said)):
            self._forget(stranger)
            return stranger.socket
        self._dismiss(stranger)
        return None

    def _forget(self, stranger: _Stranger) -> None:
        del self._by_file[stranger.socket.fileno()]
        self._poll.unregister(stranger.socket)

    def _dismiss(self, stranger: _Stranger) -> None:
        self._forget(stranger)
        stranger.socket.close()

    def close(self) -> None:
        """Dismisses all that are left."""
        for stranger in list(self._by_file.values()):
            self._dismiss(stranger)
        with contextlib.suppress(KeyError):
            self._poll.unregister(self._meeting.listener)
