# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the processes of a training run agree on."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.devices import Array, Job
from shoal.executable.leaving import waiting
from shoal.frontend import pytrees

Tree = Any


def job_of(state: Tree) -> Job | None:
    """The job whose ranks have the state's arrays; None where this process is alone."""
    for leaf in pytrees.flatten(state)[0]:
        if isinstance(leaf, Array) and isinstance(leaf.devices, Job):
            return leaf.devices
    return None


def is_first(job: Job | None) -> bool:
    """Whether this process is the one that writes and prints."""
    return job is None or job.rank == 0


def any_of(job: Job | None, holds: bool) -> bool:
    """Whether it holds in some process; collective."""
    return bool(largest_of(job, int(holds)))


def largest_of(job: Job | None, number: int) -> int:
    """Of all processes; collective."""
    if job is None:
        return number
    from mpi4py import MPI

    found = np.array([number], np.int32)
    with waiting(job.comm):
        job.comm.Allreduce(found.copy(), found, op=MPI.MAX)
    return int(found[0])


def raise_together(job: Job | None, error: Exception | None) -> None:
    """The first process' exception in all of them; collective."""
    if job is not None:
        with waiting(job.comm):
            error = job.comm.bcast(error)
    if error is not None:
        raise error
