# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signals that end a run between two steps."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from shoal.executable.launch import rank_in_job
from shoal.executable.native import native

__all__ = ["StopSignals"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


class StopSignals:
    """Within the block a signal asks to stop, and the second one does what it did before.

    requested: whether one came, number: which, or 0. A loop looks at it between steps, saves and
    ends. In a thread that is not the main one nothing changes, as Python has handlers in that one
    alone.

    By default Ctrl-C, the end of a job, and SIGUSR1: what batch systems announce that end by,
    and what mpirun hands on to all ranks without ending them itself. That one came is said on stderr at once, also
    while a program runs, in a job by the first rank, unless the block is quiet.
    """

    def __init__(self, signals: Sequence[int] = _SIGNALS, *, quiet: bool = False):
        self.number = 0
        self._signals = signals
        self._before: dict[int, Any] = {}
        self._says = not quiet and rank_in_job() == 0
        self._bell: _Bell | None = None

    @property
    def requested(self) -> bool:
        """Whether a signal came."""
        return self.number != 0

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            if self._says:
                self._bell = _Bell.hung(self._answer)
            self._before = {number: signal.signal(number, self._come) for number in self._signals}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
        if self._bell is not None:
            self._bell.take_down()
            self._bell = None

    def _come(self, number: int, frame: FrameType | None) -> None:
        if self._bell is None:
            self._answer(number)
        if not self.requested:
            self.number = number
            return
        handler = self._before[number]
        signal.signal(number, handler)
        os.kill(os.getpid(), number)

    def _answer(self, number: int) -> None:
        """Once."""
        if self._says and number in self._signals:
            self._says = False
            name = signal.Signals(number).name
            print(f"shoal: {name}: stopping behind this step; again to end now", file=sys.stderr, flush=True)


class _Bell:
    """Rings in a thread of its own when a signal comes, where Python's handlers wait for the main thread to be back in
    Python."""

    def __init__(self, ring: Callable[[int], None], read: int, write: int):
        self._ring = ring
        self._read, self._write = read, write
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @staticmethod
    def hung(ring: Callable[[int], None]) -> _Bell | None:
        """None where somebody else listens to signals, as event loops do."""
        read, write = os.pipe()
        os.set_blocking(write, False)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        if before == -1:
            return _Bell(ring, read, write)
        signal.set_wakeup_fd(before)
        os.close(read)
        os.close(write)
        return None

    def _listen(self) -> None:
        while number := os.read(self._read, 1):
            self._ring(number[0])
        os.close(self._read)

    def take_down(self) -> None:
        signal.set_wakeup_fd(-1)
        os.close(self._write)
        self._thread.join()


_has_status = False


def end_with(number: int) -> None:
    """Lets this process end with 128 + the signal where it would end with 0, and with that again for 0.

    Whoever has started it sees that the run is not whole, as of a process that the signal itself ends. An interactive
    one ends as it does."""
    if hasattr(sys, "ps1") or sys.flags.interactive or "ipykernel" in sys.modules:
        return
    global _has_status
    if number or _has_status:
        native().exit_with(128 + number if number else 0)
        _has_status = number != 0
