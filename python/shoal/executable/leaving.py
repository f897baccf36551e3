# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank that ends alone ends its job: others would wait for it for ever."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mpi4py import MPI


class Member(Protocol):
    """A program of a job, of which this process is a rank."""

    def leave(self) -> None:
        """Tells other ranks that this process will make no call any more."""

    def wait(self, begins: bool) -> None:
        """Tells them that it waits for them in a call of mpi4py, or does no longer."""


_open: weakref.WeakSet[Member] = weakref.WeakSet()
_installed: list[MPI.Comm] = []


@contextmanager
def waiting() -> Iterator[None]:
    """Around a collective call of mpi4py: who waits for this rank elsewhere is told so."""
    libraries = list(_open)
    for library in libraries:
        library.wait(True)
    try:
        yield
    finally:
        for library in libraries:
            library.wait(False)


def tell_at_exit(library: Member) -> None:
    """By `sys.exit`, or the end of the script; MPI, which waits for all ranks then, comes later."""
    if not _open:
        atexit.unregister(_leave_all)
        atexit.register(_leave_all)
    _open.add(library)


def _leave_all() -> None:
    for library in list(_open):
        library.leave()


def end_alone_safely(comm: MPI.Comm) -> None:
    """What is to happen when one process of the job ends; once for the process.

    An exception that nobody catches ends all ranks, once it is printed. A child
    of fork ends by itself.
    """
    if _installed:
        return
    _installed.append(comm)
    os.register_at_fork(after_in_child=_forget_mpi)
    if comm.Get_size() > 1:
        _abort_on_exceptions(comm)


# Of Open MPI's ompi_mpi_state: between MPI_Init and MPI_Finalize, and behind it.
_RUNNING, _FINALIZED = 2, 5


def _forget_mpi() -> None:
    """In a child of fork, which has its parent's connections but is no rank.

    mpi4py finalizes MPI when Python ends: the child would wait for the other ranks,
    or end its parent's connections. Open MPI has no call for it.
    """
    from mpi4py import MPI

    try:
        state = ctypes.c_int.in_dll(ctypes.CDLL(MPI.__file__), "ompi_mpi_state")
    except (OSError, ValueError):
        return  # another MPI
    if state.value == _RUNNING:
        state.value = _FINALIZED


def _abort_on_exceptions(comm: MPI.Comm) -> None:
    before = sys.excepthook
    owner = os.getpid()

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        before(kind, error, traceback)
        if os.getpid() != owner:
            return
        sys.stdout.flush()
        print(
            f"error: rank {comm.Get_rank()} ends the job: {kind.__name__}",
            file=sys.stderr,
            flush=True,
        )
        comm.Abort(1)

    sys.excepthook = hook
