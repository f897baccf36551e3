# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices that are processes of their own, which this one has started."""

from __future__ import annotations

import os
import struct
import weakref
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from shoal.devices import wire
from shoal.devices.array import Array
from shoal.devices.interface import Devices
from shoal.devices.interrupts import LateInterrupt
from shoal.devices.loaded import Loaded, results_of
from shoal.devices.meeting import Meeting
from shoal.devices.memory import Memory
from shoal.devices.placement import Slices
from shoal.devices.store import assemble
from shoal.devices.wire import Message
from shoal.devices.workers import Reply, Workers
from shoal.errors import ClosedError, RunError
from shoal.executable.program import Program
from shoal.executable.host_calls import HostCalls


class Pool(Devices):
    """Processes of this machine, one for each device, started once. `launch` makes it.

    Arrays lie in memory that they share with this process. Threads take turns.
    A pool that has ended, as processes do that are killed, is started again by the
    next step: arrays are as they were, but for those that the failed one was given.

    starts: how many times processes were started.
    """

    def __init__(self, count: int, memory: Memory | None = None):
        super().__init__(count, memory or Memory(), range(count))
        self._is_closed = False
        self._interrupt = LateInterrupt()
        self._next_number = 0
        # Programs that are gone, and when they were loaded: workers are told with
        # the next call.
        self._gone: deque[tuple[int, int]] = deque()
        self.starts = 0
        self._start()

    def _start(self) -> None:
        self._workers = Workers(self.count, self.memory, self._meet())
        weakref.finalize(self, self._workers.close).atexit = False  # `end_all` does it then
        self.starts += 1

    def _meet(self) -> Meeting:
        return Meeting(self.count)

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def close(self) -> None:
        """Ends the processes; once more is nothing. Arrays can still be read."""
        if os.getpid() == self._owner:
            with self.turn:
                self._is_closed = True
                self._workers.close()

    def gather(self, array: Array) -> np.ndarray:
        """The whole array in this process, a view where it lies so already."""
        stacked = array.stacked()
        if stacked is not None:
            return stacked
        placement = array.placement
        return assemble(placement, {rank: array.part(rank) for rank in placement.speakers})

    def _load(self, executable: Program) -> Loaded:
        self._next_number += 1
        return _PoolProgram(self, ProgramOfPool(self._next_number, executable))

    def ready(self) -> Workers:
        """The processes, which wait for a call; RunError. Within a turn."""
        if self._is_closed:
            raise ClosedError
        self.turn.expect_no_step()
        self._interrupt.raise_if_late()
        if not self._workers.is_alive:
            self._start()
        while self._gone:
            number, start = self._gone.popleft()
            if start == self.starts:
                self._workers.tell(wire.pack(Message.UNLOAD, [number]))
        return self._workers

    def call(
        self,
        message: bytes,
        host_calls: HostCalls | None = None,
        timeout: float | None = None,
        *,
        takes_arrays: bool = False,
    ) -> list[Reply]:
        """What each worker answers. Within a turn, after `ready`.

        takes_arrays: a Ctrl-C comes when the caller has the answers, which alone hold
          what was in the arrays.
        """
        on_interrupt = self._interrupt.come_late if takes_arrays else None
        with self.turn.step(host_calls):
            return self._workers.call(
                message, host_calls=host_calls, timeout=timeout, on_interrupt=on_interrupt
            )

    def _deliver(self, program: ProgramOfPool) -> bytes:
        """The message that loads a program, whose library workers reach by then."""
        return program.load_message(os.fsencode(program.library))

    def send(self, program: ProgramOfPool) -> list[bytes]:
        """Loads a program and opens its session; each device's blocks, as of Message.OPEN."""
        workers = self.ready()
        loaded = self.call(self._deliver(program))
        failed = next((reply for reply in loaded if reply.has_failed), None)
        if failed is None:
            opened = self.call(wire.pack(Message.OPEN, [program.number]))
            failed = next((reply for reply in opened if reply.has_failed), None)
        if failed is not None:
            ranks = [rank for rank, reply in enumerate(loaded) if not reply.has_failed]
            workers.tell(wire.pack(Message.UNLOAD, [program.number]), ranks)
            raise RunError(failed.text, workers.stderr)
        return [reply.body for reply in opened]

    def forget(self, number: int, start: int) -> None:
        """Unloads a program; in whichever thread that is found."""
        self._gone.append((number, start))

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else f"{self.memory.in_use} bytes in use"
        return f"<Pool of {self.count} devices, {state}>"


