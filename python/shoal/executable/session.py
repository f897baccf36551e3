# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program inside a process of an MPI job."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.closing import Closing
from shoal.errors import InputError, RunError, ShoalError
from shoal.executable.host_calls import HostCalls
from shoal.executable.leaving import waiting
from shoal.executable.library import Library
from shoal.executable.signature import Signature, Tensor, arrange, as_array

if TYPE_CHECKING:
    from mpi4py import MPI

ALIGNMENT = 64  # bytes; of the arrays that are made here


@dataclass(frozen=True)
class Shard:
    """This rank's part of a tensor.

    slices: its place in the whole tensor. Where an uneven dimension ends there
    are fewer rows than in `tensor.local_shape`.
    """

    tensor: Tensor
    slices: tuple[slice, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the rows that exist."""
        return tuple(part.stop - part.start for part in self.slices)


class Session(Closing):
    """A program that this process runs together with the other ranks.

    `Executable.open` makes it. Every rank makes the same calls in the same
    order: open, run and close are collective. What is wrong on one rank is an
    exception on all of them, with the message of the lowest such rank.

    Threads of a rank take turns: a call waits for the one before it. That they
    come in the same order on every rank is up to the caller.

    inputs, outputs: what this rank has of them.

        with exe.open(MPI.COMM_WORLD) as session:
            for _ in range(steps):
                state = session.run(state)
    """

    def __init__(
        self,
        library: Path,
        signature: Signature,
        comm: MPI.Comm | None,
        flatten: Callable[[Any], Sequence[Any]],
        result: Callable[[Sequence[np.ndarray]], Any],
        host_calls: HostCalls | None = None,
    ):
        from mpi4py import MPI

        comm = MPI.COMM_WORLD if comm is None else comm
        if not isinstance(comm, MPI.Comm):
            raise InputError(f"expected a communicator of mpi4py but got {type(comm).__name__}")
        if comm == MPI.COMM_NULL:
            raise InputError("expected a communicator but got COMM_NULL")
        self._flatten = flatten
        self._shared_bytes: int = signature.description.get("shared_bytes", 0)
        self._result = result
        self._turn = threading.RLock()
        self._library = load_library(library, signature, comm)
        self._library.open(comm.py2f())
        self._host_calls = host_calls
        if host_calls is not None:
            self._library.set_host_calls(host_calls)
        self.rank: int = comm.Get_rank()
        self.inputs = self._shards(signature.inputs, is_output=False)
        self.outputs = self._shards(signature.outputs, is_output=True)
        # Copies of inputs that cannot be used where they lie.
        self._copies: dict[int, np.ndarray] = {}

    def _shards(self, tensors: Sequence[Tensor], is_output: bool) -> tuple[Shard, ...]:
        return tuple(
            Shard(tensor, self._library.block(is_output, number, len(tensor.shape)))
            for number, tensor in enumerate(tensors)
        )

    def run(self, inputs: Any = (), *, out: Any = None) -> Any:
        """One step. Returns this rank's shards of the outputs.

        inputs: as `Executable.run` takes them; of each, a rank gives the whole
          array or its shard: the shape says which. The program reads a shard, or
          a part of a whole array, where it lies if it is contiguous, of the
          machine's byte order, and has the local shape; else it is copied.
        out: arrays to write the outputs to, by order or name: contiguous, of the
          outputs' local shapes, overlapping neither each other nor the inputs.
          By default new ones, which share a piece of memory; those that a step
          returned are as good. The larger ones of others are copied to, from a
          piece that the session then keeps.

        Returns arrays of the rows that exist, as `Executable.run` nests them.
        Raises InputError and RunError on every rank, also where a function that
        the program calls (a callback of JAX) has raised. Another failure in the
        middle of a step, as that of a custom call, ends the job.
        """
        with self._turn:
            return self._step(inputs, out)

    def _step(self, inputs: Any, out: Any) -> Any:
        with self._agreeing():
            arrays = [
                self._place(number, value, shard)
                for number, (value, shard) in enumerate(zip(self._flatten(inputs), self.inputs))
            ]
            results = self._results(out, arrays)
        self._run(arrays, results)
        return self._result(
            [
                array[tuple(slice(size) for size in shard.shape)]
                for array, shard in zip(results, self.outputs)
            ]
        )

    def _run(self, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """The exception of a function that the program has called is the error's cause."""
        if self._host_calls is not None:
            self._host_calls.error = None
        try:
            self._library.run(_addresses(arrays), _addresses(results))
        except RunError as error:
            raise error from (self._host_calls and self._host_calls.error)

    def _place(self, number: int, value: Any, shard: Shard) -> np.ndarray:
        """The shard as the program reads it."""
        tensor = shard.tensor
        array = as_array(value, tensor)
        if array.shape == tensor.shape and array.shape != tensor.local_shape:
            array = array[shard.slices]
        elif array.shape not in (tensor.local_shape, shard.shape):
            raise InputError(
                f'input "{tensor.name}": expected the whole, of shape {list(tensor.shape)}, '
                f"or a shard, of {list(tensor.local_shape)}, but got {list(array.shape)}"
            )
        if _is_usable(array, tensor):
            return array
        copy = self._copies.get(number)
        if copy is None:
            copy = self._copies[number] = _new(tensor)
        copy[tuple(slice(size) for size in array.shape)] = array
        return copy

    def _results(self, out: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        tensors = [shard.tensor for shard in self.outputs]
        if out is None:
            return self._new_results(tensors)
        arrays = arrange(out, tensors, "output")
        for number, (array, tensor) in enumerate(zip(arrays, tensors)):
            _check_output(array, tensor)
            for other in [*inputs, *arrays[:number]]:
                if np.may_share_memory(array, other):
                    raise InputError(f'output "{tensor.name}" overlaps another array')
        return arrays

    def _new_results(self, tensors: Sequence[Tensor]) -> list[np.ndarray]:
        """Of the larger ones parts of one piece, where other values lie until they are made."""
        shared = _zeros(self._shared_bytes)
        return [
            _new(tensor) if tensor.offset is None else _view(shared[tensor.offset :], tensor)
            for tensor in tensors
        ]

    def _agreeing(self) -> Agreement:
        if self._library.is_closed:
            raise RunError("the session is closed")
        return Agreement(self._library, self.rank)

    def close(self) -> None:
        """Gives the arena and the communicators up; collective. Once more is nothing."""
        with self._turn:
            self._library.close()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        # Other ranks may be elsewhere if this one alone has failed: closing
        # would wait for them.
        if error is None or isinstance(error, ShoalError):
            self.close()


class Agreement:
    """All ranks leave the block, or all raise."""

    def __init__(self, library: Library, rank: int):
        self._library = library
        self._rank = rank

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is not None and not isinstance(error, Exception):
            return  # a Ctrl-C ends the job
        text = None if error is None else f"rank {self._rank}: {error}"
        agreed = self._library.agree(text)
        if agreed is not None:
            raise InputError(agreed) from error


def load_library(path: Path, signature: Signature, comm: MPI.Comm) -> Library:
    """The library, on every rank or on none."""
    library, problem = None, None
    try:
        library = Library(path, signature.description)
        library.check_mpi()
    except (OSError, RunError) as error:
        problem = f"rank {comm.Get_rank()}: {error}"
    with waiting(comm):
        problems = [text for text in comm.allgather(problem) if text]
    if problems or library is None:
        if library is not None:
            library.close()
        raise RunError(problems[0])
    return library


def _is_usable(array: np.ndarray, tensor: Tensor) -> bool:
    return (
        array.shape == tensor.local_shape
        and array.dtype.isnative
        and array.flags.c_contiguous
        and array.flags.aligned
    )


def _check_output(array: Any, tensor: Tensor) -> None:
    what = f'output "{tensor.name}"'
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise InputError(f"{what}: expected an array but got {type(array).__name__}")
    if array.dtype != tensor.dtype or array.shape != tensor.local_shape:
        raise InputError(
            f"{what}: expected {tensor.dtype}{list(tensor.local_shape)} "
            f"but got {array.dtype}{list(array.shape)}"
        )
    if not (_is_usable(array, tensor) and array.flags.writeable):
        raise InputError(f"{what}: expected a contiguous array that can be written to")


def _new(tensor: Tensor) -> np.ndarray:
    """Zeros of the local shape: padding has them, too."""
    return _view(_zeros(tensor.local_bytes), tensor)


def _view(memory: np.ndarray, tensor: Tensor) -> np.ndarray:
    """The first bytes as the tensor's shard."""
    return memory[: tensor.local_bytes].view(tensor.dtype).reshape(tensor.local_shape)


def _zeros(size: int) -> np.ndarray:
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    offset = -memory.ctypes.data % ALIGNMENT
    return memory[offset : offset + size]


def _addresses(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
