# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the processes that save or load together agree on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shoal.devices import Array, Devices, Job
from shoal.errors import RunError
from shoal.executable.launch import is_in_job
from shoal.executable.leaving import waiting


class Ranks:
    """This process, or the ranks of an MPI job of which it is one. Methods but `reduce_or` of
    the former send nothing; of the latter all are collective."""

    def __init__(self, comm: Any = None):
        """comm: of mpi4py; None: this process alone."""
        self._comm = comm
        self.rank: int = comm.Get_rank() if comm else 0
        self.size: int = comm.Get_size() if comm else 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def is_alone(self) -> bool:
        return self._comm is None

    def all(self, value: Any) -> list[Any]:
        """What each rank gives."""
        if not self._comm:
            return [value]
        with waiting(self._comm):
            return self._comm.allgather(value)

    def of_first(self, value: Any) -> Any:
        """What rank 0 gives."""
        if not self._comm:
            return value
        with waiting(self._comm):
            return self._comm.bcast(value)

    def raise_together(self, error: BaseException | None) -> None:
        """The error of the lowest rank that has one, on all of them."""
        self.all_or_raise(None, error)

    def all_or_raise(self, value: Any, error: BaseException | None) -> list[Any]:
        """What each rank gives; where one has an error, that of the lowest of these on all."""
        if self._comm is None:
            if error is not None:
                raise error
            return [value]
        given = self.all((value, error and portable(error, self.rank)))
        for rank, (_, found) in enumerate(given):
            if found is not None:
                raise found from (error if rank == self.rank else None)
        return [value for value, _ in given]


def portable(error: BaseException, rank: int) -> BaseException:
    """One that says the rank and can be sent to others."""
    if isinstance(error, OSError) and error.errno is not None:
        return type(error)(error.errno, f"{error.strerror} (rank {rank})", error.filename)
    if isinstance(error, Exception) and type(error).__module__ == "shoal.errors":
        return error
    return RunError(f"rank {rank}: {type(error).__name__}: {error}")


def ranks_of(leaves: Iterable[Any]) -> Ranks:
    """Those that have these arrays. In a job arrays of NumPy are all ranks'."""
    for leaf in leaves:
        if isinstance(leaf, Array):
            return ranks_with(leaf.devices)
    if is_in_job():
        from mpi4py import MPI

        return Ranks(MPI.COMM_WORLD)
    return Ranks()


def ranks_with(devices: Devices) -> Ranks:
    return Ranks(devices.comm if isinstance(devices, Job) else None)
