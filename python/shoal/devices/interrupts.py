# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Ctrl-C that comes when a call has returned."""

from __future__ import annotations

import signal
import threading

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
