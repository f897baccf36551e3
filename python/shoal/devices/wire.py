# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a pool and its workers tell each other: lib/Runtime/Worker/Messages.h."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

VERSION = 2


class Message(IntEnum):
    HELLO = 1
    MEMORY = 2
    LOAD = 3
    OPEN = 4
    RUN = 5
    UNLOAD = 6
    BYE = 7
    DONE = 8
    FAILED = 9
    HOST_CALL = 10
    ANSWER = 11
    WRITE = 12
    READ = 13
    RELEASE = 14
    LIBRARY = 15


_HEADER = struct.Struct("2q")


def pack(message: Message, words: Sequence[int] = (), tail: bytes = b"") -> bytes:
    """The bytes of a message: words of 64 bits, then the tail."""
    size = 8 * len(words) + len(tail)
    return struct.pack(f"{2 + len(words)}q", message, size, *words) + tail


def words_of(body: bytes) -> tuple[int, ...]:
    """A body that has words alone."""
    return struct.unpack(f"{len(body) // 8}q", body)


class Splitter:
    """Cuts the bytes that come from a worker into messages."""

    def __init__(self) -> None:
        self._rest = bytearray()
        # How many bytes the next message has, its header's at least.
        self._needed = _HEADER.size

    def split(self, received: bytes) -> list[tuple[int, bytes]]:
        """The messages that are whole by now, each with its body."""
        self._rest += received
        messages = []
        while len(self._rest) >= self._needed:
            kind, size = _HEADER.unpack_from(self._rest)
            self._needed = _HEADER.size + size
            if len(self._rest) >= self._needed:
                messages.append((kind, bytes(self._rest[_HEADER.size : self._needed])))
                del self._rest[: self._needed]
                self._needed = _HEADER.size
        return messages
