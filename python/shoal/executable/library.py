# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of shoal/Runtime/Session.h in a program's shared library."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import RunError
from shoal.executable.host_calls import HostCalls, as_c_function
from shoal.executable.leaving import join, part

_ERROR_BYTES = 4096


class Library:
    """One loaded copy of a library, which holds one session.

    Calls release the interpreter's lock; one is made at a time. OSError where
    the file is no library, RunError where it is not that of the description,
    which is the metadata of shoal/Runtime/ABI.h.
    """

    def __init__(self, path: Path, description: Mapping[str, Any]):
        self._handle = _load_copy(path)
        self._session: ctypes.c_void_p | None = None
        self._host_function: Any = None
        self._is_loaded = True
        # The driver of GPUs and NCCL may have threads in libraries that would
        # go with the program.
        self._can_unload = description.get("target") == "cpu"
        try:
            self._declare(description)
        except (AttributeError, ValueError) as error:
            self.close()
            raise RunError(f"{path.name} is not this program's library: {error}") from None

    def _declare(self, description: Mapping[str, Any]) -> None:
        """Also finds what a library lacks, as no call does later."""
        metadata = ctypes.c_char.in_dll(self._handle, "shoal_program_metadata")
        own = json.loads(ctypes.string_at(ctypes.addressof(metadata)))
        for key in ("name", "devices", "inputs", "outputs"):
            if own.get(key) != description[key]:
                raise ValueError(f"other {key}")
        for name in ("open", "block", "agree", "run", "run_in_place", "close", "mpi"):
            getattr(self._handle, f"shoal_session_{name}")
        self._handle.shoal_session_mpi.restype = ctypes.c_char_p
        self._handle.shoal_session_close.restype = None
        self._handle.shoal_session_block.restype = None

    def check_mpi(self) -> None:
        """Fails where mpi4py has another MPI: its communicators mean nothing to this one."""
        from mpi4py import MPI

        ours = self._handle.shoal_session_mpi().decode(errors="replace").rstrip("\0 \n")
        theirs = MPI.Get_library_version().rstrip("\0 \n")
        if ours != theirs:
            raise RunError(
                f"the program is linked with {_first_line(ours)}, mpi4py with "
                f"{_first_line(theirs)}: install an mpi4py for the former"
            )

    @property
    def is_closed(self) -> bool:
        return self._session is None

    def open(self, communicator: int) -> None:
        """Takes Fortran's handle; RunError on every rank."""
        session = ctypes.c_void_p()
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        if self._handle.shoal_session_open(
            ctypes.c_int(communicator),
            ctypes.byref(session),
            error,
            ctypes.c_size_t(_ERROR_BYTES),
        ):
            self.close()
            raise RunError(_text(error))
        self._session = session
        join(self, communicator)

    def leave(self) -> None:
        """Before this process ends. Libraries of earlier versions cannot be told.

        One that is closed is not asked: it may have been unloaded.
        """
        if self._session is None:
            return
        function = getattr(self._handle, "shoal_session_leave", None)
        if function is not None:
            function(self._session)

    def wait(self, begins: bool) -> None:
        """While this process waits for the other ranks in a call of mpi4py."""
        if self._session is None:
            return
        function = getattr(self._handle, "shoal_session_wait", None)
        if function is not None:
            function(self._session, ctypes.c_int(begins))

    def abort(self) -> None:
        """Ends all ranks of the job; does not return, but for libraries of earlier versions."""
        if self._session is None:
            return
        function = getattr(self._handle, "shoal_session_abort", None)
        if function is not None:
            function(self._session)

    def set_host_calls(self, host_calls: HostCalls) -> None:
        """Who answers the program's calls from now on."""
        self._host_function = as_c_function(host_calls)
        self._handle.shoal_session_set_host_function(self._session, self._host_function, None)

    def block(self, is_output: bool, number: int, rank: int) -> tuple[slice, ...]:
        """The rows that this process has of a tensor of so many dimensions.

        That of complex numbers has one more in the library.
        """
        offset, extent = (ctypes.c_int64 * (rank + 1))(), (ctypes.c_int64 * (rank + 1))()
        self._handle.shoal_session_block(
            self._session, ctypes.c_int(is_output), ctypes.c_int64(number), offset, extent
        )
        return tuple(slice(begin, begin + size) for begin, size in zip(offset[:rank], extent))

    def agree(self, problem: str | None) -> str | None:
        """The problem of the lowest rank that has one."""
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        mine = None if problem is None else problem.encode()
        failed = self._handle.shoal_session_agree(
            self._session, mine, error, ctypes.c_size_t(_ERROR_BYTES)
        )
        return _text(error) if failed else None

    def run(
        self,
        inputs: ctypes.Array[ctypes.c_void_p],
        outputs: ctypes.Array[ctypes.c_void_p],
    ) -> None:
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        if self._handle.shoal_session_run(
            self._session, inputs, outputs, error, ctypes.c_size_t(_ERROR_BYTES)
        ):
            raise RunError(_text(error))

    def run_in_place(self, inputs: Sequence[int], outputs: Sequence[int], shared: int) -> None:
        """The same at addresses, in memory that the program may use as its own."""
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        if self._handle.shoal_session_run_in_place(
            self._session,
            (ctypes.c_void_p * len(inputs))(*inputs),
            (ctypes.c_void_p * len(outputs))(*outputs),
            ctypes.c_void_p(shared),
            error,
            ctypes.c_size_t(_ERROR_BYTES),
        ):
            raise RunError(_text(error))

    def close(self) -> None:
        """Ends the session, where there is one, and unloads the copy; once more is nothing."""
        if self._session is not None:
            part(self)
            session, self._session = self._session, None
            self._handle.shoal_session_close(session)
        if self._is_loaded and self._can_unload:
            self._is_loaded = False
            ctypes.CDLL(None).dlclose(ctypes.c_void_p(self._handle._handle))


def _load_copy(path: Path) -> ctypes.CDLL:
    """Loads the library under a name of its own.

    The loader gives the same library for the same file, and a library is one
    session: its memory, plans and communicators.
    """
    descriptor, copy = tempfile.mkstemp(prefix="shoal-", suffix=".so")
    os.close(descriptor)
    try:
        shutil.copyfile(path, copy)
        return ctypes.CDLL(copy)
    finally:
        os.unlink(copy)


def _text(error: ctypes.Array[ctypes.c_char]) -> str:
    return error.value.decode(errors="replace")


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else "an unknown MPI"
