# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices that are the ranks of an MPI job, of which this process is one."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.devices.array import Array
from shoal.devices.interface import Devices
from shoal.devices.loaded import Loaded, results_of
from shoal.devices.memory import LINE, Memory
from shoal.devices.placement import Placement, Slices
from shoal.devices.store import assemble
from shoal.errors import ClosedError, RunError
from shoal.executable.arguments import check_timeout
from shoal.executable.launcher import make_sure_it_ends
from shoal.executable.leaving import waiting
from shoal.executable.library import Library
from shoal.executable.program import Program
from shoal.executable.session import Agreement, load_library
from shoal.executable.signature import Tensor

if TYPE_CHECKING:
    from mpi4py import MPI


class Job(Devices):
    """The ranks of a communicator of mpi4py: rank i is device i.

    Every rank makes the same calls in the same order: load, run, close, and
    `numpy` of arrays that have parts on several ranks. What is wrong before a step
    on one rank is an exception on all of them. An array has this rank's part in
    its memory; `put` and `run` take the whole on every rank, or this rank's rows.

    Ranks do not find garbage at the same time: a program that is garbage on all of
    them is unloaded by the next `load`, or by `close`.
    """

    def __init__(self, comm: MPI.Comm | None = None):
        """comm: by default COMM_WORLD."""
        from mpi4py import MPI

        self.comm = MPI.COMM_WORLD if comm is None else comm
        self.rank: int = self.comm.Get_rank()
        super().__init__(
            self.comm.Get_size(), Memory(), range(self.rank, self.rank + 1)
        )
        # By the number of their load, which is the same on all ranks.
        self._libraries: dict[int, Library] = {}
        self._loads = itertools.count()
        # Of programs that are garbage here, those of late as the collector finds them.
        self._garbage: set[int] = set()
        self._gone: deque[int] = deque()

    def _load(self, executable: Program) -> Loaded:
        self._unload_garbage()
        program = _JobProgram(self, executable)
        number = next(self._loads)
        self._libraries[number] = program.library
        weakref.finalize(program, self._gone.append, number).atexit = False
        return program

    def _unload_garbage(self) -> None:
        """Collective: what is garbage on all ranks, in the same order on all."""
        while self._gone:
            self._garbage.add(self._gone.popleft())
        with waiting(self.comm):
            everywhere = set.intersection(*self.comm.allgather(self._garbage))
        self._garbage -= everywhere
        for number in sorted(everywhere & self._libraries.keys()):
            self._libraries.pop(number).close()

    @contextmanager
    def time_limit(self, name: str, seconds: float | None) -> Iterator[None]:
        """Ends the job where the block takes longer: no rank can be called back from a step."""
        if seconds is None:
            yield
            return
        timer = threading.Timer(seconds, self._end, [name, seconds])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self, name: str, seconds: float) -> None:
        print(
            f"error: {name} did not end in {seconds:g} s: rank {self.rank} ends the job",
            file=sys.stderr,
            flush=True,
        )
        sys.stdout.flush()
        make_sure_it_ends()
        self.comm.Abort(1)

    def gather(self, array: Array) -> np.ndarray:
        """The whole array, on every rank: collective where a rank has not all of it."""
        stacked = array.stacked()
        if stacked is not None:
            return stacked
        # Nor is there a rank beside this one that would take part.
        self.turn.expect_no_step()
        placement = array.placement
        parts = self._gather_parts(array)
        return assemble(
            placement, {rank: parts[rank][placement.extents[rank]] for rank in placement.speakers}
        )

    def _gather_parts(self, array: Array) -> np.ndarray:
        """Of each rank, what it has memory for."""
        from mpi4py import MPI

        placement = array.placement
        # MPI counts by int: in lines, of which the last may have a rest without meaning.
        lines = -(-placement.local_bytes // LINE)
        begin, _ = array.address
        mine = self.memory.bytes[begin : begin + lines * LINE]
        gathered = np.empty((self.count, lines * LINE), np.uint8)
        line = MPI.BYTE.Create_contiguous(LINE).Commit()
        try:
            with waiting(self.comm):
                self.comm.Allgather([mine, lines, line], [gathered, lines, line])
        finally:
            line.Free()
        parts = np.ascontiguousarray(gathered[:, : placement.local_bytes]).view(placement.dtype)
        return parts.reshape(self.count, *placement.local_shape)

    def _is_part(self, shape: tuple[int, ...], placement: Placement) -> bool:
        rows = tuple(part.stop for part in placement.extents[self.rank])
        return shape != placement.shape and shape == rows

    def close(self) -> None:
        """Unloads the programs; collective. Arrays can still be read."""
        with self.turn:
            for number in sorted(self._libraries):
                self._libraries.pop(number).close()
            self._loaded.clear()

    def __repr__(self) -> str:
        return f"<Job of {self.count} devices, rank {self.rank}>"


class _JobProgram(Loaded):
    """A program in this process. A step that runs out of time ends the job."""

    def __init__(self, job: Job, executable: Program):
        self._job = job
        signature, self._host_calls = executable.signature, executable.host_calls()
        self.library = load_library(executable.library, signature, job.comm)
        self.library.open(job.comm.py2f())
        if self._host_calls is not None:
            self.library.set_host_calls(self._host_calls)
        self._own_offsets = results_of(signature).own_offsets
        super().__init__(
            job,
            signature,
            self._slices(signature.inputs, is_output=False),
            self._slices(signature.outputs, is_output=True),
        )

    def _slices(self, tensors: Sequence[Tensor], *, is_output: bool) -> list[list[Slices]]:
        """Of each tensor, of each rank."""
        mine = [
            [
                (part.start, part.stop)
                for part in self.library.block(is_output, number, len(tensor.shape))
            ]
            for number, tensor in enumerate(tensors)
        ]
        with waiting(self._job.comm):
            ranks = self._job.comm.allgather(mine)
        return [
            [tuple(slice(*bounds) for bounds in rank[number]) for rank in ranks]
            for number in range(len(tensors))
        ]

    def run(
        self, values: Sequence[Any], *, donate: bool = True, timeout: float | None = None
    ) -> list[Array]:
        with self._job.time_limit(self.name, check_timeout(timeout)):
            return super().run(values, donate=donate)

    def _ready(self) -> None:
        """The communicator is the session's own: there is nothing to start."""

    def _together(self) -> AbstractContextManager[None]:
        if self.library.is_closed:
            raise ClosedError
        return Agreement(self.library, self._job.rank)

    def _checked(self, values: Sequence[Any]) -> list[Any]:
        """All that may be wrong with them: arrays that move are gathered by all ranks, or none."""
        checked = super()._checked(values)
        if self._fit(checked):
            return checked
        return [
            self._job.check(value, placement, tensor)
            for value, placement, tensor in zip(checked, self.inputs, self._tensors)
        ]

    def _step(self, addresses: list[int], timeout: float | None) -> float:
        if self._host_calls is not None:
            self._host_calls.error = None
        base = self._job.memory.address
        shared, own, *inputs = (base + begin for begin in addresses[::2])
        outputs = [0 if offset < 0 else own + offset for offset in self._own_offsets]
        begin = time.perf_counter()
        try:
            with self._job.turn.step(self._host_calls):
                self.library.run_in_place(inputs, outputs, shared)
        except RunError as error:
            raise error from (self._host_calls and self._host_calls.error)
        return time.perf_counter() - begin
