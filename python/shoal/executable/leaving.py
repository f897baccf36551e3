# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank that ends alone ends its job: others would wait for it for ever."""

from __future__ import annotations

import atexit
import sys
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mpi4py import MPI


class Leaver(Protocol):
    def leave(self) -> None:
        """Tells other ranks that this process will make no call any more."""


_open: weakref.WeakSet[Leaver] = weakref.WeakSet()
_installed: list[MPI.Comm] = []


def tell_at_exit(library: Leaver) -> None:
    """By `sys.exit`, or the end of the script; MPI, which waits for all ranks then, comes later."""
    if not _open:
        atexit.unregister(_leave_all)
        atexit.register(_leave_all)
    _open.add(library)


def _leave_all() -> None:
    for library in list(_open):
        library.leave()


def abort_on_exceptions(comm: MPI.Comm) -> None:
    """An exception that nobody catches ends all ranks of the job, once it is printed."""
    if _installed or comm.Get_size() == 1:
        return
    _installed.append(comm)
    before = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        before(kind, error, traceback)
        sys.stdout.flush()
        print(
            f"error: rank {comm.Get_rank()} ends the job: {kind.__name__}",
            file=sys.stderr,
            flush=True,
        )
        comm.Abort(1)

    sys.excepthook = hook
