# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank that ends alone ends its job: others would wait for it for ever.

A program watches the ranks of its communicator. Where there is none, ranks that wait for each other
look for the message of one that has left.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from shoal.executable.launch import is_in_job
from shoal.executable.launcher import make_sure_it_ends

if TYPE_CHECKING:
    from mpi4py import MPI

# Of messages on COMM_WORLD. Each MPI has tags up to 32767.
_LEFT = 32_131
_LONGEST_PAUSE = 0.01  # seconds between looks
# Seconds: one that has been here, too, may leave before this rank hears that all are.
_PATIENCE = 1.0


class Member(Protocol):
    """A program of a job, of which this process is a rank."""

    def leave(self) -> None:
        """Tells other ranks that this process will make no call any more."""

    def wait(self, begins: bool) -> None:
        """Tells them that it waits for them in a call of mpi4py, or does no longer."""

    def abort(self) -> None:
        """Ends all ranks of the job, and mpirun where that would hang."""


# Those that are open, with the handles of their communicators: the same on all ranks of one.
_members: dict[Member, int] = {}
# The processes of those that have left, by their ranks in COMM_WORLD.
_left: dict[int, int] = {}


def join(member: Member, communicator: int) -> None:
    """From now on it is told what this process waits for, and when it leaves; collective."""
    _members[member] = communicator


def part(member: Member) -> None:
    """No longer; collective. Once more is nothing."""
    _members.pop(member, None)


@contextmanager
def waiting(comm: MPI.Comm) -> Iterator[None]:
    """Around a collective call of mpi4py: who waits for this rank elsewhere is told so."""
    members = list(_members)
    for member in members:
        member.wait(True)
    try:
        if comm.py2f() not in _members.values():
            _meet(comm)
        yield
    finally:
        for member in members:
            member.wait(False)


def _meet(comm: MPI.Comm) -> None:
    """Waits until all ranks are here; ends the job if one has left."""
    everybody = comm.Ibarrier()
    pause, since = 1e-5, 0.0
    while not everybody.Test():
        rank = _first_left(comm)
        since = since or (0.0 if rank is None else time.monotonic())
        if rank is not None and time.monotonic() > since + _PATIENCE:
            _end_job(
                f"rank {rank} (process {_left[rank]}) has left the program: rank "
                f"{comm.Get_rank()} waits for it in a call of mpi4py, where no program is open"
            )
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _first_left(comm: MPI.Comm) -> int | None:
    """The rank in COMM_WORLD of one of these that has left."""
    from mpi4py import MPI

    world, status = MPI.COMM_WORLD, MPI.Status()
    while world.Iprobe(tag=_LEFT, status=status):
        _left[status.source] = world.recv(source=status.source, tag=_LEFT)
    if not _left:
        return None
    ranks = comm.group.Translate_ranks(None, world.group)
    return min(_left.keys() & set(ranks), default=None)


def _end_job(message: str) -> None:
    sys.stdout.flush()
    print(f"error: {message}", file=sys.stderr, flush=True)
    for member in list(_members):
        member.abort()
    make_sure_it_ends()
    _running_mpi().COMM_WORLD.Abort(1)


def _running_mpi() -> Any:
    """The module, if this process is one of several ranks; None before MPI_Init and behind its end."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized() or mpi.COMM_WORLD.size == 1:
        return None
    return mpi


def _leave() -> None:
    """By `sys.exit`, or the end of the script; MPI, which waits for all ranks then, comes later."""
    for member in list(_members):
        member.leave()
    mpi = _running_mpi()
    if mpi is not None:
        # So few bytes go without the receiver, who may never look.
        first = 0 if mpi.COMM_WORLD.rank else 1
        mpi.COMM_WORLD.isend(os.getpid(), first, _LEFT)


# Of Open MPI's ompi_mpi_state: between MPI_Init and MPI_Finalize, and behind it.
_RUNNING, _FINALIZED = 2, 5


def _forget_mpi() -> None:
    """In a child of fork, which has its parent's connections but is no rank.

    mpi4py finalizes MPI when Python ends: the child would wait for the other ranks,
    or end its parent's connections. Open MPI has no call for it.
    """
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None:
        return
    try:
        state = ctypes.c_int.in_dll(ctypes.CDLL(mpi.__file__), "ompi_mpi_state")
    except (OSError, ValueError):
        return  # another MPI
    if state.value == _RUNNING:
        state.value = _FINALIZED


def _abort_on_exceptions() -> None:
    """One that nobody catches ends all ranks, once it is printed."""
    before = sys.excepthook
    owner = os.getpid()

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        before(kind, error, traceback)
        mpi = _running_mpi()
        if mpi is not None and os.getpid() == owner:
            _end_job(f"rank {mpi.COMM_WORLD.rank} ends the job: {kind.__name__}")

    sys.excepthook = hook


if is_in_job():
    atexit.register(_leave)
    os.register_at_fork(after_in_child=_forget_mpi)
    _abort_on_exceptions()
