# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose turn it is to use devices."""

from __future__ import annotations

import threading
import warnings

from shoal.errors import RunError
from shoal.executable.host_calls import HostCalls
from shoal.frames import user_stacklevel

# Seconds that a thread waits for a step's function before it says that it does.
PATIENCE = 10.0


class Turn:
    """What steps take one after the other, whichever threads they are of.

    A function that a step calls has the devices wait for it: in its own thread they are refused, and another
    thread, for which the function may wait, says so after a while.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._working: int | None = None  # the thread of a step
        self._calls: HostCalls | None = None
        self._step = _Step(self)

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._wait()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _wait(self) -> None:
        while not self._lock.acquire(timeout=PATIENCE):
            calls = self._calls
            if calls is not None and calls.is_answering:
                warnings.warn(
                    f"thread {threading.current_thread().name} waits for a step that a function of this process, which"
                    f" the program calls, keeps for {PATIENCE:g} s: if that waits for this thread, neither ends",
                    RuntimeWarning,
                    stacklevel=user_stacklevel(),
                )
                self._lock.acquire()
                return

    def step(self, calls: HostCalls | None) -> _Step:
        """Within a turn, by `with`: the devices work, and call these functions."""
        self._calls = calls
        return self._step

    def expect_no_step(self) -> None:
        """RunError in a function that a step calls, which is in its thread."""
        if self._working == threading.get_ident():
            raise RunError(
                "a function that a program calls cannot use the program's devices: they wait for it"
            )


class _Step:
    """There is one at a time; a generator would be a twentieth of a short call."""

    def __init__(self, turn: Turn):
        self._turn = turn

    def __enter__(self) -> None:
        self._turn._working = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._turn._working = self._turn._calls = None
