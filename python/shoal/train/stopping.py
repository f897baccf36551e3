# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signals that end a run between two steps."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

__all__ = ["StopSignals"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


class StopSignals:
    """Within the block a signal asks to stop, and the second one does what it did before.

    requested: whether one came. A loop looks at it between steps, saves and ends. In a thread
    that is not the main one nothing changes, as Python has handlers in that one alone.

    By default Ctrl-C, the end of a job, and SIGUSR1: what batch systems announce that end by,
    and what mpirun hands on to all ranks without ending them itself.
    """

    def __init__(self, signals: Sequence[int] = _SIGNALS):
        self.requested = False
        self._signals = signals
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._come) for number in self._signals}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _come(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested = True
            return
        handler = self._before[number]
        signal.signal(number, handler)
        os.kill(os.getpid(), number)