class ProgramOfPool:
    """What workers are told of a program."""

    def __init__(self, number: int, executable: Program):
        self.number = number
        self.signature = executable.signature
        self.host_calls = executable.host_calls()
        # The library is there as long as this is.
        self._folder = executable.folder
        self.library = executable.library

    def load_message(self, path: bytes) -> bytes:
        """path: of the library; none where it comes by Message.LIBRARY."""
        description = self.signature.description
        inputs, outputs = description["inputs"], description["outputs"]
        words = [self.number, int(description.get("target") == "cpu"), len(inputs), len(outputs)]
        words += [len(entry["shape"]) for entry in (*inputs, *outputs)]
        words += results_of(self.signature).own_offsets
        return wire.pack(Message.LOAD, words, path)

    def slices(self, blocks: Sequence[bytes]) -> tuple[list[list[Slices]], list[list[Slices]]]:
        """Of each input and of each output, of each device."""
        description = self.signature.description
        words = [iter(wire.words_of(block)) for block in blocks]
        # Complex numbers have one more dimension there.
        return tuple(  # type: ignore[return-value]
            [
                [_slices(device, len(entry["shape"]))[: len(tensor.shape)] for device in words]
                for entry, tensor in zip(description[what], tensors)
            ]
            for what, tensors in (
                ("inputs", self.signature.inputs),
                ("outputs", self.signature.outputs),
            )
        )


def _slices(words: Iterator[int], rank: int) -> Slices:
    offsets = [next(words) for _ in range(rank)]
    return tuple(slice(offset, offset + next(words)) for offset in offsets)


class _PoolProgram(Loaded):
    def __init__(self, pool: Pool, program: ProgramOfPool):
        self._pool = pool
        self._program = program
        super().__init__(pool, program.signature, *program.slices(pool.send(program)))
        # A Run: its head, the program and the addresses.
        count = 1 + 2 * (2 + len(self.inputs))
        self._format = struct.Struct(f"{2 + count}q")
        self._head = (Message.RUN, 8 * count, program.number)
        self._track()

    def _track(self) -> None:
        self._start = self._pool.starts
        self._end = weakref.finalize(self, self._pool.forget, self._program.number, self._start)
        self._end.atexit = False

    def _ready(self) -> None:
        self._pool.ready()
        if self._start != self._pool.starts:
            self._pool.send(self._program)
            self._end.detach()
            self._track()

    def _step(self, addresses: list[int], timeout: float | None) -> float:
        host_calls = self._program.host_calls
        if host_calls is not None:
            host_calls.error = None
        message = self._format.pack(*self._head, *addresses)
        replies = self._pool.call(message, host_calls, timeout, takes_arrays=bool(self._donated))
        for reply in replies:
            if reply.has_failed:
                raise _failure(reply.text, host_calls)
        return max([_NANOSECONDS.unpack(reply.body)[0] for reply in replies]) / 1e9


_NANOSECONDS = struct.Struct("q")


def _failure(text: str, host_calls: HostCalls | None) -> BaseException:
    """That of a host call's function, as a rule; a Ctrl-C in one is a Ctrl-C."""
    cause = host_calls.error if host_calls is not None else None
    if cause is not None and not isinstance(cause, Exception):
        return cause
    error = RunError(text)
    error.__cause__ = cause
    return error
