# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Waiting for calls, and a Ctrl-C meanwhile."""

from __future__ import annotations

import math
import select
import signal
import threading
import time

from shoal.executable.interrupts import CtrlCWatch

_QUICK = 0.2  # seconds after which a call looks for a Ctrl-C by a process of its own
_SOON = 0.02  # seconds that the caller has to keep what the call returned


class LateInterrupt:
    """Raises KeyboardInterrupt after the call in which it came, at the latest in the next one."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def come_late(self) -> None:
        """For a Ctrl-C that a call has met and ends in spite of."""
        self._timer = threading.Timer(_SOON, self._come)
        self._timer.daemon = True
        # Python has told the main thread, where that does not run the call.
        if threading.current_thread() is threading.main_thread():
            self._timer.start()

    def _come(self) -> None:
        self._timer = None
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)  # wakes it, whatever it waits for

    def raise_if_late(self) -> None:
        """In front of a call."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            raise KeyboardInterrupt


class Patience:
    """Waits for as long as a call may take; TimeoutError, KeyboardInterrupt.

    Python tells its main thread of a Ctrl-C; another one has to look for it, if
    the call is a long one.
    """

    def __init__(self, seconds: float | None):
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._watch: CtrlCWatch | None = None
        self._is_main = threading.current_thread() is threading.main_thread()
        self._watch_from = math.inf if self._is_main else time.monotonic() + _QUICK

    def __enter__(self) -> Patience:
        return self

    def __exit__(self, *error: object) -> None:
        if self._watch is not None:
            self._watch.__exit__(None, None, None)

    def poll(self, poll: select.poll) -> list[tuple[int, int]]:
        """What has happened, at least one thing."""
        while True:
            events = poll.poll(self._milliseconds())
            if self._watch is not None and self._watch.came:
                raise KeyboardInterrupt
            if events:
                return events
            now = time.monotonic()
            if now >= self._end:
                raise TimeoutError
            if self._watch is None and now >= self._watch_from:
                self._watch = CtrlCWatch().__enter__()

    def _milliseconds(self) -> float | None:
        """Until there is something else to do."""
        if self._is_main and self._end == math.inf:
            return None
        left = max(self._end - time.monotonic(), 0)
        return math.ceil(1000 * (left if self._is_main else min(left, _QUICK)))
