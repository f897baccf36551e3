# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices that are processes on several nodes: see docs/guide/Nodes.md."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from shoal.devices import wire
from shoal.devices.addresses import AddressSpace
from shoal.devices.array import Array, Kind
from shoal.devices.meeting import Meeting, NodesMeeting
from shoal.devices.memory import Memory
from shoal.devices.placement import Placement
from shoal.devices.pool import Pool, ProgramOfPool
from shoal.devices.wire import Message
from shoal.devices.workers import Workers
from shoal.errors import ClosedError, RunError
from shoal.executable.launch import Nodes

_PIECE = 16 << 20  # bytes of a message


class NodesMemory(Memory):
    """Addresses that mean the same in the memory of each worker, of which this process has nothing.

    Device i's part of an array lies where it would lie in memory that all share. Few
    pages of a worker's are there: those that were written to.
    """

    def _open(self) -> None:
        self.file = -1
        self.size = self.capacity = 0
        # What no array is in any more.
        self.released: deque[tuple[int, int]] = deque()

    def prepare(self, shares: list[int]) -> None:
        self.capacity = min(shares) * len(shares)
        self.size = 2 * self.capacity
        self._space = AddressSpace(self.size)

    def _promise(self, begin: int, size: int) -> None:
        """Workers' machines promise nothing: one that has too little ends a worker."""

    def _drop(self, begin: int, size: int) -> None:
        self.released.append((begin, size))


class NodesPool(Pool):
    """A `Pool` on several nodes. `launch` makes it.

    Each worker has its parts of arrays in its own memory: `put` sends them there, and
    `numpy`, `shards` and all else that reads an array fetches what it needs. An array that
    all devices have whole is sent to each. Where a node or a process ends the pool has
    ended, and its arrays with it: there is no new start.
    """

    @property
    def lies_here(self) -> bool:
        return False

    def __init__(self, count: int, nodes: Nodes, environment: Mapping[str, str] | None = None):
        """environment: of the processes, beside this one's."""
        self.nodes = nodes
        self._environment = environment
        super().__init__(count, NodesMemory())

    def _meet(self) -> Meeting:
        return NodesMeeting(self.count, self.nodes, self._environment)

    def ready(self) -> Workers:
        if not self._is_closed and self.starts:
            self._workers.expect_alive()
            if not self._workers.is_alive:
                raise RunError(
                    "the devices on other nodes have ended, and their arrays with them: "
                    "close this pool and launch another one"
                )
        workers = super().ready()
        assert isinstance(self.memory, NodesMemory)
        while self.memory.released:
            workers.tell(wire.pack(Message.RELEASE, self.memory.released.popleft()))
        return workers

    def _deliver(self, program: ProgramOfPool) -> bytes:
        """Sends the library: other nodes do not see this one's files."""
        self._workers.tell(wire.pack(Message.LIBRARY, tail=program.library.read_bytes()))
        return program.load_message(b"")

    # Arrays

    def new(self, placement: Placement, kind: Kind, *, shares: bool) -> Array:
        return super().new(placement, kind, shares=False)

    def _memory_of(self, array: Array, rank: int) -> np.ndarray:
        placement = array.placement
        return np.zeros(placement.local_shape, placement.dtype)

    def _written(self, array: Array, rank: int, part: np.ndarray) -> None:
        content = memoryview(part.reshape(-1).view(np.uint8))
        begin = array.begin(rank)
        with self.turn:
            for done in range(0, len(content), _PIECE):
                piece = bytes(content[done : done + _PIECE])
                self._workers.tell(wire.pack(Message.WRITE, [begin + done], piece), [rank])

    def read(self, array: Array, rank: int, begin: int, size: int) -> np.ndarray:
        array.live()
        content = bytearray(size)
        with self.turn:
            if self._is_closed:
                raise ClosedError
            workers = self.ready()
            for done in range(0, size, _PIECE):
                message = wire.pack(Message.READ, [begin + done, min(_PIECE, size - done)])
                (reply,) = workers.call(message, ranks=[rank])
                content[done : done + _PIECE] = reply.body
        array_of_bytes = np.frombuffer(content, np.uint8)
        array_of_bytes.flags.writeable = False
        return array_of_bytes
